import json

import pytest

from tagloom.words import read_vocabulary


@pytest.fixture
def listing(tmp_path):
    path = tmp_path / "tags.csv"
    lines = ["file,tags", "a.jpg,plane; Dog", "b.jpg,airplane; poodle", "c.jpg,plane; 2019"]
    path.write_text("\n".join([*lines, "d.jpg,animal; dog", "e.jpg,犬"]), encoding="utf-8")
    return path


def test_tags_are_listed_by_frequency_with_their_meaning(listing, tagloom):
    answer = tagloom("tags", listing)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "8 tags on 5 pictures; 6 are linked to concepts"
    assert lines[1].split()[:5] == ["2", "plane", "airplane", "(n02691156):", "the"]
    assert "not linked: no noun of WordNet" in answer.out
    assert "implies Dog, dog" in answer.out
    assert "    Dog, dog: forms of one word" in lines
    assert "    plane, airplane: both can mean airplane" in lines


def test_for_programs(listing, tagloom):
    found = json.loads(tagloom("tags", listing, "--json").out)
    poodle = next(one for one in found["tags"] if one["tag"] == "poodle")
    assert poodle["wordnet"] == ["n02113335"]
    assert poodle["concepts"] == ["toy poodle", "miniature poodle", "standard poodle"]
    assert sorted(poodle["implies"]) == ["Dog", "animal", "dog"]
    assert {"tags": ["plane", "airplane"], "why": "both can mean airplane"} in found["may_be_one"]
    assert found["written"] is None


def test_decisions_go_to_the_vocabulary_and_nowhere_else(listing, tagloom, tmp_path):
    before, file = listing.read_bytes(), tmp_path / "vocabulary.toml"
    answer = tagloom(
        "tags", listing, "--vocabulary", file, "--merge", "airplane=plane", "--merge", "dog=Dog",
        "--rename", "hound=poodle", "--ignore", "2019", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    found = {one["tag"]: one for one in json.loads(answer.out)["tags"]}
    assert found["airplane"]["pictures"] == 3
    assert found["dog"]["aliases"] == ["Dog"]
    assert found["2019"]["ignored"]
    assert listing.read_bytes() == before
    vocabulary = read_vocabulary(file)
    assert [vocabulary.resolve(tag) for tag in ("plane", "poodle")] == ["airplane", "hound"]
    tagloom("tags", listing, "--vocabulary", file, "--learn", "2019")
    assert not read_vocabulary(file).is_ignored("2019")


def test_only_some_tags_are_learned(listing, tagloom, tmp_path):
    file = tmp_path / "vocabulary.toml"
    tagloom("tags", listing, "--vocabulary", file, "--ignore", "dog")
    answer = tagloom("tags", listing, "--vocabulary", file, "--only", "dog", "--only", "plane")
    assert answer.out.splitlines()[-1] == f"written to {file}"
    vocabulary = read_vocabulary(file)
    learned = [tag for tag in ("dog", "plane", "airplane", "犬") if not vocabulary.is_ignored(tag)]
    assert learned == ["dog", "plane"]


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--ignore", "2019"], 2, "--vocabulary"),
        (["--vocabulary", "new.toml", "--ignore", "plan"], 1, "Did you mean 'plane'"),
        (["--vocabulary", "new.toml", "--merge", "plane"], 2, "must be two names joined by ="),
        (["--vocabulary", "missing.toml"], 1, "missing.toml cannot be read"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(
    flags, code, message, listing, tagloom, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    answer = tagloom("tags", listing, *flags)
    assert answer.code == code
    assert message in " ".join(answer.err.split())
    assert not (tmp_path / "new.toml").exists()


def test_the_tags_of_a_run(finished_run, collection, tagloom):
    found = json.loads(tagloom("tags", finished_run, "--json").out)
    assert found["pictures"] == len(collection.truth)
    given = {tag for tags in collection.given.values() for tag in tags}
    assert {one["tag"] for one in found["tags"]} == given


def test_a_completion_obeys_the_vocabulary(collection, tagloom, tmp_path, read_rows):
    counts = {}
    for tags in collection.given.values():
        for tag in tags:
            counts[tag] = counts.get(tag, 0) + 1
    common = sorted(counts, key=lambda tag: -counts[tag])
    into, alias, ignored = common[0], common[1], common[2]
    file, out = tmp_path / "vocabulary.toml", tmp_path / "out"
    made = tagloom(
        "tags", collection.tags, "--vocabulary", file,
        "--merge", f"{into}={alias}", "--ignore", ignored,
    )  # fmt: skip
    assert made.code == 0, made.err
    answer = collection.complete(out, "--vocabulary", file)
    assert answer.code == 0, answer.err
    assert f"1 are ignored by the vocabulary: {ignored}" in answer.out
    rows = read_rows(out / "suggestions.csv")
    assert alias not in {row["tag"] for row in rows}
    suggested = [row for row in rows if row["state"] == "suggested"]
    assert ignored not in {row["tag"] for row in suggested}
    # Ignored is not lost: what was given is still there, and a merged tag has both kinds.
    known = {(row["image"], row["tag"]) for row in rows if row["state"] == "known"}
    for image, tags in collection.given.items():
        assert ((image, into) in known) == bool({into, alias} & set(tags))
        assert ((image, ignored) in known) == (ignored in tags)
    record = json.loads((out / "run.json").read_text())
    assert record["ignored"] == {ignored: counts[ignored]}
    listed = {one["tag"]: one for one in json.loads(tagloom("tags", out, "--json").out)["tags"]}
    assert listed[into]["aliases"] == [alias]
    assert listed[ignored]["ignored"]
    # New annotations are read under the same vocabulary.
    more = tmp_path / "more.csv"
    image = next(name for name, tags in collection.given.items() if not {into, alias} & set(tags))
    more.write_text(f"image,tag\n{image},{alias}\n")
    assert tagloom("update", out, "--tags", more).code == 0
    rows = read_rows(out / "suggestions.csv")
    assert (image, into) in {(row["image"], row["tag"]) for row in rows if row["state"] == "known"}
