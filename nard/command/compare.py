"""``nard compare``: what two or more fits have in common."""

from __future__ import annotations

import argparse
from pathlib import Path

from nard.command.parts import command, show
from nard.errors import DataError

_EXAMPLES = """\
  nard compare out1 out2
  nard compare results/READ/sequential results/READ/capme results/READ/mssl
  nard compare demo/fit --truth demo      a simulated cohort: what was found of the truth, and what is false

The Jaccard index is the number of findings in both over the number in either, n/a where neither has any. Rates
against the truth are among the candidates of the fit: tpr, the share of the truth that was found; fdr, the share of the
findings that is false."""


def add(commands) -> None:
    parser = command(
        commands, "compare", run, "compare the findings of fits with each other, or with the truth", _EXAMPLES
    )
    parser.add_argument(
        "folders", nargs="+", metavar="FOLDER", help="of a fit: of `nard fit`, or results/COHORT/METHOD"
    )
    parser.add_argument("--truth", metavar="FOLDER", help="of `nard simulate`, or resources/simulated/COHORT")
    parser.set_defaults(usage=parser.error)


def run(options: argparse.Namespace) -> int:
    if len(options.folders) < 2 and options.truth is None:
        options.usage("two folders or more, or one and --truth")
    if len(set(options.folders)) < len(options.folders):
        options.usage("a folder is named twice")
    table = _with_truth(options) if options.truth else _with_each_other(options.folders)
    # As JSON has no NaN, a rate of nothing is null there.
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    show(rows, table.to_string(index=False, float_format="%.3f", na_rep="n/a"), options.json)
    return 0


def _with_each_other(folders: list[str]):
    from nard.fits.comparison import ENDS, SETS, jaccard_table

    findings = {("", folder, what): SETS[what](_table(folder, f"{what}.tsv")) for what in ENDS for folder in folders}
    table = jaccard_table(findings).drop(columns="cohort")
    return table.rename(columns={"method_a": "a", "method_b": "b"})


def _with_truth(options: argparse.Namespace):
    import pandas as pd

    from nard.fits.comparison import SETS, recovery, truth_among

    associations, edges = (_table(options.truth, f"truth_{what}.tsv") for what in ("associations", "edges"))
    rows = []
    for folder in options.folders:
        inputs, outputs = _table(folder, "features.tsv")["feature"], _table(folder, "nodes.tsv")["id"]
        truths = truth_among(associations, edges, set(inputs), set(outputs))
        for what, members in SETS.items():
            rates = recovery(members(_table(folder, f"{what}.tsv")), *truths[what])
            rows.append({"fit": folder, "what": what, **rates})
    return pd.DataFrame(rows)


def _table(folder: str, name: str):
    from nard.files import read_json, read_tsv
    from nard.fits.failures import failure_text

    path = Path(folder, name)
    if not path.is_file():
        raise DataError(f"{folder}: no {name} in this folder.\n  expected: the folder of a fit, or of simulated data")
    summary = Path(folder, "fit.json")
    if summary.is_file() and (failed := read_json(summary).get("failed")):
        raise DataError(f"{folder}: this method could not be fitted: {failure_text(failed)}")
    return read_tsv(path)
