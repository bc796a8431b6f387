"""Held-out predictions: folds that keep their distance in time, and remarks that say where NARD is not best."""

import numpy as np
import pandas as pd
import pytest
from stand_ins import records, settings

from nard.experiments import predictions
from nard.simulate import make_regression


def test_folds_of_time_series_keep_their_distance():
    seen = []
    for train, test in predictions.folds(200, True, 1):
        assert (np.diff(test) == 1).all()
        assert min(abs(i - j) for i in train for j in (test[0], test[-1])) > 7
        seen += test.tolist()
    assert seen == list(range(200))


def test_random_folds_use_all_samples():
    parts = list(predictions.folds(50, False, 1))
    assert all(len(train) + len(test) == 50 for train, test in parts)
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(50))


@pytest.mark.parametrize("method", ["sequential", "ridge"])
def test_signal_is_worth_likelihood(method):
    data = make_regression(150, 6, 4, relevant=1.0, density=0.7, random_state=0)
    X, Y = pd.DataFrame(data.X), pd.DataFrame(data.Y)
    found, empty = (predictions.held_out(name, X, Y) for name in (method, "none"))
    assert np.mean(found["log_likelihoods"]) > np.mean(empty["log_likelihoods"]) + 0.5
    assert found["r2"] > 0.3 > 0.05 > empty["r2"]


def record(method, likelihood, data="NHANES"):
    spec = {"data": data, "method": method}
    result = {"n": 100, "d": 5, "m": 3, "log_likelihoods": likelihood, "r2": 0.1, "fewest_draws": None}
    return {"spec": spec, "status": "done", "result": result, "seconds": 1.0}


def test_remarks_say_where_nard_is_not_best():
    ours, better, worse = (list(value + np.array([0, 0.1, 0.2, 0.1, 0])) for value in (-3.0, -2.5, -4.0))
    won = [record("sequential", ours), record("none", worse)]
    lost = [record("sequential", ours, "KIRC"), record("ridge", better, "KIRC"), record("none", worse, "KIRC")]
    table = predictions.table([*won, *lost])
    size = "(N = 100, d = 5, m = 3)"
    assert predictions.remarks(table) == [
        f"NHANES {size}: NARD is best, 1.000 ± 0.000 per sample above no regression.",
        f"KIRC {size}: NARD (R² 0.100) is not best; better per sample: ridge per output by 0.500 ± 0.000 (R² 0.100).",
    ]
    unsure = [-3.5, -2.0, -2.5, -3.5, -3.0]
    unclear = predictions.table([record("sequential", ours), record("none", unsure)])
    assert predictions.remarks(unclear)[0].endswith("(R² 0.100), no difference of two standard errors.")
    assert predictions.figure(table, []) is not None


def test_no_files():
    found = records(predictions, settings())
    assert len(found) == 6
    table = predictions.table(found)
    assert predictions.remarks(table)[-1] == "A-shares: no data: set `paper.files.ashares` in the config."
    assert predictions.figure(table, found) is not None
