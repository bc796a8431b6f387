"""``nard fit``: two tables in, the files of a fit out."""

from __future__ import annotations

import argparse
from pathlib import Path

from nard.command.parts import add_orientation, command, say, show
from nard.errors import DataError, FitError
from nard.fits.methods import METHODS

_EXAMPLES = """\
  nard fit X.tsv Y.tsv -o out/
  nard fit mrna.csv.gz protein.csv.gz -o out/ --method hybrid --lam 0.1 --fdr 0.01
  nard fit cohort.h5mu#rna cohort.h5mu#prot -o out/
  nard fit results/READ/data/X.tsv.gz results/READ/data/Y.tsv.gz -o out/   # what the workflow's fit of READ writes

The numbers are taken as they are, so prepare them first (logarithms, missing inputs, outliers), or let the workflow do
it: `nard init`. Outputs may have gaps. Samples are matched by name. Features may be in rows or in columns."""


def add(commands) -> None:
    parser = command(commands, "fit", run, "fit a method to two tables and write its findings", _EXAMPLES)
    parser.add_argument("X", help="table of inputs: TSV, CSV, packed or not; .h5ad, .h5mu#modality")
    parser.add_argument("Y", help="table of outputs of the same samples")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the files go")
    parser.add_argument("--method", choices=list(METHODS), default="sequential", help="default: %(default)s")
    parser.add_argument(
        "--lam",
        type=_penalty,
        default="cv",
        help="network penalty λ: cv, ebic, or a number on the scale of residual correlations; default: %(default)s",
    )
    parser.add_argument(
        "--fdr", type=_rate, default=0.05, help="false discovery rate of each table; default: %(default)s"
    )
    parser.add_argument(
        "--statistics",
        choices=["listed", "all"],
        default="listed",
        help="all: also the z of every pair, as statistics.npz; default: %(default)s",
    )
    parser.add_argument(
        "--relevance",
        choices=["auto", "inputs", "entries", "both"],
        default="auto",
        help="inputs drive many outputs (the paper's model), single ones, or both; auto: what predicts best; "
        "default: %(default)s",
    )
    parser.add_argument(
        "--hidden",
        type=_hidden,
        default="auto",
        metavar="NUMBER",
        help="inputs that nobody measured (purity, batch): how many, or auto; default: %(default)s",
    )
    parser.add_argument(
        "--time-budget",
        type=_seconds,
        default=300.0,
        metavar="SECONDS",
        help="when a sampler stops; none lets it finish; default: %(default)g",
    )
    parser.add_argument("--seed", type=_seed, default=1, help="of everything random; default: %(default)s")
    parser.add_argument(
        "--name", help="what the data are called; default: as beside X and Y, else the name of the output folder"
    )
    parser.add_argument(
        "--groups",
        metavar="TABLE",
        help="pathways, as a table with the columns pathway, protein, gene, or a groups.tsv of the workflow; "
        "default: the groups.tsv beside X and Y, else the pathways that come with nard",
    )
    add_orientation(parser)


def run(options: argparse.Namespace) -> int:
    from nard.data.antibodies import read_antibodies
    from nard.data.cleaning import shape_facts
    from nard.data.cohort import read_omics
    from nard.data.copies import copy_facts, dependent_outputs
    from nard.data.groups import coloured, pathway_groups
    from nard.data.ledger import Ledger
    from nard.data.pathways import OTHER
    from nard.data.samples import same_samples
    from nard.data.words import dropped_lines, told
    from nard.figures.words import found
    from nard.files import write_tsv
    from nard.fits.fitting import fit_paths, fitted_model, write_model
    from nard.fits.trust import caution_text
    from nard.inputs import check_magnitudes

    folder = _prepared_folder(options)
    about, (pathways, groups) = _about(options, folder), _pathways_and_groups(options, folder)
    tables = read_omics(options.X, options.Y, options.orientation, pathways)
    ledger = Ledger()
    ledger.read("inputs", options.X, tables[0])
    ledger.read("outputs", options.Y, tables[1])
    X, Y = same_samples(tables[0].values, tables[1].values, (options.X, options.Y), ledger)
    if groups is None:
        groups = coloured(pathway_groups(X, Y, pathways, read_antibodies()), [*pathways.names, OTHER])
    else:
        groups = _groups_of(groups, X, Y, options.groups or f"{folder}/groups.tsv")
    for table, file in ((X, options.X), (Y, options.Y)):
        check_magnitudes(table.to_numpy(), list(table), file)
    advice = [*shape_facts(X, "inputs"), *shape_facts(Y, "outputs")]
    if not METHODS[options.method].minimises_j:  # NARD warns of copies itself
        advice += copy_facts(dependent_outputs(Y))
    about.setdefault("advice", advice)
    for line in (*map(told, [*ledger.notes, *advice]), *dropped_lines(ledger.dropped, n_names=4)):
        say(line)
    say(f"{about['title']}: {len(X)} samples, {X.shape[1]} inputs, {Y.shape[1]} outputs; fitting {options.method} …")
    settings = {
        "lam": options.lam,
        "fdr": options.fdr,
        "relevance": options.relevance,
        "hidden": options.hidden,
        "time_budget": options.time_budget,
    }
    paths = fit_paths(options.output, options.statistics)
    try:
        model = fitted_model(options.method, settings, options.seed, X, Y, groups, options.output)
    except FitError as error:
        raise DataError(f"{options.method} cannot be fitted to these data: {error}") from error
    except ValueError as error:
        fix = (
            "\n  to fix: correct the tables; or have them prepared by the workflow (missing values, constant\n"
            f"  features, outliers): nard init my-project --inputs {options.X} --outputs {options.Y}"
        )
        known = isinstance(error, DataError)  # which says itself what to do
        raise DataError(f"{options.X} (X) and {options.Y} (Y): {error}{'' if known else fix}") from error
    summary = write_model(model, options.method, settings, len(X), groups, about, paths)
    write_tsv(groups, Path(options.output, "groups.tsv"))
    warned = [dict(caution) for caution in getattr(model, "cautions_", [])]
    for caution in summary["cautions"]:
        if caution not in warned:
            say(f"warning: {caution_text(caution)}")
    text = (
        f"At a false discovery rate of {options.fdr:g}: {', '.join(found(summary['found']))}.\n"
        f"Written to {options.output}; figures: nard plot {options.output}"
    )
    show({**summary, "files": paths}, text, options.json)
    return 0


def _prepared_folder(options) -> Path | None:
    """The folder of X and Y if the workflow or `nard simulate` made it: it then has an account of them."""
    from nard.files import read_json

    folder = Path(options.X).parent
    account = folder / "summary.json"
    if Path(options.Y).parent != folder or not account.is_file():
        return None
    try:
        return folder if set(_about(options, None)) <= set(read_json(account)) else None
    except (ValueError, TypeError):
        return None


def _about(options, folder: Path | None) -> dict:
    """Name and origin of the data, from the account beside them if there is one: simulated data are called so."""
    from nard.files import read_json

    name = options.name or Path(options.output).resolve().name
    about = {"cohort": name, "title": name, "kind": "omics", "simulated": False}
    if folder is not None:
        account = read_json(folder / "summary.json")
        about |= {key: account[key] for key in (("kind", "simulated") if options.name else about)}
        about |= {what: account.get(what, []) for what in ("notes", "advice")}
    return about


def _pathways_and_groups(options, folder: Path | None):
    """The pathways, and the groups of the features if a file tells them."""
    from nard.data.pathways import read_pathways
    from nard.data.sheets import read_frame
    from nard.files import read_tsv

    beside = folder / "groups.tsv" if folder is not None else None
    path = options.groups or (beside if beside is not None and beside.is_file() else None)
    if path is None or not {"side", "name"} <= set(read_frame(path)):
        return read_pathways(path), None
    groups = read_tsv(path, dtype=str).fillna("")
    expected = ["side", "name", "kind", "pathway", "pathways", "genes", "colour"]
    if set(expected) - set(groups):
        raise DataError(f"{path}: columns {', '.join(groups)}.\n  expected: {', '.join(expected)}")
    # Columns that came later.
    for column, default in (("label", groups["name"]), ("sites", "")):
        if column not in groups:
            groups[column] = default
    return read_pathways(), groups


def _groups_of(groups, X, Y, where):
    """The rows of the features that are fitted; each of them must have one."""
    fitted = {"inputs": set(X), "outputs": set(Y)}
    for side, table in (("inputs", X), ("outputs", Y)):
        absent = [name for name in table if name not in set(groups.loc[groups["side"] == side, "name"])]
        if absent:
            raise DataError(
                f"{where}: {len(absent)} of the {side} are not in it, such as {absent[0]!r}.\n"
                "  to fix: add them, or name a table of pathways by --groups"
            )
    kept = [name in fitted.get(side, ()) for side, name in zip(groups["side"], groups["name"], strict=True)]
    return groups[kept].reset_index(drop=True)


def _penalty(text: str):
    if text in ("cv", "ebic"):
        return text
    return _number(text, lambda value: value >= 0, "cv, ebic or a number of at least 0")


def _hidden(text: str) -> int | str:
    return text if text == "auto" else _whole(text, "auto or a whole number of at least 0")


def _rate(text: str) -> float:
    return _number(text, lambda value: 0 < value < 1, "a number between 0 and 1")


def _seconds(text: str) -> float | None:
    return None if text == "none" else _number(text, lambda value: value > 0, "a number of seconds, or none")


def _seed(text: str) -> int:
    most = 2**32 - 1
    return int(_number(text, lambda value: 0 <= value <= most and value.is_integer(), f"a whole number up to {most}"))


def _whole(text: str, expected: str) -> int:
    return int(_number(text, lambda value: value >= 0 and value.is_integer(), expected))


def _number(text: str, allowed, expected: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not allowed(value) or value == float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
    return value
