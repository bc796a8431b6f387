"""MRCE, multivariate regression with covariance estimation (Rothman, Levina & Zhu, 2010).

On centred data it minimises, over B (d×m) and Ω ≻ 0 (m×m),

    Tr(SΩ) − ln|Ω| + λ₁ Σ_{j≠k}|ω_jk| + 2λ₂ Σ|b_jk|,     S = (Y − XB)ᵀ(Y − XB)/n.

Given B this is a graphical lasso, given Ω a lasso in B; the two alternate. Where d ≥ n, B can fit the data exactly and
the objective has no lower bound, so that, as in the authors' package, λ₁ then penalises the diagonal of Ω too (which is
the same as λ₁ added to the diagonal of S).

The objective is convex in B and in Ω but not in both. From B = 0 the alternation may end in a poor local optimum in
which Ω takes for noise what B should explain, so that it starts from several B, and the lowest objective counts. For
some penalties the poor optimum is the lowest; the cross-validation therefore follows the optima from ridge regression
on, and the fit with the penalties it chooses starts from there only.
"""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from nard.baselines.base import Baseline, Estimate
from nard.compiled import njit
from nard.covariance import GraphicalLassoResult, graphical_lasso, linear_terms, log_density
from nard.inputs import is_number, require

__all__ = [
    "MRCE",
    "Moments",
    "Solution",
    "alternate",
    "approximate",
    "coefficients_given",
    "largest_lams",
    "objective",
    "solve",
    "validated_lassos",
]

_VARIANTS = ("exact", "approximate")

_MOST_SWEEPS = 1000
_MOST_PASSES = 100
# A step may leave this fraction of what was gained last: the other step moves its optimum anyway.
_INNER_FRACTION = 0.1
# The loosest duality gap per output that a graphical lasso within the alternation may have.
_LOOSEST_GAP = 1e-2
# The path's fits need not be as exact as the final one.
_PATH_TOL = 1e-3
# Of every output's variance this is left unexplained, which bounds the objective where B fits an output exactly.
_FLOOR = 1e-8
# The ridge to start from, of the inputs' mean square.
_RIDGE = 0.1
# Penalties tried for the separate lassos.
_N_LASSOS = 20
_SMALLEST_LASSO = 0.01  # of the largest
_LASSO_TOL = 1e-6
# Sums may be reordered to use vector instructions; infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@dataclass(frozen=True)
class Moments:
    """What the objective needs of centred data: XᵀX/n, XᵀY/n and YᵀY/n, and whether the diagonal of Ω is penalised."""

    xx: np.ndarray
    xy: np.ndarray
    yy: np.ndarray
    penalise_diagonal: bool

    @classmethod
    def of(cls, X, Y) -> Moments:
        n, d = X.shape
        yy = Y.T @ Y / n
        yy[np.diag_indices_from(yy)] *= 1.0 + _FLOOR
        return cls(X.T @ X / n, X.T @ Y / n, yy, d >= n)

    def scatter(self, B, lam1) -> np.ndarray:
        """S, with λ₁ on its diagonal where Ω's is penalised."""
        explained = B.T @ self.xy
        S = self.yy - explained - explained.T + B.T @ self.xx @ B
        S = 0.5 * (S + S.T)  # where B explains almost everything, rounding makes a difference
        if self.penalise_diagonal:
            S[np.diag_indices_from(S)] += lam1
        return S


@dataclass(frozen=True)
class Solution:
    """B and the network's graphical lasso, the objective after every step, and whether it settled."""

    B: np.ndarray
    network: GraphicalLassoResult
    trace: list[float]
    converged: bool


@njit(cache=True, fastmath=_FAST)
def _pass(A, weight, g, b, lam, active):
    """Each of the active coefficients set to its best value once; returns twice what this gained, or less."""
    gain = 0.0
    for j in active:
        curvature = weight * A[j, j]
        target = g[j] + curvature * b[j]
        new = np.sign(target) * max(abs(target) - lam, 0.0) / curvature
        step = new - b[j]
        if step != 0.0:
            b[j] = new
            gain += curvature * step * step
            for i in range(len(g)):
                g[i] -= weight * step * A[j, i]
    return gain


@njit(cache=True, fastmath=_FAST)
def _descend_output(A, weight, g, b, lam, enough, active):
    """One output's lasso: min over b of ½ωbᵀAb − bᵀ(g + ωAb₀) + λ Σ|b_j| from b₀, where g = −gradient at b₀.

    Passes over the coefficients that are not zero or violate their optimality condition, until a pass gains less than
    ``enough``; g follows. Returns a lower bound of twice what all passes gained.
    """
    gain = 0.0
    for _ in range(_MOST_PASSES):
        count = 0
        for j in range(len(b)):
            if (b[j] != 0.0 or abs(g[j]) > lam) and A[j, j] > 0.0:
                active[count] = j
                count += 1
        passes = 0
        last = np.inf
        while last > enough and passes < _MOST_PASSES:
            last = _pass(A, weight, g, b, lam, active[:count])
            gain += last
            passes += 1
        # Others may violate their condition now; a first pass without a gain tells that none does.
        if passes == 1:
            break
    return gain


@njit(cache=True, fastmath=_FAST)
def _descend(A, omega, B, U, lam, enough, fraction, max_sweeps):
    """Sweeps over the outputs; rows of B (m×d) are their coefficients, those of U (m×d) their (XᵀY − XᵀXB)/n.

    Ends with a sweep that gains less than ``enough``, or than ``fraction`` of the first. Returns whether it did.
    """
    m, d = B.shape
    g, start = np.empty(d), np.empty(d)
    active = np.empty(d, dtype=np.int64)
    for sweep in range(max_sweeps):
        gain = 0.0
        for k in range(m):
            g[:] = 0.0
            for other in range(m):
                weight = omega[k, other]
                if weight != 0.0:
                    for j in range(d):
                        g[j] += weight * U[other, j]
            start[:] = g
            gained = _descend_output(A, omega[k, k], g, B[k], lam, enough / m, active)
            if gained > 0.0:
                for j in range(d):
                    U[k, j] += (g[j] - start[j]) / omega[k, k]
                gain += gained
        if sweep == 0:
            enough = max(enough, fraction * gain)
        if gain <= enough:
            return True
    return False


def coefficients_given(moments: Moments, omega, lam2, start, *, tol=1e-8, fraction=0.0) -> tuple[np.ndarray, bool]:
    """min over B of Tr(SΩ) + 2λ₂ Σ|b_jk| by coordinate descent, one output at a time; and whether it settled.

    Parameters
    ----------
    moments : Moments
    omega : ndarray of shape (m, m)
    lam2 : float
    start : ndarray of shape (d, m)
        B to start from.
    tol : float, default=1e-8
        What the last sweep gains at most, per output.
    fraction : float, default=0
        The same, as a fraction of what the first gained.

    Returns
    -------
    (ndarray of shape (d, m), bool)
    """
    B = np.array(start.T, order="C")
    U = moments.xy.T - B @ moments.xx
    settled = _descend(moments.xx, omega, B, np.ascontiguousarray(U), lam2, tol * len(B), fraction, _MOST_SWEEPS)
    return B.T, settled


def objective(S, lam1, lam2, B, network: GraphicalLassoResult) -> float:
    """Tr(SΩ) − ln|Ω| + λ₁ Σ_{j≠k}|ω_jk| + 2λ₂ Σ|b_jk|, S from :meth:`Moments.scatter`."""
    edges = linear_terms(S, np.array([[float(lam1)]]), network.precision)
    return float(edges - network.logdet + 2.0 * lam2 * np.abs(B).sum())


def alternate(moments: Moments, lam1, lam2, start, *, network=None, tol=1e-8, max_iter=1000) -> Solution:
    """Ω given B and B given Ω in turn, until both steps together gain less than ``tol`` per output.

    Parameters
    ----------
    moments : Moments
    lam1, lam2 : float
    start : ndarray of shape (d, m)
        B to start from.
    network : GraphicalLassoResult, optional
        To start the first graphical lasso from.
    tol : float, default=1e-8
        Gain per output at which it ends.
    max_iter : int, default=1000
        Most times that each step is done.

    Returns
    -------
    Solution
    """
    m = len(moments.yy)
    B, S = start, moments.scatter(start, lam1)
    tightest = _INNER_FRACTION * tol
    gap = _LOOSEST_GAP
    trace, converged = [], False
    for _ in range(max_iter):
        gap = max(gap, tightest)
        network = graphical_lasso(S, lam1, init=network, tol=gap)
        trace.append(objective(S, lam1, lam2, B, network))
        B, settled = coefficients_given(moments, network.precision, lam2, B, tol=tightest, fraction=_INNER_FRACTION)
        S = moments.scatter(B, lam1)
        trace.append(objective(S, lam1, lam2, B, network))
        gained = np.inf if len(trace) < 4 else (trace[-3] - trace[-1]) / m
        if gained <= tol and gap == tightest:
            converged = settled and network.converged
            break
        gap = min(_INNER_FRACTION * gap, _INNER_FRACTION * gained)
    return Solution(B, network, trace, converged)


def ridge_coefficients(moments: Moments) -> np.ndarray:
    """(XᵀX/n + ρI)⁻¹XᵀY/n with ρ a fraction of the inputs' mean square."""
    d = len(moments.xx)
    ridge = _RIDGE * np.trace(moments.xx) / d or 1.0
    return np.linalg.solve(moments.xx + ridge * np.eye(d), moments.xy)


def solve(moments: Moments, lam1, lam2, *, from_zero=True, tol=1e-8, max_iter=1000) -> Solution:
    """The exact variant: the lowest objective that :func:`alternate` reaches from several starts.

    These are ridge regression, the lassos given its residual variances and, if asked for, B = 0, from where the
    authors' package starts.
    """
    ridge = ridge_coefficients(moments)
    variances = np.diag(moments.scatter(ridge, lam1))
    lassos, _ = coefficients_given(moments, np.diag(1.0 / variances), lam2, ridge)
    starts = [ridge, lassos, np.zeros_like(ridge)] if from_zero else [ridge, lassos]
    solutions = [alternate(moments, lam1, lam2, start, tol=tol, max_iter=max_iter) for start in starts]
    return min(solutions, key=lambda solution: solution.trace[-1])


def approximate(moments: Moments, lam1, lam2, lassos, *, network=None, tol=1e-8) -> Solution:
    """The approximate variant: Ω given the separate lassos' B, then B given this Ω.

    Parameters
    ----------
    moments : Moments
    lam1, lam2 : float
    lassos : ndarray of shape (d, m)
        What :func:`validated_lassos` gives.
    network : GraphicalLassoResult, optional
        To start the graphical lasso from; the solution at the same ``lam1`` is kept as it is.
    tol : float, default=1e-8
        For both steps, per output.

    Returns
    -------
    Solution
    """
    S = moments.scatter(lassos, lam1)
    network = graphical_lasso(S, lam1, init=network, tol=tol)
    B, settled = coefficients_given(moments, network.precision, lam2, lassos, tol=tol)
    trace = [
        objective(S, lam1, lam2, lassos, network),
        objective(moments.scatter(B, lam1), lam1, lam2, B, network),
    ]
    return Solution(B, network, trace, settled and network.converged)


def validated_lassos(X, Y, n_folds, seed) -> np.ndarray:
    """min of ‖y_k − Xb_k‖²/(2n) + λ₀‖b_k‖₁ for every output, with the one λ₀ of the least squared error held out."""
    moments = Moments.of(X, Y)
    lams = (np.abs(moments.xy).max() or 1.0) * np.geomspace(1.0, _SMALLEST_LASSO, _N_LASSOS)
    errors = np.zeros(len(lams))
    for train, test in _folds(X, n_folds, seed):
        fold = _Fold.of(X, Y, train, test)
        for i, B in enumerate(_lasso_path(fold.moments, lams)):
            errors[i] += ((fold.Y_test - fold.X_test @ B) ** 2).sum()
    *_, B = _lasso_path(moments, lams[: int(errors.argmin()) + 1])
    return B


def _lasso_path(moments: Moments, lams):
    B = np.zeros_like(moments.xy)
    scale = float(np.diag(moments.yy).mean())
    for lam in lams:
        B, _ = coefficients_given(moments, np.eye(len(moments.yy)), lam, B, tol=_LASSO_TOL * scale)
        yield B


def _folds(X, n_folds, seed):
    return KFold(min(n_folds, len(X)), shuffle=True, random_state=seed).split(X)


@dataclass(frozen=True)
class _Fold:
    """The training samples' moments, and the held-out samples centred by their means."""

    moments: Moments
    X_train: np.ndarray
    Y_train: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray

    @classmethod
    def of(cls, X, Y, train, test) -> _Fold:
        x_mean, y_mean = X[train].mean(axis=0), Y[train].mean(axis=0)
        X_train, Y_train = X[train] - x_mean, Y[train] - y_mean
        return cls(Moments.of(X_train, Y_train), X_train, Y_train, X[test] - x_mean, Y[test] - y_mean)

    def score(self, solution: Solution) -> np.ndarray:
        """The held-out samples' log densities."""
        residuals = self.Y_test - self.X_test @ solution.B
        return log_density(residuals, solution.network.precision, np.ones(len(residuals)))


def largest_lams(moments: Moments, lassos) -> tuple[float, float]:
    """The smallest λ₁ and λ₂ that give an empty Ω, given the separate lassos' B, and an empty B, given no network.

    With R the lassos' residual covariance, Ω given B is diagonal for λ₁ ≥ max |r_jk| over j ≠ k; where B explains
    something, YᵀY/n in its place would give a λ₁ as large as the signal. Yet that is used where d ≥ n, for there λ₁
    must also keep B from explaining everything. B = 0 with ω_kk = 1/(YᵀY/n)_kk meets its condition for
    λ₂ ≥ max |(XᵀY/n)_jk| ω_kk.
    """
    R = moments.yy if moments.penalise_diagonal else moments.scatter(lassos, 0.0)
    edges = np.abs(R - np.diag(np.diag(R))).max()
    # A single output has no edges to penalise, but where d ≥ n a variance.
    return float(edges or R.max()), float((np.abs(moments.xy) / np.diag(moments.yy)).max() or 1.0)


def _exact_path(fold: _Fold, lam1s, lam2s, tol, max_iter):
    """Solutions at all (λ₁, λ₂), each from its neighbour's, as (i, j, solution).

    λ₁ falls but λ₂ rises: from B = 0, where a falling λ₂ would start, the path follows the poor local optima.
    """
    first = ridge_coefficients(fold.moments)
    network: GraphicalLassoResult | None = None
    for i in np.argsort(lam1s)[::-1]:
        last = None
        for j in np.argsort(lam2s):
            B, near = (first, network) if last is None else (last.B, last.network)
            solution = alternate(fold.moments, lam1s[i], lam2s[j], B, network=near, tol=tol, max_iter=max_iter)
            if last is None:
                first, network = solution.B, solution.network
            last = solution
            yield i, j, solution


def _approximate_path(fold: _Fold, lam1s, lam2s, tol, lassos):
    """The same for the approximate variant, in which Ω depends on λ₁ only."""
    network = None
    for i in np.argsort(lam1s)[::-1]:
        for j in np.argsort(lam2s)[::-1]:
            solution = approximate(fold.moments, lam1s[i], lam2s[j], lassos, network=network, tol=tol)
            network = solution.network
            yield i, j, solution


class MRCE(Baseline):
    """Multivariate regression with covariance estimation (Rothman, Levina & Zhu, 2010).

    Minimises Tr(SΩ) − ln|Ω| + λ₁ Σ_{j≠k}|ω_jk| + 2λ₂ Σ|w_jk|, S the residuals' covariance, on centred data in their own
    units, unless they are standardised. Where d ≥ n, λ₁ penalises the diagonal of Ω too. What is not zero is selected.

    Parameters
    ----------
    lam1, lam2 : float or "cv", default="cv"
        λ₁ and λ₂; ``"cv"`` chooses by the held-out log-likelihood. If both are given, the fit has the lowest of the
        objectives reached from several starts; if not, it stays with the optima near ridge regression that were scored.
    variant : {"exact", "approximate"}, default="exact"
        Both steps in turn until the objective settles, or each once, from separate lassos.
    n_folds : int, default=5
        Folds of the cross-validation, at most as many as samples.
    n_lams : int, default=5
        Values tried of each λ to be chosen, evenly spaced in its logarithm.
    lam_min_ratio : float, default=0.01
        The smallest of them as a fraction of the largest, which is the least that gives an empty network or no
        associations (:func:`largest_lams`).
    tol : float, default=1e-8
        Gain of the objective, per output, at which the fit ends.
    max_iter : int, default=1000
        Most alternations.
    random_state : int, numpy.random.RandomState or None, default=None
        Draws the folds.
    standardize : bool, default=False
        Scale inputs and outputs to unit variance first, so that the units do not matter; results are in the units
        given, but λ₁, λ₂ and the objective are those of the scaled data. The workflow and `nard fit` do so.

    Attributes
    ----------
    coef_ : ndarray of shape (m, d)
    precision_, covariance_ : ndarray of shape (m, m)
    intercept_ : ndarray of shape (m,)
    lam1_, lam2_ : float
        The penalties of the fit.
    cv_results_ : DataFrame or None
        One row per (λ₁, λ₂) tried: ``score`` is the mean held-out log density, with its ``standard_error``;
        ``n_associations`` and ``n_edges`` are means over the folds, ``converged`` a share of them.
    objective_ : ndarray
        The objective after every step; it never rises.
    n_iter_ : int
        Alternations.
    converged_ : bool
        Whether the objective settled.

    References
    ----------
    Rothman, A. J., Levina, E., & Zhu, J. (2010). Sparse multivariate regression with covariance estimation. Journal of
    Computational and Graphical Statistics, 19(4), 947–962.

    Examples
    --------
    >>> from nard.baselines.mrce import MRCE
    >>> from nard.simulate import make_regression
    >>> data = make_regression(100, 10, 4, random_state=0)
    >>> model = MRCE(random_state=0).fit(data.X, data.Y)
    >>> model.coef_.shape, model.converged_
    ((4, 10), True)
    """

    def __init__(
        self,
        lam1="cv",
        lam2="cv",
        *,
        variant="exact",
        n_folds=5,
        n_lams=5,
        lam_min_ratio=0.01,
        tol=1e-8,
        max_iter=1000,
        random_state=None,
        standardize=False,
    ):
        self.lam1 = lam1
        self.lam2 = lam2
        self.variant = variant
        self.n_folds = n_folds
        self.n_lams = n_lams
        self.lam_min_ratio = lam_min_ratio
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.standardize = standardize

    def _estimate(self, X, Y) -> Estimate:
        self._check_parameters()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        moments = Moments.of(X, Y)
        validated = "cv" in (self.lam1, self.lam2)
        if validated or self.variant == "approximate":
            lassos = validated_lassos(X, Y, self.n_folds, seed)
        self.lam1_, self.lam2_, self.cv_results_ = self.lam1, self.lam2, None
        if validated:
            self._choose(X, Y, largest_lams(moments, lassos), seed)
        if self.variant == "exact":
            # The cross-validation scored the optima next to the ridge's, so that the fit must not leave them.
            settings = {"from_zero": not validated, "tol": self.tol, "max_iter": self.max_iter}
            solution = solve(moments, self.lam1_, self.lam2_, **settings)
        else:
            solution = approximate(moments, self.lam1_, self.lam2_, lassos, tol=self.tol)
        self.objective_ = np.array(solution.trace)
        self.n_iter_ = len(solution.trace) // 2
        self.converged_ = solution.converged
        if not self.converged_:
            warnings.warn(
                f"MRCE stopped after {self.n_iter_} alternations before the objective settled to tol={self.tol:g}: "
                "raise max_iter, tol, lam1 or lam2.",
                ConvergenceWarning,
                stacklevel=3,
            )
        W, omega = np.ascontiguousarray(solution.B.T), solution.network.precision
        return Estimate(W, omega, W != 0, (omega != 0) & ~np.eye(len(omega), dtype=bool))

    def _check_parameters(self):
        for name, lam in (("lam1", self.lam1), ("lam2", self.lam2)):
            right = is_number(lam) and 0 <= lam < np.inf
            require(right or (isinstance(lam, str) and lam == "cv"), name, lam, "a number ≥ 0 or 'cv'")
        require(self.variant in _VARIANTS, "variant", self.variant, f"one of {_VARIANTS}")
        for name, count, least in (
            ("n_folds", self.n_folds, 2),
            ("n_lams", self.n_lams, 1),
            ("max_iter", self.max_iter, 1),
        ):
            right = isinstance(count, numbers.Integral) and int(count) >= least
            require(right, name, count, f"an integer ≥ {least}")
        require(
            is_number(self.lam_min_ratio) and 0 < self.lam_min_ratio < 1,
            "lam_min_ratio",
            self.lam_min_ratio,
            "between 0 and 1",
        )
        require(is_number(self.tol) and self.tol > 0, "tol", self.tol, "a number > 0")

    def _choose(self, X, Y, largest, seed):
        """Sets ``lam1_``, ``lam2_`` and ``cv_results_``."""
        ratios = np.geomspace(1.0, self.lam_min_ratio, self.n_lams)
        lam1s, lam2s = (
            top * ratios if isinstance(lam, str) else np.array([float(lam)])
            for lam, top in zip((self.lam1, self.lam2), largest, strict=True)
        )
        self.cv_results_ = table = self._cross_validate(X, Y, lam1s, lam2s, seed)
        chosen = table[table["chosen"]].iloc[0]
        self.lam1_, self.lam2_ = float(chosen["lam1"]), float(chosen["lam2"])

    def _cross_validate(self, X, Y, lam1s, lam2s, seed) -> pd.DataFrame:
        shape = len(lam1s), len(lam2s)
        scores: dict[tuple[int, ...], list] = {index: [] for index in np.ndindex(shape)}
        sizes: dict[tuple[int, ...], list] = {index: [] for index in np.ndindex(shape)}
        tol = max(self.tol, _PATH_TOL)
        for train, test in _folds(X, self.n_folds, seed):
            fold = _Fold.of(X, Y, train, test)
            if self.variant == "exact":
                path = _exact_path(fold, lam1s, lam2s, tol, self.max_iter)
            else:
                lassos = validated_lassos(fold.X_train, fold.Y_train, self.n_folds, seed)
                path = _approximate_path(fold, lam1s, lam2s, tol, lassos)
            for i, j, solution in path:
                scores[i, j].append(fold.score(solution))
                edges = np.count_nonzero(np.triu(solution.network.precision, 1))
                sizes[i, j].append((np.count_nonzero(solution.B), edges, solution.converged))
        rows = []
        for i, j in np.ndindex(shape):
            every = np.concatenate(scores[i, j])
            row = {"lam1": lam1s[i], "lam2": lam2s[j], "score": every.mean()}
            row["standard_error"] = every.std() / np.sqrt(len(every))
            row |= zip(("n_associations", "n_edges", "converged"), np.mean(sizes[i, j], axis=0), strict=True)
            rows.append(row)
        table = pd.DataFrame(rows)
        table["chosen"] = table.index == table["score"].argmax()
        return table
