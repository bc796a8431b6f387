"""Hidden inputs: columns F that nobody measured and that act on many outputs, Y = WX + LF + E.

Their number is chosen by bi-cross-validation (Owen and Wang 2016): half of the samples and half of the outputs are held
out together, and predicted from the other three quarters of the residuals, [A B; C D] by B D_k⁺C with D_k of rank k.
A hidden input is broad, an edge of the network is not: an input counts if it lowers the held-out squares by a fortieth,
or by as much as one and a half outputs vary, whichever is more. Without that, a sparse network, which predicts a
little across the blocks too, would be taken for hidden inputs where there are many samples.

F are the leading left singular vectors of the residuals, each output divided by its noise. From then on F is given: the
data are rotated to the complement of F, so that hidden inputs are covariates of X as of Y and every later step has
N − k samples. What F explains by chance it takes from all outputs, (N − k)(m − k)/m degrees of freedom are left.

Where outputs are missing, their number is chosen with zeros in the gaps, which count for nothing in what is held out;
F is then found by turns with its own predictions in the gaps.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from nard.covariance import Gaps

__all__ = ["complement", "count_hidden", "degrees_left", "hidden_inputs"]

_MOST = 15
# With fewer outputs a hidden input cannot be told from a network among them.
_FEWEST_OUTPUTS = 30
# A hidden input must predict this share of the held-out variance, and as much as this many outputs have.
_LEAST_SHARE = 0.025
_LEAST_OUTPUTS = 1.5
# Random halves; with many outputs each one tells more.
_HALVES = 20
_ENTRIES_ENOUGH = 400_000
# Few, as in Owen and Wang: the likelihood has no maximum, in the end a hidden input would be one output and its noise.
_NOISE_STEPS = 3
# What is filled into gaps follows F, and F what is filled in.
_FILLINGS = 10


def count_hidden(residuals: np.ndarray, rng: np.random.Generator, gaps: Gaps | None = None) -> int:
    """How many hidden inputs bi-cross-validation finds in residuals (N×m)."""
    n, m = residuals.shape
    A = residuals - residuals.mean(axis=0)
    if gaps is not None:
        A = np.where(gaps.missing, 0.0, A)
    A = A / np.where(A.std(axis=0) > 0, A.std(axis=0), 1.0)
    most = min(_MOST, n // 4, m // 4)
    if most < 1 or m < _FEWEST_OUTPUTS:
        return 0
    # Halves are drawn of sorted samples and outputs, so that their order in the tables is of no account.
    order = np.ix_(np.argsort(np.einsum("ij,ij->i", A, A)), np.argsort(np.abs(A).sum(axis=0)))
    A, measured = A[order], None if gaps is None else ~gaps.missing[order]
    halves = int(np.clip(_HALVES * _ENTRIES_ENOUGH // (20 * A.size), 6, _HALVES))
    error = np.mean([_held_out(A, rng, most, measured) for _ in range(halves)], axis=0)
    gained = 1.0 - error[1:] / error[:-1]
    enough = gained > max(_LEAST_OUTPUTS / m, _LEAST_SHARE)
    return most if enough.all() else int(enough.argmin())


def _held_out(A: np.ndarray, rng: np.random.Generator, most: int, measured: np.ndarray | None) -> np.ndarray:
    """Squares left in what is ``measured`` of a random quarter by 0, 1, …, ``most`` hidden inputs."""
    n, m = A.shape
    rows, columns = rng.permutation(n), rng.permutation(m)
    one, other = rows[: n // 2], rows[n // 2 :]
    held, seen = columns[: m // 2], columns[m // 2 :]
    U, s, Vt = np.linalg.svd(A[np.ix_(other, seen)], full_matrices=False)
    left = A[np.ix_(one, seen)] @ Vt[:most].T / np.maximum(s[:most], 1e-300)
    right = U[:, :most].T @ A[np.ix_(other, held)]
    block = A[np.ix_(one, held)]
    errors = [np.vdot(block, block)]
    for k in range(most):
        block = block - np.outer(left[:, k], right[k])
        if measured is not None:
            block *= measured[np.ix_(one, held)]
        errors.append(np.vdot(block, block))
    return np.array(errors)


def hidden_inputs(residuals: np.ndarray, k: int, gaps: Gaps | None = None) -> np.ndarray:
    """F (N×k, orthonormal): principal components of the residuals, outputs weighted by the noise that F leaves them."""
    n = len(residuals)
    if k == 0:
        return np.zeros((n, 0))
    A = residuals - residuals.mean(axis=0)
    noise = np.maximum(A.var(axis=0), 1e-300)
    for step in range(_NOISE_STEPS if gaps is None else _FILLINGS):
        scaled = A / np.sqrt(noise)
        # A few of N eigenvectors are much less work than a singular value decomposition.
        F = eigh(scaled @ scaled.T, subset_by_index=(n - k, n - 1))[1][:, ::-1]
        left = A - F @ (F.T @ A)
        degrees: np.ndarray | int = n - k
        if gaps is not None:
            A = np.where(gaps.missing, A - left, A)
            A -= A.mean(axis=0)
            left[gaps.missing] = 0.0
            degrees = np.maximum(gaps.counts - k, 1)
        if step < _NOISE_STEPS:
            noise = np.maximum(np.einsum("ij,ij->j", left, left) / degrees, 1e-6 * noise)
    return F


def complement(F: np.ndarray) -> np.ndarray | None:
    """An orthonormal basis (N × N−k) of what is orthogonal to F; None stands for all of it."""
    k = F.shape[1]
    return None if k == 0 else np.linalg.qr(F, mode="complete")[0][:, k:]


def degrees_left(k: int, m: int) -> float:
    """The share of the N − k samples' degrees of freedom that k estimated hidden inputs leave to every output."""
    return (m - k) / m
