"""95 % intervals of findings, from what their tables say.

An interval inverts the test of its row: it excludes zero exactly where p < 0.05. The tests use Student's t, whose
degrees of freedom the tables do not name, but z and p together tell them.

- Associations: weight ± t·sd. A method that has an sd but no test (a posterior) gets the normal quantile for t.
- Edges: what is tested is an entry of the precision matrix, T ± t·T/z. The partial correlation is −T over the root of
  two diagonal entries. These are held fixed, so that the interval is r ± t·|r/z|, cut off at ±1.

Each interval is for its row alone: among the many that were looked at, those of selected findings are too narrow.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtridf, stdtrit

__all__ = ["association_intervals", "edge_intervals"]

_UPPER = 0.975
# z and p tell the degrees of freedom best where the tails of t and of the normal distribution differ.
_TELLING = 3.0


def association_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """``lower`` and ``upper`` of every weight; missing where the method gives no standard deviation."""
    quantile = pd.Series(ndtri(_UPPER), table.index)
    for _, rows in table[table["z"].notna()].groupby("target", sort=False):
        quantile[rows.index] = _t_quantile(rows)
    half = quantile * table["sd"]
    return pd.DataFrame({"lower": table["weight"] - half, "upper": table["weight"] + half})


def edge_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """``lower`` and ``upper`` of every partial correlation; missing where the method has no test."""
    tested = table[table["z"].notna() & (table["z"] != 0)]
    half = _t_quantile(tested) * (tested["partial_correlation"] / tested["z"]).abs() if len(tested) else tested["z"]
    half = half.reindex(table.index)
    value = table["partial_correlation"]
    return pd.DataFrame({"lower": (value - half).clip(-1, 1), "upper": (value + half).clip(-1, 1)})


def _t_quantile(rows: pd.DataFrame) -> float:
    """The quantile of the t distribution by which these rows were tested, all with the same degrees of freedom."""
    z = rows["z"].abs().to_numpy()
    telling = np.argmin(np.abs(z - _TELLING))
    degrees = stdtridf(rows["pvalue"].to_numpy()[telling] / 2, -z[telling])
    return float(stdtrit(degrees, _UPPER))
