"""Outputs that follow from others: told by name, and no trouble for a fit."""

import time

import numpy as np
import pandas as pd
import pytest

from nard import NARD
from nard.inputs import dependent_columns
from nard.simulate import make_regression


def independent(rng, n, m):
    """Columns with something in common, of which none follows from others."""
    return rng.standard_normal((n, m)) + rng.standard_normal((n, 3)) @ rng.standard_normal((3, m))


@pytest.mark.parametrize(("n", "m"), [(60, 5), (300, 76), (100, 95), (60, 200)])
def test_columns_of_their_own_are_no_copies(n, m):
    for seed in range(20):
        assert dependent_columns(independent(np.random.default_rng(seed), n, m)) == []


def test_copies_and_combinations_are_found_in_any_units():
    rng = np.random.default_rng(0)
    Y = independent(rng, 200, 40)
    rounded = np.round((20 * Y[:, 4] + 40 * Y[:, 5]) / 3)
    more = [Y[:, 0], 2 - 3e9 * Y[:, 1], 1e-9 * (Y[:, 2] + Y[:, 3]), rounded, Y.sum(axis=1)]
    found = dependent_columns(np.column_stack([Y, *more]))
    assert found[:4] == [(40, [0]), (41, [1]), (42, [2, 3]), (43, [4, 5])]
    assert found[4][0] == 44
    assert len(found) == len(found[4][1]) == 5


def with_gaps(rng, Y, share):
    return np.where(rng.random(Y.shape) < share, np.nan, Y)


@pytest.mark.parametrize(("n", "m", "share"), [(60, 5, 0.1), (300, 20, 0.02), (60, 200, 0.4), (12, 40, 0.5)])
def test_columns_with_gaps_of_their_own_are_no_copies(n, m, share):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert dependent_columns(with_gaps(rng, independent(rng, n, m), share)) == []


def test_copies_are_found_whatever_either_lacks():
    rng = np.random.default_rng(0)
    Y = independent(rng, 100, 30)
    Y = np.column_stack([Y, Y[:, 0], 1 - 1e6 * Y[:, 1], Y[:, 2], (Y[:, 3] + Y[:, 4]) / 2])
    gappy = with_gaps(rng, Y[:, :33], 0.15)
    gappy[:, [5, 6]] = [np.nan, 0.1]
    assert dependent_columns(np.column_stack([gappy, Y[:, 33]])) == [(30, [0]), (31, [1]), (32, [2])]
    # Half of the samples have no gap.
    gappy = np.where(np.arange(100)[:, None] % 2 == 0, gappy, Y[:, :33])
    gappy[:, [5, 6]] = Y[:, [7, 8]] + rng.standard_normal((100, 2))
    assert dependent_columns(np.column_stack([gappy, Y[:, 33]])) == [(30, [0]), (31, [1]), (32, [2]), (33, [3, 4])]
    # By few samples it is not told.
    gappy[:70, 0] = np.nan
    assert dependent_columns(gappy) == [(31, [1]), (32, [2])]


@pytest.mark.parametrize("table", [np.full((20, 3), np.nan), np.full((20, 3), 0.1), np.zeros((20, 0))])
def test_columns_of_nothing_follow_from_none(table):
    assert dependent_columns(table) == []


def test_a_copy_is_found_among_thousands():
    Y = independent(np.random.default_rng(0), 60, 1200)
    assert dependent_columns(np.column_stack([Y, Y[:, [3, 700, 1199]]])) == [(1200, [3]), (1201, [700]), (1202, [1199])]


def test_a_copy_is_found_among_more_outputs_than_samples():
    Y = independent(np.random.default_rng(0), 40, 60)
    assert dependent_columns(np.column_stack([Y, Y[:, 7]])) == [(60, [7])]


@pytest.mark.parametrize("kind", ["copy", "mean", "all twice"])
@pytest.mark.parametrize("shape", [(100, 10, 8), pytest.param((300, 70, 76), marks=pytest.mark.slow)])
def test_a_fit_with_copies_says_so_and_ends(shape, kind):
    data = make_regression(*shape, random_state=0)
    m = shape[2]
    Y = pd.DataFrame(data.Y).add_prefix("p")
    more = {"copy": Y[["p0"]], "mean": (Y[["p0"]] + Y[["p1"]].to_numpy()) / 2, "all twice": Y}[kind]
    Y = pd.concat([Y, more.set_axis([f"q{i}" for i in range(more.shape[1])], axis=1)], axis=1)
    of = "'p0', 'p1'" if kind == "mean" else "'p0'"
    plain = NARD().fit(data.X, data.Y)  # compiles, too
    started = time.process_time()
    with pytest.warns(UserWarning, match=rf"copies or combinations of others: 'q0' \(of {of}\)"):
        model = NARD().fit(data.X, Y)
    # As without copies: it took minutes when λ was chosen by all outputs, for whose likelihood none is small enough.
    assert time.process_time() - started < 60
    assert model.lam_ == pytest.approx(plain.lam_, rel=0.1)
    (caution,) = (caution for caution in model.cautions_ if caution["code"] == "copies")
    assert caution["count"] == (m if kind == "all twice" else 1)
    for values in (model.coef_, model.precision_, model.covariance_, model.predict(data.X)):
        assert np.isfinite(values).all()
    tables = [model.relevance(), model.associations(), model.edges()]
    assert all(np.isfinite(table[name]).all() for table in tables for name in ("pvalue", "qvalue"))
    # What drives the outputs is found as without the copies.
    true = pd.MultiIndex.from_frame(
        pd.DataFrame([(f"x{j}", f"p{i}") for i, j in zip(*np.nonzero(data.coef), strict=True)])
    )
    found = tables[1][tables[1]["selected"]].set_index(["feature", "target"]).index
    assert true.isin(found).mean() > 0.8
