"""A linear part and a smooth part, against the equations solved densely."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from toys import low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.graph import affinity_graph, diffuse
from tagloom.labels import PartialLabels, keep_presences
from tagloom.metrics import mean_average_precision
from tagloom.models import APGGraph, LeastSquares, SemanticDiffusion

TOY = low_rank_toy(n=60, d=4, c=3)
NEW = np.random.default_rng(9).normal(size=(7, 4))
ENTRIES = TOY.known.entries()
INFORMED = np.unique(ENTRIES.rows)
WEIGHTED = PartialLabels.from_entries(
    ENTRIES.rows,
    ENTRIES.columns,
    ENTRIES.present,
    shape=TOY.known.shape,
    weights=np.random.default_rng(0).uniform(0.1, 2.0, size=len(ENTRIES.rows)),
)
FIRST = {"m": 0.1, "s": 0.5}


def normalized(X, rows):
    """Return rows seen from the mean of X, each nearly of length 1."""
    apart, usual = rows - X.mean(axis=0), ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    return apart / np.sqrt((apart**2).sum(axis=1) + usual / 4)[:, None]


def stretched(F, scores, q):
    """Return scores that come nearer to the usual distance from the mean of F."""
    mean = F.mean(axis=0)
    usual = np.sqrt(((F - mean) ** 2).sum(axis=1).mean())
    own = np.sqrt(((scores - mean) ** 2).sum(axis=1))
    return mean + (scores - mean) * ((usual / own) ** q)[:, None]


def dense_scores(X, known, new, *, ridge, m, s, a, k, n_passes, q=0.0):
    """Return F of the training items and of new ones, by dense solves of the equations."""
    n = len(X)
    U, new = normalized(X, X), normalized(X, new)
    linear = LeastSquares(ridge, on_unlearnable="ignore").fit(U, known)
    P, p = linear.scores(U), linear.scores(new)
    entries = known.entries()
    W, Y = np.zeros_like(P), np.zeros_like(P)
    W[entries.rows, entries.columns] = entries.weights
    Y[entries.rows, entries.columns] = entries.present
    rows, queries = U, new
    for number in range(n_passes):
        shrinkage, smooth = (m, s) if number == n_passes - 1 else (FIRST["m"], FIRST["s"])
        graph = affinity_graph(rows, k)
        S, s_x = graph.S.toarray(), graph.out_of_sample(queries).toarray()
        spread = (1 - a) * np.linalg.inv(np.eye(n) - a * S)
        residuals, weights = spread @ (W * (Y - P)), spread @ W
        smoothed = (1 - smooth) * np.linalg.inv(np.eye(n) - smooth * S)
        F = smoothed @ (P + residuals / (weights + shrinkage))
        g = a * (s_x @ residuals) / (a * (s_x @ weights) + shrinkage)
        f = smooth * (s_x @ F) + (1 - smooth) * (p + g)
        parts = [(scores - F.mean(axis=0)) / np.sqrt(F.std(axis=0)) for scores in (F, f)]
        size = np.sqrt(U.var(axis=0).sum() / parts[0].var(axis=0).sum())
        rows, queries = (
            np.hstack([own, size * part]) for own, part in zip((U, new), parts, strict=True)
        )
    return stretched(F, F, q), stretched(F, f, q)


def exactly(monkeypatch):
    """Let what spreads be solved to the last digits."""
    monkeypatch.setattr("tagloom.graph.diffusion.diffuse", partial(diffuse, tol=1e-12))


@pytest.mark.parametrize("known", [TOY.known, WEIGHTED], ids=["plain", "weighted"])
@pytest.mark.parametrize(("n_passes", "q"), [(1, 0.0), (2, 0.5), (3, 1.0)])
def test_scores_solve_the_equations(known, n_passes, q, monkeypatch):
    exactly(monkeypatch)
    given = {"ridge": 0.5, "n_passes": n_passes}
    model = SemanticDiffusion(shrinkage=0.03, smoothing=0.3, alpha=0.7, n_neighbors=8, **given)
    model.set_params(score_normalization=q).fit(TOY.X, known)
    F, f = dense_scores(TOY.X, known, NEW, m=0.03, s=0.3, a=0.7, k=8, q=q, **given)
    np.testing.assert_allclose(model.training_scores(TOY.X), F, atol=1e-7)
    np.testing.assert_allclose(model.scores(NEW), f, atol=1e-7)


def test_of_a_large_collection_some_labels_are_diffused_at_a_time(monkeypatch, tmp_path):
    exactly(monkeypatch)
    monkeypatch.setattr("tagloom.graph.diffusion._ENTRIES_AT_ONCE", 2 * len(TOY.X))
    model = SemanticDiffusion(ridge=0.5, n_neighbors=8).fit(TOY.X, TOY.known)
    given = {"ridge": 0.5, "m": 0.1, "s": 0.5, "a": 0.8, "k": 8, "n_passes": 2}
    F, f = dense_scores(TOY.X, TOY.known, NEW, **given)
    np.testing.assert_allclose(model.training_scores(TOY.X), F, atol=1e-7)
    model.save(tmp_path / "model")
    for one in (model, SemanticDiffusion.load(tmp_path / "model")):
        np.testing.assert_allclose(one.scores(NEW), f, atol=1e-7)


def test_the_usual_tolerance_is_close_to_the_equations():
    # In a second pass the last digit may decide which item is the eighth neighbour.
    model = SemanticDiffusion(n_neighbors=8, n_passes=1).fit(TOY.X, TOY.known)
    given = {"ridge": 1.0, "m": 0.1, "s": 0.5, "a": 0.8, "k": 8, "n_passes": 1}
    F, f = dense_scores(TOY.X, TOY.known, NEW, **given)
    np.testing.assert_allclose(model.training_scores(TOY.X), F, atol=5e-3)
    np.testing.assert_allclose(model.scores(NEW), f, atol=5e-3)


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_without_correction_and_smoothing_it_is_the_linear_model_to_the_last_bit(lam):
    model = SemanticDiffusion(lam, ridge=0.7, shrinkage=np.inf, smoothing=0.0, normalize_rows=False)
    model.fit(TOY.X, TOY.known)
    linear = APGGraph(lam, ridge=0.7, tol=model.tol) if lam else LeastSquares(0.7)
    linear.fit(TOY.X[INFORMED], TOY.known.take(INFORMED))
    np.testing.assert_array_equal(model.coef_, linear.coef_)
    np.testing.assert_array_equal(model.intercept_, linear.intercept_)
    np.testing.assert_array_equal(model.scores(NEW), linear.scores(NEW))
    np.testing.assert_array_equal(model.training_scores(TOY.X), linear.scores(TOY.X))
    assert model.graph_ is None
    assert model.n_iter_ == getattr(linear, "n_iter_", 1)


def test_infinite_shrinkage_smooths_the_linear_scores_alone():
    settings = {"n_passes": 1, "n_neighbors": 8, "normalize_rows": False}
    model = SemanticDiffusion(shrinkage=np.inf, smoothing=0.4, **settings)
    F = model.fit(TOY.X, TOY.known).training_scores(TOY.X)
    P = LeastSquares(1.0).fit(TOY.X, TOY.known).scores(TOY.X)
    S = affinity_graph(TOY.X, 8).S.toarray()
    np.testing.assert_allclose(F, 0.6 * np.linalg.solve(np.eye(60) - 0.4 * S, P), atol=1e-3)


def test_with_lam_the_linear_part_is_that_of_apg_graph():
    model = SemanticDiffusion(0.5, ridge=0.2, normalize_rows=False).fit(TOY.X, TOY.known)
    linear = APGGraph(0.5, ridge=0.2, tol=model.tol)
    linear.fit(TOY.X[INFORMED], TOY.known.take(INFORMED))
    np.testing.assert_array_equal(model.coef_, linear.coef_)
    assert model.n_iter_ == linear.n_iter_ > 1


def test_a_new_item_is_scored_the_same_whatever_other_items_are_scored():
    model = SemanticDiffusion().fit(TOY.X, TOY.known)
    together = model.scores(NEW)
    for i in range(len(NEW)):
        np.testing.assert_allclose(model.scores(NEW[i : i + 1])[0], together[i], atol=1e-12)


def test_training_scores_recognise_the_rows_and_scores_treat_them_as_new():
    model = SemanticDiffusion().fit(TOY.X, TOY.known)
    own = model.training_scores(TOY.X.copy())
    np.testing.assert_array_equal(own, model.training_scores_)
    assert np.abs(own - model.scores(TOY.X)).max() > 1e-3
    own[:] = 7
    assert not (model.training_scores(TOY.X) == 7).any()
    for other in (TOY.X + 1, TOY.X[:10], TOY.X[::-1]):
        with pytest.raises(InvalidInputError, match="For new rows call scores"):
            model.training_scores(other)


def moons(n=120, seed=0):
    """Two half circles that no line parts."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, size=n)
    upper = np.arange(n) % 2 == 0
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[~upper] = [1.0, 0.5] - X[~upper]
    return X + 0.05 * rng.normal(size=X.shape), upper.astype(float)


def test_labels_diffuse_through_unlabelled_items():
    X, upper = moons()
    Y = np.full((120, 1), np.nan)
    # One end of each half circle is known: those that a line parts wrongly for the rest.
    labelled = np.concatenate([np.argsort(X[:, 0] + 100 * (upper != side))[:4] for side in (0, 1)])
    Y[labelled, 0] = upper[labelled]
    rest = np.setdiff1d(np.arange(120), labelled)
    settings = {"shrinkage": 1e-3, "smoothing": 0.0, "alpha": 0.99, "n_neighbors": 6, "n_passes": 1}
    whole = SemanticDiffusion(ridge=1e3, **settings).fit(X, Y)
    truth = upper[rest, None]
    found = mean_average_precision(truth, whole.training_scores(X)[rest])
    linear = LeastSquares(1e-2).fit(X[labelled], Y[labelled])
    alone = SemanticDiffusion(ridge=1e3, **settings).fit(X[labelled], Y[labelled])
    assert found > 0.98
    assert mean_average_precision(truth, linear.scores(X[rest])) < found - 0.1
    assert mean_average_precision(truth, alone.scores(X[rest])) < found - 0.1


def test_assumed_absences_are_not_diffused():
    truth = PartialLabels.from_array(TOY.truth)
    listed = keep_presences(truth, 0.5, unlisted=0.3, random_state=0)
    settings = {"smoothing": 0.0, "n_passes": 1, "normalize_rows": False}
    model = SemanticDiffusion(shrinkage=0.5, **settings).fit(TOY.X, listed)
    P = LeastSquares(1.0).fit(TOY.X, listed).scores(TOY.X)
    present = listed.states() == 1
    W = present.astype(float)
    S = affinity_graph(TOY.X, 20).S.toarray()
    spread = 0.2 * np.linalg.inv(np.eye(60) - 0.8 * S)
    expected = P + spread @ (W * (1 - P)) / (spread @ W + 0.5)
    np.testing.assert_allclose(model.training_scores(TOY.X), expected, atol=1e-3)


def test_hidden_items_among_assumed_absences_do_not_train_the_linear_part():
    listed = keep_presences(PartialLabels.from_array(TOY.truth), 0.5, unlisted=0.3, random_state=0)
    rows, columns = np.divmod(np.arange(10 * 3), 3)
    hidden = listed.with_hidden(50 + rows, columns)
    model = SemanticDiffusion(normalize_rows=False).fit(TOY.X, hidden)
    linear = LeastSquares(1.0).fit(TOY.X[:50], listed.take(range(50)))
    np.testing.assert_allclose(model.coef_, linear.coef_, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, linear.intercept_, atol=1e-12)


@pytest.mark.parametrize("lam", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_label_without_known_entries_stays_finite_beside_the_others(dtype, lam):
    X, Y = TOY.X.astype(dtype), TOY.known.to_array()
    Y[:, 1] = np.nan
    model = SemanticDiffusion(lam, on_unlearnable="ignore").fit(X, Y)
    np.testing.assert_array_equal(model.training_scores(X)[:, 1], 0)
    np.testing.assert_array_equal(model.scores(NEW)[:, 1], 0)
    assert np.isfinite(model.training_scores(X)).all()


def test_constant_features_give_finite_scores():
    model = SemanticDiffusion(on_unlearnable="ignore").fit(
        np.ones((10, 2)), np.arange(10)[:, None] % 2
    )
    assert np.isfinite(model.training_scores(np.ones((10, 2)))).all()
    assert np.isfinite(model.scores(np.zeros((2, 2)))).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shrinkage": 0.0}, "'shrinkage' parameter of SemanticDiffusion must be"),
        ({"shrinkage": -1.0}, "'shrinkage' parameter"),
        ({"shrinkage": np.nan}, "'shrinkage' parameter"),
        (
            {"smoothing": 1.0},
            r"'smoothing' parameter of SemanticDiffusion must be a number in \[0, 1\)",
        ),
        ({"alpha": 1}, r"'alpha' parameter of SemanticDiffusion must be a number in \[0, 1\)"),
        ({"alpha": -0.1}, "'alpha' parameter"),
        ({"n_passes": 0}, "'n_passes' parameter"),
        ({"n_neighbors": 2.5}, "'n_neighbors' parameter"),
        ({"lam": -1.0}, "'lam' parameter"),
        ({"ridge": np.inf}, "'ridge' parameter"),
        ({"metric": "manhattan"}, "'metric' parameter"),
        ({"algorithm": "best"}, "'algorithm' parameter"),
        ({"warm_start": 1}, "'warm_start' parameter"),
        ({"normalize_rows": 0.5}, "'normalize_rows' parameter"),
        ({"score_normalization": 1.5}, "'score_normalization' parameter"),
        ({"score_normalization": np.nan}, "'score_normalization' parameter"),
        ({"on_unlearnable": "hope"}, "'on_unlearnable' parameter"),
    ],
)
def test_invalid_parameters_are_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        SemanticDiffusion(**changes).fit(TOY.X, TOY.known)


def test_the_only_item_has_no_neighbor():
    with pytest.raises(InvalidInputError, match="At least 2 items"):
        SemanticDiffusion(on_unlearnable="ignore").fit([[1.0]], [[1]])


@pytest.mark.parametrize("fitted", [{}, {"shrinkage": np.inf, "smoothing": 0.0}])
def test_parameters_take_effect_at_the_next_fit(fitted):
    model = SemanticDiffusion(**fitted).fit(TOY.X, TOY.known)
    before = model.scores(NEW)
    linear = {"shrinkage": np.inf, "smoothing": 0.0}
    for changes in ({"shrinkage": 3.0}, {"smoothing": 0.2}, {"score_normalization": 0.5}, linear):
        np.testing.assert_array_equal(model.set_params(**changes).scores(NEW), before)


def test_a_pickled_model_gives_the_same_scores():
    model = SemanticDiffusion().fit(TOY.X, TOY.known)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.scores(NEW), model.scores(NEW))
    np.testing.assert_array_equal(again.training_scores(TOY.X), model.training_scores(TOY.X))
    assert not hasattr(clone(model), "training_scores_")


def test_names_of_a_frame_come_back():
    X = pd.DataFrame(TOY.X, index=[f"{i}.jpg" for i in range(60)]).add_prefix("f")
    Y = pd.DataFrame(TOY.known.to_array(), index=X.index, columns=["sea", "sky", "sun"])
    model = SemanticDiffusion().fit(X, Y)
    named = model.training_scores(X)
    assert list(named.columns) == ["sea", "sky", "sun"]
    assert list(named.index) == list(X.index)
    np.testing.assert_array_equal(
        named, SemanticDiffusion().fit(TOY.X, TOY.known).training_scores(TOY.X)
    )


def test_the_graph_adds_what_a_linear_model_cannot_express():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    # Rings and checks: the mean of x where a label is present is that where it is absent.
    truth = np.column_stack(
        [np.hypot(*X.T) < 1, X[:, 0] * X[:, 1] > 0, np.abs(X[:, 0]) > 1]
    ).astype(float)
    model = SemanticDiffusion().fit(X[:200], truth[:200])
    linear = LeastSquares(1.0).fit(X[:200], truth[:200])
    best = mean_average_precision(truth[200:], model.scores(X[200:]))
    assert best > 0.9
    assert best > mean_average_precision(truth[200:], linear.scores(X[200:])) + 0.2
