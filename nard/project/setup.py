"""A config for somebody's files: the settings that suit what is in them, each with the reason beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import yaml

from nard.data.names import nearest
from nard.data.pathways import Pathways, read_pathways
from nard.errors import DataError
from nard.fits.methods import METHODS
from nard.project.check import checked_cohort, printed
from nard.project.config import cohort_files, cohort_settings, validated
from nard.project.inspection import described, look_at_covariates, look_at_pair

__all__ = ["config_for", "template_for"]

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


def template_for(cohort: str) -> str:
    """A valid config that names files that are not there yet."""
    settings = {"inputs": "data/inputs.tsv", "outputs": "data/outputs.tsv"}
    reasons = {
        "inputs": "EDIT: genes or any inputs; Xena, cBioPortal, Firehose, GDC, a plain table, .h5ad, .h5mu#modality",
        "outputs": "EDIT: proteins or any outputs of the same samples",
        "genes": "all, pathway (those of the pathway table), or a number (the most variable)",
        "proteins": "all, or pathway",
    }
    return _text(cohort, settings, {"genes": "all", "proteins": "all"}, reasons, "Written by `nard init`: a template.")


def config_for(
    cohort: str,
    files: Mapping[str, tuple[str, str]],
    orientation: str,
    adjust: Sequence[str],
    say: Callable[[str], None],
) -> tuple[str, dict]:
    """The config for two tables, and the account of their preparation by it.

    ``files`` gives, by config key, the path of each file now and its path in the config. What is found is told by
    ``say`` as it goes.
    """
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
    text = _text(
        cohort, settings, preprocessing, reasons, f"Written by `nard init` after a look at {len(files)} files."
    )
    return text, account


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


def _require_columns(wanted: Sequence[str], columns: Mapping[str, str], file: str) -> None:
    for name in wanted:
        if name not in columns:
            closest = nearest(name, columns)
            hint = f" Did you mean {closest!r}?" if closest else ""
            raise DataError(f"{file}: no column {name!r} to adjust for.{hint}\n  found: {', '.join(columns)}")


def _checked(cohort: str, settings: Mapping, preprocessing: Mapping, pathways: Pathways) -> dict:
    """What the workflow's own check finds with these settings."""
    entry = {"source": "files", **settings, "preprocessing": dict(preprocessing)}
    config = validated({"cohorts": {cohort: entry}}, "nard init")
    settings = cohort_settings(config, cohort)
    _, account = checked_cohort(cohort, settings, cohort_files(settings), pathways)
    return account


def _text(cohort: str, settings: Mapping, preprocessing: Mapping, reasons: Mapping, title: str) -> str:
    lines = [f"  {_flow(cohort)}:", "    source: files"]
    lines += [_line(key, value, reasons, 4) for key, value in settings.items()]
    lines += ["    preprocessing:"]
    lines += [_line(key, value, reasons, 6) for key, value in preprocessing.items()]
    baselines = ", ".join(name for name, method in METHODS.items() if not method.minimises_j)
    text = _HEAD.format(title=title, baselines=baselines) + "\n".join(lines) + "\n"
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
