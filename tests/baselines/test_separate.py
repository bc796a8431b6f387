"""The naive baselines are what scikit-learn gives, with a network of out-of-fold residuals."""

import numpy as np
import pytest
from sklearn.linear_model import ARDRegression

from nard.baselines import SeparateRegression
from nard.baselines.separate import residual_precision
from nard.simulate import make_regression


@pytest.fixture(scope="module")
def data():
    return make_regression(400, 10, 5, relevant=0.5, density=0.6, edge_probability=0.3, random_state=0)


def test_ard_is_that_of_scikit_learn(data):
    model = SeparateRegression("ard").fit(data.X, data.Y)
    Z = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    for i in range(5):
        peer = ARDRegression().fit(Z, data.Y[:, i] - data.Y[:, i].mean())
        np.testing.assert_allclose(model.coef_[i], peer.coef_ / data.X.std(axis=0), atol=1e-8)
        np.testing.assert_allclose(model.predict(data.X)[:, i], peer.predict(Z) + data.Y[:, i].mean(), atol=1e-8)


def test_unit_vectors_come_in_parts(data, monkeypatch):
    whole = SeparateRegression("ridge").fit(data.X, data.Y).coef_
    monkeypatch.setattr("nard.baselines.separate._UNITS", 3)
    np.testing.assert_allclose(SeparateRegression("ridge").fit(data.X, data.Y).coef_, whole, rtol=1e-12)


@pytest.mark.parametrize("regression", ["ard", "multitask_lasso"])
def test_it_finds_the_signal_and_a_network(data, regression):
    model = SeparateRegression(regression).fit(data.X, data.Y)
    assert np.linalg.norm(model.coef_ - data.coef) < 0.3 * np.linalg.norm(data.coef)
    assert np.linalg.eigvalsh(model.precision_)[0] > 0
    assert model.associations()["selected"].sum() == np.count_nonzero(model.coef_)
    assert set(model.relevance().query("selected")["feature"]) >= {f"x{j}" for j in np.flatnonzero(data.relevant)}


def test_weak_correlations_are_not_taken_for_none():
    """The path of λ begins where the network is empty, and must go on from there."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((2000, 1))
    residuals = 0.45 * shared + np.sqrt(1 - 0.45**2) * rng.standard_normal((2000, 6))  # correlations of 0.2
    omega = residual_precision(residuals)
    off = omega[np.triu_indices(6, 1)]
    assert (off < -0.05).all()


def test_an_unknown_regression_is_told(data):
    with pytest.raises(ValueError, match="regression"):
        SeparateRegression("tree").fit(data.X, data.Y)
