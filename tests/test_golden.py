"""Everything at its default on the fixed problem on which the originals of the baselines were measured."""

import numpy as np
import pandas as pd
from calibration import rates, selected_matrix

from nard import NARD


def read(folder, name):
    return pd.read_csv(folder / f"tcga_{name}.csv", header=None).to_numpy()


def test_defaults_reach_the_best_peer(golden):
    X, Y, W, omega = (read(golden, name) for name in ("X", "Y", "W", "Omega"))
    model = NARD().fit(X, Y)
    assert np.linalg.norm(model.coef_ - W) / np.linalg.norm(W) <= 0.065
    tpr, fdr = rates(selected_matrix(model.associations(), "target", "feature", W.shape), W != 0)
    assert tpr == 1.0
    assert fdr <= 0.05
    tpr, fdr = rates(selected_matrix(model.edges(), "source", "target", omega.shape), np.triu(omega != 0, 1))
    assert tpr >= 0.70
    assert fdr <= 0.08
