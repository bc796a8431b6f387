"""Findings where omics is: error rates and power of NARD at its defaults, on simulated and on real inputs.

    NARD_REAL_DATA=… python benchmarks/omics.py --seeds 20 --jobs 2 [edges study genes null tails own cptac cohorts]

`edges`, `study`, `null`, `tails` and `own` are simulated. `genes` draws patients of TCGA's LUAD and simulates
outputs that real genes drive; `cptac` and `cohorts` are real data, where there is no truth. Constants of the method
were chosen on seeds from 1000 on; this reports seeds from 0 on.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from calibration import rates, selected_matrix
from joblib import Parallel, delayed
from real_data import real_data_folder
from scipy.stats import norm, rankdata

from nard import NARD
from nard.experiments.study import DESIGNS as STUDY
from nard.experiments.study import simulated
from nard.simulate import draw_residuals, make_precision, make_regression

FDR = 0.05
# (d, m, N), share of relevant inputs, density of their columns, edge probability
EDGES = [
    ((73, 76, 150), 0.3, 0.3, 0.05),
    ((73, 76, 300), 0.3, 0.3, 0.05),
    ((300, 100, 200), 0.1, 0.3, 0.05),
    ((500, 150, 150), 0.05, 0.5, 0.02),
    ((73, 76, 600), 0.3, 0.3, 0.05),
]
# patients, outputs, hidden inputs
GENES = [
    *((n, 76, k) for k in (0, 5) for n in (96, 195, 313)),
    (96, 1000, 5),
    (313, 1000, 5),
]
COHORTS = ("LUAD", "LUSC", "COAD", "KIRC")


def rank_normal(A: np.ndarray) -> np.ndarray:
    return norm.ppf((rankdata(A, axis=0) - 0.5) / len(A))


def counts(model, coef) -> dict:
    """TPR, false ones, and sets of stand-ins without a true one, of the associations."""
    table = model.associations(FDR, selected_only=True)
    true = {(f"x{j}", f"y{i}") for i, j in zip(*np.nonzero(coef), strict=True)}
    named = list(zip(table["feature"], table["target"], strict=True))
    sets = [
        {(name, target) for name in [feature, *filter(None, stand_ins.split(";"))]}
        for (feature, target), stand_ins in zip(named, table["stand_ins"], strict=True)
    ]
    found = max(len(named), 1)
    return {
        "TPR": len(true.intersection(named)) / max(len(true), 1),
        "false": sum(pair not in true for pair in named) / found,
        "sets false": sum(not (one & true) for one in sets) / found,
        "set size": np.mean([len(one) for one in sets]) if sets else np.nan,
        "hidden": model.hidden_.shape[1],
        "predicts": model.relevance_,
    }


def edge_rates(model, data) -> dict:
    m = len(data.precision)
    tpr, fdr = rates(selected_matrix(model.edges(FDR), "source", "target", (m, m)), np.triu(data.edges))
    return {"edges TPR": tpr, "edges FDR": fdr}


def one_edges(design, seed):
    (d, m, n), relevant, density, p = design
    data = make_regression(n, d, m, relevant=relevant, density=density, edge_probability=p, random_state=seed)
    model = NARD().fit(data.X, data.Y)
    return {**edge_rates(model, data), **counts(model, data.coef)}


def one_study(design, n, seed):
    (d, m, own), relevant, density, p, special = STUDY[design]
    spec = {"d": d, "m": m, "n": n or own, "relevant": relevant, "density": density, "p": p, "seed": seed}
    data = simulated({**spec, "weights": [0.3, 1.0], **special})
    model = NARD().fit(data.X, data.Y)
    found = np.isin(model.feature_labels_, model.relevance(FDR).query("selected")["feature"])
    tpr, fdr = rates(found, data.relevant)
    return {"inputs TPR": tpr, "inputs FDR": fdr, **counts(model, data.coef), **edge_rates(model, data)}


def real_genes() -> np.ndarray:
    """All of LUAD's genes that vary, as normal scores."""
    from nard.experiments.datasets import load_tcga

    return rank_normal(load_tcga(real_data_folder() / "tcga", "LUAD", "all").X.to_numpy())


def one_genes(genes, n, m, k, seed):
    """Every output driven by a gene of its own and by 0.5 others on average, a sparse network, k hidden inputs."""
    rng = np.random.default_rng([seed, n, m, k])
    X = genes[rng.choice(len(genes), n, replace=False)]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    d = X.shape[1]
    W = np.zeros((m, d))
    W[np.arange(m), rng.choice(d, m, replace=False)] = 1.0
    for i in range(m):
        W[i, rng.choice(d, rng.poisson(0.5), replace=False)] = 1.0
    W[W != 0] = rng.uniform(0.3, 0.8, int(W.sum())) * rng.choice([-1.0, 1.0], int(W.sum()))
    noise = draw_residuals(make_precision(m, min(0.03, 3 / m), rng), n, rng)
    F, L = rng.standard_normal((n, k)), 0.4 * rng.standard_normal((k, m))
    started = time.perf_counter()
    model = NARD().fit(X, X @ W.T + F @ L + noise)
    return {**counts(model, W), "seconds": time.perf_counter() - started}


def one_null(shape, hidden, seed):
    d, m, n = shape
    rng = np.random.default_rng([seed, 7, *shape])
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, m))
    Y += rng.standard_normal((n, hidden)) @ (0.4 * rng.standard_normal((hidden, m)))
    model = NARD().fit(X, Y)
    return {
        "inputs": bool(model.relevance(FDR)["selected"].any()),
        "associations": bool(len(model.associations(FDR, selected_only=True))),
        "edges": bool(model.edges(FDR)["selected"].any()),
    }


def one_tails(noisy, seed):
    """Sixty samples of five outputs, a tenth of them four times as noisy or none."""
    rng = np.random.default_rng([seed, 11])
    omega = make_precision(5, 0.4, rng)
    E = draw_residuals(omega, 60, rng)
    if noisy:
        E *= np.where(rng.random((60, 1)) < 0.1, 4.0, 1.0)
    X = rng.standard_normal((60, 4))
    found = selected_matrix(NARD().fit(X, E).edges(FDR), "source", "target", (5, 5))
    true = np.triu((omega != 0) & ~np.eye(5, dtype=bool))
    return {"TPR": rates(found, true)[0] if true.any() else np.nan, "FDR": rates(found, true)[1]}


def one_own(n, seed, told):
    """Half of the outputs driven by their own input; realised rates in both families."""
    rng = np.random.default_rng([seed, 13])
    d = m = 100
    W = np.zeros((m, d))
    half = rng.choice(m, m // 2, replace=False)
    W[half, half] = rng.uniform(0.2, 0.6, len(half))
    W[rng.random((m, d)) < 0.005] = 0.5
    X = pd.DataFrame(rng.standard_normal((n, d)), columns=[f"g{j}" for j in range(d)])
    Y = X.to_numpy() @ W.T + draw_residuals(make_precision(m, 0.03, rng), n, rng)
    Y = pd.DataFrame(Y, columns=[f"g{i}" if told else f"p{i}" for i in range(m)])
    table = NARD().fit(X, Y).associations(FDR, selected_only=True)
    j, i = (table[name].str[1:].astype(int).to_numpy() for name in ("feature", "target"))
    own, true = i == j, W[i, j] != 0
    return {
        "own TPR": (true & own).sum() / len(half),
        "own FDR": (~true & own).sum() / max(own.sum(), 1),
        "others FDR": (~true & ~own).sum() / max((~own).sum(), 1),
    }


def cptac(size) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first genes that have a complete protein, as normal scores."""
    folder = real_data_folder() / "cptac_colon"
    genes, proteins = (
        pd.read_csv(folder / f"{name}.tsv.gz", sep="\t", index_col=0) for name in ("transcriptome", "proteome")
    )
    shared = [sample for sample in genes.columns if sample in set(proteins.columns)]
    genes, proteins = genes[shared].dropna(), proteins[shared].dropna()
    genes = genes[genes.std(axis=1) > 0]
    names = [name for name in proteins.index if name in set(genes.index)][:size]
    return tuple(
        pd.DataFrame(rank_normal(table.loc[names].to_numpy().T), index=shared, columns=names)
        for table in (genes, proteins)
    )


def show_cptac():
    from sklearn.linear_model import LinearRegression, RidgeCV
    from sklearn.model_selection import KFold

    from nard.baselines import SeparateRegression
    from nard.experiments.predictions import held_out

    X, Y = cptac(500)
    NARD(lam=0.2).fit(X.iloc[:, :40], Y.iloc[:, :40])  # compiles
    started = time.perf_counter()
    for name in Y:
        RidgeCV(np.logspace(0, 4, 9)).fit(X, Y[name])
    ridge = time.perf_counter() - started
    started = time.perf_counter()
    model = NARD().fit(X, Y)
    seconds = time.perf_counter() - started
    table = model.associations(FDR, selected_only=True)
    print(
        f"CPTAC colon, 500 genes → their proteins: {len(table)} associations, {table['own'].sum()} of a gene and "
        f"its own protein ({table['own'].mean():.0%}), {model.hidden_.shape[1]} hidden inputs, predicts: "
        f"{model.relevance_}; {seconds / ridge:.1f} times RidgeCV per output"
    )
    X, Y = cptac(300)
    rows = {}
    for name in ("sequential", "ridge"):
        found = held_out(name, X, Y)
        rows[name] = {"log-likelihood": np.mean(found["log_likelihoods"]), "R2": found["r2"]}
    # Every protein on its own gene, with a graphical lasso of out-of-fold residuals.
    predicted, likelihood = np.empty(Y.shape), []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        residuals = np.empty((len(train), Y.shape[1]))
        for inner, outer in KFold(5, shuffle=True, random_state=0).split(train):
            for i in range(Y.shape[1]):
                x, y = X.to_numpy()[train][:, [i]], Y.to_numpy()[train][:, i]
                residuals[outer, i] = y[outer] - LinearRegression().fit(x[inner], y[inner]).predict(x[outer])
        for i in range(Y.shape[1]):
            x, y = X.to_numpy()[:, [i]], Y.to_numpy()[:, i]
            predicted[test, i] = LinearRegression().fit(x[train], y[train]).predict(x[test])
        network = SeparateRegression("none").fit(np.zeros((len(train), 1)), residuals)
        errors = Y.to_numpy()[test] - predicted[test]
        likelihood.append(network.log_likelihood(np.zeros((len(test), 1)), errors))
    spread = ((Y - Y.mean()) ** 2).to_numpy().sum()
    rows["own gene"] = {
        "log-likelihood": np.mean(likelihood),
        "R2": 1 - ((Y.to_numpy() - predicted) ** 2).sum() / spread,
    }
    print(pd.DataFrame(rows).T.round(3).to_string(), flush=True)


def real_cohort(cancer):
    """All genes and all proteins of a TCGA cohort."""
    from nard.experiments.datasets import _prepared
    from nard.project.config import validated

    folder = real_data_folder() / "tcga" / cancer
    files = {"inputs": str(folder / "mrna.tsv.gz"), "outputs": str(folder / "rppa.tsv.gz")}
    config = validated(
        {
            "preprocessing": {"genes": "all", "proteins": "all", "sample_types": "patient"},
            "cohorts": {cancer: {"source": "files", "cancer": cancer, **files}},
        }
    )
    prepared = _prepared(config, cancer, files)
    return prepared.X, prepared.Y


def cohort_rows(cancer):
    X, Y = real_cohort(cancer)
    n = len(X)
    parts = {"all": np.arange(n), "all, other order": np.random.default_rng(0).permutation(n)}
    parts |= {f"half {k}": np.random.default_rng(k).permutation(n)[: n // 2] for k in range(2)}
    rows, called = [], {}
    for name, chosen in parts.items():
        model = NARD().fit(X.iloc[chosen], Y.iloc[chosen])
        table = model.associations(FDR)
        rest = table.loc[~table["selected"], "z"]
        called[name] = set(table.loc[table["selected"], ["feature", "target"]].itertuples(index=False, name=None))
        low, high = np.percentile(rest, [25, 75])
        row = {"cohort": cancer, "samples": name, "N": len(chosen), "associations": len(called[name])}
        row |= {"sd of z": (high - low) / 1.349, "hidden": model.hidden_.shape[1], "predicts": model.relevance_}
        rows.append(row)
    rows[1]["Jaccard"] = len(called["all"] & called["all, other order"]) / max(
        1, len(called["all"] | called["all, other order"])
    )
    return rows


def report(title, runs):
    table = pd.DataFrame(runs)
    text = table.mean(numeric_only=True).round(3).to_dict()
    if "predicts" in table:
        text["predicts"] = table["predicts"].value_counts().to_dict()
    if "hidden" in table:
        text["hidden"] = sorted(table["hidden"].value_counts().to_dict().items())
    print(f"{title}: {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = ["edges", "study", "null", "tails", "own", "genes", "cptac", "cohorts"]
    parser.add_argument("parts", nargs="*", default=every, help=" ".join(every))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    parallel = Parallel(n_jobs=arguments.jobs)
    seeds = range(arguments.first, arguments.first + arguments.seeds)

    def over(function, *fixed, seeds=seeds):
        return parallel(delayed(function)(*fixed, seed) for seed in seeds)

    if "edges" in arguments.parts:
        for design in EDGES:
            report(f"edges {design[0]}", over(one_edges, design))
    if "study" in arguments.parts:
        for design in STUDY:
            report(f"study, {design}", over(one_study, design, None))
        for n in (75, 150, 600, 1200):
            report(f"study, N > d with N = {n}", over(one_study, "N > d", n))
    if "null" in arguments.parts:
        for shape, hidden in (((73, 76, 300), 0), ((300, 30, 100), 0), ((100, 60, 150), 5)):
            report(f"nothing to find, {shape}, {hidden} hidden", over(one_null, shape, hidden, seeds=range(230)))
    if "tails" in arguments.parts:
        for noisy in (True, False):
            report(
                f"60 × 5, {'a tenth four times as noisy' if noisy else 'normal'}",
                over(one_tails, noisy, seeds=range(200)),
            )
    if "own" in arguments.parts:
        for told in (True, False):
            runs = parallel(delayed(one_own)(100, seed, told) for seed in seeds)
            report(f"own pairs, {'names tell' if told else 'not told'}", runs)
    folder = real_data_folder()
    if folder is None:
        print("genes, cptac and cohorts need NARD_REAL_DATA.")
        return
    if "genes" in arguments.parts:
        genes = real_genes()
        for n, m, k in GENES:
            few = seeds if m < 1000 else seeds[: max(2, len(seeds) // 5)]
            report(f"LUAD genes, N = {n}, m = {m}, {k} hidden", over(one_genes, genes, n, m, k, seeds=few))
    if "cptac" in arguments.parts:
        show_cptac()
    if "cohorts" in arguments.parts:
        rows = [row for rows in parallel(delayed(cohort_rows)(cancer) for cancer in COHORTS) for row in rows]
        print(pd.DataFrame(rows).round(3).to_string())


if __name__ == "__main__":
    main()
