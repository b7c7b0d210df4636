"""Build the noun table of `tagloom.words.lexicon` from the files of WordNet 3.0.

    python tools/build_lexicon.py [/usr/share/wordnet]

Reads data.noun, index.noun, noun.exc and cntlist.rev (formats: the manual pages wndb(5WN) and
cntlist(5WN)), which Debian's wordnet-base installs, and writes wordnet.npz and Princeton's notice,
WORDNET-LICENSE.txt, to the package. The same input gives the same arrays.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tagloom.io import atomic_write

TARGET = Path(__file__).parents[1] / "src" / "tagloom" / "words" / "data"
NOUN, ADJECTIVES = "1", ("3", "5")
TAXONOMIC_GROUP = 7992450


class Synset(NamedTuple):
    """One line of data.noun, without its gloss."""

    offset: int
    domain: int
    words: list[str]
    hypernyms: list[int]
    is_instance: bool


def main() -> None:
    """Write the table and the notice."""
    source = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/wordnet")
    with atomic_write(TARGET / "wordnet.npz") as part, part.open("wb") as file:
        np.savez_compressed(file, **table(source))
    with atomic_write(TARGET / "WORDNET-LICENSE.txt") as part:
        part.write_text(notice(source), encoding="utf-8")


def table(source: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of the lexicon, as `tagloom.words.lexicon` documents them."""
    synsets = list(read_synsets(source / "data.noun"))
    row = {synset.offset: r for r, synset in enumerate(synsets)}
    senses = read_senses(source / "index.noun")
    noun_counts, adjective_counts = read_counts(source / "cntlist.rev")
    above = _ancestors(synsets, row)
    spelt = _spellings(synsets, senses)
    lemmas = sorted(senses)
    number = {lemma: n for n, lemma in enumerate(lemmas)}
    counts = [noun_counts[lemma, n] for lemma in lemmas for n in range(1, len(senses[lemma]) + 1)]
    hypernyms = [row[above] for synset in synsets for above in synset.hypernyms]
    return {
        "lemmas": _packed(spelt[lemma] for lemma in lemmas),
        "n_senses": np.array([len(senses[lemma]) for lemma in lemmas], dtype=np.uint8),
        "senses": np.array([row[o] for lemma in lemmas for o in senses[lemma]], dtype=np.int32),
        "counts": np.array(counts, dtype=np.uint16),
        "adjective_counts": np.array(
            [adjective_counts[lemma] for lemma in lemmas], dtype=np.uint16
        ),
        "offset_steps": np.diff([synset.offset for synset in synsets], prepend=0).astype(np.int32),
        "first_lemma": np.array(
            [number[synset.words[0].lower()] for synset in synsets], dtype=np.int32
        ),
        "domain": np.array([synset.domain for synset in synsets], dtype=np.uint8),
        "n_below": np.array(_n_below(above), dtype=np.int32),
        "is_name": np.array(_are_names(synsets, above, row)),
        "n_hypernyms": np.array([len(synset.hypernyms) for synset in synsets], dtype=np.uint8),
        "hypernyms": np.array(hypernyms, dtype=np.int32),
        "exceptions": _packed(read_exceptions(source / "noun.exc")),
    }


def read_synsets(path: Path) -> Iterator[Synset]:
    """Yield the synsets of data.noun in the order of their offsets.

    A line: offset, lexicographer file, type, number of words (hexadecimal), each word with its id,
    number of pointers, each pointer as symbol, offset, part of speech and source/target.
    """
    for line in _lines(path):
        fields = line.split(" | ")[0].split()
        n_words = int(fields[3], 16)
        words = fields[4 : 4 + 2 * n_words : 2]
        pointers = fields[5 + 2 * n_words :]
        above = [
            (symbol, int(offset))
            for symbol, offset in zip(pointers[::4], pointers[1::4], strict=True)
            if symbol in ("@", "@i")
        ]
        is_instance = any(symbol == "@i" for symbol, _ in above)
        yield Synset(int(fields[0]), int(fields[1]), words, [o for _, o in above], is_instance)


def read_senses(path: Path) -> dict[str, list[int]]:
    """Return the offsets of the senses of each lemma of index.noun, the first sense first."""
    senses = {}
    for line in _lines(path):
        fields = line.split()
        n_senses, n_symbols = int(fields[2]), int(fields[3])
        senses[fields[0]] = [int(offset) for offset in fields[6 + n_symbols :]]
        assert len(senses[fields[0]]) == n_senses, line
    return senses


def read_counts(path: Path) -> tuple[defaultdict[tuple[str, int], int], defaultdict[str, int]]:
    """Return how often texts use a noun in each of its senses, and a word as an adjective.

    A line of cntlist.rev: sense key (lemma%type:...), sense number, count. The counts come from the
    semantic concordances that Princeton tagged by hand (Miller et al. 1993).
    """
    nouns: defaultdict[tuple[str, int], int] = defaultdict(int)
    adjectives: defaultdict[str, int] = defaultdict(int)
    for line in path.read_text(encoding="ascii").splitlines():
        key, sense, count = line.split()
        lemma, _, rest = key.partition("%")
        if rest.startswith(NOUN):
            nouns[lemma, int(sense)] += int(count)
        elif rest.startswith(ADJECTIVES):
            adjectives[lemma] += int(count)
    return nouns, adjectives


def read_exceptions(path: Path) -> list[str]:
    """Return the irregular forms of noun.exc: a form and its base forms on each line."""
    return sorted(path.read_text(encoding="ascii").splitlines())


def notice(source: Path) -> str:
    """Return the licence that stands in front of data.noun, without its line numbers."""
    lines = (source / "data.noun").read_text(encoding="ascii").splitlines()
    head = [line for line in lines[:40] if line.startswith("  ")]
    return "".join(f"{' '.join(line.split(' ')[3:]).rstrip()}\n" for line in head)


def _spellings(synsets: list[Synset], senses: dict[str, list[int]]) -> dict[str, str]:
    """Return each lemma with its capitals, which only names have in all their senses."""
    words = {word for synset in synsets for word in synset.words}
    capitals = {word.lower(): word for word in sorted(words)}
    return {lemma: lemma if lemma in words else capitals[lemma] for lemma in senses}


def _ancestors(synsets: list[Synset], row: dict[int, int]) -> list[set[int]]:
    """Return the rows above each synset, at any distance."""
    above: dict[int, set[int]] = {}

    def ancestors(r: int) -> set[int]:
        if r not in above:
            direct = {row[offset] for offset in synsets[r].hypernyms}
            above[r] = direct.union(*map(ancestors, direct))
        return above[r]

    return [ancestors(r) for r in range(len(synsets))]


def _n_below(above: list[set[int]]) -> list[int]:
    n_below = Counter(r for ancestors in above for r in ancestors)
    return [n_below[r] for r in range(len(above))]


def _are_names(synsets: list[Synset], above: list[set[int]], row: dict[int, int]) -> list[bool]:
    """Return which synsets are named with a capital: Paris, and taxa such as the genus Lynx."""
    taxon = row[TAXONOMIC_GROUP]
    return [
        synset.is_instance or taxon in ancestors
        for synset, ancestors in zip(synsets, above, strict=True)
    ]


def _packed(lines: Any) -> np.ndarray[Any, Any]:
    text = "\n".join(lines)
    assert text.isascii()
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file of the database that are no part of the notice."""
    for line in path.read_text(encoding="ascii").splitlines():
        if not line.startswith("  "):
            yield line


if __name__ == "__main__":
    main()
