"""The lexicon: the nouns of WordNet 3.0, with their senses and what stands above each sense.

WordNet (Miller 1995; Fellbaum 1998) groups nouns into synsets, sets of words with one meaning, and
says which synset is a kind of which. A synset is known by its offset, as ImageNet does: n02084071
is "dog". `tools/build_lexicon.py` makes the table from WordNet's own files; it has no glosses.
"""

import re
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError

Table = Mapping[str, npt.NDArray[Any]]

_ID = re.compile(r"n[0-9]{8}")


class Sense(NamedTuple):
    """One meaning of a word."""

    synset: int
    """Its row in the lexicon."""
    rank: int
    """1 for the first sense, the most frequent in WordNet's judgement."""
    uses: int
    """How often hand-tagged texts use the word in this sense."""


class Lexicon:
    """The nouns of WordNet.

    Parameters
    ----------
    table : mapping of arrays
        ``lemmas`` and ``exceptions`` are ASCII text, one entry on each line, lemmas sorted by their
        small letters. Each lemma has ``n_senses`` entries in ``senses`` (rows of synsets, the most
        frequent first) and ``counts``; ``adjective_counts`` says how often texts use the word as an
        adjective. Each synset has ``n_hypernyms`` entries in ``hypernyms``, the step from
        the offset before (``offset_steps``), its first lemma, its lexicographer file (``domain``),
        the number of synsets below it and whether it is a name (``is_name``).

    Examples
    --------
    >>> lexicon = load_lexicon()
    >>> dog = lexicon.senses("dog")[0].synset
    >>> lexicon.id_of(dog), lexicon.name(dog)
    ('n02084071', 'dog')
    >>> [lexicon.name(above) for above in lexicon.hypernyms(dog)]
    ['canine', 'domestic animal']
    >>> lexicon.is_below(lexicon.row_of("n02123045"), lexicon.senses("cat")[0].synset)
    True
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._offsets = np.cumsum(table["offset_steps"], dtype=np.int64)
        self._first_sense = _starts(table["n_senses"])
        self._first_hypernym = _starts(table["n_hypernyms"])
        self._ancestors: dict[int, frozenset[int]] = {}
        self.domains = table["domain"]
        """Number of the lexicographer file of each synset, such as 5 for animals."""
        self.n_below = table["n_below"]
        """Number of synsets below each: its hyponyms and instances at any depth."""
        self.is_name = table["is_name"]
        """Whether a synset is called by a name: instances (Paris) and taxa (the genus Lynx)."""

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, word: str) -> bool:
        return word in self._numbers

    def senses(self, word: str) -> list[Sense]:
        """Return the senses of a word in small letters, in their order; none if it is no noun."""
        number = self._numbers.get(word)
        if number is None:
            return []
        own = slice(self._first_sense[number], self._first_sense[number + 1])
        pairs = zip(self._table["senses"][own], self._table["counts"][own], strict=True)
        return [Sense(int(synset), rank, int(n)) for rank, (synset, n) in enumerate(pairs, start=1)]

    def adjective_count(self, word: str) -> int:
        """Return how often hand-tagged texts use the word as an adjective."""
        number = self._numbers.get(word)
        return 0 if number is None else int(self._table["adjective_counts"][number])

    def synset_count(self, synset: int) -> int:
        """Return how often hand-tagged texts use any word of a synset in its sense."""
        return int(self._synset_counts[synset])

    def closed_compound(self, word: str) -> str | None:
        """Return the word that differs from this one in its spaces only, if there is one.

        >>> load_lexicon().closed_compound("sail boat"), load_lexicon().closed_compound("teddybear")
        ('sailboat', 'teddy bear')
        """
        found = self._without_spaces.get(word.replace(" ", ""))
        return None if found == word else found

    def hypernyms(self, synset: int) -> list[int]:
        """Return the synsets directly above: what it is a kind or an instance of."""
        own = slice(self._first_hypernym[synset], self._first_hypernym[synset + 1])
        above: list[int] = self._table["hypernyms"][own].tolist()
        return above

    def ancestors(self, synset: int) -> frozenset[int]:
        """Return all synsets above, and the synset itself."""
        if synset not in self._ancestors:
            above = map(self.ancestors, self.hypernyms(synset))
            self._ancestors[synset] = frozenset({synset}).union(*above)
        return self._ancestors[synset]

    def is_below(self, synset: int, other: int) -> bool:
        """Return whether a synset is the other one, or a kind of it."""
        return other in self.ancestors(synset)

    def path(self, synset: int, other: int) -> list[int]:
        """Return the shortest chain of hypernyms from a synset up to another, both included."""
        chains = [[synset]]
        for chain in chains:
            if chain[-1] == other:
                return chain
            chains += [[*chain, above] for above in self.hypernyms(chain[-1])]
        raise InvalidInputError(f"{self.name(synset)} is not a kind of {self.name(other)}.")

    def name(self, synset: int) -> str:
        """Return the first word of a synset."""
        return self._lemmas[int(self._table["first_lemma"][synset])].replace("_", " ")

    def id_of(self, synset: int) -> str:
        """Return the id of a row: n and the offset in WordNet 3.0."""
        return f"n{self._offsets[synset]:08d}"

    def row_of(self, wordnet_id: str) -> int:
        """Return the row of an id such as n02084071."""
        if _ID.fullmatch(wordnet_id):
            offset = int(wordnet_id[1:])
            row = int(np.searchsorted(self._offsets, offset))
            if row < len(self) and self._offsets[row] == offset:
                return row
        raise InvalidInputError(
            f"There is no noun {wordnet_id!r} in WordNet 3.0. Ids are an n and eight digits, such "
            "as n02084071 (dog)."
        )

    @cached_property
    def _synset_counts(self) -> npt.NDArray[Any]:
        return np.bincount(self._table["senses"], self._table["counts"], minlength=len(self))

    @cached_property
    def exceptions(self) -> dict[str, list[str]]:
        """Base forms of irregular forms, such as mouse for mice."""
        lines = map(str.split, _text(self._table["exceptions"]).split("\n"))
        return {_normal(form): [*map(_normal, bases)] for form, *bases in lines}

    @cached_property
    def _lemmas(self) -> list[str]:
        return _text(self._table["lemmas"]).split("\n")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Number of each lemma by its normal form: small letters, spaces for - and _."""
        words = _normal(_text(self._table["lemmas"])).split("\n")
        return {word: number for number, word in enumerate(words)}

    @cached_property
    def _without_spaces(self) -> dict[str, str]:
        return {word.replace(" ", ""): word for word in self._numbers}


@cache
def load_lexicon() -> Lexicon:
    """Return the lexicon of the package, which is read once."""
    resource = files("tagloom.words") / "data" / "wordnet.npz"
    with resource.open("rb") as file, np.load(file, allow_pickle=False) as table:
        return Lexicon({name: table[name] for name in table.files})


def _starts(counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _normal(text: str) -> str:
    return text.lower().replace("_", " ").replace("-", " ")


def _text(characters: npt.NDArray[Any]) -> str:
    return characters.tobytes().decode("ascii")
