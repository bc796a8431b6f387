"""A method of the user's own, from the page about extending: a file and one line of the config, through every stage."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from runs import ROOT, SMALL, run, write_config

sys.path.insert(0, str(ROOT / "tests/docs"))

from pages import blocks

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
FILE = "least_squares.py"


def config():
    """As on the page, on one small cohort; the figures show the user's own method."""
    [methods] = [block.text for block in blocks(PAGE, "yaml") if FILE in block.text]
    cohorts = {"AAA": SMALL["cohorts"]["AAA"]}
    return SMALL | yaml.safe_load(methods) | {"cohorts": cohorts, "reference": "leastsquares"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    write_config(folder, config())
    (folder / FILE).write_text(blocks(PAGE, "python")[0].text)
    run(folder)
    return folder / "results"


def table(results, name):
    return pd.read_csv(results / name, sep="\t")


def test_the_fit_is_what_the_class_finds(finished):
    X, Y = (pd.read_csv(finished / f"AAA/data/{name}.tsv.gz", sep="\t", index_col=0) for name in "XY")
    W = np.linalg.lstsq(X - X.mean(), Y - Y.mean(), rcond=None)[0].T
    with np.load(finished / "AAA/leastsquares/model.npz") as model:
        np.testing.assert_allclose(model["coef"], W, atol=1e-10)
    associations = table(finished, "AAA/leastsquares/associations.tsv")
    assert associations["selected"].sum() == (abs(W) > 0.1).sum() > 0
    assert json.loads((finished / "AAA/leastsquares/fit.json").read_text())["method"] == "leastsquares"


def test_it_predicts_held_out_samples_and_is_compared(finished):
    methods = table(finished, "tables/methods.tsv").set_index("method")
    assert list(methods.index) == ["sequential", "capme", "leastsquares", "ridge", "no_regression"]
    floors = json.loads((finished / "AAA/floors.json").read_text())
    assert methods.loc["ridge", "held_out_r2"] == pytest.approx(floors["ridge"]["r2"])
    assert floors["ridge"]["r2"] > floors["no_regression"]["r2"]
    held_out = json.loads((finished / "AAA/leastsquares/held_out.json").read_text())
    assert methods.loc["leastsquares", "held_out_log_likelihood"] == pytest.approx(held_out["log_likelihood"])
    assert methods.loc["leastsquares", "jaccard_edges"] == 1
    jaccard = table(finished, "comparison/jaccard.tsv")
    pairs = {frozenset(pair) for pair in zip(jaccard["method_a"], jaccard["method_b"], strict=True)}
    assert {frozenset({"leastsquares", other}) for other in ("sequential", "capme")} <= pairs
    recovery = table(finished, "tables/recovery.tsv")
    assert "leastsquares" in set(recovery["method"])


def test_report_explorer_and_methods_section_have_it(finished):
    assert (finished / "figures/network_AAA.png").stat().st_size > 10_000
    assert "figures show leastsquares" in (finished / "report.html").read_text()
    explorer = (finished / "AAA/explorer.html").read_text()
    assert re.search(r'"leastsquares":\s*\{"title":\s*"leastsquares"', explorer)
    section = (finished / "methods.md").read_text()
    assert "Networks were estimated by leastsquares ([cite leastsquares])" in section
    assert "CAPME (Cai et al. 2013)" in section


def test_its_fits_follow_its_file(finished):
    folder = finished.parent
    assert "Nothing to be done" in (done := run(folder)).stdout + done.stderr
    path = folder / FILE
    before = path.read_text()
    path.write_text(before.replace("0.1", "0.2"))
    try:
        done = run(folder, "--dry-run")
    finally:
        path.write_text(before)
    fits = re.findall(r"Fitting (\w+) to AAA", done.stdout + done.stderr)
    assert set(fits) == {"leastsquares"}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("absent.py:LeastSquares", r"there is no file absent\.py in "),
        (f"{FILE}:LeastSquare", r"least_squares\.py has no class 'LeastSquare'; there are LeastSquares"),
        ("leastsqares", "it can be sequential, full"),
    ],
)
def test_mistakes_are_told_before_anything_runs(tmp_path, entry, expected):
    write_config(tmp_path, config() | {"methods": ["sequential", entry], "reference": "sequential"})
    Path(tmp_path, FILE).write_text(blocks(PAGE, "python")[0].text)
    done = run(tmp_path, check=False)
    assert done.returncode != 0
    assert re.search(expected, done.stdout + done.stderr)
    assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "results").exists()


# A method that cannot be fitted

PICKY = """

class Picky(LeastSquares):
    def _estimate(self, X, Y):
        if len(X) < 50:
            raise np.linalg.LinAlgError(f"fewer than 50 samples: {len(X)}")
        return super()._estimate(X, Y)
"""
REASON = "singular matrix: fewer than 50 samples: 45"


@pytest.fixture(scope="module")
def unfitted(tmp_path_factory):
    """Its class raises on one cohort, and in the folds and subsamples of another; all figures are to show it."""
    folder = tmp_path_factory.mktemp("unfitted")
    cohorts = {"AAA": SMALL["cohorts"]["AAA"], "BBB": {"source": "simulated", "samples": 45}}
    methods = {"methods": ["sequential", "picky.py:Picky"], "reference": "picky", "stability": {"subsamples": 2}}
    write_config(folder, SMALL | methods | {"cohorts": cohorts})
    (folder / "picky.py").write_text(blocks(PAGE, "python")[0].text + PICKY)
    return folder, run(folder)


def test_the_run_ends_well_and_says_what_there_is_not(unfitted):
    _, done = unfitted
    said = done.stdout + done.stderr
    assert f"picky could not be fitted to BBB: {REASON}" in said
    assert "picky could not predict held-out samples of AAA: singular matrix: fewer than 50 samples: 48" in said


def test_it_is_a_row_with_its_reason(unfitted):
    results = unfitted[0] / "results"
    methods = table(results, "tables/methods.tsv").set_index(["cohort", "method"])
    assert methods.loc[("BBB", "picky"), "remark"] == f"not fitted: {REASON}"
    assert methods.loc[("BBB", "picky"), ["associations", "edges", "jaccard_edges", "held_out_r2"]].isna().all()
    assert methods.loc[("AAA", "picky"), "remark"].startswith("no predictions: singular matrix: ")
    assert methods.loc[("AAA", "picky"), "edges"] > 0
    assert methods.loc["BBB"].index.tolist() == ["sequential", "picky", "ridge", "no_regression"]
    assert methods.loc[("BBB", "sequential"), "held_out_r2"] > 0
    recovery = table(results, "tables/recovery.tsv").set_index(["cohort", "method"]).sort_index()
    assert recovery.loc[("BBB", "picky"), "tpr"].isna().all()
    assert recovery.loc[("BBB", "sequential"), "tpr"].notna().all()
    for name in ("AAA/picky/stability.tsv", "BBB/picky/stability.tsv"):
        assert table(results, name)["frequency"].isna().all()


def test_report_explorer_and_figures_say_so(unfitted):
    results = unfitted[0] / "results"
    report = (results / "report.html").read_text()
    assert f"16 genes and 17 proteins. picky could not be fitted to BBB: {REASON}" in report
    assert f"<li>picky: could not be fitted: {REASON}</li>" in report
    assert f"<li>picky in BBB: not fitted: {REASON}</li>" in report
    assert f'alt="picky could not be fitted to BBB: {REASON}"' in report
    assert f"picky could not be fitted to BBB: {REASON}" in (results / "BBB/explorer.html").read_text()
    assert f"picky could not be fitted to BBB ({REASON})." in (results / "methods.md").read_text()
    assert (results / "figures/network_BBB.png").stat().st_size > 3_000
