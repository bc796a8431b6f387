"""Block coordinate ascent on the graphical lasso's dual, one column at a time, in compiled code.

With W₁₁ the block of W without column j, the dual's best w₁₂ given the rest is W₁₁β with β the lasso solution

    min_β ½βᵀW₁₁β − βᵀs₁₂ + Σ_i l_i|β_i|.

Coordinate descent solves it on a copy of W₁₁ restricted to the few coefficients that are not zero or violate their
optimality condition, so that a step costs as many operations as there are such coefficients, not m; the other
conditions are looked at when these have settled.
"""

from __future__ import annotations

import numpy as np

from nard.compiled import njit

__all__ = [
    "columns_from_precision",
    "join_parts",
    "linear_terms",
    "mean_off_diagonal",
    "precision_from_columns",
    "product_traces",
    "put_inside_box",
    "share_of_nonzeros",
    "square_trace",
    "sweep_columns",
    "sweep_part",
    "warm_dual",
    "write_columns",
]

_MAX_PASSES = 100
_MAX_ROUNDS = 10
_TILE = 32
# Rare entries are looked for in chunks, which vector instructions can tell to hold none.
_CHUNK = 64
_FEW = 16
# Sums may be reordered to use vector instructions; infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def _nonzeros(x, index):
    """Writes the places where x is not zero into ``index``; returns how many there are."""
    count = 0
    whole = len(x) - len(x) % _FEW
    for first in range(0, whole, _FEW):
        here = 0.0
        for i in range(first, first + _FEW):
            here += abs(x[i])
        if here != 0.0:
            for i in range(first, first + _FEW):
                if x[i] != 0.0:
                    index[count] = i
                    count += 1
    for i in range(whole, len(x)):
        if x[i] != 0.0:
            index[count] = i
            count += 1
    return count


@njit(cache=True, nogil=True)
def _beyond(s, fitted, bound, slack, index, count):
    """Appends the places where |s − fitted| > bound + slack to ``index[:count]``; returns the new count."""
    for first in range(0, len(s), _CHUNK):
        last = min(first + _CHUNK, len(s))
        here = 0
        for i in range(first, last):
            here += abs(s[i] - fitted[i]) > bound[i] + slack
        if here > 0:
            for i in range(first, last):
                if abs(s[i] - fitted[i]) > bound[i] + slack:
                    index[count] = i
                    count += 1
    return count


@njit(cache=True, nogil=True, fastmath=_FAST)
def _combine_rows(W, coefficients, index, count, out):
    """out = Σ_k c_k W_index(k) over k < count, four rows at a time to spare memory traffic."""
    m = W.shape[0]
    out[:] = 0.0
    k = 0
    while k + 4 <= count:
        c0, c1, c2, c3 = coefficients[k], coefficients[k + 1], coefficients[k + 2], coefficients[k + 3]
        w0, w1, w2, w3 = W[index[k]], W[index[k + 1]], W[index[k + 2]], W[index[k + 3]]
        for i in range(m):
            out[i] += c0 * w0[i] + c1 * w1[i] + c2 * w2[i] + c3 * w3[i]
        k += 4
    while k < count:
        c0, w0 = coefficients[k], W[index[k]]
        for i in range(m):
            out[i] += c0 * w0[i]
        k += 1


@njit(cache=True, nogil=True, fastmath=_FAST)
def _lasso(gram, gradient, beta, penalty, count, threshold):
    """Coordinate descent on the first ``count`` coefficients; ``gradient`` is s − Gram·β and is kept so.

    The Gram matrix has a unit diagonal, as correlations have.
    """
    for _ in range(_MAX_PASSES):
        moved = 0.0
        for i in range(count):
            r = gradient[i] + beta[i]
            new = max(r - penalty[i], 0.0) + min(r + penalty[i], 0.0)
            step = new - beta[i]
            if step != 0.0:
                beta[i] = new
                row = gram[i]
                for k in range(count):
                    gradient[k] -= step * row[k]
                moved = max(moved, abs(step))
        if moved <= threshold:
            break


@njit(cache=True, nogil=True)
def _grown(gram, solved, count):
    """A Gram matrix with room for ``count`` rows, which begins with what is solved."""
    larger = np.empty((2 * count, 2 * count))
    larger[:solved, :solved] = gram[:solved, :solved]
    return larger


@njit(cache=True, nogil=True, fastmath=_FAST)
def _sweep(S, L, W, B, first, lagging, threshold, others, solved_ones):
    """Solves the columns from ``first`` on, as many as S, L and B have rows, in place.

    Where ``lagging``, W stays in the box, and only rows of these columns are written: of other rows, what belongs to
    these columns is out of date from then on. Columns that ``solved_ones`` marks are left out, and so are those whose
    β would reach the variables in the range ``others``; the rest get marked.
    """
    m, end = W.shape[0], first + S.shape[0]
    gram, fitted = np.empty((_CHUNK, _CHUNK)), np.empty(m)
    gradient, penalty, coefficients, kept = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    index, kept_index = np.empty(2 * m, dtype=np.int64), np.empty(m, dtype=np.int64)
    largest = 0.0
    for j in range(first, end):
        if solved_ones[j - first]:
            continue
        beta, s, bound, old = B[j - first], S[j - first], L[j - first], W[j]
        # Column j itself never counts as violated: bound_j is 0, and its fit is set to s_j throughout.
        count = _nonzeros(beta, index)
        if count == 0:
            fitted[:] = 0.0
            fitted[j] = s[j]
            count = _beyond(s, fitted, bound, 0.0, index, 0)
        for a in range(count):
            coefficients[a] = beta[index[a]]
            gradient[a] = s[index[a]]
        solved, left_out = 0, False
        for _ in range(_MAX_ROUNDS):
            for a in range(solved, count):
                left_out |= others[0] <= index[a] < others[1]
            if left_out:
                break
            if count > len(gram):
                gram = _grown(gram, solved, count)
            for a in range(solved, count):
                i = index[a]
                for b in range(a + 1):
                    k = index[b]
                    gram[a, b] = W[k, i] if lagging and first <= k < end else W[i, k]
                    gram[b, a] = gram[a, b]
                penalty[a] = bound[i]
            if solved == 0:
                for a in range(count):
                    for b in range(count):
                        gradient[b] -= coefficients[a] * gram[a, b]
            _lasso(gram, gradient, coefficients, penalty, count, threshold)
            solved, n_kept = count, 0
            for a in range(count):
                if coefficients[a] != 0.0:
                    kept_index[n_kept], kept[n_kept] = index[a], coefficients[a]
                    n_kept += 1
            _combine_rows(W, kept, kept_index, n_kept, fitted)
            if lagging:
                for i in range(first, end):
                    fit = 0.0
                    for k in range(n_kept):
                        fit += kept[k] * W[i, kept_index[k]]
                    fitted[i] = fit
            fitted[j] = s[j]
            found = _beyond(s, fitted, bound, threshold, index, count)
            for a in range(solved, found):
                i = index[a]
                listed = False
                for b in range(solved):
                    listed |= index[b] == i
                if not listed:
                    index[count], coefficients[count], gradient[count] = i, 0.0, s[i] - fitted[i]
                    count += 1
            if count == solved:
                break
        if left_out:
            continue
        solved_ones[j - first] = True
        for a in range(solved):
            beta[index[a]] = coefficients[a]
        change = 0.0
        if lagging:
            for i in range(m):
                fitted[i] = min(max(fitted[i], s[i] - bound[i]), s[i] + bound[i])
        for i in range(m):
            change += abs(fitted[i] - old[i])
            old[i] = fitted[i]
        for i in range(first if lagging else 0, end if lagging else m):
            W[i, j] = fitted[i]
        largest = max(largest, change / (m - 1))
    return largest


@njit(cache=True, nogil=True, fastmath=_FAST)
def sweep_columns(S, L, W, B, threshold):
    """One sweep over the columns of correlations, in place; row j of B holds column j's β.

    The lassos stop when no coefficient moves its gradient by more than ``threshold``. Returns the largest over the
    columns of the mean absolute change of W.
    """
    return _sweep(S, L, W, B, 0, False, threshold, (0, 0), np.zeros(len(S), dtype=np.bool_))


@njit(cache=True, nogil=True, fastmath=_FAST)
def sweep_part(S, L, W, B, first, threshold, others, solved_ones):
    """Some columns of a block, at the same time as the ``others`` of it; see :func:`join_parts`."""
    return _sweep(S, L, W, B, first, True, threshold, others, solved_ones)


@njit(cache=True, nogil=True, fastmath=_FAST)
def join_parts(S, L, W, B, first, second, threshold, solved_ones):
    """After both parts of a block, which begin at ``first`` and ``second``, have been solved at the same time.

    No β of one part reaches into the other, so that it is what it would be had the second part been solved after the
    first: only w_ij = β_jᵀw_i of the pairs between them is to be made good. Columns left out are solved now. Returns
    the largest change of these.
    """
    end = first + len(S)
    index = np.empty(W.shape[0], dtype=np.int64)
    for j in range(second, end):
        s, bound, beta = S[j - first], L[j - first], B[j - first]
        count = _nonzeros(beta, index)
        for i in range(first, second):
            if solved_ones[j - first] and solved_ones[i - first]:
                fit = 0.0
                for k in range(count):
                    fit += beta[index[k]] * W[i, index[k]]
                W[i, j] = min(max(fit, s[i] - bound[i]), s[i] + bound[i])
            if solved_ones[i - first]:
                W[j, i] = W[i, j]
            else:
                W[i, j] = W[j, i]
    return _sweep(S, L, W, B, first, True, threshold, (0, 0), solved_ones)


@njit(cache=True, nogil=True)
def write_columns(W, first, end, top, bottom):
    """w_ij ← w_ji of the columns from ``first`` to before ``end``, in the rows from ``top`` to before ``bottom``."""
    # Tile by tile, since a column's entries are far from each other in memory.
    for start in range(top, bottom, _TILE):
        for i in range(start, min(start + _TILE, bottom)):
            for j in range(first, end):
                W[i, j] = W[j, i]


@njit(cache=True, nogil=True, error_model="numpy")
def precision_from_columns(W, B, omega):
    """Writes Ω from the columns' lassos: ω_jj = 1/(W_jj − w₁₂ᵀβ), ω_ij = −β_i ω_jj, symmetrised."""
    m = W.shape[0]
    index = np.empty(m, dtype=np.int64)
    omega[:] = 0.0
    for j in range(m):
        beta, row = B[j], W[j]
        count = _nonzeros(beta, index)
        left = row[j]
        for k in range(count):
            left -= row[index[k]] * beta[index[k]]
        omega[j, j] = 1.0 / left
        for k in range(count):
            half = -0.5 * beta[index[k]] / left
            omega[j, index[k]] += half
            omega[index[k], j] += half


@njit(cache=True, nogil=True)
def columns_from_precision(omega, B):
    """Writes the columns' lassos that Ω comes from: row j holds β = −ω₁₂/ω_jj."""
    m = omega.shape[0]
    for j in range(m):
        for i in range(m):
            B[j, i] = -omega[j, i] / omega[j, j]
        B[j, j] = 0.0


@njit(cache=True, nogil=True, fastmath=_FAST)
def linear_terms(S, L, omega):
    """Tr(SΩ) + Σ_{i≠j} L_ij|ω_ij|; L is m×m, or 1×1 where all penalties are equal."""
    m = S.shape[0]
    total = 0.0
    for i in range(m):
        row, s = omega[i], S[i]
        part = 0.0
        for j in range(m):
            part += s[j] * row[j]
        for first, last in ((0, i), (i + 1, m)):
            if len(L) > 1:
                bound = L[i]
                for j in range(first, last):
                    part += bound[j] * abs(row[j])
            else:
                for j in range(first, last):
                    part += L[0, 0] * abs(row[j])
        total += part
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def share_of_nonzeros(A):
    """The share of A's entries that are not zero."""
    count = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            count += A[i, j] != 0.0
    return count / A.size


@njit(cache=True, nogil=True, fastmath=_FAST)
def product_traces(omega, W, E):
    """Tr(E) and Tr(E²) of E = ΩW − I, which is written too, where Ω is sparse."""
    m = W.shape[0]
    values, index = np.empty(m), np.empty(m, dtype=np.int64)
    trace, square = 0.0, 0.0
    for i in range(m):
        count = _nonzeros(omega[i], index)
        for k in range(count):
            values[k] = omega[i, index[k]]
        _combine_rows(W, values, index, count, E[i])
        E[i, i] -= 1.0
        trace += E[i, i]
        square += E[i, i] ** 2
    # Tile by tile, since one of E_ij and E_ji is far away in memory.
    for top in range(0, m, _TILE):
        for left in range(0, top + _TILE, _TILE):
            for i in range(top, min(top + _TILE, m)):
                for j in range(left, min(left + _TILE, i)):
                    square += 2.0 * E[i, j] * E[j, i]
    return trace, square


@njit(cache=True, nogil=True, fastmath=_FAST)
def square_trace(data, indices, indptr, W, part):
    """What some rows contribute to Tr(E²) of E = ΩW − I: Σ_j E_ij E_ji, E_ji being (WΩ − I)_ij. Ω comes in CSR."""
    first, last = part
    m = W.shape[0]
    product, total = np.empty(m), 0.0
    for i in range(first, last):
        start, end = indptr[i], indptr[i + 1]
        _combine_rows(W, data[start:end], indices[start:end], end - start, product)
        product[i] -= 1.0
        row = W[i]
        for j in range(m):
            other = 0.0
            for k in range(indptr[j], indptr[j + 1]):
                other += row[indices[k]] * data[k]
            total += product[j] * other
        total -= product[i]
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def mean_off_diagonal(S):
    """The mean of |S_ij| over i ≠ j."""
    m = S.shape[0]
    total = 0.0
    for i in range(m):
        for j in range(m):
            total += abs(S[i, j])
        total -= abs(S[i, i])
    return total / (m * (m - 1))


@njit(cache=True, nogil=True)
def put_inside_box(W, S, L, out):
    """Writes W with every entry moved to the nearest in [S_ij − L_ij, S_ij + L_ij]."""
    m = S.shape[0]
    for i in range(m):
        for j in range(m):
            out[i, j] = min(max(W[i, j], S[i, j] - L[i, j]), S[i, j] + L[i, j])


@njit(cache=True, nogil=True)
def warm_dual(W, omega, S, L, out):
    """Writes a W inside this problem's box, from the solution W and Ω of another; L as in :func:`linear_terms`.

    At the optimum W_ij = S_ij + L_ij sign(ω_ij) wherever ω_ij is not zero.
    """
    m = S.shape[0]
    wide = len(L) > 1
    for i in range(m):
        bound = L[i * wide]
        for j in range(m):
            lower, upper = S[i, j] - bound[j * wide], S[i, j] + bound[j * wide]
            if omega[i, j] == 0.0:
                out[i, j] = min(max(W[i, j], lower), upper)
            else:
                out[i, j] = upper if omega[i, j] > 0.0 else lower
        out[i, i] = S[i, i]
