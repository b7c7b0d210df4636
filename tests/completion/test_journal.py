"""The journal of decisions on disk."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.completion.feedback import decided
from tagloom.completion.journal import Change, Journal
from tagloom.errors import InvalidInputError, UnwritableFileError

IMAGES = ("a.jpg", "b 'quoted'.jpg", "\udce4.jpg")
TAGS = ("sea", "sky\u2028", "<b>")
STATES = ("open", "accepted", "rejected", "removed")
entries = st.tuples(st.sampled_from(IMAGES), st.sampled_from(TAGS))
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("decide"),
            st.sampled_from(("tab 1", "tab 2")),
            st.dictionaries(entries, st.sampled_from(STATES), min_size=1, max_size=4),
        ),
        st.tuples(st.sampled_from(("undo", "redo", "reopen"))),
    ),
    max_size=25,
)


class Model:
    """Whole tables of states: one before and one after every batch, undone by stepping back."""

    def __init__(self):
        self.tables, self.place = [{}], 0

    def decide(self, after):
        self.tables[self.place + 1 :] = [self.now | after]
        self.place += 1

    @property
    def now(self):
        return self.tables[self.place]

    def step(self, by):
        possible = 0 <= self.place + by < len(self.tables)
        self.place += by if possible else 0
        return possible


def changes_to(after, now):
    return [Change(*entry, now.get(entry, "open"), state) for entry, state in after.items()]


def restored(batch, now, back):
    """What a reader of the answer believes: states before where undone, after where redone."""
    changed = {(one.image, one.tag): one.before if back else one.after for one in batch.changes}
    return now | changed


def decided_entries(table):
    return {entry: state for entry, state in table.items() if state != "open"}


@settings(max_examples=60)
@given(steps)
def test_any_sequence_of_decisions_and_undos_equals_tables_that_are_stepped_through(
    tmp_path_factory, steps
):
    out = tmp_path_factory.mktemp("store")
    journal, model = Journal(out), Model()
    for step in steps:
        if step[0] == "decide":
            journal.add(step[1], changes_to(step[2], model.now))
            model.decide(step[2])
        elif step[0] == "reopen":
            journal.close()
            journal = Journal(out)
        else:
            before, back = model.now, step[0] == "undo"
            batch = journal.undo() if back else journal.redo()
            assert (batch is not None) == model.step(-1 if back else 1)
            if batch is not None:
                assert decided_entries(restored(batch, before, back)) == decided_entries(model.now)
        assert decided_entries(journal.current()) == decided_entries(model.now)
    journal.close()


def test_a_decision_is_kept_with_its_time_its_tab_and_the_state_before(tmp_path):
    journal = Journal(tmp_path)
    journal.add("tab 7", [Change("a.jpg", "sea", "suggested", "accepted")])
    journal.close()
    with closing(sqlite3.connect(tmp_path / "review.sqlite")) as database, database:
        row = database.execute("SELECT time, client, image, tag, before, after FROM decisions")
        time, *rest = row.fetchone()
    database.close()
    assert rest == ["tab 7", "a.jpg", "sea", "suggested", "accepted"]
    assert time.startswith("20")
    assert time.endswith("+00:00")


def test_decisions_are_committed_durably(tmp_path):
    journal = Journal(tmp_path)
    assert journal._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert journal._db.execute("PRAGMA synchronous").fetchone() == (2,)
    journal.close()


def test_a_second_review_of_the_same_run_is_refused(tmp_path):
    journal = Journal(tmp_path)
    with pytest.raises(InvalidInputError, match="open in another"):
        Journal(tmp_path)
    journal.close()
    Journal(tmp_path).close()


def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path):
    (tmp_path / "review.sqlite").write_bytes(b"something else" * 100)
    with pytest.raises(InvalidInputError, match="cannot be read as a journal of decisions"):
        Journal(tmp_path)
    assert (tmp_path / "review.sqlite").read_bytes() == b"something else" * 100


def test_a_journal_of_a_later_version_is_refused(tmp_path):
    Journal(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "review.sqlite")) as database, database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(InvalidInputError, match="expected protocol 1, found 99"):
        Journal(tmp_path)


def test_what_cannot_be_written_is_not_half_written(tmp_path):
    journal = Journal(tmp_path)
    journal.add("tab", [Change("a.jpg", "sea", "open", "accepted")])
    journal._db.execute("PRAGMA query_only = 1")
    with pytest.raises(UnwritableFileError, match="Nothing was changed"):
        journal.add("tab", [Change("a.jpg", "sea", "accepted", "rejected")])
    journal._db.execute("PRAGMA query_only = 0")
    assert journal.current() == {("a.jpg", "sea"): "accepted"}
    assert journal.undo().changes == [Change("a.jpg", "sea", "open", "accepted")]
    journal.close()


def test_without_a_review_nothing_is_decided(tmp_path):
    assert len(decided(tmp_path)) == 0


@pytest.mark.parametrize("then", ["removed", "replaced"])
def test_nothing_is_stored_in_a_journal_that_is_no_longer_there(tmp_path, then):
    journal = Journal(tmp_path)
    journal.add("tab", [Change("a.jpg", "sea", "open", "accepted")])
    aside = journal.path.rename(tmp_path / "aside.sqlite")
    if then == "replaced":
        journal.path.write_bytes(aside.read_bytes())
    with pytest.raises(UnwritableFileError, match="was removed or replaced"):
        journal.add("tab", [Change("b.jpg", "sea", "open", "accepted")])
    journal.path.unlink(missing_ok=True)
    aside.rename(journal.path)
    journal.add("tab", [Change("c.jpg", "sea", "open", "accepted")])
    assert set(journal.current()) == {("a.jpg", "sea"), ("c.jpg", "sea")}
    journal.close()


def test_wrong_cells_are_reported(tmp_path):
    journal = Journal(tmp_path)
    journal.add("tab", [Change("a.jpg", "sea", "open", "accepted")])
    with closing(sqlite3.connect(journal.path)) as other, other:
        other.execute("UPDATE decisions SET image = ?", (b"\xff",))
    other.close()
    with pytest.raises(InvalidInputError, match="cannot be read as a journal"):
        journal.current()
    journal.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / ".review.lock").mkdir()
    with pytest.raises(UnwritableFileError, match="cannot be written"):
        Journal(tmp_path)


@pytest.mark.parametrize("summary", ["{", "[" * 100_000, b"\xff"])
def test_a_damaged_sample_to_check_is_reported(tmp_path, summary):
    journal = Journal(tmp_path)
    journal.add_check("run", {}, [])
    with closing(sqlite3.connect(journal.path)) as other, other:
        other.execute("UPDATE checks SET summary = ?", (summary,))
    other.close()
    with pytest.raises(InvalidInputError, match="cannot be read as a journal"):
        journal.last_check("run")
    journal.close()
