"""The default run: seven simulated cancers and an aging cohort, checked against the truth."""

import pandas as pd
import pytest
from browser import Explorer, browser
from networks import cohorts_of_run
from runs import ROOT, run, write_config
from tour import tour
from yaml import safe_load

from nard.project.config import load_config, methods_of

pytestmark = pytest.mark.slow

NARD = ["sequential", "full", "surrogate", "hybrid"]
CANCERS = ["COAD", "LUAD", "LUSC", "OV", "READ", "SKCM", "UCEC"]
# The paper's table: N, d, m.
SHAPES = {
    "COAD": (338, 73, 76),
    "LUAD": (356, 73, 76),
    "LUSC": (309, 73, 86),
    "OV": (227, 73, 77),
    "READ": (121, 73, 76),
    "SKCM": (333, 73, 76),
    "UCEC": (393, 73, 77),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("default")
    write_config(folder, safe_load((ROOT / "config/config.yaml").read_text()))
    run(folder, timeout=1500)
    return folder / "results"


def test_the_cohorts_have_the_shapes_of_the_paper(results):
    table = pd.read_csv(results / "tables/cohorts.tsv", sep="\t").set_index("cohort")
    for cohort, shape in SHAPES.items():
        assert tuple(table.loc[cohort, ["samples", "inputs", "outputs"]]) == shape
    assert (table["data"] == "simulated").all()


@pytest.mark.parametrize("what", ["features", "associations", "edges"])
def test_false_discoveries_are_few_and_the_truth_is_found(results, what):
    table = pd.read_csv(results / "tables/recovery.tsv", sep="\t")
    table = table[(table["what"] == what) & table["cohort"].isin(CANCERS)]
    means = table.groupby("method")[["fdr", "tpr"]].mean()
    assert set(means.index) == {*NARD, "mrce", "capme", "mssl", "jrns", "hsghs"}
    means = means.loc[NARD]
    assert (means["fdr"] <= 0.1).all()
    assert (means["tpr"] >= 0.5).all()


def test_every_method_is_compared_with_every_other(results):
    jaccard = pd.read_csv(results / "comparison/jaccard.tsv", sep="\t")
    pairs = jaccard.groupby("cohort").size()
    assert pairs["READ"] == 2 * 9 * 8 // 2  # associations and edges
    assert (pairs.drop("READ") == 2 * 7 * 6 // 2).all()
    methods = pd.read_csv(results / "tables/methods.tsv", sep="\t")
    assert methods["held_out_log_likelihood"].notna().all()


def test_the_report_shows_the_recovery(results):
    page = (results / "report.html").read_text()
    assert "Against the truth" in page
    assert ">tpr<" in page
    assert ">fdr<" in page
    for cohort in CANCERS:
        assert f"{cohort} has {SHAPES[cohort][0]} simulated samples with 73 genes" in page


def test_every_figure_is_a_picture_and_a_vector_file(results):
    figures = results / "figures"
    pictures = {path.stem for path in figures.glob("*.png")}
    assert pictures == {path.stem for path in figures.glob("*.pdf")}
    for cohort in CANCERS:
        assert {f"network_{cohort}", f"associations_{cohort}", f"lam_path_{cohort}", f"trace_{cohort}"} <= pictures
    assert {"upset_associations", "upset_edges", "pathway_map", "crosstalk", "jaccard"} <= pictures
    assert "phenotype_network_AGING" in pictures


def test_the_explorer_in_a_browser(results, tmp_path):
    config = load_config(ROOT / "config/config.yaml")
    cohorts = cohorts_of_run(results, {cohort: methods_of(config, cohort) for cohort in config["cohorts"]})
    assert (results / "explorer.html").stat().st_size < 2_000_000
    with browser(tmp_path) as chrome:
        tour(Explorer(chrome, results / "explorer.html", tmp_path / "downloads"), cohorts, config["reference"])
