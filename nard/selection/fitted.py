"""All tests at a fitted model: of inputs, of entries and of edges."""

from __future__ import annotations

import numpy as np

from nard.algorithms.coordinate import coordinates_at
from nard.algorithms.joint import JointFit
from nard.selection.associations import associations_under_entries
from nard.selection.edges import EdgeTest, edge_test
from nard.selection.significance import (
    EntryTest,
    InputTest,
    entry_test,
    input_test,
    residual_covariance,
)

__all__ = ["association_tests", "network_test"]


def taken_by_hidden(covariance: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    """Lᵀ(LD⁻¹Lᵀ)⁻¹L with D the residual variances: what estimated hidden inputs took of V.

    In every sample F was estimated from the outputs themselves, by generalised least squares, so that the residuals
    have no variance along L. With few outputs that would look like edges.
    """
    if not len(loadings):
        return np.zeros_like(covariance)
    weighted = loadings / np.diag(covariance)
    return loadings.T @ np.linalg.solve(weighted @ loadings.T, loadings)


def association_tests(joint: JointFit) -> tuple[InputTest, EntryTest]:
    """Tests of inputs and entries: under the entry-wise model where there is one, else under the column-wise."""
    problem, state, preparation = joint.problem, joint.state, joint.preparation
    left = preparation.degrees_left
    if preparation.prior is not None:
        return associations_under_entries(
            preparation.filled, problem, state.omega, joint.entries, preparation.prior, preparation.n_hidden, left
        )
    coordinates = coordinates_at(problem, state)
    coordinates.renew()
    inputs = input_test(problem, coordinates, state)
    return inputs, entry_test(problem, coordinates, inputs.variance_factor / left)


def network_test(joint: JointFit, loadings: np.ndarray) -> EdgeTest:
    """Tests of the edges in the residuals of U and B; ``loadings`` (k×m) are those of the hidden inputs.

    What effects and hidden inputs explain by chance they take from V: only the degrees that they leave count. U takes
    none, as YᵀC⁻¹Y with C = I + XK⁻¹Xᵀ is the scatter of N independent rows, C^(−½)Y, whatever inputs are active.
    """
    problem, state, preparation = joint.problem, joint.state, joint.preparation
    left = preparation.degrees_left
    degrees = np.maximum((problem.n - 1.0) * left - joint.entries.used, 1.0)
    if preparation.prior is not None and not np.isfinite(state.alpha).any():
        covariance, residuals = problem.yty / np.sqrt(np.outer(degrees, degrees)), problem.Y
        np.fill_diagonal(covariance, np.diag(covariance) + problem.data.variance_floor)
    else:
        coordinates = coordinates_at(problem, state)
        coordinates.renew()
        active, mean = coordinates.mean()
        residuals = problem.Y - problem.X[:, active] @ mean
        covariance = residual_covariance(problem, coordinates) / left
    return edge_test(covariance + taken_by_hidden(covariance, loadings), float(degrees.mean()), residuals)
