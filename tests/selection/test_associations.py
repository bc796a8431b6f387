"""Tests of entries under the entry-wise model: null distribution, wrong names, weights and own pairs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, t

from nard import NARD
from nard.selection import EntryTest, significance
from nard.selection.associations import Lead
from nard.simulate import draw_residuals, make_precision

ENTRIES = {"lam": 0.1, "relevance": "entries", "hidden": 0}


@pytest.mark.filterwarnings("ignore:Hidden inputs behind the outputs")  # behind so dense a network
@pytest.mark.parametrize(("n", "d", "m", "edges"), [(150, 60, 30, 0.3), (80, 200, 20, 0.0), (100, 40, 60, 0.1)])
def test_inputs_that_have_nothing_to_do_with_the_outputs(n, d, m, edges):
    """z is Student's t whatever the network, and whatever of it was fitted."""
    u, spread = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        Y = draw_residuals(make_precision(m, edges, rng), n, rng)
        test = NARD(**ENTRIES).fit(rng.standard_normal((n, d)), Y).entry_test_
        spread.append(test.z.std())
        # Of a network's outputs z are dependent within an input: one of every ten, in turn.
        z = test.z[np.arange(d), np.arange(d) % m]
        u.append(t.cdf(z, np.broadcast_to(test.degrees, m)[np.arange(d) % m]))
    assert np.mean(spread) == pytest.approx(1.0, abs=0.03)
    assert kstest(np.concatenate(u), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("relevance", ["entries", "both", "auto"])
def test_nothing_is_found_where_there_is_nothing(relevance):
    """One false finding in twenty data sets is the rate; four of thirty is the 94 % quantile, five the 98 %."""
    hits = np.zeros(2)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        Y = draw_residuals(make_precision(15, 0.2, rng), 60, rng)
        model = NARD(lam=0.1, relevance=relevance, hidden=0).fit(rng.standard_normal((60, 40)), Y)
        hits += [table["selected"].any() for table in (model.relevance(), model.associations())]
        np.testing.assert_allclose(model.entry_test_.prior, 1.0)
    assert (hits <= 5).all()


def test_the_input_and_its_stand_ins_hold_the_truth():
    """Three inputs that are correlated 0.96 to 0.98: which one it is the data can hardly tell, and that is said."""
    held, several, there, doubtful = [], [], 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 30))
        X[:, 1:3] = 0.98 * X[:, :1] + np.sqrt(1.0 - 0.98**2) * X[:, 1:3]
        Y = rng.standard_normal((100, 8))
        Y[:, 0] += 0.6 * X[:, 0]
        model = NARD(**ENTRIES).fit(X, Y)
        leads = [lead for lead in model.entry_test_.leads if lead.target == 0 and lead.feature in (0, 1, 2)]
        there += len(leads) > 0
        if leads:
            held.append(any(0 in (lead.feature, *lead.stand_ins) for lead in leads))
            several.append(any(len(lead.stand_ins) for lead in leads))
            table = model.associations()
            row = table[(table["target"] == "y0") & (table["feature"] == f"x{leads[0].feature}")].iloc[0]
            assert row["probability"] == leads[0].probability
            assert row["stand_ins"] == ";".join(f"x{j}" for j in leads[0].stand_ins)
            # A name that is less probable than not does not count as found, whatever its p-value.
            alone = len(leads) == 1 == len({lead.target for lead in model.entry_test_.leads})
            if alone and leads[0].probability < 0.5:
                doubtful += 1
                assert row["qvalue"] >= 1.0 - leads[0].probability - 1e-12
            elif alone:
                assert row["selected"] == (row["pvalue"] * 30 * 8 <= 0.05)
    assert there >= 55
    assert np.mean(held) >= 0.9
    assert np.mean(several) >= 0.6
    assert doubtful >= 5


def random_test(rng, d=60, m=9, folds=5, leads=True, weighted=True, own=True):
    """Some signal, weights from far below one to far above, own inputs of some outputs, an untestable input."""
    weight = rng.standard_normal((d, m)) * np.where(rng.random((d, m)) < 0.15, 6.0, 1.0)
    sd = np.ones((d, m))
    sd[3], weight[3] = np.inf, 0.0
    test = EntryTest(weight, sd, rng.uniform(3, 80, m))
    if weighted:
        prior = rng.gamma(0.1, 1.0, (d, folds)) + 1e-3
        test = replace(test, prior=prior * d / prior.sum(axis=0), fold=np.arange(m) % folds)
    if own:
        columns = np.full((m, 3), -1)
        for i in range(0, m, 2):
            count = rng.integers(1, 4)
            columns[i, :count] = np.sort(rng.choice(d, count, replace=False))
        test = replace(test, own=columns)
    if leads:
        pairs = rng.choice(d * m, 40, replace=False)
        found = (Lead(int(k // m), int(k % m), float(rng.uniform(0.5, 1.0)), np.zeros(0, int)) for k in pairs)
        test = replace(test, leads=tuple(found))
    return test


@pytest.mark.parametrize("fdr", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("leads", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_selection_without_all_qvalues_is_the_same(own, weighted, leads, fdr, monkeypatch):
    monkeypatch.setattr(significance, "_CHUNK", 7)
    some = 0
    for seed in range(12):
        test = random_test(np.random.default_rng(seed), leads=leads, weighted=weighted, own=own)
        expected = test.qvalues()
        rows, columns, q = test.selected(fdr)
        assert len(set(zip(rows, columns, strict=True))) == len(rows)
        found = np.zeros(expected.shape, dtype=bool)
        found[rows, columns] = True
        np.testing.assert_array_equal(found, expected <= fdr)
        np.testing.assert_allclose(q, expected[rows, columns])
        assert (np.diff(np.abs(test.z[rows, columns])) <= 0).all()
        some += len(rows)
    assert some > 0


def test_an_own_pair_is_not_found_for_its_input_s_weight():
    """An input of weight twenty, all its p-values next to one: they count as 0.05, but not that of the own pair."""
    rng = np.random.default_rng(0)
    weight = rng.choice([-8.0, 8.0], (40, 10))
    weight[15:], weight[0] = rng.standard_normal((25, 10)), 0.01
    prior = np.full((40, 1), 1e-3)
    prior[0], prior[1:15] = 20.0, 1.4
    own = np.full((10, 1), -1)
    own[0] = 0
    test = EntryTest(weight, np.ones((40, 10)), 100.0, prior=prior, fold=np.zeros(10, dtype=int), own=own)
    rows, columns, _ = test.selected(0.3)
    assert (test.qvalues() <= 0.3).sum() == len(rows) == 149
    assert (0, 1) in zip(rows, columns, strict=True)
    assert (0, 0) not in zip(rows, columns, strict=True)


def test_qvalues_by_hand():
    """Two families, each with its own number of tests; in the rest p is divided by the input's weight."""
    p = np.array([[1e-4, 0.2], [0.002, 0.5], [0.01, 0.9]])
    test = EntryTest(-t.ppf(p / 2, 1e9), np.ones((3, 2)), 1e9)
    np.testing.assert_allclose(test.pvalue, p, rtol=1e-6)
    own = np.array([[1], [-1]])
    test = replace(test, own=own, prior=np.array([[0.5], [0.5], [2.0]]), fold=np.zeros(2, dtype=int))
    # Weighted: 0.0002, 0.4, 1 (capped), 0.005, 0.45; five tests.
    expected = [[0.001, 0.5625], [0.002, 1.0], [0.0125, 0.5625]]
    np.testing.assert_allclose(test.qvalues(), expected, rtol=1e-6)
    # Two names are wrong with 31 % on average; the surer one is more probable than not.
    named = replace(test, leads=(Lead(2, 0, 0.4, np.zeros(0, int)), Lead(0, 0, 0.98, np.zeros(0, int))))
    expected[2][0] = (0.02 + 0.6) / 2
    np.testing.assert_allclose(named.qvalues(), expected, rtol=1e-6)


def rates(found, true):
    """True positives found, and false discoveries of those found."""
    return (found & true).sum() / true.sum(), (found & ~true).sum() / max(1, found.sum())


def matrix(test, fdr=0.05):
    rows, columns, _ = test.selected(fdr)
    found = np.zeros(test.weight.shape, dtype=bool)
    found[rows, columns] = True
    return found


@pytest.mark.filterwarnings("ignore:Hidden inputs behind the outputs")  # weak effects of four inputs look like one
def test_inputs_that_drive_many_outputs_gain_by_their_weights():
    """Four of 200 inputs drive half of the outputs, weakly: more are found, at the stated rate."""
    with_weights, without = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 200))
        W = np.zeros((200, 60))
        W[:4] = np.where(rng.random((4, 60)) < 0.5, rng.uniform(0.25, 0.4, (4, 60)), 0.0)
        model = NARD(**ENTRIES).fit(X, X @ W + rng.standard_normal((100, 60)))
        test = model.entry_test_
        assert set(np.argsort(-test.prior[:, 0])[:4]) == {0, 1, 2, 3}
        np.testing.assert_allclose(test.prior.mean(axis=0), 1.0)
        with_weights.append(rates(matrix(test), W != 0))
        without.append(rates(matrix(replace(test, prior=None, fold=None)), W != 0))
    (more, false), (fewer, _) = np.mean(with_weights, axis=0), np.mean(without, axis=0)
    assert more > fewer + 0.1
    assert false <= 0.07


def test_own_pairs_are_a_family_at_the_same_rate():
    """Genes of their proteins in half of the outputs, other effects anywhere."""
    runs = []
    n, d, m = 80, 120, 50
    names = [f"g{j}" for j in range(d)]
    is_own = np.zeros((d, m), dtype=bool)
    is_own[np.arange(m), np.arange(m)] = True
    for seed in range(24):
        rng = np.random.default_rng(seed)
        W = np.zeros((d, m))
        for i in range(m):
            W[rng.choice(d, 2, replace=False), i] = rng.uniform(0.3, 0.8, 2) * rng.choice([-1, 1], 2)
            W[i, i] = rng.uniform(0.3, 0.8) if i % 2 else 0.0
        X = pd.DataFrame(rng.standard_normal((n, d)), columns=names)
        noise = draw_residuals(make_precision(m, 0.05, rng), n, rng)
        Y = pd.DataFrame(X.to_numpy() @ W + noise, columns=names[:m])
        row = {}
        for kind, own in (("named", None), ("nameless", {})):
            model = NARD(**ENTRIES, own=own).fit(X, Y)
            found = matrix(model.entry_test_)
            row[kind] = (found & is_own & (W != 0)).sum() / (is_own & (W != 0)).sum()
            if own is None:
                table = model.associations().query("own")
                assert set(table["feature"]) == set(table["target"]) == set(Y.columns)
                row["own false"] = rates(found & is_own, W != 0)[1]
                row["rest false"] = rates(found & ~is_own, W != 0)[1]
        runs.append(row)
    mean = pd.DataFrame(runs).mean()
    assert mean["own false"] <= 0.06
    assert mean["rest false"] <= 0.06
    assert mean["named"] > mean["nameless"] + 0.05
