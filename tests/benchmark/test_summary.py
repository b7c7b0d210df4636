import io

import numpy as np
import pytest
from result_tables import results_table
from rich.console import Console
from scipy.stats import ttest_rel

from tagloom.benchmark.summary import best_baseline, paired_differences, print_summary, summarise
from tagloom.errors import InvalidInputError


def printed(results, width=120):
    stream = io.StringIO()
    print_summary(results, Console(file=stream, width=width, force_terminal=False))
    return stream.getvalue()


def of_ours(differences):
    """Return the one row of semantic diffusion."""
    (row,) = differences[differences["method"] == "semantic-diffusion"].to_dict("records")
    return row


def test_summary_gives_mean_spread_and_number_of_seeds():
    summary = summarise(results_table())
    row = summary[(summary["method"] == "maxide") & (summary["rate"] == 0.2)].iloc[0]
    assert row["mean"] == pytest.approx(0.32)
    assert row["sd"] == pytest.approx(0.02)
    assert row["n"] == 3


def test_seconds_are_printed_below_the_map():
    results = results_table(methods=["maxide"], rates=[0.1])
    results["search_seconds"], results["fit_seconds"] = 12.34, 0.5
    text = printed(results)
    line = next(line for line in text.splitlines() if "12.3" in line)
    assert line.split() == ["Maxide", "12.3", "0.500"]


def test_methods_are_sorted_for_tables():
    shuffled = results_table().sample(frac=1.0, random_state=0)
    methods = list(dict.fromkeys(summarise(shuffled)["method"]))
    assert methods == ["maxide", "fasttag", "apg-graph", "semantic-diffusion", "descriptor-both"]


def test_a_cell_without_a_value_is_not_counted():
    results = results_table(methods=["maxide"], rates=[0.1])
    results.loc[0, "map"] = np.nan
    assert summarise(results)["n"].tolist() == [2]


def test_the_best_baseline_is_chosen_at_each_rate_and_is_never_ours_nor_a_descriptor():
    results = results_table(rates=(0.1, 0.2, 0.3, 0.4))
    differences = paired_differences(results)
    ours = differences[differences["method"] == "semantic-diffusion"]
    assert ours["baseline"].tolist() == ["maxide", "maxide", "fasttag", "fasttag"]


def test_the_interval_is_that_of_the_paired_t_test():
    results = results_table(rates=[0.1])
    row = of_ours(paired_differences(results))
    values = {name: part["map"].to_numpy() for name, part in results.groupby("method")}
    expected = ttest_rel(values["semantic-diffusion"], values["maxide"]).confidence_interval(0.95)
    assert row["mean"] == pytest.approx(0.031)
    assert (row["low"], row["high"]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    # What all methods share by seed cancels: unpaired, the interval would be ten times as wide.
    assert row["high"] - row["low"] < 0.02


def test_only_seeds_that_both_have_are_compared():
    results = results_table(rates=[0.1])
    missing = (results["method"] == "semantic-diffusion") & (results["seed"] == 1)
    row = of_ours(paired_differences(results[~missing]))
    assert row["n"] == 2
    assert row["mean"] == pytest.approx(0.03 + (0.001 + 0.003) / 2)


def test_one_seed_gives_a_difference_without_an_interval():
    row = paired_differences(results_table(n_seeds=1)).iloc[0]
    assert row["n"] == 1
    assert np.isnan(row["low"])
    assert "±" not in printed(results_table(n_seeds=1)).split("mAP in points")[0]


def test_methods_that_are_not_ours_are_baselines():
    row = of_ours(paired_differences(results_table(rates=[0.1]), ours=["semantic-diffusion"]))
    assert row["baseline"] == "apg-graph"


def test_without_a_baseline_there_is_no_difference():
    results = results_table(methods=["semantic-diffusion"])
    assert paired_differences(results).empty
    assert best_baseline(results) is None
    assert "33.1 ± 1.8" in printed(results)


def test_negative_differences_are_printed_like_positive_ones():
    results = results_table()
    results.loc[results["method"] == "semantic-diffusion", "map"] -= 0.1
    text = printed(results)
    assert "−6.9 [−7.4, −6.4], n=3" in text
    assert text.index("FastTag") < text.index("Semantic diffusion")


def test_the_summary_fits_a_terminal_of_80_columns_whole():
    text = printed(results_table(rates=(0.1, 0.2, 0.3, 0.4, 0.5)), width=80)
    assert "…" not in text
    assert "APG-Graph" in text


def test_names_from_files_are_not_read_as_markup():
    assert "[bold]x[/]" in printed(results_table(dataset="[bold]x[/]"))


def test_a_table_that_lacks_a_column_is_refused_by_name():
    with pytest.raises(InvalidInputError, match="missing: seed"):
        summarise(results_table().drop(columns="seed"))
