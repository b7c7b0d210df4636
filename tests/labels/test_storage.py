"""Every constructor, conversion and change in every store, against plain numpy arrays."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from tagloom.labels import PartialLabels
from tagloom.labels.storage import Dense, Sparse


@dataclass
class Reference:
    """The code and weight of every cell as plain arrays."""

    codes: np.ndarray
    weights: np.ndarray
    background: float

    def build(self):
        """Return labels of the cells that differ from the background, in a shuffled order."""
        listed = self.codes != -1
        if self.background:
            listed &= (self.codes == 1) | (self.weights != self.background)
        rows, columns = np.nonzero(listed)
        order = np.random.default_rng(0).permutation(len(rows))
        rows, columns = rows[order], columns[order]
        made = PartialLabels.from_entries(
            rows,
            columns,
            self.codes[rows, columns] == 1,
            shape=self.codes.shape,
            weights=self.weights[rows, columns],
            unlisted_weight=self.background,
        )
        return made.with_hidden(*np.nonzero(self.codes == -1)) if self.background else made

    def forms(self):
        """Yield the same content in every store that can hold it."""
        made = self.build()
        yield made
        if not self.background:
            cells = made.store.cells()
            yield PartialLabels(Dense.from_cells(cells, made.shape), made._names)
            yield PartialLabels(Sparse.from_cells(cells, made.shape, 0.0), made._names)


@st.composite
def references(draw, backgrounds=(0.0, 0.0, 0.5, 1.0)):
    shape = draw(st.tuples(st.integers(0, 5), st.integers(0, 30)))
    states = draw(st.sampled_from([(-1, 0, 1), (0, 1)]))
    codes = draw(hnp.arrays(np.int8, shape, elements=st.sampled_from(states)))
    palette = draw(st.sampled_from([(1.0,), (0.25, 0.5, 1.0, 3.0)]))
    weights = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from(palette)))
    return Reference(codes, np.where(codes == -1, 0.0, weights), draw(st.sampled_from(backgrounds)))


def assert_shows(known, codes, weights):
    np.testing.assert_array_equal(known.states(), codes)
    np.testing.assert_array_equal(known.weights(), weights)


def assert_in_order(entries):
    keys = entries.rows * 1000 + entries.columns
    assert np.all(np.diff(keys) > 0)


@given(references())
def test_states_and_weights_are_those_that_were_given(reference):
    for known in reference.forms():
        assert_shows(known, reference.codes, reference.weights)
        assert known == reference.build()


@given(references())
def test_array_round_trip(reference):
    for known in reference.forms():
        again = PartialLabels.from_array(known.to_array(), weights=known.weights())
        assert_shows(again, reference.codes, reference.weights)
        assert again == known
        assert known == again


@given(references())
def test_frame_round_trip(reference):
    for known in reference.forms():
        frame = known.to_frame()
        again = PartialLabels.from_frame(
            frame, weights=pd.DataFrame(known.weights(), frame.index, frame.columns)
        )
        assert again == known


@given(references(), st.sampled_from(["csr", "csc", "coo", "lil"]))
def test_sparse_round_trip(reference, form):
    for known in reference.forms():
        present, mask = known.to_sparse()
        weights = sparse.csr_array(known.weights())
        again = PartialLabels.from_sparse(
            present.asformat(form), mask.asformat(form), weights=weights.asformat(form)
        )
        assert_shows(again, reference.codes, reference.weights)
        dense = PartialLabels.from_sparse(present, mask.toarray(), weights=known.weights())
        assert dense == again == known


@given(references())
def test_entries_round_trip(reference):
    for known in reference.forms():
        entries = known.entries()
        again = PartialLabels.from_entries(
            entries.rows,
            entries.columns,
            entries.present,
            shape=known.shape,
            weights=entries.weights,
            unlisted_weight=known.unlisted_weight,
        ).with_hidden(*known.hidden_entries())
        assert_shows(again, reference.codes, reference.weights)
        assert_in_order(entries)


TAGS = st.lists(st.lists(st.text("abcd ü", max_size=3), max_size=6), max_size=8)


@given(TAGS, st.sampled_from(["unknown", "absent", 0.3]), st.booleans())
def test_tags_round_trip(tags, unlisted, named):
    given_tags = {f"item {i}": own for i, own in enumerate(tags)} if named else tags
    known = PartialLabels.from_tags(given_tags, unlisted=unlisted)
    back = known.to_tags()
    own = list(back.values()) if named else back
    assert own == [sorted(set(one)) for one in tags]
    assert not named or list(back) == list(given_tags)
    again = PartialLabels.from_tags(back, unlisted=unlisted)
    assert again == known
    assert known.labels == tuple(sorted({tag for one in tags for tag in one}))
    for row, one in enumerate(tags):
        for column, label in enumerate(known.labels):
            other = -1 if unlisted == "unknown" else 0
            assert known.states()[row, column] == (1 if label in one else other)


@given(references(), st.data())
def test_take_is_that_of_the_reference(reference, data):
    n_items = len(reference.codes)
    positions = st.integers(-n_items, max(n_items - 1, -n_items))
    chosen = data.draw(
        st.one_of(
            st.lists(positions, max_size=8 if n_items else 0).map(
                lambda rows: np.array(rows, dtype=int)
            ),
            st.slices(n_items),
            hnp.arrays(bool, n_items),
        )
    )
    for known in reference.forms():
        taken = known.take(chosen)
        assert_shows(taken, reference.codes[chosen], reference.weights[chosen])
        assert taken.unlisted_weight == known.unlisted_weight


@given(references(), st.data())
def test_select_is_that_of_the_reference(reference, data):
    chosen = data.draw(st.permutations(range(reference.codes.shape[1])))
    chosen = chosen[: data.draw(st.integers(0, len(chosen)))]
    for known in reference.forms():
        selected = known.select(chosen)
        assert_shows(selected, reference.codes[:, chosen], reference.weights[:, chosen])
        assert selected.labels == tuple(chosen)
        assert_in_order(selected.entries())


@given(references(), st.data())
def test_with_hidden_is_that_of_the_reference(reference, data):
    hidden = data.draw(hnp.arrays(bool, reference.codes.shape))
    rows, columns = np.nonzero(hidden)
    for known in reference.forms():
        snapshot = known.states()
        changed = known.with_hidden(np.r_[rows, rows], np.r_[columns, columns])
        assert_shows(
            changed, np.where(hidden, -1, reference.codes), np.where(hidden, 0, reference.weights)
        )
        np.testing.assert_array_equal(known.states(), snapshot)
        assert_in_order(changed.entries())


@given(references())
def test_known_items_have_a_known_entry(reference):
    expected = (reference.codes != -1).any(axis=1)
    for known in reference.forms():
        np.testing.assert_array_equal(known.known_items(), expected)


@given(references(), st.integers(1, 4))
def test_blocks_are_parts_of_the_reference(reference, step):
    for known in reference.forms():
        for start in range(0, known.n_items, step):
            codes, weights = known.block(start, start + step)
            np.testing.assert_array_equal(codes, reference.codes[start : start + step])
            expected = reference.weights[start : start + step]
            if weights is None:
                assert set(np.unique(expected)) <= {0.0, 1.0}
                np.testing.assert_array_equal(expected, codes != -1)
            else:
                np.testing.assert_array_equal(weights, expected)
                assert not np.array_equal(weights, codes != -1)


@given(references())
def test_counts_agree_with_the_reference(reference):
    for known in reference.forms():
        for count, code in zip(known.counts(), (1, 0, -1), strict=True):
            np.testing.assert_array_equal(count, (reference.codes == code).sum(axis=0))
        assert known.n_present == (reference.codes == 1).sum()
        assert known.n_absent == (reference.codes == 0).sum()
        assert known.n_known == (reference.codes != -1).sum()
        assert known.is_complete == bool((reference.codes != -1).all())


@given(references(), st.data())
def test_a_single_change_makes_unequal(reference, data):
    if not reference.codes.size:
        return
    row = data.draw(st.integers(0, reference.codes.shape[0] - 1))
    column = data.draw(st.integers(0, reference.codes.shape[1] - 1))
    codes, weights = reference.codes.copy(), reference.weights.copy()
    codes[row, column] = data.draw(st.sampled_from(sorted({-1, 0, 1} - {codes[row, column]})))
    weights[row, column] = 0.0 if codes[row, column] == -1 else 1.0
    for background in (0.0, 0.5, reference.background):
        other = Reference(codes, weights, background).build()
        for known in reference.forms():
            assert known != other
    if reference.codes[row, column] != -1:
        heavier = reference.weights.copy()
        heavier[row, column] += 1
        other = Reference(reference.codes, heavier, reference.background).build()
        assert all(known != other for known in reference.forms())


@pytest.mark.parametrize("background", [0.3, 1.0])
def test_the_same_content_over_another_background_is_equal(background):
    codes = np.array([[1, 0, -1], [0, 0, 0]], dtype=np.int8)
    weights = np.where(codes == -1, 0, background)
    over_absent = Reference(codes, weights, background).build()
    over_unknown = Reference(codes, weights, 0.0).build()
    assert over_absent.is_sparse
    assert not over_unknown.is_sparse
    assert over_absent == over_unknown
