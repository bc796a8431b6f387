"""The simulated designs have the properties that they promise."""

import numpy as np
import pytest

from nard.simulate import make_precision, make_regression


def test_shapes_and_fractions():
    data = make_regression(50, 200, 30, relevant=0.1, density=0.5, edge_probability=0.1, random_state=0)
    assert data.X.shape == (50, 200)
    assert data.Y.shape == (50, 30)
    assert data.relevant.sum() == 20
    weights = np.abs(data.coef[data.coef != 0])
    assert weights.min() >= 0.3
    assert weights.max() <= 1.0
    assert np.mean(data.coef[:, data.relevant] != 0) == pytest.approx(0.5, abs=0.05)
    assert data.edges[np.triu_indices(30, 1)].mean() == pytest.approx(0.1, abs=0.04)


def test_precision_has_unit_variances_and_is_positive_definite():
    omega = make_precision(40, 0.1, np.random.default_rng(0))
    np.testing.assert_allclose(np.diag(np.linalg.inv(omega)), 1.0)
    assert np.linalg.eigvalsh(omega)[0] > 0


def test_residuals_have_the_stated_covariance():
    data = make_regression(200_000, 3, 6, edge_probability=0.5, random_state=1)
    residuals = data.Y - data.X @ data.coef.T
    np.testing.assert_allclose(np.cov(residuals.T), data.covariance, atol=0.02)


def test_neighbouring_inputs_are_correlated():
    X = make_regression(100_000, 5, 2, feature_correlation=0.7, random_state=2).X
    expected = 0.7 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    np.testing.assert_allclose(np.corrcoef(X.T), expected, atol=0.02)
    np.testing.assert_allclose(X.var(axis=0), 1.0, atol=0.02)


def test_same_seed_same_data():
    one, two = make_regression(random_state=4), make_regression(random_state=4)
    np.testing.assert_array_equal(one.Y, two.Y)


@pytest.mark.parametrize("name", ["relevant", "density", "edge_probability", "feature_correlation"])
def test_fractions_are_checked(name):
    with pytest.raises(ValueError, match=name):
        make_regression(**{name: 1.5})
