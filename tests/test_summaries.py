"""Tables that sum up a run, against counts by hand and loops written out."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from nard.data.groups import names_in
from nard.fits.summaries import cohorts_table, crosstalk, explained_by_pathway, methods_table, of_cohorts

PATHWAYS = ["RTK", "Apoptosis", "EMT"]
NODES = pd.DataFrame(
    [("a", "EMT", "EMT;RTK"), ("b", "EMT", "EMT"), ("c", "RTK", "RTK"), ("d", "other", "other")],
    columns=["id", "pathway", "pathways"],
)
HELD_OUT = pd.DataFrame(
    {"target": list("dcba"), "r2": [0.0, 0.1, 0.2, 0.6], "own": [0.0, 0.3, 0.1, 0.5], "other": [0.0, -0.2, 0.1, 0.1]}
)


def groups_of(inputs):
    """The groups of the proteins above, and of inputs with these pathways."""
    genes = pd.DataFrame({"side": "inputs", "name": [f"G{i}" for i in range(len(inputs))], "pathways": inputs})
    return pd.concat([genes, NODES.rename(columns={"id": "name"}).assign(side="outputs")], ignore_index=True)


def test_a_protein_of_two_pathways_counts_in_both():
    table = explained_by_pathway(HELD_OUT, groups_of(["RTK", "EMT;RTK"]), PATHWAYS).set_index("pathway")
    # In the order of the pathways; what belongs to none comes last.
    assert list(table.index) == ["RTK", "EMT", "other"]
    assert list(table["proteins"]) == [2, 2, 1]
    # What belongs to no pathway has no genes of its own.
    assert np.isnan(table.loc["other", "own"])
    assert table.loc["RTK", ["own", "other", "r2"]].tolist() == pytest.approx([0.4, -0.05, 0.35])
    assert table.loc["EMT", ["own", "other", "r2"]].tolist() == pytest.approx([0.3, 0.1, 0.4])


def test_a_pathway_without_any_gene_has_no_own_share():
    """Not zero: nobody knows what genes explain that were not measured."""
    table = explained_by_pathway(HELD_OUT, groups_of(["EMT", "other"]), PATHWAYS).set_index("pathway")
    assert table["own"].isna().tolist() == [True, False, True]
    assert table["other"].notna().all()


def test_crosstalk_counts_a_protein_in_each_of_its_pathways():
    """a is in EMT and RTK, b in EMT, c in RTK: counted by hand."""
    pairs = [("a", "b", True), ("c", "a", True), ("b", "c", False), ("d", "a", False)]
    edges = pd.DataFrame(pairs, columns=["source", "target", "selected"])
    found = crosstalk(edges, NODES, PATHWAYS).set_index(["pathway_a", "pathway_b"])
    assert list(found.index.get_level_values(0).unique()) == ["RTK", "EMT", "other"]
    expected = {
        ("RTK", "RTK"): (1, 1),  # ac
        ("RTK", "EMT"): (2, 3),  # ab and ac, and bc
        ("RTK", "other"): (0, 2),  # ad, and cd, which is not listed
        ("EMT", "EMT"): (1, 1),  # ab
        ("EMT", "other"): (0, 2),
        ("other", "other"): (0, 0),
    }
    assert {pair: tuple(row) for pair, row in zip(found.index, found.to_numpy(), strict=True)} == expected


def test_crosstalk_counts_every_pair_once():
    rng = np.random.default_rng(0)
    names = [f"p{i}" for i in range(12)]
    nodes = pd.DataFrame({"id": names, "pathways": rng.choice(["x", "y", "z"], 12)})
    pairs = [tuple(rng.permutation(pair)) for pair in combinations(names, 2)]
    edges = pd.DataFrame(pairs, columns=["source", "target"]).assign(selected=rng.random(len(pairs)) < 0.3)
    table = crosstalk(edges, nodes, ["z", "x", "y"])
    of = dict(zip(nodes["id"], nodes["pathways"], strict=True))
    for row in table.itertuples():
        within = [{of[a], of[b]} == {row.pathway_a, row.pathway_b} for a, b in pairs]
        assert row.possible == sum(within)
        assert row.edges == sum(edges["selected"][within])
    assert len(table) == 6
    assert table["possible"].sum() == len(pairs)
    assert table["edges"].sum() == edges["selected"].sum()


def test_crosstalk_of_a_single_protein():
    edges = pd.DataFrame({"source": [], "target": [], "selected": []}, dtype=object)
    table = crosstalk(edges, NODES[1:2], PATHWAYS)
    assert list(table.itertuples(index=False, name=None)) == [("EMT", "EMT", 0, 0)]


def test_tables_of_cohorts_keep_their_order():
    tables = {"OV": pd.DataFrame({"edges": [3, 1]}), "COAD": pd.DataFrame({"edges": [2]})}
    assert list(of_cohorts(tables).itertuples(index=False, name=None)) == [("OV", 3), ("OV", 1), ("COAD", 2)]
    assert list(of_cohorts(tables)) == ["cohort", "edges"]


def fit(cohort, method, **tuned):
    found = {"features": 1, "features_with_associations": 1, "associations": 2, "edges": 3}
    return {"cohort": cohort, "method": method, "tuned": tuned, "found": found, "diagnostics": {}}


def test_every_fit_is_compared_with_the_reference_of_its_cohort():
    rows = [
        ("OV", "full", "sequential", "associations", 0.25),
        ("OV", "full", "sequential", "edges", 0.5),
        ("OV", "sequential", "capme", "associations", 0.125),
        ("OV", "sequential", "capme", "edges", 0.75),
        ("OV", "full", "capme", "edges", 0.9),
        ("COAD", "sequential", "capme", "associations", 0.3),
        ("COAD", "sequential", "capme", "edges", 0.4),
    ]
    jaccard = pd.DataFrame(rows, columns=["cohort", "method_a", "method_b", "what", "jaccard"])
    fits = [fit("OV", "full"), fit("OV", "sequential"), fit("OV", "capme"), fit("COAD", "capme")]
    held_out = [{"log_likelihood": float(-i), "r2": i / 10} for i in range(4)]
    table = methods_table(fits, held_out, jaccard, "sequential", {})
    assert table["jaccard_associations"].tolist() == [0.25, 1.0, 0.125, 0.3]
    assert table["jaccard_edges"].tolist() == [0.5, 1.0, 0.75, 0.4]
    assert table["held_out_log_likelihood"].tolist() == [0.0, -1.0, -2.0, -3.0]
    assert table["held_out_r2"].tolist() == [0.0, 0.1, 0.2, 0.3]
    assert table[["features", "associations", "edges"]].to_numpy().tolist() == [[1, 2, 3]] * 4


def test_a_method_without_findings_does_not_agree_with_itself():
    none = {
        **fit("OV", "sequential"),
        "found": {"features": 0, "features_with_associations": 1, "associations": 1, "edges": 0},
    }
    jaccard = pd.DataFrame(columns=["cohort", "method_a", "method_b", "what", "jaccard"])
    predicted = {"log_likelihood": 0.0, "r2": 0.0}
    [row] = methods_table([none], [predicted], jaccard, "sequential", {}).to_dict("records")
    assert row["jaccard_associations"] == 1
    assert np.isnan(row["jaccard_edges"])


def test_what_a_fit_chose_is_told_in_three_digits():
    fits = [fit("OV", "full", lam=0.123456, relevance="entries", tails=None, hidden=2), fit("OV", "mssl")]
    nothing = pd.DataFrame(
        [("OV", "full", "mssl", what, 0.0) for what in ("associations", "edges")],
        columns=["cohort", "method_a", "method_b", "what", "jaccard"],
    )
    table = methods_table(fits, [{"log_likelihood": 0.0, "r2": 0.0}] * 2, nothing, "full", {})
    assert table["chosen"].tolist() == ["lam = 0.123, relevance = entries, hidden = 2", ""]


def test_floors_and_fits_that_are_none_are_rows_of_their_cohort():
    failed = {"code": "improper posterior", "message": "fits exactly\n  more"}
    fits = [
        fit("OV", "full"),
        {**fit("OV", "hsghs"), "failed": failed, "found": dict.fromkeys(fit("OV", "full")["found"])},
        {**fit("COAD", "hsghs"), "diagnostics": {"rhat": 1.88, "ess": 1.4}},
        {**fit("COAD", "jrns"), "diagnostics": {"rhat": 1.1, "ess": 300.0}},
    ]
    predicted, nothing = {"log_likelihood": -1.0, "r2": 0.5}, {"log_likelihood": None, "r2": None, "failed": failed}
    rows = [("OV", "full", "hsghs", np.nan), ("COAD", "full", "hsghs", 0.5), ("COAD", "full", "jrns", 0.5)]
    jaccard = pd.DataFrame(
        [(cohort, a, b, what, value) for cohort, a, b, value in rows for what in ("associations", "edges")],
        columns=["cohort", "method_a", "method_b", "what", "jaccard"],
    )
    floors = {"OV": {"ridge": predicted, "no_regression": predicted}, "COAD": {"ridge": nothing}}
    table = methods_table(fits, [predicted, nothing, nothing, predicted], jaccard, "full", floors)
    assert list(zip(table["cohort"], table["method"], strict=True)) == [
        *(("OV", method) for method in ("full", "hsghs", "ridge", "no_regression")),
        *(("COAD", method) for method in ("hsghs", "jrns", "ridge")),
    ]
    assert table["edges"].isna().tolist() == [False, True, True, True, False, False, True]
    assert table["jaccard_edges"].isna().tolist() == [False, True, True, True, False, False, True]
    assert table["held_out_r2"].isna().tolist() == [False, True, False, False, True, False, True]
    assert table["rhat"].dropna().tolist() == [1.88, 1.1]
    assert table["ess"].dropna().tolist() == [1.4, 300.0]
    assert table["remark"].tolist() == [
        *("", "not fitted: improper posterior: fits exactly", "", ""),
        *("not converged: R̂ above 1.1; no predictions: improper posterior: fits exactly", ""),
        "no predictions: improper posterior: fits exactly",
    ]


def test_cohorts_tell_what_was_found_and_what_was_used():
    def side(samples, features):
        return {"samples": {"found": samples}, "features": {"found": features}}

    summary = {"cohort": "OV", "title": "Ovary", "simulated": False, "n_samples": 5, "n_inputs": 3, "n_outputs": 2}
    rows = cohorts_table([{**summary, "inputs": side(9, 30), "outputs": side(8, 20)}])
    assert rows.to_dict("records") == [
        {
            **{"cohort": "OV", "title": "Ovary", "data": "measured", "samples": 5, "inputs": 3, "outputs": 2},
            **{"samples_with_inputs": 9, "samples_with_outputs": 8, "inputs_found": 30, "outputs_found": 20},
        }
    ]


def test_names_by_side():
    groups = pd.DataFrame({"side": ["inputs", "outputs", "inputs"], "name": ["AKT1", "AKT1", "MYC"]})
    assert names_in(groups) == ({"AKT1", "MYC"}, {"AKT1"})
