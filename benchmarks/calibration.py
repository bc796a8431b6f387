"""Realised error rates of NARD's findings on simulated data: prints the table that the documentation quotes.

python benchmarks/calibration.py --seeds 40 --null-seeds 100 --jobs 2
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from nard import NARD
from nard.algorithms import VARIANTS, Data, RoughPass, State, minimise
from nard.algorithms.priors import make_alpha_prior, make_covariance_prior
from nard.estimator.scaling import Scaler
from nard.simulate import make_regression

# name: (d, m, N), fraction of relevant inputs, density of their columns, edge probability
DESIGNS = {
    "d>N": ((500, 150, 150), 0.05, 0.5, 0.02),
    "TCGA-like": ((73, 76, 300), 0.30, 0.3, 0.05),
    "N>d": ((300, 100, 600), 0.10, 0.3, 0.05),
}
NULL = ((73, 76, 300), 0.0, 0.0, 0.0)


def simulate(design, seed):
    (d, m, n), relevant, density, edge_probability = design
    return make_regression(
        n, d, m, relevant=relevant, density=density, edge_probability=edge_probability, random_state=seed
    )


def selected_matrix(table, rows, columns, shape):
    """The selected rows of a table of findings as a boolean matrix; names end in their index."""
    chosen = table[table["selected"]]
    matrix = np.zeros(shape, dtype=bool)
    matrix[[int(name[1:]) for name in chosen[rows]], [int(name[1:]) for name in chosen[columns]]] = True
    return matrix


def rates(found, true):
    """True positive rate and false discovery proportion."""
    return (found & true).sum() / max(1, true.sum()), (found & ~true).sum() / max(1, found.sum())


def one_run(design, seed, params):
    data = simulate(design, seed)
    (d, m, _) = design[0]
    started = time.perf_counter()
    model = NARD(**params).fit(data.X, data.Y)
    seconds = time.perf_counter() - started
    relevance = model.relevance().sort_index()
    features = np.zeros(d, dtype=bool)
    features[[int(name[1:]) for name in relevance[relevance["selected"]]["feature"]]] = True
    entries = selected_matrix(model.associations(), "target", "feature", (m, d))
    edges = selected_matrix(model.edges(), "source", "target", (m, m))
    row = {"lam": model.lam_, "hidden": model.hidden_.shape[1], "seconds": seconds}
    row["relevance TPR"], row["relevance FDR"] = rates(features, data.relevant)
    row["associations TPR"], row["associations FDR"] = rates(entries, data.coef != 0)
    row["edges TPR"], row["edges FDR"] = rates(edges, np.triu(data.edges))
    row["Tr(V)/m"] = np.trace(model.covariance_) / m
    row["any relevance"], row["any association"], row["any edge"] = features.any(), entries.any(), edges.any()
    return row


def calibrate(design, seeds, params, jobs=1):
    return pd.DataFrame(Parallel(n_jobs=jobs)(delayed(one_run)(design, seed, params) for seed in seeds))


def variance_from_any_start(design, seed, lam=0.1, starts=(1e-2, 1.0, 1e2, 1e4)):
    """Tr(V)/m of the posterior fit for every method and common starting α; the truth is 1."""
    data = simulate(design, seed)
    units = data.Y.std(axis=0)
    scaler = Scaler(data.X, data.Y, standardize=True)
    scaled = Data(scaler.inputs(data.X), scaler.outputs(data.Y))
    cov_prior = make_covariance_prior(None, scaled.Y.var(axis=0))
    rough = RoughPass(scaled, cov_prior)
    problem = rough.problem(scaled, lam, make_alpha_prior(None, data.Y.shape[1]), cov_prior)
    table = {}
    for method in VARIANTS:
        fits = [minimise(problem, State(np.full(problem.d, a), rough.network), method) for a in starts]
        table[method] = [np.mean(np.diag(fit.state.network.covariance) * units**2) for fit in fits]
    return pd.DataFrame(table, index=pd.Index(starts, name="starting α"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--null-seeds", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--method", default="sequential")
    arguments = parser.parse_args()
    params = {"method": arguments.method}
    summary = {}
    for name, design in DESIGNS.items():
        runs = calibrate(design, range(arguments.seeds), params, arguments.jobs)
        summary[f"{name} {design[0]}"] = runs.drop(columns=[c for c in runs if c.startswith("any")]).mean()
        print(pd.DataFrame(summary).round(4).to_string(), flush=True)
    for name, design in DESIGNS.items():
        print(f"\nTr(V)/m from any starting α, {name}:")
        print(variance_from_any_start(design, 0).round(3).to_string(), flush=True)
    null = calibrate(NULL, range(arguments.null_seeds), params, arguments.jobs)
    print("\nAll-null data, fraction of data sets with any false finding:")
    kinds = null[[c for c in null if c.startswith("any")]]
    print(kinds.mean().to_string())
    print(f"any of the three   {kinds.any(axis=1).mean():.3f}")


if __name__ == "__main__":
    main()
