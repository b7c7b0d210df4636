"""Word forms: from a tag as people write it to a noun of the lexicon.

Capitals, hyphens, plurals and compounds are undone; verbs are not: "skiing" stays "skiing". The
rules for plurals are those of WordNet's own morphology, Morphy (manual page morphy(7WN)).
"""

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from tagloom.words.lexicon import Lexicon

# Plurals that WordNet lists as words of their own, but that mean the singular in a tag.
_PLURALS = {"people": "person", "men": "man", "teeth": "tooth"}
_ENDINGS = (
    ("men", "man"),
    ("ies", "y"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("s", ""),
)
_SINGULAR_ENDINGS = ("ss", "us", "is")
_SHORTEST = 3
# What follows one of these words describes the noun before it: "man in hat", "cup of tea".
_PREPOSITIONS = frozenset(
    ("of", "in", "on", "at", "with", "for", "by", "from", "under", "over", "near", "behind")
)
# Several things in one tag have no head: "cat and dog".
_CONJUNCTIONS = frozenset(("and", "or", "&", "no", "not"))
# Accents of loanwords (café, façade). Others change the word: a German Bär is not a bar.
_LOANWORD_ACCENTS = str.maketrans("éèêëàâçîïôûñ", "eeeeaaciioun")
_QUALIFIED = re.compile(r"(.+?)\s*\(([^()]*)\)")


class Form(Enum):
    """How a tag was recognised, the surest first."""

    WORD = "the word itself"
    SINGULAR = "its singular"
    CLOSED = "written with other spaces"
    HEAD = "its last noun only"


class WordForm(NamedTuple):
    """A noun of the lexicon that a tag was recognised as."""

    lemma: str
    form: Form
    singular: str | None = None
    """For a word that is also a plural ("glasses"): its singular."""


class TagText(NamedTuple):
    """A tag as written, in its parts."""

    word: str
    qualifiers: tuple[str, ...]
    """Words that narrow its meaning: "bird" in "crane (bird)" and "animal" in "animal|crane"."""


def split_tag(tag: str) -> TagText:
    """Return the word of a tag in normal form, and what narrows its meaning.

    >>> split_tag("Animal|Crane (bird)")
    TagText(word='crane', qualifiers=('animal', 'bird'))
    """
    *above, last = [part for part in map(normal_form, tag.split("|")) if part] or [""]
    found = _QUALIFIED.fullmatch(last)
    word, own = (found[1], [found[2]]) if found else (last, [])
    return TagText(word, tuple(part for part in [*above, *own] if part))


def normal_form(tag: str) -> str:
    """Return a tag in small letters, with one space for spaces, hyphens and underscores.

    >>> normal_form(" Black-and-white_Photo ")
    'black and white photo'
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", tag).casefold())
    words = "".join(" " if c in "_-" or unicodedata.category(c) == "Pd" else c for c in text)
    return " ".join(words.split())


def recognise(word: str, lexicon: Lexicon) -> WordForm | None:
    """Return the noun that a word in normal form stands for, or None.

    In this order: the word itself, its singular, the same letters with other spaces ("sail boat"),
    and the longest noun at its end ("red fire truck" is a fire truck).

    >>> from tagloom.words.lexicon import load_lexicon
    >>> recognise("polar bears", load_lexicon())
    WordForm(lemma='polar bear', form=<Form.SINGULAR: 'its singular'>, singular=None)
    >>> recognise("snowy road", load_lexicon()).form
    <Form.HEAD: 'its last noun only'>
    """
    word = word.translate(_LOANWORD_ACCENTS)
    found = _recognise_whole(word, lexicon)
    if found is not None:
        return found
    for part in _heads(word.split()):
        head = _recognise_whole(part, lexicon)
        if head is not None and not head.lemma.isdecimal():
            return WordForm(head.lemma, Form.HEAD, head.singular)
    return None


def singulars(word: str, lexicon: Lexicon) -> Iterator[str]:
    """Yield what a word may be the plural of, if the lexicon has it.

    >>> from tagloom.words.lexicon import load_lexicon
    >>> [next(singulars(word, load_lexicon())) for word in ("mice", "ponies", "firemen")]
    ['mouse', 'pony', 'fireman']
    """
    yield from (base for base in _bases(word, lexicon) if base in lexicon)


def _bases(word: str, lexicon: Lexicon) -> list[str]:
    """Return what a word would be the plural of by the rules, also if there is no such noun."""
    before, _, last = word.rpartition(" ")
    stem = f"{before} " if before else ""
    found = [_PLURALS[last]] if last in _PLURALS else []
    found += lexicon.exceptions.get(last, [])
    bases = [*lexicon.exceptions.get(word, []), *(stem + base for base in found)]
    if not last.endswith(_SINGULAR_ENDINGS):
        bases += [
            word.removesuffix(ending) + other
            for ending, other in _ENDINGS
            if last.endswith(ending) and len(last) - len(ending) + len(other) >= _SHORTEST
        ]
    return [base for base in dict.fromkeys(bases) if base != word]


def _recognise_whole(word: str, lexicon: Lexicon) -> WordForm | None:
    singular = next(singulars(word, lexicon), None)
    if singular is not None and word.rpartition(" ")[2] in _PLURALS:
        return WordForm(singular, Form.SINGULAR)
    if word in lexicon:
        regular = singular if singular is not None and word.startswith(singular) else None
        return WordForm(word, Form.WORD, regular)
    if singular is not None:
        return WordForm(singular, Form.SINGULAR)
    for form in [word, *_bases(word, lexicon)]:
        closed = lexicon.closed_compound(form)
        if closed is not None and len(closed) > _SHORTEST:
            return WordForm(closed, Form.CLOSED)
    return None


def _heads(words: list[str]) -> Iterator[str]:
    """Yield the ends of a compound, the longest first, up to its first preposition."""
    if _CONJUNCTIONS.intersection(words):
        return
    ends = [n for n, word in enumerate(words) if word in _PREPOSITIONS and n]
    head = words[: ends[0]] if ends else words[1:]
    for start in range(len(head)):
        yield " ".join(head[start:])
