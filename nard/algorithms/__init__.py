"""The four algorithms: pure functions from a :class:`Problem` and a starting :class:`State` to a :class:`Fit`."""

from nard.algorithms.evidence import Data, Fit, Problem, State
from nard.algorithms.rough import METHODS, RoughPass, make_problem, minimise, starting_state

__all__ = ["METHODS", "Data", "Fit", "Problem", "RoughPass", "State", "make_problem", "minimise", "starting_state"]
