import csv
import shutil

import pytest

from tagloom.completion.export import FORMS, export, finished_tags, read_finished, undo_export
from tagloom.completion.journal import Change, Journal
from tagloom.errors import InvalidInputError
from tagloom.formats import Keywords, apply_changes, plan_sidecars, read_sidecars, read_tags


def _guesses(annotations):
    return {
        (one.image, one.tag): one.confidence for one in annotations if one.confidence is not None
    }


def _by_people(annotations):
    return {(one.image, one.tag) for one in annotations if one.confidence is None and one.present}


@pytest.fixture
def run(finished, tmp_path):
    """A run of one's own, with its pictures."""
    scenes, done = finished
    photos = shutil.copytree(scenes / "photos", tmp_path / "photos")
    return shutil.copytree(done.out, tmp_path / "out"), photos


def _decide(out, place, word):
    journal = Journal(out)
    try:
        journal.add("test", [Change(*place, "open", word)])
    finally:
        journal.close()


def test_suggestions_are_left_out_unless_asked_for(finished):
    done = finished[1]
    tags = finished_tags(done.out)
    assert _guesses(tags) == {}
    assert len(tags) == done.model.known.n_known
    with (done.out / "suggestions.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["state"] == "suggested"]
    guesses = _guesses(finished_tags(done.out, suggested=0))
    assert guesses.keys() == {(row["image"], row["tag"]) for row in rows}
    sure = _guesses(finished_tags(done.out, suggested=0.7))
    assert sure == {place: p for place, p in guesses.items() if p >= 0.7}
    assert 0 < len(sure) < len(guesses)
    with pytest.raises(InvalidInputError, match="suggested"):
        finished_tags(done.out, suggested=1.5)


def test_what_is_known_accepted_rejected_and_suggested_is_counted_apart(run):
    out, _ = run
    before = read_finished(out, suggested=0)
    (yes, no), listed = list(_guesses(before.annotations))[:2], min(_by_people(before.annotations))
    for place, word in ((yes, "accepted"), (no, "rejected"), (listed, "removed")):
        _decide(out, place, word)
    after = read_finished(out, suggested=0)
    assert after.answers == {yes: True, no: False, listed: False}
    assert after.counts == before.counts._replace(
        pictures=after.counts.pictures,
        known=before.counts.known - 1,
        accepted=1,
        rejected=2,
        suggested=before.counts.suggested - 2,
    )
    assert after.keywords()[listed[0]].rejected == [listed[1]]


@pytest.mark.parametrize("form", list(FORMS))
def test_a_guess_is_not_read_back_as_a_persons_tag(run, tmp_path, form):
    out, photos = run
    wanted = finished_tags(out, suggested=0)
    made = export(out, form, suggested=0, file=tmp_path / FORMS[form], photos=photos)
    assert made.files
    back = read_tags(tmp_path / FORMS[form], pictures=photos).annotations
    assert _by_people(back) == _by_people(wanted)
    assert _guesses(back) == pytest.approx(_guesses(wanted), abs=1e-4)
    export(out, form, file=tmp_path / FORMS[form], photos=photos)
    back = read_tags(tmp_path / FORMS[form], pictures=photos).annotations
    assert (_by_people(back), _guesses(back)) == (_by_people(wanted), {})


def test_a_guess_in_a_sidecar_is_not_read_back_as_a_persons_tag(run):
    """Export, read back: what people said is the same, however many guesses were written."""
    out, photos = run
    wanted = finished_tags(out, suggested=0)
    export(out, "xmp", suggested=0, photos=photos)
    back = read_sidecars(photos).annotations
    assert _by_people(back) == _by_people(wanted)
    assert _guesses(back) == pytest.approx(_guesses(wanted), abs=1e-3)
    assert int(back.to_labels(back.images).counts().present.sum()) == len(_by_people(wanted))
    # Guesses that are not asked for any more go, what people said stays.
    export(out, "xmp", photos=photos)
    back = read_sidecars(photos).annotations
    assert (_by_people(back), _guesses(back)) == (_by_people(wanted), {})


def test_an_accepted_guess_becomes_a_persons_tag_and_a_rejected_one_goes(run):
    out, photos = run
    export(out, "xmp", suggested=0, photos=photos)
    written = read_sidecars(photos).annotations
    yes, no = list(_guesses(written))[:2]
    _decide(out, yes, "accepted")
    _decide(out, no, "rejected")
    export(out, "xmp", suggested=0, photos=photos)
    back = read_sidecars(photos).annotations
    assert _by_people(back) == _by_people(written) | {yes}
    assert _guesses(back).keys() == _guesses(written).keys() - {yes, no}
    undo_export(out, "xmp", photos)
    assert not list(photos.glob("*.xmp"))


def test_a_rejected_tag_goes_from_the_sidecar_that_held_it(run):
    out, photos = run
    image, tag = min(_by_people(finished_tags(out)))
    apply_changes(plan_sidecars(photos, {image: [tag, "my own"]}), out.parent / "another journal")
    before = (photos / f"{image}.xmp").read_bytes()
    _decide(out, (image, tag), "removed")
    made = export(out, "xmp", photos=photos)
    assert {one.path: one.removed for one in made.changes}[f"{image}.xmp"] == (tag,)
    assert f">{tag}<".encode() not in (photos / f"{image}.xmp").read_bytes()
    assert (image, "my own") in _by_people(read_sidecars(photos).annotations)
    undo_export(out, "xmp", photos)
    assert (photos / f"{image}.xmp").read_bytes() == before
    # What somebody writes then is where the next undo leads to.
    mine = before.replace(b"my own", b"mine")
    (photos / f"{image}.xmp").write_bytes(mine)
    export(out, "xmp", photos=photos)
    assert undo_export(out, "xmp", photos).refused == []
    assert (photos / f"{image}.xmp").read_bytes() == mine
    with pytest.raises(InvalidInputError, match="nothing to undo"):
        undo_export(out, "xmp", photos)


def test_a_dry_run_writes_nothing(run):
    out, photos = run
    files = {path: path.stat().st_mtime_ns for path in out.parent.rglob("*")}
    for form in (*FORMS, "xmp"):
        made = export(out, form, suggested=0.5, photos=photos, dry_run=True)
        assert made.files
        assert made.counts.suggested > 0
    assert {path: path.stat().st_mtime_ns for path in out.parent.rglob("*")} == files


def test_a_rejected_tag_inside_a_picture_gives_a_warning(run):
    from PIL import Image

    from tagloom.formats.metadata.xmp_merge import new_packet

    out, photos = run
    image, tag = min(_by_people(finished_tags(out)))
    Image.open(photos / image).save(photos / image, xmp=new_packet(Keywords([tag])))
    _decide(out, (image, tag), "removed")
    (warning,) = export(out, "xmp", photos=photos, dry_run=True).warnings
    assert (warning.where, "--to pictures" in warning.what) == (image, True)


def test_no_sidecar_is_made_for_a_picture_that_holds_all_its_tags(run):
    from PIL import Image

    from tagloom.formats.metadata.xmp_merge import new_packet

    out, photos = run
    wanted = read_finished(out).keywords()
    image, other = [name for name, one in wanted.items() if one.known][:2]
    for name, tags in ((image, wanted[image].known), (other, ["another"])):
        Image.open(photos / name).save(photos / name, xmp=new_packet(Keywords(tags)))
    planned = export(out, "xmp", photos=photos, dry_run=True).files
    assert f"{image}.xmp" not in planned
    assert f"{other}.xmp" in planned


def test_a_folder_that_is_no_result_has_no_finished_tags(tmp_path):
    with pytest.raises(InvalidInputError, match="not the result of a finished run"):
        finished_tags(tmp_path)
    with pytest.raises(InvalidInputError, match="nothing to undo"):
        undo_export(tmp_path, "pictures")
