"""A look at two raw tables: what they are, what they share, and which settings suit them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from nard.data.cleaning import looks_raw, shape_facts
from nard.data.cohort import read_omics
from nard.data.copies import copy_facts, dependent_outputs
from nard.data.covariates import read_covariates
from nard.data.ledger import Ledger
from nard.data.names import antibody_key, gene_key
from nard.data.pathways import Pathways
from nard.data.samples import same_samples
from nard.data.sheets import is_date
from nard.data.tables import Table
from nard.data.words import with_words, words
from nard.errors import DataError
from nard.inputs import check_magnitudes

__all__ = ["described", "in_words", "look_at_covariates", "look_at_pair", "measured"]

_FEW_VALUES = 12


def look_at_pair(
    inputs: str, outputs: str, orientation: str, pathways: Pathways, gene_names: str | None = None
) -> tuple[dict, list[str]]:
    """What is in two tables, as plain values, and the samples they share.

    :class:`DataError` if they cannot be read, share none, or hold values that cannot be computed with.
    """
    tables = read_omics(inputs, outputs, orientation, pathways, gene_names)
    for file, table in zip((inputs, outputs), tables, strict=True):
        check_magnitudes(table.values.to_numpy(), list(map(str, table.values.columns)), file)
    ledger = Ledger()
    X, Y = same_samples(tables[0].values, tables[1].values, (inputs, outputs), ledger)
    members = {"inputs": (pathways.genes, gene_key), "outputs": (pathways.proteins, antibody_key)}
    found = {
        side: {"file": file, **_look_at(table, side, *members[side])}
        for side, file, table in zip(("inputs", "outputs"), (inputs, outputs), tables, strict=True)
    }
    advice = with_words(copy_facts(dependent_outputs(Y)))
    return {**found, "samples": len(X), "matching": with_words(ledger.notes), "advice": advice}, list(X.index)


def _look_at(table: Table, side: str, members: list[str], key) -> dict:
    values = table.values.to_numpy()
    present = values[~np.isnan(values)]
    if not present.size:
        raise DataError("a table without a single number")
    # Of inputs that look raw the workflow takes logarithms.
    logarithms = side == "inputs" and looks_raw(values)
    shown = np.log2(table.values + 1.0) if logarithms else table.values
    known = {key(str(name)) for name in table.values.columns}
    return {
        "layout": table.layout,
        "notes": with_words([*table.notes, *shape_facts(shown, side)]),
        "n_samples": len(table.values),
        "n_features": table.values.shape[1],
        "missing": float(np.isnan(values).mean()),
        "smallest": float(present.min()),
        "largest": float(present.max()),
        "looks_raw": bool(looks_raw(values)),
        "in_pathways": sum(name in known for name in members),
        "of_pathways": len(members),
    }


def described(found: Mapping) -> list[str]:
    """The same in words, a line each."""
    lines = []
    for side in ("inputs", "outputs"):
        table = found[side]
        lines.append(f"{side}: {table['file']}")
        lines.append(f"  {table['layout']}: {table['n_samples']} samples, {table['n_features']} features")
        raw = "; they look like raw counts, of which logarithms are due" if table["looks_raw"] else ""
        lines.append(
            f"  values from {table['smallest']:.4g} to {table['largest']:.4g}, {table['missing']:.1%} missing{raw}"
        )
        what = "genes" if side == "inputs" else "proteins"
        lines.append(f"  {table['in_pathways']} of the {table['of_pathways']} {what} of the pathways")
        lines.extend(f"  {words(note)}" for note in table["notes"])
    lines.append(f"samples in both: {found['samples']}")
    lines.extend(f"  {words(note)}" for note in found["matching"])
    lines.extend(f"TO DO: {words(advice)}" for advice in found["advice"])
    return lines


def look_at_covariates(path: str, samples: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """What is in each column of a table of covariates, in words, and how its samples were found."""
    table, notes = read_covariates(path, samples)
    kinds = {str(name): in_words(column) for name, column in table.items()}
    return kinds, [words(note) for note in notes]


def measured(column) -> bool:
    """Whether a column holds measurements: numbers, and more than two of them."""
    return column.dtype != object and column.nunique() > 2


def in_words(column) -> str:
    """What is in a column."""
    values = column.dropna().unique()
    if column.dtype == object and len(values) and all(map(is_date, values)):
        kind = f"dates from {min(values)} to {max(values)}; to adjust for them, make them numbers of days"
    elif column.dtype == object and len(values) > _FEW_VALUES:
        kind = f"text, {len(values)} different values"
    elif not measured(column):
        kind = "categories " + ", ".join(map(str, values[:_FEW_VALUES]))
    else:
        kind = f"numbers from {values.min():.4g} to {values.max():.4g}"
    missing = int(column.isna().sum())
    return kind + (f", {missing} missing" if missing else "")
