"""The Methods section of a paper, written from a run: what was prepared, fitted, tested and found, and with what.

What a run cannot know stands in square brackets.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata

import nard
from nard.figures.words import counted, found
from nard.fits.failures import short_failure
from nard.fits.methods import FLOORS, SKLEARN, Method, find_method
from nard.fits.publications import Publication
from nard.fits.trust import unmixed
from nard.project.config import cohort_settings, methods_of
from nard.report.captions import NAMES, listed

__all__ = ["MethodsSection", "methods_section", "software_versions"]

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "numba", "networkx", "matplotlib", "upsetplot", "snakemake")

_BH = Publication(
    "Benjamini Y, Hochberg Y",
    1995,
    "Controlling the false discovery rate: a practical and powerful approach to multiple testing. "
    "Journal of the Royal Statistical Society B 57, 289–300.",
)
_LIU = Publication(
    "Liu W",
    2013,
    "Gaussian graphical model estimation with false discovery rate control. Annals of Statistics 41, 2948–2978.",
)
_OWEN = Publication(
    "Owen AB, Wang J", 2016, "Bi-cross-validation for factor analysis. Statistical Science 31, 119–139."
)
_SINGLE = Publication(
    "Wang G, Sarkar A, Carbonetto P, Stephens M",
    2020,
    "A simple new approach to variable selection in regression, with application to genetic fine "
    "mapping. Journal of the Royal Statistical Society B 82, 1273–1300.",
)
_SNAKEMAKE = Publication("Mölder F et al.", 2021, "Sustainable data analysis with Snakemake. F1000Research 10, 33.")

_PARTS = {"inputs": "U alone", "entries": "B alone", "both": "U and B"}
_LAM = {"cv": "chosen by five-fold cross-validated likelihood", "ebic": "chosen by the extended BIC"}
_OUTLIERS = {
    "winsorise": "values beyond five robust standard deviations from the median were pulled in to that distance",
    "rank_normal": "values were replaced by their normal scores",
    "none": "outliers were left as they are",
}
_IMPUTED = {
    "none": "then samples with any missing value",
    "median": "and the remaining missing values were replaced by the median",
    "knn": "and the remaining missing values were imputed from the nearest neighbours",
}


@dataclass(frozen=True)
class MethodsSection:
    """Paragraphs in plain text, from the data, their preparation and the model to the software; and what they cite."""

    paragraphs: list[str]
    references: list[str]

    def markdown(self) -> str:
        """The section as a file, where what a title has of HTML is shown as it is written."""
        shown = [re.sub(r"<(?=[A-Za-z/!?])", "&lt;", paragraph) for paragraph in self.paragraphs]
        cited = "\n".join(f"- {reference}" for reference in self.references)
        return "\n\n".join(["# Methods", *shown, "## References", cited]) + "\n"


def methods_section(summaries: Sequence[Mapping], fits: Sequence[Mapping], config: Mapping) -> MethodsSection:
    """The section about a run.

    Parameters
    ----------
    summaries, fits : sequence of dict
        ``summary.json`` of every cohort, and ``fit.json`` of every fit.
    config : dict
        The checked config.

    Returns
    -------
    MethodsSection
        The section.
    """
    shown = [fit for fit in fits if fit["method"] == config["reference"] and not fit.get("failed")]
    paragraphs = [_data(summaries, config), _preparation(summaries, config)]
    if shown:
        tests = [_tests(shown, config)] if find_method(config["reference"]).minimises_j else []
        paragraphs += [_model(shown, config), *tests, _found(shown)]
    paragraphs += [_comparisons(summaries, config), *_left_out(fits), _software(config)]
    return MethodsSection(paragraphs, _references(shown, config))


def _left_out(fits: Sequence[Mapping]) -> list[str]:
    """A paragraph about fits that there are not, and about chains that have not converged."""
    said = []
    for fit in fits:
        title = find_method(fit["method"]).title
        if failed := fit.get("failed"):
            said.append(f"{title} could not be fitted to {fit['title']} ({short_failure(failed)}).")
        elif unmixed(fit["diagnostics"]):
            rhat, ess = fit["diagnostics"]["rhat"], fit["diagnostics"].get("ess")
            numbers = "" if rhat is None or ess is None else f" (R̂ {rhat:.3g}, effective sample size {ess:.3g})"
            said.append(f"The chains of {title} had not converged in {fit['title']}{numbers}.")
    return [" ".join(said)] if said else []


def _references(fits: Sequence[Mapping], config: Mapping) -> list[str]:
    names = {name for cohort in config["cohorts"] for name in methods_of(config, cohort)}
    cited = {_SNAKEMAKE, SKLEARN, *filter(None, (find_method(name).publication for name in names))}
    if find_method(config["reference"]).minimises_j:
        cited |= {_BH, _LIU}
        cited |= {_SINGLE} if _any_entries(fits) else set()
        cited |= {_OWEN} if config["fit"]["hidden"] == "auto" else set()
    return sorted(publication.reference for publication in cited)


def _citation(method: Method) -> str:
    return method.publication.cited if method.publication else f"[cite {method.title}]"


def software_versions() -> dict[str, str]:
    """Of the package and of what it stands on."""
    versions = {"nard": nard.__version__, "Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _data(summaries: Sequence[Mapping], config: Mapping) -> str:
    cohorts = []
    for summary in summaries:
        inputs, outputs = NAMES[summary["kind"]]
        cohorts.append(
            f"{summary['title']} ({'simulated; ' if summary['simulated'] else ''}{summary['n_samples']} samples, "
            f"{summary['n_inputs']} {inputs}, {summary['n_outputs']} {outputs})"
        )
    sources = {cohort["source"] for cohort in config["cohorts"].values()}
    said = f"We analysed {counted(len(cohorts), 'cohort')}: {listed(cohorts)}."
    if "xena" in sources:
        said += " TCGA data were downloaded from UCSC Xena."
    if "files" in sources:
        said += " [Say where your files come from, and how they were measured and normalised.]"
    return said


def _preparation(summaries: Sequence[Mapping], config: Mapping) -> str:
    """One sentence or two for every group of cohorts that were prepared alike."""
    groups: dict[str, list[str]] = {}
    for summary in summaries:
        groups.setdefault(_prepared(summary, config), []).append(summary["title"])
    if len(groups) == 1:
        return next(iter(groups))
    return " ".join(f"{listed(titles)}: {text}" for text, titles in groups.items())


def _prepared(summary: Mapping, config: Mapping) -> str:
    cohort = cohort_settings(config, summary["cohort"])
    options = cohort["preprocessing"]
    inputs, outputs = NAMES[summary["kind"]]
    said = []
    if summary["kind"] == "omics":
        said.append(f"Samples with both {inputs} and {outputs} measured were used")
        said.append(f"{_kept(options['genes'], inputs)} and {_kept(options['proteins'], outputs)} were kept")
        types = {", ".join(row["kept"]) for row in summary["dropped"] if row["code"] == "sample type"}
        said += [f"only samples of TCGA's type {kept} were taken" for kept in sorted(types)]
    else:
        if cohort["filter"]:
            said.append(f"People were kept by the filter `{cohort['filter']}`")
        if cohort["age_fdr"] < 1:
            said.append(
                f"{'p' if said else 'P'}henotypes that do not correlate with age at a false discovery rate of "
                f"{cohort['age_fdr']:.3g} were left out"
            )
    if any(note["code"] == "logarithms" for note in summary["notes"]):
        said.append(f"log2(x + 1) of the {inputs} was taken")
    said.append(
        f"features with more than {options['max_missing']:.0%} missing values were left out, "
        f"{_IMPUTED[options['impute']]}"
    )
    said.append(_OUTLIERS[options["outliers"]])
    if options["adjust"]:
        said.append(f"all features were adjusted for {listed(options['adjust'])} by linear regression")
    if options["standardise"]:
        said.append("every feature was scaled to mean 0 and standard deviation 1")
    text = "; ".join(said) + "."
    return text[0].upper() + text[1:]


def _kept(choice: str | int, names: str) -> str:
    if isinstance(choice, int):
        return f"the {choice} most variable {names}"
    return {"pathway": f"the {names} of the pathway table", "all": f"all {names}"}.get(choice, f"a list of {names}")


def _model(fits: Sequence[Mapping], config: Mapping) -> str:
    reference = config["reference"]
    method = find_method(reference)
    citation = _citation(method)
    if not method.minimises_j:
        return (
            f"Networks were estimated by {method.title} ({citation}), which selects by its own rule and tests nothing."
        )
    lam = config["fit"]["lam"]
    used = [fit["tuned"]["lam"] for fit in fits]
    values = f"λ = {min(used):.2g}" if min(used) == max(used) else f"λ between {min(used):.2g} and {max(used):.2g}"
    single = f" ({_SINGLE.cited})" if _any_entries(fits) else ""
    return (
        f"We fitted network automatic relevance determination (NARD; {citation}) by its {reference} algorithm, in the "
        "model Y = (U + B)X + LF + E with residual precision Ω: U is NARD's column-wise part, for inputs that drive "
        f"many outputs; B makes every output a sum of few single effects{single}; F are hidden inputs, which nobody "
        f"measured and which act on many outputs. {_parts(fits, config)} {_hidden(fits, config)} The penalty λ of the "
        f"residual network was {_LAM.get(lam, 'set beforehand')} ({values})."
    )


def _parts(fits: Sequence[Mapping], config: Mapping) -> str:
    """Which of U and B predict, and who chose."""
    by_parts: dict[str, list[str]] = {}
    for fit in fits:
        by_parts.setdefault(_PARTS[fit["tuned"]["relevance"]], []).append(fit["title"])
    where = listed(
        parts if len(by_parts) == 1 else f"{parts} in {listed(titles)}" for parts, titles in by_parts.items()
    )
    if config["fit"]["relevance"] == "auto":
        return f"Of these parts, those were used for prediction that predict held-out samples best: {where}."
    return f"The parts were set beforehand: {where}."


def _hidden(fits: Sequence[Mapping], config: Mapping) -> str:
    counts = [f"{fit['hidden']['number']} in {fit['title']}" for fit in fits]
    if config["fit"]["hidden"] == "auto":
        return f"The number of hidden inputs was found by bi-cross-validation ({_OWEN.cited}): {listed(counts)}."
    if not config["fit"]["hidden"]:
        return "Hidden inputs were not allowed for."
    return f"The number of hidden inputs was set beforehand: {listed(counts)}."


def _tests(fits: Sequence[Mapping], config: Mapping) -> str:
    """How each kind of finding was tested."""
    entries = [fit["title"] for fit in fits if fit["tested"]["relevance"] == "entries"]
    inputs = [fit["title"] for fit in fits if fit["tested"]["relevance"] != "entries"]
    hidden = any(fit["hidden"]["number"] for fit in fits)
    said = [f"Three kinds of findings were tested{', with hidden inputs as covariates' if hidden else ''}."]
    if entries:
        where = f"In {listed(entries)} an" if inputs else "An"
        said.append(
            f"{where} input → output association was tested by Student's t in what network and other effects leave of "
            "the output. Its p-value was weighted by how often its input drives the other outputs; inputs that belong "
            "to the output were a family of their own; and where an input is less probable than not to be the right "
            "one, its q-value is no smaller than the expected share of wrongly named inputs among the surer "
            "associations. An input was tested by all outputs together and by its surest association."
        )
    if inputs:
        where = f"In {listed(inputs)} inputs" if entries else "Inputs"
        said.append(f"{where} and input → output associations were tested by leave-one-out scores given U.")
    said.append(
        "Edges between outputs are partial correlations given all inputs and all other outputs; they were tested by "
        f"nodewise regressions, corrected for the bias of their penalty ({_LIU.cited}) and for residuals that are "
        f"not normal. Each kind was selected at a false discovery rate of {config['fit']['fdr']:.3g} within each "
        f"cohort ({_BH.cited})."
    )
    return " ".join(said)


def _any_entries(fits: Sequence[Mapping]) -> bool:
    return any("entries" in (fit["tested"]["relevance"], fit["tuned"]["relevance"]) for fit in fits)


def _found(fits: Sequence[Mapping]) -> str:
    said = "; ".join(f"{listed(found(fit['found']))} in {fit['title']}" for fit in fits)
    return f"Selected were {said}."


def _comparisons(summaries: Sequence[Mapping], config: Mapping) -> str:
    said = ["Prediction was assessed by five-fold cross-validation on samples left out of the fit."]
    others = []
    for method in dict.fromkeys(m for cohort in config["cohorts"] for m in methods_of(config, cohort)):
        if method != config["reference"]:
            titles = [s["title"] for s in summaries if method in methods_of(config, s["cohort"])]
            where = "" if len(titles) == len(summaries) else f"; in {listed(titles)} only"
            others.append(f"{find_method(method).title} ({_citation(find_method(method))}{where})")
    if others:
        said.append(f"For comparison we fitted {listed(others)}.")
    floors = listed(floor.title for floor in FLOORS.values())
    said.append(
        f"The same samples were predicted by {floors} (scikit-learn; {SKLEARN.cited}), each with a graphical lasso of "
        "its out-of-fold residuals as network."
    )
    stability = config["stability"]
    if stability["subsamples"]:
        said.append(
            f"Stability is the share of {stability['subsamples']} random subsamples, each of "
            f"{stability['fraction']:.0%} of the samples, in which a finding was selected."
        )
    return " ".join(said)


def _software(config: Mapping) -> str:
    versions = software_versions()
    packages = ", ".join(f"{name} {version}" for name, version in versions.items() if name not in ("nard", "snakemake"))
    return (
        f"All steps were run by the Snakemake ({versions['snakemake']}; {_SNAKEMAKE.cited}) workflow of nard "
        f"{versions['nard']} with seed {config['seed']}; {packages}."
    )
