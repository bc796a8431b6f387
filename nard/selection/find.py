"""All tests at a fitted state, and the refit that follows from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nard.algorithms.coordinate import Coordinates
from nard.algorithms.evidence import Problem, State
from nard.selection.refit import SparseFit, refit
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
    """Tests of inputs and entries under the posterior, its residuals, and the sparse refit with its own."""

    inputs: InputTest
    entries: EntryTest
    residuals: np.ndarray
    residual_covariance: np.ndarray
    degrees: float
    sparse: SparseFit


def find(problem: Problem, state: State, lam: float, fdr: float) -> Findings:
    """Everything that is tested at a fitted state."""
    coordinates = Coordinates(problem, state.alpha)
    inputs = input_test(problem, coordinates, state)
    entries = entry_test(problem, coordinates, inputs.variance_factor)
    sparse = refit(problem, state.alpha, entries, state.omega, lam, fdr)
    # What the inputs explain by chance they take from V: only the degrees of freedom that they leave are counted.
    degrees = residual_degrees(problem, coordinates)
    active = np.isfinite(state.alpha)
    residuals = problem.Y - problem.X[:, active] @ (coordinates.Q[active] / state.alpha[active, None])
    return Findings(inputs, entries, residuals, residual_covariance(problem, coordinates), degrees, sparse)
