"""Weights of samples whose residuals have heavier tails than a normal distribution's.

Samples differ in quality: in some all residuals are large together. A multivariate t says just that: e_n ~ N(0, V/τ_n)
with τ_n ~ χ²_ν/ν. With r_n = e_nᵀΘe_n/k the posterior mean of τ_n is

    w_n = (ν + k)/(ν + k r_n),

and the scatter Σ w_n e_n e_nᵀ/N estimates V up to a factor, with many outputs nearly as well as if the τ_n were known.
r_n follows c·F(k, ν), with c a scale, or c·χ²_k/k if the residuals are normal; k is m if Θ = V⁻¹, else less. ν is that
of greatest likelihood.

Outputs that are skewed or have heavy tails each on its own have such distances too, but weights would correlate them:
so samples are weighted only if the sizes of their whitened residuals, as ranks, go together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, rankdata
from scipy.stats import f as fisher

from nard.covariance import Gaps

__all__ = ["TailWeights", "heavy_tails", "sizes_go_together", "tail_weights"]

_DEGREES = np.geomspace(2.5, 100.0, 30)
_SCALE_STEPS = 30
# The t must be likelier than the normal distribution by this factor, as a logarithm: 2.3 % of normal samples reach it.
_CLEARLY = 2.0
# Standard errors by which ranks must go together.
_TOGETHER = 2.0
# Of the mean distance; see heavy_tails.
_LEAST = 1e-6


@dataclass(frozen=True)
class TailWeights:
    """w_n with mean one, ν, and by how much not knowing the τ_n enlarges the variances of the scatter's shape."""

    weights: np.ndarray
    degrees: float
    variance_factor: float


def heavy_tails(distances: np.ndarray, k: float) -> tuple[float, float] | None:
    """ν and c of distances/k ~ c·F(k, ν), or None unless that is clearly likelier than a scaled χ²."""
    r = distances / k
    normal_scale = r.mean()
    if not normal_scale > 0:
        return None
    # A sample without residuals has a density of zero or infinity, whatever the distribution.
    r = np.maximum(r, _LEAST * normal_scale)
    normal = (chi2.logpdf(k * r / normal_scale, k) + np.log(k / normal_scale)).sum()
    nu = _DEGREES[:, None]
    c = np.full((len(_DEGREES), 1), np.median(r))
    for _ in range(_SCALE_STEPS):
        c = ((nu + k) / (nu + k * r / c) * r).mean(axis=1, keepdims=True)
    likelihood = (fisher.logpdf(r / c, k, nu) - np.log(c)).sum(axis=1)
    best = int(likelihood.argmax())
    if likelihood[best] >= normal + _CLEARLY:
        return float(_DEGREES[best]), float(c[best, 0])
    return None


def sizes_go_together(residuals: np.ndarray, theta: np.ndarray, gaps: Gaps | None = None) -> bool:
    """Whether the absolute values of the whitened residuals Lᵀe, LLᵀ = Θ, correlate clearly, by their ranks.

    With a_ni the centred ranks, (Σ_i a_ni)² − Σ_i a_ni² has mean zero over the samples if outputs are independent,
        whatever their distributions. What is missing has the rank in the middle.
    """
    sizes = np.abs(residuals @ np.linalg.cholesky(theta))
    if gaps is None:
        a = rankdata(sizes, axis=0)
        a = a / len(a) - a.mean(axis=0) / len(a)
    else:
        a = rankdata(np.where(gaps.missing, np.nan, sizes), axis=0, nan_policy="omit")
        a = np.where(gaps.missing, 0.0, a / (gaps.counts + 1) - 0.5)
    together = a.sum(axis=1) ** 2 - (a**2).sum(axis=1)
    return bool(together.mean() > _TOGETHER * together.std() / np.sqrt(len(together)))


def tail_weights(
    residuals: np.ndarray, theta: np.ndarray, S: np.ndarray, gaps: Gaps | None = None
) -> TailWeights | None:
    """For residuals of unit variance and estimates of their precision and covariance; None if they look normal.

    k = (Tr ΘS)²/Tr((ΘS)²) makes c·χ²_k/k have the mean and the variance that e_nᵀΘe_n has for normal residuals of
    covariance S, whatever Θ. The second trace is too large by (Tr ΘS)²/N in a sample.

    A sample with ``gaps``, which has expectations there, has the distance of its other residuals: as many fewer terms.
    """
    n, m = residuals.shape
    product = theta @ S
    trace = np.trace(product)
    square = np.vdot(product.T, product) - trace**2 / n
    k = float(np.clip(trace**2 / square, 1.0, m)) if square > 0 else float(m)
    distances = np.einsum("ij,ij->i", residuals @ theta, residuals)
    if gaps is not None:
        distances = distances * m / np.maximum(np.count_nonzero(~gaps.missing, axis=1), 1)
    found = heavy_tails(distances, k)
    if found is None or not sizes_go_together(residuals, theta, gaps):
        return None
    nu, c = found
    weights = (nu + k) / (nu + distances / c)
    return TailWeights(weights / weights.mean(), nu, (nu + k + 2) / (nu + k))
