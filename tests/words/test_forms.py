import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.words import load_lexicon
from tagloom.words.forms import Form, normal_form, recognise, singulars, split_tag

LEXICON = load_lexicon()
NOUNS = st.sampled_from(
    [
        "dog",
        "cat",
        "house",
        "bus",
        "box",
        "fox",
        "church",
        "dish",
        "pony",
        "lady",
        "wolf",
        "child",
        "mouse",
        "tooth",
        "fireman",
        "polar_bear",
        "traffic_light",
        "tennis_racket",
        "fire_engine",
        "t-shirt",
        "teddy_bear",
    ]
)


@pytest.mark.parametrize(
    ("tag", "lemma", "form"),
    [
        ("Dog", "dog", Form.WORD),
        ("DOGS", "dog", Form.SINGULAR),
        ("mice", "mouse", Form.SINGULAR),
        ("children", "child", Form.SINGULAR),
        ("people", "person", Form.SINGULAR),
        ("men", "man", Form.SINGULAR),
        ("ponies", "pony", Form.SINGULAR),
        ("churches", "church", Form.SINGULAR),
        ("buses", "bus", Form.SINGULAR),
        ("polar bears", "polar bear", Form.SINGULAR),
        ("Traffic_Light", "traffic light", Form.WORD),
        ("T-shirts", "t shirt", Form.SINGULAR),
        ("sail boat", "sailboat", Form.CLOSED),
        ("wine glasses", "wineglass", Form.CLOSED),
        ("teddybear", "teddy bear", Form.CLOSED),
        ("stop sign", "sign", Form.HEAD),
        ("red fire engine", "fire engine", Form.HEAD),
        ("cup of tea with milk", "cup", Form.HEAD),
        ("café", "cafe", Form.WORD),
        ("grey", "grey", Form.WORD),
        ("colour", "colour", Form.WORD),
        ("skiing", "skiing", Form.WORD),
    ],
)
def test_tags_are_recognised(tag, lemma, form):
    word = recognise(split_tag(tag).word, LEXICON)
    assert (word.lemma, word.form) == (lemma, form)


@pytest.mark.parametrize(
    "tag", ["Bär", "собака", "犬", "كلب", "f-16", "2019", "B&W", "cat and dog", "", " ", "|", "🐕"]
)
def test_what_is_no_english_noun_is_not_recognised(tag):
    assert recognise(split_tag(tag).word, LEXICON) is None


@pytest.mark.parametrize("word", ["bus", "gas", "glass", "tennis", "lens", "grass", "octopus"])
def test_a_singular_in_s_is_no_plural(word):
    assert recognise(word, LEXICON) == (word, Form.WORD, None)


def test_a_word_that_is_also_a_plural_keeps_both():
    assert recognise("glasses", LEXICON) == ("glasses", Form.WORD, "glass")


def test_what_narrows_a_tag_is_split_off():
    assert split_tag("Animal|Crane (bird)") == ("crane", ("animal", "bird"))
    assert split_tag("Places | Paris ") == ("paris", ("places",))


@given(NOUNS, st.sampled_from([str.upper, str.title, str.lower]), st.sampled_from("_- "))
def test_capitals_and_separators_do_not_matter(noun, cased, separator):
    plain = recognise(normal_form(noun), LEXICON)
    written = cased(noun).replace("_", separator).replace("-", separator)
    assert recognise(split_tag(f" {written}  ").word, LEXICON) == plain


@given(st.text())
def test_normal_forms_are_stable_and_any_text_is_taken(text):
    normal = normal_form(text)
    assert normal_form(normal) == normal
    word = recognise(split_tag(text).word, LEXICON)
    assert word is None or word.lemma in LEXICON


@given(st.sampled_from(sorted(LEXICON.exceptions)))
def test_irregular_forms_lead_to_their_base(form):
    bases = [base for base in LEXICON.exceptions[form] if base in LEXICON and base != form]
    assert list(singulars(form, LEXICON))[: len(bases)] == bases or not bases


@given(NOUNS)
def test_a_regular_plural_is_undone(noun):
    noun = normal_form(noun)
    ending = "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    plural = noun[:-1] + "ies" if noun.endswith(("ny", "dy")) else noun + ending
    assert noun in list(singulars(plural, LEXICON))
