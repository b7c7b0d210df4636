"""Encoders of texts: the other half of a pair such as CLIP, which puts names beside pictures.

Radford et al. (2021) train two networks so that a picture and its caption point in one direction.
The name of a tag is encoded like a caption, and its direction is compared with that of pictures.
"""

import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError, ModelFileError, first_line, import_extra
from tagloom.io import file_digest
from tagloom.vision.encoders.base import Session, Vector, fingerprint
from tagloom.vision.encoders.network import Input, Network, lies_within

PROMPTS = ("{}", "a photo of {}", "a photo of a {}")
"""Captions in which a name stands; their directions are averaged."""
_EMBEDDINGS = (
    "text_embeds",
    "text_embeddings",
    "text_embedding",
    "text_features",
    "embeddings",
    "embedding",
    "sentence_embedding",
    "pooler_output",
    "pooled_output",
)
_INTEGERS = {"INT32": np.int32, "INT64": np.int64}
LONGEST_CONTEXT = 8192
_LARGEST_TOKENIZER = 2**28
_PUNCTUATION = re.compile(r"[^\w\s]|_")


@dataclass(frozen=True)
class TextConfig:
    """Where the text half of a pair is, and what its tokens look like.

    Parameters
    ----------
    network, tokenizer
        The ``.onnx`` file and ``tokenizer.json``.
    within
        The folder that both must lie in.
    settings_file
        Where the owner says what cannot be found out.
    context_length
        How many tokens the network takes; None where it takes any number.
    pad_token
        What fills the rest; None takes what the tokenizer says.
    canonicalize
        Whether texts are in small letters and without punctuation, as for SigLIP.
    prompts
        Captions with ``{}`` in the place of a name.
    """

    network: Path
    tokenizer: Path
    within: Path
    settings_file: Path
    context_length: int | None = None
    pad_token: str | None = None
    canonicalize: bool = False
    prompts: tuple[str, ...] = PROMPTS


class TextEncoder:
    """Encodes names as directions in the space of the pictures.

    The network is loaded when it is first used. It may be used by several threads.

    Parameters
    ----------
    config
        Files and settings.
    width
        Length of the vectors of pictures, which those of names must have as well.
    """

    def __init__(self, config: TextConfig, width: int) -> None:
        self.config, self.width = config, width
        self._known: dict[str, Vector] = {}
        self._half: _TextHalf | None = None
        self._lock = threading.Lock()

    @cached_property
    def identity(self) -> str:
        """A fingerprint of all that decides the directions: files, tokens and prompts."""
        files = (self.config.network, self.config.tokenizer)
        hashes = [file_digest(file) for file in files]
        settings = [self.config.context_length, self.config.pad_token, self.config.canonicalize]
        return fingerprint({"text": hashes, "settings": settings, "prompts": self.config.prompts})

    def load(self) -> None:
        """Load the network now, so that what is wrong with it shows before any work is done."""
        with self._lock:
            self._loaded()

    def embed(self, names: Sequence[str], *, n_jobs: int = 1) -> NDArray[np.float32]:
        """Return one unit vector for each name: the mean over all prompts, of length 1.

        NaN for a name of which the tokenizer knows no part.
        """
        with self._lock:
            new = [name for name in dict.fromkeys(names) if name not in self._known]
            if new:
                half = self._loaded()
                with ThreadPoolExecutor(n_jobs, "tagloom-text") as pool:
                    self._known |= zip(new, pool.map(half.encode_name, new), strict=True)
        found = [self._known[name] for name in names]
        return np.stack(found) if found else np.empty((0, self.width), dtype=np.float32)

    def _loaded(self) -> "_TextHalf":
        if self._half is None:
            self._half = _TextHalf(self.config, self.width)
        return self._half


class _TextHalf:
    """The loaded network and its tokenizer."""

    def __init__(self, config: TextConfig, width: int) -> None:
        self._config, self._width = config, width
        network = Network(config.network, within=config.within)
        self._output = _output(network)
        self._inputs = network.inputs_of([self._output])
        _check_inputs(network, self._inputs)
        self._tokenizer = self._loaded_tokenizer()
        self._session = Session(network.reduced_to([self._output]), origin=str(config.network))

    def encode_name(self, name: str) -> Vector:
        """Return the direction of a name."""
        unknown = getattr(self._tokenizer.model, "unk_token", None)
        own = self._tokenizer.encode(self._cleaned(name), add_special_tokens=False)
        read = [t for t, mask in zip(own.tokens, own.attention_mask, strict=True) if mask]
        if all(token == unknown for token in read):
            return np.full(self._width, np.nan, dtype=np.float32)
        total = np.zeros(self._width)
        for prompt in self._config.prompts:
            vector = self._encode(prompt.replace("{}", name)).astype(np.float64)
            total += vector / max(float(np.linalg.norm(vector)), 1e-12)
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), dtype=np.float32)

    def _encode(self, text: str) -> Vector:
        tokens = self._tokenizer.encode(self._cleaned(text))
        feeds = {one.name: _feed(one, tokens) for one in self._inputs}
        (values,) = self._session.run([self._output], feeds)
        if values.ndim != 2 or values.shape[1] != self._width or not np.isfinite(values).all():
            raise ModelFileError(
                f"{self._config.network} gives {self._output!r} of shape {values.shape} for a "
                f"text; expected {self._width} finite numbers, as many as for a picture. The two "
                "networks are not of one pair, or were exported without their projections."
            )
        return np.asarray(values[0])

    def _cleaned(self, text: str) -> str:
        if not self._config.canonicalize:
            return text
        return " ".join(_PUNCTUATION.sub("", text.lower()).split())

    def _loaded_tokenizer(self) -> Any:
        path = self._config.tokenizer
        library = import_extra("tokenizers", purpose="Encoding names of tags", extra="text")
        if not lies_within(path, self._config.within):
            raise ModelFileError(f"{path} leads out of {self._config.within}: it is not read.")
        try:
            if path.stat().st_size > _LARGEST_TOKENIZER:
                raise ValueError("it is too large")
            tokenizer = library.Tokenizer.from_str(path.read_text("utf-8"))
        except Exception as problem:  # the library raises plain exceptions
            detail = first_line(problem)
            raise ModelFileError(
                f"{path} cannot be read as a tokenizer: {detail}. Expected a tokenizer.json of the "
                "library 'tokenizers'."
            ) from problem
        self._set_length(tokenizer)
        return tokenizer

    def _set_length(self, tokenizer: Any) -> None:
        """Pad to the length that the network takes; with a mask for attention nothing is padded."""
        fixed = {one.shape[1] for one in self._inputs if one.shape[1] is not None}
        masked = any("mask" in one.name for one in self._inputs)
        length = max(fixed, default=None) or self._config.context_length
        if length is None and (tokenizer.truncation or {}).get("max_length"):
            length = tokenizer.truncation["max_length"]
        if length is None and not masked:
            raise self._unknown("how many tokens its texts have", "context_length = 77")
        if length is not None and not 1 <= length <= LONGEST_CONTEXT:
            raise ModelFileError(
                f"{self._config.network} takes texts of {length:,} tokens; expected 1 to "
                f"{LONGEST_CONTEXT:,}."
            )
        tokenizer.no_truncation()
        if length is not None:
            tokenizer.enable_truncation(max_length=length)
        own = tokenizer.padding or {}
        tokenizer.no_padding()
        if fixed or not masked:
            token = self._config.pad_token or own.get("pad_token")
            place = None if token is None else tokenizer.token_to_id(token)
            if place is None:
                raise self._unknown(
                    "which token fills the rest of a text", 'pad_token = "<|endoftext|>"'
                )
            tokenizer.enable_padding(length=length, pad_token=token, pad_id=place)

    def _unknown(self, what: str, line: str) -> InvalidInputError:
        return InvalidInputError(
            f"{self._config.network}: {what} cannot be read off the files. Say it by pasting this "
            f"line:\nprintf '{line}\\n' >> {self._config.settings_file}"
        )


def _output(network: Network) -> str:
    lower = {name.lower(): name for name in reversed(network.outputs)}
    found = next((lower[one] for one in _EMBEDDINGS if one in lower), None)
    if found is None and len(network.outputs) != 1:
        raise network.unfit(
            f"it has {len(network.outputs)} outputs ({', '.join(network.outputs)}), none of them "
            f"named like the embedding of a text ({', '.join(_EMBEDDINGS[:3])})"
        )
    return found or network.outputs[0]


def _check_inputs(network: Network, inputs: Sequence[Input]) -> None:
    wrong = [one for one in inputs if one.number not in _INTEGERS or len(one.shape) != 2]
    if wrong or not inputs:
        found = ", ".join(f"{one.name} ({one.number}, {one.shape})" for one in wrong) or "none"
        raise network.unfit(
            f"its text inputs must be INT32 or INT64 with 2 axes: texts, tokens; found {found}"
        )


def _feed(one: Input, tokens: Any) -> NDArray[Any]:
    """Return what an input is fed with, by its name; a fixed number of texts is the same text."""
    if "mask" in one.name:
        row = tokens.attention_mask
    elif "type" in one.name:
        row = tokens.type_ids
    elif "position" in one.name:
        row = list(range(len(tokens.ids)))
    else:
        row = tokens.ids
    return np.repeat(np.array([row], dtype=_INTEGERS[one.number]), one.shape[0] or 1, axis=0)
