"""From a covariance to correlations, their connected components and a start, each in one pass over the matrix.

Penalties are an m×m matrix, whose diagonal is not looked at, or 1×1 where all are equal.
"""

from __future__ import annotations

import numpy as np

from nard.compiled import njit

__all__ = [
    "components",
    "feasible_start",
    "finite_and_symmetric",
    "inside_rows",
    "put_block",
    "shrinkage",
    "take_block",
    "to_correlations",
    "to_penalties",
]

# On the scale of correlations no |W_ij| exceeds one, so that a penalty this much above |S_ij| makes no difference.
_LARGEST_SLACK = 1.0
_TILE = 32


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def finite_and_symmetric(A):
    """Whether A_ij − A_ji is zero everywhere, which it is for no infinity or NaN."""
    m = len(A)
    difference = 0.0
    # Tile by tile, since one of A_ij and A_ji is far away in memory.
    for top in range(0, m, _TILE):
        for left in range(0, top + _TILE, _TILE):
            for i in range(top, min(top + _TILE, m)):
                for j in range(left, min(left + _TILE, i + 1)):
                    difference += abs(A[i, j] - A[j, i])
    return difference == 0.0


@njit(cache=True, nogil=True)
def components(S, penalty):
    """Label of every variable's connected component in the graph |S_ij| > L_ij, numbered from 0."""
    m = len(S)
    wide = len(penalty) > 1
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
                if abs(S[i, j]) > penalty[i * wide, j * wide]:
                    label[j] = current
                    stack[top] = j
                    top += 1
                else:
                    unseen[kept] = j
                    kept += 1
            left = kept
        current += 1
    return label


@njit(cache=True, nogil=True)
def to_correlations(S, penalty, scale, index, correlation, L, first=0):
    """Writes S_ij/(s_is_j) of the variables in ``index`` with a unit diagonal, and L_ij likewise with a zero one.

    As many rows of them as there is room for, from ``first`` on.
    """
    m = len(index)
    wide = len(penalty) > 1
    inverse = 1.0 / scale[index]
    for a in range(len(correlation)):
        i = first + a
        row, bounds = S[index[i]], penalty[index[i] * wide]
        for j in range(m):
            units = inverse[i] * inverse[j]
            correlation[a, j] = row[index[j]] * units
            L[a, j] = min(bounds[index[j] * wide] * units, abs(correlation[a, j]) + _LARGEST_SLACK)
        correlation[a, i] = 1.0
        L[a, i] = 0.0


@njit(cache=True, nogil=True)
def to_penalties(correlation, lam, scale, first, L):
    """As :func:`to_correlations` where the rows are correlations already and all penalties are λ."""
    inverse = 1.0 / scale
    for a in range(len(correlation)):
        i = first + a
        units = lam * inverse[i]
        for j in range(len(scale)):
            L[a, j] = min(units * inverse[j], abs(correlation[a, j]) + _LARGEST_SLACK)
        correlation[a, i] = 1.0
        L[a, i] = 0.0


@njit(cache=True, nogil=True)
def take_block(A, index, scale, block):
    """block_ij ← A_ij s_i s_j of the variables in ``index``."""
    units = scale[index]
    for i in range(len(index)):
        row = A[index[i]]
        for j in range(len(index)):
            block[i, j] = row[index[j]] * (units[i] * units[j])


@njit(cache=True, nogil=True)
def put_block(A, index, block, scale):
    """A_ij ← block_ij s_i s_j for the variables in ``index``."""
    units = scale[index]
    for i in range(len(index)):
        row = A[index[i]]
        for j in range(len(index)):
            row[index[j]] = block[i, j] * (units[i] * units[j])


@njit(cache=True, nogil=True)
def shrinkage(S, L, first, tau):
    """Writes τ of :func:`feasible_start` for the variables from ``first`` on, whose rows are given; returns Σ|S_ij|."""
    total = 0.0
    for a in range(len(S)):
        room = 1.0
        for j in range(S.shape[1]):
            size = abs(S[a, j])
            if j != first + a:
                total += size
                if L[a, j] < room * size:
                    room = L[a, j] / size
        tau[first + a] = np.sqrt(1.0 - room)
    return total


@njit(cache=True, nogil=True)
def inside_rows(rows, scale, S, L, first, out):
    """Writes rows from ``first`` on of a W, divided by s_is_j and moved into the box; returns Σ_{i≠j}|S_ij|."""
    inverse = 1.0 / scale
    total = 0.0
    for a in range(len(S)):
        for j in range(len(scale)):
            value = rows[a, j] * (inverse[first + a] * inverse[j])
            out[a, j] = min(max(value, S[a, j] - L[a, j]), S[a, j] + L[a, j])
            total += abs(S[a, j])
        total -= abs(S[a, first + a])
    return total


@njit(cache=True, nogil=True)
def feasible_start(S, L, W):
    """W_ij ← τ_iτ_jS_ij, τ_i² = 1 − min(1, min_j L_ij/|S_ij|): in the box; positive definite if S ⪰ 0 and L > 0."""
    m = len(S)
    tau = np.empty(m)
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
