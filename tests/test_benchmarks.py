"""The benchmarks' tasks run, at sizes where their times mean nothing."""

import pytest
import tasks


@pytest.mark.parametrize("method", ["sequential", "surrogate"])
def test_fit_task(method):
    found = tasks.table_one(method, d=60, m=10, n=50)
    assert found["converged"]
    assert found["ratio"] == pytest.approx(found["seconds"] / found["product"])
    assert 1 <= found["inputs_found"] <= found["inputs_true"]


def test_graphical_lasso_task():
    found = tasks.compare_graphical_lassos(20, 0.2, ["scikit-learn"])
    assert found["nard"]["error"] <= tasks.ACCURACY
    assert found["scikit-learn"]["error"] <= 10 * tasks.ACCURACY


def test_giant_component_task(monkeypatch):
    monkeypatch.setattr("nard.covariance.glasso._GIANT", 100)
    found = tasks.giant_component(150, ["scikit-learn"], cholesky=1)
    assert found["converged"]
    assert found["warm_converged"]
    assert found["gap"] <= 1e-4
    assert abs(found["scikit-learn"]["worse"]) <= 10 * tasks.ACCURACY
    assert found["cholesky_seconds"] > 0


def test_iteration_task():
    assert tasks.iteration(100, 20, m=10)["moves"] == 20


def test_default_fit_task():
    found = tasks.transcriptome(d=100, m=10, n=60)
    assert found["lams"] >= 2
