"""Real TCGA data: the four methods agree, and predict held-out proteins better than common peers."""

from itertools import combinations

import numpy as np
import pytest
from held_out import compare

from nard import NARD
from nard.algorithms import VARIANTS
from nard.data.cleaning import standardised
from nard.experiments.datasets import load_tcga


def jaccard(a, b):
    return (a & b).sum() / (a | b).sum()


def test_methods_agree_on_kirc(real_data):
    prepared = load_tcga(real_data / "tcga", "KIRC")
    X, Y = prepared.X, prepared.Y
    models = [NARD(method=method, lam=0.1, relevance="inputs", hidden=0).fit(X, Y) for method in VARIANTS]
    networks = [np.triu(model.precision_ != 0, 1) for model in models]
    chosen = []
    for model in models:
        table = model.associations().sort_values(["feature", "target"])
        chosen.append(table["selected"].to_numpy())
    assert all(jaccard(a, b) >= 0.97 for a, b in combinations(networks, 2))
    assert all(jaccard(a, b) >= 0.9 for a, b in combinations(chosen, 2))


@pytest.mark.slow
def test_held_out_likelihood_on_kirc(real_data):
    prepared = load_tcga(real_data / "tcga", "KIRC")
    table = compare(prepared.X, standardised(prepared.Y), ["none", "ridge", "multitask_lasso", "sequential"])
    peers = table.drop(index="sequential")["log-likelihood"]
    assert table.loc["sequential", "log-likelihood"] > peers.max()
