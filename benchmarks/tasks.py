"""The things that `make bench` measures, each a function that returns numbers; run one in a process of its own with

    python benchmarks/tasks.py table_one '{"method": "sequential"}'

which prints them as JSON together with the peak memory of the process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from real_data import real_data_folder
from scipy.linalg import lapack
from scipy.sparse.csgraph import connected_components

from nard import NARD, graphical_lasso
from nard.algorithms import Data, make_problem
from nard.algorithms.coordinate import Coordinates
from nard.algorithms.evidence import empty_state, update_network
from nard.algorithms.priors import make_alpha_prior, make_covariance_prior
from nard.covariance import glasso_objective
from nard.experiments.datasets import load_prices, share_windows
from nard.simulate import make_precision, make_regression

# The paper's model.
PAPER = {"relevance": "inputs", "hidden": 0}
# The accuracy that graphical lassos are compared at: error of the objective, relative to its size.
ACCURACY = 1e-4


def timed(function, repeats=1, seconds=0.0):
    """The shortest of some runs, of more if they take less than so many seconds in all, and the last result."""
    runs, result, end = [], None, time.perf_counter() + seconds
    while len(runs) < repeats or time.perf_counter() < end:
        started = time.perf_counter()
        result = function()
        runs.append(time.perf_counter() - started)
    return min(runs), result


def product_seconds(X) -> float:
    """The floor that fits are compared with: the product of the N×d inputs with themselves, N×N."""
    return timed(lambda: X @ X.T, repeats=5)[0]


def network_samples(m, edge_probability, seed=0, n=1500):
    """Samples of a sparse network, standardised."""
    rng = np.random.default_rng(seed)
    covariance = np.linalg.inv(make_precision(m, edge_probability, rng))
    Z = rng.standard_normal((n, m)) @ np.linalg.cholesky(covariance).T
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def matching_lam(S, edge_probability):
    """λ of 0.06 to 0.11 at which the solution is about as dense as the truth."""
    grid = np.linspace(0.06, 0.11, 6)
    dense = [np.mean(graphical_lasso(S, lam).precision[np.triu_indices(len(S), 1)] != 0) for lam in grid]
    return float(grid[np.argmin(np.abs(np.array(dense) - edge_probability))])


# Every peer gets samples, their correlations, λ and the optimal objective, and returns its precision matrix.
def _sklearn(Z, S, lam, objective):
    from sklearn.covariance import graphical_lasso as solve

    return solve(S, lam, tol=ACCURACY * abs(objective), max_iter=500)[1]


def _gglasso(Z, S, lam, objective):
    from gglasso.solver.single_admm_solver import ADMM_SGL

    mask, tol = 1.0 - np.eye(len(S)), 1e-5
    return ADMM_SGL(S, lam, Omega_0=np.eye(len(S)), tol=tol, rtol=tol, lambda1_mask=mask)[0]["Theta"]


def _skglm(Z, S, lam, objective):
    from skglm.covariance import GraphicalLasso

    return GraphicalLasso(alpha=lam, algo="dual", tol=ACCURACY, max_iter=500).fit(Z).precision_


# huge penalises the diagonal too, which a smaller one of S makes up for.
_R_CALLS = {
    "R glasso": "library(glasso); run <- function(S, lam) glasso(S, lam, thr=1e-2, penalize.diagonal=FALSE)$wi",
    "R huge": "library(huge); run <- function(S, lam) "
    "as.matrix(huge(S - diag(lam, nrow(S)), lambda=lam, method='glasso', verbose=FALSE)$icov[[1]])",
}
_R_SCRIPT = """
suppressMessages({{{call}}})
S <- matrix(readBin("{folder}/S", "double", {m} * {m}), {m})
seconds <- Inf
for (k in 1:{repeats})
    seconds <- min(seconds, system.time(for (i in 1:{often}) P <- run(S, {lam}))[["elapsed"]] / {often})
writeBin(c(seconds, as.double(P)), "{folder}/P")
"""


def _in_r(name, S, lam, repeats):
    """Seconds, by R's own clock, and precision matrix of a package of R's."""
    m = len(S)
    with tempfile.TemporaryDirectory() as folder:
        S.tofile(f"{folder}/S")
        # R's clock counts milliseconds, which small problems do not last (huge takes half a second whatever the size).
        often = 100 if m <= 100 and name == "R glasso" else 1
        script = _R_SCRIPT.format(call=_R_CALLS[name], folder=folder, m=m, lam=lam, repeats=repeats, often=often)
        subprocess.run(["Rscript", "-e", script], check=True, stdout=subprocess.DEVNULL)
        found = np.fromfile(f"{folder}/P")
    P = found[1:].reshape(m, m)
    return found[0], 0.5 * (P + P.T)


PEERS = {"scikit-learn": _sklearn, "GGLasso": _gglasso, "skglm": _skglm}


def compare_graphical_lassos(m, edge_probability, peers):
    """Seconds and relative errors of the objective: nard's, cold, and every peer's."""
    Z = network_samples(m, edge_probability)
    S = Z.T @ Z / len(Z)
    lam = matching_lam(S, edge_probability)
    L = lam * (1 - np.eye(m))
    exact = graphical_lasso(S, lam, tol=1e-9, max_iter=1000)
    tol = ACCURACY * abs(exact.objective) / m
    # Small problems are over before the machine has settled: as many runs as fit into two seconds, for every solver.
    repeats, enough = (3, 2.0) if m <= 500 else (1, 0.0)
    seconds, _ = timed(lambda: graphical_lasso(S, lam, tol=tol), repeats, enough)
    found = graphical_lasso(S, lam, tol=tol)
    out = {
        "lam": lam,
        "nard": {"seconds": seconds, "error": (found.objective - exact.objective) / abs(exact.objective)},
        "Cholesky": {"seconds": timed(lambda: np.linalg.cholesky(S + np.eye(m)), repeats=5)[0]},
    }
    moved = np.random.default_rng(1).standard_normal((m, m))
    moved += moved.T
    np.fill_diagonal(moved, 0.0)
    moved *= 0.01 * np.linalg.norm(S) / np.linalg.norm(moved)
    moved += S
    cold, _ = timed(lambda: graphical_lasso(moved, lam, tol=tol), 5, enough)
    warm, _ = timed(lambda: graphical_lasso(moved, lam, tol=tol, init=found), 5, enough)
    out["warm_over_cold"] = warm / cold
    for name in peers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name in _R_CALLS:
                seconds, precision = _in_r(name, S, lam, repeats)
            else:
                PEERS[name](Z[:, :20], S[:20, :20], 0.2, 20.0)  # imports and compiles
                seconds, precision = timed(lambda name=name: PEERS[name](Z, S, lam, exact.objective), repeats, enough)
        error = (glasso_objective(S, L, np.ascontiguousarray(precision)) - exact.objective) / abs(exact.objective)
        out[name] = {"seconds": seconds, "error": float(error)}
    return out


def descended_samples(m, n=500, seed=0):
    """Standardised samples of variables that each depend on one to three earlier ones: all are connected."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((m, n))
    for j in range(3, m):
        parents = rng.choice(j, rng.integers(1, 4), replace=False)
        Z[j] += rng.uniform(0.3, 0.6, len(parents)) * rng.choice([-1.0, 1.0], len(parents)) @ Z[parents]
        Z[j] /= Z[j].std()
    Z = Z.T - Z.mean(axis=1)
    return Z / Z.std(axis=0)


def lam_of_correlations(Z, per_variable=16):
    """λ that so many correlations of a variable exceed, on average; more than half of them stay as edges."""
    n, m = Z.shape
    some = np.random.default_rng(1).choice(m, min(m, 500), replace=False)
    sizes = np.abs(Z[:, some].T @ Z) / n
    sizes[np.arange(len(some)), some] = 0.0
    return float(np.quantile(sizes, 1.0 - per_variable / m))


def _clocked(function):
    """The result, seconds by the clock, and seconds of all cores together, which other work changes less."""
    clock, cores = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - clock, time.process_time() - cores


def giant_component(m, peers=(), cholesky=0):
    """The graphical lasso of residuals in one component: cold, again at 95 % of λ, and what a Cholesky factor takes."""
    small = descended_samples(2200, n=30)
    graphical_lasso(residuals=small, lam=0.7, init=graphical_lasso(residuals=small, lam=0.72))  # compiles
    Z = descended_samples(m)
    lam = lam_of_correlations(Z)
    found, seconds, cores = _clocked(lambda: graphical_lasso(residuals=Z, lam=lam))
    out = {
        "lam": lam,
        "seconds": seconds,
        "core_seconds": cores,
        "steps": found.n_iter,
        "converged": found.converged,
        "gap": found.duality_gap / m,
        "edges": (found.precision.nnz - m) / m,
        "largest": int(np.bincount(connected_components(found.precision, directed=False)[1]).max()),
        "cold_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    if cholesky:
        W = np.asarray(found.dual)
        clocks = [_clocked(lambda: np.linalg.cholesky(W))[1:] for _ in range(cholesky)]
        clocks += [_clocked(lambda: lapack.dpotrf(W.T, lower=1))[1:] for _ in range(cholesky)]
        out["cholesky_seconds"], out["cholesky_core_seconds"] = np.min(clocks, axis=0).tolist()
    S = Z.T @ Z / len(Z) if peers else None
    for name in peers:
        PEERS[name](Z[:, :20], S[:20, :20], 0.2, 20.0)  # imports and compiles
        precision, seconds, cores = _clocked(lambda name=name: PEERS[name](Z, S, lam, found.objective))
        objective = glasso_objective(S, lam * (1 - np.eye(m)), np.ascontiguousarray(precision))
        worse = (objective - found.objective) / abs(found.objective)
        out[name] = {"seconds": seconds, "core_seconds": cores, "worse": float(worse)}
    warm, seconds, cores = _clocked(lambda: graphical_lasso(residuals=Z, lam=0.95 * lam, init=found))
    out.update(warm_seconds=seconds, warm_core_seconds=cores, warm_converged=warm.converged)
    return out


def _warm_up():
    small = make_regression(60, 20, 8, random_state=0)
    for method in ("sequential", "hybrid", "full", "surrogate"):
        NARD(method=method, lam=0.1, **PAPER).fit(small.X, small.Y)
        NARD(method=method, lam=0.1, **PAPER).fit(small.X[:15], small.Y[:15])


def _errors(model, data):
    """How many relevant inputs and entries were found, and what else."""
    table = model.relevance()
    found = {int(name[1:]) for name in table.feature[table.selected]}
    true = set(np.flatnonzero(data.relevant).tolist())
    rows, columns, _ = model.entry_test_.selected(0.05)
    entries = np.zeros(data.coef.shape, dtype=bool)
    entries[columns, rows] = True
    real = data.coef != 0
    return {
        "inputs_found": len(found & true),
        "inputs_true": len(true),
        "inputs_false": len(found - true),
        "entry_tpr": float(entries[real].mean()),
        "entry_fpr": float(entries[~real].mean()),
    }


def table_one(method, d=5000, m=1500, n=1500, relevant=0.05, edge_probability=0.1, lam=0.06):
    """A fit of the paper's model at fixed λ with all its tests, against the product XXᵀ in the same process."""
    data = make_regression(n, d, m, relevant=relevant, density=0.1, edge_probability=edge_probability, random_state=0)
    _warm_up()
    floor = product_seconds(data.X)
    seconds, model = timed(lambda: NARD(method=method, lam=lam, **PAPER).fit(data.X, data.Y))
    return {
        "seconds": seconds,
        "product": floor,
        "ratio": seconds / floor,
        "converged": model.converged_,
        "steps": model.n_iter_,
        **_errors(model, data),
    }


def iteration(n, d, m=2000):
    """The work of one outer step of Sequential NARD after the cross-products, for N ≥ d: as much of it at any N."""
    data = make_regression(n, d, m, relevant=0.05, density=0.1, edge_probability=0.02, random_state=0)
    _warm_up()
    prepared = Data(data.X - data.X.mean(axis=0), data.Y - data.Y.mean(axis=0))
    products, _ = timed(lambda: (prepared.gram, prepared.xty(), prepared.yty))
    cov_prior = make_covariance_prior(None, prepared.Y.var(axis=0))
    problem = make_problem(prepared, 0.06, np.diag(prepared.yty) / n, make_alpha_prior(None, m), cov_prior)
    network = empty_state(problem, 1e-4).network
    coordinates = Coordinates(problem, np.full(d, np.inf))

    def step():
        coordinates.refresh()
        moves = coordinates.sweep(network.precision, 0.0, max_moves=20)
        return moves, update_network(problem, coordinates.scatter, None, 1e-4)

    seconds, (moves, _) = timed(step)
    return {"products": products, "step": seconds, "moves": moves}


def shares(method, lam=0.1, fdr=0.001, held_out=200):
    """Five days of open, high, low and close of every A-share → next day's open; the last days are held out."""
    prices, _ = load_prices(real_data_folder() / "ashares" / "daily.parquet")
    X, Y, today = (table.to_numpy() for table in share_windows(prices, "prices"))
    train, test = slice(0, len(X) - held_out), slice(len(X) - held_out, None)
    _warm_up()
    seconds, model = timed(lambda: NARD(method=method, lam=lam, **PAPER).fit(X[train], Y[train]))
    unit = Y[train].std(axis=0)

    def error(prediction):
        return float((((Y[test] - prediction) / unit) ** 2).mean())

    return {
        "shape": [len(X[train]), X.shape[1], Y.shape[1]],
        "seconds": seconds,
        "converged": model.converged_,
        "guarded": model.guarded_,
        "active": int(model.active_.sum()),
        "entries_per_output": len(model.entry_test_.selected(fdr)[0]) / Y.shape[1],
        "residual_variance": float(np.diag(model.covariance_ / np.outer(unit, unit)).mean()),
        "error": error(model.predict(X[test])),
        "naive_error": error(today[test]),
    }


def transcriptome(d=20000, m=200, n=350):
    """Everything at its defaults: λ and the parts of the model by five-fold cross-validation, hidden inputs counted."""
    data = make_regression(n, d, m, relevant=40 / d, density=0.3, edge_probability=0.02, random_state=0)
    small = make_regression(15, 20, 8, random_state=0)
    NARD().fit(small.X, small.Y)
    seconds, model = timed(lambda: NARD().fit(data.X, data.Y))
    return {
        "seconds": seconds,
        "lams": len(model.lam_path_),
        "lam": model.lam_,
        "relevance": model.relevance_,
        **_errors(model, data),
    }


def main():
    name, arguments = sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    result = globals()[name](**arguments)
    result["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(result))


if __name__ == "__main__":
    main()
