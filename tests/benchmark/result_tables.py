"""Tables as an experiment writes them, made up so that the answers are known."""

import json

import pandas as pd

# mAP by method: what it is at 10%, what each further 10% adds.
QUALITY = {
    "maxide": (0.30, 0.02),
    "fasttag": (0.25, 0.05),
    "apg-graph": (0.31, 0.02),
    "semantic-diffusion": (0.33, 0.01),
    "descriptor-both": (0.20, 0.02),
}
# What a seed adds for all methods, and for ours on top of that.
SHARED = (0.00, 0.02, -0.02)
OWN = (0.001, -0.001, 0.003)


def results_table(*, methods=tuple(QUALITY), rates=(0.1, 0.2), n_seeds=3, dataset="toy"):
    rows = []
    for method in methods:
        start, growth = QUALITY[method]
        for step, rate in enumerate(rates):
            for seed in range(n_seeds):
                own = OWN[seed] if method == "semantic-diffusion" else 0.0
                value = start + growth * step + SHARED[seed] + own
                rows.append(_cell(dataset, method, rate, seed, value))
    return pd.DataFrame(rows)


def _cell(dataset, method, rate, seed, value):
    return {
        "dataset": dataset,
        "protocol": "per-class",
        "method": method,
        "rate": rate,
        "seed": seed,
        "map": value,
        "map_voc11": value + 0.01,
        "map_per_item": value + 0.1,
        "precision_at_5": value,
        "recall_at_5": value,
        "f1_at_5": value,
        "n_plus_at_5": 7,
        "n_labels_scored": 9,
        "n_labels_left_out": 1,
        "n_trials": 4,
        "search_seconds": 12.0,
        "fit_seconds": 0.5,
        "score_seconds": 0.01,
        "peak_memory_mib": 321.0,
        "parameters": json.dumps({"lam": 0.5}),
    }


def labels_table(aps, *, rate=0.1, seed=0, dataset="toy"):
    """Make rows from {method: {label: AP}}."""
    return pd.DataFrame(
        {
            "dataset": dataset,
            "protocol": "per-class",
            "method": method,
            "rate": rate,
            "seed": seed,
            "label": label,
            "ap": ap,
            "n_test_presences": 0 if ap is None else 3,
        }
        for method, by_label in aps.items()
        for label, ap in by_label.items()
    ).astype({"ap": "float64"})
