"""The four algorithms: pure functions from a :class:`Problem` and a starting :class:`State` to a :class:`Fit`."""

from nard.algorithms.evidence import Data, Fit, Problem, State
from nard.algorithms.rough import VARIANTS, RoughPass, make_problem, minimise, starting_state

__all__ = ["VARIANTS", "Data", "Fit", "Problem", "RoughPass", "State", "make_problem", "minimise", "starting_state"]
