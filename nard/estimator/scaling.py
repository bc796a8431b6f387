"""Centring and scaling of X and Y, so that a fit does not depend on their units; of Y by what was measured."""

from __future__ import annotations

import numpy as np

# Columns that are looked at together.
_CHUNK = 4096

__all__ = ["Scaler", "measured_variances"]


class Scaler:
    """Centres X and Y and, if asked to, scales their columns to unit variance. Constant columns stay unscaled."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, standardize: bool):
        self.x_mean, self.y_mean = X.mean(axis=0, dtype=float), _measured_means(Y)
        self.x_scale, self.y_scale = np.ones(X.shape[1]), np.ones(Y.shape[1])
        if standardize:
            self.x_scale, self.y_scale = np.concatenate([_scales(some) for some in _columns(X)]), _scales(Y)

    def inputs(self, X: np.ndarray) -> np.ndarray:
        # By columns in memory, since single inputs are looked up all the time. What came short stays short.
        short = X.dtype.itemsize < 8
        scaled = np.empty(X.shape, dtype=np.float32 if short else np.float64, order="F")
        for at in range(0, X.shape[1], _CHUNK):
            where = slice(at, at + _CHUNK)
            scaled[:, where] = (X[:, where] - self.x_mean[where]) / self.x_scale[where]
        return scaled

    def outputs(self, Y: np.ndarray) -> np.ndarray:
        return (Y - self.y_mean) / self.y_scale


def _columns(A: np.ndarray):
    """Some columns at a time, as numbers of full length."""
    for at in range(0, max(A.shape[1], 1), _CHUNK):
        yield A[:, at : at + _CHUNK].astype(float, copy=False)


def _measured_means(A: np.ndarray) -> np.ndarray:
    """Of a column without values, zero."""
    missing = np.isnan(A)
    if not missing.any():
        return A.mean(axis=0)
    return np.where(missing, 0.0, A).sum(axis=0) / np.maximum(np.count_nonzero(~missing, axis=0), 1)


def measured_variances(A: np.ndarray) -> np.ndarray:
    """Of every column's values that are not NaN, and zero if it has none."""
    return _measured_means((A - _measured_means(A)) ** 2) if np.isnan(A).any() else A.var(axis=0)


def _scales(A: np.ndarray) -> np.ndarray:
    deviation = np.sqrt(measured_variances(A))
    # A constant column's computed deviation is rounding error, not zero.
    constant = deviation <= 1e-12 * np.fmax.reduce(np.abs(A), axis=0, initial=0.0)
    return np.where(constant, 1.0, deviation)
