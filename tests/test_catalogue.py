"""The catalogue of figures: what a run has follows from the config, and every entry fits its drawing function."""

import inspect
from importlib import import_module

import pandas as pd
import pytest

from nard.figures.catalogue import CATALOGUE, Figure, figures_of, figures_of_cohorts
from nard.figures.upset import shared_findings
from nard.files import write_json, write_tsv
from nard.fits.fitting import FIT_FILES
from nard.project.config import validated

BOTH = {"OV": {"source": "xena"}, "MY_AGE": {"source": "simulated", "kind": "aging"}}
CONFIG = validated(
    {
        "methods": ["sequential", "capme"],
        "use_pathways": ["Cell-cycle", "PI3K-AKT"],
        "figures": {"upset_per_pathway": True},
        "cohorts": BOTH,
    }
)


def names(**changes):
    return [name for name, _, _ in figures_of({**CONFIG, **changes})]


def test_what_a_run_has():
    common = ["upset_associations", "upset_edges", "upset_Cell_cycle", "upset_PI3K_AKT", "pathway_map", "crosstalk"]
    of_age = [
        *("phenotype_network_MY_AGE", "phenotype_associations_MY_AGE"),
        *("lam_path_MY_AGE", "trace_MY_AGE", "trust_MY_AGE"),
    ]
    of_ov = ["network_OV", "associations_OV", "lam_path_OV", "trace_OV", "trust_OV"]
    assert sorted(names()) == sorted([*of_ov, *of_age, *common, "jaccard"])
    aging = {"MY_AGE": CONFIG["cohorts"]["MY_AGE"]}
    assert sorted(names(cohorts=aging)) == sorted([*of_age, "jaccard"])
    assert "jaccard" not in names(methods=["sequential"])
    assert not [name for name in names(fit={**CONFIG["fit"], "lam": 0.1}) if name.startswith("lam_path")]
    # A baseline tests nothing, and neither chooses λ for the network nor leaves a trace of J.
    baseline = names(methods=["capme"], reference="capme")
    assert sorted(baseline) == sorted(["network_OV", "associations_OV", *of_age[:2], *common])


def test_files_are_those_of_the_fits_that_are_shown():
    config = {**CONFIG, "methods": ["sequential", "capme", "hybrid"]}
    case = {"cohort": "OV"}
    assert CATALOGUE["network"].files(config, case)["edges"] == "results/OV/sequential/edges.tsv"
    assert CATALOGUE["associations"].files(config, case, "sub/results")["groups"] == "sub/results/OV/data/groups.tsv"
    # Methods whose J can be compared, and no others.
    traces = ["results/OV/sequential/trace.tsv", "results/OV/hybrid/trace.tsv"]
    assert CATALOGUE["trace"].files(config, case)["traces"] == traces
    # Subsamples are shown where they were asked for.
    assert "stability" not in CATALOGUE["network"].files(config, case)
    stable = {**config, "stability": {"subsamples": 5}}
    assert CATALOGUE["network"].files(stable, case)["stability"] == "results/OV/sequential/stability.tsv"
    # Cancers are compared with cancers, methods over all cohorts.
    assert CATALOGUE["upset"].files(config, {"what": "edges"})["findings"] == ["results/OV/sequential/edges.tsv"]
    assert len(CATALOGUE["jaccard"].files(config, {})["fits"]) == 2


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_entry_fits_its_drawing_function(name):
    figure = CATALOGUE[name]
    module, _, function = figure.draw.rpartition(".")
    [case, *_] = figure.cases(CONFIG)
    given = {**figure.inputs, **figure.settings(CONFIG, case)}
    inspect.signature(getattr(import_module(module), function)).bind(**given)
    assert "{" not in figure.named(case) + figure.caption.format(**case)
    patterns = [
        one for pattern in figure.inputs.values() for one in ([pattern] if isinstance(pattern, str) else pattern)
    ]
    of_fits = [pattern.format(fit="", **case) for pattern in patterns if pattern.startswith("{fit}/")]
    assert set(of_fits) <= {f"/{name}" for name in FIT_FILES.values()}


def test_underscores_of_file_names_are_spaces_in_titles():
    titles = [figure.named(case) for _, figure, case in figures_of(CONFIG)]
    assert {"Phenotype network of MY AGE", "UpSet plot of PI3K AKT", "UpSet plot of edges"} <= set(titles)
    assert {figure.label for figure in CATALOGUE.values()} >= {"Protein network", "Choice of λ", "UpSet plot of {what}"}


def test_figures_of_cohorts_are_those_that_one_fit_has():
    assert [name for name, _, case in figures_of_cohorts(CONFIG) if case["cohort"] == "OV"] == [
        *("network", "associations", "lam_path", "trace", "trust"),
    ]


def joined(fits, values, *, ending):
    return ", ".join(f"{fit['title']} {table['value'].sum()}" for fit, table in zip(fits, values, strict=True)) + ending


def test_a_figure_is_drawn_from_its_files(tmp_path):
    """The files of every fit are read and handed to the function together with the settings."""
    for cohort, values in {"A": [1, 2], "B": [3]}.items():
        write_json({"title": f"cohort {cohort}"}, tmp_path / cohort / "full" / "fit.json")
        write_tsv(pd.DataFrame({"value": values}), tmp_path / cohort / "data" / "values.tsv")
    figure = Figure(
        file="sums",
        section="Overview",
        title="Sums",
        caption="Sums.",
        cases=lambda config: [{}],
        fits=lambda config, case: [("A", "full"), ("B", "full")],
        inputs={"fits": ["{fit}/fit.json"], "values": ["{data}/values.tsv"]},
        draw=f"{__name__}.joined",
        settings=lambda config, case: {"ending": config["ending"]},
    )
    config = {"ending": "!"}
    drawn = figure.drawn(figure.files(config, {}, str(tmp_path)), figure.settings(config, {}))
    assert drawn == "cohort A 3, cohort B 3!"


GROUPS = pd.DataFrame(
    [
        ("inputs", "G", "left", "left", "#000001"),
        ("outputs", "a", "left", "left;core", "#000001"),
        ("outputs", "b", "left", "left", "#000001"),
        ("outputs", "c", "right", "right;core", "#000002"),
    ],
    columns=["side", "name", "pathway", "pathways", "colour"],
)


def findings(first, pairs):
    table = pd.DataFrame([*pairs, ("b", "c")], columns=[first, "target"])
    return table.assign(selected=[True] * len(pairs) + [False])


def test_edges_are_shared_within_and_between_pathways():
    tables = {"X": findings("source", [("b", "a"), ("a", "c")]), "Y": findings("source", [("a", "b")])}
    contents, group, colours, untested = shared_findings(tables, [GROUPS, GROUPS], "edges")
    assert untested == 0
    assert contents == {"X": {("a", "b"), ("a", "c")}, "Y": {("a", "b")}}
    assert group == {("a", "b"): "left", ("a", "c"): "between pathways"}
    assert list(colours) == ["left", "right", "other", "between pathways"]
    assert colours["right"] == "#000002"
    contents, _, _, _ = shared_findings(tables, [GROUPS, GROUPS], "edges", "left")
    assert contents == {"X": {("a", "b")}, "Y": {("a", "b")}}


def test_an_association_is_of_the_pathway_of_its_protein():
    tables = {"X": findings("feature", [("G", "a"), ("G", "c")]), "Y": findings("feature", [])}
    contents, group, _, _ = shared_findings(tables, [GROUPS], "associations", "right")
    assert contents == {"X": {("G", "c")}, "Y": set()}
    assert group == {("G", "a"): "left", ("G", "c"): "right"}


def test_a_protein_counts_in_the_figure_of_each_of_its_pathways():
    tables = {"X": findings("feature", [("G", "a"), ("G", "b"), ("G", "c")])}
    contents, group, colours, _ = shared_findings(tables, [GROUPS], "associations", "core")
    assert contents == {"X": {("G", "a"), ("G", "c")}}
    assert {group[pair] for pair in contents["X"]} == {"core"}
    assert "core" in colours


def test_only_pairs_that_every_cancer_has_measured_are_compared():
    """b is measured in X only, so that an edge with it is none that Y lacks."""
    tables = {"X": findings("source", [("b", "a"), ("a", "c")]), "Y": findings("source", [("a", "c")])}
    without = GROUPS[GROUPS["name"] != "b"]
    contents, _, _, untested = shared_findings(tables, [GROUPS, without], "edges")
    assert contents == {"X": {("a", "c")}, "Y": {("a", "c")}}
    assert untested == 1
    # Nor is an association of a gene that Y lacks.
    tables = {"X": findings("feature", [("G", "a"), ("G", "c")]), "Y": findings("feature", [])}
    without = GROUPS[GROUPS["name"] != "G"]
    contents, _, _, untested = shared_findings(tables, [GROUPS, without], "associations", "left")
    assert contents == {"X": set(), "Y": set()}
    assert untested == 1
