"""Steps of a preparation on one table (samples × features), each of which says in the ledger what it did."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtri

from nard.data.ledger import Ledger
from nard.errors import DataError

__all__ = [
    "adjusted",
    "design_matrix",
    "drop_constant",
    "fill_missing",
    "logged",
    "looks_raw",
    "shape_facts",
    "standardised",
    "tamed",
    "thin_missing",
]

# Logarithms of counts to base 2 stay below 30, raw normalised counts reach 1e5.
_LARGEST_LOGARITHM = 50.0
_ROBUST_SDS = 5.0
_SD_PER_MAD = 1.4826
# Half of the features of linear measurements are more skewed than this, even with their outliers pulled in. In TCGA's
# cancers they have 1.2 to 1.4, logarithms and antibodies −0.8 to 0.6, and up to 0.75 in parts of a cohort.
_SKEWED = 0.9
# Share of the features of a side that is worth a word.
_MANY = 0.05
# So many features tell what is typical of all.
_TYPICAL = 500
_NEIGHBOURS = 10
_ROUNDING = 1e-16


def looks_raw(values: np.ndarray) -> bool:
    """Whether no logarithms could be so large: counts, or normalised counts."""
    return np.nanmin(values) >= 0 and np.nanmax(values) > _LARGEST_LOGARITHM


def logged(values: pd.DataFrame, choice, side: str, where: str, ledger: Ledger) -> pd.DataFrame:
    """log2(x + 1) if chosen, or if ``choice`` is "auto" and no logarithm could be so large."""
    smallest, largest = np.nanmin(values.to_numpy()), np.nanmax(values.to_numpy())
    raw = looks_raw(values.to_numpy())
    if choice == "auto":
        choice = raw
    elif choice is False and raw:
        ledger.note("looks raw", side=side, largest=float(largest))
    if not choice:
        return values
    if smallest < 0:
        feature = values.min().idxmin()
        sample = values[feature].idxmin()
        raise DataError(
            f"{where}: negative value {smallest:g} (sample {sample}, feature {feature}), and `log: true` asks for\n"
            "  logarithms.\n"
            "  expected: counts, none below 0\n"
            "  to fix: these are logarithms or z-scores already; set `preprocessing.log: false` or leave it at auto"
        )
    ledger.note("logarithms", side=side, smallest=float(smallest), largest=float(largest))
    return np.log2(values + 1.0)


def thin_missing(values: pd.DataFrame, most: float, side: str, ledger: Ledger) -> pd.DataFrame:
    """Without the features that lack more than the share ``most`` of their values."""
    share = values.isna().mean()
    empty, sparse = share.index[share == 1], share.index[(share > most) & (share < 1)]
    ledger.drop(side, "features", empty, "empty")
    ledger.drop(side, "features", sparse, "few values", limit=most)
    return values.loc[:, (share <= most) & (share < 1)]


def fill_missing(values: pd.DataFrame, how: str, side: str, ledger: Ledger) -> pd.DataFrame:
    """Missing values filled by each feature's median, or by the mean of the ten most similar samples."""
    n = int(values.isna().to_numpy().sum())
    if how == "none" or n == 0:
        return values
    ledger.note("filled in", side=side, count=n, share=n / values.size, how=how)
    if how == "median":
        return values.fillna(values.median())
    from sklearn.impute import KNNImputer

    # In units of standard deviations: which samples are similar must not depend on the units of the features.
    scale = values.std(ddof=0).replace(0.0, 1.0)
    filled = KNNImputer(n_neighbors=_NEIGHBOURS).fit_transform((values / scale).to_numpy())
    return values.fillna(pd.DataFrame(filled, values.index, values.columns) * scale)


def drop_constant(values: pd.DataFrame, outliers: str, side: str, ledger: Ledger) -> pd.DataFrame:
    """Without constant features; if outliers are to be winsorised, also without those whose robust spread is zero."""
    constant = (values == values.iloc[0]).all()
    ledger.drop(side, "features", values.columns[constant], "constant")
    values = values.loc[:, ~constant]
    if outliers != "winsorise":
        return values
    flat = mostly_one_value(values)
    ledger.drop(side, "features", values.columns[flat], "mostly one value")
    return values.loc[:, ~flat]


def shape_facts(values: pd.DataFrame, side: str) -> list[dict]:
    """What in the distributions of its features speaks against the tests, as facts."""
    facts = [_skewed(values, side)]
    sparse = list(values.columns[mostly_one_value(values)])
    if len(sparse) > _MANY * values.shape[1]:
        facts.append({"code": "sparse", "side": side, "count": len(sparse), "names": sparse[:3]})
    return [fact for fact in facts if fact]


def _skewed(values: pd.DataFrame, side: str) -> dict | None:
    # Of many features, some at even distances tell what is typical.
    some = values.iloc[:, :: max(1, values.shape[1] // _TYPICAL)]
    skewness = float(_pulled_in(some).skew().median())
    if not skewness > _SKEWED:
        return None
    smallest, largest = float(values.min().min()), float(values.max().max())
    return {
        "code": "skewed",
        "side": side,
        "skewness": skewness,
        "smallest": smallest,
        "largest": largest,
    }


def _pulled_in(values: pd.DataFrame) -> pd.DataFrame:
    """Values beyond five robust standard deviations at that distance."""
    median = values.median()
    reach = _ROBUST_SDS * _SD_PER_MAD * (values - median).abs().median()
    return values.clip(median - reach, median + reach, axis=1)


def mostly_one_value(values: pd.DataFrame) -> pd.Series:
    """Whether at least half of a feature's samples have the same value: zero, or a limit of detection."""
    return (values != values.median()).sum() * 2 <= len(values)


def tamed(values: pd.DataFrame, how: str, side: str, ledger: Ledger) -> pd.DataFrame:
    """Outliers pulled in to five robust standard deviations, or normal scores in place of the values."""
    if how == "rank_normal":
        ledger.note("normal scores", side=side)
        scores = ndtri((values.rank().to_numpy() - 0.5) / len(values))
        return pd.DataFrame(scores, values.index, values.columns)
    skewed = _skewed(values, side)
    if skewed:
        ledger.note(**skewed)
    if how == "none":
        return values
    clipped = _pulled_in(values)
    n = int((clipped != values).to_numpy().sum())
    if n:
        ledger.note("winsorised", side=side, count=n, share=n / values.size)
    return clipped


def design_matrix(covariates: pd.DataFrame) -> np.ndarray:
    """An intercept, the numeric covariates, and an indicator of each further category of the others."""
    columns = pd.get_dummies(covariates, drop_first=True, dtype=float).to_numpy(dtype=float)
    return np.column_stack([np.ones(len(covariates)), columns - columns.mean(axis=0)])


def adjusted(values: pd.DataFrame, covariates: pd.DataFrame, side: str, ledger: Ledger) -> pd.DataFrame:
    """Residuals of each feature's least-squares regression on the covariates.

    A feature that they explain entirely is dropped: its residuals are rounding errors.
    """
    design = design_matrix(covariates)
    coef, _, rank, _ = np.linalg.lstsq(design, values.to_numpy(), rcond=None)
    names = [str(name) for name in covariates.columns]
    if len(values) < 2 * rank:
        raise DataError(
            f"config key `preprocessing.adjust`: {', '.join(names)} make {rank} columns for {len(values)} samples.\n"
            "  expected: at most one column for two samples; a text column has one for each of its values\n"
            "  to fix: leave out the column with so many values, or turn it into a number"
        )
    residuals = values - design @ coef
    explained = (residuals.var() <= _ROUNDING * values.var()).to_numpy()
    ledger.drop(side, "features", values.columns[explained], "explained", columns=names)
    ledger.note("adjusted", side=side, columns=names)
    return residuals.loc[:, ~explained]


def standardised(values: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    return (values - values.mean()) / values.std(ddof=0)
