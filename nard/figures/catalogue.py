"""The figures of the workflow, each declared once: rules, report, captions, texts in its place and `nard plot` read it.

Nothing is drawn here, so nothing that draws is imported: an entry names its function, which is loaded on use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from nard.data.pathways import read_pathways
from nard.export.communities import MOST_NODES
from nard.figures import alt_text, words
from nard.files import read_json, read_tsv
from nard.fits.methods import minimise_j
from nard.project.config import methods_of, of_kind

__all__ = ["CATALOGUE", "Figure", "figures_of", "figures_of_cohorts", "pathway_slugs"]

Case = Mapping[str, str]


@dataclass(frozen=True)
class Figure:
    """One kind of figure.

    Attributes
    ----------
    file : str
        Name of its files without suffix, with the wildcards that tell its cases apart.
    section, title, caption : str
        Where it stands in the report, what it is called there, and what it shows; with the same wildcards.
    cases : callable
        Config → the values of the wildcards for which there is such a figure.
    fits : callable
        Config, case → cohort and method of the fits that it shows.
    inputs : dict
        What the drawing function takes → the file, or in a list the files of all fits, as patterns: {fit} is the folder
        of a fit, {data} that of its cohort's data, {results} that of the run; with the wildcards.
    draw : str
        Module and function, which takes the inputs as they were read, and the settings, by name.
    settings : callable
        Config, case → what else the function takes.
    more : callable
        Config → what the function takes besides the inputs, if the config asks for it, as patterns.
    caption_of_many : str
        What it shows of a cohort of so many outputs that it is drawn in another way
        (:data:`nard.export.communities.MOST_NODES`), if it is.
    alt : callable or None
        The text in place of the figure, from the cohort's results, or, of all cohorts together, from ``alt_table``.
    alt_table : str
        Name of that table, with the wildcards.
    """

    file: str
    section: str
    title: str
    caption: str
    cases: Callable[[Mapping], list[dict[str, str]]]
    fits: Callable[[Mapping, Case], list[tuple[str, str]]]
    inputs: Mapping[str, str | list[str]]
    draw: str
    settings: Callable[[Mapping, Case], dict] = lambda config, case: {}
    more: Callable[[Mapping], Mapping[str, str]] = lambda config: {}
    caption_of_many: str = ""
    alt: Callable | None = None
    alt_table: str = ""

    @property
    def label(self) -> str:
        """The title without its cohort."""
        return self.title.removesuffix("{cohort}").removesuffix(" of ").removesuffix(" in ")

    def named(self, case: Case) -> str:
        """The title of one case; underscores of file names are spaces."""
        return self.title.format(**{key: value.replace("_", " ") for key, value in case.items()})

    def caption_for(self, case: Case, n_outputs: int | None = None) -> str:
        """The caption of one case, from the number of its cohort's outputs if that is known."""
        few, many = (text.format(**case) for text in (self.caption, self.caption_of_many))
        if n_outputs is None and many:
            return f"{few} Of more than {MOST_NODES}: {many}"
        return many if many and n_outputs is not None and n_outputs > MOST_NODES else few

    def files(self, config: Mapping, case: Case, results: str = "results") -> dict[str, str | list[str]]:
        """The files that one case is drawn from."""
        folders = [
            {"fit": f"{results}/{cohort}/{method}", "data": f"{results}/{cohort}/data", "results": results}
            for cohort, method in self.fits(config, case)
        ]
        return self.files_in(folders, case, config)

    def files_in(self, folders: Sequence[Mapping], case: Case, config: Mapping) -> dict[str, str | list[str]]:
        """The same of fits that lie anywhere."""
        return {
            name: pattern.format(**folders[0], **case)
            if isinstance(pattern, str)
            else [one.format(**folder, **case) for folder in folders for one in pattern]
            for name, pattern in {**self.inputs, **self.more(config)}.items()
        }

    def drawn(self, files: Mapping[str, str | list[str]], settings: Mapping):
        """The figure from its files; of a method that could not be fitted, the reason."""
        tables = {name: _read(paths) for name, paths in files.items()}
        fit = tables.get("fit")
        if isinstance(fit, Mapping) and fit.get("failed"):
            title = f"{fit['title']}: {self.label[0].lower()}{self.label[1:]}"
            return import_module("nard.figures.page").sentence(
                words.unfitted(fit), title=title, note=words.origin([{**fit, "failed": None}], fit["method"])
            )
        module, _, function = self.draw.rpartition(".")
        return getattr(import_module(module), function)(**tables, **settings)

    def text(self, case: Case, cohorts: Mapping, tables: Mapping) -> str | None:
        """What is to be seen in one case, in words, or None if its tables tell nothing beyond its caption.

        ``cohorts`` are :class:`nard.report.page.CohortResults` by name, ``tables`` those of the report.
        """
        if self.alt is None:
            return None
        if "cohort" in case:
            cohort = cohorts[case["cohort"]]
            return words.unfitted(cohort.fit) if cohort.fit.get("failed") else self.alt(cohort)
        table = tables.get(self.alt_table.format(**case))
        return None if table is None or table.empty else self.alt(table)


def _read(paths: str | list[str]):
    if not isinstance(paths, str):
        return [_read(path) for path in paths]
    return read_json(paths) if Path(paths).suffix == ".json" else read_tsv(paths)


def figures_of(config: Mapping) -> Iterator[tuple[str, Figure, dict[str, str]]]:
    """The figures of a run: name of the files, entry and case, in the order of the catalogue."""
    for figure in CATALOGUE.values():
        for case in figure.cases(config):
            yield figure.file.format(**case), figure, case


def figures_of_cohorts(config: Mapping) -> Iterator[tuple[str, Figure, dict[str, str]]]:
    """Those that show one cohort, by their name in the catalogue."""
    for name, figure in CATALOGUE.items():
        if "{cohort}" in figure.file:
            for case in figure.cases(config):
                yield name, figure, case


def pathway_slugs(config: Mapping) -> dict[str, str]:
    """Pathways by a name that a file can have."""
    pathways = read_pathways(config["pathways"])
    names = config["use_pathways"] or pathways.names
    return {"".join(c if c.isalnum() else "_" for c in name).strip("_"): name for name in names}


# Which cases there are


def _of_cohorts(kind: str) -> Callable:
    return lambda config: [{"cohort": cohort} for cohort in of_kind(config, kind)]


def _traced(config: Mapping) -> list[dict[str, str]]:
    return [{"cohort": cohort} for cohort in config["cohorts"] if minimise_j(methods_of(config, cohort))]


def _tested(config: Mapping) -> list[dict[str, str]]:
    """Baselines test nothing."""
    return [{"cohort": cohort} for cohort in config["cohorts"] if minimise_j([config["reference"]])]


def _with_lam_path(config: Mapping) -> list[dict[str, str]]:
    """A fixed λ has no path, and baselines choose other things."""
    chosen = config["fit"]["lam"] in ("cv", "ebic") and minimise_j([config["reference"]])
    return [{"cohort": cohort} for cohort in config["cohorts"] if chosen]


def _of_findings(config: Mapping) -> list[dict[str, str]]:
    return [{"what": what} for what in ("associations", "edges") if of_kind(config, "omics")]


def _of_pathways(config: Mapping) -> list[dict[str, str]]:
    wanted = config["figures"]["upset_per_pathway"] and of_kind(config, "omics")
    return [{"pathway": slug} for slug in pathway_slugs(config)] if wanted else []


def _if_omics(config: Mapping) -> list[dict[str, str]]:
    return [{}] if of_kind(config, "omics") else []


def _if_several_methods(config: Mapping) -> list[dict[str, str]]:
    return [{}] if any(len(methods_of(config, cohort)) > 1 for cohort in config["cohorts"]) else []


# Which fits they show


def _reference(config: Mapping, case: Case) -> list[tuple[str, str]]:
    return [(case["cohort"], config["reference"])]


def _minimising(config: Mapping, case: Case) -> list[tuple[str, str]]:
    return [(case["cohort"], method) for method in minimise_j(methods_of(config, case["cohort"]))]


def _omics_references(config: Mapping, case: Case) -> list[tuple[str, str]]:
    return [(cohort, config["reference"]) for cohort in of_kind(config, "omics")]


def _all_references(config: Mapping, case: Case) -> list[tuple[str, str]]:
    return [(cohort, config["reference"]) for cohort in config["cohorts"]]


_NETWORK = {"fit": "{fit}/fit.json", "nodes": "{fit}/nodes.tsv", "edges": "{fit}/edges.tsv"}
_ASSOCIATIONS = {
    "fit": "{fit}/fit.json",
    "nodes": "{fit}/nodes.tsv",
    "associations": "{fit}/associations.tsv",
    "groups": "{data}/groups.tsv",
}
_FITS = ["{fit}/fit.json"]


def _stability(config: Mapping) -> dict[str, str]:
    return {"stability": "{fit}/stability.tsv"} if config["stability"]["subsamples"] else {}


_SHARED = (
    "What the cancers share. A bar counts the findings that exactly the cancers with a filled dot have in common (each "
    "finding is counted once), stacked by the first pathway in the colours of the networks. Only pairs that were "
    "measured in every cancer are counted; the figure says how many findings that leaves out, and the column untested "
    "of results/comparison/agreement_*.tsv which."
)

CATALOGUE: dict[str, Figure] = {
    "network": Figure(
        file="network_{cohort}",
        section="Networks",
        title="Protein network of {cohort}",
        caption="Protein network of {cohort}. Proteins stand on the circle by pathway, those of several in their first "
        "one, whose colour they have; an edge joins two proteins "
        "whose levels stay correlated once the genes and all other proteins are accounted for (partial correlation, "
        "false discovery rate controlled). Blue, solid: positive; orange, dashed: negative. Wider is stronger.",
        cases=_of_cohorts("omics"),
        fits=_reference,
        inputs=_NETWORK,
        draw="nard.figures.network.draw_network",
        settings=lambda config, case: {"max_edges": config["figures"]["max_edges"]},
        more=_stability,
        caption_of_many="Communities of the protein network of {cohort}. A circle is a group of proteins with more "
        "edges among themselves than with others; its area is their number, its name that of its hub, and its colour "
        "the first pathway of most, if at least a quarter share one. A line joins communities with edges between them: "
        "the wider, the more; blue, solid: mostly positive; orange, dashed: mostly negative. Below, the proteins with "
        "the strongest edges of the largest communities. An edge joins two proteins whose levels stay correlated once "
        "the genes and all other proteins are accounted for (partial correlation, false discovery rate controlled).",
        alt=alt_text.network,
    ),
    "associations": Figure(
        file="associations_{cohort}",
        section="Associations",
        title="Gene → protein associations of {cohort}",
        caption="Gene → protein associations of {cohort} that are selected at the false discovery rate of the config. "
        "Colour is the weight in standard deviations of the protein per standard deviation of the gene; framed cells "
        "are genes and the proteins that they encode. Stripes have the colour of the first pathway. The figure says "
        "how many it has room for.",
        cases=_of_cohorts("omics"),
        fits=_reference,
        inputs=_ASSOCIATIONS,
        draw="nard.figures.associations.draw_associations",
        alt=alt_text.associations,
    ),
    "phenotype_network": Figure(
        file="phenotype_network_{cohort}",
        section="Networks",
        title="Phenotype network of {cohort}",
        caption="Phenotype network of {cohort}: partial correlations between macro phenotypes that are selected at "
        "the false discovery rate of the config, given the molecular phenotypes. Blocks are tissues or groups, as in "
        "the config.",
        cases=_of_cohorts("aging"),
        fits=_reference,
        inputs=_NETWORK,
        draw="nard.figures.blocks.draw_blocks",
        more=_stability,
        alt=alt_text.network,
    ),
    "phenotype_associations": Figure(
        file="phenotype_associations_{cohort}",
        section="Associations",
        title="Molecular → macro associations of {cohort}",
        caption="Associations of molecular with macro phenotypes of {cohort} that are selected at the false discovery "
        "rate of the config. Colour is the weight in standard deviations of the macro phenotype per standard deviation "
        "of the molecular one; stripes have the colour of the block.",
        cases=_of_cohorts("aging"),
        fits=_reference,
        inputs=_ASSOCIATIONS,
        draw="nard.figures.associations.draw_associations",
        alt=alt_text.associations,
    ),
    "lam_path": Figure(
        file="lam_path_{cohort}",
        section="Diagnostics",
        title="Choice of λ in {cohort}",
        caption="Choice of the network penalty λ in {cohort}: the score of every value that was tried, and the chosen "
        "one.",
        cases=_with_lam_path,
        fits=_reference,
        inputs={"fit": "{fit}/fit.json", "lam_path": "{fit}/lam_path.tsv"},
        draw="nard.figures.traces.draw_lam_path",
        alt=alt_text.lam_path,
    ),
    "trace": Figure(
        file="trace_{cohort}",
        section="Diagnostics",
        title="Convergence in {cohort}",
        caption="Convergence in {cohort}: the objective J of each method above the lowest one reached, step by step. "
        "It never rises.",
        cases=_traced,
        fits=_minimising,
        inputs={"fits": _FITS, "traces": ["{fit}/trace.tsv"]},
        draw="nard.figures.traces.draw_trace",
        alt=alt_text.trace,
    ),
    "trust": Figure(
        file="trust_{cohort}",
        section="Diagnostics",
        title="How far to trust {cohort}",
        caption="How far to trust {cohort}: the p-values of its associations and edges, which are even but for a peak "
        "at zero where the tests hold, and what else was checked.",
        cases=_tested,
        fits=_reference,
        inputs={"fit": "{fit}/fit.json"},
        draw="nard.figures.trust.draw_trust",
        alt=alt_text.trust,
    ),
    "upset": Figure(
        file="upset_{what}",
        section="Across cancers",
        title="UpSet plot of {what}",
        caption=_SHARED,
        cases=_of_findings,
        fits=_omics_references,
        inputs={"fits": _FITS, "findings": ["{fit}/{what}.tsv"], "groups": ["{data}/groups.tsv"]},
        draw="nard.figures.upset.draw_upset",
        settings=lambda config, case: {"what": case["what"]},
        alt=alt_text.shared,
        alt_table="agreement_{what}",
    ),
    "upset_pathway": Figure(
        file="upset_{pathway}",
        section="Across cancers",
        title="UpSet plot of {pathway}",
        caption=_SHARED,
        cases=_of_pathways,
        fits=_omics_references,
        inputs={"fits": _FITS, "findings": ["{fit}/associations.tsv"], "groups": ["{data}/groups.tsv"]},
        draw="nard.figures.upset.draw_upset",
        settings=lambda config, case: {"what": "associations", "only": pathway_slugs(config)[case["pathway"]]},
    ),
    "pathway_map": Figure(
        file="pathway_map",
        section="Across cancers",
        title="Explained variation by pathway",
        caption="Share of the variance of each pathway's proteins that genes predict in samples held out from the "
        "fit: by the genes that share a pathway with the protein (left) and by all other genes (right), mean over the "
        "pathway's proteins. A protein of several pathways counts in each of them.",
        cases=_if_omics,
        fits=_omics_references,
        inputs={"fits": _FITS, "table": "{results}/tables/pathway_map.tsv"},
        draw="nard.figures.maps.draw_pathway_map",
        alt=alt_text.pathway_map,
        alt_table="pathway_map",
    ),
    "crosstalk": Figure(
        file="crosstalk",
        section="Across cancers",
        title="Cross-talk between pathways",
        caption="Edges of the protein networks within pathways (diagonal) and between them, over all cancers: the "
        "number in the cell, and as colour the share of all possible pairs. A protein of several pathways counts in "
        "each of them.",
        cases=_if_omics,
        fits=_omics_references,
        inputs={"fits": _FITS, "table": "{results}/tables/crosstalk.tsv"},
        draw="nard.figures.maps.draw_crosstalk",
        alt=alt_text.crosstalk,
        alt_table="crosstalk",
    ),
    "jaccard": Figure(
        file="jaccard",
        section="Methods",
        title="Agreement of the methods",
        caption="Agreement of the methods: Jaccard index of their selected associations and edges, mean over the "
        "cohorts with its range.",
        cases=_if_several_methods,
        fits=_all_references,
        inputs={"fits": _FITS, "table": "{results}/comparison/jaccard.tsv"},
        draw="nard.figures.maps.draw_jaccard",
        alt=alt_text.jaccard,
        alt_table="jaccard",
    ),
}
