"""The naive choice of most users: a regression of scikit-learn, and a graphical lasso of what it leaves.

The network is estimated from out-of-fold residuals: those of the fit itself would make any regression that
interpolates absurdly sure of itself.
"""

from __future__ import annotations

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import ARDRegression, MultiTaskLassoCV, RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nard.baselines.base import Baseline, Estimate
from nard.covariance import GraphicalLassoResult, graphical_lasso, log_density
from nard.inputs import require

__all__ = ["SeparateRegression", "residual_precision"]

_FOLDS = 5
_LAMS = np.geomspace(0.5, 3e-4, 26)
_PATIENCE = 2
# Unit vectors at a time: all of them would be d × d numbers.
_UNITS = 1000
_REGRESSIONS = {
    "ard": lambda: MultiOutputRegressor(ARDRegression()),
    "multitask_lasso": lambda: MultiTaskLassoCV(cv=_FOLDS, alphas=30, eps=0.05, max_iter=3000),
    "ridge": lambda: RidgeCV(alphas=np.geomspace(1e0, 1e5, 26), alpha_per_target=True),
    "none": DummyRegressor,
}


def residual_precision(residuals: np.ndarray) -> np.ndarray:
    """Graphical lasso of residuals on the scale of correlations, λ by 5-fold held-out likelihood.

    The path of λ ends once the likelihood has fallen twice.
    """
    sd = residuals.std(axis=0)
    Z = residuals / sd
    folds = list(KFold(_FOLDS, shuffle=True, random_state=0).split(Z))
    results: list[GraphicalLassoResult | None] = [None] * _FOLDS
    best, best_score, since_best = _LAMS[0], -np.inf, 0
    for lam in _LAMS:
        score = 0.0
        for k, (train, test) in enumerate(folds):
            S = Z[train].T @ Z[train] / len(train)
            results[k] = result = graphical_lasso(S, lam, init=results[k], tol=1e-3, max_iter=500)
            score += log_density(Z[test], result.precision, np.ones(len(test))).sum()
        if score > best_score:
            best, best_score, since_best = lam, score, 0
        elif score < best_score:
            # Before the first edge all scores are the same.
            since_best += 1
            if since_best == _PATIENCE:
                break
    return graphical_lasso(Z.T @ Z / len(Z), best, max_iter=500).precision / np.outer(sd, sd)


class SeparateRegression(Baseline):
    """A regression that knows nothing of the network, and a graphical lasso of its out-of-fold residuals.

    Parameters
    ----------
    regression : {"ard", "multitask_lasso", "ridge", "none"}, default="ard"
        scikit-learn's ARDRegression for each output, its MultiTaskLassoCV for all, its RidgeCV with a penalty for each
        output, or no regression: the network of the outputs alone.
    random_state : int or None, default=None
        Seed of the folds.
    standardize : bool, default=False
        Scale inputs and outputs to unit variance first, so that the units do not matter; results are in the units
        given. The workflow and `nard fit` do so.

    Examples
    --------
    >>> from nard.baselines import SeparateRegression
    >>> from nard.simulate import make_regression
    >>> data = make_regression(100, 8, 3, random_state=0)
    >>> SeparateRegression().fit(data.X, data.Y).coef_.shape
    (3, 8)
    """

    def __init__(self, regression="ard", random_state=None, standardize=False):
        self.regression = regression
        self.random_state = random_state
        self.standardize = standardize

    def _estimate(self, X, Y):
        require(self.regression in _REGRESSIONS, "regression", self.regression, f"one of {list(_REGRESSIONS)}")
        model = make_pipeline(StandardScaler(), _REGRESSIONS[self.regression]())
        folds = KFold(_FOLDS, shuffle=True, random_state=0 if self.random_state is None else self.random_state)
        residuals = Y - cross_val_predict(model, X, Y, cv=folds)
        # The fit is linear: what it predicts for the unit vectors, less what it predicts for none, are its weights.
        d = X.shape[1]
        origin = model.fit(X, Y).predict(np.zeros((1, d)))
        units = (np.eye(min(_UNITS, d - first), d, first) for first in range(0, d, _UNITS))
        W = np.concatenate([model.predict(some) - origin for some in units]).T
        W[np.abs(W) < 1e-12 * np.abs(W).max(initial=0.0)] = 0.0
        omega = residual_precision(residuals)
        return Estimate(W, omega, W != 0, omega != 0)
