"""Log determinants, inverses and densities of symmetric positive definite matrices.

NumPy and SciPy each bring a linear algebra library with threads of its own, which wait busily for more work for some
milliseconds after every call. Calls to one right after the other therefore compete for the cores, which at small sizes
can make them a hundred times slower; so NumPy's is used wherever SciPy's is not much faster.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack
from scipy.special import gammaln

from nard.covariance.allocation import matrices
from nard.covariance.gaps import Gaps, gaps_of

__all__ = [
    "conditional",
    "density_at",
    "distances",
    "inverse_and_logdet",
    "inverse_spd",
    "log_density",
    "log_determinant",
    "solve_spd",
]

# From this size on SciPy's factors and inverses, up to three times quicker than NumPy's, are worth the change.
_LARGE = 400


def _scipy_factor(A: np.ndarray) -> tuple[np.ndarray, int]:
    """Cholesky factor in the lower half, and whether it failed. The transpose is in the order LAPACK wants."""
    (factor,) = matrices(1, len(A))
    factor[:] = A
    return lapack.dpotrf(factor.T, lower=1, clean=0, overwrite_a=1)


def log_determinant(A: np.ndarray) -> float:
    """ln|A| of a symmetric matrix, −inf where it is not positive definite."""
    if len(A) < _LARGE:
        try:
            factor = np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            return -np.inf
    else:
        factor, failed = _scipy_factor(A)
        if failed:
            return -np.inf
    return 2.0 * float(np.log(np.diag(factor)).sum())


def inverse_and_logdet(A: np.ndarray) -> tuple[np.ndarray, float]:
    """A⁻¹, exactly symmetric, and ln|A| of a symmetric positive definite matrix."""
    if len(A) < _LARGE:
        logdet = 2.0 * float(np.log(np.diag(np.linalg.cholesky(A))).sum())
        inverse = np.linalg.inv(A)
        return 0.5 * (inverse + inverse.T), logdet
    factor, failed = _scipy_factor(A)
    if failed:
        raise np.linalg.LinAlgError(f"The matrix is not positive definite (leading minor {failed}).")
    logdet = 2.0 * float(np.log(np.diag(factor)).sum())
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    lower = np.tril(inverse)
    return lower + np.tril(lower, -1).T, logdet


def inverse_spd(A: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric positive definite matrix, exactly symmetric."""
    return inverse_and_logdet(A)[0]


def solve_spd(A: np.ndarray, inverse: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A⁻¹B from the inverse and one step of refinement, which makes it as exact as from a factor, by products only."""
    solution = inverse @ B
    solution += inverse @ (B - A @ solution)
    return solution


def distances(
    residuals: np.ndarray, precision: np.ndarray, inflation: np.ndarray, loadings: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """δ = eᵀS⁻¹e and ln|S| of every sample's residual e, S = inflation·Ω⁻¹ + LᵀL; ``loadings`` L are k×m.

    Where values of e are NaN, those of what was measured: eᵀ(S_oo)⁻¹e and ln|S_oo|.

    With LΩLᵀ = UDUᵀ and f the inflation, |fΩ⁻¹ + LᵀL| = fᵐ|Ω⁻¹| Π(1 + D/f), and the residual's square in it is
    eᵀΩe/f − Σ (UᵀLΩe)²/(f² + fD).
    """
    gaps = gaps_of(residuals)
    if gaps is not None:
        return _distances_of_observed(residuals, gaps, precision, inflation, loadings)
    m = residuals.shape[1]
    weighted = residuals @ precision
    square = np.einsum("ij,ij->i", weighted, residuals) / inflation
    logdet = m * np.log(inflation) - log_determinant(precision)
    if loadings is not None and len(loadings):
        D, U = np.linalg.eigh(loadings @ precision @ loadings.T)
        along = weighted @ loadings.T @ U
        f = np.asarray(inflation)[:, None]
        square = square - (along**2 / (f**2 + f * D)).sum(axis=1)
        logdet = logdet + np.log1p(D / f).sum(axis=1)
    return square, logdet


def _distances_of_observed(residuals, gaps: Gaps, precision, inflation, loadings) -> tuple[np.ndarray, np.ndarray]:
    """As :func:`distances`, of what was measured of every sample.

    With e_m = −Ω_mm⁻¹Ω_mo e_o for what was not, Ωe is V_oo⁻¹e_o where measured and zero elsewhere; loadings likewise.
    """
    square, logdet = np.empty(len(residuals)), np.empty(len(residuals))
    inflation = np.broadcast_to(np.asarray(inflation, dtype=float), len(residuals))
    whole = ~gaps.missing.any(axis=1)
    if whole.any():
        square[whole], logdet[whole] = distances(residuals[whole], precision, inflation[whole], loadings)
    determinant = log_determinant(precision)
    for rows, lacking in gaps.by_sample:
        inverse, of_lacking = inverse_and_logdet(precision[np.ix_(lacking, lacking)])
        f = inflation[rows]
        e = np.where(gaps.missing[rows], 0.0, residuals[rows])
        e[:, lacking] = -(e @ precision[:, lacking]) @ inverse
        weighted = e @ precision
        square[rows] = np.einsum("ij,ij->i", weighted, e) / f
        logdet[rows] = (residuals.shape[1] - len(lacking)) * np.log(f) + of_lacking - determinant
        if loadings is not None and len(loadings):
            L = loadings.copy()
            L[:, lacking] = 0.0
            L[:, lacking] = -(L @ precision[:, lacking]) @ inverse
            D, U = np.linalg.eigh(L @ precision @ L.T)
            along = weighted @ L.T @ U
            square[rows] -= (along**2 / (f[:, None] ** 2 + np.outer(f, D))).sum(axis=1)
            logdet[rows] += np.log1p(D / f[:, None]).sum(axis=1)
    return square, logdet


def conditional(residuals: np.ndarray, precision: np.ndarray, gaps: Gaps) -> tuple[np.ndarray, np.ndarray]:
    """Residuals with the expectations of what is missing given the rest, and the sum of their covariances (m×m)."""
    found, spread = np.where(gaps.missing, 0.0, residuals), np.zeros_like(precision)
    for rows, lacking in gaps.by_sample:
        places = np.ix_(lacking, lacking)
        inverse = inverse_spd(precision[places])
        found[np.ix_(rows, lacking)] = -(found[rows] @ precision[:, lacking]) @ inverse
        spread[places] += len(rows) * inverse
    return found, spread


def density_at(square: np.ndarray, logdet: np.ndarray, m: int | np.ndarray, tails: float = np.inf) -> np.ndarray:
    """ln density of m values at the distance δ = ``square`` under N(0, S), or under a multivariate t of covariance S.

    m may be another for every sample: a part of a multivariate t is one with as many degrees of freedom.

    With ν = ``tails`` > 2 degrees of freedom the t is that of the scale matrix S(ν − 2)/ν:

        lnΓ((ν + m)/2) − lnΓ(ν/2) − ½m ln(π(ν − 2)) − ½ln|S| − ½(ν + m) ln(1 + δ/(ν − 2)).
    """
    if np.isinf(tails):
        return -0.5 * (m * np.log(2.0 * np.pi) + logdet + square)
    constant = gammaln(0.5 * (tails + m)) - gammaln(0.5 * tails) - 0.5 * m * np.log(np.pi * (tails - 2.0))
    return constant - 0.5 * logdet - 0.5 * (tails + m) * np.log1p(square / (tails - 2.0))


def log_density(
    residuals: np.ndarray,
    precision: np.ndarray,
    inflation: np.ndarray,
    loadings: np.ndarray | None = None,
    tails: float = np.inf,
) -> np.ndarray:
    """ln density of every sample under :func:`density_at` with S = inflation·Ω⁻¹ + LᵀL."""
    count = np.count_nonzero(~np.isnan(residuals), axis=1)
    return density_at(*distances(residuals, precision, inflation, loadings), count, tails)
