"""Outputs that were not measured everywhere: their expectations, and what their uncertainty adds to J.

The residuals E = Y − XB̄ are known where Y was measured; elsewhere they are latent. J has them in Tr(Ω EᵀAE) only, with
the precision A = P C⁻¹P over the samples, P the projection off the mean and off the hidden inputs. Averaged over
normal distributions N(ē_m, S) of what every sample lacks (m; values are missing at random, given X and the rest of Y),
less twice their entropy, J is a bound of −2 ln evidence of what was measured. It is lowest at

    ē = argmin Tr(Ω ĒᵀAĒ),    S = (A_nn Ω_mm)⁻¹,

where it is J of Y with ē filled in, with Σ_n Ω_mm⁻¹ (each at its place in m×m) added to the scatter, and

    + Σ_n [ln|Ω_mm| + |m| ln A_nn].

ē is found sample by sample, e_m ← e_m − Ω_mm⁻¹(Ω EᵀA)_mn/A_nn; where A is the identity that is the conditional
expectation −Ω_mm⁻¹Ω_mo e_o. Under a diagonal Ω every output has samples of its own, and its ē solves
A_mm ē_m = −A_mo e_o: least squares over the samples that have it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nard.algorithms.evidence import Data
from nard.covariance import Gaps, inverse_and_logdet, inverse_spd

__all__ = ["Filled", "expected", "expected_alone", "observed_covariance", "sample_precision"]

# Steps through all samples, until no value moves by more than this share of its standard deviation.
_SWEEPS = 20
_TOL = 1e-3
# Numbers that may be kept whatever the size of Ω.
_LITTLE = 2**23
# A sample that the hidden inputs explain entirely says nothing of what it lacks.
_LEAST_PRECISION = 1e-6


@dataclass(frozen=True)
class Filled:
    """Data with expectations where outputs are missing, and what these have changed.

    ``offset`` was taken from all values of an output, so that its mean with the expectations is zero; ``spread`` (m×m)
    is to be added to the scatter, and ``entropy`` to J. Without gaps nothing was changed.
    """

    data: Data
    offset: np.ndarray | float = 0.0
    spread: np.ndarray | None = None
    entropy: float = 0.0

    @property
    def counts(self) -> np.ndarray | int:
        """How many samples have an output: one number, or one for every output."""
        return len(self.data.Y) if self.data.gaps is None else self.data.gaps.counts

    def alone(self, E: np.ndarray, A: np.ndarray) -> Filled:
        """Filled with every output on its own, with the residual variances that this leaves."""
        gaps = self.data.gaps
        assert gaps is not None
        found = expected_alone(E, A, gaps)
        counts = np.maximum(gaps.counts, 1)
        variances = np.maximum(np.einsum("ij,ij->j", found, A @ found) / counts, self.data.variance_floor)
        return self._with(E, found, np.diag((len(E) - gaps.counts) * variances), 0.0)

    def together(self, E: np.ndarray, A: np.ndarray, omega: np.ndarray) -> Filled:
        """Filled with the network."""
        assert self.data.gaps is not None
        return self._with(E, *expected(E, A, omega, self.data.gaps))

    def _with(self, E, found, spread, entropy) -> Filled:
        change = found - E
        mean = found.mean(axis=0)
        data = self.data.leaving(self.data.Y + change - mean)
        return replace(self, data=data, offset=self.offset + mean, spread=spread, entropy=entropy)


def sample_precision(X: np.ndarray, F: np.ndarray, alpha: np.ndarray | None) -> np.ndarray:
    """A = P C⁻¹P over the samples of centred X; F has orthonormal columns of mean zero."""
    n = len(X)
    precision = np.eye(n) - 1.0 / n - F @ F.T
    if alpha is None or not np.isfinite(alpha).any():
        return precision
    active = np.flatnonzero(np.isfinite(alpha))
    Z = X[:, active] * alpha[active] ** -0.5
    Z -= F @ (F.T @ Z)
    return precision + inverse_spd(np.eye(n) + Z @ Z.T) - np.eye(n)


def observed_covariance(filled: Filled, omega: np.ndarray) -> np.ndarray:
    """Of residuals with their expectations, Ω⁻¹ − Σ_n Ω_mm⁻¹/N: expectations vary less than what they stand for."""
    covariance = inverse_spd(omega)
    return covariance if filled.spread is None else covariance - filled.spread / len(filled.data.Y)


def expected_alone(E: np.ndarray, A: np.ndarray, gaps: Gaps) -> np.ndarray:
    """E with expectations under a diagonal Ω."""
    found = np.where(gaps.missing, 0.0, E)
    for outputs, lacking in gaps.by_output:
        inner = A[np.ix_(lacking, lacking)] + _LEAST_PRECISION * np.eye(len(lacking))
        found[np.ix_(lacking, outputs)] = -np.linalg.solve(inner, A[lacking] @ found[:, outputs])
    return found


def expected(E: np.ndarray, A: np.ndarray, omega: np.ndarray, gaps: Gaps) -> tuple[np.ndarray, np.ndarray, float]:
    """E with expectations, Σ Ω_mm⁻¹ and Σ [ln|Ω_mm| + |m| ln A_nn]; the search starts from what E has in its gaps."""
    found, m = E.copy(), len(omega)
    spread, entropy = np.zeros((m, m)), 0.0
    own = np.maximum(np.diag(A), _LEAST_PRECISION)
    inverses: list[np.ndarray | None] = []
    kept = 0
    for rows, lacking in gaps.by_sample:
        places = np.ix_(lacking, lacking)
        inverse, logdet = inverse_and_logdet(omega[places])
        spread[places] += len(rows) * inverse
        entropy += len(rows) * logdet + len(lacking) * float(np.log(own[rows]).sum())
        # As much as two matrices of Ω's size, or what is little; the rest is worked out again.
        kept += inverse.size
        inverses.append(inverse if kept <= max(2 * omega.size, _LITTLE) else None)
    units = np.sqrt(np.diag(omega))
    for _ in range(_SWEEPS):
        largest = 0.0
        for (rows, lacking), known in zip(gaps.by_sample, inverses, strict=True):
            inverse = inverse_spd(omega[np.ix_(lacking, lacking)]) if known is None else known
            across = omega[lacking]
            for n in rows:
                step = inverse @ (across @ (A[n] @ found)) / own[n]
                found[n, lacking] -= step
                largest = max(largest, float(np.abs(step * units[lacking]).max()))
        if largest <= _TOL:
            break
    return found, spread, entropy
