"""Held-out likelihood of NARD and its peers on real TCGA data: prints the table that the documentation quotes.

    NARD_REAL_DATA=… python benchmarks/held_out.py KIRC:pathway LUAD:all COAD:all

A peer predicts by its own cross-validated regression. Its residual precision is the graphical lasso, at a
cross-validated λ, of its out-of-fold residuals: those of the training samples would make any interpolating peer
absurdly sure of itself.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
from real_data import load_tcga, real_data_folder
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import ARDRegression, MultiTaskLassoCV, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nard import NARD
from nard.baselines.separate import residual_precision


def peers():
    return {
        "no regression": DummyRegressor(),
        "ridge per output": RidgeCV(alphas=np.geomspace(1e0, 1e5, 26), alpha_per_target=True),
        "MultiTaskLassoCV": MultiTaskLassoCV(cv=5, alphas=30, eps=0.05, max_iter=3000),
        "ARD per output": MultiOutputRegressor(ARDRegression()),
    }


def log_density(residuals, precision):
    """Mean ln N(residual; 0, precision⁻¹) per sample."""
    m = residuals.shape[1]
    mahalanobis = np.einsum("ij,ij->i", residuals @ precision, residuals)
    return 0.5 * (np.linalg.slogdet(precision)[1] - m * np.log(2 * np.pi) - mahalanobis.mean())


def score_peer(model, X, Y, X_test, Y_test):
    model = make_pipeline(StandardScaler(), model)
    folds = KFold(5, shuffle=True, random_state=1)
    residuals = Y - cross_val_predict(model, X, Y, cv=folds)
    predicted = model.fit(X, Y).predict(X_test)
    return log_density(Y_test - predicted, residual_precision(residuals)), predicted


def score_nard(params, X, Y, X_test, Y_test):
    model = NARD(**params).fit(X, Y)
    return model.log_likelihood(X_test, Y_test), model.predict(X_test)


def compare(X, Y, names=None):
    """Five-fold held-out log-likelihood per sample and R² of every method."""
    methods = {name: (score_peer, model) for name, model in peers().items()}
    methods["NARD"] = (score_nard, {})
    methods["NARD, posterior mean"] = (score_nard, {"refit": False})
    rows = {}
    for name, (score, argument) in methods.items():
        if names is not None and name not in names:
            continue
        started, likelihoods, predictions = time.perf_counter(), [], np.empty_like(Y)
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            likelihood, predictions[test] = score(argument, X[train], Y[train], X[test], Y[test])
            likelihoods.append(likelihood)
        rows[name] = {
            "log-likelihood": np.mean(likelihoods),
            "R2": r2_score(Y, predictions),
            "seconds": time.perf_counter() - started,
        }
        print(name, {k: round(float(v), 3) for k, v in rows[name].items()}, flush=True)
    return pd.DataFrame(rows).T


def main():
    folder = real_data_folder()
    if folder is None:
        sys.exit("Set NARD_REAL_DATA to the folder that holds tcga/ and pathways.tsv.")
    warnings.filterwarnings("ignore", category=UserWarning)
    for cohort in sys.argv[1:] or ["KIRC:pathway", "LUAD:all", "COAD:all"]:
        cancer, genes = cohort.split(":")
        X, Y = load_tcga(folder, cancer, genes)
        # Log densities are given for outputs of unit variance, so that they do not depend on the arrays' units.
        Y = (Y - Y.mean()) / Y.std(ddof=0)
        print(f"\n{cancer}, {genes} genes: N = {len(X)}, d = {X.shape[1]}, m = {Y.shape[1]}", flush=True)
        print(compare(X.to_numpy(), Y.to_numpy()).round(3).to_string(), flush=True)


if __name__ == "__main__":
    main()
