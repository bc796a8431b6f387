"""HS-GHS: horseshoe on the coefficients, graphical horseshoe on the residual precision, by full Gibbs sampling.

Li, Datta, Craig & Bhadra (2021), "Joint mean–covariance estimation via the horseshoe"; for Ω alone Li, Craig & Bhadra
(2019), "The graphical horseshoe estimator for inverse covariance matrices". With W = Bᵀ,

    Y = XWᵀ + E,  rows of E ~ N(0, Ω⁻¹),
    w_kj ~ N(0, λ²_kj τ²),  ω_kl ~ N(0, ρ²_kl ζ²) for k < l,  ω_kk flat,  Ω ≻ 0,

and λ, τ, ρ, ζ standard half-Cauchy. A half-Cauchy is a mixture of inverse gammas (Makalic & Schmidt 2016),

    λ² | ν ~ IG(½, 1/ν),  ν ~ IG(½, 1),

which makes every conditional one that can be drawn from directly. The original draws all of W at once, from a normal
of dimension md. Here one row of W, the coefficients of one output, is drawn given the others: the same posterior, but
from m factors of size d (or n, where that is smaller), never one of size md.

The priors have a fixed scale, so the model is not invariant to the units of X and Y.

Where X has as many independent columns as there are degrees of freedom, d ≥ n, this posterior is improper: W can fit
an output exactly, and with ω_kk flat the density rises as ‖e_k‖^−(n+2), which no neighbourhood of e_k = 0 in n
dimensions can hold. Sparse problems of n ≈ 100 keep a chain away from there for longer than it is run; on smaller or
denser ones it gets there within some hundred draws, which is an error.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.utils import check_random_state

from nard.baselines.base import Baseline, Estimate
from nard.baselines.chains import Chain, begun, effective_sample_size, run_chain, split_rhat
from nard.compiled import njit
from nard.covariance import log_determinant
from nard.errors import FitError
from nard.inputs import is_number, require
from nard.progress import Watch

__all__ = [
    "HSGHS",
    "MONITORS",
    "ImproperPosterior",
    "Problem",
    "draw_precision",
    "draw_rows_tall",
    "draw_rows_wide",
    "initial_state",
    "make_problem",
    "sweep",
]

# Residual sums of squares below this share of the total ones mean an exact fit; Ω then has no finite value.
_EXACT_FIT = 1e-8
# What is watched of every draw: the global scales, and where W and Ω are.
MONITORS = ("ln τ", "ln ζ", "‖W‖", "ln|Ω|", "Tr ΩEᵀE")
# Sums may be reordered to use vector instructions; infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, fastmath=_FAST)
def _draw_scaled(Q, linear, noise):
    """A draw of N(Q⁻¹·linear, Q⁻¹): L⁻ᵀ(L⁻¹·linear + noise) with Q = LLᵀ."""
    L = np.linalg.cholesky(Q)
    size = len(linear)
    x = np.empty(size)
    for i in range(size):
        row, total = L[i], linear[i]
        for j in range(i):
            total -= row[j] * x[j]
        x[i] = total / row[i]
    for i in range(size):
        x[i] += noise[i]
    for i in range(size - 1, -1, -1):
        row = L[i]
        x[i] /= row[i]
        for j in range(i):
            x[j] -= row[j] * x[i]
    return x


@njit(cache=True, fastmath=_FAST)
def _scaled_identity_plus(A, factor, scale, out):
    """out = I + factor·diag(scale)·A·diag(scale), whose eigenvalues are at least 1 however small the scales are."""
    size = len(scale)
    for i in range(size):
        a, q, s = A[i], out[i], factor * scale[i]
        for j in range(size):
            q[j] = s * a[j] * scale[j]
        q[i] += 1.0


@njit(cache=True, fastmath=_FAST)
def draw_rows_tall(gram, cross, omega, scale, noise, W):
    """Draws the rows of W in turn, in place, with factors of size d.

    Given the other rows, output k's likelihood is that of a regression with variance 1/ω_kk of the working response
    y_k + Σ_{l≠k} (ω_kl/ω_kk) e_l, so that with S = diag(scale_k) and w_k = Su

        u ~ N(Q⁻¹Sc, Q⁻¹),  Q = I + ω_kk S XᵀX S,  c = Σ_l ω_kl Xᵀe_l + ω_kk XᵀXw_k.

    Parameters
    ----------
    gram, cross : ndarray of shape (d, d) and (m, d)
        XᵀX and YᵀX.
    omega : ndarray of shape (m, m)
        Ω.
    scale : ndarray of shape (m, d)
        Prior standard deviations λτ.
    noise : ndarray of shape (m, d)
        Standard normals.
    W : ndarray of shape (m, d)
        The state, overwritten.
    """
    m, d = W.shape
    Q = np.empty((d, d))
    residual_cross = cross - np.dot(W, gram)  # row k is Xᵀe_k
    for k in range(m):
        precision, s = omega[k, k], scale[k]
        # XᵀXw_k = Xᵀy_k − Xᵀe_k spares a product.
        linear = np.dot(omega[k], residual_cross) + precision * (cross[k] - residual_cross[k])
        _scaled_identity_plus(gram, precision, s, Q)
        W[k] = s * _draw_scaled(Q, s * linear, noise[k])
        residual_cross[k] = cross[k] - np.dot(gram, W[k])


@njit(cache=True, fastmath=_FAST)
def draw_rows_wide(X, Y_rows, omega, scale, noise, residual_noise, W):
    """The draws of :func:`draw_rows_tall` with factors of size n, for d much larger than n.

    Bhattacharya, Chakraborty & Mallick (2016): with z the working response, S = diag(scale_k), u ~ N(0, S²) and
    v = √ω_kk·Xu + N(0, I), the draw is

        w_k = u + √ω_kk·S²Xᵀ(I + ω_kk XS²Xᵀ)⁻¹(√ω_kk·z − v).

    ``Y_rows`` is Yᵀ, ``residual_noise`` (m, n) standard normals; the rest as there.
    """
    m, n = Y_rows.shape
    X_rows = np.ascontiguousarray(X.T)
    residual = Y_rows - np.dot(W, X_rows)
    for k in range(m):
        root = np.sqrt(omega[k, k])
        working = Y_rows[k] - residual[k] + np.dot(omega[k], residual) / omega[k, k]
        u = scale[k] * noise[k]
        scaled = root * X * scale[k]
        M = np.dot(scaled, scaled.T)
        for i in range(n):
            M[i, i] += 1.0
        target = root * (working - np.dot(X, u)) - residual_noise[k]
        W[k] = u + scale[k] * np.dot(np.linalg.solve(M, target), scaled)
        residual[k] = Y_rows[k] - np.dot(W[k], X_rows)


@njit(cache=True, fastmath=_FAST)
def draw_precision(scatter, global_sq, noise, gammas, exponentials, omega, local_sq, auxiliary):
    """Draws Ω column by column, each with its local scales, in place.

    With Ω₁₁ the block without column k, s = scatter and D = diag(ρ²_k ζ²), the column is ω₁₂ = β and
    ω_kk = γ + βᵀΩ₁₁⁻¹β, where

        β ~ N(−Cs₁₂, C),  C⁻¹ = s_kk Ω₁₁⁻¹ + D⁻¹,  γ ~ Gamma(n/2 + 1, rate s_kk/2),

    so Ω stays positive definite. Σ = Ω⁻¹, from which Ω₁₁⁻¹ follows, is kept along by rank-one changes.

    Parameters
    ----------
    scatter : ndarray of shape (m, m)
        EᵀE.
    global_sq : float
        ζ².
    noise : ndarray of shape (m, m)
        Standard normals.
    gammas : ndarray of shape (m,)
        Standard gammas of shape n/2 + 1.
    exponentials : ndarray of shape (2, m, m)
        Standard exponentials.
    omega, local_sq, auxiliary : ndarray of shape (m, m)
        The state Ω, ρ² and its mixing variables, symmetric, overwritten. The diagonals of the latter two mean nothing.
    """
    m = len(omega)
    # Anew in every sweep: rounding errors of the rank-one changes do not add up.
    sigma = np.linalg.inv(omega)
    inverse, Q = np.empty((m, m)), np.empty((m, m))
    scale = np.empty(m)
    for k in range(m):
        s_kk = scatter[k, k]
        # Ω₁₁⁻¹ within the full size: row and column k are zero, and so is the prior scale, hence β_k = 0.
        pivot = sigma[k] / np.sqrt(sigma[k, k])
        for i in range(m):
            inverse[i] = 0.5 * (sigma[i] + sigma[:, i]) - pivot[i] * pivot
            scale[i] = np.sqrt(local_sq[k, i] * global_sq)
        inverse[k] = 0.0
        inverse[:, k] = 0.0
        scale[k] = 0.0
        _scaled_identity_plus(inverse, s_kk, scale, Q)
        beta = scale * _draw_scaled(Q, -scale * scatter[k], noise[k])
        gamma = 2.0 * gammas[k] / s_kk
        v = np.dot(inverse, beta)
        for i in range(m):
            sigma[i] = inverse[i] + v[i] * v / gamma
        sigma[k] = -v / gamma
        sigma[:, k] = sigma[k]
        sigma[k, k] = 1.0 / gamma
        omega[k] = beta
        omega[:, k] = beta
        omega[k, k] = gamma + np.dot(beta, v)
        for i in range(m):
            rate = 1.0 / auxiliary[k, i] + beta[i] ** 2 / (2.0 * global_sq)
            local_sq[k, i] = rate / exponentials[0, k, i]
            auxiliary[k, i] = (1.0 + 1.0 / local_sq[k, i]) / exponentials[1, k, i]
        local_sq[k, k] = 1.0
        auxiliary[k, k] = 1.0
        local_sq[:, k] = local_sq[k]
        auxiliary[:, k] = auxiliary[k]


@dataclass(frozen=True)
class Problem:
    """The data as the sweeps need them.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    Y_rows : ndarray of shape (m, n)
        Yᵀ.
    total : ndarray of shape (m,)
        Sums of squares of the outputs.
    dof : float
        Degrees of freedom of EᵀE.
    gram, cross : ndarray of shape (d, d) and (m, d), or None
        XᵀX and YᵀX, where the factors are of size d.
    """

    X: np.ndarray
    Y_rows: np.ndarray
    total: np.ndarray
    dof: float
    gram: np.ndarray | None
    cross: np.ndarray | None


def make_problem(X, Y, dof=None) -> Problem:
    """The problem of data X (n, d) and Y (n, m); ``dof`` is n unless told, and n − 1 if means were taken off."""
    X, Y_rows = np.ascontiguousarray(X, dtype=float), np.ascontiguousarray(np.transpose(Y), dtype=float)
    n, d = X.shape
    # A factor of size d costs d³/3 operations, one of size n costs 2n²d for its matrix and 2n³/3.
    tall = d**3 <= 6 * n**2 * d + 2 * n**3
    gram, cross = (X.T @ X, Y_rows @ X) if tall else (None, None)
    return Problem(X, Y_rows, (Y_rows**2).sum(axis=1), n if dof is None else dof, gram, cross)


def initial_state(m: int, d: int) -> dict[str, np.ndarray]:
    """Where chains start: W = 0, Ω = I, all scales 1. ``_sq`` are squared scales, ``_aux`` the ν that mix them."""
    return {
        "W": np.zeros((m, d)),
        "W_local_sq": np.ones((m, d)),
        "W_local_aux": np.ones((m, d)),
        "W_global_sq": np.ones(()),
        "W_global_aux": np.ones(()),
        "omega": np.eye(m),
        "omega_local_sq": np.ones((m, m)),
        "omega_local_aux": np.ones((m, m)),
        "omega_global_sq": np.ones(()),
        "omega_global_aux": np.ones(()),
    }


def _draw_global(squares_over_local, count, global_sq, auxiliary, rng) -> None:
    """τ² ~ IG((count + 1)/2, 1/ξ + Σ w²/(2λ²)), then ξ ~ IG(1, 1 + 1/τ²), in place."""
    global_sq[...] = (1.0 / auxiliary + 0.5 * squares_over_local) / rng.standard_gamma(0.5 * (count + 1))
    auxiliary[...] = (1.0 + 1.0 / global_sq) / rng.standard_exponential()


def sweep(problem: Problem, state: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """One draw of everything, in place: W, its scales, Ω with its local scales, ζ. Returns EᵀE."""
    W, omega = state["W"], state["omega"]
    m, d = W.shape
    local_sq, local_aux, global_sq = state["W_local_sq"], state["W_local_aux"], state["W_global_sq"]

    scale = np.sqrt(local_sq * global_sq)
    noise = rng.standard_normal((m, d))
    if problem.gram is None:
        residual_noise = rng.standard_normal(problem.Y_rows.shape)
        draw_rows_wide(problem.X, problem.Y_rows, omega, scale, noise, residual_noise, W)
    else:
        draw_rows_tall(problem.gram, problem.cross, omega, scale, noise, W)

    # λ² ~ IG(1, 1/ν + w²/(2τ²)), ν ~ IG(1, 1 + 1/λ²), and IG(1, b) is b over a standard exponential.
    exponentials = rng.standard_exponential((2, m, d))
    squares = W**2
    local_sq[:] = (1.0 / local_aux + squares / (2.0 * global_sq)) / exponentials[0]
    local_aux[:] = (1.0 + 1.0 / local_sq) / exponentials[1]
    _draw_global((squares / local_sq).sum(), m * d, global_sq, state["W_global_aux"], rng)

    residual = problem.Y_rows - W @ problem.X.T
    scatter = residual @ residual.T
    local_sq, global_sq = state["omega_local_sq"], state["omega_global_sq"]
    noise, gammas = rng.standard_normal((m, m)), rng.standard_gamma(0.5 * problem.dof + 1.0, m)
    exponentials = rng.standard_exponential((2, m, m))
    draw_precision(scatter, float(global_sq), noise, gammas, exponentials, omega, local_sq, state["omega_local_aux"])
    pairs = np.triu_indices(m, 1)
    over_local = (omega[pairs] ** 2 / local_sq[pairs]).sum()
    _draw_global(over_local, len(pairs[0]), global_sq, state["omega_global_aux"], rng)
    return scatter


def _sums(m: int, d: int) -> dict[str, np.ndarray]:
    """Sums over the kept draws: of the entries, their squares, and how often they were positive."""
    shapes = {"W": (m, d), "omega": (m, m)}
    return {f"{name}_{what}": np.zeros(shapes[name]) for name in shapes for what in ("sum", "square_sum", "positive")}


def _draw(problem: Problem):
    """The sampler as :func:`nard.baselines.chains.run_chain` wants it; monitors: see ``MONITORS``."""

    def draw(state, rng, count, keep):
        monitors = np.empty((count, len(MONITORS)))
        for i in range(count):
            scatter = sweep(problem, state, rng)
            if (np.diag(scatter) <= _EXACT_FIT * problem.total).any():
                raise ImproperPosterior(
                    "HS-GHS: the chain has come to fit an output exactly, where its posterior is improper "
                    f"({len(problem.X)} samples, {problem.X.shape[1]} inputs).\n"
                    "  to fix: more samples, fewer inputs, or another method"
                )
            omega = state["omega"]
            monitors[i] = (
                0.5 * np.log(state["W_global_sq"]),
                0.5 * np.log(state["omega_global_sq"]),
                np.linalg.norm(state["W"]),
                log_determinant(omega),
                (omega * scatter).sum(),
            )
            if keep:
                for name in ("W", "omega"):
                    state[f"{name}_sum"] += state[name]
                    state[f"{name}_square_sum"] += state[name] ** 2
                    state[f"{name}_positive"] += state[name] > 0
        return monitors

    return draw


def _summary(chains: list[Chain], name: str, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Posterior means, standard deviations, and where the central credible interval excludes zero.

    It does where less than (1 − level)/2 of the draws are on one side of zero, so counts are enough: no draws are kept.
    """
    n_draws = sum(chain.n_draws for chain in chains)
    mean, square, positive = (
        sum((chain.state[f"{name}_{what}"] for chain in chains), np.zeros(())) / n_draws
        for what in ("sum", "square_sum", "positive")
    )
    sd = np.sqrt(np.maximum(square - mean**2, 0.0))
    return mean, sd, np.abs(positive - 0.5) > 0.5 * level


class ImproperPosterior(FitError):
    """A chain fits an output exactly: with at least as many inputs as samples nothing keeps it from there."""

    code = "improper posterior"


class HSGHS(Baseline):
    """Horseshoe on the coefficients and graphical horseshoe on the residual precision, by full Gibbs sampling.

        w_kj ~ N(0, λ²_kj τ²),  ω_kl ~ N(0, ρ²_kl ζ²),  λ, τ, ρ, ζ ~ C⁺(0, 1),  ω_kk flat.

    Estimates are posterior means. Selected is what has a central credible interval without zero. The intercept has a
    flat prior and is integrated out, which costs one degree of freedom; the original has none.

    With at least as many inputs as samples the posterior is improper. A chain may stay where it is of use; one that
    comes to fit an output exactly ends with an :class:`ImproperPosterior`, which is a RuntimeError.

    Parameters
    ----------
    n_burnin, n_draws : int, default=1000, 5000
        Draws left out and kept, per chain.
    n_chains : int, default=1
        Chains, run one after the other.
    level : float, default=0.75
        Probability of the credible intervals.
    time_budget : float or None, default=None
        Seconds for all chains together. Each gets an equal share, and what has been drawn by then counts.
    checkpoint : str, Path or None, default=None
        File to resume from, if it exists, and to write to. With several chains ``-1``, ``-2``, … are added to its name.
        A finished fit is continued by asking for more draws.
    random_state : int, RandomState or None, default=None
        Seed; None is 0.
    standardize : bool, default=False
        Scale inputs and outputs to unit variance first, so that the units do not matter; results are in the units
        given. The workflow and `nard fit` do so.
    verbose : bool, default=False
        Print what each chain has done.

    Attributes
    ----------
    coef_ : ndarray of shape (m, d)
        Posterior mean of W.
    precision_ : ndarray of shape (m, m)
        Posterior mean of Ω.
    n_burnin_, n_draws_ : int
        Draws left out and kept, of all chains.
    interrupted_ : bool
        Whether Ctrl-C ended the chains before their time. Within the burn-in it ends the fit.
    rhat_, ess_ : dict of str to float
        Split R̂ and effective sample size of ln τ, ln ζ, ‖W‖, ln|Ω| and Tr ΩEᵀE.

    References
    ----------
    Y. Li, J. Datta, B. A. Craig, A. Bhadra. Joint mean–covariance estimation via the horseshoe. Journal of Multivariate
    Analysis 183:104716, 2021.

    Y. Li, B. A. Craig, A. Bhadra. The graphical horseshoe estimator for inverse covariance matrices. Journal of
    Computational and Graphical Statistics 28:747–757, 2019.

    Examples
    --------
    >>> from nard.baselines.hsghs import HSGHS
    >>> from nard.simulate import make_regression
    >>> data = make_regression(100, 10, 4, random_state=0)
    >>> HSGHS(n_burnin=50, n_draws=100).fit(data.X, data.Y).coef_.shape
    (4, 10)
    """

    def __init__(
        self,
        n_burnin=1000,
        n_draws=5000,
        n_chains=1,
        level=0.75,
        time_budget=None,
        checkpoint=None,
        random_state=None,
        standardize=False,
        verbose=False,
    ):
        self.n_burnin = n_burnin
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.level = level
        self.time_budget = time_budget
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.standardize = standardize
        self.verbose = verbose

    def _estimate(self, X, Y) -> Estimate:
        self._check_parameters()
        chains = self._run(make_problem(X, Y, dof=len(X) - 1))
        self.n_burnin_ = sum(chain.n_burnin for chain in chains)
        self.n_draws_ = sum(chain.n_draws for chain in chains)
        self.interrupted_ = len(chains) < self.n_chains or any(chain.interrupted for chain in chains)
        # Chains that ran out of time may differ in length.
        shortest = min(chain.n_draws for chain in chains)
        traces = np.stack([chain.trace[-shortest:] for chain in chains])
        self.rhat_ = {name: split_rhat(traces[:, :, i]) for i, name in enumerate(MONITORS)}
        self.ess_ = {name: effective_sample_size(traces[:, :, i]) for i, name in enumerate(MONITORS)}
        W, W_sd, W_selected = _summary(chains, "W", self.level)
        omega, omega_sd, omega_selected = _summary(chains, "omega", self.level)
        return Estimate(W, omega, W_selected, omega_selected, W_sd, omega_sd)

    def _check_parameters(self) -> None:
        for name, least in (("n_burnin", 0), ("n_draws", 1), ("n_chains", 1)):
            value = getattr(self, name)
            integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
            require(integer and value >= least, name, value, f"an integer of at least {least}")
        require(is_number(self.level) and 0 < self.level < 1, "level", self.level, "between 0 and 1")
        budget = self.time_budget
        require(budget is None or (is_number(budget) and budget > 0), "time_budget", budget, "None or positive")

    def _run(self, problem: Problem) -> list[Chain]:
        m, d = len(problem.Y_rows), problem.X.shape[1]
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        share = None if self.time_budget is None else self.time_budget / self.n_chains
        chains = []
        with Watch(self.verbose) as watch:
            for number in range(1, self.n_chains + 1):
                if watch.stopped:
                    break
                watch.stage(f"HS-GHS, chain {number} of {self.n_chains}")
                chain = run_chain(
                    _draw(problem),
                    initial_state(m, d) | _sums(m, d),
                    np.random.default_rng([seed, number]),
                    self.n_burnin,
                    self.n_draws,
                    time_budget=share,
                    checkpoint=self._file(number),
                    fingerprint=_fingerprint(problem, self.n_burnin, seed, number),
                    watch=watch,
                )
                chains.append(chain)
                if self.verbose:
                    done = f"{chain.n_burnin} + {chain.n_draws} draws in {chain.seconds:.1f} s"
                    print(f"chain {number}: {done}", flush=True)
        return begun(chains)

    def _file(self, number: int) -> Path | None:
        if self.checkpoint is None or self.n_chains == 1:
            return None if self.checkpoint is None else Path(self.checkpoint)
        path = Path(self.checkpoint)
        return path.with_name(f"{path.stem}-{number}{path.suffix}")


def _fingerprint(problem: Problem, *parameters) -> str:
    """Which data and parameters a chain is for; not how many draws, so that more of them can be asked for."""
    digest = hashlib.sha256(problem.X.tobytes() + problem.Y_rows.tobytes())
    digest.update(repr((problem.X.shape, problem.Y_rows.shape, problem.dof, *parameters)).encode())
    return digest.hexdigest()
