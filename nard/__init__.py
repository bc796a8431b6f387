"""Network automatic relevance determination: which inputs matter, and how the outputs are wired."""

from nard.covariance import graphical_lasso
from nard.estimator import NARD

__version__ = "0.1.0"

__all__ = ["NARD", "__version__", "graphical_lasso"]
