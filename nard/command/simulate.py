"""``nard simulate``: a cohort to try, with the truth behind it."""

from __future__ import annotations

import argparse
from pathlib import Path

from nard.command.parts import command, show

_EXAMPLES = """\
  nard simulate -o demo
  nard simulate -o demo --samples 150 --pathways Apoptosis Cell-cycle --seed 7

Genes drive the proteins that they encode and a few others; proteins are wired mostly within their pathway. The tables
are the ones that the workflow makes for a cohort with `source: simulated` and the same name and seed."""


def add(commands) -> None:
    parser = command(commands, "simulate", run, "write a simulated cohort, and the truth behind it", _EXAMPLES)
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the files go")
    parser.add_argument("--samples", type=int, default=300, help="number of samples; default: %(default)s")
    parser.add_argument("--name", default="DEMO", help="of the cohort; cohorts differ by it; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--pathways", nargs="+", metavar="NAME", help="only these; default: all that come with nard")


def run(options: argparse.Namespace) -> int:
    from nard.data.pathways import read_pathways
    from nard.data.simulated import simulate_omics
    from nard.files import write_json, write_tsv
    from nard.project.config import validated

    # The config's own rules for names and numbers hold here too.
    entry = {"source": "simulated", "samples": options.samples}
    validated({"seed": options.seed, "cohorts": {options.name: entry}}, "nard simulate")
    pathways = read_pathways(None, options.pathways)
    cohort = simulate_omics(pathways, options.name, options.samples, 0, [], options.seed)
    folder = Path(options.output)
    tables = {**cohort.tables, "truth_associations": cohort.associations, "truth_edges": cohort.edges}
    paths = {name: str(folder / f"{name}.tsv{'.gz' if name in cohort.tables else ''}") for name in tables}
    for name, table in tables.items():
        write_tsv(table, paths[name], index=name in cohort.tables)
    about = {"cohort": options.name, "title": options.name, "kind": "omics", "simulated": True}
    write_json(about, folder / "summary.json")
    text = (
        f"{options.samples} samples, {len(pathways.genes)} genes, {len(pathways.proteins)} proteins; "
        f"{len(cohort.associations)} true associations, {len(cohort.edges)} true edges.\n"
        f"Next: nard fit {paths['inputs']} {paths['outputs']} -o {folder / 'fit'}"
    )
    result = {**about, "associations": len(cohort.associations), "edges": len(cohort.edges), "files": paths}
    show(result, text, options.json)
    return 0
