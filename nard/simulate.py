"""Synthetic regressions with a known truth, after the design of the paper.

The residual precision is an Erdős–Rényi graph whose entries are uniform with random signs, shifted to a chosen smallest
eigenvalue and scaled to unit residual variances. A fraction of the inputs is relevant, and a fraction of the entries in
their columns of W is non-zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from nard.covariance import inverse_spd
from nard.inputs import require

__all__ = ["Regression", "draw_residuals", "make_precision", "make_regression", "precision_of_graph"]


@dataclass(frozen=True)
class Regression:
    """A simulated data set and its truth.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_targets)
    coef : ndarray of shape (n_targets, n_features)
        W.
    precision, covariance : ndarray of shape (n_targets, n_targets)
        Residual Ω and V; V has a unit diagonal.
    """

    X: np.ndarray
    Y: np.ndarray
    coef: np.ndarray
    precision: np.ndarray
    covariance: np.ndarray

    @property
    def relevant(self) -> np.ndarray:
        """Boolean mask of the inputs that drive at least one output."""
        return (self.coef != 0).any(axis=0)

    @property
    def edges(self) -> np.ndarray:
        """Boolean symmetric matrix of the edges between outputs."""
        return (self.precision != 0) & ~np.eye(len(self.precision), dtype=bool)


def make_precision(m, edge_probability, rng, weight_range=(0.3, 0.8), min_eigenvalue=0.5) -> np.ndarray:
    """A sparse precision matrix with unit variances.

    Parameters
    ----------
    m : int
        Number of variables.
    edge_probability : float
        Chance of each edge.
    rng : numpy.random.Generator
        Source of randomness.
    weight_range : (float, float), default=(0.3, 0.8)
        Range of the absolute off-diagonal entries, before scaling.
    min_eigenvalue : float, default=0.5
        Smallest eigenvalue, before scaling.

    Returns
    -------
    ndarray of shape (m, m)
        The precision matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from nard.simulate import make_precision
    >>> omega = make_precision(5, 0.5, np.random.default_rng(0))
    >>> np.diag(np.linalg.inv(omega)).round(6)
    array([1., 1., 1., 1., 1.])
    """
    return precision_of_graph(rng.random((m, m)) < edge_probability, rng, weight_range, min_eigenvalue)


def precision_of_graph(upper, rng, weight_range=(0.3, 0.8), min_eigenvalue=0.5) -> np.ndarray:
    """A precision matrix with unit variances on a given graph.

    Parameters
    ----------
    upper : ndarray of bool, shape (m, m)
        Which pairs are edges; only what is above the diagonal counts.
    rng : numpy.random.Generator
        Source of randomness.
    weight_range : (float, float), default=(0.3, 0.8)
        Range of the absolute off-diagonal entries, before scaling; their signs are random.
    min_eigenvalue : float, default=0.5
        Smallest eigenvalue, before scaling.

    Returns
    -------
    ndarray of shape (m, m)
        The precision matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from nard.simulate import precision_of_graph
    >>> chain = np.eye(4, k=1, dtype=bool)
    >>> int((precision_of_graph(chain, np.random.default_rng(0)) != 0).sum())
    10
    """
    entries = rng.uniform(*weight_range, upper.shape) * rng.choice([-1.0, 1.0], upper.shape)
    omega = np.where(np.triu(upper, 1), entries, 0.0)
    omega += omega.T
    omega += (min_eigenvalue - np.linalg.eigvalsh(omega)[0]) * np.eye(len(omega))
    sd = np.sqrt(np.diag(inverse_spd(omega)))
    return omega * np.outer(sd, sd)


def draw_residuals(omega, n_samples, rng) -> np.ndarray:
    """Samples of N(0, Ω⁻¹).

    Parameters
    ----------
    omega : ndarray of shape (m, m)
        Ω.
    n_samples : int
        How many.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, m)
        One sample per row.

    Examples
    --------
    >>> import numpy as np
    >>> from nard.simulate import draw_residuals
    >>> draw_residuals(np.eye(2), 3, np.random.default_rng(0)).shape
    (3, 2)
    """
    # Columns of L⁻ᵀz have covariance (LLᵀ)⁻¹ = Ω⁻¹.
    noise = rng.standard_normal((len(omega), n_samples))
    return solve_triangular(cholesky(omega, lower=True), noise, lower=True, trans="T").T


def make_regression(
    n_samples=200,
    n_features=50,
    n_targets=20,
    *,
    relevant=0.2,
    density=0.3,
    weight_range=(0.3, 1.0),
    edge_probability=0.05,
    min_eigenvalue=0.5,
    feature_correlation=0.0,
    random_state=None,
) -> Regression:
    """Simulate Y = WX + E with sparse W and a sparse residual network.

    Parameters
    ----------
    n_samples, n_features, n_targets : int
        N, d and m.
    relevant : float, default=0.2
        Fraction of the inputs that are relevant; with ``relevant=1`` W is sparse by entry only.
    density : float, default=0.3
        Fraction of non-zero entries in the relevant inputs' columns of W.
    weight_range : (float, float), default=(0.3, 1.0)
        Range of the absolute non-zero weights; their signs are random.
    edge_probability : float, default=0.05
        Chance of each edge between two outputs.
    min_eigenvalue : float, default=0.5
        Smallest eigenvalue of Ω before it is scaled to unit residual variances.
    feature_correlation : float, default=0
        Correlation of neighbouring inputs; it decays geometrically with their distance.
    random_state : int or None
        Seed.

    Returns
    -------
    Regression
        With ``X``, ``Y``, ``coef``, ``precision``, ``covariance``, ``relevant`` and ``edges``.

    Examples
    --------
    >>> from nard.simulate import make_regression
    >>> data = make_regression(100, 30, 10, random_state=0)
    >>> data.X.shape, data.Y.shape, int(data.relevant.sum())
    ((100, 30), (100, 10), 6)
    """
    for name, fraction in (("relevant", relevant), ("density", density), ("edge_probability", edge_probability)):
        require(0 <= fraction <= 1, name, fraction, "a fraction between 0 and 1")
    require(0 <= feature_correlation < 1, "feature_correlation", feature_correlation, "at least 0 and below 1")
    rng = np.random.default_rng(random_state)
    omega = make_precision(n_targets, edge_probability, rng, min_eigenvalue=min_eigenvalue)

    columns = rng.choice(n_features, round(relevant * n_features), replace=False)
    shape = (n_targets, len(columns))
    W = np.zeros((n_targets, n_features))
    lowest, highest = weight_range
    weights = rng.uniform(lowest, highest, shape) * rng.choice([-1.0, 1.0], shape)
    W[:, columns] = np.where(rng.random(shape) < density, weights, 0.0)

    X = rng.standard_normal((n_samples, n_features))
    if feature_correlation:
        from scipy.signal import lfilter  # a second to import

        # A first-order autoregression along the inputs, started at its stationary variance.
        innovation = np.sqrt(1.0 - feature_correlation**2)
        X[:, 1:] *= innovation
        X = lfilter([1.0], [1.0, -feature_correlation], X, axis=1)
    E = draw_residuals(omega, n_samples, rng)
    return Regression(X, X @ W.T + E, W, omega, inverse_spd(omega))
