"""Names of labels compared with pictures, by an encoder of both: prior scores in any language."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError, TagloomError, TagloomWarning
from tagloom.vision import Encoder, Features
from tagloom.vision.encoders.base import EncoderMetadata
from tagloom.vision.encoders.registry import text_encoder_of
from tagloom.vision.encoders.text import TextEncoder
from tagloom.vision.pipeline import available_cores
from tagloom.words import TagLinks
from tagloom.words.forms import split_tag

Array = npt.NDArray[Any]

# What a picture with a label is taken for: so many deviations closer to its name than others, and
# one of fifty. See `TextPrior`.
_SHIFT = 4.0
_LOG_ODDS = float(np.log(1 / 49))
# The deviation of a normal distribution, in units of its median absolute deviation.
_MAD = 1.4826
_SMALLEST_SPREAD = 1e-6
# How far the direction of a name may turn before it is that of another encoder.
_SAME = 0.98


class Texts:
    """The directions of names in the space of an encoder.

    Parameters
    ----------
    name
        Of the encoder, for people.
    start, width
        The columns of visual descriptors that are compared with names.
    known
        Directions that are known already.
    load
        Returns the encoder of further names; None where there are none to come.
    """

    def __init__(
        self,
        name: str,
        start: int,
        width: int,
        known: Mapping[str, Array],
        load: Callable[[], TextEncoder] | None,
    ) -> None:
        self.name, self.start, self.width = name, start, width
        self._known, self._load = dict(known), load

    @classmethod
    def of_encoder(cls, encoder: Encoder | None) -> Self | None:
        """Return the texts of an encoder; None if it knows none."""
        if encoder is None or encoder.text is None:
            return None
        text = encoder.text
        return cls(encoder.name.split("+")[0], encoder.text_start, text.width, {}, lambda: text)

    @classmethod
    def of_prior(
        cls, prior: "TextPrior", labels: Sequence[Any], metadata: EncoderMetadata | None
    ) -> Self:
        """Return the texts of a fitted tagger; others are encoded if its encoder is there."""
        texts = [text_of(label) for label in labels]
        known = {
            text: row
            for text, row in zip(texts, prior.directions, strict=True)
            if text is not None and not np.isnan(row).any()
        }
        load = None if metadata is None else partial(text_encoder_of, metadata)
        return cls(prior.encoder, prior.start, prior.directions.shape[1], known, load)

    def directions(self, labels: Sequence[Any]) -> Array:
        """Return a unit vector for each label; NaN where there is none."""
        texts = [text_of(label) for label in labels]
        self._learn([text for text in dict.fromkeys(texts) if text and text not in self._known])
        nothing = np.full(self.width, np.nan, dtype=np.float32)
        rows = [nothing if text is None else self._known.get(text, nothing) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.width), dtype=np.float32)

    def knows(self, labels: Sequence[Any]) -> list[bool]:
        """Return which labels have a direction."""
        return [not np.isnan(row).any() for row in self.directions(labels)]

    def _learn(self, new: Sequence[str]) -> None:
        if not new or self._load is None:
            return
        try:
            encoder = self._load()
            self._check_same(encoder)
            found = encoder.embed(new, n_jobs=available_cores())
        except TagloomError as problem:
            if not self._known:
                raise
            warnings.warn(
                f"The names {', '.join(new[:3])} cannot be compared with the pictures: {problem}",
                TagloomWarning,
                stacklevel=2,
            )
            return
        self._known |= zip(new, found, strict=True)

    def _check_same(self, encoder: TextEncoder) -> None:
        """Refuse an encoder of texts that puts a known name elsewhere than before."""
        for text, direction in list(self._known.items())[:1]:
            if encoder.width != self.width or encoder.embed([text])[0] @ direction < _SAME:
                raise InvalidInputError(
                    f"{encoder.config.network} is not the encoder of texts that the tagger was "
                    "fitted with, or its settings have changed. Fit anew."
                )


def text_of(label: Any) -> str | None:
    """Return the text that stands for a label; None where it has no letter.

    >>> text_of("Polar_Bear"), text_of("Animal|Crane"), text_of("2019"), text_of(7)
    ('polar bear', 'crane (animal)', None, None)
    """
    if not isinstance(label, str) or not any(letter.isalpha() for letter in label):
        return None
    word, qualifiers = split_tag(label)
    return f"{word} ({qualifiers[-1]})" if qualifiers else word


@dataclass(frozen=True, eq=False)
class TextPrior:
    r"""How well pictures fit the names of labels, as probabilities.

    With e_i the visual descriptor of picture i and w_j the direction of name j, both of length 1,
    c_ij = e_i'w_j. Cosines of one encoder are not those of another, nor those of one name those of
    another, so that they are measured by the pictures of the collection, most of which do not show
    what a name says (an empirical null, Efron 2004):

        z_ij = (c_ij - median_i c_ij) / (1.4826 MAD_i c_ij),
        log p_ij / (1 - p_ij) = delta z_ij - delta^2 / 2 + log(pi / (1 - pi)).

    That is the posterior that a picture is one of the pi = 1/50 that are delta = 4 deviations
    closer to the name than others: even at z = 3. How far it is trusted is left to the learner.

    Attributes
    ----------
    encoder : str
        Its name.
    start : int
        The first of the visual columns that are compared with names.
    directions : array of shape (n_labels, width)
        NaN for labels without a text.
    centres, spreads : arrays of shape (n_labels,)
        Median, and deviation by the MAD, of the cosines of the training pictures.
    """

    encoder: str
    start: int
    directions: Array
    centres: Array
    spreads: Array

    @classmethod
    def of(cls, texts: Texts | None, features: Features, labels: Sequence[Any]) -> Self | None:
        """Compare the names of labels with training pictures; None where no name has a text."""
        if texts is None:
            return None
        end = texts.start + texts.width
        if features.visual.shape[1] < end:
            raise InvalidInputError(
                f"The features have {features.visual.shape[1]} visual columns; those of "
                f"{texts.name}, which compares pictures with names, end at {end}. Pass "
                "the features of this encoder."
            )
        directions = texts.directions(labels)
        nothing = np.zeros(len(labels))
        c = cls(texts.name, texts.start, directions, nothing, nothing).cosines(features.visual)
        centres = np.median(c, axis=0) if len(c) else nothing
        spreads = _MAD * np.median(np.abs(c - centres), axis=0) if len(c) else nothing
        known = spreads > _SMALLEST_SPREAD
        if not known.any():
            return None
        directions[~known] = np.nan
        found = (np.where(known, one, np.nan) for one in (centres, spreads))
        return cls(texts.name, texts.start, directions, *found)

    def cosines(self, visual: Array) -> Array:
        """Return the cosine between each picture and each name."""
        e = visual[:, self.start : self.start + self.directions.shape[1]]
        norms = np.linalg.norm(e, axis=1, keepdims=True)
        return np.asarray((e / np.where(norms > 0, norms, 1)) @ self.directions.T)

    def probabilities(self, visual: Array) -> Array:
        """Return p for every picture and label; NaN for labels without a text."""
        z = (self.cosines(visual) - self.centres) / self.spreads
        log_odds = _SHIFT * z - _SHIFT**2 / 2 + _LOG_ODDS
        # exp is in range for all log-odds that tell p from 0 and 1.
        p = 1 / (1 + np.exp(-np.clip(log_odds, -80, 80)))
        return np.asarray(p, dtype=visual.dtype)


def say_compared(links: TagLinks, texts: Texts | None) -> TagLinks:
    """Return links that say which names are compared with the pictures, and by which encoder."""
    if texts is None:
        return links
    how = f"its name is compared with the pictures by {texts.name}"
    compared = texts.knows([link.tag for link in links.links])
    said = [
        link._replace(how=f"{link.how}; {how}" if link.concepts else how) if known else link
        for link, known in zip(links.links, compared, strict=True)
    ]
    return replace(links, links=tuple(said))
