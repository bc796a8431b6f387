"""The check before the long work: every cohort's files are read and prepared, and the findings put in one table."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from nard.data.antibodies import read_antibodies
from nard.data.cleaning import shape_facts
from nard.data.cohort import Prepared, prepare_aging, prepare_omics, read_cohort
from nard.data.copies import copy_facts, dependent_outputs, still_dependent
from nard.data.pathways import Pathways, read_pathways
from nard.data.sheets import read_frame
from nard.data.words import dropped_lines, told, with_words
from nard.errors import DataError
from nard.fits.memory import MemoryLimit, memory_limit, too_large
from nard.project.config import cohort_files, cohort_settings, load_config, methods_of

__all__ = [
    "check_config",
    "check_memory",
    "check_row",
    "check_table",
    "checked_cohort",
    "prepare_cohort",
    "printed",
]

_OUTLYING = 10.0  # kurtosis above which a feature is called outlying
_TALL = 0.05  # share of the features of a side that is worth a word
_FEW = 0.25  # share of them below which what is left is told beside what there was
# Notes of the preparation that ask the user for something.
_ASKING = {"alike samples", "date columns", "dates", "identifiers", "same table", "skewed", "swapped"}


def prepare_cohort(settings: Mapping, files: Mapping[str, str], pathways: Pathways) -> Prepared:
    """X and Y of a cohort from its files, given by the config key that names them."""
    if settings["kind"] == "aging":
        return prepare_aging(read_frame(files["table"]), settings, files["table"], settings["preprocessing"])
    tables = read_cohort(files, settings["orientation"], pathways)
    return prepare_omics(tables, files, pathways, settings["preprocessing"], settings["cancer"])


def checked_cohort(
    cohort: str, settings: Mapping, files: Mapping[str, str], pathways: Pathways
) -> tuple[Prepared, dict]:
    """X and Y, and the account of them that goes into ``summary.json``.

    :class:`DataError` names the cohort's keys if its data cannot be used.
    """
    try:
        prepared = prepare_cohort(settings, files, pathways)
    except DataError as error:
        keys = ", ".join(f"cohorts.{cohort}.{key}: {path}" for key, path in files.items())
        raise DataError(
            f"cohort {cohort}: {error}\n  config: {keys}\n"
            f"  or take {cohort} out of `cohorts`; `snakemake --keep-going` goes on without it"
        ) from None
    summary = prepared.ledger.summary()
    asking = [note for note in summary["notes"] if note["code"] in _ASKING]
    account = {
        "cohort": cohort,
        "title": settings["title"],
        "kind": settings["kind"],
        "simulated": settings["source"] == "simulated",
        "n_samples": len(prepared.X),
        "n_inputs": prepared.X.shape[1],
        "n_outputs": prepared.Y.shape[1],
        **({"ages": prepared.ages} if prepared.ages else {}),
        **summary,
        "notes": [note for note in summary["notes"] if note not in asking],
        "advice": [*asking, *_advice(prepared, settings)],
    }
    return prepared, account | {key: with_words(account[key]) for key in ("dropped", "notes", "advice")}


def check_config(path: str) -> tuple[list[dict], list[str], list[str]]:
    """The accounts of a config file's cohorts, the errors, and the cohorts whose files the workflow has yet to make."""
    config = load_config(path)
    pathways = read_pathways(config["pathways"], config["use_pathways"])
    read_antibodies(config["antibodies"])
    accounts, errors, later = [], [], []
    for cohort in config["cohorts"]:
        settings = cohort_settings(config, cohort)
        if settings["source"] != "files":
            later.append(cohort)
            continue
        try:
            _, account = checked_cohort(cohort, settings, cohort_files(settings), pathways)
            accounts.append(account)
        except DataError as error:
            errors.append(str(error))
    methods = {cohort: methods_of(config, cohort) for cohort in config["cohorts"]}
    return accounts, [*errors, *check_memory(accounts, methods, config["fit"], config["memory"])], later


def check_memory(
    accounts: Sequence[Mapping], methods: Mapping[str, Sequence[str]], fit: Mapping, memory: int | None
) -> list[str]:
    """The fits that would be killed for want of memory, and what to change; ``fit`` and ``memory`` are the config's."""
    limit = MemoryLimit(memory, "`memory` in the config is") if memory else memory_limit()
    problems = (
        (one["cohort"], too_large(method, (one["n_samples"], one["n_inputs"], one["n_outputs"]), fit, limit))
        for one in accounts
        for method in methods[one["cohort"]]
    )
    return [f"cohort {cohort}: {problem}" for cohort, problem in problems if problem]


def check_row(account: Mapping) -> dict:
    """The row of the table of checks."""
    filled = any(note["code"] == "filled in" for note in account["notes"])
    return {
        "cohort": account["cohort"],
        **{side: "{samples[found]} × {features[found]}".format(**account[side]) for side in ("inputs", "outputs")},
        "samples": account["n_samples"],
        **{f"of {side}": account[side]["samples"]["found"] for side in ("inputs", "outputs")},
        "d": account["n_inputs"],
        "m": account["n_outputs"],
        "missing": "filled in" if filled else "none left",
        "to do": " | ".join(map(told, account["advice"])),
    }


def check_table(accounts: Sequence[Mapping]) -> pd.DataFrame:
    return pd.DataFrame(map(check_row, accounts))


def printed(accounts: Sequence[Mapping]) -> str:
    """The table for a terminal, and below it what to know and to do for each cohort."""
    table = check_table(accounts).drop(columns="to do")
    lines = [table.to_string(index=False), ""]
    for account in accounts:
        lines.append(f"{account['cohort']}")
        lines.extend(map(_wrapped, dropped_lines(account["dropped"], n_names=4)))
        lines.extend(_wrapped(told(note)) for note in account["notes"])
        lines.extend(_wrapped(f"TO DO: {told(advice)}") for advice in account["advice"])
        lines.append("")
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 110, initial_indent="  - ", subsequent_indent="    ")


def _advice(prepared: Prepared, settings: Mapping) -> Iterator[dict]:
    """What the user may want to change, as facts."""
    options = settings["preprocessing"]
    n, m = prepared.Y.shape
    sides = {"inputs": prepared.X, "outputs": prepared.Y}
    for (side, values), option in zip(sides.items(), ("genes", "proteins"), strict=True):
        found, kept = prepared.ledger.found[side]["features"], values.shape[1]
        if settings["kind"] == "omics" and options[option] == "pathway" and kept < _FEW * found:
            yield {"code": "pathways only", "side": side, "kept": kept, "found": found, "option": option}
    for side, values in sides.items():
        left_out = [row for row in prepared.ledger.dropped if (row["side"], row["code"]) == (side, "mostly one value")]
        for row in left_out:
            if row["count"] > _TALL * (values.shape[1] + row["count"]):
                yield {"code": "sparse left out", "side": side, "count": row["count"], "names": row["names"][:3]}
        yield from (fact for fact in shape_facts(values, side) if fact["code"] == "sparse")
    if prepared.ages and not prepared.ages["adjusted"]:
        yield {"code": "age not adjusted", "column": prepared.ages["column"]}
    if n < m:
        yield {"code": "many outputs", "samples": n, "outputs": m}
    lost = [row for row in prepared.ledger.dropped if row["code"] == "incomplete"]
    if lost and lost[0]["count"] > n / 4:
        yield {"code": "many incomplete", "count": lost[0]["count"], "limit": options["max_missing"]}
    if options["outliers"] == "none":
        for side, values in sides.items():
            heavy = values.columns[values.kurt().to_numpy() > _OUTLYING]
            if len(heavy) > _TALL * values.shape[1]:
                yield {"code": "heavy tails", "side": side, "count": len(heavy), "names": list(heavy[:3])}
    yield from copy_facts({**still_dependent(prepared.dependent, prepared.Y), **dependent_outputs(prepared.Y)})
