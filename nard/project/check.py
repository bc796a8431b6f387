"""The check before the long work: every cohort's files are read and prepared, and the findings put in one table."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nard.data.cohort import Prepared, prepare_aging, prepare_omics, read_omics
from nard.data.ledger import dropped_lines
from nard.data.pathways import Pathways, read_pathways
from nard.data.sheets import read_frame
from nard.errors import DataError
from nard.fits.memory import MemoryLimit, memory_limit, too_large
from nard.project.config import cohort_files, load_config, methods_of, preprocessing_of

__all__ = [
    "check_cohort",
    "check_config",
    "check_memory",
    "check_table",
    "load_pathways",
    "prepare_cohort",
    "printed",
]

_COLUMNS = ("cohort", "inputs", "outputs", "samples", "of inputs", "of outputs", "d", "m", "missing", "to do")
_OUTLYING = 10.0  # kurtosis above which a feature is called outlying
_TALL = 0.05


def load_pathways(path: str | None, names: Sequence[str] | None) -> Pathways:
    pathways = read_pathways(path)
    return pathways.restricted(list(names)) if names else pathways


def prepare_cohort(settings: Mapping, files: Mapping[str, str], pathways: Pathways) -> Prepared:
    """X and Y of a cohort from its files, given by the config key that names them."""
    if settings["kind"] == "aging":
        return prepare_aging(read_frame(files["table"]), settings, files["table"], settings["preprocessing"])
    tables = read_omics(settings, files, pathways)
    return prepare_omics(tables, files, pathways, settings["preprocessing"], settings["cancer"])


def check_cohort(
    cohort: str, settings: Mapping, files: Mapping[str, str], pathways: str | None, names: Sequence[str] | None
) -> dict:
    """One row of the table of checks; :class:`DataError` names the cohort's key if its data cannot be used."""
    try:
        prepared = prepare_cohort(settings, files, load_pathways(pathways, names))
    except DataError as error:
        keys = ", ".join(f"cohorts.{cohort}.{key}: {path}" for key, path in files.items())
        raise DataError(
            f"cohort {cohort}: {error}\n  config: {keys}\n"
            f"  or take {cohort} out of `cohorts`, or go on without it by `snakemake --keep-going`"
        ) from None
    ledger = prepared.ledger
    found = ledger.summary()
    return {
        "cohort": cohort,
        "inputs": _shape(found["inputs"]),
        "outputs": _shape(found["outputs"]),
        "samples": len(prepared.X),
        "of inputs": found["inputs"]["samples"]["found"],
        "of outputs": found["outputs"]["samples"]["found"],
        "d": prepared.X.shape[1],
        "m": prepared.Y.shape[1],
        "missing": _missing(ledger.notes),
        "dropped": ledger.dropped,
        "notes": ledger.notes,
        "to do": [*_advice(prepared, settings)],
    }


def check_config(path: str) -> tuple[list[dict], list[str], list[str]]:
    """The rows of a config file's cohorts, the errors, and the cohorts whose files the workflow has yet to make."""
    config = load_config(path)
    rows, errors, later = [], [], []
    for cohort, entry in config["cohorts"].items():
        if entry["source"] != "files":
            later.append(cohort)
            continue
        settings = {**entry, "preprocessing": preprocessing_of(config, cohort), "cancer": entry["cancer"] or cohort}
        try:
            rows.append(check_cohort(cohort, settings, cohort_files(entry), config["pathways"], config["use_pathways"]))
        except DataError as error:
            errors.append(str(error))
    methods = {cohort: methods_of(config, cohort) for cohort in config["cohorts"]}
    return rows, [*errors, *check_memory(rows, methods, config["fit"], config["memory"])], later


def check_memory(
    found: Sequence[Mapping], methods: Mapping[str, Sequence[str]], fit: Mapping, memory: int | None
) -> list[str]:
    """The fits that would be killed for want of memory, and what to change; ``fit`` and ``memory`` are the config's."""
    limit = MemoryLimit(memory, "`memory` in the config is") if memory else memory_limit()
    problems = (
        (row["cohort"], too_large(method, (row["samples"], row["d"], row["m"]), fit, limit))
        for row in found
        for method in methods[row["cohort"]]
    )
    return [f"cohort {cohort}: {problem}" for cohort, problem in problems if problem]


def check_table(found: Sequence[Mapping]) -> pd.DataFrame:
    rows = [{**row, "to do": " | ".join(row["to do"])} for row in found]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def printed(found: Sequence[Mapping]) -> str:
    """The table for a terminal, and below it what to know and to do for each cohort."""
    table = check_table(found).drop(columns="to do")
    lines = [table.to_string(index=False), ""]
    for row in found:
        lines.append(f"{row['cohort']}")
        lines.extend(map(_wrapped, dropped_lines(row["dropped"], n_names=4)))
        lines.extend(_wrapped(note) for note in row["notes"])
        lines.extend(_wrapped(f"TO DO: {advice}") for advice in row["to do"])
        lines.append("")
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 110, initial_indent="  - ", subsequent_indent="    ")


def _shape(side: Mapping) -> str:
    return f"{side['samples']['found']} × {side['features']['found']}"


def _missing(notes: Sequence[str]) -> str:
    filled = [note for note in notes if "filled in" in note]
    return "filled in" if filled else "none left"


def _advice(prepared: Prepared, settings: Mapping):
    """What the user may want to change, in the words of the config."""
    options = settings["preprocessing"]
    n, m = prepared.Y.shape
    if n < m:
        yield (
            f"{n} samples for {m} outputs: edges between outputs will hardly be found; "
            "fewer outputs (`preprocessing.proteins`) or more samples help"
        )
    lost = [row for row in prepared.ledger.dropped if "a missing value" in row["reason"] and row["side"] == "outputs"]
    if lost and lost[0]["count"] > n / 4:
        yield (
            f"{lost[0]['count']} samples were lost to single missing values: "
            f"`preprocessing.max_missing` below {options['max_missing']:g} drops features instead, "
            "`impute: knn` fills them in"
        )
    if options["outliers"] == "none":
        for side, values in (("inputs", prepared.X), ("outputs", prepared.Y)):
            heavy = values.columns[values.kurt().to_numpy() > _OUTLYING]
            if len(heavy) > _TALL * values.shape[1]:
                yield (
                    f"{len(heavy)} of the {side} have heavy tails ({', '.join(heavy[:3])}, …): "
                    "`preprocessing.outliers: winsorise` or rank_normal guards the tests"
                )
    correlation = np.corrcoef(prepared.Y.to_numpy(), rowvar=False)
    rows, columns = np.nonzero(np.triu(np.abs(np.atleast_2d(correlation)), 1) > 0.995)
    for i, j in list(zip(rows, columns, strict=True))[:3]:
        yield f"{prepared.Y.columns[i]} and {prepared.Y.columns[j]} are copies of each other: leave one out"
