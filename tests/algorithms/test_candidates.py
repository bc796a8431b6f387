"""Candidates: the same effects are found as among all inputs, and what is skipped has nothing to give."""

import numpy as np
import pytest
from problems import standardised

from nard.algorithms import candidates, effects
from nard.algorithms import entries as module
from nard.algorithms.coefficients import Coefficients, fitted_by
from nard.algorithms.entries import Whitened, fit_entries, learnt_prior, no_entries, no_own
from nard.simulate import draw_residuals, make_precision


def correlated(seed, omega=None, n=80, d=120, m=30):
    omega = np.eye(m) if omega is None else omega
    rng = np.random.default_rng(seed)
    X = standardised(rng.standard_normal((n, d)) + 0.8 * rng.standard_normal((n, 1)))
    B = np.zeros((d, m))
    for i in range(m):
        B[rng.choice(d, i % 4, replace=False), i] = rng.choice([-1.0, 1.0], i % 4) * rng.uniform(0.5, 1.0, i % 4)
    return X, X @ B + draw_residuals(omega, n, rng), B


def found(X, Y, omega, kind=float):
    prior = learnt_prior(no_entries(X.shape[1], Y.shape[1]), no_own(Y.shape[1]))
    lengths = np.einsum("ij,ij->j", X, X)
    start = no_entries(X.shape[1], Y.shape[1])
    return fit_entries(Whitened(X.astype(kind), None), Y, omega, start, lengths, Y.var(axis=0), prior, 1e-3)


@pytest.mark.parametrize("network", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_candidates_find_what_all_inputs_do(seed, network, monkeypatch):
    omega = make_precision(30, network, np.random.default_rng(seed))
    X, Y, B = correlated(seed, omega)
    every = found(X, Y, omega)
    monkeypatch.setattr(module, "ALL_CANDIDATES", 100)
    monkeypatch.setattr(module, "MOST_CANDIDATES", 60)
    some = found(X, Y, omega)
    true = {(int(j), int(i)) for j, i in zip(*np.nonzero(B), strict=True)}
    right, wrong = [], []
    for e in (every, some):
        sure = {
            (int(e.index[i, at, 0]), int(i)) for i, at in zip(*np.nonzero(e.on), strict=True) if e.pip[i, at, 0] > 0.5
        }
        right.append(len(sure & true))
        wrong.append(len(sure - true))
    # Which of two borderline effects comes to be there depends on the path.
    assert right[1] >= 0.95 * right[0] >= 20
    assert wrong[1] <= wrong[0] + 2


def test_a_second_input_that_is_hidden_at_first_becomes_a_candidate(monkeypatch):
    """It goes with the first one and against its effect: alone it is worth nothing, and no candidate among so few."""
    rng = np.random.default_rng(0)
    n, d = 200, 40
    X = rng.standard_normal((n, d))
    X[:, 1] = 0.9 * X[:, 0] + np.sqrt(1 - 0.81) * X[:, 1]
    X = standardised(X)
    y = X[:, 0] - 0.9 * X[:, 1]
    Y = (y + 0.1 * rng.standard_normal(n))[:, None]
    monkeypatch.setattr(module, "ALL_CANDIDATES", 1)
    monkeypatch.setattr(module, "MOST_CANDIDATES", 3)
    assert set(found(X, Y, np.array([[100.0]])).used_inputs) >= {0, 1}


def test_single_precision_changes_single_digits(monkeypatch):
    X, Y, _ = correlated(5)
    monkeypatch.setattr(module, "ALL_CANDIDATES", 50)
    monkeypatch.setattr(module, "MOST_CANDIDATES", 40)
    long, short = (found(X, Y, np.eye(Y.shape[1]), kind).coef().toarray() for kind in (float, np.float32))
    np.testing.assert_allclose(short, long, atol=1e-4)


def test_the_result_does_not_depend_on_the_number_of_threads(monkeypatch):
    X, Y, _ = correlated(7)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        results.append(found(X, Y, np.eye(Y.shape[1])))
    np.testing.assert_array_equal(results[0].pip, results[1].pip)
    np.testing.assert_array_equal(results[0].mean, results[1].mean)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_call_nothing_hopeless_that_is_not(seed):
    """Against the Bayes factors themselves, for inputs of very different lengths too."""
    rng = np.random.default_rng(seed)
    d, v = 60, rng.uniform(0.2, 2.0)
    squares = rng.uniform(1.0, 100.0, d) if seed % 2 else rng.uniform(90.0, 100.0, d)
    squares[rng.random(d) < 0.1] = 0.0
    q = rng.standard_normal(d) * np.sqrt(squares * v) * rng.uniform(1.0, 3.0)
    log_prior = np.log(rng.dirichlet(np.ones(d)))
    sizes, log_odds = module._SIZES, rng.uniform(-3.0, 2.5)
    worth = np.empty(d)
    effects.worths(q, squares, v, worth)
    hopeless = effects.hopeless_by_bounds(worth, log_prior, squares, sizes / v, log_odds)
    usable = squares > 0
    hope = False
    for size in sizes:
        kappa = size * squares[usable] / v
        value = log_prior[usable] + 0.5 * kappa / (1 + kappa) * q[usable] ** 2 / (squares[usable] * v)
        value -= 0.5 * np.log1p(kappa)
        top = value.max()
        hope |= top + np.log(np.exp(value - top)[value >= top - np.log(effects._CLUSTER)].sum()) > -log_odds
    assert not (hopeless and hope)


def test_exponentials_are_exact_to_rounding():
    values = np.concatenate([np.linspace(-690.0, 0.0, 997), -np.logspace(-20, 2, 100), [-1e9, -np.inf]])
    out, bits = np.empty(len(values)), np.empty(len(values), dtype=np.int64)
    effects._exp(values + 3.0, 3.0, bits, out)
    np.testing.assert_allclose(out, np.exp(values), rtol=1e-13, atol=1e-300)


def test_candidates_of_an_output_are_those_worth_most():
    rng = np.random.default_rng(2)
    values = rng.standard_normal(1000)
    np.testing.assert_array_equal(effects.largest(values, 25, -np.inf), np.argsort(-values)[:25])
    assert len(effects.largest(values, 25, np.sort(values)[-4])) == 4
    assert candidates.MOST_CANDIDATES <= candidates.ALL_CANDIDATES


def test_coefficients_are_their_arrays():
    rng = np.random.default_rng(3)
    X, Y, B = correlated(1)
    entries = found(X, Y, np.eye(Y.shape[1])).coef()
    mean = rng.standard_normal((3, Y.shape[1]))
    both = Coefficients(np.array([2, 5, 110]), mean, entries)
    np.testing.assert_allclose(fitted_by(X, entries), X @ entries.toarray())
    np.testing.assert_allclose(both.fitted(X), X @ both.toarray())
    np.testing.assert_allclose(both.toarray(), both.inputs() + entries.toarray())
    units, scales = rng.uniform(1, 2, B.shape[0]), rng.uniform(1, 2, B.shape[1])
    np.testing.assert_allclose(both.scaled(units, scales).toarray(), both.toarray() * scales / units[:, None])
