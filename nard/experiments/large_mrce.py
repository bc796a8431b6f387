"""MRCE where its own cross-validation would take hours: a few alternations, with penalties found in less time."""

from __future__ import annotations

import time

import numpy as np

from nard.baselines import MRCE
from nard.baselines.base import Estimate
from nard.baselines.mrce import Moments, alternate, coefficients_given

__all__ = ["LargeMRCE"]

_TOL = 1e-3
_STEPS = 5
# λ₂ tried, in units of sqrt(2 ln d / N), the largest of so many noisy correlations.
_FACTORS = (1.0, 0.7, 0.5, 0.35)
_HELD_OUT = 5


class LargeMRCE(MRCE):
    """MRCE at a given λ₁, from separate lassos, at most five alternations to a tolerance of 1e-3 per output.

    λ₂ is that of four at which the lassos have the least squared error on a fifth of the samples that they have not
    seen. ``alternation_seconds_`` is the time without this choice.
    """

    def _estimate(self, X, Y) -> Estimate:
        lam2s = np.sqrt(2 * np.log(X.shape[1]) / len(X)) * np.array(_FACTORS)
        held_out = np.arange(len(X)) % _HELD_OUT == 0
        *_, errors = zip(*_lassos(X[~held_out], Y[~held_out], lam2s, X[held_out], Y[held_out]), strict=True)
        self.lam1_, self.lam2_ = float(self.lam1), float(lam2s[int(np.argmin(errors))])
        started = time.perf_counter()
        moments = Moments.of(X, Y)
        lassos, _ = coefficients_given(moments, np.eye(Y.shape[1]), self.lam2_, np.zeros_like(moments.xy), tol=_TOL)
        solution = alternate(moments, self.lam1_, self.lam2_, lassos, tol=_TOL, max_iter=_STEPS)
        self.alternation_seconds_ = time.perf_counter() - started
        self.objective_, self.n_iter_ = np.array(solution.trace), len(solution.trace) // 2
        self.converged_, self.cv_results_ = solution.converged, None
        W, omega = np.ascontiguousarray(solution.B.T), solution.network.precision
        return Estimate(W, omega, W != 0, (omega != 0) & ~np.eye(len(omega), dtype=bool))


def _lassos(X, Y, lam2s, X_test, Y_test):
    """Separate lassos along the path, each with its squared error on the other samples."""
    x_mean, y_mean = X.mean(axis=0), Y.mean(axis=0)
    moments = Moments.of(X - x_mean, Y - y_mean)
    B = np.zeros_like(moments.xy)
    for lam2 in lam2s:
        B, _ = coefficients_given(moments, np.eye(Y.shape[1]), lam2, B, tol=_TOL)
        yield lam2, float(((Y_test - y_mean - (X_test - x_mean) @ B) ** 2).mean())
