"""All tests at a fitted state, and the refit that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nard.algorithms.coordinate import Coordinates, coordinates_at
from nard.algorithms.evidence import Problem, State
from nard.selection.refit import SparseFit, refit
from nard.selection.significance import (
    EntryTest,
    InputTest,
    entry_scores,
    entry_test,
    input_test,
    residual_covariance,
    residual_degrees,
    select,
)

__all__ = ["Findings", "find"]


@dataclass(frozen=True)
class Findings:
    """Tests of inputs and entries under the posterior, its residuals, and the sparse refit with its own."""

    problem: Problem
    coordinates: Coordinates
    inputs: InputTest
    sparse: SparseFit

    @cached_property
    def entries(self) -> EntryTest:
        return entry_test(self.problem, self.coordinates, self.inputs.variance_factor)

    @property
    def degrees(self) -> float:
        """What the inputs explain by chance they take from V: only the degrees that they leave are counted."""
        return residual_degrees(self.problem, self.coordinates)

    @property
    def residual_covariance(self) -> np.ndarray:
        return residual_covariance(self.problem, self.coordinates)

    @property
    def residuals(self) -> np.ndarray:
        active, mean = self.coordinates.mean()
        return self.problem.Y - self.problem.X[:, active] @ mean


def find(problem: Problem, state: State, lam: float, fdr: float) -> Findings:
    """Everything that is tested at a fitted state."""
    coordinates = coordinates_at(problem, state)
    coordinates.renew()
    inputs = input_test(problem, coordinates, state)
    scores = entry_scores(problem, coordinates, inputs.variance_factor)
    support = select(scores, (problem.d, problem.m), residual_degrees(problem, coordinates), fdr)
    return Findings(problem, coordinates, inputs, refit(problem, state, support, lam, fdr))
