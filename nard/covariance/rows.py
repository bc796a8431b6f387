"""Rows of the correlations S_ij/(s_is_j) of some variables and of their penalties L_ij/(s_is_j), a few at a time.

They come from a covariance, or from residuals R without it: then of S = RᵀR/N only the rows asked for are ever held.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from nard.covariance.residuals import standardised
from nard.covariance.screening import to_correlations, to_penalties

__all__ = ["CovarianceRows", "ResidualRows", "Rows"]


class Rows(Protocol):
    """What the ascent asks of a problem; ``m`` is the number of variables."""

    m: int

    def rows(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """S and L of the variables from ``first`` to before ``last``, with ones and zeros in place of the diagonals."""

    def entries(self, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S_ij and L_ij of pairs of different variables."""


class CovarianceRows:
    """From a covariance and its penalties, m×m or 1×1."""

    def __init__(self, S: np.ndarray, penalty: np.ndarray, scale: np.ndarray, index: np.ndarray):
        self.m = len(index)
        self._S, self._penalty, self._scale, self._index = S, penalty, scale, index

    def rows(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        S, L = np.empty((2, last - first, self.m))
        to_correlations(self._S, self._penalty, self._scale, self._index, S, L, first)
        return S, L

    def entries(self, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        i, j = self._index[i], self._index[j]
        units = 1.0 / (self._scale[i] * self._scale[j])
        penalty = self._penalty[i, j] if len(self._penalty) > 1 else self._penalty[0, 0]
        return self._S[i, j] * units, penalty * units


class ResidualRows:
    """From residuals and one penalty λ of covariances."""

    # Pairs whose columns are looked at together.
    _PAIRS = 2048

    def __init__(self, R: np.ndarray, lam: float, scale: np.ndarray, index: np.ndarray):
        self.m = len(index)
        self._lam, self._scale = lam, scale[index]
        self._Z = standardised(R, index, self._scale)

    def rows(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        S, L = self._Z[:, first:last].T @ self._Z, np.empty((last - first, self.m))
        to_penalties(S, self._lam, self._scale, first, L)
        return S, L

    def entries(self, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = [slice(at, at + self._PAIRS) for at in range(0, len(i), self._PAIRS)]
        S = [np.einsum("nk,nk->k", self._Z[:, i[part]], self._Z[:, j[part]]) for part in parts]
        return np.concatenate([np.zeros(0), *S]), self._lam / (self._scale[i] * self._scale[j])
