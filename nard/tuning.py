"""The choice of λ, and of the sparse refit against the posterior mean, by held-out likelihood or eBIC.

Cross-validation scores the held-out fold under the predictive density N(μx, V(1 + xᵀΣx)), without the penalty (the
score printed in the paper adds it and is computed on the training folds, which always picks the smallest λ). The folds
walk one path of λ together, from the largest down, each fit starting from its last; they stop once the score has
fallen for a while. The path is always walked by Sequential NARD, whatever the method of the final fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from nard.algorithms import Data, RoughPass, State, starting_state
from nard.algorithms.evidence import ColumnCovariance, Problem, posterior
from nard.algorithms.sequential import fit_sequential
from nard.covariance import log_density, log_determinant
from nard.priors import AlphaPrior, make_covariance_prior
from nard.progress import SILENT, Watch
from nard.scaling import Scaler
from nard.selection import find, residuals_of

__all__ = ["Settings", "Validation", "cross_validate", "ebic_path", "lam_grid"]

# Twenty values span a factor of fifty. Cross-validation ends its path itself, so that the path may go on to next to no
# penalty: with many samples and few outputs that predicts best.
_STEP = 50.0 ** (-1 / 19)
_N_LAMS = {"cv": 40, "ebic": 20}
# The path ends after this many λ without a better score, or at once when the score is a standard error below the best.
_PATIENCE = 2
# The path's fits need not be as exact as the final one.
_PATH_TOL = 1e-3
_EBIC_GAMMA = 0.5


@dataclass(frozen=True)
class Settings:
    """What a fit needs besides the data and λ."""

    alpha_prior: AlphaPrior
    cov_prior: tuple | None
    standardize: bool
    fdr: float


class _Fold:
    """One training fold walking down the path of λ, and its held-out samples."""

    def __init__(self, X, Y, train, test, settings: Settings, watch: Watch):
        scaler = Scaler(X[train], Y[train], settings.standardize)
        self.data = Data(scaler.inputs(X[train]), scaler.outputs(Y[train]))
        self.X_test, self.Y_test = scaler.inputs(X[test]), scaler.outputs(Y[test])
        self.log_units = float(np.log(scaler.y_scale).sum())
        self.settings = settings
        self.cov_prior = make_covariance_prior(settings.cov_prior, self.data.Y.var(axis=0), scaler.y_scale)
        self.rough = RoughPass(self.data, self.cov_prior, watch)
        self.watch = watch
        self.state: State | None = None

    def _problem(self, lam):
        return self.rough.problem(self.data, lam, self.settings.alpha_prior, self.cov_prior)

    def advance(self, lam: float) -> np.ndarray:
        """Fits at the next λ and returns the held-out samples' log densities."""
        problem = self._problem(lam)
        start = self.state or starting_state(problem, self.rough, "sequential", _PATH_TOL)
        self.state = fit_sequential(problem, start, tol=_PATH_TOL, watch=self.watch).state
        post = posterior(problem, self.state.alpha)
        inflation = 1.0 + ColumnCovariance(problem, self.state.alpha).variance(self.X_test)
        residuals = self.Y_test - self.X_test[:, post.active] @ post.mean
        return log_density(residuals, self.state.omega, inflation) - self.log_units

    def sparse_score(self, state: State, lam: float) -> np.ndarray:
        """The same for the sparse refit at a state that the fold passed at λ."""
        sparse = find(self._problem(lam), state, lam, self.settings.fdr).sparse
        residuals = residuals_of(self.X_test, self.Y_test, sparse.coef)
        return log_density(residuals, sparse.network.precision, np.ones(len(residuals))) - self.log_units


def lam_grid(rough: RoughPass, rule: str) -> np.ndarray:
    """From the smallest λ with an empty network down, to a fiftieth of it for "ebic", to a 3,000th for "cv"."""
    return max(rough.largest_lam, 1e-3) * _STEP ** np.arange(_N_LAMS[rule])


@dataclass(frozen=True)
class Validation:
    """The path with its scores, the chosen λ, and the held-out scores of both kinds of coefficients there."""

    path: pd.DataFrame
    lam: float
    posterior_score: float
    sparse_score: float | None


def cross_validate(
    X, Y, lams, settings: Settings, n_folds: int, seed: int, compare_sparse: bool, watch: Watch = SILENT
) -> Validation | None:
    """Held-out log density per sample along ``lams``, descending; on request also the refit's at the best.

    None if the fit was asked to stop before the first score.
    """
    splits = KFold(min(n_folds, len(X)), shuffle=True, random_state=seed).split(X)
    folds = [_Fold(X, Y, train, test, settings, watch) for train, test in splits]
    rows, best, best_score, since_best = [], None, -np.inf, 0
    for lam in lams:
        scores = [fold.advance(lam) for fold in folds]
        if watch.stopped:
            break
        every = np.concatenate(scores)
        rows.append(
            {
                "lam": lam,
                "score": every.mean(),
                "standard_error": every.std() / np.sqrt(len(every)),
                "n_active": np.mean([np.isfinite(fold.state.alpha).sum() for fold in folds]),
                "n_edges": np.mean([np.count_nonzero(np.triu(fold.state.omega, 1)) for fold in folds]),
            }
        )
        watch.lam(rows[-1])
        if rows[-1]["score"] > best_score:
            best, best_score, since_best = (lam, [fold.state for fold in folds]), rows[-1]["score"], 0
        else:
            since_best += 1
            if since_best >= _PATIENCE or rows[-1]["score"] < best_score - rows[-1]["standard_error"]:
                break
    if best is None:
        return None
    lam, states = best
    sparse = None
    if compare_sparse and not watch.stopped:
        each = [fold.sparse_score(state, lam) for fold, state in zip(folds, states, strict=True)]
        sparse = float(np.concatenate(each).mean())
    return Validation(_with_choice(rows, lam), float(lam), float(best_score), sparse)


def ebic_path(problem: Problem, lams, rough: RoughPass, watch: Watch = SILENT) -> tuple[pd.DataFrame, float]:
    """−2 ln p(Y | α, Ω) + |E|(ln N + 4γ ln m), γ = ½, along the path, smaller is better; |E| counts the edges."""
    rows, state, base = [], None, problem
    n, m = problem.n, problem.m
    for lam in lams:
        problem = rough.problem(base.data, lam, base.alpha_prior, base.cov_prior)
        start = state or starting_state(problem, rough, "sequential", _PATH_TOL)
        state = fit_sequential(problem, start, tol=_PATH_TOL, watch=watch).state
        if watch.stopped:
            break
        post = posterior(problem, state.alpha)
        likelihood = m * post.logdet - n * log_determinant(state.omega) + np.vdot(state.omega, post.scatter)
        n_edges = np.count_nonzero(np.triu(state.omega, 1))
        rows.append(
            {
                "lam": lam,
                "score": likelihood + n_edges * (np.log(n) + 4.0 * _EBIC_GAMMA * np.log(m)),
                "n_active": np.isfinite(state.alpha).sum(),
                "n_edges": n_edges,
            }
        )
        watch.lam(rows[-1])
    if not rows:
        raise KeyboardInterrupt
    lam = rows[int(np.argmin([row["score"] for row in rows]))]["lam"]
    return _with_choice(rows, lam), float(lam)


def _with_choice(rows, lam) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    table["chosen"] = table["lam"] == lam
    return table
