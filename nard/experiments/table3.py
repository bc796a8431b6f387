"""Table 3: the time of one iteration over d at N = 20,000 and m = 2,000, from sufficient statistics."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import blas, lapack
from threadpoolctl import threadpool_limits

from nard.experiments import CannotRun, synthetic
from nard.experiments.synthetic import PRELOAD

__all__ = ["PRELOAD", "READINGS", "brief", "figure", "remarks", "run", "runs", "table"]

READINGS = """
The paper does not say what an iteration is nor the unit of time; we take seconds on its 32 cores, and time one
iteration as its algorithms are printed, with all d inputs in: for NARD Σ = (K + XXᵀ)⁻¹, μ, all α and V; for Surrogate
NARD one majorised step in W and α and V; for MRCE one pass of lassos; each with a warm graphical lasso. That is not how
our fits work: they prune first, and none of them ever inverts a d×d matrix (see the time figure).

All need the data through XXᵀ, XYᵀ and YYᵀ only. These are summed once over blocks of samples, in place, so that X is
never held as a whole: at d = 30,000 XXᵀ alone is 7.2 GB. Their time is told apart. It is proportional to the samples,
so where it would take long it is measured on as many as fit into the time given, and scaled; the iterations cost the
same for any values. The inverse overwrites XXᵀ, by Cholesky, with one thread beyond d = 23,000, where OpenBLAS crashes
with more. An iteration that would not end in time, by its count of operations and the measured speed of the machine, is
not begun. One repetition; p = 0.02, 5 % of the inputs relevant.
"""

# d: seconds per iteration of MRCE, NARD, Surrogate NARD
PAPER = {
    500: (2.4, 2.1, 1.56),
    1000: (2.5, 2.4, 1.96),
    2000: (3.6, 3.4, 2.2),
    5000: (12.2, 10.7, 3.7),
    10000: (33.4, 30.8, 8.9),
    15000: (77.5, 70.9, 20.8),
    20000: (201.9, 168.6, 33.7),
    30000: (421.3, 376.7, 64.7),
}
COMPARED = ("mrce", "full", "surrogate")
_BLOCK = 1000
_PANEL = 2000
# OpenBLAS's symmetric products (seen with 0.3.30), on which Cholesky's factor and inverse rest, crash with several
# threads somewhere between 23,000 and 27,000 rows.
_LARGEST_THREADED = 23_000
# Seconds for the sums over the samples, and for all iterations at one d.
_STATISTICS_SECONDS = 60
_ITERATION_SECONDS = 400
_POWER_STEPS = 20


def runs(settings: Mapping) -> list[dict]:
    m, n = synthetic.scaled(settings, 2000, 20000)
    return [
        {
            "name": f"d{d}",
            **{"d": d, "m": m, "n": n, "p": 0.02, "seed": 0, "paper_d": paper_d},
            "gigabytes": settings["gigabytes"],
        }
        for paper_d, (d,) in ((paper_d, synthetic.scaled(settings, paper_d)) for paper_d in PAPER)
    ]


class Statistics:
    """XXᵀ/N (d×d, in Fortran's order), XYᵀ/N and YYᵀ/N of simulated samples, summed in place over blocks of them.

    ``n`` are the samples used, ``seconds`` what all samples take; ``rho`` is for who times it to set.
    """

    rho: float

    def __init__(self, d: int, m: int, n: int, p: float, seed: int, seconds: float):
        from nard.simulate import draw_residuals, make_precision

        rng = np.random.default_rng(seed)
        omega = make_precision(m, p, rng)
        inputs = rng.choice(d, max(1, d // 20), replace=False)
        W = rng.uniform(0.3, 1.0, (m, len(inputs))) * rng.choice([-1.0, 1.0], (m, len(inputs)))
        W[rng.random(W.shape) > 0.1] = 0.0
        self.xx = np.zeros((d, d), order="F")
        self.xy, self.yy = np.zeros((d, m)), np.zeros((m, m))
        self.n, spent = 0, 0.0
        while self.n < n and spent < seconds:
            X = rng.standard_normal((min(_BLOCK, n - self.n), d))
            Y = X[:, inputs] @ W.T + draw_residuals(omega, len(X), rng)
            started = time.perf_counter()
            for at in range(0, d, _PANEL):  # the lower triangle by columns; dsyrk would crash, see _LARGEST_THREADED
                self.xx[at:, at : at + _PANEL] += X[:, at:].T @ X[:, at : at + _PANEL]
            self.xy += X.T @ Y
            self.yy += Y.T @ Y
            spent += time.perf_counter() - started
            self.n += len(X)
        started = time.perf_counter()
        for sums in (self.xx, self.xy, self.yy):
            sums /= self.n
        for at in range(0, d, _BLOCK):  # the upper triangle is the lower one's mirror image
            rows = slice(at, at + _BLOCK)
            self.xx[rows, at + _BLOCK :] = self.xx[at + _BLOCK :, rows].T
            corner = np.tril(self.xx[rows, rows])
            self.xx[rows, rows] = corner + np.tril(corner, -1).T
        self.seconds = spent * n / self.n + time.perf_counter() - started

    def largest_eigenvalue(self) -> float:
        """Of XXᵀ/N, from above: the power method, with a margin."""
        vector = np.ones(len(self.xx))
        for _ in range(_POWER_STEPS):
            vector = self.xx @ (vector / np.linalg.norm(vector))
        return 1.1 * float(np.linalg.norm(vector))


def mrce_iteration(data: Statistics, lam: float, network):
    """One pass over the entries of W by coordinate descent, then Ω given W."""
    from nard.baselines.mrce import Moments, coefficients_given

    moments = Moments(data.xx.T, data.xy, data.yy, penalise_diagonal=False)
    lam2 = np.sqrt(2 * np.log(len(data.xx)) / data.n)
    # Any gain is within this tolerance, so that there is one pass.
    B, _ = coefficients_given(moments, network.precision, lam2, np.zeros_like(data.xy), tol=1e12)
    return _network(moments.scatter(B, lam), lam, network)


def surrogate_iteration(data: Statistics, lam: float, network):
    """One majorised step in W and α, from W = 0, then Ω given them; ρ was computed before."""
    from nard.algorithms.coordinate import best_alphas

    rho, m = data.rho, data.xy.shape[1]
    target = data.xy / rho
    q2 = data.n * rho**2 * data.n * np.einsum("ij,ij->i", target @ network.precision, target)
    alpha = best_alphas(np.full(len(target), data.n * rho), q2, m, 1.0, 0.0) / data.n
    target *= (rho / (rho + alpha))[:, None]
    cross = data.xx @ target
    np.subtract(data.xy, cross, out=cross)
    fitted = target.T @ (data.xy + cross)
    scatter = data.yy - 0.5 * (fitted + fitted.T)
    kept = np.isfinite(alpha)
    scatter += (target[kept] * alpha[kept, None]).T @ target[kept]
    return _network(scatter, lam, network)


def full_iteration(data: Statistics, lam: float, network):
    """Σ, μ, MacKay's α and Ω with all inputs in, as printed; XXᵀ is overwritten by Σ."""
    n, m = data.n, data.xy.shape[1]
    sigma = data.xx
    # The starting α of our batch algorithms, N for inputs of unit variance; here and below Σ stands for NΣ.
    alpha = np.ones(len(sigma))
    sigma[np.diag_indices_from(sigma)] += alpha
    with threadpool_limits(_threads(len(sigma)), user_api="blas"):
        factor, failed = lapack.dpotrf(sigma, lower=1, clean=0, overwrite_a=1)
        sigma, failed_inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed or failed_inverse:
        raise np.linalg.LinAlgError("K + XXᵀ is not positive definite")
    mean = blas.dsymm(1.0, sigma, np.asfortranarray(data.xy), lower=1)
    weight = np.einsum("ij,ij->i", mean @ network.precision, mean)
    alpha = m * (1.0 - alpha * np.diag(sigma)) / (n * weight)
    scatter = data.yy - data.xy.T @ mean
    return alpha, mean, _network(0.5 * (scatter + scatter.T), lam, network)


def _network(scatter, lam, init=None):
    from nard import graphical_lasso

    return graphical_lasso(scatter, lam * np.sqrt(np.outer(np.diag(scatter), np.diag(scatter))), init=init, tol=1e-3)


def _threads(d: int) -> int | None:
    return 1 if d > _LARGEST_THREADED else None


# The inverse destroys XXᵀ, so it comes last. Operations by d and m, in products and in the inverse; the rest is small
# beside them.
_ITERATIONS = {
    "surrogate": (surrogate_iteration, lambda d, m: (2.0 * d * d * m, 0.0)),
    "mrce": (mrce_iteration, lambda d, m: (6.0 * d * d * m, 0.0)),
    "full": (full_iteration, lambda d, m: (2.0 * d * d * m, float(d) ** 3)),
}


def _operations_per_second(threads: int | None = None) -> float:
    A = np.ones((1500, 1500))
    with threadpool_limits(threads, user_api="blas"):
        A @ A
        started = time.perf_counter()
        A @ A
        return 2 * 1500**3 / (time.perf_counter() - started)


def run(spec: Mapping) -> dict:
    d, m, n = spec["d"], spec["m"], spec["n"]
    needed = 8e-9 * (d * d + 7 * d * m + 8 * m * m + 2 * _BLOCK * d)
    if needed > spec["gigabytes"]:
        raise CannotRun(f"needs {needed:.0f} GB by estimate")
    _compile(spec)
    data, lam = Statistics(d, m, n, spec["p"], spec["seed"], _STATISTICS_SECONDS), synthetic.lam_for(m, n)
    started = time.perf_counter()
    data.rho = data.largest_eigenvalue()
    network = _network(data.yy, lam)
    result: dict[str, Any] = {
        "statistics_seconds": data.seconds,
        "samples_used": data.n,
        "start_seconds": time.perf_counter() - started,
        "iterations": {},
    }
    speeds = np.array([_operations_per_second(), _operations_per_second(_threads(d))])
    started = time.perf_counter()
    for method, (iteration, operations) in _ITERATIONS.items():
        estimate = float((np.array(operations(d, m)) / speeds).sum())
        left = _ITERATION_SECONDS - (time.perf_counter() - started)
        if estimate > left:
            reason = f"{estimate:.0f} s by estimate, with {max(left, 0):.0f} s left"
            result["iterations"][method] = {"reason": reason}
            continue
        begun = time.perf_counter()
        iteration(data, lam, network)
        result["iterations"][method] = {"seconds": time.perf_counter() - begun}
    return result


def _compile(spec: Mapping) -> None:
    """Every iteration once on a small problem, so that what is timed is compiled."""
    for iteration, _ in _ITERATIONS.values():
        small = Statistics(20, 8, 100, spec["p"], 0, 1.0)
        small.rho = small.largest_eigenvalue()
        iteration(small, 0.1, _network(small.yy, 0.1))


def table(results: Sequence[Mapping]) -> pd.DataFrame:
    rows = []
    for record in results:
        spec, result = record["spec"], record.get("result") or {}
        for rank, method in enumerate(COMPARED):
            found = result.get("iterations", {}).get(method, {})
            rows.append(
                {
                    **{key: spec[key] for key in ("d", "m", "n")},
                    "method": synthetic.paper_names(method),
                    "iteration_seconds": found.get("seconds", np.nan),
                    "statistics_seconds": result.get("statistics_seconds", np.nan),
                    "samples_used": result.get("samples_used", 0),
                    "cores": record["threads"],
                    "gb": record["peak_gb"],
                    "paper_iteration": PAPER[spec["paper_d"]][rank],
                    "note": found.get("reason") or record.get("reason"),
                }
            )
    return pd.DataFrame(rows)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    """A row per d."""
    wide = table.pivot_table(
        index="d", columns="method", values=["iteration_seconds", "paper_iteration"], dropna=False, sort=False
    )
    wide.columns = [f"{method}{', paper' if value.startswith('paper') else ''}" for value, method in wide.columns]
    once = table.drop_duplicates("d").set_index("d")
    return wide.join(once[["statistics_seconds", "gb"]]).reset_index()


def _slope(d, seconds) -> float:
    """Of ln(seconds) over ln d in its upper half, where the leading term shows."""
    seconds = np.asarray(seconds, dtype=float)
    there = np.flatnonzero(np.isfinite(seconds))
    there = there[-max(2, -(-len(there) // 2)) :]
    if len(there) < 2:
        return np.nan
    return float(np.polyfit(np.log(np.asarray(d)[there]), np.log(seconds[there]), 1)[0])


def remarks(table: pd.DataFrame) -> list[str]:
    sentences = []
    # NARD first, MRCE last.
    for method, rows in sorted(table.groupby("method", sort=False), key=lambda group: group[0] == "MRCE"):
        there = rows.dropna(subset=["iteration_seconds"])
        if there.empty:
            continue
        last = there.iloc[-1]
        sentences.append(
            f"{method}: {last['iteration_seconds']:.3g} s per iteration at d = {last['d']} on {last['cores']} cores "
            f"(paper {last['paper_iteration']:g} on 32); slope in the upper half of d "
            f"{_slope(rows['d'], rows['iteration_seconds']):.2f}, the paper's "
            f"{_slope(rows['d'], rows['paper_iteration']):.2f}."
        )
    both = table.pivot_table(index="d", columns="method", values="iteration_seconds")
    if {"NARD", "Surrogate NARD"} <= set(both) and len(both.dropna()):
        d, largest = both.dropna().index[-1], both.dropna().iloc[-1]
        paper = table[table["d"] == d].set_index("method")["paper_iteration"]
        sentences.append(
            f"At d = {d} an iteration of NARD takes {largest['NARD'] / largest['Surrogate NARD']:.1f} times as long as "
            f"one of Surrogate NARD; in the paper {paper['NARD'] / paper['Surrogate NARD']:.1f} times."
        )
    partly = table[(table["samples_used"] > 0) & (table["samples_used"] < table["n"])].drop_duplicates("d")
    if len(partly):
        listed = ", ".join(f"{row.samples_used} at d = {row.d}" for row in partly.itertuples())
        sentences.append(f"The products' time was measured on some of the samples and scaled: {listed}.")
    for row in table[table["iteration_seconds"].isna()].itertuples():
        sentences.append(f"{row.method} at d = {row.d} was not run: {row.note}.")
    return sentences


def figure(table: pd.DataFrame, results: Sequence[Mapping]):
    from nard.experiments.drawing import COLOURS, MARKERS, panels

    fig, (ax,) = panels(1, height=3.4)
    for method, rows in table.groupby("method", sort=False):
        style = {"color": COLOURS[method], "marker": MARKERS[method], "ms": 4}
        ax.plot(rows["d"], rows["iteration_seconds"], label=f"{method}", **style)
        ax.plot(rows["d"], rows["paper_iteration"], mfc="white", ls=":", label=f"{method}, paper, 32 cores", **style)
    once = table.drop_duplicates("d")
    ax.plot(once["d"], once["statistics_seconds"], color="0.5", ls="--", label="products XXᵀ, XYᵀ, YYᵀ, once")
    size = once.iloc[0]
    ax.set(xscale="log", yscale="log", xlabel=f"inputs d (N = {size['n']}, m = {size['m']})", ylabel="seconds")
    ax.set_xticks(once["d"], once["d"])
    ax.minorticks_off()
    ax.set_title(f"ours on {size['cores']} cores", loc="left")
    ax.legend(frameon=False)
    ax.grid(alpha=0.5)
    return fig
