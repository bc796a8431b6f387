"""The log determinant of a sparse matrix, by eliminating variables that share no entry, many at a time.

For such variables I and the others K the block A_II is diagonal, so that

    ln|A| = Σ_{i∈I} ln a_ii + ln|A_KK − A_KI A_II⁻¹ A_IK|

takes one sparse product. Variables of few entries go first, since they add the fewest; what is left when the matrix has
filled up is factorised densely. A is positive definite exactly if every a_ii on the way and the rest are.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

__all__ = ["sparse_log_determinant"]

# From this share of entries on a dense factor costs less than another elimination.
_FULL = 0.05
_SMALL = 200
# Only variables with at most this many times the median number of entries are eliminated.
_MOST = 1.5


def _independent(A: sparse.csr_array) -> np.ndarray:
    """Variables with few entries, none of which is another's neighbour: those that come first among their neighbours.

    The order is by the number of entries, then by chance.
    """
    degree = np.diff(A.indptr)
    rank = np.empty(len(degree), dtype=np.int64)
    rank[np.lexsort((np.random.default_rng(0).permutation(len(degree)), degree))] = np.arange(len(degree))
    first = np.minimum.reduceat(rank[A.indices], A.indptr[:-1])
    return (first == rank) & (degree <= max(_MOST * np.median(degree), degree.min()))


def sparse_log_determinant(A: sparse.csr_array) -> float:
    """ln|A| of a symmetric matrix with a full diagonal, −inf where it is not positive definite."""
    total = 0.0
    while A.shape[0] > _SMALL and A.nnz < _FULL * A.shape[0] ** 2:
        out = _independent(A)
        pivots = A.diagonal()[out]
        if not (pivots > 0).all():
            return -np.inf
        total += float(np.log(pivots).sum())
        rest = A[~out]
        cross = rest[:, out]
        A = sparse.csr_array(rest[:, ~out] - (cross * (1.0 / pivots)) @ cross.T)
    factor, failed = lapack.dpotrf(A.toarray(order="F"), lower=1, clean=0, overwrite_a=1)
    return -np.inf if failed else total + 2.0 * float(np.log(np.diag(factor)).sum())
