"""95 % intervals of findings, from what their tables say: estimate ± t·sd.

t is the quantile of Student's distribution with the row's degrees of freedom, so that an interval inverts the test of
its row: it excludes zero exactly where p < 0.05. A method that has an sd but no test (a posterior) gets the normal
quantile. In partial correlations the variances of the two outputs' residuals are held fixed, and no interval goes
beyond ±1.

Each interval is for its row alone: among the many that were looked at, those of selected findings are too narrow.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import stdtrit

__all__ = ["association_intervals", "edge_intervals"]

_UPPER = 0.975


def association_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """``lower`` and ``upper`` of every weight; missing where the method gives no standard deviation."""
    # A table without rows does not tell that these are numbers.
    degrees, sd = table["degrees"].astype(float), table["sd"].astype(float)
    half = stdtrit(degrees.fillna(np.inf), _UPPER) * sd
    return pd.DataFrame({"lower": table["weight"] - half, "upper": table["weight"] + half})


def edge_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """``lower`` and ``upper`` of every partial correlation; missing where the method has no test."""
    return association_intervals(table.assign(weight=table["partial_correlation"])).clip(-1, 1)
