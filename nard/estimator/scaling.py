"""Centring and scaling of X and Y, so that a fit does not depend on their units."""

from __future__ import annotations

import numpy as np

__all__ = ["Scaler"]


class Scaler:
    """Centres X and Y and, if asked to, scales their columns to unit variance. Constant columns stay unscaled."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, standardize: bool):
        self.x_mean, self.y_mean = X.mean(axis=0), Y.mean(axis=0)
        self.x_scale, self.y_scale = np.ones(X.shape[1]), np.ones(Y.shape[1])
        if standardize:
            self.x_scale, self.y_scale = _scales(X), _scales(Y)

    def inputs(self, X: np.ndarray) -> np.ndarray:
        # By columns in memory, since single inputs are looked up all the time.
        scaled = np.empty(X.shape, order="F")
        np.subtract(X, self.x_mean, out=scaled)
        scaled /= self.x_scale
        return scaled

    def outputs(self, Y: np.ndarray) -> np.ndarray:
        return (Y - self.y_mean) / self.y_scale


def _scales(A: np.ndarray) -> np.ndarray:
    deviation = A.std(axis=0)
    # A constant column's computed deviation is rounding error, not zero.
    constant = deviation <= 1e-12 * np.abs(A).max(axis=0, initial=0.0)
    return np.where(constant, 1.0, deviation)
