"""Fits of many inputs or outputs: what is chosen on some of them, and numbers that stay short."""

import numpy as np
import pytest
from scipy.stats import norm

from nard import NARD, inputs
from nard.estimator import choice
from nard.estimator import tuning as tuning_module
from nard.simulate import make_regression


@pytest.fixture(scope="module")
def data():
    return make_regression(90, 40, 24, random_state=0)


def test_the_choice_is_made_on_some_outputs(data, monkeypatch):
    monkeypatch.setattr(choice, "_MOST_OUTPUTS", 20)
    monkeypatch.setattr(choice, "_SOME_OUTPUTS", 12)
    some = NARD().fit(data.X, data.Y)
    assert some.precision_.shape == (24, 24)
    assert some.edge_test_.z.shape == (24, 24)
    # λ by all, and by twelve: as many correlations of an output are beyond it by chance.
    chosen = some.lam_path_.loc[some.lam_path_.chosen, "lam"].item()
    beyond = [count * norm.sf(lam * np.sqrt(90)) for count, lam in ((12, chosen), (24, some.lam_))]
    assert beyond[0] == pytest.approx(beyond[1], rel=1e-6)
    assert set(some.relevance().query("selected").feature) >= {f"x{j}" for j in np.flatnonzero(data.relevant)}


def test_it_does_not_depend_on_the_order_of_the_outputs(data, monkeypatch):
    monkeypatch.setattr(choice, "_MOST_OUTPUTS", 20)
    monkeypatch.setattr(choice, "_SOME_OUTPUTS", 12)
    order = np.random.default_rng(0).permutation(24)
    one, other = NARD().fit(data.X, data.Y), NARD().fit(data.X, data.Y[:, order])
    # The grid of λ begins where the rough pass ends, which is known to a thousandth.
    assert other.lam_ == pytest.approx(one.lam_, rel=1e-3)
    assert other.relevance_ == one.relevance_


def test_what_is_given_is_not_chosen(data, monkeypatch):
    monkeypatch.setattr(choice, "_MOST_OUTPUTS", 20)
    monkeypatch.setattr(choice, "_some_of", lambda *_: pytest.fail("there is nothing to choose"))
    assert NARD(lam=0.2, relevance="entries").fit(data.X, data.Y).lam_ == 0.2


@pytest.mark.parametrize("kind", [np.int8, np.float32])
def test_short_numbers_in_a_file(kind, tmp_path, monkeypatch):
    """Fitted as they are: to the digits that they have, what the same numbers give as doubles."""
    rng = np.random.default_rng(1)
    X = rng.binomial(2, 0.4, (80, 600)).astype(kind)
    Y = rng.standard_normal((80, 6))
    Y[:, 0] += X[:, 3]
    Y[:, 1] -= X[:, 17]
    np.save(tmp_path / "x.npy", X)
    on_disk = np.load(tmp_path / "x.npy", mmap_mode="r")
    settings = {"relevance": "entries", "lam": "cv"}
    long = NARD(**settings).fit(X.astype(float), Y)
    monkeypatch.setattr(inputs, "_MANY", 100)
    monkeypatch.setattr(tuning_module, "_MANY", 100)
    short = NARD(**settings).fit(on_disk, Y)
    assert short.lam_ == pytest.approx(long.lam_, rel=1e-4)
    np.testing.assert_allclose(short.coef_, long.coef_, atol=1e-4)
    np.testing.assert_allclose(short.predict(on_disk), long.predict(X.astype(float)), atol=1e-3)
    named = {tuple(row) for row in short.associations(selected_only=True)[["feature", "target"]].to_numpy()}
    assert {("x3", "y0"), ("x17", "y1")} <= named


def test_the_paper_s_part_is_not_tried_on_the_largest_data(data, monkeypatch):
    monkeypatch.setattr(choice, "_MOST_PRODUCTS", 10)
    assert NARD().fit(data.X, data.Y).scores_.relevance.tolist() == ["entries"]
