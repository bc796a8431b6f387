"""JRNS: spike-and-slab Gibbs sampling of B and Ω under a generalised likelihood (Samanta, Khare & Michailidis 2022).

With E = Y − XB, T = EᵀE and symmetric Ω of positive diagonal the generalised likelihood is

    exp{n Σ_j ln ω_jj − ½ Tr(Ω² T)},

a product of regressions of each residual on all others, so that Ω need not be positive definite. Entries of B are zero
with probability 1 − 1/d and off-diagonal ones of Ω with 1 − 1/m, else N(0, 1/λ) with a λ ~ Gamma(10⁻⁴, 10⁻⁸) of their
own; ω_jj ~ Exp(1). Given all others, each entry x appears as exp(l x − ½ A x²), where

* b_rs:        A = (Ω²)_ss (XᵀX)_rr,  l = (XᵀE Ω²)_rs + A b_rs;
* ω_jk, j ≠ k: A = T_jj + T_kk,       l = A ω_jk − (ΩT)_jk − (ΩT)_kj;
* ω_jj:        density ∝ ω^n exp{−½ T_jj ω² − c ω},  c = (ΩT)_jj − T_jj ω_jj + 1.

The λ of a zero entry is not in the likelihood, so that any law may be chosen for it without a change to the posterior
of B and Ω (Carlin & Chib 1995). The hyperprior itself would be a poor choice: it is so close to ln λ ~ U(−∞, ∞) that
nearly all its draws make a return impossible. Here ln λ ~ U(centre ± 8) for zero entries, around what coefficients of a
moderate size suggest.
"""

from __future__ import annotations

import hashlib
import math
import numbers
from pathlib import Path

import numpy as np
from sklearn.utils import check_random_state

from nard.baselines.base import Baseline, Estimate
from nard.baselines.chains import Chain, begun, effective_sample_size, run_chain, split_rhat
from nard.compiled import njit
from nard.inputs import is_number, require
from nard.progress import Watch

__all__ = ["JRNS", "GibbsProblem", "draw_block", "initial_state", "positive_definite"]

SHAPE, RATE, DIAGONAL_RATE = 1e-4, 1e-8, 1.0
MONITORS = ("log_likelihood", "associations", "edges", "coef_norm")
# Half the width of the interval of ln λ for zero entries; wide enough for coefficients 50 times off the centre.
_HALF = 8.0
# Share of an output's variance that a coefficient of moderate size explains.
_MODERATE = 0.1
# Smallest eigenvalue, in units of the diagonal, that an Ω is brought to if it is not positive definite.
_SMALLEST = 0.01
# Share of n that t ω² has at the mode of an ω_jj, below which a normal proposal would hardly ever be accepted.
_TANGENT = 0.1


class GibbsProblem:
    """Cross-products, prior, and which of B and the off-diagonal of Ω are drawn; :meth:`draw` is for ``run_chain``."""

    def __init__(self, X, Y, *, coef=True, edges=True, alone=0, q=None, shape=SHAPE, rate=RATE, eta=DIAGONAL_RATE):
        """``q`` are the inclusion probabilities for B and Ω. For the first ``alone`` draws of a chain Ω is diagonal.

        Edges drawn while B is still far from the data explain what is left of it, and are slow to go.
        """
        (self.n, d), m = X.shape, Y.shape[1]
        self.XX, self.YX, self.XY, self.YY = X.T @ X, Y.T @ X, X.T @ Y, Y.T @ Y
        self.coef, self.edges, self.alone, self.eta = coef, edges, alone, eta
        q_coef, q_edges = (1 / d, 1 / m) if q is None else q
        self.slab_coef = _slab(q_coef, shape, rate)
        self.slab_edges = _slab(q_edges, shape, rate)
        # The centres of ln λ are sums of a term per output and one per input, or per other output.
        log_x, log_y = (np.log(np.where(square > 0, square, 1.0)) for square in (np.diag(self.XX), np.diag(self.YY)))
        self.centre_coef = (-np.log(_MODERATE) - log_y, log_x)
        self.centre_edges = 0.5 * (log_y - np.log(_MODERATE * self.n))

    def draw(self, state: dict, rng: np.random.Generator, count: int, keep: bool) -> np.ndarray:
        edges = self.edges and bool(keep or state["drawn"] >= self.alone)
        state["drawn"] += count
        drawn = [state[name] for name in ("W", "omega", "W_sums", "omega_sums")]
        data = self.n, self.XX, self.YX, self.XY, self.YY, self.eta, self.coef
        prior = edges, self.slab_coef, self.slab_edges, *self.centre_coef, self.centre_edges
        return draw_block(*[*drawn, *data, *prior, rng, count, keep])

    def fingerprint(self, *more) -> str:
        """Names the posterior, and whatever else a chain depends on."""
        digest = hashlib.sha256()
        for array in (self.XX, self.YX, self.YY):
            digest.update(np.ascontiguousarray(array).tobytes())
        what = (self.n, self.coef, self.edges, self.alone, self.eta, self.slab_coef, self.slab_edges, more)
        digest.update(repr(what).encode())
        return digest.hexdigest()


def initial_state(problem: GibbsProblem, dense: bool = False) -> dict[str, np.ndarray]:
    """Where a chain starts: B = 0 or, to see whether chains forget it, ridge regression; Ω = diag(T / n)^-½.

    The sums over kept draws are, for each entry: how often it was not zero, its sum, its sum of squares.
    """
    m, d = problem.YX.shape
    W = np.zeros((m, d))
    if dense and problem.coef:
        ridge = _MODERATE * np.trace(problem.XX) / d * np.eye(d)
        W = np.linalg.solve(problem.XX + ridge, problem.YX.T).T.copy()
    rss = np.diag(problem.YY) - np.einsum("sr,sr->s", W, 2 * problem.YX - W @ problem.XX)
    omega = np.diag(np.sqrt(problem.n / rss))
    sums = {"W_sums": np.zeros((3, m, d)), "omega_sums": np.zeros((3, m, m))}
    return {"W": W, "omega": omega, "drawn": np.zeros((), dtype=int)} | sums


def _slab(q: float, shape: float, rate: float) -> tuple[float, float, float, float]:
    """(κ, upper bound of κ + a ln λ − bλ, a, b).

    κ + a ln λ − bλ is the logarithm of the prior odds of not being zero: of q Gamma(λ; a, b) to (1 − q) and the uniform
    law for ln λ.
    """
    log_odds = math.log(q) - math.log1p(-q) if q < 1 else math.inf
    kappa = log_odds + shape * math.log(rate) - math.lgamma(shape) + math.log(2 * _HALF)
    return kappa, kappa + shape * math.log(shape / rate) - shape, shape, rate


@njit(cache=True, error_model="numpy")
def _entry(x, linear, precision, centre, slab, rng):
    """A draw of λ and then of an entry under exp(l x − ½ A x²) times its prior, where x is its last value."""
    kappa, bound, shape, rate = slab
    # The entry is not zero if e > ln(1 + 1/odds), which has probability odds / (1 + odds).
    e = rng.standard_exponential()
    if x == 0:
        # Most entries end here: the odds are at most exp(bound + ½ l²/A), whatever λ is.
        if e < -bound - 0.5 * linear * linear / precision:
            return 0.0
        log_lam = centre + _HALF * (2 * rng.random() - 1)
        lam = math.exp(log_lam)
    else:
        lam = rng.standard_gamma(shape + 0.5) / (rate + 0.5 * x * x)
        log_lam = math.log(lam)
    variance = 1 / (lam + precision)
    # A zero entry has its λ in the interval, so an entry whose λ is outside is not zero.
    if abs(log_lam - centre) <= _HALF:
        odds = math.exp(
            kappa
            + shape * log_lam
            - rate * lam
            + 0.5 * math.log(lam * variance)
            + min(0.5 * linear * linear * variance, 500.0)
        )
        if e <= math.log1p(1 / odds):
            return 0.0
    return linear * variance + math.sqrt(variance) * rng.standard_normal()


@njit(cache=True, error_model="numpy")
def _diagonal(n, t, c, rng):
    """A draw from the density ∝ ω^n exp(−½ t ω² − c ω), ω > 0.

    Its logarithm has a curvature below −t, so that N(mode, 1/t) lies above it when both are scaled to 1 at the mode;
    there t ω² + c ω = n, and the ratio is exp{n (ln ρ − ρ + 1)} at ρ = ω / mode. Where −c ω outweighs −½ t ω², that is
    far too wide; there −½ t ω² lies below its tangent at the mode, which leaves a gamma density, and the ratio is
    exp{−½ t (ω − mode)²}.
    """
    root = math.sqrt(c * c + 4 * n * t)
    mode = 2 * n / (c + root) if c > 0 else (root - c) / (2 * t)
    while t * mode * mode < _TANGENT * n:
        omega = mode / n * rng.standard_gamma(n + 1)
        if rng.standard_exponential() > 0.5 * t * (omega - mode) ** 2:
            return omega
    while True:
        rho = 1 + rng.standard_normal() / (math.sqrt(t) * mode)
        if rho > 0 and rng.standard_exponential() > n * (rho - 1 - math.log(rho)):
            return mode * rho


@njit(cache=True, error_model="numpy")
def _sparse_product(A, B, out):
    """out = AB, where A has many zeros."""
    for i in range(A.shape[0]):
        out[i] = 0
        for k in range(A.shape[1]):
            a = A[i, k]
            if a != 0:
                for j in range(B.shape[1]):
                    out[i, j] += a * B[k, j]


@njit(cache=True, error_model="numpy")
def _draw_coef(W, omega2, XX, EX, slab, centre_y, centre_x, column, rng):
    """A sweep over B, output by output. ``EX`` = EᵀX and ``column``, that of XᵀEΩ², are kept up to date."""
    m, d = W.shape
    for s in range(m):
        column[:] = 0
        for k in range(m):
            weight = omega2[s, k]
            if weight != 0:
                for r in range(d):
                    column[r] += weight * EX[k, r]
        weight = omega2[s, s]
        for r in range(d):
            x = W[s, r]
            precision = weight * XX[r, r]
            new = _entry(x, column[r] + precision * x, precision, centre_y[s] + centre_x[r], slab, rng)
            if new != x:
                W[s, r] = new
                change = new - x
                for i in range(d):
                    EX[s, i] -= change * XX[r, i]
                    column[i] -= change * weight * XX[r, i]


@njit(cache=True, error_model="numpy")
def _draw_omega(omega, T, OT, n, eta, edges, slab, centre, rng):
    """A sweep over Ω, with ``OT`` = ΩT kept up to date."""
    m = len(omega)
    for j in range(m):
        for k in range(j if edges else 0):
            x = omega[j, k]
            precision = T[j, j] + T[k, k]
            linear = precision * x - OT[j, k] - OT[k, j]
            new = _entry(x, linear, precision, centre[j] + centre[k], slab, rng)
            if new != x:
                omega[j, k] = omega[k, j] = new
                for i in range(m):
                    OT[j, i] += (new - x) * T[k, i]
                    OT[k, i] += (new - x) * T[j, i]
        x = omega[j, j]
        omega[j, j] = _diagonal(n, T[j, j], OT[j, j] - T[j, j] * x + eta, rng)
        for i in range(m):
            OT[j, i] += (omega[j, j] - x) * T[j, i]


@njit(cache=True, error_model="numpy")
def _add(sums, values):
    """Count, sum and sum of squares of the entries that are not zero; returns how many they are, and ‖·‖²."""
    count, square = 0, 0.0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            if value != 0:
                count += 1
                square += value * value
                sums[0, i, j] += 1
                sums[1, i, j] += value
                sums[2, i, j] += value * value
    return count, square


@njit(cache=True, error_model="numpy")
def draw_block(
    W,
    omega,
    W_sums,
    omega_sums,
    n,
    XX,
    YX,
    XY,
    YY,
    eta,
    coef,
    edges,
    slab_coef,
    slab_edges,
    centre_y,
    centre_x,
    centre_edges,
    rng,
    count,
    keep,
):
    """``count`` sweeps over B and Ω, in place; returns the :data:`MONITORS` (count, 4) of the draws kept.

    Every sweep forms EᵀX, T and ΩT anew from B and Ω, which costs less than the sweep, so that neither rounding errors
    nor anything else outlives it: B, Ω and the generator are all there is to save.
    """
    m, d = W.shape
    EX, XE, column = np.empty((m, d)), np.empty((d, m)), np.empty(d)
    omega2, T, OT, YX_fit, residual_fit = np.empty((m, m)), YY.copy(), YY.copy(), YY.copy(), YY.copy()
    monitors = np.zeros((count, 4))
    for draw in range(count):
        if coef:
            _sparse_product(W, XX, EX)
            for j in range(m):
                for r in range(d):
                    EX[j, r] = YX[j, r] - EX[j, r]
            _sparse_product(omega, omega, omega2)
            _draw_coef(W, omega2, XX, EX, slab_coef, centre_y, centre_x, column, rng)
            # T = YᵀE − BᵀXᵀE with YᵀE = YᵀY − YᵀXB.
            _sparse_product(W, XY, YX_fit)
            for j in range(m):
                for r in range(d):
                    XE[r, j] = EX[j, r]
            _sparse_product(W, XE, residual_fit)
            for j in range(m):
                for k in range(j + 1):
                    T[j, k] = T[k, j] = YY[j, k] - YX_fit[k, j] - residual_fit[j, k]
                # Rounding must not make a residual variance vanish.
                T[j, j] = max(T[j, j], 1e-12 * YY[j, j])
        _sparse_product(omega, T, OT)
        _draw_omega(omega, T, OT, n, eta, edges, slab_edges, centre_edges, rng)
        if keep:
            n_coef, square = _add(W_sums, W)
            n_omega, _ = _add(omega_sums, omega)
            for j in range(m):
                monitors[draw, 0] += n * math.log(omega[j, j])
                for k in range(m):
                    monitors[draw, 0] -= 0.5 * OT[j, k] * omega[j, k]
            monitors[draw, 1], monitors[draw, 2], monitors[draw, 3] = n_coef, (n_omega - m) // 2, math.sqrt(square)
    return monitors


def positive_definite(omega: np.ndarray) -> np.ndarray:
    """Ω itself if it is positive definite, else with its off-diagonal entries shrunk by one factor until it is.

    With D = diag Ω the smallest eigenvalue of D^-½ Ω D^-½ becomes 0.01; signs, zeros and diagonal stay.
    """
    scale = np.sqrt(np.diag(omega))
    smallest = np.linalg.eigvalsh(omega / np.outer(scale, scale))[0]
    if smallest >= _SMALLEST:
        return omega
    factor = (1 - _SMALLEST) / (1 - smallest)
    return np.where(np.eye(len(omega), dtype=bool), omega, factor * omega)


def _summary(chains: list[Chain], name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inclusion probabilities, means given inclusion (0 where that is below ½), standard deviations of all draws."""
    n_draws = sum(chain.n_draws for chain in chains)
    count, total, square = sum((chain.state[f"{name}_sums"] for chain in chains), np.zeros(()))
    inclusion = count / n_draws
    mean = np.where(inclusion >= 0.5, total / np.maximum(count, 1), 0.0)
    return inclusion, mean, np.sqrt(np.maximum(square / n_draws - (total / n_draws) ** 2, 0.0))


def _monitored(chains: list[Chain]) -> dict[str, np.ndarray]:
    """Draws (n_chains, n_draws) of each monitor; chains that ran out of time are cut to the shortest."""
    shortest = min(chain.n_draws for chain in chains)
    traces = np.stack([chain.trace[:shortest] for chain in chains])
    return {name: traces[..., i] for i, name in enumerate(MONITORS)}


class JRNS(Baseline):
    """Joint (or stepwise) regression and network selection by spike and slab.

    An entry is found if its posterior inclusion probability is at least ½, and estimated by its posterior mean given
    inclusion. Ω is shrunk by :func:`positive_definite` where this does not give a positive definite matrix.

    The generalised likelihood puts ω_jj at about the reciprocal standard deviation of a residual, not variance, so Ω is
    on the scale of a precision only where residual variances are near 1, as in the publication: scale the outputs.

    Parameters
    ----------
    n_burnin, n_draws : int, default=2000 and 1000
        Draws per chain that are dropped and kept. In the first quarter of the burn-in Ω stays diagonal.
    n_chains : int, default=1
        Every other chain starts from ridge regression instead of B = 0.
    variant : {"joint", "stepwise"}, default="joint"
        Stepwise draws B with Ω diagonal (where the generalised likelihood is the ordinary one of separate regressions)
        and then Ω given the residuals of the B found.
    time_budget : float or None
        Seconds for all chains and steps, shared equally.
    checkpoint : path or None
        An .npz file to which the chain is saved now and then, and from which it resumes. With more than one chain or
        step their names are added to that of the file.
    random_state : int, RandomState instance or None
        Seed.
    standardize : bool, default=False
        Scale inputs and outputs to unit variance first, so that the units do not matter; results are in the units
        given. The workflow and `nard fit` do so.
    verbose : bool, default=False
        Print a line for every chain instead of showing its progress.

    Attributes
    ----------
    inclusion_coef_ : ndarray of shape (m, d)
    inclusion_precision_ : ndarray of shape (m, m)
        Posterior inclusion probabilities; 1 on the diagonal.
    rhat_, ess_ : dict
        Split R̂ and effective sample size of the generalised log-likelihood, the numbers of associations and edges,
        and ‖W‖.
    n_burnin_, n_draws_ : int
        Draws dropped and kept, of all chains (in the shorter step, if stepwise).
    interrupted_ : bool
        Whether Ctrl-C ended the chains before their time. Within the burn-in it ends the fit.

    Examples
    --------
    >>> from nard.baselines.jrns import JRNS
    >>> from nard.simulate import make_regression
    >>> data = make_regression(200, 6, 4, random_state=0)
    >>> JRNS(n_burnin=200, n_draws=200, random_state=0).fit(data.X, data.Y).inclusion_coef_.shape
    (4, 6)
    """

    def __init__(
        self,
        n_burnin=2000,
        n_draws=1000,
        n_chains=1,
        variant="joint",
        time_budget=None,
        checkpoint=None,
        random_state=None,
        standardize=False,
        verbose=False,
    ):
        self.n_burnin = n_burnin
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.variant = variant
        self.time_budget = time_budget
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.standardize = standardize
        self.verbose = verbose

    def _estimate(self, X, Y) -> Estimate:
        self._check_parameters()
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        seeds = np.random.SeedSequence(seed).spawn(2)
        with Watch(self.verbose) as watch:
            if self.variant == "joint":
                chains = self._run(GibbsProblem(X, Y, alone=self.n_burnin // 4), "joint", seeds[0], watch)
                coef_chains = omega_chains = chains
            else:
                coef_chains = self._run(GibbsProblem(X, Y, edges=False), "coef", seeds[0], watch)
                residuals = Y - X @ _summary(coef_chains, "W")[1].T
                omega_chains = self._run(GibbsProblem(X, residuals, coef=False), "precision", seeds[1], watch)
        self.inclusion_coef_, W, W_sd = _summary(coef_chains, "W")
        self.inclusion_precision_, omega, omega_sd = _summary(omega_chains, "omega")
        of_coef, of_omega = _monitored(coef_chains), _monitored(omega_chains)
        monitored = {name: (of_omega if name == "edges" else of_coef)[name] for name in MONITORS}
        self.rhat_ = {name: split_rhat(draws) for name, draws in monitored.items()}
        self.ess_ = {name: effective_sample_size(draws) for name, draws in monitored.items()}
        steps = coef_chains, omega_chains
        self.interrupted_ = any(len(chains) < self.n_chains or chains[-1].interrupted for chains in steps)
        self.n_burnin_, self.n_draws_ = (
            min(sum(getattr(chain, name) for chain in chains) for chains in steps) for name in ("n_burnin", "n_draws")
        )
        selected = self.inclusion_precision_ >= 0.5
        return Estimate(W, positive_definite(omega), self.inclusion_coef_ >= 0.5, selected, W_sd, omega_sd)

    def _run(self, problem: GibbsProblem, step: str, seed: np.random.SeedSequence, watch: Watch) -> list[Chain]:
        n_runs = self.n_chains * (1 if self.variant == "joint" else 2)
        chains = []
        for i, chain_seed in enumerate(seed.spawn(self.n_chains)):
            if watch.stopped:
                break
            watch.stage(f"JRNS, {step}, chain {i + 1} of {self.n_chains}")
            path = None if self.checkpoint is None else Path(self.checkpoint)
            if path is not None and n_runs > 1:
                path = path.with_name(f"{path.stem}-{step}-{i}{path.suffix}")
            # Without a seed, any chain for these data is as good as another.
            seed_name = self.random_state if isinstance(self.random_state, numbers.Integral) else None
            chains.append(
                run_chain(
                    problem.draw,
                    initial_state(problem, dense=i % 2 == 1),
                    np.random.default_rng(chain_seed),
                    self.n_burnin,
                    self.n_draws,
                    time_budget=None if self.time_budget is None else self.time_budget / n_runs,
                    checkpoint=path,
                    fingerprint=problem.fingerprint(self.n_burnin, seed_name),
                    watch=watch,
                )
            )
            if self.verbose:
                done = chains[-1]
                print(
                    f"{step}, chain {i + 1}: {done.n_burnin} + {done.n_draws} draws, {done.seconds:.1f} s", flush=True
                )
        return begun(chains)

    def _check_parameters(self) -> None:
        for name, smallest in (("n_burnin", 0), ("n_draws", 1), ("n_chains", 1)):
            value = getattr(self, name)
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            require(whole and value >= smallest, name, value, f"a whole number, at least {smallest}")
        require(self.variant in ("joint", "stepwise"), "variant", self.variant, '"joint" or "stepwise"')
        budget = self.time_budget
        require(budget is None or (is_number(budget) and budget > 0), "time_budget", budget, "positive or None")
