"""Everything that the explorer offers, done in a browser and compared with the tables behind it."""

import re
from csv import QUOTE_NONE
from io import StringIO
from itertools import islice
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver import Keys

from nard.estimator.cautions import caution_text
from nard.fits.comparison import association_set, edge_set
from nard.fits.methods import METHODS
from nard.report.explorer.intervals import association_intervals, edge_intervals

CAP = 100  # that the page has at first
SVG = "{http://www.w3.org/2000/svg}"


def tour(page, cohorts, reference):
    """Drives a page of these cohorts; every step states what the tables say it must show."""
    it_opens_with_the_reference(page, cohorts, reference)
    every_cohort_and_method_can_be_chosen(page, cohorts)
    page.choose("cohort", 0)
    page.choose("method", reference)
    fit = cohorts[0].fits[reference]
    the_slider_filters(page, fit)
    the_legend_names_the_pathways(page, cohorts[0])
    name = busiest(fit)
    search_finds(page, cohorts[0], name)
    a_node_tells_what_it_has(page, cohorts[0], fit, name)
    an_input_tells_what_it_drives(page, fit)
    an_association_tells_whose_it_may_be(page, fit)
    hidden_inputs_and_cautions_are_told(page, fit)
    the_keyboard_is_enough(page, cohorts[0])
    the_view_moves(page, name)
    the_exports_hold_what_is_shown(page, cohorts[0], fit)
    two_cohorts_compare(page, cohorts, reference)
    page.assert_silent()


def busiest(fit):
    """The output with most neighbours among those that an input drives."""
    edges = fit.edges[fit.edges["selected"]]
    driven = set(fit.associations.loc[fit.associations["selected"], "target"])
    return next(name for name in pd.concat([edges["source"], edges["target"]]).value_counts().index if name in driven)


def it_opens_with_the_reference(page, cohorts, reference):
    assert page.chrome.title.startswith("NARD explorer")
    fit, title = cohorts[0].fits[reference], cohorts[0].summary["title"]
    passing = int((fit.edges["qvalue"] <= fit.fit["fdr"]).sum())
    assert page.one("#method").get_attribute("value") == reference
    assert page.count(".edge") == min(passing, CAP)
    hidden = f"{passing - CAP} are hidden" if passing > CAP else "none is hidden"
    assert hidden in page.text("status")
    assert page.one("#simulated").is_displayed() == cohorts[0].summary["simulated"]
    if cohorts[0].summary["simulated"]:
        assert page.text("simulated") == f"SIMULATED DATA: {title}"
        assert page.options("cohort")[0] == f"{title} (simulated)"


def every_cohort_and_method_can_be_chosen(page, cohorts):
    for rank, cohort in enumerate(cohorts):
        page.choose("cohort", rank)
        groups = cohort.groups
        assert page.count(".node.output") == (groups["side"] == "outputs").sum()
        assert page.options("method") == [METHODS[method].title for method in cohort.fits]
        for method, fit in cohort.fits.items():
            page.choose("method", method)
            assert page.count(".edge") == min(int(fit.edges["selected"].sum()), CAP)
            if fit.edges["qvalue"].isna().all():
                assert page.one("#by").get_attribute("value") == "strength"
                assert "has no q-values" in page.text("status")


def the_slider_filters(page, fit):
    page.choose("most", "Infinity")
    page.choose("by", "q")
    counts = {}
    limit = page.slide(Keys.HOME)
    while limit not in counts:
        assert page.count(".edge") == (fit.edges["qvalue"] <= limit).sum()
        counts[limit] = page.count(".edge")
        limit = page.slide(Keys.ARROW_RIGHT)
    assert fit.fit["fdr"] in counts
    assert len(set(counts.values())) > 2
    page.choose("by", "strength")
    strength = fit.edges.loc[fit.edges["selected"], "partial_correlation"].abs()
    assert page.count(".edge") == len(strength)
    for key in (Keys.END, Keys.PAGE_DOWN, Keys.PAGE_DOWN, Keys.ARROW_LEFT):
        limit = page.slide(key)
        assert page.count(".edge") == (strength >= limit).sum() < len(strength)
    # The threshold of either kind is kept.
    page.choose("by", "q")
    assert page.count(".edge") == list(counts.values())[-1]
    page.slide(Keys.HOME)
    while page.slide(Keys.ARROW_RIGHT) != fit.fit["fdr"]:
        pass
    page.choose("most", CAP)


def the_legend_names_the_pathways(page, cohort):
    outputs = cohort.groups[cohort.groups["side"] == "outputs"]
    colours = dict(zip(outputs["pathway"], outputs["colour"], strict=True))
    shown = page.chrome.execute_script(
        "return [...document.querySelectorAll('#legend li')].filter((one) => one.querySelector('.chip'))"
        ".map((one) => [one.textContent, getComputedStyle(one.querySelector('.chip')).backgroundColor])"
    )
    assert {name: "#{:02X}{:02X}{:02X}".format(*map(int, re.findall(r"\d+", rgb))) for name, rgb in shown} == colours
    assert {"positive", "negative"} < set(page.texts("#legend li"))
    fills = page.chrome.execute_script(
        "return [...document.querySelectorAll('.node.output')].map((one) =>"
        " [one.dataset.id.slice(7), one.querySelector('circle').getAttribute('fill')])"
    )
    assert dict(fills) == dict(zip(outputs["name"], outputs["colour"], strict=True))


def search_finds(page, cohort, name):
    page.search("no such name, surely")
    assert page.text("search-status") == "No such name."
    page.one("#search").send_keys(Keys.ESCAPE)
    page.one("#search").send_keys(name[:3].lower())
    names = {one.lower() for one in cohort.groups["name"]}
    listed = page.texts("#matches button")
    assert 0 < len(listed) <= 8
    assert len(listed) == min(8, len([1 for one in cohort.groups["name"].str.lower() if name[:3].lower() in one]))
    page.one("#search").send_keys(Keys.ESCAPE)
    page.search(name)
    assert page.text("panel-title") == name
    assert page.count(".node.chosen") == 1
    assert name.lower() in names
    page.one("#clear").click()
    assert page.count(".node.chosen") == 0


def numbers(text):
    """Value, bounds and q of a cell of the panel."""
    return [float(number) for number in re.findall(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text.replace("−", "-"))]


def a_node_tells_what_it_has(page, cohort, fit, name):
    page.click_node("output", name)
    assert page.text("panel-title") == name
    row = cohort.groups.set_index(["side", "name"]).loc[("outputs", name)]
    about = page.one("#panel dl").text
    for pathway in row["pathways"].split(";"):
        assert pathway in about
    edges = pd.concat([fit.edges, edge_intervals(fit.edges)], axis=1)
    edges = edges[(edges["qvalue"] <= fit.fit["fdr"]) & ((edges["source"] == name) | (edges["target"] == name))]
    shown = page.panel_rows("Neighbours")
    assert len(shown) == len(edges) > 0
    for edge in edges.itertuples():
        other = edge.target if edge.source == name else edge.source
        value, lower, upper, q = numbers(shown[other][0])
        assert [value, lower, upper] == pytest.approx([edge.partial_correlation, edge.lower, edge.upper], abs=1e-3)
        assert q == pytest.approx(edge.qvalue, rel=0.06)
    rows = pd.concat([fit.associations, association_intervals(fit.associations)], axis=1)
    rows = rows[(rows["qvalue"] <= fit.fit["fdr"]) & (rows["target"] == name)]
    shown = page.panel_rows("Driven by")
    assert len(shown) == len(rows) > 0
    assert page.count(".node.input") == page.count(".association") == min(len(rows), 12)
    for row in rows.itertuples():
        value, lower, upper, q, *probability = numbers(shown[row.feature][0])
        assert len(probability) == np.isfinite(getattr(row, "probability", np.nan))
        assert ("own" in shown[row.feature][0]) == getattr(row, "own", False)
        assert [value, lower, upper] == pytest.approx([row.weight, row.lower, row.upper], abs=1e-3)
        assert q == pytest.approx(row.qvalue, rel=0.06)


def an_input_tells_what_it_drives(page, fit):
    rows = fit.associations[fit.associations["selected"]]
    name = rows["feature"].value_counts().index[0]
    targets = set(rows.loc[rows["feature"] == name, "target"])
    page.one("#search").send_keys(name)
    kind = next(button for button in page.all("#matches button") if "mRNA" in button.text or "molecular" in button.text)
    kind.click()
    assert set(page.panel_rows("Drives")) == targets
    relevance = fit.features.set_index("feature")["qvalue"][name]
    said = re.search(r"q = (\S+)", page.one("#panel dl").text).group(1)
    assert float(said) == pytest.approx(relevance, rel=0.06)


def an_association_tells_whose_it_may_be(page, fit):
    rows = fit.associations[fit.associations["selected"]]
    rows = rows[rows["stand_ins"].fillna("") != ""] if "stand_ins" in rows else rows[:0]
    for row in rows.head(1).itertuples():
        page.search(row.target)
        told = page.texts(".stand-ins")
        names = row.stand_ins.split(";")
        assert any(all(name in text for name in names) for text in told)
        page.one("#clear").click()


def hidden_inputs_and_cautions_are_told(page, fit):
    assert page.one("#hidden-inputs").is_displayed() == bool(fit.hidden)
    assert page.count("#hidden-list li") == len(fit.hidden)
    for text, hidden in zip(page.texts("#hidden-list li"), fit.hidden, strict=True):
        assert all(name in text for name, _ in hidden.outputs)
    cautions = fit.fit.get("cautions", ())
    assert page.one("#cautions").is_displayed() == bool(cautions)
    for text, caution in zip(page.texts("#cautions li"), cautions, strict=True):
        assert caution_text(caution) in text


def the_keyboard_is_enough(page, cohort):
    """From the top of the page: tab to the drawing, go around, choose a neighbour in the panel, let go."""
    page.one("#search").click()
    outputs = list(cohort.groups.loc[cohort.groups["side"] == "outputs", "name"])
    page.keys(Keys.TAB)
    assert page.focused().partition(":")[0] in ("output", "input")
    page.keys(Keys.HOME)
    assert page.focused() == f"output:{outputs[0]}"
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert page.focused() == f"output:{outputs[1]}"
    page.keys(Keys.ENTER)
    assert page.text("panel-title") == outputs[1]
    assert page.focused() == f"output:{outputs[1]}"
    assert page.node("output", outputs[1]).get_attribute("aria-pressed") == "true"
    page.keys(Keys.ESCAPE)
    assert page.count(".node.chosen") == 0
    for button in ("further", "closer", "reset", "save-svg", "save-tsv"):
        page.keys(Keys.TAB)
        assert page.focused() == button


def the_view_moves(page, name):
    def place():
        return [float(number) for number in numbers(page.node("output", name).get_attribute("transform"))]

    start = place()
    page.drag(page.node("output", name).find_element("css selector", "circle"), 40, 25)
    moved = place()
    assert [b - a for a, b in zip(start, moved, strict=True)] == pytest.approx([40, 25], abs=6)
    assert page.count(".node.chosen") == 0
    page.one("#reset").click()
    assert place() == start
    page.one("#closer").click()
    assert place() != start
    page.one("#reset").click()
    assert place() == start


def saved_edges(page):
    text = StringIO(page.saved("save-tsv", "tsv"))
    return pd.read_csv(text, sep="\t", keep_default_na=False, na_values=[""], quoting=QUOTE_NONE)


def the_exports_hold_what_is_shown(page, cohort, fit):
    shown = min(CAP, int((fit.edges["qvalue"] <= fit.fit["fdr"]).sum()))
    table = saved_edges(page)
    strongest = fit.edges[fit.edges["qvalue"] <= fit.fit["fdr"]]
    strength = strongest["partial_correlation"].abs().sort_values(ascending=False).head(shown)
    expected = strongest.loc[strength.index]
    assert len(table) == shown
    assert edge_set(table.drop(columns="selected")) == edge_set(expected.drop(columns="selected"))
    assert list(table["partial_correlation"].abs()) == pytest.approx(list(strength), rel=1e-3)
    assert ((table["partial_correlation"] > 0) == (table["status"] == "positive")).all()
    assert ((table["lower"] < table["partial_correlation"]) & (table["partial_correlation"] < table["upper"])).all()

    drawing = ElementTree.fromstring(page.saved("save-svg", "svg").encode())
    classes = [path.get("class").split() for path in drawing.iter(f"{SVG}path")]
    assert sum("edge" in names for names in classes) == shown
    names = {title.text.split(", ")[0] for title in drawing.iter(f"{SVG}title")}
    outputs = cohort.groups[cohort.groups["side"] == "outputs"]
    assert {name.split(", ")[0] for name in outputs["name"]} <= names
    written = [text.text for text in drawing.iter(f"{SVG}text")]
    assert set(outputs["pathway"]) <= set(written)
    assert {"positive", "negative"} <= set(written)
    if cohort.summary["simulated"]:
        assert any("(simulated)" in (text or "") for text in written)


def two_cohorts_compare(page, cohorts, reference):
    first, second = islice(
        ((rank, one) for rank, one in enumerate(cohorts) if one.summary["kind"] == cohorts[0].summary["kind"]), 2
    )
    page.choose("most", "Infinity")
    page.choose("other", second[0])
    a, b = (edge_set(one.fits[reference].edges) for _, one in (first, second))
    titles = [one.summary["title"] for _, one in (first, second)]
    expected = {"shared": len(a & b), f"only {titles[0]}": len(a - b), f"only {titles[1]}": len(b - a)}
    assert all(expected.values())
    assert ", ".join(f"{count} {words}" for words, count in expected.items()) in page.text("status")
    for status, words in zip(("shared", "only-first", "only-second"), expected, strict=True):
        assert page.count(f".edge.{status}") == expected[words]
    signs = [
        one.fits[reference].edges.set_index(["source", "target"])["partial_correlation"] > 0
        for _, one in (first, second)
    ]
    signs = [{tuple(sorted(pair)): positive for pair, positive in one.items()} for one in signs]
    opposed = sum(signs[0][pair] != signs[1][pair] for pair in a & b)
    assert (f"Of the shared ones {opposed} have opposite signs." in page.text("status")) == (opposed > 0)
    # Not by colour alone.
    dashes = page.chrome.execute_script(
        "return ['shared', 'only-first', 'only-second'].map((status) =>"
        " getComputedStyle(document.querySelector('.edge.' + status)).strokeDasharray)"
    )
    assert len(set(dashes)) == 3
    assert set(expected) < set(page.texts("#legend li"))
    table = saved_edges(page)
    assert table["status"].value_counts().to_dict() == expected
    for status, pairs in zip(expected, (a & b, a - b, b - a), strict=True):
        rows = table[table["status"] == status]
        assert {tuple(sorted(pair)) for pair in zip(rows["source"], rows["target"], strict=True)} == pairs
    # The estimate of the cohort that lacks an edge is there, if it has both proteins.
    for (_, lacking), private in ((second, a - b), (first, b - a)):
        edges = lacking.fits[reference].edges
        pairs = map(sorted, zip(edges["source"], edges["target"], strict=True))
        estimates = dict(zip(map(tuple, pairs), edges["partial_correlation"], strict=True))
        column = table.set_index(["source", "target"])[f"partial_correlation_{lacking.summary['cohort']}"]
        shown = {tuple(sorted(pair)): value for pair, value in column.dropna().items()}
        assert {pair for pair in private if pair in shown} == private & set(estimates)
        assert [shown[pair] for pair in private & set(estimates)] == pytest.approx(
            [estimates[pair] for pair in private & set(estimates)], rel=1e-3
        )
    names = {one.summary["cohort"] for _, one in (first, second)}
    assert {f"partial_correlation_{name}" for name in names} < set(table)

    fits = [one.fits[reference] for _, one in (first, second)]
    driven = [association_set(fit.associations) for fit in fits]
    name = sorted(target for _, target in driven[0] & driven[1])[0]
    page.search(name)
    rows = page.panel_rows("Driven by")
    assert set(rows) == {feature for feature, target in driven[0] | driven[1] if target == name}
    # Those that only one of them has stand beside the other's estimate.
    for feature, cells in rows.items():
        for cell, pairs, fit in zip(cells, driven, fits, strict=True):
            table = fit.associations.set_index(["feature", "target"])
            assert numbers(cell)[0] == pytest.approx(table["weight"][feature, name], abs=1e-3)
            assert ("does not pass" in cell) == ((feature, name) not in pairs)
    page.one("#clear").click()
    page.choose("other", "")
    page.choose("most", CAP)
