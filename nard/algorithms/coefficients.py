"""W = U + B without d×m numbers: rows of the few active inputs, and single entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

__all__ = ["Coefficients", "fitted_by"]


def fitted_by(X: np.ndarray, entries: sparse.csr_array) -> np.ndarray:
    """XB, of the inputs that have entries; X may be of any type of numbers."""
    used = np.flatnonzero(np.diff(entries.indptr))
    return X[:, used].astype(float, copy=False) @ entries[used] if len(used) else np.zeros((len(X), entries.shape[1]))


@dataclass(frozen=True)
class Coefficients:
    """U, which is ``mean`` (p×m) at the ``active`` inputs, and B (d×m)."""

    active: np.ndarray
    mean: np.ndarray
    entries: sparse.csr_array

    def fitted(self, X: np.ndarray) -> np.ndarray:
        """XW."""
        fitted = fitted_by(X, self.entries)
        return fitted + X[:, self.active] @ self.mean if len(self.active) else fitted

    def inputs(self) -> np.ndarray:
        """U as an array."""
        U = np.zeros(self.entries.shape)
        U[self.active] = self.mean
        return U

    def toarray(self) -> np.ndarray:
        W = self.entries.toarray()
        W[self.active] += self.mean
        return W

    def scaled(self, inputs: np.ndarray, outputs: np.ndarray) -> Coefficients:
        """For inputs that are so much larger, and outputs that are."""
        mean = self.mean * (outputs / inputs[self.active, None])
        entries = sparse.diags_array(1.0 / inputs) @ self.entries @ sparse.diags_array(outputs)
        return Coefficients(self.active, mean, sparse.csr_array(entries))
