"""Comparisons of findings, against sets counted by hand and loops written out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nard.figures.words import origin
from nard.files import read_tsv, write_tsv
from nard.fits.comparison import (
    agreement,
    association_set,
    candidates,
    cohorts_jaccard,
    comparable,
    edge_set,
    explained_by,
    feature_set,
    held_out,
    jaccard,
    jaccard_table,
    recovery,
    recovery_table,
    selected_weights,
    selection_frequency,
    stability_table,
    truth_among,
    with_stability,
)
from nard.report.captions import cohort_paragraph

sets = st.frozensets(st.integers(0, 12), max_size=10)


# Sets


@given(sets, sets, sets)
def test_jaccard(a, b, c):
    value = jaccard(a, b)
    assert np.isnan(value) == (not a | b)
    assert a == frozenset() or jaccard(a, a) == 1
    if a | b:
        assert 0 <= value <= 1
        assert value == jaccard(b, a)
        assert (value == 1) == (a == b)
        assert (value == 0) == (not a & b)
    if a | b:
        assert value == pytest.approx(sum(x in b for x in a) / len({*a, *b}))
    # One less the index is a distance, where there is one.
    if (a | b) and (b | c) and (a | c):
        assert 1 - jaccard(a, c) <= (1 - jaccard(a, b)) + (1 - jaccard(b, c)) + 1e-12


def test_jaccard_takes_any_collection():
    assert jaccard([1, 1, 2], {2: "x", 3: "y"}) == 1 / 3
    assert np.isnan(jaccard([], []))


EDGES = pd.DataFrame(
    {"source": ["b", "a", "c"], "target": ["a", "c", "b"], "selected": [True, True, False], "z": [3.0, 2.0, 1.0]}
)
ASSOCIATIONS = pd.DataFrame(
    {"feature": ["g", "g", "h"], "target": ["a", "b", "a"], "selected": [True, False, True], "z": [3.0, 1.0, 2.0]}
)


def test_sets_of_findings():
    assert edge_set(EDGES) == {("a", "b"), ("a", "c")}
    assert edge_set(EDGES.drop(columns="selected")) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert association_set(ASSOCIATIONS) == {("g", "a"), ("h", "a")}
    assert feature_set(ASSOCIATIONS) == {"g", "h"}
    assert feature_set(ASSOCIATIONS.drop(columns="selected").iloc[:2]) == {"g"}
    # A pair is the same whichever end comes first, an association is not.
    turned = EDGES.rename(columns={"source": "target", "target": "source"})
    assert edge_set(turned) == edge_set(EDGES)


def test_weights_of_what_is_selected():
    edges = EDGES.assign(partial_correlation=[0.5, -0.25, 0.125])
    assert selected_weights(edges, "edges") == {("a", "b"): 0.5, ("a", "c"): -0.25}
    # An association has a direction: it is not turned, even where the target comes first in the alphabet.
    associations = ASSOCIATIONS.assign(weight=[0.5, -0.25, 0.125])
    assert selected_weights(associations, "associations") == {("g", "a"): 0.5, ("h", "a"): 0.125}


def test_weights_of_nothing(tmp_path):
    write_tsv(EDGES[:0].assign(partial_correlation=[]), tmp_path / "edges.tsv")
    assert selected_weights(read_tsv(tmp_path / "edges.tsv"), "edges") == {}


@pytest.mark.parametrize(("members", "table"), [(edge_set, EDGES), (association_set, ASSOCIATIONS)])
def test_sets_of_nothing(members, table, tmp_path):
    """A cohort with one output has no pairs: the table has a header only, and no types when it is read again."""
    for rows in (table[:0], table.assign(selected=False)):
        write_tsv(rows, tmp_path / "table.tsv")
        assert members(rows) == members(read_tsv(tmp_path / "table.tsv")) == frozenset()
    write_tsv(table, tmp_path / "table.tsv")
    assert members(read_tsv(tmp_path / "table.tsv")) == members(table)


def test_jaccard_of_methods():
    findings = {
        ("C", "full", "associations"): frozenset({1, 2, 3}),
        ("C", "full", "edges"): frozenset(),
        ("C", "hybrid", "associations"): frozenset({2, 3, 4}),
        ("C", "hybrid", "edges"): frozenset({1}),
        ("C", "sequential", "associations"): frozenset({1, 2, 3}),
        ("C", "sequential", "edges"): frozenset(),
    }
    table = jaccard_table(findings)
    rows = {row[:4]: row[4:] for row in table.itertuples(index=False, name=None)}
    assert len(rows) == len(table) == 6
    assert rows["C", "full", "hybrid", "associations"] == (0.5, 3, 3)
    assert rows["C", "full", "hybrid", "edges"] == (0, 0, 1)
    # Two methods that find nothing neither agree nor differ.
    nothing = rows["C", "full", "sequential", "edges"]
    assert np.isnan(nothing[0])
    assert nothing[1:] == (0, 0)


def test_agreement():
    weights = {
        "COAD": {("a", "x"): 0.5, ("b", "x"): -0.2},
        "READ": {("a", "x"): 0.3, ("b", "x"): 0.4, ("c", "y"): -1.0},
        "OV": {("a", "x"): 0.1},
    }
    everything = (frozenset("abc"), frozenset("xy"))
    # COAD lacks an output, OV an input.
    possible = {
        "COAD": (frozenset("abc"), frozenset("x")),
        "READ": everything,
        "OV": (frozenset("ab"), frozenset("xy")),
    }
    table = agreement(weights, ("feature", "target"), possible)
    assert list(table.itertuples(index=False, name=None)) == [
        ("a", "x", 3, "COAD;READ;OV", "", True, pytest.approx(0.3)),
        ("b", "x", 2, "COAD;READ", "", False, pytest.approx(0.1)),
        ("c", "y", 1, "READ", "COAD;OV", True, -1.0),
    ]
    nothing = agreement({"COAD": {}, "OV": {}}, ("source", "target"), {"COAD": everything, "OV": everything})
    assert nothing.empty
    assert list(nothing)[:3] == ["source", "target", "n_cohorts"]


def test_jaccard_of_cohorts():
    edges = {
        "COAD": {("a", "b"): 0.1, ("a", "c"): 0.2},
        "READ": {("a", "c"): 0.3, ("b", "c"): 0.4, ("a", "d"): 0.5},
        "OV": {},
    }
    measured = {"COAD": frozenset("abc"), "READ": frozenset("abcd"), "OV": frozenset("ad")}
    possible = {"edges": {cohort: (names, names) for cohort, names in measured.items()}}
    table = cohorts_jaccard({"edges": edges}, possible)
    rows = {row[:2]: row[2:] for row in table.itertuples(index=False, name=None)}
    # d was not measured in COAD, nor b and c in OV: pairs with them tell nothing about these two cohorts.
    assert rows["COAD", "READ"] == ("edges", pytest.approx(1 / 3), 2, 2)
    assert rows["READ", "OV"] == ("edges", 0.0, 1, 0)
    assert np.isnan(rows["COAD", "OV"][1])
    assert rows["COAD", "OV"][2:] == (0, 0)
    # One cohort has nobody to agree with, but the table has its header.
    assert list(cohorts_jaccard({"edges": {"OV": {}}}, possible)) == list(table)


def test_candidates_are_what_was_measured():
    sides = {"side": ["inputs", "inputs", "outputs"], "name": ["G", "H", "P"]}
    groups = pd.DataFrame(sides)
    assert candidates(groups, "associations") == ({"G", "H"}, {"P"})
    assert candidates(groups, "edges") == ({"P"}, {"P"})
    assert comparable([("G", "P"), ("G", "Q"), ("X", "P")], candidates(groups, "associations")) == {("G", "P")}
    assert comparable([("G", "P")]) == {("G", "P")}


# Truth


def test_recovery_by_hand():
    assert recovery({1, 2, 3, 9}, {1, 2, 4, 5}, 12) == {"found": 4, "true": 4, "tpr": 0.5, "fdr": 0.5, "fpr": 0.25}
    perfect = recovery({1, 2}, {1, 2}, 10)
    assert (perfect["tpr"], perfect["fdr"], perfect["fpr"]) == (1, 0, 0)
    nothing = recovery(set(), {1, 2}, 10)
    assert (nothing["tpr"], nothing["fdr"], nothing["fpr"]) == (0, 0, 0)
    no_truth = recovery({1}, set(), 10)
    assert np.isnan(no_truth["tpr"])
    assert (no_truth["fdr"], no_truth["fpr"]) == (1, 0.1)
    assert recovery({1, 2}, {1, 2}, 2)["fpr"] == 0


@given(sets, sets)
def test_recovery_counts(found, true):
    rates = recovery(found, true, 13)
    false = len(found - true)
    assert rates["found"] == len(found)
    assert rates["fdr"] * max(len(found), 1) == pytest.approx(false)
    assert rates["fpr"] * (13 - len(true)) == pytest.approx(false)
    if true:
        assert rates["tpr"] * len(true) == pytest.approx(len(found & true))


def test_recovery_of_fits_is_against_the_truth_of_their_own_cohort():
    true_associations = pd.DataFrame({"feature": ["g", "h", "gone"], "target": ["a", "b", "a"]})
    true_edges = pd.DataFrame({"source": ["b", "a"], "target": ["a", "gone"]})
    truth = truth_among(true_associations, true_edges, {"g", "h", "i"}, {"a", "b", "c"})
    nothing = truth_among(true_associations[:0], true_edges[:0], {"g"}, {"a", "b"})
    findings = {
        ("C", "full", "associations"): {("g", "a"), ("i", "c")},
        ("C", "full", "edges"): {("a", "b")},
        ("D", "full", "edges"): {("a", "b")},
    }
    table = recovery_table(findings, {"C": truth, "D": nothing})
    rows = {tuple(row[:3]): tuple(row[3:]) for row in table.itertuples(index=False, name=None)}
    # Of 3 × 3 pairs two are true, as a feature that was not fitted cannot be found; of three edges one is.
    assert rows["C", "full", "associations"] == (2, 2, 0.5, 0.5, pytest.approx(1 / 7))
    assert rows["C", "full", "edges"] == (1, 1, 1.0, 0.0, 0.0)
    assert rows["D", "full", "edges"][:2] == (1, 0)
    assert rows["D", "full", "edges"][3:] == (1.0, 1.0)


# Explained variance


def regression(seed, n=30, d=6, m=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    W = rng.standard_normal((m, d))
    Y = X @ W.T + rng.standard_normal((n, m))
    return X - X.mean(axis=0), Y - Y.mean(axis=0), W


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_shares_add_up_to_the_explained_covariance(seed, n_groups):
    X, Y, W = regression(seed)
    m, d = W.shape
    labels = np.random.default_rng(seed).integers(0, n_groups, (m, d))
    groups = np.stack([labels == g for g in range(n_groups)], axis=1)
    shares = explained_by(W, X, Y, groups)
    assert shares.shape == (m, n_groups)
    fitted = X @ W.T
    for i in range(m):
        for g in range(n_groups):
            part = [W[i, j] * X[:, j] for j in range(d) if labels[i, j] == g]
            expected = (Y[:, i] * sum(part)).sum() / (Y[:, i] ** 2).sum() if part else np.nan
            assert shares[i, g] == pytest.approx(expected, nan_ok=True)
        assert np.nansum(shares[i]) == pytest.approx(np.cov(Y[:, i], fitted[:, i])[0, 1] / np.var(Y[:, i], ddof=1))


def test_shares_of_least_squares_are_its_r_squared():
    X, Y, _ = regression(1)
    W = np.linalg.lstsq(X, Y, rcond=None)[0].T
    everything = np.ones((4, 1, 6), dtype=bool)
    r2 = 1 - ((Y - X @ W.T) ** 2).sum(axis=0) / (Y**2).sum(axis=0)
    np.testing.assert_allclose(explained_by(W, X, Y, everything)[:, 0], r2)
    # Inputs that are not there explain nothing, which is no result.
    assert np.isnan(explained_by(W, X, Y, ~everything)).all()


class Ridge:
    """A cheap model with the interface of the estimators, that remembers what it was shown."""

    def __init__(self, seen=None):
        self.seen = seen

    def fit(self, X, Y):
        if self.seen is not None:
            self.seen.append((list(X.index), list(Y.index)))
        self.x_, self.y_ = X.to_numpy().mean(axis=0), Y.to_numpy().mean(axis=0)
        A, B = X.to_numpy() - self.x_, Y.to_numpy() - self.y_
        self.coef_ = np.linalg.solve(A.T @ A + np.eye(A.shape[1]), A.T @ B).T
        self.variance_ = ((B - A @ self.coef_.T) ** 2).mean(axis=0)
        return self

    def predict(self, X):
        return self.y_ + (X.to_numpy() - self.x_) @ self.coef_.T

    def log_likelihood(self, X, Y):
        squares = (Y.to_numpy() - self.predict(X)) ** 2 / self.variance_ + np.log(2 * np.pi * self.variance_)
        return -0.5 * squares.sum(axis=1).mean()


def frames(seed=0, n=33, d=5, m=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, m)) + rng.standard_normal((n, m)) + 7
    names = [f"s{i}" for i in range(n)]
    X = pd.DataFrame(X, names, [f"g{j}" for j in range(d)])
    return X, pd.DataFrame(Y, names, [f"p{i}" for i in range(m)])


def test_held_out_results_are_those_of_a_plain_loop():
    X, Y = frames()
    own = np.zeros((3, 2, 5), dtype=bool)
    own[:, 0, :2] = True
    own[:, 1, 2:] = True
    seen = []
    likelihood, r2, shares = held_out(lambda: Ridge(seen), X, Y, own, seed=4)

    # Five folds, each sample held out once, inputs and outputs of the same samples.
    assert len(seen) == 5
    tests = [[name for name in X.index if name not in train] for train, _ in seen]
    assert sorted(name for fold in tests for name in fold) == sorted(X.index)
    assert all(a == b for a, b in seen)
    assert {len(fold) for fold in tests} == {6, 7}

    log_densities, errors, by_hand = [], np.zeros(3), np.zeros((3, 2))
    for (train, _), test in zip(seen, tests, strict=True):
        model = Ridge().fit(X.loc[train], Y.loc[train])
        residuals = Y.loc[test].to_numpy() - model.predict(X.loc[test])
        errors += (residuals**2).sum(axis=0)
        for row in residuals:
            density = np.exp(-0.5 * row**2 / model.variance_) / np.sqrt(2 * np.pi * model.variance_)
            log_densities.append(np.log(density).sum())
        A, B = (table.loc[test].to_numpy() - table.loc[test].to_numpy().mean(axis=0) for table in (X, Y))
        for i in range(3):
            for g in range(2):
                part = A[:, own[i, g]] @ model.coef_[i, own[i, g]]
                by_hand[i, g] += len(test) / len(X) * (B[:, i] @ part) / (B[:, i] @ B[:, i])
    assert likelihood == pytest.approx(np.mean(log_densities))
    np.testing.assert_allclose(r2, 1 - errors / ((Y - Y.mean()) ** 2).sum().to_numpy())
    np.testing.assert_allclose(shares, by_hand)


def test_held_out_results_depend_on_the_seed_only():
    X, Y = frames()
    groups = np.ones((3, 1, 5), dtype=bool)
    first, again, other = (held_out(Ridge, X, Y, groups, seed) for seed in (1, 1, 2))
    assert first[0] == again[0]
    np.testing.assert_array_equal(first[1], again[1])
    np.testing.assert_array_equal(first[2], again[2])
    assert first[0] != other[0]


def test_noise_explains_nothing():
    """Held out, the R² of pure noise is not above zero, however many inputs there are."""
    rng = np.random.default_rng(0)
    X, Y = (pd.DataFrame(rng.standard_normal((60, k))) for k in (40, 6))
    _, r2, shares = held_out(Ridge, X, Y, np.ones((6, 1, 40), dtype=bool), 0)
    assert (r2 < 0).all()
    assert abs(shares.mean()) < 0.3


# Subsamples


class Selector:
    """Selects the associations whose correlation is above 0.5, and the pair of outputs that correlates most."""

    def __init__(self, seen):
        self.seen = seen

    def fit(self, X, Y):
        self.seen.append(list(X.index))
        assert list(X.index) == list(Y.index)
        self.X, self.Y = X, Y
        return self

    def associations(self, fdr, selected_only):
        assert selected_only
        rows = [(x, y, True) for x in self.X for y in self.Y if abs(np.corrcoef(self.X[x], self.Y[y])[0, 1]) > 0.5]
        return pd.DataFrame(rows, columns=["feature", "target", "selected"])

    def edges(self, fdr):
        pairs = [("p2", "p1"), ("p0", "p1"), ("p2", "p0")]
        strength = [abs(np.corrcoef(self.Y[a], self.Y[b])[0, 1]) for a, b in pairs]
        table = pd.DataFrame(pairs, columns=["source", "target"])
        return table.assign(selected=np.array(strength) == max(strength))


def test_selection_frequency_counts_subsamples():
    X, Y = frames(2, n=40)
    seen = []
    associations, edges = selection_frequency(lambda: Selector(seen), X, Y, 12, 0.6, 7, 0.05)
    assert len(seen) == 12
    assert all(len(rows) == len(set(rows)) == 24 for rows in seen)
    assert len({tuple(rows) for rows in seen}) == 12
    # Every sample has its chance.
    assert {row for rows in seen for row in rows} == set(X.index)
    counts, edge_counts = {}, {}
    for rows in seen:
        model = Selector([]).fit(X.loc[rows], Y.loc[rows])
        for pair in model.associations(0.05, True)[["feature", "target"]].itertuples(index=False, name=None):
            counts[pair] = counts.get(pair, 0) + 1
        chosen = model.edges(0.05).query("selected")
        for pair in chosen[["source", "target"]].itertuples(index=False, name=None):
            edge_counts[tuple(sorted(pair))] = edge_counts.get(tuple(sorted(pair)), 0) + 1
    assert associations == {pair: n / 12 for pair, n in counts.items()}
    assert edges == {pair: n / 12 for pair, n in edge_counts.items()}
    assert sum(edges.values()) == pytest.approx(1)
    assert {0 < share <= 1 for share in associations.values()} == {True}


def test_selection_frequency_is_the_same_for_a_seed():
    X, Y = frames(3, n=40)
    first, again, other = (selection_frequency(lambda: Selector([]), X, Y, 8, 0.5, seed, 0.05) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_no_subsamples():
    X, Y = frames()
    assert selection_frequency(lambda: Selector([]), X, Y, 0, 0.5, 1, 0.05) == ({}, {})


def test_stability_of_findings_that_come_back_or_not():
    frequencies = {("g", "b"): 0.5, ("g", "a"): 1.0}, {("a", "b"): 0.25}
    table = stability_table(frequencies, frozenset({("g", "a"), ("h", "a")}), frozenset())
    assert list(table.itertuples(index=False, name=None)) == [
        ("association", "g", "a", 1.0, True),
        ("association", "g", "b", 0.5, False),
        ("association", "h", "a", 0.0, True),
        ("edge", "a", "b", 0.25, False),
    ]


def test_tables_get_the_frequencies_of_their_pairs():
    frequencies = stability_table(
        ({("g", "b"): 0.5}, {("a", "b"): 0.25}), frozenset({("g", "a")}), frozenset({("a", "b")})
    )
    associations = pd.DataFrame({"feature": ["g", "g", "h"], "target": ["b", "a", "b"]})
    assert with_stability(associations, frequencies, "associations")["stability"].tolist() == [0.5, 0.0, 0.0]
    # An edge has no direction.
    edges = pd.DataFrame({"source": ["b", "a"], "target": ["a", "c"]})
    assert with_stability(edges, frequencies, "edges")["stability"].tolist() == [0.25, 0.0]
    assert with_stability(edges, None, "edges") is edges
    unknown = stability_table(None, frozenset(), frozenset({("a", "b")}))
    assert with_stability(edges, unknown, "edges")["stability"].isna().tolist() == [True, False]


# Words


def summary(title="COAD", simulated=False, kind="omics"):
    return {
        "title": title,
        "simulated": simulated,
        "kind": kind,
        "n_samples": 338,
        "n_inputs": 73,
        "n_outputs": 76,
    }


def test_simulated_data_are_always_called_so():
    assert origin([summary()], "full") == "COAD, 338 samples – NARD full"
    assert origin([summary(simulated=True)]) == "SIMULATED DATA – COAD, 338 samples"
    assert origin([summary(simulated=True), summary("OV", True)]).startswith("SIMULATED DATA – 2 cohorts")
    assert origin([summary(), summary("OV", True)]) == "SIMULATED DATA in OV – 2 cohorts"


@pytest.mark.parametrize("adjusted", [False, True])
def test_paragraph_tells_ages_and_the_spelling_of_the_file(adjusted):
    ages = {"column": "age", "lowest": 20.0, "median": 42.5, "highest": 79.0, "adjusted": adjusted}
    nodes = pd.DataFrame({"id": ["APS1", "B"], "label": ["A_pS1", "B"], "pathways": ["x", "x"]})
    sure = {"pvalue": [0.0], "qvalue": [0.0], "selected": [True]}
    edges = pd.DataFrame({"source": ["APS1"], "target": ["B"], "partial_correlation": [0.3], **sure})
    associations = pd.DataFrame({"feature": ["G"], "target": ["APS1"], "weight": [0.5], **sure})
    fit = {
        "fdr": 0.05,
        "diagnostics": {},
        "found": dict.fromkeys(("features", "features_with_associations", "associations", "edges"), 1),
    }
    about = summary(kind="aging") | {"ages": ages}
    text = cohort_paragraph(about, fit, {"r2": 0.1}, associations, edges, nodes)
    assert "runs from 20 to 79 with a median of 42.5" in text
    assert ("all features were adjusted for it" in text) == adjusted
    assert ("only because both go with age" in text) != adjusted
    assert "G → A_pS1 (+0.50)" in text
    assert "A_pS1 – B (+0.30)" in text
    assert "Connected are 100.0% of the pairs within a block." in text


@pytest.mark.parametrize(("tuned", "without"), [(0, True), (3, False)])
def test_paragraph_tells_hidden_inputs_and_whether_they_predict(tuned, without):
    none = pd.DataFrame(columns=["selected", "pvalue", "qvalue"]).astype({"selected": bool})
    fit = {
        "fdr": 0.05,
        "diagnostics": {},
        "hidden": {"number": 3},
        "tuned": {"hidden": tuned},
        "found": dict.fromkeys(("features", "features_with_associations", "associations", "edges"), 0),
    }
    text = cohort_paragraph(summary(), fit, {"r2": 0.1}, none, none, pd.DataFrame())
    assert "adjusted for 3 hidden inputs" in text
    assert ("which the model that predicts does without" in text) == without


@pytest.mark.parametrize("n_found", [0, 1, 5])
def test_paragraph_of_a_cohort(n_found):
    associations = pd.DataFrame(
        {
            "feature": [f"G{i}" for i in range(6)],
            "target": [f"P{i}" for i in range(6)],
            "weight": [-0.5] * 6,
            "pvalue": np.arange(6) / 1000,
            "qvalue": np.arange(6) / 100,
            "selected": np.arange(6) < n_found,
        }
    )
    edges = associations.rename(columns={"feature": "source", "weight": "partial_correlation"})
    # The test of whole inputs finds nothing.
    found = {"features": 0, "features_with_associations": n_found, "associations": n_found, "edges": n_found}
    fit = {"fdr": 0.05, "diagnostics": {"converged": n_found != 1}, "found": found}
    # The first three pairs lie within a pathway, the others do not.
    pathways = {f"{side}{i}": "A" if i < 3 else side for i in range(6) for side in "GP"}
    nodes = pd.DataFrame({"id": pathways.keys(), "label": pathways.keys(), "pathways": pathways.values()})
    held_out_r2 = {"r2": -0.1 if n_found == 0 else 0.123}
    text = cohort_paragraph(summary(simulated=True), fit, held_out_r2, associations, edges, nodes)
    assert "338 simulated samples with 73 genes and 76 proteins" in text
    assert "false discovery rate of 5%" in text
    findings = {
        0: "none of the genes has an association with any of the proteins, and no pairs of proteins stay",
        1: "1 of the genes has associations with proteins, 1 in all, and 1 pair of proteins stays",
        5: "5 of the genes have associations with proteins, 5 in all, and 5 pairs of proteins stay",
    }
    assert f"{findings[n_found]} connected" in text
    another = "The test of each as a whole, over all proteins at once, is another one: it selects 0."
    assert (another in text) == (n_found > 0)
    assert ("G0 → P0 (−0.50)" in text) == (n_found > 0)
    assert ("P0 (−0.50), G1" in text) == (n_found > 1)
    assert "G3" not in text
    assert ("has not converged" in text) == (n_found == 1)
    assert ("12.3%" in text) == (n_found > 0)
    # Of 21 pairs within a pathway and 45 between two, of which the table need not have all.
    shares = {0: ("0.0%", "0.0%"), 1: ("4.8%", "0.0%"), 5: ("14.3%", "4.4%")}
    connected = "Connected are {} of the pairs within a pathway and {} of the pairs between two pathways."
    assert (connected.format(*shares[n_found]) in text) == (n_found > 0)
    assert "-" not in text
