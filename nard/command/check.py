"""``nard check``: what is in the files, before any fit."""

from __future__ import annotations

import argparse
import sys

from nard.command.parts import add_orientation, command, show

_EXAMPLES = """\
  nard check config/config.yaml     every cohort of a config: what is there, what is left out, what to change
  nard check X.tsv Y.tsv            two tables: what they are, and the samples they share"""


def add(commands) -> None:
    parser = command(
        commands, "check", run, "read the files of a config, or two tables, and say what is in them", _EXAMPLES
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a config, or a table of inputs and one of outputs")
    add_orientation(parser)
    parser.set_defaults(usage=parser.error)


def run(options: argparse.Namespace) -> int:
    if len(options.files) > 2:
        options.usage(f"one config or two tables, not {len(options.files)} files")
    return _config(options) if len(options.files) == 1 else _tables(options)


def _tables(options: argparse.Namespace) -> int:
    from nard.data.pathways import read_pathways
    from nard.project.inspection import described, look_at_pair

    inputs, outputs = options.files
    found, _ = look_at_pair(inputs, outputs, options.orientation, read_pathways())
    show(found, "\n".join(described(found)), options.json)
    return 0


def _config(options: argparse.Namespace) -> int:
    from nard.project.check import check_config, printed

    accounts, errors, later = check_config(options.files[0])
    text = printed(accounts) if accounts else ""
    if later:
        text += f"Simulated or downloaded, so checked by the workflow (snakemake --cores 1 check): {', '.join(later)}"
    show({"cohorts": accounts, "errors": errors, "checked_later": later}, text, options.json)
    for error in errors:
        print(f"error: {error}\n", file=sys.stderr)
    return 1 if errors else 0
