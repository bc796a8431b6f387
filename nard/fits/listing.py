"""Which rows the tables of findings have: all candidates, or, of many millions, those that anybody would look at."""

from __future__ import annotations

import pandas as pd

from nard.fits.memory import MOST_ROWS

__all__ = ["MORE_EDGES", "edges_listed", "listed_edges"]

# Of the pairs that are not selected, so many are listed where there are too many for all.
MORE_EDGES = 10_000


def edges_listed(n_outputs: int) -> str:
    """What ``fit.json`` says of the table of edges."""
    return "all" if n_outputs * (n_outputs - 1) // 2 <= MOST_ROWS else "selected and surest others"


def listed_edges(model, fdr: float, n_outputs: int, more: int = MORE_EDGES) -> pd.DataFrame:
    """The edges of a fit with at most ``more`` that are not selected, if there are too many pairs to list them all."""
    return model.edges(fdr) if edges_listed(n_outputs) == "all" else model.edges(fdr, most=more)
