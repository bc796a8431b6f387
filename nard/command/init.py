"""``nard init``: a config for the user's files, written after a look at them."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from nard.command.parts import add_orientation, command, say, show
from nard.errors import DataError

_EXAMPLES = """\
  nard init my-project --inputs mrna.tsv --outputs protein.tsv
  nard init my-project --inputs mrna.tsv --outputs protein.tsv --covariates clinical.tsv --adjust age sex
  nard init my-project --inputs cohort.h5mu#rna --outputs cohort.h5mu#prot --name KIRC
  nard init my-project                   a template to fill in

It writes my-project/config/config.yaml and never overwrites one."""


def add(commands) -> None:
    parser = command(commands, "init", run, "look at your files and write a config for the workflow", _EXAMPLES)
    parser.add_argument("project", metavar="FOLDER", help="a new folder for config and results")
    parser.add_argument("--inputs", metavar="FILE", help="table of genes, or any inputs")
    parser.add_argument("--outputs", metavar="FILE", help="table of proteins, or any outputs, of the same samples")
    parser.add_argument("--covariates", metavar="FILE", help="table with one row (or column) per sample")
    parser.add_argument("--adjust", nargs="+", default=[], metavar="COLUMN", help="covariates to regress out first")
    parser.add_argument("--gene-names", metavar="FILE", help="table of other names of the genes, and their symbols")
    parser.add_argument("--name", default="COHORT", help="of the cohort, and of its folder of results")
    add_orientation(parser)
    parser.set_defaults(usage=parser.error)


def run(options: argparse.Namespace) -> int:
    if (options.inputs is None) != (options.outputs is None):
        options.usage("--inputs and --outputs go together")
    if options.inputs is None and (options.covariates or options.adjust):
        options.usage("--covariates and --adjust need --inputs and --outputs")
    if options.adjust and not options.covariates:
        options.usage("--adjust needs --covariates")
    project = Path(options.project)
    path = project / "config" / "config.yaml"
    if path.exists():
        raise DataError(f"{path} is there already and is not overwritten.\n  to fix: another folder, or move it away")
    from nard.files import write_text
    from nard.project.setup import config_for, template_for

    if options.inputs is None:
        text, account = template_for(options.name), None
    else:
        files = {key: getattr(options, key) for key in ("inputs", "outputs", "covariates", "gene_names")}
        text, account = config_for(options.name, _from(project, files), options.orientation, options.adjust, say)
    write_text(text, path)
    next_steps = _next_steps(project, account is None)
    report = f"Written: {path}\nNext:\n" + "\n".join(f"  {step}" for step in next_steps)
    show({"config": str(path), "found": account, "next": next_steps}, report, options.json)
    return 0


def _from(project: Path, files: dict[str, str | None]) -> dict[str, tuple[str, str]]:
    """For each file its path now and its path in the config: the workflow runs in the project's folder."""
    placed = {}
    for key, path in files.items():
        if path is not None:
            whole = Path(os.path.abspath(path))
            inside = whole.is_relative_to(os.path.abspath(project))
            placed[key] = (path, str(whole.relative_to(os.path.abspath(project)) if inside else whole))
    return placed


def _next_steps(project: Path, template: bool) -> list[str]:
    import nard

    folder = shlex.quote(str(project))
    snakefile = Path(nard.__file__).resolve().parents[1] / "Snakefile"
    # A wheel holds the package only; the workflow is then wherever it was cloned to.
    where = shlex.quote(str(snakefile)) if snakefile.is_file() else "PATH_TO_THE_WORKFLOW/Snakefile"
    edit = [f"edit {folder}/config/config.yaml: the two files"] if template else []
    check = f"cd {folder}", "nard check config/config.yaml"
    return [*edit, *check, f"snakemake --snakefile {where} --cores 2"]
