"""The test of edges: partial correlations by nodewise regressions, corrected for the bias of their penalty.

After Liu (2013), "Gaussian graphical model estimation with false discovery rate control". With S the correlations of
the residuals e and n their degrees of freedom, each output is regressed on the others by a lasso,

    β_i = argmin ½βᵀSβ − βᵀs_i + λ Σ_k |β_k| with β_ii = 0,    λ = c·sqrt(ln m / n),

which leaves the errors ε_i = e_i − Σ_k β_ik e_k with covariance R = (I − B)S(I − B)ᵀ. Without error in β these are
β_ij = −ω_ij/ω_ii and R_ij = ω_ij/(ω_ii ω_jj). An error of β_ij enters R_ij times −R_jj, so to first order

    T_ij = −(R_ij + R_ii β_ji + R_jj β_ij)

is free of it and estimates ω_ij/(ω_ii ω_jj). What is left is of the order sλ², s the number of an output's neighbours,
against a standard error of n^−½: the larger c, the less of an edge is regressed away with its neighbours, as long as
s·c²·ln m / n^½ is small. Normal residuals have

    Var T_ij = R_ii R_jj (1 + ρ_ij²)/n,    ρ_ij² = β_ij² R_jj/R_ii,

with ρ_ij the partial correlation.

Samples that differ in quality, so that all their residuals are large or small together, enlarge that variance by the
factor E(ε_i²ε_j²)/(R_ii R_jj + 2R_ij²), the same for all pairs if residuals are normal up to a scale of the sample's
own. It is therefore estimated as a mean over all pairs, which costs normal residuals next to nothing, and counts if it
is larger than one. Outputs may also share their outliers pair by pair: where a pair's own factor is clearly larger than
the common one, it counts instead. If samples clearly follow a multivariate t they are weighted as well
(:mod:`nard.selection.weights`), and the correlations in S are those of the weighted residuals.

Where residuals are missing they come with their expectations under a network Ω that was fitted, which are no evidence
for or against an edge of it. Of what every sample adds to R, with m what it lacks,

    ε_n ε_nᵀ + (I − B) D_n (I − B)ᵀ,    D_n = Ω_mm⁻¹ at its place,

R_ij is therefore the mean over the n_ij samples that have both i and j, where it does not depend on ω_ij, and n_ij
takes the place of n. It does depend on what neighbours of i and j that are missing were expected to be: an error Δ of Ω
is one of T_ij/(R_ii R_jj) of, to first order,

    M(Δ) = mean of (ΩDΔ + ΔDΩ − ΩDΔDΩ)_ij over these samples.

So residuals are first filled in by the network that was found, without a penalty, and then M of what that differs by
from the estimates is taken from these. The ε_n with expectations in them vary less than R, and it is their own squares
that the variance of T_ij has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from nard.compiled import njit
from nard.covariance import Gaps, conditional, inverse_spd, log_determinant
from nard.selection.significance import two_sided
from nard.selection.weights import tail_weights

__all__ = ["EdgeTest", "Unseen", "edge_test"]

# c, least and most, and the largest s·c²·ln m/n^½ in between: with less, edges are regressed away; with more, the bias
# left in T makes false ones in dense networks.
_PENALTY = (1.1, 1.3)
_BIAS = 1.6
# Of the coefficients, which are of the order of one.
_TOL = 1e-6
_MAX_PASSES = 1000
# Samples are weighted given Θ, and Θ is estimated given the weights, so many times.
_WEIGHTINGS = 2
# Standard errors that a partial correlation must have for residuals to be whitened by it. Others are mostly chance, by
# which outputs with rare large values and little noise otherwise would seem to be large together.
_NOTICED = 3.0
# Standard errors by which a pair's own variance must exceed the common one.
_CLEARLY = 3.0
# Residuals are filled in by the network that was found, and that is found again, so many times.
_FILLINGS = 2
# A pair of outputs that fewer samples have together is not tested.
_FEWEST_TOGETHER = 10
# Sums may be reordered to use vector instructions; infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@dataclass(frozen=True)
class EdgeTest:
    """Estimated precision, sd of the partial correlation, and z = partial correlation/sd of every pair of outputs.

    These are m×m arrays. ``degrees`` are those of freedom, one number or an m×m array; ``tails`` are those of the t
    distribution that weighted the samples, infinite if none did.
    """

    precision: np.ndarray
    sd: np.ndarray
    z: np.ndarray
    degrees: float | np.ndarray
    tails: float = np.inf

    @property
    def pvalue(self) -> np.ndarray:
        return two_sided(self.z, self.degrees)


@dataclass(frozen=True)
class Unseen:
    """Which residuals are expectations, the Ω of these, and Σ_n D_n (m×m)."""

    gaps: Gaps
    omega: np.ndarray
    spread: np.ndarray

    def in_units(self, scale: np.ndarray) -> Unseen:
        """Of residuals that are divided by ``scale``."""
        units = np.outer(scale, scale)
        return Unseen(self.gaps, self.omega * units, self.spread / units)

    @property
    def measured(self) -> np.ndarray:
        """Ones and zeros, N×m."""
        return (~self.gaps.missing).astype(float)

    @property
    def together(self) -> np.ndarray:
        """n_ij, at least one."""
        return np.maximum(self.measured.T @ self.measured, 1.0)

    def among_measured(self, B: csr_array) -> np.ndarray:
        """Σ_n ((I − B)D_n(I − B)ᵀ)_ij over the samples that have both i and j: of outputs with neighbours among m."""
        total = np.zeros(self.omega.shape)
        for rows, lacking in self.gaps.by_sample:
            across = B[:, lacking]
            touched = np.flatnonzero(np.diff(across.indptr))
            touched = touched[~self.gaps.missing[rows[0], touched]]
            if len(touched):
                across = across[touched].toarray()
                inverse = inverse_spd(self.omega[np.ix_(lacking, lacking)])
                total[np.ix_(touched, touched)] += len(rows) * (across @ inverse @ across.T)
        return total

    def wrong_expectations(self, error: np.ndarray) -> np.ndarray:
        """M(Δ), what an error Δ of Ω does to the estimates of ω_ij by way of expectations."""
        total, both = np.zeros(error.shape), np.zeros(error.shape)
        for rows, lacking in self.gaps.by_sample:
            measured = np.flatnonzero(~self.gaps.missing[rows[0]])
            across = self.omega[np.ix_(measured, lacking)]
            touched = across.any(axis=1)
            some = measured[touched]
            if len(some):
                A = across[touched] @ inverse_spd(self.omega[np.ix_(lacking, lacking)])
                total[np.ix_(some, measured)] += len(rows) * (A @ error[np.ix_(lacking, measured)])
                both[np.ix_(some, some)] += len(rows) * (A @ error[np.ix_(lacking, lacking)] @ A.T)
        return (total + total.T - both) / self.together


def edge_test(
    covariance: np.ndarray, degrees: float | np.ndarray, residuals: np.ndarray, unseen: Unseen | None = None
) -> EdgeTest:
    """Tests ω_ij = 0 for all pairs of outputs.

    ``covariance`` is that of the residuals and ``degrees`` its degrees of freedom n; ``residuals`` (N×m) tell what is
    not normal about them. Where some are missing, see :class:`Unseen`, ``degrees`` are those of every pair.
    """
    if unseen is not None:
        return _edge_test_of_measured(covariance, np.asarray(degrees), residuals, unseen)
    m, degrees = len(covariance), float(degrees)
    if m == 1:
        return EdgeTest(1.0 / covariance, np.ones((1, 1)), np.zeros((1, 1)), degrees)
    sd = np.sqrt(np.diag(covariance))
    units = np.outer(sd, sd)
    S, scale, weighted = covariance / units, _scale(residuals), residuals
    lam = _PENALTY[0] * np.sqrt(np.log(m) / degrees)
    fit = _Nodewise(S, lam, np.zeros((m, m)))
    lam *= _penalty(fit.neighbours, m, degrees) / _PENALTY[0]
    fit = _Nodewise(S, lam, fit.B)
    factor, nu = 1.0, np.inf
    for _ in range(_WEIGHTINGS):
        tails = tail_weights(residuals / scale, fit.network(_NOTICED / np.sqrt(degrees)), S)
        if tails is None:
            break
        factor, nu = tails.variance_factor, tails.degrees
        weighted = residuals * np.sqrt(tails.weights)[:, None]
        scale = _scale(weighted)
        S = (weighted / scale).T @ (weighted / scale) / len(weighted)
        np.fill_diagonal(S, 1.0)  # of an output without residuals, too
        fit = _Nodewise(S, lam, fit.B)
    variance = factor * fit.variance * _excess(fit.errors(weighted / scale))
    error = np.sqrt(variance / degrees)
    z = -fit.partial / error
    np.fill_diagonal(z, 0.0)
    return EdgeTest(fit.precision / units, error, z, degrees, nu)


def _edge_test_of_measured(covariance, degrees: np.ndarray, residuals, unseen: Unseen) -> EdgeTest:
    """As :func:`edge_test`, where residuals are missing and ``residuals`` has their expectations."""
    n, m = residuals.shape
    if m == 1:
        return EdgeTest(1.0 / covariance, np.ones((1, 1)), np.zeros((1, 1)), degrees)
    scale = np.sqrt(np.diag(covariance))
    S = covariance / np.outer(scale, scale)
    typical = float((degrees.sum() - np.trace(degrees)) / (m * (m - 1)))
    lam = _PENALTY[0] * np.sqrt(np.log(m) / typical)
    fit = _Nodewise(S, lam, np.zeros((m, m)))
    lam *= _penalty(fit.neighbours, m, typical) / _PENALTY[0]
    fit = _Nodewise(S, lam, fit.B, (residuals / scale, unseen.in_units(scale)))
    rest = covariance - (residuals.T @ residuals + unseen.spread) / n
    for _ in range(_FILLINGS):
        theta = fit.network(_NOTICED / np.sqrt(typical)) / np.outer(scale, scale)
        residuals, spread = conditional(residuals, theta, unseen.gaps)
        unseen = Unseen(unseen.gaps, theta, spread)
        S = rest + (residuals.T @ residuals + spread) / n
        scale = np.sqrt(np.diag(S))
        S = S / np.outer(scale, scale)
        fit = _Nodewise(S, lam, fit.B, (residuals / scale, unseen.in_units(scale)))
    factor, nu, weighted, sd = 1.0, np.inf, residuals, scale
    for _ in range(_WEIGHTINGS):
        tails = tail_weights(residuals / scale, fit.network(_NOTICED / np.sqrt(typical)), S, unseen.gaps)
        if tails is None:
            break
        factor, nu = tails.variance_factor, tails.degrees
        weighted = residuals * np.sqrt(tails.weights)[:, None]
        S = (weighted.T @ weighted + unseen.spread) / n
        scale = np.where(np.diag(S) > 0, np.sqrt(np.diag(S)), 1.0)
        S = S / np.outer(scale, scale)
        np.fill_diagonal(S, 1.0)
        fit = _Nodewise(S, lam, fit.B, (weighted / scale, unseen.in_units(scale)))
    measured = unseen.measured
    errors = fit.errors(weighted / scale) * measured
    counts = np.maximum(measured.sum(axis=0), 1.0)
    seen = (errors**2).sum(axis=0) / counts / fit.left
    variance = factor * np.outer(seen, seen) * fit.variance * _excess(errors, measured)
    error = np.where(unseen.together >= _FEWEST_TOGETHER, np.sqrt(variance / degrees), np.inf)
    z = -fit.partial / error
    np.fill_diagonal(z, 0.0)
    return EdgeTest(fit.precision / np.outer(sd, sd), error, z, degrees, nu)


class _Nodewise:
    """The regressions B at S, from a start that is overwritten, and what follows from them.

    ``partial`` is T_ij/sqrt(R_ii R_jj), the partial correlation but with the sign of ω_ij, and ``variance`` is n times
    its variance if residuals are normal. With ``measured``, residuals and what of them was not measured, R_ij is the
    mean over the samples that have i and j.
    """

    def __init__(self, S: np.ndarray, lam: float, B: np.ndarray, measured: tuple[np.ndarray, Unseen] | None = None):
        G = np.empty_like(S)
        _nodewise(np.ascontiguousarray(S), lam, B, G)
        self.B, self._sparse = B, csr_array(B)
        R = self.errors(G)
        if measured is not None:
            R = R + self._of_measured(*measured)
        left = np.diag(R)
        self.left = left.copy()
        self.partial = -(R + left[:, None] * B.T + left * B) / self._root
        np.fill_diagonal(self.partial, 1.0)
        if measured is not None:
            unseen = measured[1]
            self.partial -= unseen.wrong_expectations(unseen.omega - self.precision) * self._root
            np.fill_diagonal(self.partial, 1.0)

    # What follows at once is not kept: of thousands of outputs every matrix counts.
    @property
    def _root(self) -> np.ndarray:
        return np.sqrt(np.outer(self.left, self.left))

    @property
    def variance(self) -> np.ndarray:
        squared = self.B**2 * self.left / self.left[:, None]
        return 1.0 + np.maximum(squared, squared.T)

    def _of_measured(self, residuals: np.ndarray, unseen: Unseen) -> np.ndarray:
        """The mean of what samples add to R over those that have i and j, less the mean over all."""
        errors = self.errors(residuals)
        every = errors.T @ errors + self.errors(self.errors(unseen.spread).T)
        errors = errors * unseen.measured
        return (errors.T @ errors + unseen.among_measured(self._sparse)) / unseen.together - every / len(errors)

    @property
    def neighbours(self) -> float:
        """How many others an output is regressed on, on average."""
        return self._sparse.nnz / len(self.B)

    @property
    def precision(self) -> np.ndarray:
        return self.partial / self._root

    def errors(self, rows: np.ndarray) -> np.ndarray:
        """Every row e as (I − B)e."""
        return rows - (self._sparse @ rows.T).T

    def network(self, least: float) -> np.ndarray:
        """Θ of the partial correlations that are at least so large.

        It is drawn to its diagonal as far as it must to be positive definite.
        """
        off = np.where(np.abs(self.partial) >= least, self.precision, 0.0)
        np.fill_diagonal(off, 0.0)
        while True:
            theta = off + np.diag(1.0 / self.left)
            if np.isfinite(log_determinant(theta)):
                return theta
            off *= 0.5


def _penalty(neighbours: float, m: int, degrees: float) -> float:
    """c, with ``neighbours`` s found at the least c."""
    return float(np.clip(np.sqrt(_BIAS * np.sqrt(degrees) / (max(neighbours, 1e-3) * np.log(m))), *_PENALTY))


def _scale(residuals: np.ndarray) -> np.ndarray:
    """Root mean squares; one where they are zero."""
    scale = np.sqrt(np.mean(residuals**2, axis=0))
    return np.where(scale > 0, scale, 1.0)


def _excess(errors: np.ndarray, measured: np.ndarray | None = None) -> np.ndarray:
    """Factors by which the variances exceed those of normal errors, from how squared errors go together.

    A pair's own factor has a standard error of 2/N^½ if errors are normal, as their squares have a variance of two.
    Errors that are not ``measured`` are zero and do not count.
    """
    n, m = errors.shape
    errors = errors / _scale(errors)
    if measured is not None:
        n = np.maximum(measured.T @ measured, 1.0)
        errors = errors * np.sqrt(np.maximum(measured.sum(axis=0), 1.0) / len(errors))
    correlation = errors.T @ errors / n
    own = (errors**2).T @ errors**2 / n / (1.0 + 2.0 * correlation**2)
    common = max((own.sum() - np.trace(own)) / (m * (m - 1)), 1.0)
    clearly = own > common * (1.0 + _CLEARLY * 2.0 / np.sqrt(n))
    return np.where(clearly, own, common)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _gradient(S, i, beta, index, count, out):
    """out = s_i − Σ_k β_k s_k over the first ``count`` places k in ``index``."""
    out[:] = S[i]
    for a in range(count):
        k = index[a]
        if beta[k] != 0.0:
            out -= beta[k] * S[k]


@njit(cache=True, nogil=True)
def _descend(S, lam, beta, index, count, g):
    """Coordinate descent on the first ``count`` places in ``index``; g = s_i − Sβ is kept up to date there only."""
    for _ in range(_MAX_PASSES):
        change = 0.0
        for a in range(count):
            k = index[a]
            u = g[k] + beta[k]
            new = np.sign(u) * max(abs(u) - lam, 0.0)
            step = new - beta[k]
            if step != 0.0:
                beta[k] = new
                change = max(change, abs(step))
                row = S[k]
                for b in range(count):
                    g[index[b]] -= step * row[index[b]]
        if change < _TOL:
            return


@njit(cache=True, nogil=True)
def _nodewise(S, lam, B, G):
    """All lassos, rows of B, and G = (I − B)S.

    Of each, only coefficients that are not zero or violate their optimality condition |g_k| ≤ λ take part; the others'
    conditions are looked at when these have settled.
    """
    m = len(S)
    index, inside = np.empty(m, np.int64), np.empty(m, np.bool_)
    for i in range(m):
        beta, g = B[i], G[i]
        count = 0
        for k in range(m):
            inside[k] = k == i or beta[k] != 0.0
            if beta[k] != 0.0:
                index[count] = k
                count += 1
        unsettled = count > 0
        while True:
            _gradient(S, i, beta, index, count, g)
            for k in range(m):
                if not inside[k] and abs(g[k]) > lam + _TOL:
                    index[count] = k
                    inside[k] = True
                    count += 1
                    unsettled = True
            if not unsettled:
                break
            _descend(S, lam, beta, index, count, g)
            unsettled = False
