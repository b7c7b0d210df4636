import importlib
from pathlib import Path

import numpy as np
import pytest

from tagloom.errors import InvalidInputError
from tagloom.vision import imagenet_classes, imagenet_synsets
from tagloom.words import load_lexicon

LEXICON = load_lexicon()
WORDNET = Path("/usr/share/wordnet")


def names(synsets):
    return [LEXICON.name(synset) for synset in synsets]


def test_numbers_are_those_of_wordnet():
    assert len(LEXICON) == 82_115
    entity = LEXICON.row_of("n00001740")
    assert LEXICON.hypernyms(entity) == []
    assert LEXICON.n_below[entity] == 82_114


def test_senses_are_in_order_with_counts():
    first, second = LEXICON.senses("tiger")
    assert (first.rank, second.rank) == (1, 2)
    assert [LEXICON.id_of(one.synset) for one in (first, second)] == ["n10710632", "n02129604"]
    assert next(one.uses for one in LEXICON.senses("dog")) == 42
    assert LEXICON.adjective_count("white") > LEXICON.senses("white")[0].uses
    assert LEXICON.senses("xyzzy") == []


def test_ids_and_rows_are_inverse():
    for row in range(0, len(LEXICON), 997):
        assert LEXICON.row_of(LEXICON.id_of(row)) == row


@pytest.mark.parametrize("wrong", ["n02084072", "02084071", "n99999999", "dog", "", "n٠٢٠٨٤٠٧١"])
def test_unknown_ids_are_refused(wrong):
    with pytest.raises(InvalidInputError, match=r"no noun .* such as n02084071"):
        LEXICON.row_of(wrong)


def test_hypernyms_lead_to_the_top_without_circles():
    poodle, dog = LEXICON.row_of("n02113335"), LEXICON.row_of("n02084071")
    assert LEXICON.is_below(poodle, dog)
    assert not LEXICON.is_below(dog, poodle)
    assert LEXICON.is_below(dog, dog)
    assert names(LEXICON.path(poodle, LEXICON.row_of("n02075296"))) == [
        "poodle",
        "dog",
        "canine",
        "carnivore",
    ]
    with pytest.raises(InvalidInputError, match="dog is not a kind of poodle"):
        LEXICON.path(dog, poodle)


def test_instances_are_below_their_class_and_are_names():
    (paris,) = [s.synset for s in LEXICON.senses("paris") if LEXICON.id_of(s.synset) == "n08932568"]
    assert "city" in names(LEXICON.ancestors(paris))
    assert LEXICON.is_name[paris]
    assert not LEXICON.is_name[LEXICON.row_of("n02084071")]


def test_the_number_below_is_counted_once_for_each_synset():
    cat = LEXICON.row_of("n02121620")
    below = [row for row in range(len(LEXICON)) if LEXICON.is_below(row, cat)]
    assert LEXICON.n_below[cat] == len(below) - 1


def test_every_imagenet_class_has_the_name_of_its_synset():
    ids = imagenet_synsets()
    assert len(set(ids)) == 1000
    assert list(ids) == sorted(ids)
    for name, wordnet_id in zip(imagenet_classes(), ids, strict=True):
        word = name.partition(" (")[0].lower().replace("-", " ")
        assert LEXICON.row_of(wordnet_id) in {sense.synset for sense in LEXICON.senses(word)}, name


@pytest.mark.skipif(not (WORDNET / "data.noun").exists(), reason="WordNet's files are not here")
def test_the_table_is_what_the_script_makes_of_wordnet(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    script = importlib.import_module("build_lexicon")
    made = script.table(WORDNET)
    with np.load(script.TARGET / "wordnet.npz", allow_pickle=False) as shipped:
        assert set(shipped.files) == set(made)
        for name in shipped.files:
            np.testing.assert_array_equal(shipped[name], made[name])
            assert shipped[name].dtype == made[name].dtype
    assert (script.TARGET / "WORDNET-LICENSE.txt").read_text() == script.notice(WORDNET)


def test_the_licence_is_shipped():
    script = Path(__file__).parents[2] / "src" / "tagloom" / "words" / "data"
    notice = (script / "WORDNET-LICENSE.txt").read_text()
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in notice
    assert (script / "wordnet.npz").stat().st_size < 3_000_000
