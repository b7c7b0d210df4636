"""Links: which synsets a tag means, which concepts of an encoder show it, which tags it implies."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels import as_partial_labels
from tagloom.validation import some_of
from tagloom.vision import imagenet_classes, imagenet_synsets
from tagloom.words.forms import Form, WordForm, normal_form, recognise, split_tag
from tagloom.words.lexicon import Lexicon, load_lexicon
from tagloom.words.senses import Senses, prior_senses, weigh_by_pictures, weigh_by_tags
from tagloom.words.vocabulary import Vocabulary

Columns = npt.NDArray[np.intp]

# A sense is chosen from this probability on; the most probable one in any case.
_CHOSEN = 0.25
# An implication puts tags on many pictures, and a merge renames them: both must be likely, and an
# implication already before other tags and pictures are looked at.
_IMPLIED = 0.75
_IMPLIED_BEFORE = 0.6
_MERGED = 0.5
# Below these, kinds in WordNet are what people call kinds: a dog is an animal, a canoe a vehicle.
# Elsewhere they often are not: a flag is a decoration, a petal a leaf, sand soil.
_KINDS = {
    "animal": "n00015388",
    "person": "n00007846",
    "plant": "n00017222",
    "fruit": "n13134947",
    "food": "n00021265",
    "solid food": "n07555863",
    "vehicle": "n04524313",
    "structure": "n04341686",
    "way": "n04564698",
    "furniture": "n03405725",
    "clothing": "n03051540",
    "container": "n03094503",
    "tableware": "n04381994",
    "device": "n03183080",
    "implement": "n03563967",
    "equipment": "n03294048",
    "plaything": "n03964744",
    "sculpture": "n04157320",
    "body of water": "n09225146",
    "natural elevation": "n09366317",
    "natural depression": "n09366017",
    "shore": "n09433442",
    "island": "n09316454",
    "weather": "n11524662",
    "sport": "n00523513",
}
_ITEMS_AT_MOST = 20_000
_EXAMPLES = 3


class TagLink(NamedTuple):
    """What is known about the meaning of one tag."""

    tag: str
    synsets: tuple[str, ...]
    """WordNet ids of the chosen senses, the most probable first."""
    probability: float
    """That the tag means one of them; 1 where the vocabulary says so."""
    concepts: tuple[int, ...]
    """Positions of the concepts that mean a chosen sense or are a kind of it."""
    parents: tuple[str, ...]
    """The tags directly above: those that it implies but no other implied tag does."""
    how: str
    """How it was linked, or why it was not, in words."""


class Implication(NamedTuple):
    """Whatever has the tag `narrow` is also what the tag `broad` says: a poodle is a dog."""

    narrow: str
    broad: str
    probability: float
    """That both tags are meant in senses for which it holds; 1 where the vocabulary says so."""


class Merge(NamedTuple):
    """Tags that may be one, the most frequent first, and why. It is only offered, never done."""

    tags: tuple[str, ...]
    why: str


@dataclass(frozen=True, eq=False)
class TagLinks:
    """The links of all tags of a collection.

    Parameters
    ----------
    tags, concepts : tuple of str
        In the order of labels and posteriors.
    links : tuple of TagLink
        One for each tag.
    implications : tuple of Implication
        Pairs of different tags, closed under transitivity: narrow implies broad. They follow from
        the hypernyms of well-supported senses and from the parents in the vocabulary.
    merges : tuple of Merge
        Tags that may be one: offered, never done.
    """

    tags: tuple[str, ...]
    concepts: tuple[str, ...]
    links: tuple[TagLink, ...]
    implications: tuple[Implication, ...]
    merges: tuple[Merge, ...]

    def __getitem__(self, tag: str) -> TagLink:
        return self.links[self._position[tag]]

    @cached_property
    def concept_matrix(self) -> sparse.csr_array:
        """1 where a concept (column) shows a tag (row), of shape (n_tags, n_concepts).

        ``posteriors @ links.concept_matrix.T`` is the probability that a picture shows one of the
        concepts of each tag.
        """
        pairs = [(row, column) for row, link in enumerate(self.links) for column in link.concepts]
        return _ones(pairs, (len(self.tags), len(self.concepts)))

    @cached_property
    def implication_matrix(self) -> sparse.csr_array:
        """1 where a tag (row) implies another (column), of shape (n_tags, n_tags)."""
        at = self._position
        pairs = [(at[one.narrow], at[one.broad]) for one in self.implications]
        return _ones(pairs, (len(self.tags), len(self.tags)))

    @cached_property
    def _position(self) -> dict[str, int]:
        return {tag: position for position, tag in enumerate(self.tags)}


def link_tags(
    tags: Iterable[str],
    concepts: Iterable[str] = (),
    *,
    vocabulary: Vocabulary | None = None,
    labels: Any = None,
    posteriors: npt.ArrayLike | None = None,
) -> TagLinks:
    """Find out what tags mean, by their names.

    Each tag is looked up in WordNet (`tagloom.words.forms`) and its senses are weighed
    (`tagloom.words.senses`): by their frequency, by the other tags and, where `labels` and
    `posteriors` are given, by the pictures. A tag is linked to the concepts that are a kind of a
    chosen sense. It is not linked to broader concepts or to siblings: a picture of a brown bear
    need not show a grizzly. Nothing is guessed for words that WordNet does not have.

    Parameters
    ----------
    tags : iterable of str
        All different.
    concepts : iterable of str
        Class names of an encoder. Those of ImageNet have known ids; others are looked up like tags.
    vocabulary : Vocabulary, optional
        Its decisions come first.
    labels : PartialLabels or array of 1, 0 and NaN of shape (n_items, n_tags), optional
        Only presences are used.
    posteriors : array of shape (n_items, n_concepts), optional

    Examples
    --------
    >>> links = link_tags(["Dogs", "poodle", "cat", "xyzzy"], ["tabby", "toy poodle", "beagle"])
    >>> links.concept_matrix.toarray().astype(int).tolist()
    [[0, 1, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]]
    >>> [(one.narrow, one.broad) for one in links.implications]
    [('poodle', 'Dogs')]
    >>> links["Dogs"].how
    'dog (n02084071): the concepts toy poodle and beagle'
    """
    names, classes = _checked(tags, "tag"), tuple(concepts)
    present, scores = _evidence(len(names), len(classes), labels, posteriors)
    linker = _Linker(names, classes, vocabulary or Vocabulary(), load_lexicon())
    return linker.links(present, scores)


def concept_synsets(concepts: Sequence[str]) -> list[str | None]:
    """Return the WordNet id of each class name of an encoder; None where it is not known.

    The names of ImageNet's classes, also in a combination of encoders, have known ids. Other names
    are looked up like tags; "tench, Tinca tinca" are two names of one class.

    >>> concept_synsets(["golden retriever", "traffic lights", "aliens 3"])
    ['n02099601', 'n06874185', None]
    """
    lexicon = load_lexicon()
    ids = dict(zip(imagenet_classes(), imagenet_synsets(), strict=True))
    plain = [name if name in ids else name.rpartition(" (")[0] for name in concepts]
    known = ids if ids.keys() <= set(plain) else {}
    found = [
        {lexicon.row_of(known[name]): 1.0} if name in known else _class_senses(whole, lexicon)
        for whole, name in zip(concepts, plain, strict=True)
    ]
    if len(known) < len(concepts):
        found = weigh_by_tags(found, lexicon)
    return [lexicon.id_of(_most_probable(senses)) if senses else None for senses in found]


def _class_senses(name: str, lexicon: Lexicon) -> Senses:
    total: Senses = defaultdict(float)
    synonyms = name.split(",")
    for synonym in synonyms:
        text = split_tag(synonym)
        word = recognise(text.word, lexicon)
        # The last noun of a class name ("traffic cone") would make it too broad.
        if word is not None and word.form is not Form.HEAD:
            for synset, probability in prior_senses(synonym, text, word, lexicon).items():
                total[synset] += probability / len(synonyms)
    return dict(total)


def _most_probable(senses: Senses) -> int:
    return max(senses, key=lambda synset: senses[synset])


class _Linker:
    """The linking of one list of tags with one list of concepts."""

    def __init__(
        self,
        tags: tuple[str, ...],
        concepts: tuple[str, ...],
        vocabulary: Vocabulary,
        lexicon: Lexicon,
    ) -> None:
        self.tags, self.concepts = tags, concepts
        self.vocabulary, self.lexicon = vocabulary, lexicon
        self.synset_of = [
            None if one is None else lexicon.row_of(one) for one in concept_synsets(concepts)
        ]
        self.columns = self._concepts_below()
        self.words: list[WordForm | None] = []
        self.priors: list[Senses] = []
        self.senses: list[Senses] = []
        self._kinds = frozenset(map(lexicon.row_of, _KINDS.values()))
        self._names: dict[str, list[str]] = defaultdict(list)
        for tag in tags:
            self._names[vocabulary.resolve(tag)].append(tag)

    def links(
        self, present: sparse.csc_array | None, posteriors: npt.NDArray[Any] | None
    ) -> TagLinks:
        """Choose senses, then say what follows from them."""
        self._read_words()
        self.senses = self._decided(weigh_by_tags(self.priors, self.lexicon))
        if present is not None and posteriors is not None:
            self._look(present, posteriors)
        implications = self._implications()
        parents = _direct(implications)
        links = [self._link(n, parents.get(tag, ())) for n, tag in enumerate(self.tags)]
        counts = np.zeros(len(self.tags)) if present is None else np.asarray(present.sum(axis=0))
        merges = self._merges(counts)
        return TagLinks(self.tags, self.concepts, tuple(links), tuple(implications), tuple(merges))

    def _concepts_below(self) -> Mapping[int, Columns]:
        """Return the concepts that are each synset or a kind of it."""
        below: dict[int, list[int]] = defaultdict(list)
        for column, synset in enumerate(self.synset_of):
            for above in () if synset is None else self.lexicon.ancestors(synset):
                below[above].append(column)
        columns: dict[int, Columns] = defaultdict(lambda: np.empty(0, dtype=np.intp))
        columns.update({synset: np.array(found) for synset, found in below.items()})
        return columns

    def _read_words(self) -> None:
        for tag in self.tags:
            name = self.vocabulary.resolve(tag)
            text = split_tag(name)
            word = recognise(text.word, self.lexicon)
            self.words.append(word)
            senses = {} if word is None else prior_senses(name, text, word, self.lexicon)
            self.priors.append(senses)
        self.priors = self._decided(self.priors)

    def _decided(self, senses: Sequence[Senses]) -> list[Senses]:
        """Return the senses, those of the vocabulary instead where it has some."""
        decided = []
        for tag, found in zip(self.tags, senses, strict=True):
            entry = self.vocabulary.entry(tag)
            own = None if entry.wordnet is None else [*map(self.lexicon.row_of, entry.wordnet)]
            given = found if own is None else {synset: 1 / len(own) for synset in own}
            decided.append({} if entry.ignore else given)
        return decided

    def _look(self, present: sparse.csc_array, posteriors: npt.NDArray[Any]) -> None:
        for n, senses in enumerate(self.senses):
            if len(senses) > 1 and any(len(self.columns[synset]) for synset in senses):
                has = np.zeros(len(posteriors), dtype=bool)
                has[present.indices[present.indptr[n] : present.indptr[n + 1]]] = True
                self.senses[n] = weigh_by_pictures(senses, self.columns, has, posteriors)
        self.senses = self._decided(self.senses)

    def _chosen(self, n: int) -> list[int]:
        """Return the chosen senses of a tag; none where it is more likely no noun."""
        senses = self.senses[n]
        ranked = sorted(senses, key=lambda synset: (-senses[synset], synset))
        if not ranked or sum(senses.values()) < 1 - sum(senses.values()):
            return []
        return [s for place, s in enumerate(ranked) if not place or senses[s] >= _CHOSEN]

    def _link(self, n: int, parents: tuple[str, ...]) -> TagLink:
        tag, chosen = self.tags[n], self._chosen(n)
        own = self.vocabulary.entry(tag).concepts
        if own is not None and not self.vocabulary.is_ignored(tag):
            at = {name: column for column, name in enumerate(self.concepts)}
            columns = [at[name] for name in own if name in at]
        else:
            columns = sorted({int(c) for synset in chosen for c in self.columns[synset]})
        ids = tuple(map(self.lexicon.id_of, chosen))
        probability = float(min(sum(self.senses[n][synset] for synset in chosen), 1.0))
        return TagLink(tag, ids, probability, tuple(columns), parents, self._how(n, columns))

    def _how(self, n: int, columns: Sequence[int]) -> str:
        entry, chosen, word = self.vocabulary.entry(self.tags[n]), self._chosen(n), self.words[n]
        if entry.ignore:
            return "ignored by the vocabulary"
        if not chosen and not columns:
            if entry.wordnet is not None:
                return "not linked: the vocabulary gives it no meaning"
            if word is None:
                return "not linked: no noun of WordNet"
            return "not linked: more often an adjective than a noun"
        meaning = " or ".join(f"{self.lexicon.name(s)} ({self.lexicon.id_of(s)})" for s in chosen)
        if self.vocabulary.resolve(self.tags[n]) != self.tags[n]:
            meaning = f"alias of {self.vocabulary.resolve(self.tags[n])}; {meaning}"
        elif entry.wordnet is None and word is not None and word.form is Form.HEAD:
            meaning = f"{meaning}, by its last noun only"
        elif entry.wordnet is not None or entry.concepts is not None:
            meaning = f"{meaning}, by the vocabulary" if meaning else "by the vocabulary"
        return f"{meaning}: {self._shown_by(chosen, columns)}"

    def _shown_by(self, chosen: Sequence[int], columns: Sequence[int]) -> str:
        names = [self.concepts[column] for column in columns]
        if len(names) > _EXAMPLES:
            return f"{len(names)} concepts, such as {_enumerated(names[:_EXAMPLES])}"
        if names:
            return f"the {'concept' if len(names) == 1 else 'concepts'} {_enumerated(names)}"
        above = {synset for one in chosen for synset in self.lexicon.ancestors(one)}
        wider = [
            name
            for name, synset in zip(self.concepts, self.synset_of, strict=True)
            if synset in above
        ]
        if wider:
            return f"no concept; it is narrower than {_enumerated(wider[:_EXAMPLES])}"
        return "no concept"

    def _implications(self) -> list[Implication]:
        """Return all implications between tags, closed under transitivity.

        By WordNet, narrow implies broad with probability

            sum over senses s of narrow and t of broad with s below t of  p(s) p(t),

        which is high only if both words are used in senses for which it holds. It must be at least
        0.75, and 0.6 by the frequencies of the senses alone, and t must lie below one of `_KINDS`.
        Tags recognised by their last noun are left out: a toy car is no car. Where both a singular
        and its plural are tags, only the singular is implied: a man is a person, not people.
        "animal|dog" implies "animal", whatever it is. A tag with parents in the vocabulary implies
        those and what they imply, and nothing else.
        """
        found, before = self._broader(self.senses), self._broader(self.priors)
        edges: dict[str, dict[str, float]] = {}
        for n, tag in enumerate(self.tags):
            decided = self.vocabulary.entry(tag).parents
            if decided is not None and not self.vocabulary.is_ignored(tag):
                edges[tag] = self._decided_parents(tag, decided)
            else:
                likely = (m for m, p in before[n].items() if p >= _IMPLIED_BEFORE)
                above = {self.tags[m]: min(found[n].get(m, 0.0), 1.0) for m in likely}
                edges[tag] = {broad: p for broad, p in above.items() if p >= _IMPLIED}
                edges[tag] |= self._decided_parents(tag, [tag.rpartition("|")[0]])
        return [
            Implication(tag, broad, probability)
            for tag in self.tags
            for broad, probability in _closure(tag, edges).items()
        ]

    def _is_plural_beside_singular(self, n: int) -> bool:
        word = self.words[n]
        if word is None:
            return False
        singular = word.singular or (word.lemma if word.form is Form.SINGULAR else None)
        others = (other for m, other in enumerate(self.words) if m != n and other is not None)
        return any(other.lemma == singular and other.form is Form.WORD for other in others)

    def _broader(self, senses: Sequence[Senses]) -> list[dict[int, float]]:
        """Return for each tag the tags above it with their probabilities, without synonyms."""
        meant: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for n, own in enumerate(senses):
            whole = self._is_whole(n) and not self._is_plural_beside_singular(n)
            for synset, probability in own.items() if whole else ():
                if self._kinds & self.lexicon.ancestors(synset):
                    meant[synset].append((n, probability))
        broader: list[dict[int, float]] = []
        for n, own in enumerate(senses):
            up: dict[int, float] = defaultdict(float)
            same: dict[int, float] = defaultdict(float)
            for synset, probability in own.items() if self._is_whole(n) else ():
                for above in () if self._is_proper(synset) else self.lexicon.ancestors(synset):
                    for other, p in meant.get(above, ()):
                        up[other] += probability * p
                        same[other] += probability * p * (above == synset)
            broader.append({m: p for m, p in up.items() if m != n and same[m] < p / 2})
        return broader

    def _is_whole(self, n: int) -> bool:
        """Return whether the whole tag was recognised, not its last noun only."""
        word = self.words[n]
        decided = self.vocabulary.entry(self.tags[n]).wordnet is not None
        return decided or (word is not None and word.form is not Form.HEAD)

    def _is_proper(self, synset: int) -> bool:
        """Return whether a synset is a person with a capital.

        A picture of Buddha is not one of a person, and "Buddhist" may be an adjective.
        """
        person = self.lexicon.row_of(_KINDS["person"])
        return self.lexicon.is_below(synset, person) and not self.lexicon.name(synset).islower()

    def _decided_parents(self, tag: str, parents: Sequence[str]) -> dict[str, float]:
        """Return the parents that are tags of the collection, under the names they have there."""
        found = [
            name for one in parents for name in self._names.get(self.vocabulary.resolve(one), ())
        ]
        return {name: 1.0 for name in found if name != tag}

    def _merges(self, counts: npt.NDArray[Any]) -> list[Merge]:
        """Return the groups of tags that may be one.

        First those that differ in capitals, hyphens or spaces only or are forms of one noun; then
        those that may mean the same synset, where the most frequent tag stands for its forms. What
        the vocabulary has merged is not offered again.
        """

        def ranked(group: Iterable[int]) -> list[int]:
            return sorted(group, key=lambda n: (-counts[n], n))

        forms = [ranked(group) for group in _grouped(self._forms())]
        stand_in = {n: group[0] for group in forms for n in group}
        merges = [self._merge(group, "forms of one word") for group in forms]
        for synset, tags in self._meanings().items():
            group = ranked({stand_in.get(n, n) for n in tags})
            if len(group) > 1:
                all_of = "both" if len(group) == 2 else "all"
                merges.append(self._merge(group, f"{all_of} can mean {self.lexicon.name(synset)}"))
        return list(dict.fromkeys(merges))

    def _merge(self, group: Iterable[int], why: str) -> Merge:
        return Merge(tuple(self.tags[n] for n in group), why)

    def _open(self) -> list[int]:
        """Return the tags about whose name nothing is decided."""
        aliases, is_ignored = self.vocabulary.aliases, self.vocabulary.is_ignored
        return [n for n, t in enumerate(self.tags) if t not in aliases and not is_ignored(t)]

    def _forms(self) -> dict[int, str]:
        """Return the noun that each tag is a form of, or its normal form."""
        found = {}
        for n in self._open():
            path = [*map(normal_form, self.tags[n].split("|"))]
            word = self.words[n]
            is_noun = word is not None and word.form is not Form.HEAD and not path[:-1]
            plain = is_noun and not split_tag(self.tags[n]).qualifiers
            found[n] = word.lemma if plain and word else "|".join(path)
        return found

    def _meanings(self) -> dict[int, list[int]]:
        """Return the tags that may mean each synset, where one of them most probably does.

        A tag may mean its chosen senses and, also where it is rather an adjective ("grey"), the
        most frequent sense of its noun.
        """
        meant: dict[int, dict[int, float]] = defaultdict(dict)
        for n in self._open():
            if self._is_whole(n) and self.priors[n]:
                meant[_most_probable(self.priors[n])][n] = _MERGED
            for synset in self._chosen(n) if self._is_whole(n) else ():
                meant[synset][n] = self.senses[n][synset]
        return {s: [*tags] for s, tags in meant.items() if max(tags.values()) >= _MERGED}


def _grouped(keys: Mapping[int, str]) -> list[list[int]]:
    """Return the groups of at least two that have a key in common."""
    groups: dict[str, list[int]] = defaultdict(list)
    for n, key in keys.items():
        groups[key].append(n)
    return [group for group in groups.values() if len(group) > 1]


def _closure(tag: str, edges: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return all tags above one, with the probability of the best chain to each."""
    found: dict[str, float] = {}
    paths = dict(edges[tag])
    while paths:
        broad = max(paths, key=lambda name: paths[name])
        found[broad] = probability = paths.pop(broad)
        for above, p in edges[broad].items():
            if above != tag and above not in found and probability * p >= _IMPLIED:
                paths[above] = max(paths.get(above, 0.0), probability * p)
    return found


def _direct(implications: Sequence[Implication]) -> dict[str, tuple[str, ...]]:
    """Return the tags directly above each: the transitive reduction."""
    above: dict[str, list[str]] = defaultdict(list)
    for one in implications:
        above[one.narrow].append(one.broad)
    return {
        tag: tuple(
            broad
            for broad in broads
            if not any(
                broad in above.get(between, ()) and between not in above.get(broad, ())
                for between in broads
            )
        )
        for tag, broads in above.items()
    }


def _checked(tags: Iterable[str], what: str) -> tuple[str, ...]:
    names = tuple(tags)
    wrong = [name for name in names if not isinstance(name, str)]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if wrong or repeated:
        problem = f"texts; found {some_of(wrong)}" if wrong else f"different: {some_of(repeated)}"
        raise InvalidInputError(f"The names of the {what}s must be {problem}.")
    return names


def _evidence(
    n_tags: int, n_concepts: int, labels: Any, posteriors: npt.ArrayLike | None
) -> tuple[sparse.csc_array | None, npt.NDArray[Any] | None]:
    """Return which items have which tags, and their posteriors, of a sample of the items."""
    if labels is None:
        if posteriors is not None:
            raise InvalidInputError("posteriors can only be used together with labels.")
        return None, None
    known = as_partial_labels(labels)
    scores = None if posteriors is None else np.asarray(posteriors)
    shape = (known.n_items, n_concepts)
    if known.n_labels != n_tags or (scores is not None and scores.shape != shape):
        found = f"labels {known.shape}" + ("" if scores is None else f", posteriors {scores.shape}")
        raise InvalidInputError(
            f"labels must have a column for each of the {n_tags} tags, and posteriors a row for "
            f"each item and a column for each of the {n_concepts} concepts; found {found}."
        )
    entries = known.entries()
    rows, columns = entries.rows[entries.present], entries.columns[entries.present]
    step = -(-known.n_items // _ITEMS_AT_MOST) or 1
    kept = rows % step == 0
    rows, columns = rows[kept] // step, columns[kept]
    n_items = len(range(0, known.n_items, step))
    present = sparse.csc_array((np.ones(len(rows)), (rows, columns)), shape=(n_items, n_tags))
    return present, None if scores is None else scores[::step]


def _ones(pairs: Sequence[tuple[int, int]], shape: tuple[int, int]) -> sparse.csr_array:
    at = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return sparse.csr_array((np.ones(len(at), dtype=np.float32), (at[:, 0], at[:, 1])), shape=shape)


def _enumerated(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
