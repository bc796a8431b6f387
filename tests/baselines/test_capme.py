"""CAPME: the linear programs against their duals, HiGHS and the original; its limits; the estimator."""

from time import perf_counter

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import ARDRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from nard.baselines import capme
from nard.baselines.capme import CAPME, clime, dantzig, min_l1, positive_definite
from nard.simulate import make_regression

RADII = [0.0, 0.01, 0.1, 0.4, 1.0]


def read(folder, name):
    return np.loadtxt(folder / f"{name}.csv", delimiter=",")


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def inputs(kind, rng):
    """Designs with and without ties."""
    if kind == "tall":
        return rng.standard_normal((50, 15))
    if kind == "wide":
        return rng.standard_normal((20, 35))
    if kind == "binary":
        return rng.integers(0, 2, (40, 15)).astype(float)
    if kind == "collinear":
        return rng.standard_normal((50, 1)) + 0.01 * rng.standard_normal((50, 12))
    X = rng.standard_normal((40, 8))
    return np.hstack([X, X, -X[:, :3]])


def moments(kind, seed):
    """A and S of a small regression, with max|S| = 1."""
    rng = np.random.default_rng(seed)
    Z = standardised(inputs(kind, rng))
    Y = Z[:, :3] @ rng.standard_normal((3, 3)) + rng.standard_normal((len(Z), 3))
    S = Z.T @ (Y - Y.mean(axis=0)) / len(Z)
    return Z.T @ Z / len(Z), S / np.abs(S).max()


def smallest_norm(A, s, radius):
    """The optimum of the linear program in b and bounds t ≥ |b|: another formulation than the package's."""
    d = len(s)
    eye, zero = np.eye(d), np.zeros((d, d))
    constraints = np.block([[A, zero], [-A, zero], [eye, -eye], [-eye, -eye]])
    limits = np.concatenate([s + radius, radius - s, np.zeros(2 * d)])
    cost = np.concatenate([np.zeros(d), np.ones(d)])
    return linprog(cost, constraints, limits, bounds=(None, None), method="highs").fun


KINDS = pytest.mark.parametrize("kind", ["tall", "wide", "binary", "collinear", "duplicates"])


@KINDS
def test_optimal_and_feasible(kind):
    A, S = moments(kind, seed=0)
    for radius, B in zip(RADII, min_l1(A, S, RADII), strict=True):
        assert np.abs(S - A @ B).max() <= radius + 1e-7
        for k in range(S.shape[1]):
            # HiGHS itself is feasible to 1e-7 only, which matters where A is nearly singular.
            assert np.abs(B[:, k]).sum() == pytest.approx(smallest_norm(A, S[:, k], radius), rel=1e-5, abs=1e-7)


def test_dual_has_the_same_objective():
    A, S = moments("wide", seed=1)
    radii = np.array([0.5, 0.1, 0.02])
    for s in S.T.copy():
        B, U = np.full((3, len(s)), np.nan), np.full((3, len(s)), np.nan)
        capme._l1_path(A, s, radii, np.empty_like(A), B, U)
        assert np.abs(U @ A).max() <= 1 + 1e-9
        assert np.all(np.abs(s - B @ A).max(axis=1) <= radii + 1e-9)
        assert U @ s - radii * np.abs(U).sum(axis=1) == pytest.approx(np.abs(B).sum(axis=1), abs=1e-9)


def test_highs_takes_over(monkeypatch):
    A, S = moments("tall", seed=2)
    path = min_l1(A, S, RADII)
    monkeypatch.setattr(capme, "_l1_path", lambda *_: None)
    assert min_l1(A, S, RADII) == pytest.approx(path, abs=1e-6)


def test_path_does_without_highs(monkeypatch):
    monkeypatch.setattr(capme, "_highs", None)
    for kind in ("tall", "binary"):
        min_l1(*moments(kind, seed=3), RADII)


def test_infeasible_is_said():
    with pytest.raises(ValueError, match="larger bound"):
        min_l1(np.diag([1.0, 0.0]), np.ones((2, 1)), [0.5])


def test_order_and_units():
    A, S = moments("tall", seed=4)
    assert min_l1(A, S, RADII[::-1]) == pytest.approx(min_l1(A, S, RADII)[::-1])
    scaled = min_l1(1e6 * A, 1e-3 * S, 1e-3 * np.array(RADII))
    assert 1e9 * scaled == pytest.approx(min_l1(A, S, RADII))


def test_limits_of_lam():
    data = make_regression(60, 10, 4, random_state=0)
    Z, Y = standardised(data.X), data.Y - data.Y.mean(axis=0)
    largest = np.abs(Z.T @ Y).max() / 60
    empty, nearly, full = dantzig(data.X, data.Y, [largest * (1 + 1e-9), 0.99 * largest, 0.0])
    assert np.all(empty == 0)
    assert np.count_nonzero(nearly) == 1
    least_squares = np.linalg.lstsq(data.X - data.X.mean(axis=0), Y, rcond=None)[0]
    assert full == pytest.approx(least_squares.T, abs=1e-8)


def test_limits_of_tau():
    S = np.cov(np.random.default_rng(0).standard_normal((6, 200)))
    largest = capme._tau_grid(S, 5)[0]
    for omega, tau in zip(clime(S, [largest * (1 + 1e-9), 0.9]), [largest, 0.9], strict=True):
        assert omega == pytest.approx(np.diag((1 - tau) / np.diag(S)))
    assert np.count_nonzero(min_l1(S, np.eye(6), [0.99 * largest])) == 7
    assert clime(S, [1e-10])[0] == pytest.approx(np.linalg.inv(S), abs=1e-6)


def test_shift_bounds_the_condition_number():
    S = np.cov(np.random.default_rng(0).standard_normal((20, 8)))
    omega = clime(S, [0.0])[0]
    assert np.linalg.cond(omega) == pytest.approx(20, rel=1e-6)
    shift = np.linalg.inv(omega) - S
    assert shift == pytest.approx(shift[0, 0] * np.eye(20), abs=1e-7)


def test_smaller_of_two_is_kept(monkeypatch):
    columns = np.array([[[2.0, 0.5, 1.0], [-0.4, 3.0, -0.2], [0.0, 0.2, 1.0]]])
    monkeypatch.setattr(capme, "min_l1", lambda *_: columns)
    assert clime(np.eye(3), [0.1])[0] == pytest.approx(np.array([[2.0, -0.4, 0.0], [-0.4, 3.0, 0.0], [0.0, 0.0, 1.0]]))


def test_made_positive_definite():
    omega = np.array([[1.0, 2.0], [2.0, 1.0]])
    repaired = positive_definite(omega, np.array([1.0, 4.0]))
    assert np.linalg.eigvalsh(repaired)[0] > 0
    assert repaired[0, 1] == 2.0
    good = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert np.array_equal(positive_definite(good, np.ones(2)), good)


@pytest.mark.parametrize("problem", ["tiny", "small"])
@pytest.mark.parametrize(("lam", "tau"), [(0.1, 0.3), (0.2, 0.2)])
def test_original(golden, problem, lam, tau):
    X, Y = read(golden, f"{problem}_X"), read(golden, f"{problem}_Y")
    settings = f"{problem}_capme_lambda_{lam}_tau_{tau}"
    B, omega = read(golden, f"{settings}_B"), read(golden, f"{settings}_Omega")
    model = CAPME(lam=lam, tau=tau).fit(X, Y)
    assert model.coef_ == pytest.approx(B.T, abs=1e-6)
    assert model.raw_precision_ == pytest.approx(omega, abs=1e-6)
    assert np.array_equal(model.precision_, model.raw_precision_)
    scale = X.std(axis=0, ddof=1)
    norms = np.abs(B * scale[:, None]).sum(axis=0)
    assert np.abs(model.coef_ * scale).sum(axis=1) == pytest.approx(norms, rel=1e-4)
    residuals = Y - model.predict(X)
    assert np.abs(standardised(X).T @ residuals).max() / len(X) <= lam + 1e-6
    assert model.edges()["selected"].sum() == np.count_nonzero(np.triu(omega, 1))
    assert model.associations()["selected"].sum() == np.count_nonzero(B)


def test_quicker_than_a_fifth_of_ard(golden):
    X, Y = read(golden, "tcga_X"), read(golden, "tcga_Y")
    model = CAPME(lam=0.1, tau=0.2).fit(X, Y)
    start = perf_counter()
    model.fit(X, Y)
    ours = perf_counter() - start
    start = perf_counter()
    for y in Y.T:
        ARDRegression().fit(X, y)
    assert ours <= 0.2 * (perf_counter() - start)


def test_cross_validation_on_known_truth():
    data = make_regression(150, 20, 8, random_state=1)
    model = CAPME(random_state=0).fit(data.X, data.Y)
    table = model.cv_results_
    for parameter, chosen in (("lam", model.lam_), ("tau", model.tau_)):
        part = table[table["parameter"] == parameter]
        assert len(part) == 30
        assert part["value"][part["loss"].idxmin()] == chosen
        assert part["value"].min() < chosen < part["value"].max()
    assert np.linalg.norm(model.coef_ - data.coef) <= 0.25 * np.linalg.norm(data.coef)
    again = CAPME(random_state=0).fit(data.X, data.Y)
    assert (again.lam_, again.tau_) == (model.lam_, model.tau_)


def test_one_parameter_fixed():
    data = make_regression(60, 8, 4, random_state=0)
    fixed_lam = CAPME(lam=0.2, n_values=5, random_state=0).fit(data.X, data.Y)
    assert fixed_lam.lam_ == 0.2
    assert set(fixed_lam.cv_results_["parameter"]) == {"tau"}
    fixed_tau = CAPME(tau=0.3, n_values=5, random_state=0).fit(data.X, data.Y)
    assert fixed_tau.tau_ == 0.3
    assert set(fixed_tau.cv_results_["parameter"]) == {"lam"}
    assert CAPME(lam=0.2, tau=0.3).fit(data.X, data.Y).cv_results_ is None


def test_permutations_and_units_of_the_inputs():
    data = make_regression(60, 12, 6, random_state=2)
    rng = np.random.default_rng(0)
    x_order, y_order, units = rng.permutation(12), rng.permutation(6), rng.uniform(0.01, 100, 12)
    model = CAPME(lam=0.15, tau=0.1).fit(data.X, data.Y)
    moved = CAPME(lam=0.15, tau=0.1).fit((data.X * units)[:, x_order], data.Y[:, y_order])
    assert moved.coef_ == pytest.approx((model.coef_ / units)[np.ix_(y_order, x_order)], rel=1e-6, abs=1e-9)
    assert moved.precision_ == pytest.approx(model.precision_[np.ix_(y_order, y_order)], abs=1e-8)


def test_more_outputs_and_inputs_than_samples():
    data = make_regression(20, 40, 30, random_state=3)
    model = CAPME(n_values=10, random_state=0).fit(data.X, data.Y)
    assert np.linalg.eigvalsh(model.precision_)[0] > 0
    assert np.isfinite(model.log_likelihood(data.X, data.Y))


def test_no_residuals_and_constant_input():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    X[:, 2] = 0.1
    model = CAPME(lam=0.0, tau=0.1).fit(X, X[:, :2] @ rng.standard_normal((2, 3)))
    assert np.all(model.coef_[:, 2] == 0)
    assert np.linalg.eigvalsh(model.precision_)[0] > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam": -0.1}, "lam must be a number ≥ 0"),
        ({"lam": "ebic"}, "lam must be"),
        ({"tau": 1.0}, "tau must be a number ≥ 0 and below 1"),
        ({"tau": np.nan}, "tau must be"),
        ({"n_folds": 1}, "n_folds must be a whole number ≥ 2"),
        ({"n_values": 2.5}, "n_values must be a whole number ≥ 1"),
    ],
)
def test_wrong_parameters(parameters, message):
    data = make_regression(20, 3, 2, random_state=0)
    with pytest.raises(ValueError, match=message):
        CAPME(**parameters).fit(data.X, data.Y)


@parametrize_with_checks([CAPME(n_values=5), CAPME(lam=0.1, tau=0.2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
