"""What every estimator does first: check X and Y, and remember the names of their columns."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted, validate_data

from nard.validation import (
    check_magnitudes,
    check_missing,
    check_orientation,
    check_outputs,
    check_same_samples,
    column_names,
)

__all__ = ["CheckedDataMixin"]

_FEWEST_SAMPLES = 3


class CheckedDataMixin:
    """Sets ``feature_labels_`` and ``target_labels_`` of an estimator that is fitted when it has ``coef_``."""

    def _validated(self, X, Y):
        """Checked float arrays; remembers names and whether Y was one-dimensional."""
        if Y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        for data, what in ((X, "X"), (Y, "Y")):
            check_missing(data, what)
        check_orientation(X, Y)
        feature_names, target_names = column_names(X, "X"), column_names(Y, "Y")
        check_same_samples(X, Y)
        X, Y = validate_data(
            self, X, Y, dtype=float, multi_output=True, y_numeric=True, ensure_min_samples=_FEWEST_SAMPLES
        )
        Y = Y.astype(float)
        self._one_dimensional = Y.ndim == 1
        Y = Y[:, None] if self._one_dimensional else Y
        self.feature_labels_ = feature_names or [f"x{i}" for i in range(X.shape[1])]
        self.target_labels_ = target_names or [f"y{i}" for i in range(Y.shape[1])]
        check_magnitudes(X, self.feature_labels_, "X")
        check_magnitudes(Y, self.target_labels_, "Y")
        check_outputs(Y, self.target_labels_)
        return X, Y

    def _check_fitted(self):
        check_is_fitted(self, "coef_")
