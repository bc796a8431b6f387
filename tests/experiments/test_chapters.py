"""The chapters on simulated data: how findings are counted, what is timed, and every chapter in small."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from runs import run as run_workflow
from runs import write_config
from stand_ins import records, settings

from nard.baselines import MRCE
from nard.experiments import chapter_module, study, synthetic, table1, table2, table3
from nard.experiments.large_mrce import LargeMRCE, noise
from nard.experiments.pages import chapter_page
from nard.experiments.running import key_of
from nard.files import read_json, read_tsv, write_tsv
from nard.project.chapters import CHAPTERS, chapter_figures
from nard.simulate import make_regression

SETTINGS = {"scale": 0.02, "seeds": 1, "seconds": 60, "gigabytes": 4, "files": {}}
SYNTHETIC = ("table1", "table2", "table3", "time", "study")


def test_rates_by_hand():
    true = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0], dtype=bool)
    found = np.array([1, 1, 1, 0, 1, 0, 0, 0, 0, 0], dtype=bool)
    assert synthetic.rates(found, true) == {"tpr": 3 / 4, "fpr": 1 / 6, "fdr": 1 / 4}
    nothing = np.zeros(10, dtype=bool)
    assert synthetic.rates(nothing, true) == {"tpr": 0.0, "fpr": 0.0, "fdr": 0.0}
    assert np.isnan(synthetic.rates(found, nothing)["tpr"])


def test_tpr_at_a_false_positive_rate_by_hand():
    true = np.array([1, 1, 1, 0, 0, 0, 0, 0], dtype=bool)
    score = np.array([9.0, 5.0, 1.0, 7.0, 4.0, 3.0, 2.0, 0.5])
    # Of five nulls none may pass, then one, then all.
    assert synthetic.tpr_at_fpr(score, true, 0.0) == {"tpr": 1 / 3, "fpr": 0.0, "fdr": 0.0}
    assert synthetic.tpr_at_fpr(score, true, 0.2) == {"tpr": 2 / 3, "fpr": 0.2, "fdr": 1 / 3}
    assert synthetic.tpr_at_fpr(score, true, 1.0)["tpr"] == 1.0
    # Ties with a null that may not pass do not pass.
    assert synthetic.tpr_at_fpr(np.array([1.0, 0.0, 0.0]), np.array([True, True, False]), 0.0)["tpr"] == 0.5


def test_best_tpr_by_hand():
    true = np.array([1, 1, 0, 1, 0, 1], dtype=bool)
    score = np.array([6.0, 5.0, 4.0, 3.0, 2.0, 0.0])
    assert study.best_tpr(score, true, 0.0) == 0.5
    assert study.best_tpr(score, true, 0.25) == 0.75  # three of the first four
    # The lowest score is what was not found at all, so no threshold lies below it.
    assert study.best_tpr(score, true, 0.9) == 0.75
    assert study.best_tpr(np.zeros(6), true, 0.9) == 0.0


def test_baselines_stand_beside_nard_on_the_same_data():
    def record(method, seed, tpr):
        kinds = {kind: {"tpr": tpr, "fdr": 0.0, "best_tpr": tpr, "curve": []} for kind in study.KINDS}
        if method == "sequential":
            kinds = {kind: {**each, "levels": [0.0] * len(study.LEVELS)} for kind, each in kinds.items()}
        spec = {"design": "N > d", "d": 9, "m": 8, "n": 7, "method": method, "seed": seed}
        return {"spec": spec, "status": "done", "result": {"seconds": 1.0, "kinds": kinds}}

    results = [record("sequential", seed, tpr) for seed, tpr in enumerate((0.4, 0.6, 0.9))]
    table = study.table([*results, record("mrce", 1, 0.7), record("mrce", 0, 0.5)])
    mrce = table[table["method"] == "MRCE"]
    assert mrce["nard_tpr"].tolist() == pytest.approx([0.5] * 3)  # not the third data set's
    assert mrce["best_tpr"].tolist() == pytest.approx([0.6] * 3)
    assert table["nard_tpr"][:3].isna().all()
    assert "MRCE 0.600 (NARD on the same data 0.500" in " ".join(study.remarks(table))
    brief = study.brief(table)
    assert brief["baseline"].tolist() == ["MRCE"] * 3
    assert brief["NARD tpr"].tolist() == pytest.approx([1.9 / 3] * 3)


def test_the_nearest_reading_is_one_of_its_own():
    rows = [
        {"design": "strong", "reading": "inputs, α finite", "tpr": 0.9, "fpr": 0.1},
        {"design": "strong", "reading": synthetic.AT_PAPER_FPR, "tpr": 0.95, "fpr": 0.01},
        {"design": "any size", "reading": "inputs, α finite", "tpr": 0.95, "fpr": 0.02},
        {"design": "any size", "reading": "not run", "tpr": np.nan, "fpr": np.nan},
    ]
    table = pd.DataFrame(rows).assign(paper_tpr=0.95, paper_fpr=0.01)
    near = synthetic.distance_from_paper(table)
    assert near.index.tolist() == [("any size", "inputs, α finite"), ("strong", "inputs, α finite")]
    assert near.tolist() == pytest.approx([0.01, 0.14])


def test_large_mrce_finds_the_truth_and_its_objective_falls():
    data = make_regression(200, 40, 10, relevant=0.2, density=0.4, edge_probability=0.2, random_state=0)
    model = LargeMRCE(lam1=0.1).fit(data.X, data.Y)
    found = synthetic.rates(model.coef_ != 0, data.coef != 0)
    assert found["tpr"] > 0.95
    assert (np.diff(model.objective_) <= 1e-8 * np.abs(model.objective_[:-1])).all()
    # The alternation is MRCE's own: a full fit at the same penalties has an objective as low at the least.
    sd, lam2 = noise(data.X - data.X.mean(axis=0), data.Y - data.Y.mean(axis=0))
    assert lam2 == model.lam2_
    assert sd == pytest.approx(np.ones(10), abs=0.35)  # the residual variances are one, and lassos shrink
    full = MRCE(lam1=0.1, lam2=lam2).fit(data.X, data.Y / sd)
    assert full.objective_[-1] == pytest.approx(model.objective_[-1], abs=10 * 1e-2)
    assert full.objective_[-1] <= model.objective_[-1] + 1e-6
    # Units do not matter.
    again = LargeMRCE(lam1=0.1).fit(data.X, data.Y * np.geomspace(0.1, 10, 10))
    assert np.array_equal(again.coef_ != 0, model.coef_ != 0)


def test_heavy_tails_keep_the_variance():
    spec = next(spec for spec in study.runs(SETTINGS) if spec.get("residuals") == "t5") | {"n": 20000, "d": 12}
    heavy, plain = study.simulated(spec), study.simulated({**spec, "residuals": None})
    residuals = heavy.Y - heavy.X @ heavy.coef.T
    assert np.diag(np.cov(residuals.T)) == pytest.approx(np.ones(spec["m"]), abs=0.15)
    kurtosis = (residuals**4).mean() / (residuals**2).mean() ** 2
    assert kurtosis > 5
    assert np.array_equal(heavy.X, plain.X)


def test_sums_over_blocks_and_the_iteration_in_place():
    d, m = 30, 5
    data = table3.Statistics(d, m, 2 * table3._BLOCK + 7, 0.1, 0, seconds=100)
    assert data.n == 2 * table3._BLOCK + 7
    assert np.array_equal(data.xx, data.xx.T)
    assert np.abs(data.xx - np.eye(d)).max() < 0.15
    assert np.linalg.eigvalsh(data.xx)[-1] <= data.largest_eigenvalue()
    network = table3._network(data.yy, 0.1)
    inverse = np.linalg.inv(np.eye(d) + data.xx)
    alpha, mean, found = table3.full_iteration(data, 0.1, network)
    assert mean == pytest.approx(inverse @ data.xy)
    gamma = 1 - np.diag(inverse)
    assert alpha == pytest.approx(m * gamma / (data.n * np.einsum("ij,ij->i", mean @ network.precision, mean)))
    scatter = data.yy - data.xy.T @ inverse @ data.xy
    assert found.precision == pytest.approx(table3._network(scatter, 0.1, network).precision)


def test_what_would_not_fit_is_not_begun():
    spec = {**table3.runs({**SETTINGS, "scale": 1})[-1], "gigabytes": 4}
    with pytest.raises(table3.CannotRun, match="GB by estimate"):
        table3.run(spec)


def test_full_size_runs_are_the_papers():
    full = {**SETTINGS, "scale": 1, "seeds": 10, "gigabytes": 16}
    sizes = {(spec["d"], spec["m"], spec["n"]) for spec in table1.runs(full)}
    assert (5000, 1500, 1500) in sizes
    assert {tuple(spec["paper_size"]) for spec in table2.runs(full)} == set(table2.PAPER)
    assert [spec["d"] for spec in table3.runs(full)] == list(table3.PAPER)
    nards = [spec for spec in study.runs(full) if spec["method"] == "sequential"]
    assert len(nards) == 20 * (len(study.DESIGNS) + len(study._NUMBERS))
    for name in SYNTHETIC:
        specs = chapter_module(name).runs(full)
        assert len({spec["name"] for spec in specs}) == len(specs)
        assert len({key_of(spec) for spec in specs}) == len(specs)


def some_of(specs):
    """A first run of every method, in the first design, and of every size where there are no methods."""
    first = {}
    for spec in specs:
        first.setdefault(spec.get("method", spec["d"]), spec)
    kept = [spec for spec in first.values() if spec.get("method") != "hsghs"]
    return kept if len(kept) < len(specs) else kept[:-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_chapter_in_small(name, tmp_path):
    module = chapter_module(name)
    specs = module.runs(SETTINGS)
    about = {"threads": 1, "peak_gb": 0.1}
    results = [{"spec": spec, "status": "done", "result": module.run(spec), **about} for spec in some_of(specs)]
    # One that did not end.
    late = next(spec for spec in specs if spec not in [record["spec"] for record in results])
    results.append({"spec": late, "status": "time", "reason": "not finished after 60 s", **about})
    write_tsv(module.table(results), tmp_path / "a.tsv")
    write_tsv(module.table(results), tmp_path / "b.tsv")
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    table = read_tsv(tmp_path / "a.tsv")
    remarks = module.remarks(table)
    assert remarks
    assert not any("nan" in remark for remark in remarks)
    if hasattr(module, "brief"):
        assert 0 < len(module.brief(table)) <= len(table)
    drawn = module.figure(table, results)
    figures = drawn if isinstance(drawn, dict) else {name: drawn}
    assert set(figures) == set(chapter_figures(name))
    plt.close("all")


@pytest.mark.slow
def test_a_chapter_through_the_workflow(tmp_path):
    paper = {"scale": 0.02, "seeds": 1, "chapters": ["table3"]}
    write_config(tmp_path, {"paper": paper, "cohorts": {"AAA": {"source": "simulated", "samples": 60}}})
    run_workflow(tmp_path, "paper")
    page = (tmp_path / "results/reproduction.md").read_text()
    assert "Table 3" in page
    assert "](figures/table3.png)" in page
    table = read_tsv(tmp_path / "results/tables/table3.tsv")
    assert table["iteration_seconds"].notna().all()
    records = read_json(tmp_path / "results/paper/table3.json")["records"]
    assert len(records) == len(table3.PAPER)
    # The table is made from the records: the same bytes again, and no run again.
    before = (tmp_path / "results/tables/table3.tsv").read_bytes()
    (tmp_path / "results/tables/table3.tsv").unlink()
    (tmp_path / "results/paper/table3.json").unlink()
    run_workflow(tmp_path, "table3")
    assert (tmp_path / "results/tables/table3.tsv").read_bytes() == before
    assert "8 of them have a record already" in (tmp_path / "results/logs/paper_runs/table3.log").read_text()


@pytest.mark.parametrize("name", ["tcga", "air_quality", "ashares", "predictions"])
def test_the_page_of_a_chapter_without_data_says_which_key_to_set(name, tmp_path):
    module = chapter_module(name)
    results = [{**record, "commit": "0" * 7} for record in records(module, settings())]
    write_tsv(module.table(results), tmp_path / "table.tsv")
    page = chapter_page(name, read_tsv(tmp_path / "table.tsv"), results)
    assert "set `paper.files." in page
    assert " nan " not in page


def test_every_chapter_has_what_the_contract_asks():
    for name in CHAPTERS:
        module = chapter_module(name)
        assert all(callable(getattr(module, part)) for part in ("runs", "run", "table", "figure", "remarks"))
        assert module.READINGS.strip()
