"""Baselines find the same in any units, as the workflow calls them, though their priors and penalties have a scale."""

import numpy as np
import pytest

from nard.fits.methods import METHODS, make_model
from nard.simulate import make_regression

SAMPLER = {"n_burnin": 50, "n_draws": 100}
MODELS = {
    name: make_model(name, {"time_budget": None}, 0, **(SAMPLER if method.takes else {}))
    for name, method in METHODS.items()
    if not method.minimises_j
}


@pytest.mark.parametrize("name", MODELS)
def test_findings_do_not_depend_on_units(name):
    data = make_regression(80, 6, 4, random_state=0)
    # Powers of two, which change no digit; an output with a standard deviation of 1e-10 among them.
    of_X, of_Y = 2.0 ** np.array([0, 7, -9, 3, 0, 20]), 2.0 ** np.array([-33, 0, 5, -4])
    plain = MODELS[name].fit(data.X, data.Y)._estimated
    other = MODELS[name].fit(of_X * data.X, of_Y * data.Y)._estimated
    np.testing.assert_array_equal(other.W_selected, plain.W_selected)
    np.testing.assert_array_equal(other.omega_selected, plain.omega_selected)
    np.testing.assert_allclose(other.W, plain.W * of_Y[:, None] / of_X, rtol=1e-12)
    np.testing.assert_allclose(other.omega, plain.omega / np.outer(of_Y, of_Y), rtol=1e-12)
    if plain.W_sd is not None:
        np.testing.assert_allclose(other.W_sd, plain.W_sd * of_Y[:, None] / of_X, rtol=1e-12)
        np.testing.assert_allclose(other.omega_sd, plain.omega_sd / np.outer(of_Y, of_Y), rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_standardize_is_true_or_false(name):
    data = make_regression(40, 3, 2, random_state=0)
    with pytest.raises(ValueError, match="standardize must be True or False"):
        type(MODELS[name])(standardize="yes").fit(data.X, data.Y)
