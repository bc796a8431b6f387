"""A config for somebody's files: the settings that suit what is in them, each with the reason beside it."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import yaml

from nard.data.names import nearest
from nard.data.pathways import Pathways, read_pathways
from nard.data.sheets import read_frame
from nard.errors import DataError
from nard.fits.methods import METHODS
from nard.project.check import checked_cohort, printed
from nard.project.config import cohort_files, cohort_settings, validated
from nard.project.inspection import described, in_words, look_at_covariates, look_at_pair, measured

__all__ = ["Phenotypes", "config_for", "config_for_phenotypes", "template_for"]

# By config key the path of each file now, and its path in the config.
Files = Mapping[str, tuple[str, str]]

# With more inputs than this, the most variable ones are a better start than all.
_MANY_INPUTS = 2000
# So much of a pathway table is to be there for it to be of use.
_ENOUGH_OF_PATHWAYS = 0.5

_HEAD = """\
# {title}
# Every key that is not here has its default; the config.yaml that comes with the workflow explains them all.

# Same config and seed, same tables.
seed: 1

# sequential, full, surrogate and hybrid fit NARD, to the same kind of point; sequential is the quickest. Baselines to
# compare with: {baselines}.
methods: [sequential, mssl]
reference: sequential

fit:
  lam: cv     # network penalty: cross-validated
  fdr: 0.05   # false discovery rate of each table of findings

cohorts:
"""


@dataclass(frozen=True)
class Phenotypes:
    """Which columns of a table are what: age and id, outputs and inputs; these by names or patterns."""

    age: str
    id: str | None = None
    macro: Sequence[str] = ()
    molecular: Sequence[str] = ()


def template_for(cohort: str) -> str:
    """A valid config that names files that are not there yet."""
    settings = {"inputs": "data/inputs.tsv", "outputs": "data/outputs.tsv"}
    reasons = {
        "inputs": "EDIT: genes or any inputs; Xena, cBioPortal, Firehose, GDC, a plain table, .h5ad, .h5mu#modality",
        "outputs": "EDIT: proteins or any outputs of the same samples",
        "genes": "all, pathway (those of the pathway table), or a number (the most variable)",
        "proteins": "all, or pathway",
    }
    entry = _entry(cohort, settings, {"genes": "all", "proteins": "all"}, reasons)
    return _text([entry], "Written by `nard init`: a template.")


def config_for(
    cohorts: Mapping[str, Files], orientation: str, adjust: Sequence[str], say: Callable[[str], None]
) -> tuple[str, list[dict], list[str]]:
    """The config for the tables of some cohorts, the accounts of their preparation, and what is wrong with the others.

    What is found is told by ``say`` as it goes. :class:`DataError` if no cohort can be used.
    """
    entries, accounts, errors = [], [], []
    for cohort, files in cohorts.items():
        try:
            entry, account = _entry_for(cohort, files, orientation, adjust, say)
        except DataError as error:
            if len(cohorts) == 1:
                raise
            errors.append(f"cohort {cohort} is not in the config: {error}")
        else:
            entries.append(entry)
            accounts.append(account)
    if not entries:
        raise DataError("\n".join(errors))
    n_files = sum(len(cohorts[account["cohort"]]) for account in accounts)
    return _text(entries, f"Written by `nard init` after a look at {n_files} files."), accounts, errors


def config_for_phenotypes(
    cohort: str, table: tuple[str, str], columns: Phenotypes, adjust: Sequence[str], say: Callable[[str], None]
) -> tuple[str, list[dict]]:
    """The config for one table of phenotypes, whose columns are inputs, outputs and age, and the account of it."""
    now, path = table
    frame = read_frame(now)
    names = list(map(str, frame.columns))
    say("\n  ".join([f"table: {now}", *(f"{name}: {in_words(column)}" for name, column in frame.items())]))
    named = [columns.age, *([columns.id] if columns.id else []), *adjust]
    _require_columns(named, names, now)
    left = [name for name, column in frame.items() if measured(column) and name not in named]
    if not columns.macro:
        raise DataError(
            f"{now}: which columns are the outputs?\n  found: {', '.join(left)}\n"
            "  to fix: --macro COLUMN … (patterns as 'grip*' in quotes); --molecular COLUMN … for the inputs, "
            "otherwise all other columns of numbers"
        )
    macro = _matching(columns.macro, left, now)
    rest = [name for name in left if name not in macro]
    molecular = _matching(columns.molecular, rest, now) if columns.molecular else rest
    if not molecular:
        raise DataError(f"{now}: no column of numbers is left for the inputs.\n  to fix: fewer columns as --macro")
    blocks = {"macro": {"macro": macro}, "molecular": {"molecular": molecular}}
    settings = {"kind": "aging", "table": path, "id": columns.id, "age": columns.age, **blocks}
    unused = [name for name in names if name not in {*macro, *molecular, *named}]
    reasons = {
        "table": f"not in use: {', '.join(unused)}" if unused else "",
        "macro": "outputs by block (organ, tissue); split it into blocks of your own",
        "molecular": "inputs by block; leave out copies of others, and what is made from them",
    }
    preprocessing: dict = {"adjust": list(dict.fromkeys([columns.age, *adjust]))}
    reasons["adjust"] = (
        f"regressed out of all features first, since features that only go with {columns.age} would be connected; [] "
        "adjusts for nothing"
    )
    account = _settled(cohort, {**settings, "table": now}, preprocessing, reasons, read_pathways())
    say(printed([account]))
    entry = _entry(cohort, settings, preprocessing, reasons)
    return _text([entry], "Written by `nard init` after a look at a table of phenotypes."), [account]


def _matching(patterns: Sequence[str], columns: Sequence[str], file: str) -> list[str]:
    """The columns that any of the patterns names, in the order of the table."""
    for pattern in patterns:
        if not fnmatch.filter(columns, pattern):
            _require_columns([pattern], columns, file)
    return [
        name for name in columns if name in patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]


def _entry_for(
    cohort: str, files: Files, orientation: str, adjust: Sequence[str], say: Callable[[str], None]
) -> tuple[str, dict]:
    now = {key: path for key, (path, _) in files.items()}
    pathways = read_pathways()
    found, samples = look_at_pair(now["inputs"], now["outputs"], orientation, pathways, now.get("gene_names"))
    for line in described(found):
        say(line)
    settings = {key: path for key, (_, path) in files.items()}
    reasons = {
        side: f"{found[side]['layout']}: {found[side]['n_samples']} × {found[side]['n_features']}"
        for side in ("inputs", "outputs")
    }
    if orientation != "auto":
        settings["orientation"] = orientation
    preprocessing = _chosen(found, reasons)
    if "covariates" in files:
        columns, how = look_at_covariates(now["covariates"], samples)
        _require_columns(adjust, columns, now["covariates"])
        reasons["covariates"] = "columns: " + "; ".join(f"{name} ({kind})" for name, kind in columns.items())
        reasons["adjust"] = "regressed out of inputs and outputs first; [] adjusts for nothing"
        preprocessing["adjust"] = list(adjust)
        say("\n  ".join([f"covariates: {now['covariates']}", *how, reasons["covariates"]]))
    account = _settled(cohort, {**settings, **now}, preprocessing, reasons, pathways)
    say(printed([account]))
    return _entry(cohort, settings, preprocessing, reasons), account


def _chosen(found: Mapping, reasons: dict[str, str]) -> dict:
    """Which features, and whether logarithms; the reasons are added to ``reasons``."""
    chosen: dict[str, str | int] = {}
    for side, key in (("inputs", "genes"), ("outputs", "proteins")):
        table = found[side]
        share = f"{table['in_pathways']} of the {table['of_pathways']} {key} of the pathway table are there"
        if table["in_pathways"] >= _ENOUGH_OF_PATHWAYS * table["of_pathways"]:
            chosen[key], reasons[key] = "pathway", f"{share}; all takes the others too"
        elif key == "genes" and table["n_features"] > _MANY_INPUTS:
            chosen[key] = _MANY_INPUTS
            reasons[key] = f"the most variable of {table['n_features']}, since only {share}; all takes every one"
        else:
            chosen[key], reasons[key] = "all", f"only {share}"
    chosen["log"] = "auto"
    values = f"values from {found['inputs']['smallest']:.4g} to {found['inputs']['largest']:.4g}"
    raw = found["inputs"]["looks_raw"]
    reasons["log"] = f"{values}: " + ("log2(x + 1) will be taken" if raw else "taken as they are")
    return chosen


def _settled(cohort: str, settings: Mapping, preprocessing: dict, reasons: dict[str, str], pathways: Pathways) -> dict:
    """What the check finds. Skewed values become normal scores.

    Missing values are filled in where dropping their samples leaves few or none.
    """
    account = _without_gaps(cohort, settings, preprocessing, reasons, pathways)
    skewed = [fact for fact in account["advice"] if fact["code"] == "skewed"]
    if not skewed:
        return account
    preprocessing["outliers"] = "rank_normal"
    reasons["outliers"] = (
        "normal scores, since half of the "
        + " and half of the ".join(f"{fact['side']} have a skewness beyond {fact['skewness']:.1f}" for fact in skewed)
        + ", as linear measurements have; winsorise only pulls outliers in"
    )
    return _checked(cohort, settings, preprocessing, pathways)


def _without_gaps(
    cohort: str, settings: Mapping, preprocessing: dict, reasons: dict[str, str], pathways: Pathways
) -> dict:
    try:
        account = _checked(cohort, settings, preprocessing, pathways)
        lost = [row["count"] for row in account["dropped"] if row["code"] == "incomplete"]
        if max(lost, default=0) <= account["n_samples"] / 4:
            return account
        left = f"leave {account['n_samples']}"
    except DataError:
        left = "leave too few"
    account = _checked(cohort, settings, {**preprocessing, "impute": "knn"}, pathways)
    preprocessing["impute"] = "knn"
    reasons["impute"] = f"none would drop samples with a missing value and {left} of {account['n_samples']}"
    return account


def _require_columns(wanted: Sequence[str], columns: Collection[str], file: str) -> None:
    for name in wanted:
        if name not in columns:
            closest = nearest(name, columns)
            hint = f" Did you mean {closest!r}?" if closest else ""
            raise DataError(f"{file}: no column {name!r}.{hint}\n  found: {', '.join(columns)}")


def _checked(cohort: str, settings: Mapping, preprocessing: Mapping, pathways: Pathways) -> dict:
    """What the workflow's own check finds with these settings."""
    entry = {"source": "files", **settings, "preprocessing": dict(preprocessing)}
    config = validated({"cohorts": {cohort: entry}}, "nard init")
    settings = cohort_settings(config, cohort)
    _, account = checked_cohort(cohort, settings, cohort_files(settings), pathways)
    return account


def _entry(cohort: str, settings: Mapping, preprocessing: Mapping, reasons: Mapping) -> str:
    """The lines of one cohort."""
    lines = [f"  {_flow(cohort)}:", "    source: files"]
    lines += [_line(key, value, reasons, 4) for key, value in settings.items()]
    if preprocessing:
        lines += ["    preprocessing:"]
        lines += [_line(key, value, reasons, 6) for key, value in preprocessing.items()]
    return "\n".join(lines)


def _text(entries: Sequence[str], title: str) -> str:
    baselines = ", ".join(name for name, method in METHODS.items() if not method.minimises_j)
    text = _HEAD.format(title=title, baselines=baselines) + "\n".join(entries) + "\n"
    validated(yaml.safe_load(text), "the new config")
    return text


def _line(key: str, value, reasons: Mapping, indent: int) -> str:
    """A key with its value, and above it the reason, as a comment that no name in it can end."""
    reason = " ".join(reasons.get(key, "").split())
    comment = f"{' ' * indent}# {reason}\n" if reason else ""
    return f"{comment}{' ' * indent}{key}: {_flow(value)}"


def _flow(value) -> str:
    """A value as YAML on one line."""
    return yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6).removesuffix("...\n").strip()
