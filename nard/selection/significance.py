"""Calibrated tests of inputs, of entries of W and of entries of Ω.

"Finite α" is no finding: the evidence keeps about half of all irrelevant inputs with a tiny weight. What is calibrated
is the leave-one-out score. With C₋ⱼ the model's covariance over samples without input j,

    q_j = YᵀC₋ⱼ⁻¹x_j ~ N(s_j w_j, s_j V),    s_j = x_jᵀC₋ⱼ⁻¹x_j,

so that q_jᵀΩq_j/s_j ~ χ²_m tests the input and z_ij = q_ij/sqrt(V_ii s_j) the single entry, for pruned inputs as well
as active ones. Both are free of the shrinkage of w_j itself, which would make the test conservative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, false_discovery_control, norm
from scipy.stats import t as student

from nard.algorithms.coordinate import Coordinates
from nard.algorithms.evidence import Problem, State
from nard.covariance import graphical_lasso

__all__ = ["EdgeTest", "EntryTest", "InputTest", "edge_test", "entry_test", "input_test", "qvalues"]


@dataclass(frozen=True)
class InputTest:
    """Statistic and p-value of every input."""

    statistic: np.ndarray
    pvalue: np.ndarray


@dataclass(frozen=True)
class EntryTest:
    """Estimate, standard deviation and p-value of every entry of W, as d×m arrays."""

    weight: np.ndarray
    sd: np.ndarray
    pvalue: np.ndarray

    @property
    def z(self) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(np.isfinite(self.sd), self.weight / self.sd, 0.0)


@dataclass(frozen=True)
class EdgeTest:
    """De-sparsified precision, z and p-value of every pair of outputs, as m×m arrays."""

    precision: np.ndarray
    z: np.ndarray
    pvalue: np.ndarray


def two_sided(z: np.ndarray, degrees: np.ndarray | float | None = None) -> np.ndarray:
    """p-value of z under N(0, 1), or under Student's t with the given degrees of freedom."""
    tail = norm.sf(np.abs(z)) if degrees is None else student.sf(np.abs(z), degrees)
    return np.minimum(2.0 * tail, 1.0)


def qvalues(pvalues: np.ndarray) -> np.ndarray:
    """Benjamini and Hochberg's: the rows with q ≤ f have an expected fraction of at most f false ones."""
    if not np.size(pvalues):
        return np.array(pvalues)
    return false_discovery_control(np.clip(pvalues, 0.0, 1.0), axis=None).reshape(np.shape(pvalues))


def input_test(coordinates: Coordinates, state: State) -> InputTest:
    """q_jᵀΩq_j/s_j against χ²_m."""
    s, q = coordinates.leave_one_out()
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.where(s > 0, np.einsum("ij,ij->i", q @ state.omega, q) / s, 0.0)
    return InputTest(statistic, chi2.sf(statistic, q.shape[1]))


def entry_test(coordinates: Coordinates, state: State, degrees: float) -> EntryTest:
    """w_ij = q_ij/s_j with standard deviation sqrt(V_ii/s_j); an input without variance has an infinite one."""
    s, q = coordinates.leave_one_out()
    s = np.where(s > 0, s, np.nan)
    weight = np.nan_to_num(q / s[:, None])
    sd = np.nan_to_num(np.sqrt(np.diag(state.network.covariance) / s[:, None]), nan=np.inf)
    test = EntryTest(weight, sd, np.ones_like(weight))
    return EntryTest(weight, sd, two_sided(test.z, degrees))


def effective_parameters(problem: Problem, coordinates: Coordinates) -> float:
    """Σ γ_i = Σ (1 − α_iΣ_ii) = Σ S_i/α_i: how many degrees of freedom per output the active inputs use."""
    active = np.isfinite(coordinates.alpha)
    return float((coordinates.S[active] / coordinates.alpha[active]).sum())


def edge_test(covariance: np.ndarray, degrees: float) -> EdgeTest:
    """The de-sparsified graphical lasso T = 2Θ − ΘSΘ with Var T_ij ≈ (θ_iiθ_jj + θ_ij²)/n.

    ``covariance`` is S, the residual covariance, and ``degrees`` its degrees of freedom n. Θ is taken at
    λ = sqrt(ln m / n), the rate at which the bias of T vanishes, on the scale of the residual correlations.
    """
    m = len(covariance)
    sd = np.sqrt(np.diag(covariance))
    if m == 1:
        return EdgeTest(1.0 / covariance, np.zeros((1, 1)), np.ones((1, 1)))
    S = covariance / np.outer(sd, sd)
    theta = graphical_lasso(S, np.sqrt(np.log(m) / degrees), tol=1e-6, max_iter=1000).precision
    T = 2.0 * theta - theta @ S @ theta
    diagonal = np.diag(theta)
    z = T / np.sqrt((np.outer(diagonal, diagonal) + theta**2) / degrees)
    np.fill_diagonal(z, 0.0)
    return EdgeTest(T / np.outer(sd, sd), z, two_sided(z))
