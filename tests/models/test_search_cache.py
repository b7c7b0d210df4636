"""What the fits of a search share is computed once, dropped when too large, and never wrong."""

from threading import Barrier, Thread

import numpy as np
import pytest

from tagloom.models import SemanticDiffusion, tune
from tagloom.models import semantic_diffusion as module
from tagloom.models.search_cache import SearchCache


def test_a_result_is_computed_once_and_arrays_count_by_value():
    cache, made = SearchCache(1000), []
    rows = np.arange(6.0)

    def make():
        made.append(1)
        return len(made)

    assert cache.get(("a", rows), make, 10) == 1
    assert cache.get(("a", rows), make, 10) == 1
    assert cache.get(("a", rows.copy()), make, 10) == 1
    assert cache.get(("a", rows + 1), make, 10) == 2
    assert cache.get(("b", rows), make, 10) == 3


def test_beyond_its_size_the_result_longest_unused_is_dropped():
    cache, made = SearchCache(25), []
    for key in ("a", "b", "a", "c", "a", "b"):
        cache.get((key,), lambda key=key: made.append(key), 10)
    assert made == ["a", "b", "c", "b"]
    for _ in range(2):
        cache.get(("large",), lambda: made.append("large"), 26)
    assert made[-2:] == ["large", "large"]


def test_threads_that_need_the_same_result_wait_for_one():
    cache, made, start = SearchCache(100), [], Barrier(4)

    def work():
        start.wait()
        cache.get(("same",), lambda: made.append(1), 1)

    threads = [Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert made == [1]


def test_a_failure_is_not_kept():
    cache = SearchCache(100)
    with pytest.raises(ZeroDivisionError):
        cache.get(("key",), lambda: 1 / 0, 1)
    assert cache.get(("key",), lambda: 5, 1) == 5


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search_makes_the_first_graph_once_and_finds_what_it_found_without(n_jobs, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)).astype(np.float32)
    Y = (X @ rng.normal(size=(4, 5)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    widths = []
    real = module.affinity_graph

    def counted(rows, *args, **kwargs):
        widths.append(rows.shape[1])
        return real(rows, *args, **kwargs)

    monkeypatch.setattr(module, "affinity_graph", counted)
    found = tune(SemanticDiffusion(n_neighbors=5), X, Y, n_jobs=n_jobs, verbose=False)
    assert widths.count(4) == 1
    # Before self-training and after it, for each fold, and for the final fit if it has any.
    final = (1 + (found.model.self_training > 0)) * (found.model.graph_ is not None)
    assert widths.count(9) == 2 * 3 + final
    monkeypatch.setattr("tagloom.models.model_selection._CACHE_BYTES", 0)
    alone = tune(SemanticDiffusion(n_neighbors=5), X, Y, verbose=False)
    assert widths.count(4) > 2
    assert [one.scores for one in found.trials] == [one.scores for one in alone.trials]
    assert np.array_equal(found.model.scores(X), alone.model.scores(X))
