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
  nard init my-project --inputs 'tcga/{cohort}/mrna.tsv.gz' --outputs 'tcga/{cohort}/rppa.tsv.gz'   every cohort there
  nard init my-project --cohort COAD=coad_mrna.tsv,coad_rppa.tsv --cohort READ=read_mrna.tsv,read_rppa.tsv
  nard init my-project --table phenotypes.csv --age age --macro 'grip*' bmi
  nard init my-project                   a template to fill in

It writes my-project/config/config.yaml and never overwrites one."""


def add(commands) -> None:
    parser = command(commands, "init", run, "look at your files and write a config for the workflow", _EXAMPLES)
    parser.add_argument("project", metavar="FOLDER", help="a new folder for config and results")
    parser.add_argument("--inputs", metavar="FILE", help="table of genes, or any inputs; {cohort} stands for any name")
    parser.add_argument("--outputs", metavar="FILE", help="table of proteins, or any outputs, of the same samples")
    parser.add_argument("--covariates", metavar="FILE", help="table with one row (or column) per sample")
    parser.add_argument("--adjust", nargs="+", default=[], metavar="COLUMN", help="covariates to regress out first")
    parser.add_argument("--gene-names", metavar="FILE", help="table of other names of the genes, and their symbols")
    parser.add_argument(
        "--cohort",
        action="append",
        default=[],
        type=_cohort,
        metavar="NAME=INPUTS,OUTPUTS",
        help="a cohort with its two files; may be given several times",
    )
    parser.add_argument(
        "--table", metavar="FILE", help="table of phenotypes, one row per person, in place of two files"
    )
    parser.add_argument(
        "--age", default="age", metavar="COLUMN", help="of the table of phenotypes; default: %(default)s"
    )
    parser.add_argument("--id", metavar="COLUMN", help="that names the people in it; default: row numbers")
    parser.add_argument(
        "--macro", nargs="+", default=[], metavar="COLUMN", help="the outputs in it, or patterns of them"
    )
    parser.add_argument(
        "--molecular", nargs="+", default=[], metavar="COLUMN", help="the inputs in it; default: all other measurements"
    )
    parser.add_argument(
        "--name", nargs="+", help="of the cohort, and of its folder of results; with {cohort}, those to take"
    )
    add_orientation(parser)
    parser.set_defaults(usage=parser.error)


def run(options: argparse.Namespace) -> int:
    _require_sense(options)
    project = Path(options.project)
    path = project / "config" / "config.yaml"
    if path.exists():
        raise DataError(f"{path} is there already and is not overwritten.\n  to fix: another folder, or move it away")
    from nard.files import write_text
    from nard.project.setup import Phenotypes, config_for, config_for_phenotypes, template_for

    name = options.name[0] if options.name else "COHORT"
    accounts: list[dict] = []
    errors: list[str] = []
    if options.table:
        columns = Phenotypes(options.age, options.id, options.macro, options.molecular)
        [table] = _from(project, {"table": options.table}).values()
        text, accounts = config_for_phenotypes(name, table, columns, options.adjust, say)
    elif options.inputs or options.cohort:
        cohorts = {cohort: _from(project, files) for cohort, files in _cohorts(options, name).items()}
        text, accounts, errors = config_for(cohorts, options.orientation, options.adjust, say)
    else:
        text = template_for(name)
    write_text(text, path)
    next_steps = _next_steps(project, not accounts)
    report = f"Written: {path}\nNext:\n" + "\n".join(f"  {step}" for step in next_steps)
    found = accounts if len(accounts) > 1 else next(iter(accounts), None)
    show({"config": str(path), "found": found, "errors": errors, "next": next_steps}, report, options.json)
    for error in errors:
        say(f"error: {error}\n")
    return 1 if errors else 0


def _require_sense(options: argparse.Namespace) -> None:
    given = [bool(options.inputs or options.outputs), bool(options.cohort), bool(options.table)]
    if sum(given) > 1:
        options.usage("--inputs and --outputs, --cohort, or --table: one of these")
    if (options.inputs is None) != (options.outputs is None):
        options.usage("--inputs and --outputs go together")
    if not any(given) and (options.covariates or options.adjust):
        options.usage("--covariates and --adjust need --inputs and --outputs")
    if options.adjust and not options.covariates and not options.table:
        options.usage("--adjust needs --covariates")
    if (options.macro or options.molecular or options.id) and not options.table:
        options.usage("--id, --macro and --molecular need --table")
    if options.name and (options.cohort or (len(options.name) > 1 and "{cohort}" not in (options.inputs or ""))):
        options.usage("one --name for one cohort; several go with {cohort} in --inputs and --outputs")


def _cohorts(options: argparse.Namespace, name: str) -> dict[str, dict[str, str]]:
    """The files of every cohort by config key."""
    from nard.project.patterns import COHORT, files_by_cohort

    keys = ("covariates", "gene_names") if options.cohort else ("inputs", "outputs", "covariates", "gene_names")
    files = {key: getattr(options, key) for key in keys if getattr(options, key)}
    if options.cohort:
        return {cohort: {**own, **files} for cohort, own in options.cohort}
    if not any(COHORT in file for file in files.values()):
        return {name: files}
    cohorts, lacking = files_by_cohort(files)
    wanted = options.name or [*cohorts, *lacking]
    for cohort in wanted:
        if cohort in lacking:
            say(f"{cohort} is left out: no file for {' and '.join(f'--{key}' for key in lacking[cohort])}")
        elif cohort not in cohorts:
            raise DataError(f"--name {cohort}: there is no such cohort.\n  found: {', '.join([*cohorts, *lacking])}")
    if not set(wanted) & set(cohorts):
        raise DataError("no cohort has all of its files.\n  to fix: correct the patterns of --inputs and --outputs")
    return {cohort: cohorts[cohort] for cohort in wanted if cohort in cohorts}


def _cohort(text: str) -> tuple[str, dict[str, str]]:
    name, _, files = text.partition("=")
    paths = files.split(",")
    if not name or len(paths) != 2 or not all(paths):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=INPUTS,OUTPUTS")
    return name, {"inputs": paths[0], "outputs": paths[1]}


def _from(project: Path, files: dict[str, str]) -> dict[str, tuple[str, str]]:
    """For each file its path now and its path in the config: the workflow runs in the project's folder."""
    placed = {}
    for key, path in files.items():
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
