"""Real TCGA data: the four methods agree, and predict held-out proteins better than common peers."""

from itertools import combinations

import numpy as np
import pytest
from held_out import compare
from real_data import load_tcga

from nard import NARD
from nard.algorithms import METHODS


def jaccard(a, b):
    return (a & b).sum() / (a | b).sum()


def test_methods_agree_on_kirc(real_data):
    X, Y = load_tcga(real_data, "KIRC", "pathway")
    models = [NARD(method=method, lam=0.1, refit=False).fit(X, Y) for method in METHODS]
    networks = [np.triu(model.precision_ != 0, 1) for model in models]
    chosen = []
    for model in models:
        table = model.associations().sort_values(["feature", "target"])
        chosen.append(table["selected"].to_numpy())
    assert all(jaccard(a, b) >= 0.97 for a, b in combinations(networks, 2))
    assert all(jaccard(a, b) >= 0.9 for a, b in combinations(chosen, 2))


@pytest.mark.slow
def test_held_out_likelihood_on_kirc(real_data):
    X, Y = load_tcga(real_data, "KIRC", "pathway")
    Y = (Y - Y.mean()) / Y.std(ddof=0)
    table = compare(X.to_numpy(), Y.to_numpy(), ["no regression", "ridge per output", "MultiTaskLassoCV", "NARD"])
    peers = table.drop(index="NARD")["log-likelihood"]
    assert table.loc["NARD", "log-likelihood"] > peers.max()
