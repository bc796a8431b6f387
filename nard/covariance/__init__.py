"""Densities and the graphical lasso."""

from nard.covariance.columns import linear_terms
from nard.covariance.gaps import Gaps, gaps_of
from nard.covariance.gaussian import (
    conditional,
    density_at,
    distances,
    inverse_and_logdet,
    inverse_spd,
    log_density,
    log_determinant,
    solve_spd,
)
from nard.covariance.glasso import GraphicalLassoResult, glasso_objective, graphical_lasso, quiet_graphical_lasso

__all__ = [
    "Gaps",
    "GraphicalLassoResult",
    "conditional",
    "density_at",
    "distances",
    "gaps_of",
    "glasso_objective",
    "graphical_lasso",
    "inverse_and_logdet",
    "inverse_spd",
    "linear_terms",
    "log_density",
    "log_determinant",
    "quiet_graphical_lasso",
    "solve_spd",
]
