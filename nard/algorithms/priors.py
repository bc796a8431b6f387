"""Hyperpriors on the ARD precisions α and on the residual covariance V, as the terms that they add to J.

J is −2 ln of a (penalised) marginal likelihood, so a prior p adds −2 ln p up to a constant:

* Gamma(a, b) on each α_i adds 2bα_i − 2(a − 1) ln α_i. Together with the evidence the stationary point is
  α_i = (m + 2a − 2) / (mΣ_ii + μ_iᵀΩμ_i + 2b).
* Inverse-Wishart(Ψ, ν) on V adds Tr(ΨΩ) − ν ln|Ω|, so that V = (Y C⁻¹Yᵀ + Ψ)/(N + ν) without a penalty. This is the
  paper's update: the density is taken with respect to the scale-invariant measure |V|^{−(m+1)/2} dV, under which the
  limit Ψ, ν → 0 is the flat prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["AlphaPrior", "CovariancePrior", "make_alpha_prior", "make_covariance_prior"]


@dataclass(frozen=True)
class AlphaPrior:
    """Gamma(shape a, rate b) on every α_i; a = 1, b = 0 is the flat prior."""

    a: float = 1.0
    b: float = 0.0

    @property
    def is_flat(self) -> bool:
        return self.a == 1.0 and self.b == 0.0

    def resting_alpha(self, m: int) -> float:
        """The α of an input that the data say nothing about: infinite when flat, else (m + 2a − 2)/2b."""
        return np.inf if self.is_flat else (m + 2.0 * self.a - 2.0) / (2.0 * self.b)

    def penalty(self, alpha: np.ndarray) -> float:
        """Σ 2bα_i − 2(a − 1) ln α_i, zero when flat (where α may be infinite)."""
        if self.is_flat:
            return 0.0
        return float(2.0 * self.b * alpha.sum() - 2.0 * (self.a - 1.0) * np.log(alpha).sum())


@dataclass(frozen=True)
class CovariancePrior:
    """Inverse-Wishart(Ψ, ν) on V; Ψ = 0, ν = 0 is the flat prior."""

    psi: np.ndarray
    nu: float

    def of_outputs(self, kept: np.ndarray) -> CovariancePrior:
        """The same for some of the outputs."""
        return CovariancePrior(self.psi[np.ix_(kept, kept)], self.nu)


def make_alpha_prior(spec, m: int) -> AlphaPrior:
    """Checks ``None`` or ``("gamma", a, b)`` for m outputs."""
    if spec is None:
        return AlphaPrior()
    try:
        name, a, b = spec
        a, b = float(a), float(b)
    except (TypeError, ValueError):
        name = None
    if name != "gamma":
        raise ValueError(f'alpha_prior must be None or ("gamma", a, b), found {spec!r}.')
    if not b > 0 or not np.isfinite([a, b]).all():
        raise ValueError(f"alpha_prior: the rate b must be positive, found {b}. For a flat prior pass None.")
    if not m + 2 * a - 2 > 0:
        raise ValueError(
            f"alpha_prior: with {m} output(s) the shape a must exceed {1 - m / 2:g}, found {a}; "
            "below that the posterior has no mode (J falls without bound as α → 0)."
        )
    return AlphaPrior(a, b)


def make_covariance_prior(spec, variances: np.ndarray, scale: np.ndarray | None = None) -> CovariancePrior:
    """Checks ``None`` or ``("inverse-wishart", psi, nu)``; a number psi stands for psi · diag(variances of Y).

    A matrix psi is in the units of the data; ``scale`` is what Y was divided by since.
    """
    m = len(variances)
    if spec is None:
        return CovariancePrior(np.zeros((m, m)), 0.0)
    try:
        name, psi, nu = spec
        psi, nu = np.array(psi, dtype=float), float(nu)
    except (TypeError, ValueError):
        name = None
    if name != "inverse-wishart":
        raise ValueError(f'cov_prior must be None or ("inverse-wishart", psi, nu), found {spec!r}.')
    if psi.ndim == 0:
        psi = float(psi) * np.diag(variances)
    elif scale is not None and psi.shape == (m, m):
        psi = psi / np.outer(scale, scale)
    if psi.shape != (m, m) or not np.allclose(psi, psi.T) or np.linalg.eigvalsh(psi).min() < -1e-10 * np.abs(psi).max():
        raise ValueError(
            f"cov_prior: psi must be a number ≥ 0 or a positive semi-definite {m}×{m} matrix in the units of Y."
        )
    if not 0 <= nu < np.inf:
        raise ValueError(f"cov_prior: nu must be a finite number ≥ 0, found {nu}.")
    return CovariancePrior(psi, nu)
