"""The tests' null distributions under the column-wise model, and q-values."""

from dataclasses import replace

import numpy as np
import pytest
from problems import random_problem
from scipy.stats import kstest

from nard.algorithms import Data, State
from nard.algorithms.coordinate import Coordinates
from nard.selection import EntryTest, entry_test, input_test, qvalues, significance


def test_qvalues_by_hand():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(qvalues(p), [0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert qvalues(p.reshape(2, 2)).shape == (2, 2)


def test_scores_have_their_null_distribution_under_the_model():
    """W drawn from its prior, V and α known: q_ij/sqrt(V_ii s_j) of an input with w = 0 is standard normal."""
    rng = np.random.default_rng(0)
    problem, rough, _ = random_problem(2, (80, 30, 15))
    V = np.linalg.inv(rough.network.precision)
    alpha = np.exp(rng.normal(3, 1, problem.d))
    alpha[0] = np.inf
    z, pvalues = [], []
    for _ in range(200):
        W = rng.standard_normal((problem.d, problem.m)) @ np.linalg.cholesky(V).T / np.sqrt(alpha)[:, None]
        Y = problem.X @ W + rng.standard_normal((problem.n, problem.m)) @ np.linalg.cholesky(V).T
        drawn = replace(problem, data=Data(problem.X, Y))
        coordinates, state = Coordinates(drawn, alpha), State(alpha, rough.network)
        z.append(
            entry_test(drawn, coordinates, 1.0).weight[0] * np.sqrt(coordinates.leave_one_out()[0][0] / np.diag(V))
        )
        pvalues.append(input_test(drawn, coordinates, state).pvalue[0])
    assert kstest(np.ravel(z), "norm").pvalue > 1e-3
    # V is estimated here, and enlarged for safety: the p-values may only be too large.
    assert kstest(pvalues, "uniform", alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize("fdr", [0.01, 0.05, 0.5])
def test_selection_without_all_pvalues_is_the_same(fdr, monkeypatch):
    """Chunks, a different number of degrees of freedom per output, and only the small p-values: as by the book."""
    monkeypatch.setattr(significance, "_CHUNK", 7)
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((40, 6)) * np.where(rng.random((40, 6)) < 0.2, 5.0, 1.0)
    sd = np.ones((40, 6))
    sd[3] = np.inf
    test = EntryTest(weight, sd, rng.uniform(3, 50, 6))
    expected = qvalues(test.pvalue)
    rows, columns, q = test.selected(fdr)
    found = np.zeros((40, 6), dtype=bool)
    found[rows, columns] = True
    np.testing.assert_array_equal(found, expected <= fdr)
    np.testing.assert_allclose(q, expected[rows, columns])
