"""What all baselines share: checked data, and findings and predictions with the surface of :class:`nard.NARD`.

A baseline selects by its own rule (non-zero, posterior inclusion, credible interval). It tests nothing, so its tables
have no p-values, and their ``fdr`` is there only so that all methods are called alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import validate_data

from nard.covariance import inverse_spd, log_density
from nard.estimator.scaling import Scaler
from nard.export.graphs import findings_graph
from nard.inputs import CheckedDataMixin, require

__all__ = ["Baseline", "Estimate"]


@dataclass(frozen=True)
class Estimate:
    """What a baseline finds, in the units of the data it was given.

    Attributes
    ----------
    W : ndarray of shape (m, d)
        Coefficients.
    omega : ndarray of shape (m, m)
        Residual precision, positive definite.
    W_selected, omega_selected : ndarray of bool
        The findings; of Ω the off-diagonal ones count.
    W_sd, omega_sd : ndarray or None
        Posterior standard deviations, where there is a posterior.
    """

    W: np.ndarray
    omega: np.ndarray
    W_selected: np.ndarray
    omega_selected: np.ndarray
    W_sd: np.ndarray | None = None
    omega_sd: np.ndarray | None = None

    def in_units_of(self, scaler: Scaler) -> Estimate:
        """The same in the units of the data before they were scaled."""
        units, pairs = scaler.y_scale[:, None] / scaler.x_scale, np.outer(scaler.y_scale, scaler.y_scale)
        W_sd = None if self.W_sd is None else self.W_sd * units
        omega_sd = None if self.omega_sd is None else self.omega_sd / pairs
        return replace(self, W=self.W * units, omega=self.omega / pairs, W_sd=W_sd, omega_sd=omega_sd)


class Baseline(CheckedDataMixin, MultiOutputMixin, RegressorMixin, BaseEstimator, ABC):
    """A method to compare with. Subclasses check their parameters and estimate in ``_estimate(X, Y)``.

    There X (n, d) and Y (n, m) are centred float arrays; the subclass may set further attributes, such as the λ chosen.
    One whose prior or penalties have a scale takes ``standardize``, which gives X and Y unit variances, too.
    """

    standardize = False

    @abstractmethod
    def _estimate(self, X, Y) -> Estimate:
        """What the method finds."""

    def fit(self, X, Y):
        """Fit the model to X (samples × inputs) and Y (samples × outputs), arrays or DataFrames."""
        X, Y = self._validated(X, Y)
        require(isinstance(self.standardize, bool | np.bool_), "standardize", self.standardize, "True or False")
        scaler = Scaler(X, Y, self.standardize)
        X, Y = (X - scaler.x_mean) / scaler.x_scale, (Y - scaler.y_mean) / scaler.y_scale
        self._estimated = self._estimate(X, Y).in_units_of(scaler)
        self.coef_, self.precision_ = self._estimated.W, self._estimated.omega
        self.covariance_ = inverse_spd(self.precision_)
        self.intercept_ = scaler.y_mean - self.coef_ @ scaler.x_mean
        return self

    def predict(self, X, return_std=False):
        """Predicted outputs and, if asked for, the standard deviation of the residuals."""
        self._check_fitted()
        mean = validate_data(self, X, dtype=float, reset=False) @ self.coef_.T + self.intercept_
        std = np.broadcast_to(np.sqrt(np.diag(self.covariance_)), mean.shape)
        if self._one_dimensional:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean

    def log_likelihood(self, X, Y) -> float:
        """Mean log density per sample under N(prediction, Ω⁻¹)."""
        residuals = np.asarray(Y, dtype=float).reshape(len(X), -1) - self.predict(X).reshape(len(X), -1)
        return float(log_density(residuals, self.precision_, np.ones(len(residuals))).mean())

    def associations(self, fdr=0.05, selected_only=False) -> pd.DataFrame:
        """Input → output associations, the selected ones first, by |weight|."""
        self._check_fitted()
        found = self._estimated
        m, d = found.W.shape
        table = pd.DataFrame(
            {
                "feature": np.repeat(np.asarray(self.feature_labels_, dtype=object), m),
                "target": np.tile(np.asarray(self.target_labels_, dtype=object), d),
                "weight": found.W.T.ravel(),
                **_untested(None if found.W_sd is None else found.W_sd.T.ravel(), d * m),
                "selected": found.W_selected.T.ravel(),
            }
        )
        return _ranked(table[table["selected"]] if selected_only else table, "weight")

    def edges(self, fdr=0.05, most=None) -> pd.DataFrame:
        """Output – output edges, the selected ones first, by |partial correlation|.

        Of the pairs that are not selected, only the ``most`` largest if that is a number.
        """
        self._check_fitted()
        found = self._estimated
        rows, columns = np.triu_indices(len(found.omega), 1)
        scale = np.sqrt(np.diag(found.omega))
        partial = -found.omega[rows, columns] / (scale[rows] * scale[columns])
        selected = found.omega_selected[rows, columns]
        kept = np.lexsort((-np.abs(partial), ~selected))[: None if most is None else selected.sum() + most]
        rows, columns = rows[kept], columns[kept]
        names = np.asarray(self.target_labels_, dtype=object)
        return pd.DataFrame(
            {
                "source": names[rows],
                "target": names[columns],
                "precision": found.omega[rows, columns],
                "partial_correlation": partial[kept],
                **_untested(None, len(rows)),
                "selected": selected[kept],
            }
        )

    def relevance(self, fdr=0.05) -> pd.DataFrame:
        """Inputs; those with a selected association are relevant. ``statistic`` is the number of these."""
        self._check_fitted()
        count = self._estimated.W_selected.sum(axis=0)
        table = pd.DataFrame(
            {
                "feature": self.feature_labels_,
                "alpha": np.nan,
                "statistic": count,
                "pvalue": np.nan,
                "qvalue": np.nan,
                "selected": count > 0,
            }
        )
        return _ranked(table, "statistic")

    def to_networkx(self, fdr=0.05, associations=False) -> nx.Graph:
        """The selected edges (and associations) as a graph; see :meth:`nard.NARD.to_networkx`."""
        table = self.associations(selected_only=True) if associations else None
        return findings_graph(self.target_labels_, self.edges(), table)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        return tags


def _untested(sd, n: int) -> dict[str, np.ndarray]:
    missing = np.full(n, np.nan)
    return {"sd": missing if sd is None else sd, **dict.fromkeys(("degrees", "z", "pvalue", "qvalue"), missing)}


def _ranked(table: pd.DataFrame, by: str) -> pd.DataFrame:
    order = np.lexsort((-table[by].abs().to_numpy(), ~table["selected"].to_numpy()))
    return table.iloc[order].reset_index(drop=True)
