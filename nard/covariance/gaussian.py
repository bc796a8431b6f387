"""Log determinants, inverses and Gaussian densities of symmetric positive definite matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

__all__ = ["inverse_spd", "log_density", "log_determinant"]


def log_determinant(A: np.ndarray) -> float:
    """ln|A| of a symmetric matrix, −inf where it is not positive definite."""
    chol, failed = lapack.dpotrf(A, lower=1, clean=0)
    if failed:
        return -np.inf
    return 2.0 * float(np.log(np.diag(chol)).sum())


def inverse_spd(A: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric positive definite matrix, exactly symmetric."""
    chol, failed = lapack.dpotrf(A, lower=1)
    if failed:
        raise np.linalg.LinAlgError(f"The matrix is not positive definite (leading minor {failed}).")
    inverse, _ = lapack.dpotri(chol, lower=1, overwrite_c=1)
    # dpotri fills the lower half only; the other is zero here.
    inverse += np.tril(inverse, -1).T
    return inverse


def log_density(residuals: np.ndarray, precision: np.ndarray, inflation: np.ndarray) -> np.ndarray:
    """ln N(residual; 0, inflation·Ω⁻¹) of every sample."""
    m = residuals.shape[1]
    mahalanobis = np.einsum("ij,ij->i", residuals @ precision, residuals)
    constant = log_determinant(precision) - m * np.log(2.0 * np.pi)
    return 0.5 * (constant - m * np.log(inflation) - mahalanobis / inflation)
