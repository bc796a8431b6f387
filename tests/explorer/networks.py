"""Cohorts for the explorer's tests: small real fits with hostile names, and a network of 2,000 edges."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from nard import NARD
from nard.baselines import CAPME
from nard.files import read_json, read_tsv
from nard.fits.hidden import hidden_inputs
from nard.palette import pathway_colours
from nard.report.explorer import CohortFits, FitTables
from nard.selection.significance import qvalues, two_sided
from nard.simulate import make_regression

# Names that would run, end the page's data, or be mistaken for something else, if they were not treated as text.
HOSTILE = (
    "<script>document.title='hacked'</script>",
    '"><img src=x onerror="document.title=\'hacked\'">',
    "</script><!--",
    "__proto__",
)
OUTPUTS = [*HOSTILE, "AKTPS473", "BAX", "BCL2", "a:b;{{ 7 * 7 }}", "P53", "GSK3ALPHABETAPS21S9"]
# Some have the name of an output, that of the one that a cohort lacks included.
INPUTS = ["AKT1", "BAX", "BCL2", "<b>GENE</b>", "TP53", OUTPUTS[-1]]
PATHWAYS = ["Apoptosis", "<i>RTK</i>", "other"]


def groups_of(inputs, outputs):
    """A groups table: the pathways go by the rank of a name in the lists above, so that cohorts agree."""
    colours = pathway_colours(PATHWAYS)
    rows = []
    for side, names, everybody, kind in (("inputs", inputs, INPUTS, "mRNA"), ("outputs", outputs, OUTPUTS, "total")):
        for name in names:
            pathway = PATHWAYS[everybody.index(name) * len(PATHWAYS) // len(everybody)]
            rows.append((side, name, name, kind, pathway, f"{pathway};EMT", "TP53", colours[pathway]))
    return pd.DataFrame(rows, columns=["side", "name", "label", "kind", "pathway", "pathways", "genes", "colour"])


# Of a fit with a hidden input behind its outputs, and two more that were not allowed for.
CAUTION = {"code": "hidden inputs off", "evident": 3, "used": 1}


def tables_of(model, fdr, cautions=()):
    fit = {"fdr": fdr, "associations_listed": "all", "edges_listed": "all", "cautions": list(cautions)}
    arrays = {name: getattr(model, f"{name}_") for name in ("hidden", "hidden_loadings") if hasattr(model, f"{name}_")}
    hidden = hidden_inputs({**arrays, "targets": np.array(model.target_labels_)})
    return FitTables(fit, model.edges(fdr), model.associations(fdr), model.relevance(fdr), hidden)


def with_stand_ins(tables):
    """As if the surest association might as well be that of two other inputs."""
    table = tables.associations.copy()
    surest = table["feature"].iloc[0]
    others = [name for name in INPUTS if name != surest][1:3]
    table.loc[0, ["probability", "stand_ins"]] = [0.625, ";".join(others)]
    return replace(tables, associations=table)


def summary_of(name, samples, simulated=True):
    return {"cohort": name, "title": name, "kind": "omics", "simulated": simulated, "n_samples": samples}


@cache
def small_cohorts():
    """Two cancers that share most of their truth; the second lacks an output. One method tests, the other does not.

    Something unmeasured is behind all outputs, and one association may be another input's.
    """
    truth = make_regression(300, len(INPUTS), len(OUTPUTS), relevant=1.0, edge_probability=0.3, random_state=3)
    purity = np.outer(np.random.default_rng(0).standard_normal(300), np.linspace(0.5, 1.0, len(OUTPUTS)))
    X, Y = pd.DataFrame(truth.X, columns=INPUTS), pd.DataFrame(truth.Y + purity, columns=OUTPUTS)
    cohorts = []
    for name, rows, outputs in (("AAA", slice(0, 200), OUTPUTS), ("B<b>B", slice(100, 300), OUTPUTS[:-1])):
        x, y = X.iloc[rows], Y[outputs].iloc[rows]
        fits = {
            "sequential": with_stand_ins(
                tables_of(NARD(lam=0.1, hidden=1).fit(x, y), 0.05, [CAUTION] if name == "AAA" else [])
            ),
            "capme": tables_of(CAPME(lam=0.1, tau=0.1).fit(x, y), 0.05),
        }
        cohorts.append(CohortFits(summary_of(name, len(x), simulated=name == "AAA"), groups_of(INPUTS, outputs), fits))
    return cohorts


@cache
def large_cohorts(n_edges=2000, m=300):
    """Two networks of 2,000 edges each among 300 outputs, half of the edges in both."""
    outputs = [f"PROTEIN{i:03d}" for i in range(m)]
    inputs = [f"GENE{i}" for i in range(60)]
    pathways = [f"Pathway {i * 12 // m}" for i in range(m)]
    colours = pathway_colours(pathways)
    rows = [("inputs", name, name, "mRNA", pathways[0], pathways[0], name, colours[pathways[0]]) for name in inputs]
    rows += [("outputs", name, name, "total", p, p, "", colours[p]) for name, p in zip(outputs, pathways, strict=True)]
    groups = pd.DataFrame(rows, columns=["side", "name", "label", "kind", "pathway", "pathways", "genes", "colour"])
    order = np.random.default_rng(0).permutation(m * (m - 1) // 2)
    return [
        CohortFits(
            summary_of(name, 400),
            groups,
            {"sequential": _synthetic(inputs, outputs, order[first : first + n_edges], seed)},
        )
        for seed, (name, first) in enumerate({"ONE": 0, "TWO": n_edges // 2}.items())
    ]


def _synthetic(inputs, outputs, chosen, seed):
    rng = np.random.default_rng(seed)
    names = np.array(outputs)
    a, b = np.triu_indices(len(names), 1)
    z = rng.uniform(-1, 1, len(a))
    z[chosen] = rng.choice([-1, 1], len(chosen)) * rng.uniform(6, 14, len(chosen))
    edges = pd.DataFrame({"source": names[a], "target": names[b], "partial_correlation": z / np.hypot(20, z), "z": z})
    edges["sd"] = 1 / np.hypot(20, z)
    weights = rng.normal(0, 0.3, len(inputs) * 20)
    pairs = {"feature": np.repeat(inputs, 20), "target": np.tile(names[:20], len(inputs))}
    associations = pd.DataFrame({**pairs, "weight": weights, "sd": 0.1, "z": weights / 0.1})
    features = pd.DataFrame({"feature": inputs, "qvalue": 0.01})
    return FitTables(
        {"fdr": 0.05, "associations_listed": "all", "edges_listed": "all"},
        *(map(_decided, (edges, associations))),
        features=features,
    )


def _decided(table):
    table["degrees"] = 400.0
    table["pvalue"] = two_sided(table["z"], table["degrees"])
    table["qvalue"] = qvalues(table["pvalue"].to_numpy())
    table["selected"] = table["qvalue"] <= 0.05
    return table.sort_values("pvalue", kind="stable", ignore_index=True)


def cohorts_of_run(results, fits):
    """The cohorts of a finished run, from its tables; ``fits`` maps cohorts to methods."""

    def tables(folder):
        names = ("edges", "associations", "features")
        with np.load(folder / "model.npz") as arrays:
            hidden = hidden_inputs(arrays)
        return FitTables(read_json(folder / "fit.json"), *(read_tsv(folder / f"{name}.tsv") for name in names), hidden)

    return [
        CohortFits(
            read_json(results / cohort / "data/summary.json"),
            read_tsv(results / cohort / "data/groups.tsv", dtype=str).fillna(""),
            {method: tables(results / cohort / method) for method in methods},
        )
        for cohort, methods in fits.items()
    ]
