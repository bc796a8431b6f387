"""What goes into the explorer's page: caps, thresholds, intervals, escaping, the same bytes."""

import json
import re
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from networks import CAUTION, HOSTILE, INPUTS, OUTPUTS, large_cohorts, small_cohorts, tables_of

from nard import NARD
from nard.estimator.cautions import caution_text
from nard.export.layouts import circular_layout
from nard.fits.comparison import edge_set
from nard.palette import FIRST, NEGATIVE, PALETTE, POSITIVE, SECOND
from nard.report.explorer import explorer_page, payload
from nard.report.explorer.intervals import association_intervals, edge_intervals
from nard.report.explorer.page import asset
from nard.report.explorer.payload import MOST_SELECTED, _numbered
from nard.simulate import make_regression

STATISTICS = ["value", "lower", "upper", "q"]


def page_data(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1))


@pytest.fixture(scope="module")
def fitted():
    data = make_regression(60, 5, 8, relevant=1.0, edge_probability=0.4, random_state=0)
    return tables_of(NARD(lam=0.1).fit(data.X, data.Y), 0.05)


@pytest.mark.parametrize(("what", "intervals"), [("associations", association_intervals), ("edges", edge_intervals)])
def test_an_interval_excludes_zero_where_the_test_rejects(fitted, what, intervals):
    table = getattr(fitted, what)
    bounds = intervals(table)
    excludes = (bounds["lower"] > 0) | (bounds["upper"] < 0)
    assert (excludes == (table["pvalue"] < 0.05)).all()
    assert 0 < excludes.sum() < len(table)
    estimate = table["weight" if what == "associations" else "partial_correlation"]
    assert ((bounds["lower"] <= estimate) & (estimate <= bounds["upper"])).all()


def test_intervals_of_weights_cover_the_truth():
    """Of the entries of W, 95 % are covered; most are zero, and shrinkage would show in those that are not."""
    covered, covered_effects = [], []
    for seed in range(20):
        data = make_regression(80, 5, 6, relevant=1.0, random_state=seed)
        table = NARD(lam=0.1, relevance="inputs", hidden=0, standardize=False).fit(data.X, data.Y).associations()
        truth = np.array(
            [data.coef[int(t[1:]), int(f[1:])] for f, t in zip(table["feature"], table["target"], strict=True)]
        )
        bounds = association_intervals(table)
        inside = (bounds["lower"] <= truth) & (truth <= bounds["upper"])
        covered.extend(inside)
        covered_effects.extend(inside[truth != 0])
    # 600 entries: the binomial standard error is 0.9 %.
    assert 0.92 <= np.mean(covered) <= 0.98
    assert np.mean(covered_effects) >= 0.9


def test_a_method_without_tests_has_no_intervals_unless_it_has_a_posterior(fitted):
    bare = fitted.associations.assign(degrees=np.nan, z=np.nan, pvalue=np.nan, qvalue=np.nan)
    posterior = association_intervals(bare)
    assert np.allclose((posterior["upper"] - posterior["lower"]) / bare["sd"], 2 * 1.959964)
    assert association_intervals(bare.assign(sd=np.nan)).isna().all(axis=None)
    assert edge_intervals(fitted.edges.assign(sd=np.nan, degrees=np.nan)).isna().all(axis=None)


def test_an_interval_never_leaves_the_range_of_a_correlation(fitted):
    bounds = edge_intervals(fitted.edges.assign(sd=fitted.edges["sd"] * 10))
    assert bounds.abs().max(axis=None) == 1.0


def test_intervals_by_hand():
    """With 10 degrees of freedom 95 % of Student's t lie within ±2.228139."""
    table = pd.DataFrame({"weight": [1.0, -0.5], "partial_correlation": [0.9, -0.5], "sd": [0.1, 0.2], "degrees": 10.0})
    half = 2.228139 * table["sd"]
    found = association_intervals(table)
    np.testing.assert_allclose(found, np.column_stack([table["weight"] - half, table["weight"] + half]), rtol=1e-6)
    np.testing.assert_allclose(
        edge_intervals(table), [[0.9 - half[0], 1.0], [-0.5 - half[1], -0.5 + half[1]]], rtol=1e-6
    )


def test_every_selected_finding_is_listed_and_the_next_ones_up_to_the_cap():
    table = large_cohorts()[0].fits["sequential"].edges
    found = payload(large_cohorts()[:1], "sequential")["cohorts"][0]["fits"]["sequential"]["edges"]
    assert len(table) == 300 * 299 // 2 == found["candidates"]
    assert found["found"] == sum(found["selected"]) == len(found["a"]) == 2000
    assert found["beyond"] == table["qvalue"].iloc[2000] > 0.05

    [small, _] = payload(small_cohorts(), "sequential")["cohorts"]
    listed = small["fits"]["sequential"]["edges"]
    assert len(listed["a"]) == listed["candidates"] == 45 > listed["found"]
    assert listed["beyond"] is None


def test_what_another_cohort_has_selected_is_listed_with_its_estimate():
    """So that a comparison can show how far from the threshold it is; the list is as complete as without them."""
    one, two = large_cohorts()
    alone = payload([one], "sequential")["cohorts"][0]["fits"]["sequential"]["edges"]
    both = payload([one, two], "sequential")["cohorts"][0]["fits"]["sequential"]["edges"]
    assert both["beyond"] == alone["beyond"]
    assert both["b"][: len(alone["b"])] == alone["b"]
    names = list(one.groups.loc[one.groups["side"] == "outputs", "name"])
    pairs = [tuple(sorted((names[a], names[b]))) for a, b in zip(both["a"], both["b"], strict=True)]
    extra = dict(zip(pairs[len(alone["a"]) :], both["value"][len(alone["a"]) :], strict=True))
    table = one.fits["sequential"].edges
    assert set(extra) == edge_set(two.fits["sequential"].edges) - edge_set(table)
    estimates = table.set_index(["source", "target"])["partial_correlation"]
    assert [estimates[pair] for pair in extra] == pytest.approx(list(extra.values()), rel=1e-3)
    assert min(q for q in both["q"][len(alone["q"]) :]) >= both["beyond"]


def test_a_network_beyond_all_measure_is_cut_and_says_so():
    [cohort, _] = large_cohorts()
    fit = cohort.fits["sequential"]
    everything = replace(fit, edges=fit.edges.assign(selected=True))
    found = payload([replace(cohort, fits={"sequential": everything})], "sequential")["cohorts"][0]["fits"]
    found = found["sequential"]["edges"]
    assert len(found["a"]) == MOST_SELECTED < found["found"] == found["candidates"]
    assert found["beyond"] == fit.edges["qvalue"].iloc[MOST_SELECTED]


def test_a_table_of_selected_rows_alone_is_complete_up_to_its_rate():
    [cohort, _] = small_cohorts()
    fit = cohort.fits["sequential"]
    table = fit.associations[fit.associations["selected"]]
    cut = replace(fit, fit={**fit.fit, "associations_listed": "selected only"}, associations=table)
    found = payload([replace(cohort, fits={"sequential": cut})], "sequential")["cohorts"][0]["fits"]["sequential"]
    assert found["edges"]["beyond"] is None
    assert 0.05 < found["associations"]["beyond"] < 0.0500001


def test_a_table_of_findings_and_the_surest_others_is_complete_up_to_the_last():
    [cohort, _] = large_cohorts()
    fit = cohort.fits["sequential"]
    listed = fit.edges.head(2600)
    cut = replace(fit, fit={**fit.fit, "edges_listed": "selected and surest others"}, edges=listed)
    found = payload([replace(cohort, fits={"sequential": cut})], "sequential")["cohorts"][0]["fits"]["sequential"]
    assert found["edges"]["beyond"] == listed["qvalue"].iloc[fit.edges["selected"].sum()]
    few = replace(cut, edges=fit.edges[fit.edges["selected"]])
    found = payload([replace(cohort, fits={"sequential": few})], "sequential")["cohorts"][0]["fits"]["sequential"]
    assert found["edges"]["beyond"] == few.edges["qvalue"].max()


def test_of_very_many_inputs_only_those_with_a_finding_are_on_the_page(monkeypatch):
    [cohort, _] = small_cohorts()
    fit = cohort.fits["sequential"]
    [lead] = fit.associations.loc[fit.associations["stand_ins"] != "", "stand_ins"].head(1)
    rows = fit.associations.head(2)
    few = replace(fit, associations=rows, features=fit.features.assign(qvalue=1.0))
    cohort = replace(cohort, fits={"sequential": few})
    [everything] = payload([cohort], "sequential")["cohorts"]
    monkeypatch.setattr(import_module("nard.report.explorer.payload"), "_MOST_INPUTS", 3)
    [some] = payload([cohort], "sequential")["cohorts"]
    names = [node["name"] for node in some["inputs"]]
    assert set(names) == {*rows["feature"], *lead.split(";")}
    assert (some["n_inputs"], len(everything["inputs"])) == (len(INPUTS), len(INPUTS))
    found, before = some["fits"]["sequential"]["associations"], everything["fits"]["sequential"]["associations"]
    assert [names[rank] for rank in found["a"]] == list(rows["feature"])
    assert [[names[rank] for rank in ranks] for ranks in found["stand_ins"]] == [lead.split(";"), []]
    assert {**found, "a": 0, "stand_ins": 0} == {**before, "a": 0, "stand_ins": 0}
    assert some["fits"]["sequential"]["relevance"] == [1.0] * len(names)


def test_a_method_without_tests_lists_what_it_selected():
    [cohort, _] = payload(small_cohorts(), "sequential")["cohorts"]
    fit = cohort["fits"]["capme"]
    assert not fit["tested"]
    for what in ("edges", "associations"):
        assert set(fit[what]["selected"]) == {1}
        assert len(fit[what]["a"]) == fit[what]["found"]
        assert set(fit[what]["q"]) == {None}


def test_numbers_are_those_of_the_tables():
    [cohort, _] = small_cohorts()
    table = cohort.fits["sequential"].associations
    shown = payload(small_cohorts(), "sequential")["cohorts"][0]
    found = shown["fits"]["sequential"]["associations"]
    expected = pd.concat([table, association_intervals(table)], axis=1).sort_values("qvalue", kind="stable")
    assert len(found["a"]) == len(table)
    for i, row in enumerate(expected.itertuples()):
        assert shown["inputs"][found["a"][i]]["name"] == row.feature
        assert shown["outputs"][found["b"][i]]["name"] == row.target
        numbers = [found[name][i] for name in STATISTICS]
        assert numbers == pytest.approx(list(expected.iloc[i][["weight", "lower", "upper", "qvalue"]]), rel=1e-3)


def test_an_association_tells_whose_it_may_be():
    [cohort, _] = small_cohorts()
    table = cohort.fits["sequential"].associations
    shown = payload(small_cohorts(), "sequential")["cohorts"][0]
    found, names = shown["fits"]["sequential"]["associations"], [node["name"] for node in shown["inputs"]]
    pairs = [
        (names[a], shown["outputs"][b]["name"], own, probability, [names[rank] for rank in stand_ins])
        for a, b, own, probability, stand_ins in zip(
            *(found[key] for key in ("a", "b", "own", "probability", "stand_ins")), strict=True
        )
    ]
    surest = table.iloc[0]
    assert (surest["feature"], surest["target"], 0, 0.625, surest["stand_ins"].split(";")) in pairs
    assert {pair[:2] for pair in pairs if pair[2]} == {("BAX", "BAX"), ("BCL2", "BCL2"), (OUTPUTS[-1], OUTPUTS[-1])}
    assert any(probability is None for *_, probability, _ in pairs)
    assert "own" not in shown["fits"]["capme"]["associations"]
    assert "own" not in shown["fits"]["sequential"]["edges"]


def test_stand_ins_may_have_semicolons_in_their_names():
    inputs = {"a": 0, "b;c": 1, "d": 2}
    assert _numbered("d;b;c;a", inputs) == [2, 1, 0]
    assert _numbered("", inputs) == []


def test_rows_are_those_of_the_smallest_q_values_whatever_their_p_values():
    """Weights and families of their own make q-values that do not rise with p."""
    [cohort, _] = small_cohorts()
    fit = cohort.fits["sequential"]
    few = pd.concat([fit.associations] * 20, ignore_index=True)
    q = np.random.default_rng(0).uniform(size=len(few))
    few = few.assign(qvalue=q, selected=q <= 0.05)
    shown = payload([replace(cohort, fits={"sequential": replace(fit, associations=few)})], "sequential")
    found = shown["cohorts"][0]["fits"]["sequential"]["associations"]
    assert len(few) > len(found["q"]) == 400
    assert found["q"] == pytest.approx(np.sort(q)[:400], rel=1e-3)
    assert found["beyond"] == np.sort(q)[400]


def test_stability_goes_with_its_row():
    [cohort, _] = small_cohorts()
    tables = cohort.fits["sequential"]
    rank = {pair: i / 100 for i, pair in enumerate(zip(tables.edges["source"], tables.edges["target"], strict=True))}
    edges = tables.edges.assign(stability=list(rank.values()))
    fits = {"sequential": replace(tables, edges=edges)}
    [shown] = payload([replace(cohort, fits=fits)], "sequential")["cohorts"]
    listed, names = shown["fits"]["sequential"]["edges"], [node["name"] for node in shown["outputs"]]
    pairs = [(names[a], names[b]) for a, b in zip(listed["a"], listed["b"], strict=True)]
    assert listed["stability"] == pytest.approx([rank[pair] for pair in pairs])
    assert "stability" not in shown["fits"]["sequential"]["associations"]


def test_hidden_inputs_and_cautions_are_told():
    first, second = payload(small_cohorts(), "sequential")["cohorts"]
    fit = first["fits"]["sequential"]
    [hidden] = fit["hidden"]
    loading = {first["outputs"][rank]["name"]: value for rank, value in hidden}
    assert loading == pytest.approx(dict(small_cohorts()[0].fits["sequential"].hidden[0].outputs), rel=1e-3)
    assert fit["cautions"] == [caution_text(CAUTION)]
    assert second["fits"]["sequential"]["cautions"] == []
    assert first["fits"]["capme"]["hidden"] == []


@pytest.mark.parametrize("threshold", [0.05, 0.01, 0.2, 1e-6])
def test_rounding_lets_nothing_pass_a_threshold_that_the_table_holds_back(threshold):
    [cohort, _] = small_cohorts()
    fit = cohort.fits["sequential"]
    near = threshold * np.array([1 - 1e-6, 1.0, 1 + 1e-6])
    edges = fit.edges.assign(qvalue=np.sort(np.resize(near, len(fit.edges))))
    edges["selected"] = edges["qvalue"] <= threshold
    shown = payload([replace(cohort, fits={"sequential": replace(fit, edges=edges)})], "sequential")
    q = np.array(shown["cohorts"][0]["fits"]["sequential"]["edges"]["q"])
    assert ((q <= threshold) == (edges["qvalue"] <= threshold)).all()


def test_an_output_has_the_same_place_in_every_cohort_that_of_the_figures():
    first, second = payload(small_cohorts(), "sequential")["cohorts"]
    places = [{node["name"]: (node["x"], node["y"]) for node in one["outputs"]} for one in (first, second)]
    assert places[1].items() < places[0].items()
    groups = small_cohorts()[0].groups
    figure = circular_layout(groups[groups["side"] == "outputs"].rename(columns={"name": "id"}))
    for name, (x, y) in places[0].items():
        assert (x, -y) == pytest.approx(figure[name], abs=1e-4)


def test_hostile_names_are_data_and_nothing_else():
    page = explorer_page(payload(small_cohorts(), "sequential"), "report.html")
    assert [node["name"] for node in page_data(page)["cohorts"][0]["outputs"]] == OUTPUTS
    for name in HOSTILE[:3]:
        assert name not in page
    # The data, and the page's own script.
    assert len(re.findall("<script", page)) == len(re.findall("</script>", page)) == 2


def test_a_hostile_title_and_link_are_escaped():
    [cohort, _] = small_cohorts()
    cohort = replace(cohort, summary={**cohort.summary, "title": "<script>x</script>"})
    page = explorer_page(payload([cohort], "sequential"), 'x"><script>')
    assert "<title>NARD explorer: &lt;script&gt;x&lt;/script&gt;</title>" in page
    assert 'x"><script>' not in page


def test_nothing_is_loaded_and_no_script_but_its_own_may_run():
    page = explorer_page(payload(small_cohorts(), "sequential"), "report.html")
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page).group(1)
    assert policy.startswith("default-src &#39;none&#39;;")
    assert "script-src &#39;sha256-" in policy
    assert re.findall(r'(?:src|href)="([^"]*)"', re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)) == [
        "report.html"
    ]


def test_the_same_tables_give_the_same_bytes():
    pages = []
    for _ in range(2):
        small_cohorts.cache_clear()
        pages.append(explorer_page(payload(small_cohorts(), "sequential"), "report.html"))
    assert pages[0] == pages[1]


def test_the_drawing_has_the_colours_of_the_palette():
    """Those of signs in one cohort, others for two cohorts, none of them twice, and none that is a pathway's."""
    style = asset("network.css")
    strokes = dict(re.findall(r"^\.([a-z-]+) \{ stroke: (#[0-9a-f]{6});", style, re.MULTILINE))
    wanted = {"positive": POSITIVE, "negative": NEGATIVE, "only-first": FIRST, "only-second": SECOND}
    assert {name: strokes[name].upper() for name in wanted} == wanted
    assert len(set(strokes.values())) == len(strokes) == 5
    assert not {stroke.upper() for stroke in strokes.values()} & set(PALETTE)
