import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.words import TagEntry, Vocabulary, read_vocabulary, write_vocabulary

NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1).filter(str.strip)
IDS = st.sampled_from(["n02084071", "n02121620", "n00007846"])


def lists(of):
    return st.lists(of, unique=True, max_size=3).map(tuple)


@st.composite
def vocabularies(draw):
    """Vocabularies without circles: a parent stands before its child or is no tag with an entry."""
    names = draw(st.lists(NAMES, unique=True, max_size=8))
    tags, rest = names[: len(names) // 2], names[len(names) // 2 :]
    entries = {}
    for n, tag in enumerate(tags):
        taken = {alias for entry in entries.values() for alias in entry.aliases}
        free = [name for name in rest if name not in taken]
        above = st.sampled_from([*tags[:n], *rest]) if tags[:n] or rest else st.nothing()
        entries[tag] = TagEntry(
            aliases=draw(lists(st.sampled_from(free))) if free else (),
            wordnet=draw(st.none() | lists(IDS)),
            concepts=draw(st.none() | lists(st.text(st.characters(exclude_categories=("Cs",))))),
            parents=draw(st.none() | lists(above)),
            ignore=draw(st.booleans()),
            add=draw(st.booleans()),
            note=draw(st.text(st.characters(exclude_categories=("Cs",)))),
        )
    try:
        return Vocabulary(entries)
    except InvalidInputError:
        return Vocabulary({tag: TagEntry() for tag in tags})


@given(vocabularies())
def test_what_is_written_is_read(tmp_path_factory, vocabulary):
    path = tmp_path_factory.mktemp("vocabulary") / "tags.toml"
    write_vocabulary(path, vocabulary)
    assert read_vocabulary(path) == vocabulary
    assert list(read_vocabulary(path).entries) == list(vocabulary.entries)


@given(vocabularies(), st.data())
def test_after_a_merge_all_names_mean_one_tag(vocabulary, data):
    names = sorted({*vocabulary.entries, *vocabulary.aliases})
    some = st.sampled_from(names) | NAMES if names else NAMES
    tags, into = data.draw(st.lists(some, min_size=1, max_size=3)), data.draw(some)
    try:
        merged = vocabulary.merge(iter(tags), into=into)
    except InvalidInputError:
        # Tags between which others stand cannot be one.
        assert any(entry.parents for entry in vocabulary.entries.values())
        return
    (tag,) = {merged.resolve(name) for name in [*tags, into]}
    assert tag in merged.entries
    assert {*names, *tags} <= {*merged.aliases, *merged.entries}
    for name in names:
        if vocabulary.resolve(name) not in map(vocabulary.resolve, [*tags, into]):
            assert merged.resolve(name) == vocabulary.resolve(name)


def test_tags_between_which_another_stands_cannot_be_merged():
    chain = {"poodle": ("dog",), "dog": ("animal",), "animal": ()}
    vocabulary = Vocabulary({tag: TagEntry(parents=above) for tag, above in chain.items()})
    with pytest.raises(InvalidInputError, match="circle"):
        vocabulary.merge(["animal"], into="poodle")
    assert vocabulary.merge(["dog"], into="poodle").entries["poodle"].parents == ()


def read(tmp_path, text):
    path = tmp_path / "tags.toml"
    path.write_text(text, encoding="utf-8")
    return read_vocabulary(path)


def test_a_file_in_another_language(tmp_path):
    vocabulary = read(
        tmp_path,
        """
        [tags."собака"]
        wordnet = "n02084071"
        aliases = ["пёс"]
        parents = ["животное"]
        [tags."2019"]
        ignore = true
        """,
    )
    assert vocabulary.resolve("пёс") == "собака"
    assert vocabulary.entry("пёс").wordnet == ("n02084071",)
    assert vocabulary.is_ignored("2019")
    assert not vocabulary.is_ignored("собака")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tags.dog", "not valid TOML"),
        ("[tags.Bär]", r'need quotes: \[tags."Bär"\]'),
        ("[tags.dog]\n[tags.dog]", "not valid TOML"),
        ("[dog]", r"must have one table for each tag, \[tags.NAME\]; found 'dog'"),
        ("tags = 3", "one table for each tag"),
        ("[tags]\ndog = 3", "'dog' must be a table with aliases, wordnet.*found 3"),
        ("[tags.dog]\nalias = ['hound']", "'dog' must be a table .*found 'alias'"),
        ("[tags.dog]\nwordnet = ['n1']", "wordnet of 'dog': There is no noun 'n1'"),
        ("[tags.dog]\nparents = [1]", r"parents of 'dog' must be a list of texts; found \[1\]"),
        ("[tags.dog]\nignore = 'yes'", "ignore of 'dog' must be true or false; found 'yes'"),
        ("[tags.' ']", "must have a name"),
        ("[tags.a]\naliases=['b']\n[tags.b]", "'b' is an alias of 'a', and also a name of 'b'"),
        ("[tags.a]\naliases=['x']\n[tags.b]\naliases=['x']", "'x' is an alias of 'b'"),
        ("[tags.a]\nparents=['b']\n[tags.b]\nparents=['a']", "circle: 'a' -> 'b' -> 'a'"),
        ("[tags.a]\nparents=['x']\naliases=['x']", "circle"),
    ],
)
def test_bad_files_are_refused_with_the_reason(tmp_path, text, message):
    with pytest.raises(InvalidInputError, match=message) as problem:
        read(tmp_path, text)
    assert "tags.toml" in str(problem.value)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "tags.toml"
    write_vocabulary(path, Vocabulary().ignore(["2019"]))
    with pytest.raises(InvalidInputError, match="valid Unicode"):
        write_vocabulary(path, Vocabulary().ignore(["\ud800"]))
    assert read_vocabulary(path).is_ignored("2019")


def test_merging_takes_aliases_along():
    vocabulary = Vocabulary().merge(["plane"], into="airplane").merge(["airplane"], into="aircraft")
    assert {vocabulary.resolve(name) for name in ("plane", "airplane")} == {"aircraft"}
    assert list(vocabulary.entries) == ["aircraft"]


def test_a_tag_may_be_merged_into_its_own_alias():
    vocabulary = Vocabulary().merge(["plane"], into="airplane").merge(["airplane"], into="plane")
    assert vocabulary.resolve("airplane") == "plane"
    assert vocabulary.resolve("plane") == "plane"


def test_renaming_keeps_what_was_decided():
    vocabulary = Vocabulary({"doggo": TagEntry(wordnet=("n02084071",), note="the pet")})
    renamed = vocabulary.rename("doggo", "dog")
    assert renamed.resolve("doggo") == "dog"
    assert renamed.entries == {"dog": TagEntry(("doggo",), ("n02084071",), note="the pet")}
    with pytest.raises(InvalidInputError, match="already a name"):
        renamed.rename("cat", "doggo")


def test_ignoring_is_undone():
    vocabulary = Vocabulary().ignore(["a", "b"]).ignore(["a"], ignore=False)
    assert [vocabulary.is_ignored(tag) for tag in "ab"] == [False, True]


def test_tags_can_be_added_that_no_picture_has():
    vocabulary = Vocabulary().merge(["tabby"], into="cat").ignore(["cat"]).add(["tabby", "sunset"])
    assert vocabulary.added == ("cat", "sunset")
    assert not vocabulary.is_ignored("cat")
    assert vocabulary.ignore(["sunset"]).added == ("cat",)
    assert vocabulary.merge(["sunset"], into="evening").added == ("cat", "evening")


COMMENTED = """# My tags.

# Bears of all kinds.
[tags."Bär"]   # and stuffed ones
aliases = ["bear"]  # as in English
# ignore = true
note = "x"

# Numbers.
[tags.2019]
ignore = true # not a thing
"""


def test_comments_and_lines_that_still_hold_stay_when_decisions_change(tmp_path):
    path = tmp_path / "tags.toml"
    path.write_text(COMMENTED, encoding="utf-8")
    vocabulary = read_vocabulary(path)
    write_vocabulary(path, vocabulary)
    assert path.read_text(encoding="utf-8") == COMMENTED
    changed = vocabulary.merge(["Bären"], into="Bär").ignore(["2019"], ignore=False).add(["fox"])
    write_vocabulary(path, changed)
    assert read_vocabulary(path) == changed
    text = path.read_text(encoding="utf-8")
    kept = ("# My tags.", "# Bears of", "# and stuffed", "# ignore = true", 'note = "x"', "# Num")
    assert [line for line in kept if line not in text] == []
    assert "# not a thing" not in text
    write_vocabulary(path, vocabulary)
    assert read_vocabulary(path) == vocabulary


@given(vocabularies(), vocabularies())
def test_any_file_can_be_changed_into_any_other(tmp_path_factory, first, second):
    path = tmp_path_factory.mktemp("vocabulary") / "tags.toml"
    write_vocabulary(path, first)
    write_vocabulary(path, second)
    assert read_vocabulary(path) == second


def test_a_file_that_cannot_be_edited_line_by_line_is_written_anew(tmp_path):
    path = tmp_path / "tags.toml"
    path.write_text('[tags.dog]\naliases = [\n  "doggo", # so\n]\n', encoding="utf-8")
    vocabulary = read_vocabulary(path).ignore(["dog"])
    write_vocabulary(path, vocabulary)
    assert read_vocabulary(path) == vocabulary
