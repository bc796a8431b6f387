"""Which variables of residuals R (N×m) belong together, without their covariance S = RᵀR/N.

S is looked at block by block: only products of :data:`_BLOCK` columns with as many others are ever held. Variables with
|S_ij| > λ are connected; of the graph no more is kept than the labels of its connected components so far.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

__all__ = ["block_covariance", "residual_groups", "residual_variances", "standardised"]

_BLOCK = 1024


def _columns(R: np.ndarray, where) -> np.ndarray:
    """Some columns as doubles, whatever R is made of and wherever it lies."""
    return np.asarray(R[:, where], dtype=float)


def _blocks(m: int) -> Iterator[slice]:
    return (slice(at, min(at + _BLOCK, m)) for at in range(0, m, _BLOCK))


def residual_variances(R: np.ndarray) -> np.ndarray:
    """S_ii; infinite or NaN where a value is."""
    squares = [np.einsum("ij,ij->j", some, some) for some in (_columns(R, where) for where in _blocks(R.shape[1]))]
    return np.concatenate(squares) / len(R)


def block_covariance(R: np.ndarray, index: np.ndarray) -> np.ndarray:
    """S of some variables."""
    some = _columns(R, index)
    S = some.T @ some
    S /= len(R)
    return S


def standardised(R: np.ndarray, index: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Z with ZᵀZ the correlations of some variables, of standard deviations ``scale``."""
    Z = np.empty((len(R), len(index)))
    for where in _blocks(len(index)):
        np.divide(R[:, index[where]], scale[where] * np.sqrt(len(R)), out=Z[:, where])
    return Z


def residual_groups(R: np.ndarray, lam: float) -> list[np.ndarray]:
    """The connected components of the graph |S_ij| > λ, each as the numbers of its variables, in rising order."""
    n, m = R.shape
    labels = np.arange(m)
    for first in _blocks(m):
        left = _columns(R, first)
        for second in _blocks(m):
            if second.start < first.start:
                continue
            i, j = np.nonzero(np.abs(left.T @ _columns(R, second)) > lam * n)
            ends = labels[i + first.start], labels[j + second.start]
            # Components known already are the nodes of what is new.
            graph = coo_array((np.ones(len(i), dtype=bool), ends), shape=(m, m))
            labels = connected_components(graph, directed=False)[1][labels]
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
