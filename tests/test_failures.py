"""A method that cannot be fitted is a row with its reason; what is wrong with the run or its data still ends it."""

import json

import numpy as np
import pandas as pd
import pytest

from nard.baselines.hsghs import HSGHS
from nard.data.antibodies import read_antibodies
from nard.data.groups import pathway_groups
from nard.data.pathways import read_pathways
from nard.errors import DataError
from nard.figures.catalogue import CATALOGUE
from nard.files import read_json, read_tsv, write_tsv
from nard.fits.comparison import (
    agreement,
    cohorts_jaccard,
    findings_of,
    held_out_summary,
    held_out_tables,
    jaccard_table,
    recovery_table,
    stability_table,
)
from nard.fits.failures import failure_lines, failure_text, finite, method_errors
from nard.fits.fitting import fit_paths, fitted_model, write_model
from nard.fits.hidden import hidden_inputs
from nard.fits.results import Unfitted
from nard.fits.summaries import crosstalk, explained_by_pathway
from nard.report.captions import cohort_paragraph
from nard.report.explorer import CohortFits, FitTables, payload
from nard.simulate import make_regression

SETTINGS = {"lam": 0.1, "fdr": 0.05, "relevance": "entries", "hidden": 0, "time_budget": None}
ABOUT = {"cohort": "OV", "title": "Ovary", "kind": "omics", "simulated": True}
OWN = """
from nard.baselines.base import Baseline, Estimate
import numpy as np

class Own(Baseline):
    def _estimate(self, X, Y):
        {}
"""


def caught(error):
    with method_errors() as failed:
        raise error
    return failed


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (np.linalg.LinAlgError("not positive definite"), "singular matrix", "singular matrix: not positive definite"),
        (KeyError("x"), "error", "KeyError: 'x'"),
        (RuntimeError("HiGHS did not solve\n  the program"), "error", "RuntimeError: HiGHS did not solve the program"),
    ],
)
def test_a_method_may_say_that_it_cannot(error, code, text):
    failed = caught(error)
    assert failed["code"] == code
    assert failure_text(failed) == text
    assert json.loads(json.dumps(failed)) == failed


@pytest.mark.parametrize(
    "error", [DataError("column x"), OSError("disk full"), ImportError("no numba"), MemoryError("8 GB")]
)
def test_errors_of_data_and_machine_end_the_job(error):
    with pytest.raises(type(error)):
        caught(error)


def test_nothing_is_told_where_nothing_is_wrong():
    with method_errors() as failed:
        finite("the fit", np.ones(3), None, [1.0])
    assert failed == {}


def test_numbers_that_are_none_are_told():
    with method_errors() as failed:
        finite("the fitted model", np.ones(3), np.array([1.0, np.nan, np.inf]))
    assert failure_text(failed) == "not finite: the fitted model: 2 values are NaN or infinite."


def test_a_chain_that_fits_exactly_is_a_reason():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((8, 30)), rng.standard_normal((8, 2))
    with method_errors() as failed:
        HSGHS(n_burnin=3000, n_draws=10).fit(X, Y)
    assert failed["code"] == "improper posterior"
    assert "(8 samples, 30 inputs). to fix: more samples, fewer inputs" in failure_text(failed)


@pytest.fixture(scope="module")
def data():
    made = make_regression(40, 6, 5, random_state=0)
    X, Y = pd.DataFrame(made.X).add_prefix("g"), pd.DataFrame(made.Y).add_prefix("p")
    groups = pathway_groups(X, Y, read_pathways(None), read_antibodies(None)).assign(colour="#000000")
    return X, Y, groups


@pytest.fixture
def unfitted(data, tmp_path, monkeypatch):
    """The files of a method of the user's own that raises."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_one.py").write_text(OWN.format("raise np.linalg.LinAlgError('a singular one')"))
    X, Y, groups = data
    paths = fit_paths(tmp_path / "fit")
    with method_errors() as failed:
        fitted_model("broken_one.py:Own", SETTINGS, 0, X, Y, groups, tmp_path)
    write_model(Unfitted(failed), "own", SETTINGS, len(X), groups, ABOUT, paths)
    return paths


def test_a_fit_of_nan_is_none(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = "return Estimate(np.full((5, 6), np.nan), np.eye(5), np.ones((5, 6), bool), np.ones((5, 5), bool))"
    (tmp_path / "nan_one.py").write_text(OWN.format(line))
    with method_errors() as failed:
        fitted_model("nan_one.py:Own", SETTINGS, 0, *data, tmp_path)
    assert failure_text(failed) == "not finite: the fitted model: 30 values are NaN or infinite."


def test_its_files_have_the_columns_of_every_fit_and_no_rows(data, unfitted, tmp_path):
    X, Y, groups = data
    paths = fit_paths(tmp_path / "other")
    model = fitted_model("sequential", SETTINGS, 0, X, Y, groups, tmp_path)
    fitted = write_model(model, "sequential", SETTINGS, len(X), groups, ABOUT, paths)
    for name in ("edges", "associations", "features"):
        assert list(read_tsv(unfitted[name])) == list(read_tsv(paths[name])), name
        assert read_tsv(unfitted[name]).empty
    fit = read_json(unfitted["fit"])
    assert list(fit) == list(fitted)
    assert fit["failed"] == {"code": "singular matrix", "message": "a singular one"}
    assert fit["found"] == dict.fromkeys(("features", "features_with_associations", "associations", "edges"))
    assert (fit["n_features"], fit["n_targets"]) == (fitted["n_features"], fitted["n_targets"]) == (6, 5)
    assert fitted["failed"] is None
    assert list(read_tsv(unfitted["nodes"])["degree"]) == [0] * 5
    with np.load(unfitted["model"]) as arrays:
        assert hidden_inputs(arrays) == []
        assert arrays["coef"].shape == (0, 0)


def test_tables_figures_and_pages_give_the_reason(data, unfitted, tmp_path):
    groups, fit = data[2], read_json(unfitted["fit"])
    read = {name: read_tsv(path) for name, path in unfitted.items() if path.endswith(".tsv")}
    assert findings_of(fit, read["edges"], "edges") is None
    for name in ("network", "associations", "phenotype_network", "lam_path"):
        figure = CATALOGUE[name].drawn({"fit": unfitted["fit"]}, {})
        said = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
        assert "own could not be fitted to Ovary: singular matrix: a singular one" in said, name
        assert "SIMULATED DATA" in said
    fits = [unfitted["fit"]]
    trace = CATALOGUE["trace"].drawn({"fits": fits, "traces": [unfitted["trace"]]}, {})
    assert "could not be fitted: own" in "".join(text.get_text() for text in trace.texts)
    write_tsv(groups, tmp_path / "groups.tsv")
    files = {"fits": fits, "findings": [unfitted["edges"]], "groups": [str(tmp_path / "groups.tsv")]}
    upset = CATALOGUE["upset"].drawn(files, {"what": "edges"})
    assert "could not be fitted to Ovary" in "".join(text.get_text() for text in upset.texts)
    summary = {**ABOUT, "n_samples": 40, "n_inputs": 6, "n_outputs": 5}
    nothing, _ = held_out_tables(None, list(data[1]), fit["failed"])
    paragraph = cohort_paragraph(summary, fit, {}, read["associations"], read["edges"], read["nodes"])
    assert paragraph.endswith("5 proteins. own could not be fitted to Ovary: singular matrix: a singular one")
    tables = FitTables(fit, read["edges"], read["associations"], read["features"])
    [cohort] = payload([CohortFits(summary, groups, {"own": tables})], "own")["cohorts"]
    shown = cohort["fits"]["own"]
    assert shown["cautions"] == ["own could not be fitted to Ovary: singular matrix: a singular one"]
    assert shown["edges"]["found"] == shown["associations"]["candidates"] == 0
    assert explained_by_pathway(nothing, groups, [])[["own", "other", "r2"]].isna().all(axis=None)
    assert crosstalk(read["edges"], read["nodes"], [])[["edges", "possible"]].isna().all(axis=None)


def test_comparisons_have_rows_without_numbers():
    some = frozenset({("a", "b")})
    kinds, fits = ("associations", "edges"), {"full": some, "own": None}
    findings = {("OV", method, what): found for what in kinds for method, found in fits.items()}
    table = jaccard_table(findings)
    assert len(table) == 2
    assert table["jaccard"].isna().all()
    assert table["n_a"].tolist() == [1, 1]
    assert table["n_b"].isna().all()
    truths = {"OV": dict.fromkeys(kinds, (some, 10))}
    recovered = recovery_table(findings, truths).set_index(["method", "what"])
    assert recovered.loc[("full", "edges"), "tpr"] == 1
    assert recovered.loc["own", ["found", "tpr", "fdr", "fpr"]].isna().all(axis=None)
    assert recovered["true"].tolist() == [1] * 4
    weights = {"OV": {("a", "b"): 0.5}, "COAD": None}
    possible = dict.fromkeys(weights, (frozenset("ab"), frozenset("ab")))
    assert agreement(weights, ("source", "target"), possible)["cohorts"].tolist() == ["OV"]
    assert cohorts_jaccard({"edges": weights}, {"edges": possible})["jaccard"].isna().all()
    table = stability_table(None, some, frozenset())
    assert table["frequency"].isna().all()
    assert table["selected"].tolist() == [True]


def test_held_out_results_of_nothing():
    failed = {"code": "error", "message": "IndexError: 3"}
    table, summary = held_out_tables(None, ["a", "b"], failed)
    assert table["target"].tolist() == ["a", "b"]
    assert table[["r2", "own", "other"]].isna().all(axis=None)
    assert summary == {"log_likelihood": None, "r2": None, "failed": failed}
    assert held_out_summary((-3.0, np.array([0.25, 0.5]), None), {}) == {
        "log_likelihood": -3.0,
        "r2": 0.375,
        "failed": None,
    }


def test_the_run_tells_at_its_end_what_there_is_not():
    failed = {"code": "improper posterior", "message": "fits exactly\n  more"}
    fits = [
        {"method": "hsghs", "title": "COAD", "failed": failed},
        {"method": "hsghs", "title": "OV", "failed": None},
        {"method": "full", "title": "OV", "failed": None},
    ]
    held_out = [{"failed": failed}, {"failed": failed}, {"failed": None}]
    assert failure_lines(fits, held_out) == [
        "HS-GHS could not be fitted to COAD: improper posterior: fits exactly",
        "HS-GHS could not predict held-out samples of OV: improper posterior: fits exactly",
    ]
