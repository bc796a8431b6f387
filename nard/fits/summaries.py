"""Tables that sum up a run: its cohorts, its fits, and findings by pathway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement

import pandas as pd

from nard.fits.comparison import ENDS

__all__ = ["cohorts_table", "crosstalk", "explained_by_pathway", "methods_table", "of_cohorts"]


def cohorts_table(summaries: Iterable[Mapping]) -> pd.DataFrame:
    """Samples, inputs and outputs of every cohort, found and used, from the accounts of their preparation."""
    return pd.DataFrame(
        {
            "cohort": cohort["cohort"],
            "title": cohort["title"],
            "data": "simulated" if cohort["simulated"] else "measured",
            "samples": cohort["n_samples"],
            "inputs": cohort["n_inputs"],
            "outputs": cohort["n_outputs"],
            "samples_with_inputs": cohort["inputs"]["samples"]["found"],
            "samples_with_outputs": cohort["outputs"]["samples"]["found"],
            "inputs_found": cohort["inputs"]["features"]["found"],
            "outputs_found": cohort["outputs"]["features"]["found"],
        }
        for cohort in summaries
    )


def methods_table(
    fits: Iterable[Mapping], held_out: Iterable[Mapping], jaccard: pd.DataFrame, reference: str
) -> pd.DataFrame:
    """Every fit in one row: findings, agreement with the reference method, held-out predictions.

    ``fits`` and ``held_out`` are what the files fit.json and held_out.json hold, ``jaccard`` is the table of
    :func:`nard.fits.comparison.jaccard_table`.
    """
    agreement = {}
    for row in jaccard.itertuples():
        for method, other in ((row.method_a, row.method_b), (row.method_b, row.method_a)):
            if other == reference:
                agreement[row.cohort, method, row.what] = row.jaccard
    rows = []
    for fit, predicted in zip(fits, held_out, strict=True):
        cohort, method = fit["cohort"], fit["method"]
        # Two methods without findings neither agree nor differ, and no more does a method with itself.
        itself = {what: 1.0 if fit["found"][what] else float("nan") for what in ENDS}
        agrees = itself if method == reference else {what: agreement[cohort, method, what] for what in ENDS}
        chosen = {name: value for name, value in fit["tuned"].items() if value is not None}
        rows.append(
            {
                "cohort": cohort,
                "method": method,
                "chosen": ", ".join(f"{name} = {_shown(value)}" for name, value in chosen.items()),
                **fit["found"],
                **{f"jaccard_{what}": value for what, value in agrees.items()},
                "held_out_log_likelihood": predicted["log_likelihood"],
                "held_out_r2": predicted["r2"],
                "converged": fit["diagnostics"].get("converged"),
            }
        )
    return pd.DataFrame(rows)


def _shown(value) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


def explained_by_pathway(held_out: pd.DataFrame, nodes: pd.DataFrame, pathways: Sequence[str]) -> pd.DataFrame:
    """Explained variation, mean over the proteins of each pathway; a protein of two pathways counts in both.

    The pathways come in the given order, others after them.
    """
    members = nodes.assign(pathway=nodes["pathways"].str.split(";")).explode("pathway")
    table = members[["id", "pathway"]].merge(held_out, left_on="id", right_on="target")
    groups = table.groupby("pathway", sort=False)
    means = groups[["own", "other", "r2"]].mean().assign(proteins=groups.size()).reset_index()
    order = pd.Series({name: i for i, name in enumerate(pathways)})
    return means.sort_values("pathway", key=lambda names: names.map(order), kind="stable", ignore_index=True)


def crosstalk(edges: pd.DataFrame, nodes: pd.DataFrame) -> pd.DataFrame:
    """Edges and possible pairs for every pair of pathways; a protein counts in its primary pathway."""
    pathway = nodes.set_index("id")["pathway"]
    order = list(dict.fromkeys(pathway))
    position = {name: i for i, name in enumerate(order)}
    ends = pd.DataFrame({"a": edges["source"].map(pathway), "b": edges["target"].map(pathway)})
    swap = ends["a"].map(position) > ends["b"].map(position)
    ends.loc[swap, ["a", "b"]] = ends.loc[swap, ["b", "a"]].to_numpy()
    found = ends[edges["selected"].astype(bool)].value_counts()
    possible = ends.value_counts()
    rows = [
        (a, b, int(found.get((a, b), 0)), int(possible.get((a, b), 0)))
        for a, b in combinations_with_replacement(order, 2)
    ]
    return pd.DataFrame(rows, columns=["pathway_a", "pathway_b", "edges", "possible"])


def of_cohorts(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The tables of all cohorts in one, with a first column that names them."""
    return pd.concat(tables, names=["cohort"]).reset_index(level="cohort").reset_index(drop=True)
