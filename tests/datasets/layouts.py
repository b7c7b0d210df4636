"""Tiny sets in exactly the layouts of the real ones."""

from pathlib import Path

import numpy as np
from PIL import Image


def _listed(words):
    return words.split()


VOC_CLASSES = _listed(
    "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike "
    "person pottedplant sheep sofa train tvmonitor"
)
MIR_POTENTIAL = _listed(
    "animals baby bird car clouds dog female flower food indoor lake male night people plant_life "
    "portrait river sea sky structures sunset transport tree water"
)
MIR_RELEVANT = _listed(
    "baby bird car clouds dog female flower male night people portrait river sea tree"
)


def picture(path, seed=0):
    """Write a small picture, in the format of its ending."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    Image.fromarray(rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)).save(path)
    return path


def voc2007(root, states, *, end="\n"):
    """Write VOCdevkit; `states` are {"trainval": {id: [20 x 1/-1/0]}, "test": ...}."""
    home = root / "VOCdevkit" / "VOC2007"
    main = home / "ImageSets" / "Main"
    main.mkdir(parents=True)
    for side, of_id in states.items():
        (main / f"{side}.txt").write_bytes("".join(f"{i}{end}" for i in of_id).encode())
        for column, label in enumerate(VOC_CLASSES):
            lines = [f"{name} {row[column]:>2}{end}" for name, row in of_id.items()]
            (main / f"{label}_{side}.txt").write_bytes("".join(lines).encode())
        for name in of_id:
            picture(home / "JPEGImages" / f"{name}.jpg")
    return root / "VOCdevkit"


def vectors(path, rows, width="<u2", values="<u2"):
    """Write a vector file: each row is its width and its values."""
    rows = np.asarray(rows)
    content = b"".join(
        np.array([len(row)], width).tobytes() + np.asarray(row, values).tobytes() for row in rows
    )
    Path(path).write_bytes(content)


def lear(root, name, sides, words, *, folder="images"):
    """Write lists, dictionary and annotations; `sides` are {"train": {entry: [0/1 ...]}, ...}."""
    root.mkdir(parents=True, exist_ok=True)
    (root / f"{name}_dictionary.txt").write_text("".join(f"{word}\n" for word in words))
    for side, of_entry in sides.items():
        (root / f"{name}_{side}_list.txt").write_text("".join(f"{e}\n" for e in of_entry))
        vectors(root / f"{name}_{side}_annot.hvecs", list(of_entry.values()))
        if folder:
            for entry in of_entry:
                picture(root / folder / f"{entry}.jpg")
    return root


def mirflickr(root, n, present, *, annotations="mirflickr25k_annotations_v080"):
    """Write im1.jpg to im<n>.jpg and 38 lists; `present` are {label: [numbers]}."""
    for number in range(1, n + 1):
        picture(root / "mirflickr" / f"im{number}.jpg")
    listed = root / annotations
    listed.mkdir(parents=True, exist_ok=True)
    for label in [*MIR_POTENTIAL, *(f"{name}_r1" for name in MIR_RELEVANT)]:
        numbers = present.get(label, [])
        (listed / f"{label}.txt").write_text("".join(f"{number}\r\n" for number in numbers))
    (listed / "README.txt").write_text("not a label\n")
    return root


def corel5k(root, training, test, words, *, stored=True):
    """Write label files, words, pictures and stored features; sides are {id: [word numbers]}."""
    for name, side in (("training_label", training), ("test_label", test)):
        root.mkdir(parents=True, exist_ok=True)
        lines = [f"{i} {' '.join(map(str, numbers))}  \n" for i, numbers in side]
        (root / name).write_text("".join(lines))
        for i, _ in side:
            picture(root / "images" / f"{int(i) // 1000 * 1000}" / f"{i}.jpeg")
    (root / "words").write_text("".join(f"{word}\n" for word in words))
    if stored:
        ids = list(dict.fromkeys(i for i, _ in [*training, *test]))[::-1]
        rng = np.random.default_rng(0)
        np.savez(
            root / "efficientnet_lite0.npz",
            pooled=np.array([[float(i), 1.0] for i in ids], dtype=np.float32),
            logits=rng.normal(size=(len(ids), 1000)).astype(np.float16),
            ids=np.array(ids),
        )
    return root


def svg(path, keywords, *, text=None):
    """Write a drawing with keywords in its metadata."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = "".join(f"<rdf:li>{keyword}</rdf:li>" for keyword in keywords)
    path.write_text(
        text
        or '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><metadata>'
        '<rdf:RDF xmlns:cc="http://web.resource.org/cc/" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><cc:Work rdf:about="">'
        f"<dc:title>no keyword</dc:title><dc:subject><rdf:Bag>{entries}</rdf:Bag></dc:subject>"
        "</cc:Work></rdf:RDF></metadata></svg>"
    )


def openclipart(root, drawings):
    """Write pictures and drawings as the packages unpack; `drawings` are {name: keywords}."""
    home = root / "usr/share/openclipart"
    for name, keywords in drawings.items():
        picture(home / "png" / f"{name}.png")
        svg(home / "svg" / f"{name}.svg", keywords)
    return root


def mulan_xml(path, labels):
    """Write the file that names the labels."""
    entries = "".join(f'<label name="{label}"></label>\n' for label in labels)
    Path(path).write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<labels xmlns="http://mulan.sourceforge.net/labels">\n{entries}</labels>\n'
    )


def coco_captions(root, listed, truth, *, photos=(), changed=None):
    """Write features.npz and photos; tables are 0 or 1 for the words sky, cat, red and objects."""
    n = len(listed)
    arrays = {
        "ids": np.array([f"{i}.jpg" for i in range(n)]),
        "pooled": np.arange(n, dtype=np.float16)[:, None] + np.ones((1, 4), dtype=np.float16),
        "logits": np.random.default_rng(0).normal(size=(n, 1000)).astype(np.float16),
        "listed": np.array(listed, dtype=np.uint8),
        "words": np.array(["sky", "cat", "red"]),
        "truth": np.array(truth, dtype=np.uint8),
        "truth_labels": np.array(["cat", "stop sign"]),
    } | (changed or {})
    root.mkdir(parents=True, exist_ok=True)
    np.savez(root / "features.npz", **arrays)
    for number in photos:
        picture(root / "photos" / f"{number}.jpg", number)
    return root
