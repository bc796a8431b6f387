"""MRCE and CAPME where their own cross-validation would take hours, with penalties found in less time."""

from __future__ import annotations

import time

import numpy as np

from nard.baselines import CAPME, MRCE
from nard.baselines.base import Estimate
from nard.baselines.mrce import Moments, alternate, coefficients_given

__all__ = ["LargeCAPME", "LargeMRCE", "noise"]

_TOL = 1e-3
_STEPS = 5
# λ₂ tried, in units of sqrt(2 ln d / N), the largest of so many noisy correlations.
_FACTORS = (1.0, 0.7, 0.5, 0.35)
# The last fifth of the samples is held out.
_HELD_OUT = 5
# Both penalties are meant for residuals of variance one, which are known once there are lassos.
_ROUNDS = 2


def noise(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, float]:
    """The residual standard deviation of every output, and λ₂ for outputs in these units, by held-out samples.

    Separate lassos at four λ₂ are scored by their squared error on the last fifth of the samples, in units of what the
    best ones left in the round before.
    """
    n = len(X) - len(X) // _HELD_OUT
    mean_x, mean_y = X[:n].mean(axis=0), Y[:n].mean(axis=0)
    X_train, X_test, Y_train, Y_test = X[:n] - mean_x, X[n:] - mean_x, Y[:n] - mean_y, Y[n:] - mean_y
    sd = Y_train.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    lam2s = np.sqrt(2 * np.log(X.shape[1]) / len(X)) * np.array(_FACTORS)
    for _ in range(_ROUNDS):
        moments = Moments.of(X_train, Y_train / sd)
        B, errors = np.zeros_like(moments.xy), []
        for lam2 in lam2s:
            B, _ = coefficients_given(moments, np.eye(len(sd)), lam2, B, tol=_TOL)
            errors.append(((Y_test / sd - X_test @ B) ** 2).mean(axis=0))
        best = int(np.argmin([error.mean() for error in errors]))
        sd = sd * np.sqrt(np.maximum(errors[best], 1e-12))
    return sd, float(lam2s[best])


class LargeMRCE(MRCE):
    """MRCE at a given λ₁, from separate lassos, at most five alternations to a tolerance of 1e-3 per output.

    Outputs are in units of their residual standard deviation, from which λ₂ follows too (:func:`noise`).
    ``alternation_seconds_`` is the time without that, and without the lassos to start from.
    """

    def _estimate(self, X, Y) -> Estimate:
        sd, self.lam2_ = noise(X, Y)
        self.lam1_ = float(self.lam1)
        moments = Moments.of(X, Y / sd)
        lassos, _ = coefficients_given(moments, np.eye(len(sd)), self.lam2_, np.zeros_like(moments.xy), tol=_TOL)
        started = time.perf_counter()
        solution = alternate(moments, self.lam1_, self.lam2_, lassos, tol=_TOL, max_iter=_STEPS)
        self.alternation_seconds_ = time.perf_counter() - started
        self.objective_, self.n_iter_ = np.array(solution.trace), len(solution.trace) // 2
        self.converged_, self.cv_results_ = solution.converged, None
        W, omega = solution.B.T * sd[:, None], solution.network.precision / np.outer(sd, sd)
        return Estimate(W, omega, W != 0, (omega != 0) & ~np.eye(len(sd), dtype=bool))


class LargeCAPME(CAPME):
    """CAPME at λ = sqrt(2 ln d / N) for outputs in units of their residual standard deviation, and a given τ."""

    def _estimate(self, X, Y) -> Estimate:
        sd, _ = noise(X, Y)
        scaled = CAPME(lam=float(np.sqrt(2 * np.log(X.shape[1]) / len(X))), tau=self.tau)
        found = scaled._estimate(X, Y / sd)
        self.lam_, self.tau_, self.cv_results_ = scaled.lam_, scaled.tau_, None
        units = np.outer(sd, sd)
        return Estimate(found.W * sd[:, None], found.omega / units, found.W_selected, found.omega_selected)
