import numpy as np
import pytest

from tagloom.words import load_lexicon
from tagloom.words.forms import recognise, split_tag
from tagloom.words.senses import prior_senses, weigh_by_pictures, weigh_by_tags

LEXICON = load_lexicon()


def prior(tag):
    text = split_tag(tag)
    senses = prior_senses(tag, text, recognise(text.word, LEXICON), LEXICON)
    return {LEXICON.id_of(synset): probability for synset, probability in senses.items()}


def best(senses):
    return max(senses, key=lambda synset: senses[synset])


@pytest.mark.parametrize(
    ("tag", "meaning"),
    [
        ("dog", "n02084071"),
        ("tiger", "n02129604"),
        ("people", "n00007846"),
        ("crane (bird)", "n02012849"),
        ("crane (machine)", "n03126707"),
        ("animal|crane", "n02012849"),
        ("Mice", "n02330245"),
    ],
)
def test_the_usual_meaning_of_a_tag_comes_first(tag, meaning):
    assert best(prior(tag)) == meaning


def test_what_is_missing_from_one_is_the_adjective():
    assert sum(prior("dog").values()) == pytest.approx(1)
    assert sum(prior("white").values()) < 0.5


def test_a_name_in_small_letters_is_unlikely():
    person = "n10914447"
    assert prior("crane")[person] < 0.1 < prior("Crane")[person]


def test_other_tags_decide_between_senses():
    bat = [{LEXICON.row_of("n02139199"): 0.4, LEXICON.row_of("n02806379"): 0.6}]
    mammals = [{LEXICON.senses(word)[0].synset: 1.0} for word in ("dog", "horse", "whale", "cow")]
    sports = [{LEXICON.senses(word)[0].synset: 1.0} for word in ("racket", "golf club", "puck")]
    assert LEXICON.id_of(best(weigh_by_tags(bat + mammals, LEXICON)[0])) == "n02139199"
    assert LEXICON.id_of(best(weigh_by_tags(bat + sports, LEXICON)[0])) == "n02806379"


def test_weighing_by_tags_follows_its_formula():
    # The other tag means the animal; only ancestors of the first sense hold it.
    dog, hammer = LEXICON.row_of("n02084071"), LEXICON.senses("hammer")[0].synset
    wolf = LEXICON.row_of("n02114100")
    (weighed, _) = weigh_by_tags([{dog: 0.5, hammer: 0.5}, {wolf: 1.0}], LEXICON)
    shares = {c: (LEXICON.n_below[c] + 1) / len(LEXICON) for c in range(len(LEXICON))}
    gain = {
        synset: max(
            ((c in LEXICON.ancestors(wolf)) + 1) / (shares[c] + 1)
            for c in LEXICON.ancestors(synset)
        )
        for synset in (dog, hammer)
    }
    assert weighed[dog] == pytest.approx(gain[dog] / (gain[dog] + gain[hammer]))


def test_a_single_tag_keeps_its_senses():
    senses = {1: 0.5, 2: 0.3}
    (weighed,) = weigh_by_tags([senses], LEXICON)
    assert weighed == pytest.approx(senses)


def test_pictures_decide_between_senses():
    # 30 of 60 pictures have the tag and show concept 0; concept 1 is on the others.
    present = np.arange(60) < 30
    posteriors = np.column_stack([present, ~present]).astype(float)
    columns = {7: np.array([0]), 8: np.array([1]), 9: np.array([], dtype=int)}
    weighed = weigh_by_pictures({7: 0.2, 8: 0.3, 9: 0.4}, columns, present, posteriors)
    # AUC 1 and 0; the weight of the adjective, 0.1, and of sense 9 stay.
    weights = np.array([0.2 * np.exp(8 * 0.4 * 0.75), 0.3 * np.exp(-8 * 0.6 * 0.75), 0.4, 0.1])
    np.testing.assert_allclose([weighed[7], weighed[8], weighed[9]], (weights / weights.sum())[:3])


def test_pictures_of_a_tag_that_none_or_all_have_say_nothing():
    columns = {7: np.array([0])}
    for present in (np.zeros(4, bool), np.ones(4, bool)):
        assert weigh_by_pictures({7: 1.0}, columns, present, np.ones((4, 1))) == {7: 1.0}
