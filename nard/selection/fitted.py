"""All tests at a fitted model: of inputs, of entries and of edges."""

from __future__ import annotations

import numpy as np

from nard.algorithms.coefficients import fitted_by
from nard.algorithms.coordinate import coordinates_at
from nard.algorithms.joint import JointFit
from nard.algorithms.missing import sample_precision
from nard.selection.associations import associations_under_entries
from nard.selection.edges import EdgeTest, Unseen, edge_test
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
            preparation.filled,
            preparation.data.leaving(problem.Y),
            state.omega,
            joint.entries,
            preparation.prior,
            preparation.n_hidden,
            left,
        )
    coordinates = coordinates_at(problem, state)
    coordinates.renew()
    inputs = input_test(problem, coordinates, state, preparation.filled)
    return inputs, entry_test(problem, coordinates, inputs.variance_factor / left, preparation.filled)


def network_test(joint: JointFit, loadings: np.ndarray) -> EdgeTest:
    """Tests of the edges in the residuals of U and B; ``loadings`` (k×m) are those of the hidden inputs.

    What effects and hidden inputs explain by chance they take from V: only the degrees that they leave count. U takes
    none, as YᵀC⁻¹Y with C = I + XK⁻¹Xᵀ is the scatter of N independent rows, C^(−½)Y, whatever inputs are active.
    """
    problem, state, preparation = joint.problem, joint.state, joint.preparation
    left = preparation.degrees_left
    if preparation.filled.spread is not None:
        return _network_test_of_measured(joint, loadings)
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


def _network_test_of_measured(joint: JointFit, loadings: np.ndarray) -> EdgeTest:
    """As :func:`network_test`, where outputs are missing: residuals AE of samples, with their expectations.

    What hidden inputs and effects leave of the degrees of freedom of each output, they leave of a pair's samples.
    """
    problem, state, preparation = joint.problem, joint.state, joint.preparation
    filled, left = preparation.filled, preparation.degrees_left
    data = filled.data
    assert data.gaps is not None
    assert filled.spread is not None
    n, samples = len(data.Y), np.asarray(preparation.samples)
    kept = np.maximum((samples - 1.0) * left - joint.entries.used, 1.0) / samples
    A = sample_precision(data.X, preparation.hidden, state.alpha)
    E = data.Y - fitted_by(data.X, joint.entries.coef())
    residuals = A @ E
    # Expectations of samples of which hidden inputs took a part.
    scale = np.sqrt(n / (problem.n * (kept if not np.isfinite(state.alpha).any() else left)))
    pairs = np.outer(scale, scale) / n
    covariance = (E.T @ residuals + filled.spread) * pairs + np.diag(problem.data.variance_floor)
    unseen = Unseen(data.gaps, state.omega, filled.spread).in_units(1.0 / scale)
    degrees = unseen.together * (1.0 - preparation.n_hidden / n) * np.sqrt(np.outer(kept, kept))
    return edge_test(covariance + taken_by_hidden(covariance, loadings), degrees, residuals * scale, unseen)
