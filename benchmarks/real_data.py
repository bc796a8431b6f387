"""Real data from a folder of downloads, for benchmarks and tests: TCGA (mRNA → pathway proteins) and A-shares.

The folder, named by the environment variable NARD_REAL_DATA, holds pathways.tsv, tcga/<CANCER>/{mrna,rppa}.tsv.gz and
ashares/daily.parquet.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from nard.data.names import antibody_key

_TUMOUR_TYPES = ("01", "06")
_MAX_MISSING = 0.2
_WINSOR = 5.0  # robust standard deviations


def real_data_folder() -> Path | None:
    folder = os.environ.get("NARD_REAL_DATA")
    return Path(folder) if folder else None


def _by_patient(table: pd.DataFrame) -> pd.DataFrame:
    """Samples in rows, tumours only, the first aliquot of each patient in alphabetical order."""
    table = table[sorted(column for column in table.columns if column[13:15] in _TUMOUR_TYPES)].T
    table.index = table.index.str[:12]
    return table[~table.index.duplicated()]


def load_tcga(folder: Path, cancer: str, genes: str = "pathway") -> tuple[pd.DataFrame, pd.DataFrame]:
    """X (mRNA; "pathway" or "all" genes) and Y (pathway proteins) of the patients who have both.

    Antibodies with over 20 % missing values go first, then patients with any. Raw counts are logged. Genes that are
    constant in half of the patients go, and the others are winsorised at 5 robust standard deviations: the z-scores
    have outliers beyond 1,000.
    """
    pathways = pd.read_csv(folder / "pathways.tsv", sep="\t")
    rppa = pd.read_csv(folder / "tcga" / cancer / "rppa.tsv.gz", sep="\t", index_col=0)
    mrna = pd.read_csv(folder / "tcga" / cancer / "mrna.tsv.gz", sep="\t", index_col=0)
    rppa.index = [antibody_key(name) for name in rppa.index]
    wanted = {antibody_key(name) for name in pathways["protein"]}
    Y = _by_patient(rppa[rppa.index.isin(wanted) & ~rppa.index.duplicated()])
    X = _by_patient(mrna)
    shared = Y.index.intersection(X.index)
    Y, X = Y.loc[shared], X.loc[shared]
    Y = Y.loc[:, Y.isna().mean() < _MAX_MISSING].dropna()
    X = X.loc[Y.index].dropna(axis=1)
    if genes == "pathway":
        wanted_genes = set(pathways["gene"].str.split(";").explode())
        X = X.loc[:, X.columns.isin(wanted_genes)]
    if X.to_numpy().min() >= 0 and X.to_numpy().max() > 1000:
        X = np.log2(X + 1.0)
    median = X.median()
    spread = 1.4826 * (X - median).abs().median()
    X, median, spread = X.loc[:, spread > 0], median[spread > 0], spread[spread > 0]
    return X.clip(median - _WINSOR * spread, median + _WINSOR * spread, axis=1), Y


def load_shares(days: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Open, high, low and close of every share on some days, next day's open, and the last of those days' close.

    The few missing days take the last known price. Prices stay as they are: adjusted backwards, some are negative, so
    there is no logarithm to take.
    """
    daily = pd.read_parquet(real_data_folder() / "ashares" / "daily.parquet")
    tables = [
        daily.pivot_table(index="date", columns="ticker", values=price).ffill().bfill().to_numpy()
        for price in ("open", "high", "low", "close")
    ]
    n = len(tables[0]) - days
    X = np.concatenate([table[day : day + n] for day in range(days) for table in tables], axis=1)
    return X.astype(float), tables[0][days:].astype(float), tables[3][days - 1 : days - 1 + n].astype(float)
