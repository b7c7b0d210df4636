"""Encoders from a model hub, fetched once and on request; nothing else ever downloads.

What was fetched is recorded beside the files: repository, resolved revision, licence, and the
SHA-256 of each file, by which the files are checked whenever they are used.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self

from tagloom.errors import InvalidInputError, ModelFileError, first_line, import_extra
from tagloom.io import atomic_write, file_digest, user_cache
from tagloom.vision.encoders.config import read_json

MANIFEST = "tagloom-manifest.json"
VARIANTS = ("", "_fp16", "_quantized", "_int8", "_uint8", "_q4", "_q4f16", "_bnb4")
"""Endings of the names of one network in several precisions, in the order of preference."""
_PROTOCOL = 1
_SETTINGS = (
    "config.json",
    "preprocessor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "visual/preprocess_cfg.json",
    "textual/tokenizer.json",
    "textual/tokenizer_config.json",
)
_NETWORKS = ("visual/model.onnx", "textual/model.onnx")
_LARGEST = 2**33


@dataclass(frozen=True)
class Manifest:
    """Where the files of a folder come from.

    Attributes
    ----------
    repository, revision, licence
        The name on the hub, the commit, and the licence that the model card names, if any.
    files
        The SHA-256 of each file, by its path in the folder.
    """

    repository: str
    revision: str
    licence: str | None
    files: dict[str, str]

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return the manifest of a folder; None if it was not fetched."""
        path = folder / MANIFEST
        if not path.is_file():
            return None
        raw = read_json(path)
        try:
            if raw["protocol"] != _PROTOCOL:
                raise ValueError(f"protocol {raw['protocol']!r} is not known")
            files = {str(name): str(value) for name, value in raw["files"].items()}
            return cls(str(raw["repository"]), str(raw["revision"]), raw.get("licence"), files)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise ModelFileError(
                f"{path} is damaged ({problem}). Fetch the encoder again, or remove the file to "
                "use the folder unchecked."
            ) from problem

    def write(self, folder: Path) -> None:
        """Write the manifest beside the files."""
        values = {"protocol": _PROTOCOL, **vars(self)}
        with atomic_write(folder / MANIFEST) as part:
            part.write_text(json.dumps(values, indent=2) + "\n", "utf-8")

    def verify(self, folder: Path) -> None:
        """Refuse a folder whose files are not those that were fetched."""
        for name, expected in self.files.items():
            path = folder / name
            if not _is_plain(name) or not path.is_file():
                raise ModelFileError(f"{path} is missing. Fetch {self.repository} again.")
            if file_digest(path) != expected:
                raise ModelFileError(
                    f"{path} is not the file that was fetched from {self.repository} at "
                    f"{self.revision[:12]}: its SHA-256 has changed. Fetch it again, or remove "
                    f"{MANIFEST} if you have changed it yourself."
                )


def fetched_folder(repository: str) -> Path:
    """Return where a repository is put if nothing else is said."""
    return user_cache() / "fetched" / repository.replace("/", "--")


def fetched_folders() -> list[Path]:
    """Return the folders of all encoders that were fetched there."""
    return sorted(path.parent for path in (user_cache() / "fetched").glob(f"*/{MANIFEST}"))


@dataclass(frozen=True)
class Listing:
    """What a repository offers, and which of its files an encoder needs."""

    repository: str
    revision: str
    licence: str | None
    sizes: dict[str, int | None]
    """Bytes of each file that is needed; None where the hub does not say."""

    @property
    def n_bytes(self) -> int:
        """The size of all of them, as far as it is known."""
        return sum(size or 0 for size in self.sizes.values())


def fetch(
    wanted: str,
    *,
    to: Path | None = None,
    variant: str | None = None,
    on_listed: Callable[[Listing], None] | None = None,
) -> Path:
    """Fetch an encoder from a hub; the folder appears when all of it is there.

    Parameters
    ----------
    wanted
        ``OWNER/NAME``, or ``OWNER/NAME@REVISION`` for a branch, tag or commit.
    to
        The folder to make; None takes one in the user's cache.
    variant
        The precision of the networks, such as ``fp16`` or ``quantized``; None the most precise.
    on_listed
        Is called with what will be fetched before it is.
    """
    repository, _, revision = wanted.partition("@")
    owner, _, name = repository.partition("/")
    if not owner or not name or "/" in name or not _is_plain(repository):
        raise InvalidInputError(f"An encoder is fetched by OWNER/NAME[@REVISION]. Got {wanted!r}.")
    target = fetched_folder(repository) if to is None else to
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInputError(
            f"{target} is there already. Remove it, or choose another with --to."
        )
    hub = _hub()
    with _explained(wanted):
        listing = _listing(hub, repository, revision or None, variant)
    if on_listed is not None:
        on_listed(listing)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        _download(hub, listing, part, wanted)
        files = {name: file_digest(part / name) for name in listing.sizes}
        Manifest(repository, listing.revision, listing.licence, files).write(part)
        if target.is_dir():
            target.rmdir()
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _hub() -> Any:
    # Read when the library is first imported: it would say who is asking, and use a second service.
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_DISABLE_XET"] = "1"
    library = import_extra("huggingface_hub", purpose="Fetching an encoder", extra="fetch")
    endpoint = os.environ.get("HF_ENDPOINT") or None
    return library.HfApi(endpoint=endpoint, token=False, library_name="tagloom")


@contextmanager
def _explained(wanted: str) -> Iterator[None]:
    try:
        yield
    except (InvalidInputError, ModelFileError):
        raise
    except Exception as problem:  # connection, hub and library raise errors of many kinds
        detail = first_line(problem).rstrip(".") or type(problem).__name__
        raise InvalidInputError(
            f"{wanted} cannot be fetched: {detail}. Nothing was written. Check the name and the "
            "connection, or download the folder elsewhere and pass it with --encoder."
        ) from None


def _listing(hub: Any, repository: str, revision: str | None, variant: str | None) -> Listing:
    info = hub.model_info(repository, revision=revision, files_metadata=True, timeout=30)
    sizes = {one.rfilename: one.size for one in info.siblings or ()}
    needed = _needed(list(sizes), variant)
    if not any(name.endswith(".onnx") for name in needed):
        some = ", ".join(sorted(sizes)[:8]) or "nothing"
        which = "" if variant is None else f" of the variant {variant!r}"
        raise InvalidInputError(
            f"{repository} holds no ONNX network{which} that could serve as an encoder; expected "
            f"onnx/model.onnx, onnx/vision_model.onnx or visual/model.onnx. Found: {some}."
        )
    card = getattr(info, "card_data", None)
    licence = None if card is None else card.get("license")
    listing = Listing(
        repository,
        str(info.sha),
        None if licence is None else str(licence),
        {name: sizes[name] for name in needed},
    )
    if listing.n_bytes > _LARGEST:
        raise InvalidInputError(
            f"{repository} needs {listing.n_bytes / 1e9:.1f} GB; expected at most "
            f"{_LARGEST / 1e9:.1f}. Choose a smaller variant with --variant."
        )
    return listing


def _needed(names: Sequence[str], variant: str | None) -> list[str]:
    """Return the files that an encoder needs: settings, and each network in one precision.

    >>> there = ["onnx/model.onnx", "onnx/model_fp16.onnx", "config.json", "model.safetensors"]
    >>> _needed(there, None), _needed(there, "fp16")
    (['onnx/model.onnx', 'config.json'], ['onnx/model_fp16.onnx', 'config.json'])
    """
    wanted = VARIANTS if variant is None else (f"_{variant}",)
    networks = [name for name in _NETWORKS if name in names]
    for place in ("onnx/", ""):
        for stems in (("vision_model", "text_model"), ("model",)):
            if networks:
                break
            for stem in stems:
                found = [f"{place}{stem}{one}.onnx" for one in wanted]
                networks += [name for name in found if name in names][:1]
    weights = [name for name in names if any(name.startswith(f"{one}_data") for one in networks)]
    settings = [name for name in _SETTINGS if name in names]
    return [name for name in dict.fromkeys([*networks, *weights, *settings]) if _is_plain(name)]


def _download(hub: Any, listing: Listing, part: Path, wanted: str) -> None:
    for name, size in listing.sizes.items():
        with _explained(wanted):
            hub.hf_hub_download(
                listing.repository, name, revision=listing.revision, local_dir=str(part)
            )
        path = part / name
        if path.is_symlink() or not path.is_file() or size not in (None, path.stat().st_size):
            raise ModelFileError(
                f"{name} of {listing.repository} did not arrive whole. Nothing was written; try "
                "again."
            )
    # What the library remembers of a download is not part of the encoder.
    shutil.rmtree(part / ".cache", ignore_errors=True)


def _is_plain(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and "\\" not in name
