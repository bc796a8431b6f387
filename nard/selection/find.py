"""All tests at a fitted model: of inputs, of entries and of edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nard.algorithms.coordinate import coordinates_at
from nard.algorithms.joint import JointFit, Preparation
from nard.selection.associations import associations_under_entries
from nard.selection.edges import EdgeTest, edge_test
from nard.selection.significance import (
    EntryTest,
    InputTest,
    entry_test,
    input_test,
    residual_covariance,
    residual_degrees,
)

__all__ = ["Findings", "find"]


@dataclass(frozen=True)
class Findings:
    """Tests of inputs, entries and edges under one fitted model."""

    inputs: InputTest
    entries: EntryTest
    edges: EdgeTest


def taken_by_hidden(covariance: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    """Lᵀ(LD⁻¹Lᵀ)⁻¹L with D the residual variances: what estimated hidden inputs took of V.

    In every sample F was estimated from the outputs themselves, by generalised least squares, so that the residuals
    have no variance along L. With few outputs that would look like edges.
    """
    if not len(loadings):
        return np.zeros_like(covariance)
    weighted = loadings / np.diag(covariance)
    return loadings.T @ np.linalg.solve(weighted @ loadings.T, loadings)


def find(preparation: Preparation, joint: JointFit, loadings: np.ndarray) -> Findings:
    """Everything that is tested: under the entry-wise model where there is one, else under the column-wise.

    ``loadings`` (k×m) are those of the hidden inputs.
    """
    problem, state, left = joint.problem, joint.state, preparation.degrees_left
    if preparation.with_entries:
        entries, inputs, E, degrees = associations_under_entries(
            problem, state.omega, joint.entries, preparation.prior, left
        )
        covariance = E.T @ E / np.sqrt(np.outer(degrees, degrees))
        np.fill_diagonal(covariance, np.diag(covariance) + problem.data.variance_floor)
        covariance += taken_by_hidden(covariance, loadings)
        return Findings(inputs, entries, edge_test(covariance, float(degrees.mean()), E))
    coordinates = coordinates_at(problem, state)
    coordinates.renew()
    inputs = input_test(problem, coordinates, state)
    active, mean = coordinates.mean()
    residuals = problem.Y - problem.X[:, active] @ mean
    # What the inputs explain by chance they take from V: only the degrees that they leave are counted.
    degrees = residual_degrees(problem, coordinates) * left
    covariance = residual_covariance(problem, coordinates) / left
    edges = edge_test(covariance + taken_by_hidden(covariance, loadings), degrees, residuals)
    return Findings(inputs, entry_test(problem, coordinates, inputs.variance_factor / left), edges)
