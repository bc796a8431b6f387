"""What users pass to ``fit``: checks that say which column, what was found and what to do, and columns' names."""

from __future__ import annotations

import numbers
import warnings

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted, validate_data

from nard.errors import DataError

__all__ = [
    "CheckedDataMixin",
    "check_magnitudes",
    "check_missing",
    "check_orientation",
    "check_outputs",
    "check_same_samples",
    "column_names",
    "dependent_columns",
    "require",
]

_SHOWN = 5
_FEWEST_SAMPLES = 3
# Values of an output that lacks some: fewer tell neither its variance nor what it depends on.
_FEWEST_VALUES = 10
# A column is a copy or a combination of others if these leave no more of its variance than this.
_LEFT_OVER = 0.01
_MOST_PARTS = 5
_SPARE = 10
# Columns that are compared with all before at a time, and digits of their likeness.
_BLOCK = 500
_DIGITS = 6
# What varies less, relative to its size, is constant but for rounding.
_CONSTANT = 1e-12
# Fits multiply variances, and the fourth power of anything beyond it, or below its inverse, is infinite or zero.
_LARGEST = 1e75


def some(names) -> str:
    """A few names for an error message."""
    names = [str(name) for name in names]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more


def column_names(data, what: str) -> list[str] | None:
    """Column names of a DataFrame or a named Series, else None; duplicates are an error."""
    if isinstance(data, pd.Series):
        return None if data.name is None else [str(data.name)]
    if isinstance(data, pd.DataFrame):
        names = pd.Index([str(name) for name in data.columns])
        if names.has_duplicates:
            raise ValueError(
                f"{what} has duplicate column names: {some(names[names.duplicated()].unique())}. "
                "Rename or merge these columns, so that the findings can tell them apart."
            )
        return names.tolist()
    return None


def check_missing(data, what: str, gaps: bool = False) -> None:
    """NaN, unless ``gaps`` are allowed, and infinities, with the columns they are in."""
    if not isinstance(data, pd.DataFrame | np.ndarray) or data.ndim != 2 or np.iscomplexobj(data):
        return
    if isinstance(data, np.ndarray) and data.dtype.kind in "biuf" and np.isfinite(data.sum(dtype=float)):
        return  # without a copy of what may be gigabytes
    table = pd.DataFrame(data)
    try:
        values = table.to_numpy(dtype=float)
        bad = np.isinf(values) if gaps else ~np.isfinite(values)
    except (TypeError, ValueError):
        return  # left to the conversion that follows, which says which value is no number
    if bad.any():
        row = int(np.flatnonzero(bad.any(axis=1))[0])
        raise ValueError(
            f"{what} contains {'infinity' if gaps else 'NaN or infinity'}: {int(bad.sum())} values "
            f"in {int(bad.any(axis=0).sum())} column(s) "
            f"({some(table.columns[bad.any(axis=0)])}), first in row {table.index[row]!r}. "
            "Drop or impute them before the fit."
        )


def check_orientation(X, Y) -> None:
    """Different numbers of rows but equal numbers of columns: most likely samples in columns."""
    shapes: list[tuple] = [np.shape(table) if hasattr(table, "shape") else () for table in (X, Y)]
    if all(len(shape) == 2 for shape in shapes):
        (n_x, d), (n_y, m) = shapes
        if n_x != n_y and d == m:
            raise ValueError(
                f"X has {n_x} rows and Y {n_y}: inconsistent numbers of samples. Both have {d} columns; samples belong "
                "in rows: fit(X.T, Y.T)?"
            )


def check_same_samples(X, Y) -> None:
    """Two tables must hold the same samples in the same order."""
    if not (isinstance(X, pd.DataFrame) and isinstance(Y, pd.DataFrame | pd.Series)) or len(X) != len(Y):
        return
    if X.index.equals(Y.index):
        return
    if X.index.has_duplicates or Y.index.has_duplicates:
        raise ValueError("X and Y are indexed differently, and samples are repeated: give both the same unique index.")
    if X.index.isin(Y.index).all():
        raise ValueError("X and Y hold the same samples in a different order. Reorder: Y = Y.loc[X.index].")
    raise ValueError(
        f"X and Y are indexed by different samples (X has {some(X.index[~X.index.isin(Y.index)])}, which Y has not). "
        "Select the shared ones: shared = X.index.intersection(Y.index); X, Y = X.loc[shared], Y.loc[shared]."
    )


def check_magnitudes(values: np.ndarray, names: list[str], what: str) -> None:
    """Finite numbers whose powers are not, and differences whose powers vanish: most likely a code for missing."""
    if not len(values):
        return
    low, high = np.fmin.reduce(values).astype(float), np.fmax.reduce(values).astype(float)
    largest = np.maximum(high, -low)
    with np.errstate(over="ignore"):
        spread = high - low
    beyond = (largest > _LARGEST) | ((spread > 0) & (spread < 1 / _LARGEST))
    if beyond.any():
        first = int(np.flatnonzero(beyond)[0])
        raise DataError(
            f"{what} has values too large or too small to compute with in {int(beyond.sum())} column(s) "
            f"({some(np.array(names)[beyond])}), up to {largest[first]:g} in {names[first]!r}; "
            f"expected: differences from {1 / _LARGEST:g} to {_LARGEST:g}. Correct them, drop them if "
            "they stand for missing values, or express the columns in other units."
        )


def check_outputs(Y: np.ndarray, names: list[str]) -> None:
    """A constant output has no variance to explain and no correlation with any other; one of few values, too little."""
    count = np.count_nonzero(~np.isnan(Y), axis=0)
    few = (count < len(Y)) & (count < _FEWEST_VALUES)
    if few.any():
        first = int(np.flatnonzero(few)[0])
        raise ValueError(
            f"{int(few.sum())} output(s) have too few values: {some(np.array(names)[few])}; found: {count[first]} in "
            f"{names[first]!r}, of {len(Y)} samples; expected: at least {_FEWEST_VALUES} of an output with gaps. "
            "Drop them from Y."
        )
    high, low = np.fmax.reduce(Y, axis=0), np.fmin.reduce(Y, axis=0)
    constant = high - low <= _CONSTANT * np.maximum(np.abs(high), np.abs(low))
    if constant.any():
        raise ValueError(
            f"{int(constant.sum())} output(s) are constant: {some(np.array(names)[constant])}. Drop them from Y."
        )


def dependent_columns(Y: np.ndarray) -> list[tuple[int, list[int]]]:
    """The columns that are copies or linear combinations of earlier ones: each with those, at most five of them.

    Values may be missing: copies are told by the samples that both have, if these are at least half; combinations by
    those without a gap, as long as there are ten more of them than columns before. A constant column follows from none.
    """
    present = ~np.isnan(Y)
    found = _copies(Y, present)
    whole = present.all(axis=1)
    n, Z = int(whole.sum()), _units(Y[whole], present[whole])
    apart = np.setdiff1d(np.flatnonzero(Z.any(axis=0)), [j for j, _ in found])
    others = apart[: max(n - 1 - _SPARE, 0)]
    left = np.diag(np.linalg.qr(Z[:, others], mode="r")) ** 2
    # Per degree of freedom, since unrelated columns, too, explain each other where they are nearly as many as samples.
    explained = left * (n - 1) / (n - 1 - np.arange(len(left))) <= _LEFT_OVER
    found += [(int(j), _parts(Z, int(j), others[~explained & (others < j)])) for j in others[explained]]
    return sorted(found)


def _copies(Y: np.ndarray, present: np.ndarray) -> list[tuple[int, list[int]]]:
    """The columns that are copies of earlier ones, each with the one that it is most like."""
    n, m = Y.shape
    Z, nearest = _units(Y, present), np.zeros(m, dtype=int)
    # All likenesses at once would be m × m numbers.
    for first in range(0, m, _BLOCK):
        block = np.arange(first, min(first + _BLOCK, m))
        likeness = np.abs(Z[:, : block[-1] + 1].T @ Z[:, block]).round(_DIGITS)
        # Of several that are equal but for rounding, the first.
        nearest[block] = np.triu(likeness, 1 - first).argmax(axis=0)
    both = present & present[:, nearest]
    likeness = (_units(Y, both) * _units(Y[:, nearest], both)).sum(axis=0)
    alike = (likeness**2 > 1 - _LEFT_OVER) & (2 * both.sum(axis=0) >= n) & (nearest < np.arange(m))
    return [(int(j), [int(nearest[j])]) for j in np.flatnonzero(alike)]


def _units(Y: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Columns of mean zero and length one over the values that are present, zero elsewhere; constant ones are zero."""
    Z = np.where(present, Y, 0.0)
    largest = np.abs(Z).max(axis=0, initial=0.0)
    Z -= present * (Z.sum(axis=0) / np.maximum(present.sum(axis=0), 1))
    length = np.linalg.norm(Z, axis=0)
    return Z * (length > _CONSTANT * largest) / np.where(length > 0, length, 1.0)


def _parts(Z: np.ndarray, j: int, others: np.ndarray) -> list[int]:
    """Those of the others that make up column j of centred columns of length one, taken one by one."""
    parts: list[int] = []
    rest = Z[:, j]
    while len(parts) < _MOST_PARTS and rest @ rest > _LEFT_OVER:
        parts.append(int(others[np.argmax(np.abs(rest @ Z[:, others]))]))
        rest = Z[:, j] - Z[:, parts] @ np.linalg.lstsq(Z[:, parts], Z[:, j], rcond=None)[0]
    return sorted(parts)


def require(condition: bool, name: str, found, expected: str) -> None:
    if not condition:
        raise ValueError(f"{name} must be {expected}, found {found!r}.")


def is_number(value) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _missing(Y) -> np.ndarray | None:
    """Where Y is NaN; None if nowhere, or if it is no table of numbers, which the checks that follow report."""
    try:
        missing = np.isnan(np.asarray(Y, dtype=float))
    except (TypeError, ValueError):
        return None
    return missing if missing.any() else None


# Types of numbers of half the size of others, or less, and how many are worth the trouble.
_SHORT = (np.int8, np.uint8, np.int16, np.float32)
_MANY = 5 * 10**7


class CheckedDataMixin:
    """Sets ``feature_labels_`` and ``target_labels_`` of an estimator that is fitted when it has ``coef_``."""

    feature_labels_: list[str]
    target_labels_: list[str]
    # Whether outputs may hold NaN.
    _takes_gaps = False

    @property
    def _keeps_short(self) -> bool:
        """Whether short numbers are worked with as they are."""
        return False

    def _takes_short(self, X) -> bool:
        return self._keeps_short and isinstance(X, np.ndarray) and X.dtype in _SHORT and X.size > _MANY

    def _validated(self, X, Y):
        """Checked float arrays; remembers names and whether Y was one-dimensional.

        Samples without any output are left out, with a warning.
        """
        if Y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_missing(X, "X")
        check_missing(Y, "Y", self._takes_gaps)
        check_orientation(X, Y)
        feature_names, target_names = column_names(X, "X"), column_names(Y, "Y")
        check_same_samples(X, Y)
        missing = _missing(Y) if self._takes_gaps else None
        if missing is not None:
            Y = np.where(missing, 0.0, np.asarray(Y, dtype=float))
        # Many short numbers stay what they are, be they in memory or in a file.
        kind = None if self._takes_short(X) else float
        X, Y = validate_data(
            self, X, Y, dtype=kind, multi_output=True, y_numeric=True, ensure_min_samples=_FEWEST_SAMPLES
        )
        Y = Y.astype(float)
        if missing is not None:
            Y[missing.reshape(Y.shape)] = np.nan
        self._one_dimensional = Y.ndim == 1
        Y = Y[:, None] if self._one_dimensional else Y
        empty = np.isnan(Y).all(axis=1)
        if empty.all():
            raise ValueError("Y has no values, NaN only: nothing to fit. Expected: numbers, NaN where missing.")
        if empty.any():
            warnings.warn(
                f"{int(empty.sum())} of {len(Y)} samples have no output at all, and are left out.", stacklevel=3
            )
            X, Y = X[~empty], Y[~empty]
        self.feature_labels_ = feature_names or [f"x{i}" for i in range(X.shape[1])]
        self.target_labels_ = target_names or [f"y{i}" for i in range(Y.shape[1])]
        check_magnitudes(X, self.feature_labels_, "X")
        check_magnitudes(Y, self.target_labels_, "Y")
        check_outputs(Y, self.target_labels_)
        return X, Y

    def _check_fitted(self):
        check_is_fitted(self, "coef_")
