"""Everything on one page: words, figures, tables, the account of the data, the config and the software."""

from pathlib import Path

import pandas as pd
import yaml

from nard.captions import cohort_paragraph
from nard.data.ledger import dropped_lines
from nard.files import read_json, read_tsv, write_text
from nard.jobs import job
from nard.report import figure_of, html_table, render, software

# Figures by section: the start of the file's name, the caption, and what the figure is called.
SECTIONS = {
    "Networks": [
        ("network_", "network", "Protein network of {}"),
        ("phenotype_network_", "phenotype_network", "Phenotype network of {}"),
    ],
    "Associations": [("associations_", "associations", "Gene → protein associations of {}")],
    "Across cancers": [
        ("upset_associations", "upset", "UpSet plot of associations"),
        ("upset_edges", "upset", "UpSet plot of edges"),
        ("upset_", "upset", "UpSet plot of {}"),
        ("pathway_map", "pathway_map", "Explained variation by pathway"),
        ("crosstalk", "crosstalk", "Cross-talk between pathways"),
    ],
    "Methods": [("jaccard", "jaccard", "Agreement of the methods")],
    "Diagnostics": [("convergence_", "convergence", "λ and convergence of {}")],
}
STRONGEST = 15


def slug(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text.lower())


def figures_of(paths: list[str], kinds: list[tuple[str, str, str]], captions: Path) -> list[dict]:
    """The figures of a section, each under the first kind whose name it begins with."""
    parts, used = [], set()
    for start, caption, title in kinds:
        for path in paths:
            name = Path(path).stem
            if name.startswith(start) and name not in used:
                used.add(name)
                rest = name.removeprefix(start)
                figure = figure_of(path, captions / f"{caption}.rst", rest, title.format(rest.replace("_", " ")))
                parts.append({"id": f"figure-{slug(name)}", "title": figure.title, "figure": figure})
    return parts


def findings(tables, cohort: str) -> list[dict]:
    """The surest rows of a cohort's associations and edges."""
    associations, edges = tables
    shown = {
        "Surest associations": associations[["feature", "target", "weight", "sd", "qvalue", "selected"]],
        "Surest edges": edges[["source", "target", "partial_correlation", "qvalue", "selected"]],
    }
    return [
        {"title": f"{cohort}: {title.lower()}", "table": html_table(table[table["selected"]].head(STRONGEST).drop(columns="selected"))}
        for title, table in shown.items()
    ]


def account(summary: dict) -> dict:
    """What the preparation of a cohort left out, and what it did."""
    return {
        "id": f"data-{slug(summary['cohort'])}",
        "title": summary["title"],
        "paragraphs": [f"{summary['n_samples']} samples, {summary['n_inputs']} inputs and {summary['n_outputs']} outputs were used."],
        "items": [*dropped_lines(summary["dropped"]), *summary["notes"]],
    }


def truth(recovery: pd.DataFrame) -> list[dict]:
    means = recovery.groupby(["what", "method"], sort=False)[["found", "true", "tpr", "fdr"]].mean().reset_index()
    return [
        {"title": "Mean over the simulated cohorts", "table": html_table(means)},
        {"title": "Every cohort", "table": html_table(recovery)},
    ]


if __name__ == "__main__":
    with job(snakemake.log[0]):
        source, config = snakemake.input, snakemake.params.config
        captions = Path(snakemake.scriptdir).parent / "workflow" / "report"
        tables = {Path(path).stem: path for path in source.tables}
        figures = [path for path in source.figures if path.endswith(".png")]
        summaries = [read_json(path) for path in source.summaries]

        overview, details = [], []
        per_cohort = zip(
            summaries, source.fits, source.held_out, source.features, source.associations, source.edges, strict=True
        )
        for summary, fit, held_out, features, associations, edges in per_cohort:
            frames = read_tsv(associations), read_tsv(edges)
            paragraph = cohort_paragraph(summary, read_json(fit), read_json(held_out), read_tsv(features), *frames)
            overview.append({"id": f"cohort-{slug(summary['cohort'])}", "title": summary["title"], "paragraphs": [paragraph]})
            details += findings(frames, summary["title"])
        cohorts = {"title": "Cohorts", "table": html_table(read_tsv(tables["cohorts"]))}
        sections = [
            {"title": "Overview", "parts": [cohorts, *overview]},
            *(
                {"title": title, "parts": figures_of(figures, kinds, captions)}
                for title, kinds in SECTIONS.items()
                if title not in ("Methods", "Diagnostics")
            ),
            {"title": "Surest findings", "lead": f"Up to {STRONGEST} of each kind, of the method {config['reference']}.", "parts": details},
            {
                "title": "Methods",
                "lead": "Findings of every method, their agreement with the reference method, and how well each predicts samples held out from the fit.",
                "parts": [
                    *figures_of(figures, SECTIONS["Methods"], captions),
                    {"title": "Every fit", "table": html_table(read_tsv(tables["methods"]))},
                ],
            },
        ]
        if "recovery" in tables:
            lead = "Simulated cohorts have a known truth: the share of it that was found (TPR), and the share of false ones among the findings (FDR)."
            sections.append({"title": "Against the truth", "lead": lead, "parts": truth(read_tsv(tables["recovery"]))})
        sections += [
            {"title": "Diagnostics", "parts": figures_of(figures, SECTIONS["Diagnostics"], captions)},
            {"title": "Data", "lead": "What went in, what was left out, and why.", "parts": [account(summary) for summary in summaries]},
            {"title": "Configuration", "parts": [{"code": yaml.safe_dump(config, sort_keys=False, allow_unicode=True)}]},
            {"title": "Software", "parts": [{"table": html_table(pd.DataFrame(software(), columns=["package", "version"]))}]},
        ]
        sections = [{**section, "id": slug(section["title"])} for section in sections if section["parts"]]

        made_up = [summary["title"] for summary in summaries if summary["simulated"]]
        note = None
        if made_up:
            every = "All data on this page are" if len(made_up) == len(summaries) else f"The data of {', '.join(made_up)} are"
            note = f"{every} SIMULATED: they show what the workflow does and say nothing about any disease."
        page = render(
            captions / "report.html.j2",
            sections,
            title="NARD report",
            lead=f"{len(summaries)} cohorts, {len(config['methods'])} methods. Which inputs matter, what they drive, and how the outputs are wired.",
            simulated=note,
        )
        write_text(page, snakemake.output[0])
