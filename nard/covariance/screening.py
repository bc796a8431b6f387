"""From a covariance to correlations, their connected components and a start, each in one pass over the matrix."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["change_units", "components", "feasible_start", "to_correlations"]

# On the scale of correlations no |W_ij| exceeds one, so that a penalty this much above |S_ij| makes no difference.
_LARGEST_SLACK = 1.0
# Rounding errors in the symmetry of S are allowed, relative to the variables' own units.
_ASYMMETRY = 1e-8
_TILE = 32


@njit(cache=True)
def to_correlations(S, penalty, scale):
    """S_ij/(s_is_j) with a unit diagonal, the penalties likewise with a zero one, and whether each was symmetric.

    ``penalty`` is m×m or 1×1.
    """
    m = len(S)
    correlation, L = np.empty((m, m)), np.empty((m, m))
    S_symmetric, L_symmetric = True, True
    # Tile by tile, since one of S_ij and S_ji is far away in memory.
    for top in range(0, m, _TILE):
        for left in range(0, top + _TILE, _TILE):
            for i in range(top, min(top + _TILE, m)):
                for j in range(left, min(left + _TILE, i)):
                    units = scale[i] * scale[j]
                    S_symmetric &= abs(S[i, j] - S[j, i]) <= _ASYMMETRY * units
                    correlation[i, j] = 0.5 * (S[i, j] + S[j, i]) / units
                    correlation[j, i] = correlation[i, j]
                    one, other = penalty[0, 0], penalty[0, 0]
                    if len(penalty) > 1:
                        one, other = penalty[i, j], penalty[j, i]
                    L_symmetric &= one == other or abs(one - other) <= _ASYMMETRY * (one + other)
                    L[i, j] = min(one / units, abs(correlation[i, j]) + _LARGEST_SLACK)
                    L[j, i] = L[i, j]
    for i in range(m):
        correlation[i, i] = 1.0
        L[i, i] = 0.0
    return correlation, L, S_symmetric, L_symmetric


@njit(cache=True)
def feasible_start(S, L):
    """W_ij = τ_iτ_jS_ij, τ_i² = 1 − min(1, min_j L_ij/|S_ij|): in the box; positive definite if S ⪰ 0 and L > 0."""
    m = len(S)
    tau, W = np.empty(m), np.empty((m, m))
    for i in range(m):
        room = 1.0
        for j in range(m):
            # The comparison spares most divisions.
            if i != j and L[i, j] < room * abs(S[i, j]):
                room = L[i, j] / abs(S[i, j])
        tau[i] = np.sqrt(1.0 - room)
    for i in range(m):
        for j in range(m):
            W[i, j] = S[i, j] * (tau[i] * tau[j])
        W[i, i] = S[i, i]
    return W


@njit(cache=True)
def components(S, L):
    """Label of every variable's connected component in the graph |S_ij| > L_ij, numbered from 0."""
    m = len(S)
    label, stack = np.zeros(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    unseen, left = np.arange(m), m
    current = 0
    while left > 0:
        left -= 1
        stack[0], top = unseen[left], 1
        label[unseen[left]] = current
        while top > 0:
            top -= 1
            i = stack[top]
            kept = 0
            for k in range(left):
                j = unseen[k]
                if abs(S[i, j]) > L[i, j]:
                    label[j] = current
                    stack[top] = j
                    top += 1
                else:
                    unseen[kept] = j
                    kept += 1
            left = kept
        current += 1
    return label


@njit(cache=True)
def change_units(A, scale):
    """A_ij ← A_ij s_i s_j in place."""
    m = len(A)
    for i in range(m):
        for j in range(m):
            A[i, j] *= scale[i] * scale[j]
