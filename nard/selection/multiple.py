"""Benjamini and Hochberg's control of the false discovery rate."""

from __future__ import annotations

import numpy as np

__all__ = ["benjamini_hochberg"]


def benjamini_hochberg(pvalues: np.ndarray) -> np.ndarray:
    """q-values: q_(k) = min over l ≥ k of p_(l)·n/l. Selecting q ≤ f bounds the expected false fraction by f."""
    p = np.ravel(pvalues)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    q = np.empty(len(p))
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q.reshape(np.shape(pvalues))
