from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from tagloom.errors import InvalidInputError
from tagloom.vision import imagenet_classes
from tagloom.words import TagEntry, Vocabulary, concept_synsets, link_tags, load_lexicon

CAPTIONS = Path(__file__).parents[3] / "shared" / "data" / "coco_captions" / "features.npz"


def concepts_of(links, tag):
    return [links.concepts[column] for column in links[tag].concepts]


def pairs(links):
    return {(one.narrow, one.broad) for one in links.implications}


def entries(**decided):
    return Vocabulary({tag: TagEntry(**values) for tag, values in decided.items()})


def test_a_tag_is_linked_to_all_concepts_below_it():
    links = link_tags(["Cats", "polar bear", "Traffic-Lights"], imagenet_classes())
    assert concepts_of(links, "Cats") == [
        "tabby", "tiger cat", "Persian cat", "Siamese cat", "Egyptian cat", "cougar", "lynx",
    ]  # fmt: skip
    assert concepts_of(links, "polar bear") == ["ice bear"]
    assert concepts_of(links, "Traffic-Lights") == ["traffic light"]
    matrix = links.concept_matrix
    assert matrix.shape == (3, 1000)
    assert matrix.sum() == 9


def test_a_tag_below_or_beside_a_concept_is_not_linked():
    links = link_tags(["grizzly", "sloth bear"], ["brown bear", "ice bear"])
    assert links["grizzly"].concepts == links["sloth bear"].concepts == ()
    assert links["grizzly"].how == (
        "grizzly (n02132580): no concept; it is narrower than brown bear"
    )


@pytest.mark.parametrize(
    ("tag", "how"),
    [
        ("собака", "not linked: no noun of WordNet"),
        ("white", "not linked: more often an adjective than a noun"),
        ("blurry dog", "dog (n02084071), by its last noun only: the concept beagle"),
        ("puppies", "puppy (n01322604): no concept"),
    ],
)
def test_how_it_was_linked_can_be_read(tag, how):
    assert link_tags([tag], ["beagle"])[tag].how == how


def test_names_of_imagenet_classes_have_known_ids():
    found = concept_synsets(imagenet_classes())
    crane = imagenet_classes().index("crane (bird)")
    assert found[crane] == "n02012849"
    # Two encoders with the same classes: each name says whose it is.
    twice = [f"{name} ({own})" for own in ("lite0", "lite1") for name in imagenet_classes()]
    assert concept_synsets(twice) == found * 2


def test_other_class_names_are_looked_up_and_synonyms_join_forces():
    by_name = concept_synsets([name.partition(" (")[0] for name in imagenet_classes()][:900])
    known = concept_synsets(imagenet_classes())[:900]
    assert np.mean([a == b for a, b in zip(by_name, known, strict=True)]) > 0.85
    assert concept_synsets(["drake, male duck", "tench, Tinca tinca"])[1] == "n01440764"


def test_narrow_tags_imply_broad_ones_transitively():
    links = link_tags(["poodle", "animal", "dogs", "man", "person", "boat", "vehicle"])
    assert pairs(links) == {
        ("poodle", "dogs"), ("poodle", "animal"), ("dogs", "animal"),
        ("man", "person"), ("boat", "vehicle"),
    }  # fmt: skip
    assert links["poodle"].parents == ("dogs",)
    assert links.implication_matrix.sum() == 5
    assert links.implication_matrix[0, 2] == 1


def test_hierarchical_tags_imply_what_stands_above_them():
    tags = ["Places", "Places|Rome", "Places|Rome|Forum", "Rome"]
    assert pairs(link_tags(tags)) >= {
        ("Places|Rome", "Places"),
        ("Places|Rome|Forum", "Places|Rome"),
        ("Places|Rome|Forum", "Places"),
    }


@pytest.mark.parametrize(
    ("narrow", "broad"),
    [
        ("white", "person"),  # a colour rather than a white person
        ("toy car", "car"),  # recognised by its last noun only
        ("hot dog", "dog"),
        ("flag", "decoration"),  # so says WordNet, but nobody else
        ("buddha", "person"),  # mostly a statue
        ("fan", "person"),
        ("dog", "entity"),
        ("orange", "color"),
    ],
)
def test_doubtful_implications_are_left_out(narrow, broad):
    assert pairs(link_tags([narrow, broad])) == set()


def test_pictures_choose_the_sense():
    tags, classes = ["crane"], ["harvester", "crane (bird)", "crane (machine)"]
    random = np.random.default_rng(0)
    listed = random.random((200, 1)) < 0.3
    posteriors = random.random((200, 3))
    posteriors[:, 1] += listed[:, 0]
    seen = link_tags(tags, classes, labels=listed, posteriors=posteriors)
    assert concepts_of(seen, "crane") == ["crane (bird)"]
    posteriors[:, 1:] = posteriors[:, :0:-1]
    seen = link_tags(tags, classes, labels=listed, posteriors=posteriors)
    assert concepts_of(seen, "crane") == ["crane (machine)"]


def test_unknown_labels_are_no_absences_and_the_same_input_gives_the_same_links():
    labels = [[1.0], [np.nan], [0.0], [1.0]]
    posteriors = np.eye(4)[:, :2]
    first, again = (
        link_tags(["crane"], ["crane (bird)", "beagle"], labels=labels, posteriors=posteriors)
        for _ in range(2)
    )
    assert first.links == again.links


def test_merges_are_offered_most_frequent_first():
    tags = [
        "Woman",
        "woman",
        "women",
        "plane",
        "airplane",
        "grey",
        "gray",
        "bike",
        "bicycle",
        "cat",
    ]
    labels = np.tril(np.ones((10, 10)))
    merges = link_tags(tags, labels=labels).merges
    assert [merge.tags for merge in merges[:1]] == [("Woman", "woman", "women")]
    assert {merge.tags for merge in merges[1:]} == {
        ("plane", "airplane"), ("grey", "gray"), ("bike", "bicycle"),
    }  # fmt: skip
    assert merges[0].why == "forms of one word"


def test_qualified_tags_are_not_offered_as_forms_of_one_word():
    assert link_tags(["crane (bird)", "crane (machine)", "bird|crane"]).merges[0].why != "forms"


def test_the_vocabulary_comes_first():
    vocabulary = entries(
        Hund={"wordnet": ("n02084071",), "parents": ("Tier",), "aliases": ("Dackel",)},
        Tier={"wordnet": ("n00015388",)},
        Blume={"concepts": ("daisy", "no such concept")},
        bear={"wordnet": ()},
        cat={"ignore": True},
    )
    tags = ["Hund", "Dackel", "Tier", "Blume", "bear", "cat", "cats"]
    links = link_tags(tags, ["beagle", "daisy", "tabby", "ice bear"], vocabulary=vocabulary)
    assert concepts_of(links, "Hund") == concepts_of(links, "Dackel") == ["beagle"]
    assert links["Hund"].probability == 1
    assert concepts_of(links, "Tier") == ["beagle", "tabby", "ice bear"]
    assert concepts_of(links, "Blume") == ["daisy"]
    assert links["bear"].concepts == links["cat"].concepts == ()
    assert links["cat"].how == "ignored by the vocabulary"
    assert links["bear"].how == "not linked: the vocabulary gives it no meaning"
    assert ("Hund", "Tier") in pairs(links)
    assert ("cat", "Tier") not in pairs(links)
    assert links.merges == ()


def test_parents_of_the_vocabulary_replace_those_of_wordnet():
    tags = ["poodle", "dog", "animal", "Freund"]
    assert pairs(link_tags(tags, vocabulary=entries(poodle={"parents": ()}))) == {("dog", "animal")}
    own = entries(poodle={"parents": ("Freund",)}, Freund={"parents": ("animal",)})
    assert pairs(link_tags(tags, vocabulary=own)) == {
        ("poodle", "Freund"), ("poodle", "animal"), ("Freund", "animal"), ("dog", "animal"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tags": ["a", "a"]}, "must be different: 'a'"),
        ({"tags": ["a", 3]}, "must be texts; found 3"),
        ({"tags": ["a"], "posteriors": [[1.0]]}, "together with labels"),
        ({"tags": ["a"], "labels": [[1, 0]]}, r"each of the 1 tags.*found labels \(1, 2\)"),
        (
            {"tags": ["a"], "concepts": ["b"], "labels": [[1]], "posteriors": [[1.0], [0.0]]},
            r"posteriors \(2, 1\)",
        ),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        link_tags(**arguments)


def test_no_tags_have_no_links():
    links = link_tags([], imagenet_classes())
    assert links.concept_matrix.shape == (0, 1000)
    assert links.implication_matrix.shape == (0, 0)


@pytest.mark.skipif(not CAPTIONS.exists(), reason="the caption tags are not here")
def test_whoever_lists_a_kind_of_person_shows_a_person():
    with np.load(CAPTIONS) as data:
        words, labels = list(map(str, data["words"])), list(map(str, data["truth_labels"]))
        listed, truth = data["listed"].astype(bool), data["truth"].astype(bool)
        posteriors = softmax(data["logits"].astype(float), axis=1)
    links = link_tags(words, imagenet_classes(), labels=listed, posteriors=posteriors)
    narrow = [words.index(n) for n, broad in pairs(links) if broad == "person"]
    assert {"man", "woman", "boy", "girl", "player"} <= {words[n] for n in narrow}
    shows_person = truth[:, labels.index("person")]
    assert shows_person[listed[:, narrow].any(axis=1)].mean() > 0.95
    assert [load_lexicon().name(load_lexicon().row_of(one)) for one in links["tie"].synsets] == [
        "necktie"
    ]
