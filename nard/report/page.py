"""The report: one HTML page that holds its figures, tables and words, and can be mailed."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from nard.data.words import dropped_lines, told
from nard.figures.catalogue import figures_of
from nard.figures.words import counted, surest
from nard.fits.failures import failure_text
from nard.fits.hidden import HiddenInput
from nard.fits.methods import find_method
from nard.fits.trust import caution_text
from nard.project.config import without_secrets
from nard.project.neighbours import neighbours_told
from nard.report.captions import cohort_paragraph, first_words, signed
from nard.report.explorer.page import asset, template
from nard.report.methods_section import MethodsSection, software_versions

__all__ = ["CohortResults", "FitNotes", "report_page"]

_STRONGEST = 15
# Stand-ins that a cell of a table names.
_NAMED = 6

_COUNTS = ("features", "features_with_associations", "associations", "edges", "found")
_HEADINGS = {"rhat": "R̂", "ess": "effective sample"}
_LEADS = {
    "Hidden inputs": "What nobody measured and what moves many outputs together, such as purity or batch, as the "
    "residuals show it. Associations and edges are adjusted for it. Loadings are in units of the output per standard "
    "deviation of the hidden input, its sign is arbitrary, and r is its correlation with measured inputs.",
    "Surest findings": "The selected rows with the smallest q-values. Stability, where it was asked for, is the share "
    "of random subsamples in which the finding comes back. A partial correlation of ±1 is an estimate at its bound.",
    "Methods": "Findings of every method, agreement with the reference method, and how well each predicts samples "
    "held out from the fit. Ridge regression of every output alone and no regression at all are what the others are to "
    "be better than; both have a graphical lasso of their out-of-fold residuals as network.",
    "Against the truth": "Simulated cohorts have a known truth: the share of it that was found (TPR), and the share of "
    "false ones among the findings (FDR).",
    "Paper": "The paper's tables and figures, ours beside theirs.",
    "Data": "What went in, what was left out, and why.",
    "For your paper": "A Methods section from this run, also in results/methods.md; square brackets are for you.",
}


@dataclass(frozen=True)
class FitNotes:
    """What speaks against trusting a fit (its ``cautions``), its hidden inputs, and why there is none if it ``failed``.

    ``hidden`` is None of methods that know no hidden inputs.
    """

    method: str
    cautions: Sequence[Mapping]
    hidden: Sequence[HiddenInput] | None
    failed: Mapping | None = None


@dataclass(frozen=True)
class CohortResults:
    """What the report says about one cohort: its data, the fit of the reference method, and notes on all fits.

    Associations and edges have a column ``stability`` if subsamples were asked for.
    """

    summary: Mapping
    fit: Mapping
    held_out: Mapping
    associations: pd.DataFrame
    edges: pd.DataFrame
    nodes: pd.DataFrame
    fits: Sequence[FitNotes] = ()

    @property
    def title(self) -> str:
        return self.summary["title"]


def report_page(
    cohorts: Sequence[CohortResults],
    tables: Mapping[str, pd.DataFrame],
    figures: Sequence[str],
    folder: Path,
    config: Mapping,
    seconds: Mapping[tuple[str, str], float],
    methods: MethodsSection,
    experiments: Sequence[dict] = (),
    others: Sequence[str] = (),
) -> str:
    """The page. ``tables`` go by name, ``figures`` are PNG files, ``folder`` holds the page's template and style.

    ``seconds`` are the times of the fits by cohort and method, ``methods`` is the Methods section for a paper, and
    ``experiments`` are the parts of the chapter about NARD's own paper. ``others`` are cohorts that lie beside those of
    the config.

    Every name that comes from data is escaped.
    """
    parts = {
        "Overview": [_cohorts(tables["cohorts"]), *map(_paragraph, cohorts)],
        "Networks": [],
        "Associations": [],
        "Across cancers": [],
        "Surest findings": [part for cohort in cohorts for part in _surest(cohort)],
        "Hidden inputs": [part for cohort in cohorts for part in _hidden(cohort)],
        "Methods": [_every_fit(_comparison(tables, seconds))],
        "Against the truth": _recovery(tables["recovery"]) if "recovery" in tables else [],
        "Diagnostics": [],
        "Paper": experiments,
        "Data": [*(_account(cohort.summary) for cohort in cohorts), *_others(others)],
        "For your paper": [{"paragraphs": methods.paragraphs, "points": methods.references}],
        "Configuration": [{"code": yaml.safe_dump(without_secrets(config), sort_keys=False, allow_unicode=True)}],
        "Software": [{"table": _table(_software())}],
    }
    for section, drawn in _figures(config, figures, cohorts, tables).items():
        parts[section] = [*drawn, *parts[section]]
    sections = [
        {"id": _slug(title), "title": title, "lead": _LEADS.get(title), "parts": content}
        for title, content in parts.items()
        if content
    ]
    return template((folder / "report.html.j2").read_text(encoding="utf-8")).render(
        base=asset("base.css"),
        style=(folder / "report.css").read_text(encoding="utf-8"),
        sections=sections,
        title="NARD report",
        lead=f"{counted(len(cohorts), 'cohort')}, {counted(len({method for _, method in seconds}), 'method')}; "
        f"figures show {find_method(config['reference']).title}. "
        "Which inputs matter, what they drive, and how the outputs are wired.",
        simulated=_simulated(cohorts),
        first_words=first_words([cohort.summary for cohort in cohorts]),
    )


def _others(names: Sequence[str]) -> list[dict]:
    return [{"title": "Beside these cohorts", "paragraphs": [neighbours_told(names)]}] if names else []


def _simulated(cohorts: Sequence[CohortResults]) -> str | None:
    made_up = [cohort.title for cohort in cohorts if cohort.summary["simulated"]]
    if not made_up:
        return None
    which = "All data on this page are" if len(made_up) == len(cohorts) else f"The data of {', '.join(made_up)} are"
    return f"{which} SIMULATED: they show what the workflow does and say nothing about any disease."


def _cohorts(table: pd.DataFrame) -> dict:
    """The table of cohorts, narrow enough for a phone: what was used beside what was found."""
    rows = [
        {
            "cohort": row.title if row.title == row.cohort else f"{row.title} ({row.cohort})",
            "data": row.data,
            "samples": f"{row.samples} of {row.samples_with_inputs}, {row.samples_with_outputs}",
            "inputs": f"{row.inputs} of {row.inputs_found}",
            "outputs": f"{row.outputs} of {row.outputs_found}",
        }
        for row in table.itertuples()
    ]
    text = "Used, of what was found; of samples, those of the inputs' file and those of the outputs' file."
    return {"title": "Cohorts", "paragraphs": [text], "table": _table(pd.DataFrame(rows))}


def _figures(
    config: Mapping, figures: Sequence[str], cohorts: Sequence[CohortResults], tables: Mapping[str, pd.DataFrame]
) -> dict[str, list[dict]]:
    """The figures by section, in the order of the catalogue."""
    pictures = {Path(path).stem: Path(path) for path in figures}
    by_name = {cohort.summary["cohort"]: cohort for cohort in cohorts}
    parts: dict[str, list[dict]] = {}
    for name, figure, case in figures_of(config):
        if name in pictures:
            shown = {
                "name": name,
                "data": base64.b64encode(pictures[name].read_bytes()).decode("ascii"),
                "caption": figure.caption_for(case, _outputs_of(case, by_name)),
                "alt": figure.text(case, by_name, tables),
            }
            part = {"id": f"figure-{_slug(name)}", "title": figure.named(case), "figure": shown}
            parts.setdefault(figure.section, []).append(part)
    return parts


def _outputs_of(case: Mapping, cohorts: Mapping[str, CohortResults]) -> int:
    """How many outputs the cohort of a figure has; of a figure of several cohorts none count."""
    return len(cohorts[case["cohort"]].nodes) if "cohort" in case else 0


def _paragraph(cohort: CohortResults) -> dict:
    text = cohort_paragraph(
        cohort.summary, cohort.fit, cohort.held_out, cohort.associations, cohort.edges, cohort.nodes
    )
    part = {"id": f"cohort-{_slug(cohort.summary['cohort'])}", "title": cohort.title, "paragraphs": [text]}
    return {**part, "cautions": _cautions(cohort.fits)}


def _cautions(fits: Sequence[FitNotes]) -> list[str]:
    """Each once, with the methods that it is of."""
    methods: dict[str, list[str]] = {}
    for fit in fits:
        texts = [f"could not be fitted: {failure_text(fit.failed)}"] if fit.failed else []
        for text in (*texts, *map(caution_text, fit.cautions)):
            methods.setdefault(text, []).append(find_method(fit.method).title)
    return [f"{', '.join(titles)}: {text}" for text, titles in methods.items()]


def _surest(cohort: CohortResults) -> list[dict]:
    if cohort.fit.get("failed"):
        return []
    naming = ["own", "probability", "stand_ins"]
    labels = dict(zip(cohort.nodes["id"], cohort.nodes["label"], strict=True))
    shown = {
        "associations": (cohort.associations, ["feature", "target", "weight", "sd", "qvalue", "stability", *naming]),
        "edges": (cohort.edges, ["source", "target", "partial_correlation", "qvalue", "stability"]),
    }
    parts = []
    for what, (table, columns) in shown.items():
        known = [name for name in columns if name in table]
        rows = surest(table, _STRONGEST)[known]
        for end in ("source", "target"):
            if end in rows:
                rows[end] = [_with_key(labels.get(name, name), name) for name in rows[end]]
        if "stand_ins" in rows:
            rows = rows.assign(own=rows["own"].map({True: "own"}).fillna(""), stand_ins=rows["stand_ins"].map(_few))
        parts.append({"title": f"{cohort.title}: surest {what} (at most {_STRONGEST})", "table": _table(rows)})
    return parts


def _with_key(label: str, name: str) -> str:
    """The spelling of the file, and after it the name in the tables."""
    return name if label == name else f"{label} ({name})"


def _few(stand_ins: str) -> str:
    """The first of names joined by ";", and how many more there are."""
    names = stand_ins.split(";") if isinstance(stand_ins, str) and stand_ins else []
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _hidden(cohort: CohortResults) -> list[dict]:
    """A table for every fit that found any; algorithms that start from the same preparation share theirs."""
    tables: dict[tuple, list[str]] = {}
    labels = dict(zip(cohort.nodes["id"], cohort.nodes["label"], strict=True))
    for fit in cohort.fits:
        if fit.hidden is None:
            continue
        rows = tuple((_named(one.outputs, labels), _named(one.resembles)) for one in fit.hidden)
        tables.setdefault(rows, []).append(find_method(fit.method).title)
    parts = []
    for rows, titles in tables.items():
        what = f"{len(rows)} hidden input{'' if len(rows) == 1 else 's'}" if rows else "none"
        heading = f"{cohort.title}: {what} ({', '.join(titles)})"
        part: dict = {"title": heading} if rows else {"paragraphs": [heading]}
        if rows:
            table = pd.DataFrame(rows, columns=["largest loadings", "most alike, with r"])
            table.insert(0, "hidden input", [str(number) for number in range(1, len(rows) + 1)])
            part["table"] = _table(table)
        parts.append(part)
    return parts


def _named(values: Sequence[tuple[str, float]], labels: Mapping[str, str] | None = None) -> str:
    return ", ".join(f"{(labels or {}).get(name, name)} ({signed(value)})" for name, value in values)


def _account(summary: Mapping) -> dict:
    used = f"{summary['n_samples']} samples, {summary['n_inputs']} inputs and {summary['n_outputs']} outputs were used."
    return {
        "id": f"data-{_slug(summary['cohort'])}",
        "title": summary["title"],
        "paragraphs": [used],
        "points": [*dropped_lines(summary["dropped"]), *map(told, summary["notes"])],
        "cautions": [*map(told, summary["advice"])],
    }


def _comparison(tables: Mapping[str, pd.DataFrame], seconds: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    """Every fit in a row; where the truth is known, with the rates of what was found and of what is false."""
    table = tables["methods"].set_index(["cohort", "method"])
    if "recovery" in tables:
        for what in ("associations", "edges"):
            rates = tables["recovery"].query("what == @what").set_index(["cohort", "method"])[["tpr", "fdr"]]
            table = table.join(rates.add_prefix(f"{what}_"))
    table["seconds"] = pd.Series(seconds)
    # Without a sampler these say nothing.
    unsaid = [name for name in ("rhat", "ess") if name in table and table[name].isna().all()]
    return _with_counts(table.drop(columns=["converged", *unsaid]).reset_index())


def _every_fit(table: pd.DataFrame) -> dict:
    """The table of all fits; those with a remark are marked, and the remarks, which are long, stand above it."""
    remarked = table[table["remark"].notna() & (table["remark"] != "")]
    points = [f"{row.method} in {row.cohort}: {row.remark}" for row in remarked.itertuples()]
    marked = {"marked": [table.index.get_loc(row) for row in remarked.index]}
    return {"title": "Every fit", "points": points, "table": _table(table.drop(columns="remark")) | marked}


def _with_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers of findings as such, also where some are missing."""
    return table.astype({name: "Int64" for name in _COUNTS if name in table})


def _recovery(recovery: pd.DataFrame) -> list[dict]:
    groups = recovery.groupby(["what", "method"], sort=False)
    means = groups[["found", "true", "tpr", "fdr"]].mean().assign(cohorts=groups.size()).reset_index()
    return [
        {"title": "Mean over the simulated cohorts", "table": _table(means)},
        {"title": "Every cohort", "table": _table(_with_counts(recovery))},
    ]


def _software() -> pd.DataFrame:
    return pd.DataFrame(software_versions().items(), columns=["package", "version"])


def _table(table: pd.DataFrame) -> dict:
    """Header and rows of text, each cell with whether it is a number, which goes to the right."""
    numeric = [pd.api.types.is_numeric_dtype(table[column]) and table[column].dtype != bool for column in table]
    rows = [list(zip(map(_shown, row), numeric, strict=True)) for row in table.itertuples(index=False)]
    header = [_HEADINGS.get(str(column), str(column).replace("_", " ")) for column in table.columns]
    return {"header": list(zip(header, numeric, strict=True)), "rows": rows}


def _shown(value) -> str:
    if value is pd.NA:
        return "–"
    if not isinstance(value, float):
        return str(value)
    if value != value:
        return "–"
    return f"{value:.3f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text.lower())
