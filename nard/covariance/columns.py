"""Block coordinate ascent on the graphical lasso's dual, one column at a time, in compiled code.

With W₁₁ the block of W without column j, the dual's best w₁₂ given the rest is W₁₁β with β the lasso solution

    min_β ½βᵀW₁₁β − βᵀs₁₂ + Σ_i l_i|β_i|.

Coordinate descent solves it on a copy of W₁₁ restricted to the few coefficients that are not zero or violate their
optimality condition, so that a step costs as many operations as there are such coefficients, not m; the other
conditions are looked at when these have settled.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["into_box", "linear_terms", "precision_from_columns", "sweep_columns", "warm_start"]

_MAX_PASSES = 100
_MAX_ROUNDS = 10
_TILE = 32
# Sums may be reordered to use vector instructions; infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, fastmath=_FAST)
def _combine_rows(W, beta, index, count, out):
    """out = Σ_k β_k W_k over ``index[:count]``, four rows at a time to spare memory traffic."""
    m = W.shape[0]
    out[:] = 0.0
    k = 0
    while k + 4 <= count:
        i0, i1, i2, i3 = index[k], index[k + 1], index[k + 2], index[k + 3]
        b0, b1, b2, b3 = beta[i0], beta[i1], beta[i2], beta[i3]
        w0, w1, w2, w3 = W[i0], W[i1], W[i2], W[i3]
        for i in range(m):
            out[i] += b0 * w0[i] + b1 * w1[i] + b2 * w2[i] + b3 * w3[i]
        k += 4
    while k < count:
        b0, w0 = beta[index[k]], W[index[k]]
        for i in range(m):
            out[i] += b0 * w0[i]
        k += 1


@njit(cache=True, fastmath=_FAST)
def _lasso(gram, gradient, beta, penalty, count, threshold):
    """Coordinate descent on the first ``count`` coefficients; ``gradient`` is s − Gram·β and is kept so."""
    for _ in range(_MAX_PASSES):
        moved = 0.0
        for i in range(count):
            curvature = gram[i, i]
            r = gradient[i] + curvature * beta[i]
            shrunk = abs(r) - penalty[i]
            new = 0.0
            if shrunk > 0.0:
                new = shrunk / curvature if r > 0.0 else -shrunk / curvature
            step = new - beta[i]
            if step != 0.0:
                beta[i] = new
                row = gram[i]
                for k in range(count):
                    gradient[k] -= step * row[k]
                moved = max(moved, abs(step) * curvature)
        if moved <= threshold:
            break


@njit(cache=True, fastmath=_FAST)
def sweep_columns(S, L, W, B, threshold):
    """One sweep over the columns, in place; row j of B holds column j's β.

    The lassos stop when no coefficient moves its gradient by more than ``threshold``. Returns the largest over the
    columns of the mean absolute change of W.
    """
    m = S.shape[0]
    wb, gradient, penalty, coefficients = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    gram = np.empty((m, m))
    index, listed = np.empty(m, dtype=np.int64), np.zeros(m, dtype=np.bool_)
    largest = 0.0
    for j in range(m):
        beta, s, bound = B[j], S[j], L[j]
        count = 0
        for i in range(m):
            listed[i] = beta[i] != 0.0
            if listed[i]:
                index[count] = i
                count += 1
        listed[j] = True
        _combine_rows(W, beta, index, count, wb)
        for round_ in range(_MAX_ROUNDS):
            slack = threshold if round_ > 0 else 0.0
            before = count
            for i in range(m):
                if not listed[i] and abs(s[i] - wb[i]) > bound[i] + slack:
                    listed[i] = True
                    index[count] = i
                    count += 1
            if round_ > 0 and count == before:
                break
            for a in range(count):
                row = W[index[a]]
                for b in range(a + 1):
                    gram[a, b] = row[index[b]]
                    gram[b, a] = gram[a, b]
                gradient[a] = s[index[a]] - wb[index[a]]
                penalty[a] = bound[index[a]]
                coefficients[a] = beta[index[a]]
            _lasso(gram, gradient, coefficients, penalty, count, threshold)
            for a in range(count):
                beta[index[a]] = coefficients[a]
            _combine_rows(W, beta, index, count, wb)
        change = 0.0
        for i in range(m):
            if i != j:
                change += abs(wb[i] - W[j, i])
                W[j, i] = wb[i]
                W[i, j] = wb[i]
        largest = max(largest, change / (m - 1))
    return largest


@njit(cache=True, error_model="numpy")
def precision_from_columns(W, B):
    """Ω from the columns' lassos: ω_jj = 1/(W_jj − w₁₂ᵀβ), ω_ij = −β_i ω_jj, symmetrised."""
    m = W.shape[0]
    diagonal = np.empty(m)
    for j in range(m):
        left = W[j, j]
        for i in range(m):
            if B[j, i] != 0.0:
                left -= W[j, i] * B[j, i]
        diagonal[j] = 1.0 / left
    omega = np.empty((m, m))
    # Tile by tile, since one of B_ij and B_ji is far away in memory.
    for top in range(0, m, _TILE):
        for left in range(0, top + _TILE, _TILE):
            for i in range(top, min(top + _TILE, m)):
                for j in range(left, min(left + _TILE, i)):
                    omega[i, j] = -0.5 * (B[j, i] * diagonal[j] + B[i, j] * diagonal[i])
                    omega[j, i] = omega[i, j]
    for i in range(m):
        omega[i, i] = diagonal[i]
    return omega


@njit(cache=True, fastmath=_FAST)
def linear_terms(S, L, omega):
    """Tr(SΩ) + Σ L_ij|ω_ij|."""
    m = S.shape[0]
    total = 0.0
    for i in range(m):
        row = 0.0
        for j in range(m):
            row += S[i, j] * omega[i, j] + L[i, j] * abs(omega[i, j])
        total += row
    return total


@njit(cache=True)
def into_box(W, S, L):
    """W with every entry moved to the nearest in [S_ij − L_ij, S_ij + L_ij]."""
    m = S.shape[0]
    out = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            out[i, j] = min(max(W[i, j], S[i, j] - L[i, j]), S[i, j] + L[i, j])
    return out


@njit(cache=True)
def warm_start(W, omega, scale, S, L):
    """An earlier solution in this problem's units: W inside the box, and Ω.

    At the optimum W_ij = S_ij + L_ij sign(ω_ij) wherever ω_ij is not zero.
    """
    m = S.shape[0]
    new_W, new_omega = np.empty((m, m)), np.empty((m, m))
    for i in range(m):
        for j in range(m):
            units = scale[i] * scale[j]  # in this order, so that rounding keeps the symmetry
            new_omega[i, j] = omega[i, j] * units
            if omega[i, j] > 0.0:
                new_W[i, j] = S[i, j] + L[i, j]
            elif omega[i, j] < 0.0:
                new_W[i, j] = S[i, j] - L[i, j]
            else:
                new_W[i, j] = min(max(W[i, j] / units, S[i, j] - L[i, j]), S[i, j] + L[i, j])
    return new_W, new_omega
