"""Tables that sum up a run: its cohorts, its fits, and findings by pathway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pandas as pd

from nard.data.pathways import OTHER
from nard.fits.comparison import ENDS
from nard.fits.failures import short_failure
from nard.fits.trust import MOST_RHAT, unmixed

__all__ = ["cohorts_table", "crosstalk", "explained_by_pathway", "methods_table", "of_cohorts"]

# Columns of numbers of findings.
_COUNTS = ("features", "features_with_associations", "associations", "edges")


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
    fits: Iterable[Mapping],
    held_out: Iterable[Mapping],
    jaccard: pd.DataFrame,
    reference: str,
    floors: Mapping[str, Mapping],
) -> pd.DataFrame:
    """Every fit in one row: findings, agreement with the reference method, held-out predictions.

    ``fits`` and ``held_out`` are what the files fit.json and held_out.json hold, ``jaccard`` is the table of
    :func:`nard.fits.comparison.jaccard_table`. ``floors`` are those of every cohort, as floors.json has them; they
    come after its fits.
    """
    agreement = {}
    for row in jaccard.itertuples():
        for method, other in ((row.method_a, row.method_b), (row.method_b, row.method_a)):
            if other == reference:
                agreement[row.cohort, method, row.what] = row.jaccard
    rows = []
    for fit, predicted in zip(fits, held_out, strict=True):
        cohort, method = fit["cohort"], fit["method"]
        diagnostics = fit["diagnostics"]
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
                "converged": diagnostics.get("converged"),
                "rhat": diagnostics.get("rhat"),
                "ess": diagnostics.get("ess"),
                "remark": _remark(fit, predicted),
            }
        )
    for cohort, predictions in floors.items():
        rows += [_floor_row(cohort, name, predicted) for name, predicted in predictions.items()]
    order = {cohort: rank for rank, cohort in enumerate(dict.fromkeys(row["cohort"] for row in rows))}
    rows.sort(key=lambda row: order[row["cohort"]])
    return pd.DataFrame(rows).astype({**dict.fromkeys(_COUNTS, "Int64"), **dict.fromkeys(("rhat", "ess"), float)})


def _floor_row(cohort: str, name: str, predicted: Mapping) -> dict:
    """The columns of other rows that a floor has no part in are missing."""
    return {
        "cohort": cohort,
        "method": name,
        "held_out_log_likelihood": predicted["log_likelihood"],
        "held_out_r2": predicted["r2"],
        "remark": _remark({"diagnostics": {}}, predicted),
    }


def _remark(fit: Mapping, predicted: Mapping) -> str:
    """Why a row lacks what others have, or is not to be believed; empty as a rule."""
    if fit.get("failed"):
        return f"not fitted: {short_failure(fit['failed'])}"
    said = [f"not converged: R̂ above {MOST_RHAT}"] if unmixed(fit["diagnostics"]) else []
    if predicted.get("failed"):
        said.append(f"no predictions: {short_failure(predicted['failed'])}")
    return "; ".join(said)


def _shown(value) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


def explained_by_pathway(held_out: pd.DataFrame, groups: pd.DataFrame, pathways: Sequence[str]) -> pd.DataFrame:
    """Explained variation, mean over the proteins of each pathway; a protein of two pathways counts in both.

    The pathways come in the given order, others after them. What a pathway's own genes explain is missing where none
    of them was measured.
    """
    members = groups.assign(pathway=groups["pathways"].str.split(";")).explode("pathway")
    is_input = members["side"] == "inputs"
    table = members.loc[~is_input, ["name", "pathway"]].merge(held_out, left_on="name", right_on="target")
    by_pathway = table.groupby("pathway", sort=False)
    means = by_pathway[["own", "other", "r2"]].mean().assign(proteins=by_pathway.size()).reset_index()
    means["own"] = means["own"].where(means["pathway"].isin(set(members.loc[is_input, "pathway"]) - {OTHER}))
    order = pd.Series({name: i for i, name in enumerate(pathways)})
    return means.sort_values("pathway", key=lambda names: names.map(order), kind="stable", ignore_index=True)


def crosstalk(edges: pd.DataFrame, nodes: pd.DataFrame, pathways: Sequence[str]) -> pd.DataFrame:
    """Edges and possible pairs for every pair of pathways; a protein of two pathways counts in both.

    A pair of proteins counts once in every pair of pathways of which one has the first and the other the second. All
    pairs of proteins are possible, whether or not the table of edges lists them. The pathways come in the given order,
    others after them. Counts are missing where no pair was tested although there are two proteins: where there is no
    fit.
    """
    member = nodes.set_index("id")["pathways"].str.get_dummies(";").astype(bool)
    order = [name for name in pathways if name in member] + [name for name in member if name not in pathways]
    a, b = (member.reindex(edges.loc[edges["selected"].astype(bool), end]) for end in ("source", "target"))
    rows = []
    for one, other in combinations_with_replacement(order, 2):
        pairs = (a[one].to_numpy() & b[other].to_numpy()) | (a[other].to_numpy() & b[one].to_numpy())
        both = int((member[one] & member[other]).sum())
        # Without a protein with itself, and each pair of proteins that are in both pathways once.
        possible = int(member[one].sum()) * int(member[other].sum()) - both - comb(both, 2)
        rows.append((one, other, int(pairs.sum()), possible))
    table = pd.DataFrame(rows, columns=["pathway_a", "pathway_b", "edges", "possible"])
    if edges.empty and len(nodes) > 1:
        table[["edges", "possible"]] = np.nan
    return table


def of_cohorts(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The tables of all cohorts in one, with a first column that names them."""
    return pd.concat(tables, names=["cohort"]).reset_index(level="cohort").reset_index(drop=True)
