"""CAPME: covariate-adjusted precision matrix estimation by constrained ℓ₁ minimisation (Cai, Li, Liu and Xie 2013).

Two steps, each a linear program per column. With X standardised, Y centred, S_xx = XᵀX/n and S_xy = XᵀY/n,

    b_k = argmin ‖b‖₁  subject to  ‖S_xy e_k − S_xx b‖_∞ ≤ λ      for every output k,
    ω_j = argmin ‖ω‖₁  subject to  ‖e_j − (S + ρI) ω‖_∞ ≤ τ       for every output j,

S the covariance of the residuals (divided by n) and ρ the smallest shift to a condition number of at most m. Of ω_ij
and ω_ji the one that is smaller in magnitude is kept.

All of these have the form min ‖b‖₁ s.t. ‖s − Ab‖_∞ ≤ r with A symmetric, and are solved along a path of r by the
parametric simplex method: with P the non-zero entries of b and D the constraints that hold with equality,

    b_P = A_DP⁻¹ (s_D − r sign(u_D)),      u_D = A_DP⁻ᵀ sign(b_P),

u the dual solution, so b is linear in r until an entry of b becomes zero or a further constraint binds; then one pivot
changes P or D or both. A_DP⁻¹ is updated, so a pivot costs |P| d operations, and a whole path of r costs as much as its
last point. Every solution is checked against the dual max sᵀu − r‖u‖₁ s.t. ‖Au‖_∞ ≤ 1; those that do not pass, which
happens where ties make the simplex method cycle, are solved by HiGHS.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from nard.baselines.base import Baseline, Estimate
from nard.compiled import njit
from nard.covariance import log_determinant
from nard.inputs import is_number, require

__all__ = ["CAPME", "clime", "dantzig", "min_l1", "positive_definite"]

# Optimality of a solution: infeasibility and duality gap, where max|A| = max|s| = 1.
_TOL = 1e-8
# Directions below this are rounding errors.
_FLAT = 1e-10
_PIVOTS_PER_VARIABLE = 50
_FAST = {"reassoc", "contract", "nsz"}
# An entry counts as non-zero above this, in units of the standard deviations.
_ZERO = 1e-8
# Residual variances are at least this share of the output's variance, for fits that leave no residuals.
_SMALLEST_VARIANCE = 1e-8
# Smallest eigenvalue of Ω in units of the residual variances, where it has to be made positive definite.
_SMALLEST_EIGENVALUE = 1e-3
_SMALLEST_ON_GRID = 0.01  # of the largest


@njit(cache=True, fastmath=_FAST)
def _combine(scale, weights, rows, count, A, out):
    """Adds scale · Σ_p weights_p A[rows_p] to ``out``."""
    for p in range(count):
        weight, at = scale * weights[p], rows[p]
        for j in range(len(out)):
            out[j] += weight * A[at, j]


@njit(cache=True, fastmath=_FAST)
def _times(M, count, x, out):
    """M x for the leading block of M."""
    for p in range(count):
        total = 0.0
        for q in range(count):
            total += M[p, q] * x[q]
        out[p] = total


@njit(cache=True, fastmath=_FAST)
def _add_outer(M, count, scale, left, right):
    """M += scale · left rightᵀ in the leading block."""
    for p in range(count):
        weight = scale * left[p]
        for q in range(count):
            M[p, q] += weight * right[q]


@njit(cache=True)
def _primal_step(radius, longest, b, db, P, sigma, r, dr, in_D, count):
    """How far the radius can shrink, and what stops it: the place in P of a b that becomes zero, or a constraint."""
    step, leaving, entering = longest, -1, -1
    for p in range(count):
        if db[p] * sigma[p] < -_FLAT:
            length = max(-b[P[p]] / db[p], 0.0)
            if length < step:
                step, leaving = length, p
    for j in range(len(r)):
        if not in_D[j]:
            for sign in (1.0, -1.0):
                speed = 1.0 + sign * dr[j]
                if speed > _FLAT:
                    length = max((radius - sign * r[j]) / speed, 0.0)
                    if length < step:
                        step, leaving, entering = length, -1, j
    return step, leaving, entering


@njit(cache=True)
def _dual_step(u, du, D, z, g, dg, in_P, count):
    """How far the dual can move, and what stops it: a variable k with |g_k| = 1, or the place in D of a u."""
    step, new, old = np.inf, -1, -1
    for k in range(len(g)):
        if not in_P[k] and abs(dg[k]) > _FLAT:
            length = max((1.0 - g[k] if dg[k] > 0.0 else 1.0 + g[k]) / abs(dg[k]), 0.0)
            if length < step:
                step, new = length, k
    for q in range(count):
        if du[q] * z[q] < -_FLAT:
            length = max(-u[D[q]] / du[q], 0.0)
            if length < step:
                step, new, old = length, -1, q
    return step, new, old


@njit(cache=True)
def _grow(M, count, row, column, pivot):
    """The inverse with one row and one column more, from the Schur complement ``pivot``."""
    _add_outer(M, count, 1.0 / pivot, column, row)
    for p in range(count):
        M[p, count] = -column[p] / pivot
        M[count, p] = -row[p] / pivot
    M[count, count] = 1.0 / pivot


@njit(cache=True)
def _shrink(M, count, leaving, old, row, column):
    """The inverse without row ``old`` and column ``leaving`` of A_DP; the last ones take their places."""
    for p in range(count):
        column[p], row[p] = M[p, old], M[leaving, p]
    _add_outer(M, count, -1.0 / M[leaving, old], column, row)
    for p in range(count):
        M[leaving, p] = M[count - 1, p]
    for p in range(count):
        M[p, old] = M[p, count - 1]


@njit(cache=True)
def _l1_path(A, s, radii, M, B, U):
    """Solutions B (L, d) and dual solutions U (L, d) at the radii, descending, as far as the path gets.

    M (d, d) is memory for A_DP⁻¹, whose rows belong to P and columns to D. ``z`` and ``sigma``, the signs of u_D and
    b_P, are in the order of D and P; r = s − Ab and g = Au.
    """
    d = len(s)
    P, D = np.empty(d, np.int64), np.empty(d, np.int64)
    in_P, in_D = np.zeros(d, np.bool_), np.zeros(d, np.bool_)
    z, sigma = np.empty(d), np.empty(d)
    b, u, r, g = np.zeros(d), np.zeros(d), s.copy(), np.zeros(d)
    db, du, dr, dg = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    row, column, entries = np.empty(d), np.empty(d), np.empty(d)
    count, pivots, radius, sign = 0, 0, 0.0, 0.0
    for j in range(d):
        radius = max(radius, abs(s[j]))
    for at in range(len(radii)):
        while radii[at] < radius:
            # The primal solution moves as the radius shrinks, until b_i becomes zero or a further constraint binds.
            _times(M, count, z, db)
            dr[:] = 0.0
            _combine(-1.0, db, P, count, A, dr)
            longest = radius - radii[at]
            step, leaving, entering = _primal_step(radius, longest, b, db, P, sigma, r, dr, in_D, count)
            for p in range(count):
                b[P[p]] += step * db[p]
            for j in range(d):
                r[j] += step * dr[j]
            if leaving < 0 and entering < 0:
                radius = radii[at]
                break
            radius -= step
            pivots += 1
            if pivots > _PIVOTS_PER_VARIABLE * d:
                return

            # The dual solution moves to make room, until |g_k| = 1, so that b_k may be non-zero, or u_l becomes zero.
            dg[:] = 0.0
            if entering >= 0:
                sign = 1.0 if r[entering] > 0.0 else -1.0
                for p in range(count):
                    entries[p] = A[entering, P[p]]
                row[:] = 0.0
                for p in range(count):
                    for q in range(count):
                        row[q] += entries[p] * M[p, q]
                for q in range(count):
                    du[q] = -sign * row[q]
                for k in range(d):
                    dg[k] = sign * A[entering, k]
            else:
                b[P[leaving]], in_P[P[leaving]] = 0.0, False
                for q in range(count):
                    du[q] = -sigma[leaving] * M[leaving, q]
            _combine(1.0, du, D, count, A, dg)
            step, new, old = _dual_step(u, du, D, z, g, dg, in_P, count)
            if new < 0 and old < 0:
                return  # the dual is unbounded: nothing is feasible at a smaller radius
            for q in range(count):
                u[D[q]] += step * du[q]
            for k in range(d):
                g[k] += step * dg[k]
            if entering >= 0:
                u[entering], in_D[entering] = sign * step, True
            if old >= 0:
                u[D[old]], in_D[D[old]] = 0.0, False
            if new >= 0:
                in_P[new] = True
                for q in range(count):
                    entries[q] = A[new, D[q]]
                _times(M, count, entries, column)

            if entering >= 0 and new >= 0:
                # dg_new is, up to the sign, the Schur complement of the new row and column.
                _grow(M, count, row, column, sign * dg[new])
                D[count], z[count] = entering, sign
                P[count], sigma[count] = new, 1.0 if g[new] > 0.0 else -1.0
                count += 1
            elif entering >= 0:  # it replaces row ``old`` of A_DP
                pivot = row[old]
                row[old] -= 1.0
                for p in range(count):
                    column[p] = M[p, old]
                _add_outer(M, count, -1.0 / pivot, column, row)
                D[old], z[old] = entering, sign
            elif new >= 0:  # it replaces column ``leaving``, perhaps its own with the other sign
                pivot = column[leaving]
                column[leaving] -= 1.0
                for q in range(count):
                    row[q] = M[leaving, q]
                _add_outer(M, count, -1.0 / pivot, column, row)
                P[leaving], sigma[leaving] = new, 1.0 if g[new] > 0.0 else -1.0
            else:
                _shrink(M, count, leaving, old, row, column)
                count -= 1
                P[leaving], sigma[leaving] = P[count], sigma[count]
                D[old], z[old] = D[count], z[count]
        B[at], U[at] = b, u


def _highs(A, s, radius):
    """The linear program in b = b⁺ − b⁻, both non-negative."""
    constraints = np.block([[A, -A], [-A, A]])
    bounds = np.concatenate([s + radius, radius - s])
    found = linprog(np.ones(2 * len(s)), constraints, bounds, method="highs-ds")
    if found.status == 2:
        raise ValueError(f"No b satisfies ‖s − Ab‖ ≤ {radius:.3g} max|s|: use a larger bound.")
    if found.status != 0:
        raise RuntimeError(f"HiGHS did not solve the linear program: {found.message}")
    return found.x[: len(s)] - found.x[len(s) :]


def min_l1(A, S, radii) -> np.ndarray:
    """argmin ‖b‖₁ subject to ‖s − Ab‖_∞ ≤ r, for every column s of S and every r.

    Parameters
    ----------
    A : ndarray of shape (d, d)
        A symmetric matrix.
    S : ndarray of shape (d, k)
        Right hand sides.
    radii : array-like of shape (L,)
        The bounds r ≥ 0, in any order.

    Returns
    -------
    ndarray of shape (L, d, k)
        The solutions.

    Examples
    --------
    >>> import numpy as np
    >>> from nard.baselines.capme import min_l1
    >>> min_l1(np.eye(2), np.array([[3.0], [1.0]]), [2.0])[0].ravel()
    array([1., 0.])
    """
    radii = np.asarray(radii, dtype=float)
    order = np.argsort(-radii)
    a = np.abs(A).max() or 1.0
    size = np.abs(S).max(axis=0)
    size[size == 0] = 1.0
    A = np.ascontiguousarray(A / a)
    rows = np.ascontiguousarray((S / size).T)
    bounds = np.ascontiguousarray(radii[order] / size[:, None])
    B = np.full((len(rows), len(radii), len(A)), np.nan)
    U, M = B.copy(), np.empty_like(A)
    for k in range(len(rows)):
        _l1_path(A, rows[k], bounds[k], M, B[k], U[k])
    norm = np.abs(B).sum(axis=2)
    infeasible = np.maximum(np.abs(rows[:, None] - B @ A).max(axis=2) - bounds, np.abs(U @ A).max(axis=2) - 1.0)
    gap = norm - (np.einsum("kld,kd->kl", U, rows) - bounds * np.abs(U).sum(axis=2))
    passed = (infeasible <= _TOL) & (np.abs(gap) <= _TOL * np.maximum(norm, 1.0))  # False for NaN
    for k, at in np.argwhere(~passed):
        B[k, at] = _highs(A, rows[k], bounds[k, at])
    solutions = np.empty((len(radii), *S.shape))
    solutions[order] = B.transpose(1, 2, 0) * (size / a)
    return solutions


def _standardised(X):
    """Centred columns of unit standard deviation (n − 1), and these; constant columns become zero."""
    centred = X - X.mean(axis=0)
    constant = np.ptp(X, axis=0) == 0
    centred[:, constant] = 0.0
    scale = np.where(constant, 1.0, centred.std(axis=0, ddof=1))
    return centred / scale, scale


def dantzig(X, Y, lams) -> np.ndarray:
    """Step 1: argmin ‖b_k‖₁ s.t. ‖Xᵀ(y_k − Xb_k)/n‖_∞ ≤ λ for X standardised and Y centred.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Inputs.
    Y : ndarray of shape (n, m)
        Outputs.
    lams : array-like of shape (L,)
        The bounds λ, in the units of Y.

    Returns
    -------
    ndarray of shape (L, m, d)
        Coefficients in the units of X and Y.
    """
    Z, scale = _standardised(X)
    n = len(X)
    return min_l1(Z.T @ Z / n, Z.T @ (Y - Y.mean(axis=0)) / n, lams).transpose(0, 2, 1) / scale


def clime(S, taus) -> np.ndarray:
    """Step 2: argmin ‖ω_j‖₁ s.t. ‖(S + ρI)ω_j − e_j‖_∞ ≤ τ, then of ω_ij and ω_ji the smaller in magnitude.

    ρ = (e_max − m e_min)₊ / (m − 1), e the eigenvalues of S, bounds the condition number by m.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Residual covariance.
    taus : array-like of shape (L,)
        The bounds 0 ≤ τ < 1.

    Returns
    -------
    ndarray of shape (L, m, m)
        Symmetric matrices, not necessarily positive definite.
    """
    m = len(S)
    eigenvalues = np.linalg.eigvalsh(S)
    shift = max(eigenvalues[-1] - m * eigenvalues[0], 0.0) / max(m - 1, 1)
    columns = min_l1(S + shift * np.eye(m), np.eye(m), taus)
    mirrored = columns.transpose(0, 2, 1)
    smaller = np.abs(columns) < np.abs(mirrored)
    # Where both have the same magnitude but different signs, the mean, zero, treats them alike.
    tied = np.abs(columns) == np.abs(mirrored)
    return np.where(tied, 0.5 * (columns + mirrored), np.where(smaller, columns, mirrored))


def positive_definite(omega, variances) -> np.ndarray:
    """Ω + c diag(1/v) with the smallest c ≥ 0 for which √v Ω √v has no eigenvalue below 0.001.

    Only the diagonal changes, and only where Ω is not positive definite enough; the change follows the units of Y.

    Parameters
    ----------
    omega : ndarray of shape (m, m)
        A symmetric matrix.
    variances : ndarray of shape (m,)
        Residual variances v.

    Returns
    -------
    ndarray of shape (m, m)
        A positive definite matrix.
    """
    sd = np.sqrt(variances)
    smallest = np.linalg.eigvalsh(omega * np.outer(sd, sd))[0]
    return omega + np.diag(max(_SMALLEST_EIGENVALUE - smallest, 0.0) / variances)


def _residual_covariance(residuals, Y):
    """RᵀR/n, with a floor under the variances."""
    S = residuals.T @ residuals / len(residuals)
    np.fill_diagonal(S, np.maximum(np.diag(S), _SMALLEST_VARIANCE * Y.var(axis=0)))
    return S


class _Fold:
    """A training fold and its held-out samples, centred by the training fold's means."""

    def __init__(self, X, Y, train, test):
        x_mean, y_mean = X[train].mean(axis=0), Y[train].mean(axis=0)
        self.X, self.Y = X[train] - x_mean, Y[train] - y_mean
        self.X_test, self.Y_test = X[test] - x_mean, Y[test] - y_mean

    def prediction_losses(self, lams) -> np.ndarray:
        """Mean squared error of the held-out samples, for every λ."""
        return np.array([np.mean((self.Y_test - self.X_test @ W.T) ** 2) for W in dantzig(self.X, self.Y, lams)])

    def precision_losses(self, lam, taus) -> np.ndarray:
        """Tr(SΩ) − ln|Ω|, S the covariance of the held-out residuals, for every τ."""
        W = dantzig(self.X, self.Y, [lam])[0]
        S = _residual_covariance(self.Y - self.X @ W.T, self.Y)
        residuals = self.Y_test - self.X_test @ W.T
        held_out = residuals.T @ residuals / len(residuals)
        omegas = (positive_definite(omega, np.diag(S)) for omega in clime(S, taus))
        return np.array([np.sum(held_out * omega) - log_determinant(omega) for omega in omegas])


def _grid(largest, size):
    """From the largest value that matters down to a hundredth of it; only zero where nothing matters."""
    return largest * np.geomspace(1.0, _SMALLEST_ON_GRID, size) if largest > 0 else np.zeros(1)


def _lam_grid(X, Y, size):
    """From λ_max = max|S_xy|, at which B = 0, down."""
    return _grid(np.abs(_standardised(X)[0].T @ Y).max() / len(X), size)


def _tau_grid(S, size):
    """From the smallest τ with a diagonal Ω down.

    ω_j = e_j (1 − τ)/s_jj is optimal while the other constraints hold, (1 − τ)|s_jk|/s_jj ≤ τ.
    """
    ratio = np.abs(S) / np.diag(S)
    np.fill_diagonal(ratio, 0.0)
    return _grid(ratio.max() / (1.0 + ratio.max()), size)


class CAPME(Baseline):
    """Covariate-adjusted precision matrix estimation by constrained ℓ₁ minimisation.

    Coefficients by a Dantzig selector per output, then the residual precision by CLIME:

        min ‖b_k‖₁ s.t. ‖S_xy e_k − S_xx b_k‖_∞ ≤ λ,    min ‖ω_j‖₁ s.t. ‖(S + ρI)ω_j − e_j‖_∞ ≤ τ,

    with X scaled to unit standard deviation and Y in its own units, unless it is standardised. Selected is what is not
    zero.

    Parameters
    ----------
    lam : float or "cv", default="cv"
        λ ≥ 0, in the units of Y. "cv": smallest squared error of held-out samples.
    tau : float or "cv", default="cv"
        0 ≤ τ < 1. "cv": smallest Tr(SΩ) − ln|Ω| with S the covariance of the held-out residuals at the chosen λ.
    n_folds : int, default=5
        Folds of the cross-validation.
    n_values : int, default=30
        How many λ, and then how many τ, are tried.
    random_state : int, RandomState or None, default=None
        Draws the folds.
    standardize : bool, default=False
        Scale inputs and outputs to unit variance first, so that the units do not matter; results are in the units
        given, but λ, τ and ``raw_precision_`` are those of the scaled data. The workflow and `nard fit` do so.

    Attributes
    ----------
    coef_ : ndarray of shape (m, d)
        W.
    precision_ : ndarray of shape (m, m)
        Ω, positive definite: where the estimate is not, its diagonal is raised just enough.
    raw_precision_ : ndarray of shape (m, m)
        Ω before that.
    lam_, tau_ : float
        λ and τ.
    cv_results_ : DataFrame or None
        ``parameter`` ("lam" or "tau"), ``value``, mean ``loss`` over the folds and its ``standard_error``.

    References
    ----------
    T. T. Cai, H. Li, W. Liu, J. Xie. Covariate-adjusted precision matrix estimation with an application in genetical
    genomics. Biometrika 100:139–156, 2013.

    Examples
    --------
    >>> from nard.baselines.capme import CAPME
    >>> from nard.simulate import make_regression
    >>> data = make_regression(100, 10, 4, random_state=0)
    >>> CAPME(lam=0.1, tau=0.2).fit(data.X, data.Y).precision_.shape
    (4, 4)
    """

    def __init__(self, lam="cv", tau="cv", n_folds=5, n_values=30, random_state=None, standardize=False):
        self.lam = lam
        self.tau = tau
        self.n_folds = n_folds
        self.n_values = n_values
        self.random_state = random_state
        self.standardize = standardize

    def _estimate(self, X, Y) -> Estimate:
        self._check_parameters()
        tables, folds = [], self._folds(X, Y)
        if self.lam == "cv":
            lams = _lam_grid(X, Y, self.n_values)
            tables.append(_losses("lam", lams, [fold.prediction_losses(lams) for fold in folds]))
        self.lam_ = _best(tables[-1]) if self.lam == "cv" else float(self.lam)
        W = dantzig(X, Y, [self.lam_])[0]
        S = _residual_covariance(Y - X @ W.T, Y)
        if self.tau == "cv":
            taus = _tau_grid(S, self.n_values)
            tables.append(_losses("tau", taus, [fold.precision_losses(self.lam_, taus) for fold in folds]))
        self.tau_ = _best(tables[-1]) if self.tau == "cv" else float(self.tau)
        self.cv_results_ = pd.concat(tables, ignore_index=True) if tables else None
        self.raw_precision_ = clime(S, [self.tau_])[0]
        sd = np.sqrt(np.diag(S))
        return Estimate(
            W=W,
            omega=positive_definite(self.raw_precision_, np.diag(S)),
            W_selected=np.abs(W) * X.std(axis=0) > _ZERO * Y.std(axis=0)[:, None],
            omega_selected=np.abs(self.raw_precision_) * np.outer(sd, sd) > _ZERO,
        )

    def _folds(self, X, Y) -> list[_Fold]:
        if "cv" not in (self.lam, self.tau):
            return []
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        splits = KFold(min(self.n_folds, len(X)), shuffle=True, random_state=seed).split(X)
        return [_Fold(X, Y, train, test) for train, test in splits]

    def _check_parameters(self):
        lam_ok = (is_number(self.lam) and 0 <= self.lam < np.inf) or self.lam == "cv"
        require(lam_ok, "lam", self.lam, 'a number ≥ 0 or "cv"')
        tau_ok = (is_number(self.tau) and 0 <= self.tau < 1) or self.tau == "cv"
        require(tau_ok, "tau", self.tau, 'a number ≥ 0 and below 1 or "cv"')
        for name, least in (("n_folds", 2), ("n_values", 1)):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            require(whole and value >= least, name, value, f"a whole number ≥ {least}")


def _losses(parameter, values, losses) -> pd.DataFrame:
    losses = np.array(losses)
    error = losses.std(axis=0, ddof=1) / np.sqrt(len(losses))
    return pd.DataFrame({"parameter": parameter, "value": values, "loss": losses.mean(axis=0), "standard_error": error})


def _best(table: pd.DataFrame) -> float:
    """The first of the best: the largest, hence the sparsest."""
    return float(table["value"].iloc[table["loss"].argmin()])
