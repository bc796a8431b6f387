"""What the explorer shows, as plain lists and numbers.

A page holds every selected finding, up to a cap, and the next ones in the order of the tables, so that the threshold
can be loosened, and what another cohort has selected, so that the two can be compared; not the thousands of candidates
that nobody would look at. For every list it is known up to which
q-value it is complete, and the page lets nobody go beyond: what two cancers share would otherwise depend on what was
left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

import numpy as np
import pandas as pd

from nard.export.communities import MOST_NODES
from nard.export.layouts import circular_layout
from nard.figures.words import unfitted
from nard.fits.comparison import SETS
from nard.fits.hidden import HiddenInput
from nard.fits.methods import find_method
from nard.fits.trust import caution_text
from nard.report.captions import NAMES
from nard.report.explorer.intervals import association_intervals, edge_intervals

__all__ = ["MOST_SELECTED", "CohortFits", "FitTables", "payload"]

MOST_SELECTED = 12_000
# Of more inputs than this the page has those with a finding.
_MOST_INPUTS = 2000
# Rows that a list has at least, if there are so many that were tested.
_EDGES, _ASSOCIATIONS = 250, 400
_UP = Context(prec=4, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class FitTables:
    """The findings of one method in one cohort, as its tables and ``fit.json`` have them, and its hidden inputs.

    Edges and associations have a column ``stability`` if subsamples were asked for.
    """

    fit: Mapping
    edges: pd.DataFrame
    associations: pd.DataFrame
    features: pd.DataFrame
    hidden: Sequence[HiddenInput] = ()


@dataclass(frozen=True)
class CohortFits:
    """One cohort: ``summary.json``, ``groups.tsv`` and the fits by method."""

    summary: Mapping
    groups: pd.DataFrame
    fits: Mapping[str, FitTables]


def payload(cohorts: Sequence[CohortFits], reference: str) -> dict:
    """All that the page knows. The method that is shown first is ``reference``."""
    places, selected = {}, {}
    for kind in dict.fromkeys(cohort.summary["kind"] for cohort in cohorts):
        alike = [cohort for cohort in cohorts if cohort.summary["kind"] == kind]
        groups = pd.concat([cohort.groups for cohort in alike])
        places[kind] = circular_layout(_outputs(groups).drop_duplicates("name").rename(columns={"name": "id"}))
        selected[kind] = _selected(alike)
    shown = [_cohort(one, places[one.summary["kind"]], selected[one.summary["kind"]]) for one in cohorts]
    return {"reference": reference, "most_nodes": MOST_NODES, "cohorts": shown}


def _selected(cohorts: Sequence[CohortFits]) -> dict[tuple[str, str], set]:
    """By method and kind of finding: the pairs that any of the cohorts has selected and lists; of one alone none."""
    found: dict[tuple[str, str], set] = {}
    for cohort in cohorts if len(cohorts) > 1 else ():
        for method, tables in cohort.fits.items():
            for what, table in (("edges", tables.edges), ("associations", tables.associations)):
                listed = SETS[what](_in_order(table).head(MOST_SELECTED))
                found.setdefault((method, what), set()).update(listed)
    return found


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """The selected rows, then the others by q-value.

    That need not be the order of a table, since q-values of associations do not rise with the p-values alone.
    """
    return table.sort_values(["selected", "qvalue"], ascending=[False, True], kind="stable")


def _outputs(groups: pd.DataFrame) -> pd.DataFrame:
    return groups[groups["side"] == "outputs"]


def _cohort(cohort: CohortFits, places: Mapping[str, tuple[float, float]], selected: Mapping) -> dict:
    summary, groups = cohort.summary, cohort.groups
    inputs = [_node(row) for row in groups[groups["side"] == "inputs"].itertuples()]
    # The same place in every cohort of a kind, so that their networks compare; y goes down on a screen.
    outputs = [
        {**_node(row), "x": round(places[row.name][0], 4), "y": round(-places[row.name][1], 4)}
        for row in _outputs(groups).itertuples(index=False)
    ]
    ranks = [{node["name"]: rank for rank, node in enumerate(nodes)} for nodes in (inputs, outputs)]
    input_words, output_words = NAMES[summary["kind"]]
    fits = {method: _fit(method, tables, selected, *ranks) for method, tables in cohort.fits.items()}
    return {
        **{key: summary[key] for key in ("cohort", "title", "kind", "simulated")},
        "samples": summary["n_samples"],
        "words": {"inputs": input_words, "outputs": output_words},
        "n_inputs": len(inputs),
        **(_with_findings(inputs, fits) if len(inputs) > _MOST_INPUTS else {"inputs": inputs, "fits": fits}),
        "outputs": outputs,
    }


def _with_findings(inputs: Sequence[dict], fits: Mapping[str, dict]) -> dict:
    """The inputs that any fit has a finding of, or names as a stand-in, and the fits with their new numbers."""
    kept: set[int] = set()
    for fit in fits.values():
        kept |= {rank for rank, q in enumerate(fit["relevance"]) if q is not None and q <= fit["fdr"]}
        kept.update(fit["associations"]["a"], *fit["associations"].get("stand_ins", ()))
    order = sorted(kept)
    number = {rank: i for i, rank in enumerate(order)}
    for fit in fits.values():
        rows = fit["associations"]
        rows["a"] = [number[rank] for rank in rows["a"]]
        if "stand_ins" in rows:
            rows["stand_ins"] = [[number[rank] for rank in ranks] for ranks in rows["stand_ins"]]
        fit["relevance"] = [fit["relevance"][rank] for rank in order]
    return {"inputs": [inputs[rank] for rank in order], "fits": fits}


def _node(row) -> dict:
    return {
        "name": row.name,
        "label": row.label,
        "kind": row.kind,
        "colour": row.colour,
        "pathways": [row.pathway, *(name for name in row.pathways.split(";") if name not in ("", row.pathway))],
        "genes": row.genes,
    }


def _fit(
    method: str, tables: FitTables, selected: Mapping, inputs: Mapping[str, int], outputs: Mapping[str, int]
) -> dict:
    fit, edges, associations = tables.fit, tables.edges, tables.associations
    # A table of selected rows alone knows nothing beyond the false discovery rate.
    beyond = None if fit["associations_listed"] == "all" else math.nextafter(fit["fdr"], 1.0)
    # Of the edges the surest others are listed too, in the order of their q-values.
    edges_beyond = None if fit["edges_listed"] == "all" else float(edges["qvalue"].max())
    relevance = tables.features.set_index("feature")["qvalue"].reindex(list(inputs))
    return {
        "title": find_method(method).title,
        "fdr": fit["fdr"],
        "tested": any(bool(table["qvalue"].notna().any()) for table in (edges, associations, tables.features)),
        "edges": _findings(
            edges,
            ("source", outputs),
            ("target", outputs),
            "partial_correlation",
            edge_intervals(edges),
            _EDGES,
            edges_beyond,
            selected.get((method, "edges"), ()),
        ),
        "associations": _findings(
            associations,
            ("feature", inputs),
            ("target", outputs),
            "weight",
            association_intervals(associations),
            _ASSOCIATIONS,
            beyond,
            selected.get((method, "associations"), ()),
        ),
        "relevance": [_raised(q) for q in relevance],
        "hidden": [[[outputs[name], _digits(value)] for name, value in one.outputs] for one in tables.hidden],
        "cautions": [
            *([unfitted(fit)] if fit.get("failed") else []),
            *(caution_text(caution) for caution in fit.get("cautions", ())),
        ],
    }


def _findings(table, a, b, value, intervals, least, beyond, elsewhere) -> dict:
    """The first rows, by column, then those of the others that are pairs selected ``elsewhere``."""
    table = _in_order(table)
    found = int(table["selected"].sum())
    tested = int(table["qvalue"].notna().sum())
    kept = max(min(found, MOST_SELECTED), min(tested, least))
    # The list is complete below the q-value of the first row that it lacks; null if it lacks none.
    beyond = float(table["qvalue"].iloc[kept]) if tested and kept < len(table) else beyond
    table = pd.concat([table, intervals], axis=1)
    # Methods that do not test set to zero, as a rule, what they do not select.
    others = table.iloc[max(kept, found) :].dropna(subset="qvalue")
    rows = pd.concat([table.iloc[:kept], others[_among(others, a[0], b[0], elsewhere)]])
    naming = _naming(rows, a[1]) if "stand_ins" in rows else {}
    return {
        "candidates": len(table),
        "found": found,
        "beyond": beyond,
        "a": [a[1][name] for name in rows[a[0]]],
        "b": [b[1][name] for name in rows[b[0]]],
        "value": _numbers(rows[value]),
        "lower": _numbers(rows["lower"]),
        "upper": _numbers(rows["upper"]),
        "q": [_raised(q) for q in rows["qvalue"]],
        "selected": [int(selected) for selected in rows["selected"]],
        **({"stability": _numbers(rows["stability"])} if "stability" in rows else {}),
        **naming,
    }


def _among(table: pd.DataFrame, a: str, b: str, pairs: Collection[tuple[str, str]]) -> np.ndarray:
    """Which rows are of these pairs, of which edges come in alphabetical order."""
    first, second = (table[end].to_numpy(dtype=object) for end in (a, b))
    if a == "source":
        first, second = np.where(first <= second, (first, second), (second, first))
    return pd.MultiIndex.from_arrays([first, second]).isin(list(pairs)) if len(pairs) else np.zeros(len(table), bool)


def _naming(rows: pd.DataFrame, inputs: Mapping[str, int]) -> dict:
    """Whether an input is the output's own, the probability that the effect is its, and what could take its place."""
    return {
        "own": [int(own == 1) for own in rows["own"]],
        "probability": _numbers(rows["probability"]),
        "stand_ins": [_numbered(text, inputs) if isinstance(text, str) else [] for text in rows["stand_ins"]],
    }


def _numbered(text: str, inputs: Mapping[str, int]) -> list[int]:
    """The numbers of names joined by ";", which a name may have in it, too."""
    found, begun = [], ""
    for piece in text.split(";"):
        begun = f"{begun};{piece}" if begun else piece
        if begun in inputs:
            found.append(inputs[begun])
            begun = ""
    return found


def _numbers(column: pd.Series) -> list:
    return [_digits(value) if math.isfinite(value) else None for value in column]


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _raised(q: float) -> float | None:
    """Four digits, rounded up: what passes a threshold in the page passes it in the table."""
    return float(_UP.create_decimal(repr(float(q)))) if math.isfinite(q) else None
