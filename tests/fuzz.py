"""Damaged and hostile files: every reader answers with a result or with one of our own errors.

    python tests/fuzz.py --seconds 3600        as `make fuzz` does

The tests run a bounded number of cases of every target (`tests/test_fuzz.py`). A case is a valid
file with a few bytes changed, cut out, repeated or replaced by what parsers stumble over; its
number is all that is needed to repeat it.
"""

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagloom.errors import TagloomError

_STUMBLING_BLOCKS = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b'"', b"'", b",", b";", b"[" * 3000, b"{" * 3000,
    b"9" * 6000, b"1e999", b"-1", b"NaN", b"null", b"=1+1", b"<!DOCTYPE a>", b"&a;", b"../../",
    b"\\", b"BF16", b"F8_E4M3", b"I64", b"18446744073709551616",
]  # fmt: skip


_XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag><rdf:li>sea</rdf:li>'
    "</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"
)


class Target(NamedTuple):
    """A valid file under its name, and the reader under attack."""

    name: str
    file: str
    content: bytes
    read: Callable[[Path], object]


class Failure(NamedTuple):
    """A case that ended in anything but a result or an error of ours."""

    target: str
    case: int
    problem: str


def mutated(content: bytes, case: int) -> bytes:
    """Return the content with one to four changes that the number of the case decides."""
    rng = np.random.default_rng(case)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(content) + 1))
        width = int(rng.integers(1, 9))
        block = _STUMBLING_BLOCKS[int(rng.integers(len(_STUMBLING_BLOCKS)))]
        flipped = bytes(b ^ int(rng.integers(1, 256)) for b in content[at : at + width])
        changed = [
            content[:at] + flipped + content[at + width :],
            content[:at] + content[at + width :],
            content[:at] + block + content[at:],
            content[:at] + block + content[at + len(block) :],
            content[:at] + content[at // 2 :],
            content[:at],
        ]
        content = changed[int(rng.choice(6, p=[0.4, 0.15, 0.2, 0.1, 0.1, 0.05]))]
    return content


def run(target: Target, cases: Iterator[int], folder: Path) -> tuple[int, list[Failure]]:
    """Try cases of a target; return how many there were and those that failed."""
    failures: list[Failure] = []
    number = 0
    for case in cases:
        number += 1
        inner = folder / f"{target.name}-{number}"
        inner.mkdir()
        path = inner / target.file
        path.write_bytes(mutated(target.content, case))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                target.read(path)
        except TagloomError:
            pass
        except Exception as problem:  # exactly what is looked for
            failures.append(Failure(target.name, case, repr(problem)))
        for left in inner.iterdir():
            left.unlink()
        inner.rmdir()
    return number, failures


def targets(folder: Path) -> list[Target]:
    """Make a valid file of each kind."""
    return [
        *_tag_files(),
        _model_file(folder),
        _features(folder),
        _network(),
        _toml(),
        _journal(folder),
        *_files_of_runs(),
    ]


def _tag_files() -> list[Target]:
    from tagloom.formats import read_tags

    coco = {
        "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
        "categories": [{"id": 3, "name": "sea"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 3}],
    }
    contents = {
        "tags.csv": 'image,tag,state\na.jpg,sea,1\nb.jpg,"s,;y",0\n',
        "wide.csv": "image;sea;sky\na.jpg;1;0\nb.jpg;;1\n",
        "tags.jsonl": '{"file_name": "a.jpg", "tags": ["sea"], "absent": ["sky"]}\n',
        "coco.json": json.dumps(coco),
        "labels.json": json.dumps({"classes": ["sea"], "labels": {"a": 0, "b": None}}),
    }  # fmt: skip
    return [Target(f"tags {n}", n, text.encode(), read_tags) for n, text in contents.items()]


def _model_file(folder: Path) -> Target:
    from tagloom.models import SemanticDiffusion

    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    Y = np.where(rng.uniform(size=(12, 2)) < 0.7, X[:, :2] > 0, np.nan)
    path = folder / "fuzz.tagloom"
    SemanticDiffusion(n_neighbors=3, on_unlearnable="ignore").fit(X, Y).save(path)
    return Target("model", path.name, path.read_bytes(), SemanticDiffusion.load)


def _features(folder: Path) -> Target:
    from tagloom.vision import Features, load_features

    path = folder / "features.npz"
    Features(["a", "b"], np.ones((2, 3)), np.full((2, 2), 0.5), ["x", "y"]).save(path)
    return Target("npz", path.name, path.read_bytes(), load_features)


def _network() -> Target:
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones((3, 2), dtype=np.float32), "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    return Target("onnx", "net.onnx", model.SerializeToString(), _read_network)


def _read_network(path: Path) -> object:
    """Search the graph as `OnnxEncoder` does; running it is onnxruntime's own affair."""
    from tagloom.vision.encoders.network import Network

    network = Network(path)
    network.first_picture_input()
    network.reduced_to(network.outputs)
    network.channels_first(network.picture_input(network.outputs))
    scores = network.outputs[0] if network.outputs else ""
    network.gives_probabilities(scores)
    return network.before_last_layer(scores)


def _toml() -> Target:
    from tagloom.io import read_toml

    text = b'[a]\nmean = [1.0, 2, 3]\nname = "x"\nwhen = 2024-01-01T00:00:00Z\n[[a.b]]\nc = true\n'
    return Target("toml", "config.toml", text, read_toml)


def _journal(folder: Path) -> Target:
    from tagloom.completion.feedback import in_effect, reading
    from tagloom.completion.journal import Change, Journal

    journal = Journal(folder)
    journal.add("tab", [Change("a.jpg", "sea", "unknown", "accepted")] * 3)
    journal.close()

    def read(path: Path) -> object:
        with reading(path) as opened:
            return in_effect(opened)

    return Target("journal", journal.path.name, journal.path.read_bytes(), read)


def _files_of_runs() -> list[Target]:
    """Files of a run besides its model and journal, and annotations in folders."""
    from tagloom.completion.feedback import files_read
    from tagloom.completion.folder import Marker, keep_edited
    from tagloom.completion.outputs import read_record
    from tagloom.completion.suggestions import read_suggestions
    from tagloom.formats.interchange.voc import read_voc
    from tagloom.formats.metadata.changes import read_journal
    from tagloom.formats.metadata.xmp import read_packet
    from tagloom.words import read_vocabulary

    record = {"tagloom": "0.1", "digest": "d", "files": ["a.csv"], "photos": "p", "labels": [{}]}
    record |= {"inputs": {"tags": {"tags.csv": "0" * 64}, "answers": "d"}, "options": {}}
    files = {"suggestions.csv": "0" * 64, "run.json": None}
    marker = {"protocol": 1, "kind": "run", "id": "0" * 32, "files": files}
    change = {"path": "a.jpg.xmp", "before": "AAAA", "wrote": "0" * 64}
    first = {"kind": "tagloom sidecar journal", "version": 1, "folder": "/photos"}
    contents: dict[str, tuple[str, Callable[[Path], object]]] = {
        "run.json": (json.dumps(record), lambda path: files_read(read_record(path.parent))),
        ".tagloom.json": (
            json.dumps(marker), lambda path: (Marker.read(path.parent), keep_edited(path.parent))
        ),
        "suggestions.csv": (
            "image,tag,probability,rank,state\na.jpg,sea,0.5,1,suggested\n'=b.jpg,sky,,2,known\n",
            read_suggestions,
        ),
        "sidecars.journal": (f"{json.dumps(first)}\n{json.dumps(change)}\n", read_journal),
        "vocabulary.toml": (
            '[tags.sea]\naliases = ["ocean"]\nignore = true\n[tags."ä"]\nparents = ["animal"]\n',
            read_vocabulary,
        ),
        "a.xml": (
            "<annotation><filename>a.jpg</filename><object><name>sea</name><difficult>0</difficult>"
            "</object></annotation>",
            lambda path: read_voc(path.parent),
        ),
        "a.xmp": (_XMP, lambda path: read_packet(path.read_bytes(), str(path))),
    }  # fmt: skip
    return [Target(n, n, text.encode(), read) for n, (text, read) in contents.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    args = parser.parse_args()
    total, failures, case = 0, [], args.seed
    end = time.monotonic() + args.seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chosen = targets(folder)
        while time.monotonic() < end and not failures:
            for target in chosen:
                n, failed = run(target, iter(range(case, case + 50)), folder)
                total, failures = total + n, failures + failed
            case += 50
    print(f"{total:,} cases of {len(chosen)} targets, {len(failures)} failed")
    for one in failures:
        print(f"  {one.target}, case {one.case}: {one.problem}")
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
