"""The report: names are text, figures say what they show, and it looks like the explorer."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from browser import browser
from networks import CAUTION, HOSTILE, small_cohorts

from nard.estimator.cautions import caution_text
from nard.figures.alt_text import pathway_map
from nard.figures.catalogue import figures_of
from nard.figures.words import surest as surest_rows
from nard.fits.comparison import agreement, candidates, jaccard_table
from nard.fits.hidden import HiddenInput, hidden_inputs
from nard.fits.results import node_table
from nard.project.config import validated
from nard.report.captions import cohort_paragraph
from nard.report.explorer import explorer_page, payload
from nard.report.explorer.page import asset
from nard.report.methods_section import MethodsSection
from nard.report.page import CohortResults, FitNotes, report_page
from nard.report.page import _surest as surest

CONFIG = validated(
    {
        "methods": ["sequential", "full"],
        "figures": {"upset_per_pathway": True},
        "cohorts": {name: {"source": "simulated"} for name in ("AAA", "BBB")},
    }
)
FIGURES = ["network_AAA", "associations_AAA", "upset_edges", "crosstalk", "jaccard", "trace_AAA", "lam_path_AAA"]

COHORT = {
    **{"cohort": "BBB", "title": HOSTILE[0], "data": "simulated", "samples": 90, "inputs": 6, "outputs": 9},
    **{"samples_with_inputs": 100, "samples_with_outputs": 95, "inputs_found": 8, "outputs_found": 10},
}


@pytest.fixture(scope="module")
def cohorts():
    results = []
    for cohort in small_cohorts():
        tables = cohort.fits["sequential"]
        note = {"code": "read", "side": "inputs", "file": HOSTILE[0], "layout": "plain table"}
        only = {"code": "pathways only", "side": "inputs", "kept": 36, "found": 1550, "option": "genes"}
        skewed = {"code": "skewed", "side": "inputs", "skewness": 2.9, "smallest": -5.0, "largest": 36890.0}
        counts = {"n_inputs": 6, "n_outputs": 10, "dropped": [], "notes": [note], "advice": [only, skewed]}
        fit = {
            "method": "sequential",
            "fdr": 0.05,
            "found": {"features": 1, "features_with_associations": 1, "associations": 1, "edges": 1},
            "tuned": {"lam": 0.125},
            "diagnostics": {"converged": False},
        }
        nodes = node_table(cohort.groups, tables.edges)
        summary = {**cohort.summary, **counts}
        hidden = [HiddenInput(one.outputs, ((HOSTILE[0], 0.5), ("AKT1", -0.25))) for one in tables.hidden]
        fits = [FitNotes(method, tables.fit["cautions"], hidden) for method in ("sequential", "full")]
        fits.append(FitNotes("surrogate", [], []))
        fits.append(FitNotes("capme", [], None, {"code": "singular matrix", "message": f"of {HOSTILE[0]}"}))
        associations = tables.associations.assign(stability=0.875)
        results.append(CohortResults(summary, fit, {"r2": 0.2}, associations, tables.edges, nodes, fits))
    return results


@pytest.fixture(scope="module")
def tables():
    edges = {}
    for cohort in small_cohorts():
        table = cohort.fits["sequential"].edges
        rows = table[table["selected"]]
        pairs = (tuple(sorted(pair)) for pair in zip(rows["source"], rows["target"], strict=True))
        edges[cohort.summary["cohort"]] = dict(zip(pairs, rows["partial_correlation"], strict=True))
    possible = {cohort.summary["cohort"]: candidates(cohort.groups, "edges") for cohort in small_cohorts()}
    methods = pd.DataFrame(
        {
            "cohort": "AAA",
            "method": ["sequential", "hsghs", "mean"],
            "features": [3.0, 4.0, None],
            "converged": [True, None, None],
            "rhat": [None, 1.88, None],
            "remark": [None, "not converged: R̂ above 1.1", "not fitted: error: IndexError: <b>"],
        }
    )
    findings = {
        ("AAA", method, what): frozenset(found)
        for method, found in {"sequential": {1, 2, 3}, "full": {1, 2}, "capme": {3, 4, 5}}.items()
        for what in ("associations", "edges")
    }
    crosstalk = pd.DataFrame(
        [("AAA", "RTK", "RTK", 4, 9), ("AAA", "EMT", "RTK", 3, 9), ("AAA", "EMT", "TSC", 1, 9)],
        columns=["cohort", "pathway_a", "pathway_b", "edges", "possible"],
    )
    return {
        "cohorts": pd.DataFrame([COHORT]),
        "methods": methods,
        "jaccard": jaccard_table(findings),
        "crosstalk": crosstalk,
        "agreement_edges": agreement(edges, ("source", "target"), possible),
    }


@pytest.fixture(scope="module")
def page(cohorts, tables, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("figures")
    files = [folder / f"{name}.png" for name in FIGURES]
    for file in files:
        file.write_bytes(b"picture")
    config = {**CONFIG, "note": HOSTILE[1]}
    source = request.config.rootpath / "workflow" / "report"
    methods = MethodsSection([f"We measured {HOSTILE[2]}."], [HOSTILE[1]])
    figures, seconds = list(map(str, files)), {("AAA", "sequential"): 1.0}
    return report_page(cohorts, tables, figures, source, config, seconds, methods, others=["OLD", HOSTILE[2]])


def test_tables_have_the_spelling_of_the_file_and_the_key_beside_it(cohorts):
    spelt = {"GSK3ALPHABETAPS21S9": "GSK3-alpha-beta_pS21_S9"}
    cohort = replace(cohorts[0], nodes=cohorts[0].nodes.assign(label=cohorts[0].nodes["id"].replace(spelt)))
    parts = {part["title"].split(" ")[2]: part["table"] for part in surest(cohort)}
    for what, table, ends in (
        ("associations", cohort.associations, ["target"]),
        ("edges", cohort.edges, ["source", "target"]),
    ):
        header = [name for name, _ in parts[what]["header"]]
        cells = {row[header.index(end)][0] for row in parts[what]["rows"] for end in ends}
        names = set(table[table["selected"]].head(len(parts[what]["rows"]))[ends].to_numpy().ravel())
        assert "GSK3ALPHABETAPS21S9" in names
        assert cells == {f"{spelt[name]} ({name})" if name in spelt else name for name in names}


def test_the_surest_are_those_with_the_smallest_q_values():
    """Own pairs are a family of their own, so that p-values are in another order."""
    table = pd.DataFrame(
        {
            "feature": list("abcd"),
            "pvalue": [1e-5, 1e-4, 1e-3, 1e-9],
            "qvalue": [0.04, 0.03, 1e-3, 1e-9],
            "selected": [True, True, True, False],
        }
    )
    assert surest_rows(table, 2)["feature"].tolist() == ["c", "b"]
    untested = table.assign(pvalue=np.nan, qvalue=np.nan)
    assert surest_rows(untested, 2)["feature"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("found", "r2", "words"),
    [
        (
            (0, 0, 0),
            -0.024,
            ("none of the genes has an association with any", "and no pairs of proteins stay", "−0.02"),
        ),
        (
            (1, 2, 1),
            0.1,
            ("1 of the genes has associations with proteins, 2 in all, and 1 pair of proteins stays", "10.0%"),
        ),
    ],
)
def test_paragraphs_say_what_is_and_what_is_not(cohorts, found, r2, words):
    cohort = cohorts[0]
    numbers = dict(zip(("features_with_associations", "associations", "edges"), found, strict=True))
    fit = {**cohort.fit, "found": {**numbers, "features": 1}}
    tables = (table.assign(selected=False) for table in (cohort.associations, cohort.edges))
    text = cohort_paragraph(cohort.summary, fit, {"r2": r2}, *tables, cohort.nodes)
    assert all(word in text for word in words)
    assert ("no better than their means" in text) == (r2 < 0)


def test_pairs_of_no_pathway_are_neither_within_nor_between(cohorts):
    nodes = pd.DataFrame({"id": list("abcd"), "label": list("abcd"), "pathways": ["P", "P", "Q", "other"]})
    pairs = pd.DataFrame([(a, b) for i, a in enumerate("abcd") for b in "abcd"[i + 1 :]], columns=["source", "target"])
    edges = pairs.assign(selected=pairs["target"] == "d", partial_correlation=0.3, pvalue=0.0, qvalue=0.0)
    cohort = cohorts[0]
    fit = {**cohort.fit, "found": dict.fromkeys(cohort.fit["found"], 3)}

    def told(nodes):
        none = cohort.associations.assign(selected=False)
        return cohort_paragraph(cohort.summary, fit, {"r2": 0.1}, none, edges, nodes)

    assert "Connected are 0.0% of the pairs within a pathway and 0.0% of the pairs between two pathways." in told(nodes)
    assert "Connected are" not in told(nodes.assign(pathways="other"))


def test_the_words_for_a_pathway_map_without_own_genes():
    rows = [("A", "EMT", np.nan, 0.1, 0.3), ("A", "RTK", 0.1, 0.1, 0.2)]
    table = pd.DataFrame(rows, columns=["cohort", "pathway", "own", "other", "r2"])
    assert "EMT (30% on average) and least in RTK (20%)" in pathway_map(table)
    table["r2"] = [0.2, 0.3]
    assert "RTK (30% on average, 10% by the pathway's own genes)" in pathway_map(table)


def test_hostile_names_are_escaped(page):
    assert HOSTILE[0] in unescape(page)
    for name in HOSTILE[:3]:
        assert name not in page
    assert "<script" not in page
    assert "<b>" not in page


def test_cohorts_of_another_config_are_told(page):
    assert f"results/ also holds OLD, {HOSTILE[2]}, which the present config does not name" in unescape(page)


def test_the_first_words_are_about_what_decides_all_findings(page):
    """Before any section, once for all cohorts."""
    top = unescape(page[: page.index("<section")])
    assert "only those of the pathway table are in use: 36 of 1,550 in AAA and 36 of 1,550 in " in top
    assert top.count("preprocessing.genes: all takes the others too") == 1
    assert top.count("skewed like linear measurements") == 1
    assert "values reach from -5 to 36890" in unescape(page)


def test_every_figure_says_what_is_to_be_seen(page):
    texts = [unescape(text) for text in re.findall(r'<img [^>]*alt="([^"]*)"', page)]
    assert len(texts) == len(set(texts)) == len(FIGURES)
    captions = [unescape(text) for text in re.findall(r"<figcaption>(.*?) <i>", page)]
    assert not set(texts) & set(captions)


def test_the_words_are_those_of_the_tables(cohorts, tables):
    named = {cohort.summary["cohort"]: cohort for cohort in cohorts}

    def alt_text(wanted):
        return next(figure.text(case, named, tables) for name, figure, case in figures_of(CONFIG) if name == wanted)

    edges = cohorts[0].edges[cohorts[0].edges["selected"]]
    positive = (edges["partial_correlation"] > 0).sum()
    strongest = edges.loc[edges["partial_correlation"].abs().idxmax()]
    text = alt_text("network_AAA")
    assert f"Network of 10 proteins in AAA with {len(edges)} edges, {positive} of them positive" in text
    assert f"The strongest: {strongest['source']} – {strongest['target']} (" in text
    # The second cohort lacks an output.
    assert set(tables["agreement_edges"]["untested"]) == {"", "B<b>B"}
    shared = tables["agreement_edges"].query("untested == ''")
    both = (shared["n_cohorts"] == 2).sum()
    left_out = len(tables["agreement_edges"]) - len(shared)
    text = alt_text("upset_edges")
    assert f"UpSet plot of {len(shared)} findings: {len(shared) - both} in a single cancer, {both} in two" in text
    assert f"without {left_out} other" in text
    assert "4 edges within them and 4 between them; of two different ones, EMT and RTK share most, 3" in alt_text(
        "crosstalk"
    )
    agree = alt_text("jaccard")
    assert "On edges, NARD sequential and NARD full (0.67) agree most and NARD full and CAPME (0.00) least." in agree
    assert "λ = 0.125" in alt_text("lam_path_AAA")
    assert "has not converged" in alt_text("trace_AAA")
    assert alt_text("upset_Apoptosis") is None


def test_the_table_of_cohorts_has_what_was_used_beside_what_was_found(page):
    [row] = re.findall(r"<tr>(<td>[^\n]*<td>simulated</td>[^\n]*)</tr>", page)
    cells = [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
    assert cells == [f"{HOSTILE[0]} (BBB)", "simulated", "90 of 100, 95", "6 of 8", "9 of 10"]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_and_its_table_of_cohorts_fit_a_screen(cohorts, tables, width, tmp_path, request):
    names = [*(f"COHORT{i}" for i in range(7)), "AGING"]
    # What the default run has.
    shown = pd.DataFrame([{**COHORT, "cohort": name, "title": name.replace("AGING", "Aging")} for name in names])
    folder = request.config.rootpath / "workflow" / "report"
    page = report_page(cohorts, {**tables, "cohorts": shown}, [], folder, CONFIG, {}, MethodsSection([], []))
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 800}
    with browser(tmp_path) as chrome:
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        chrome.get((tmp_path / "report.html").as_uri())
        assert chrome.execute_script("return document.documentElement.scrollWidth") <= width
        box = "document.querySelector('#overview .scroll')"
        assert chrome.execute_script(f"return {box}.scrollWidth <= {box}.clientWidth")
        assert len(chrome.find_elements("css selector", "#overview tbody tr")) == 8


def test_hidden_inputs_are_told_once_for_the_methods_that_share_them(page):
    text = unescape(page)
    assert "AAA: 1 hidden input (NARD sequential, NARD full)" in text
    assert "AAA: none (NARD surrogate)" in text
    [hidden] = small_cohorts()[0].fits["sequential"].hidden
    name, loading = hidden.outputs[0]
    assert f"{name} ({loading:+.2f}".replace("-", "−") in text
    assert f"{HOSTILE[0]} (+0.50), AKT1 (−0.25)" in text


def test_cautions_are_in_a_box_of_their_cohort(page):
    boxes = re.findall(r'<ul class="cautions" role="note">(.*?)</ul>', page)
    cautions = f"<li>NARD sequential, NARD full: {caution_text(CAUTION)}</li>"
    unfitted = f"<li>CAPME: could not be fitted: singular matrix: of {HOSTILE[0]}</li>"
    told = [unescape(box) for box in boxes]
    assert told.count(cautions + unfitted) == told.count(unfitted) == 1


def test_fits_that_are_none_or_not_converged_are_marked_and_told(page):
    start = page.index("<h3>Every fit</h3>")
    part = unescape(page[start : page.index("</table>", start)])
    assert "<li>hsghs in AAA: not converged: R̂ above 1.1</li>" in part
    assert "<li>mean in AAA: not fitted: error: IndexError: <b></li>" in part
    rows = re.findall(r"<tr( class=\"marked\")?><td>AAA</td><td>(\w+)</td><td class=\"n\">(.)</td>", part)
    assert rows == [("", "sequential", "3"), (' class="marked"', "hsghs", "4"), (' class="marked"', "mean", "–")]
    assert ">R̂</th>" in part
    assert ">1.880</td>" in part


def test_stability_is_beside_the_surest_findings_where_it_is_known(page):
    parts = page.split("<h3>AAA: surest ")
    assert '<th class="n">stability</th>' in parts[1]
    assert '<td class="n">0.875</td>' in parts[1]
    assert "stability" not in parts[2].split("<h3>")[0]


def test_associations_have_their_stand_ins(page):
    surest = small_cohorts()[0].fits["sequential"].associations.iloc[0]
    assert f"<td>{surest['stand_ins'].replace(';', ', ')}</td>" in page
    assert "<th>stand ins</th>" in page
    assert "<td>own</td>" in page


def test_hidden_inputs_are_described_by_loadings_and_by_what_they_resemble():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((50, 4)), columns=["a", "b", "c", "d"]).assign(constant=3.0)
    F = np.column_stack([5 - 2 * X["b"], rng.standard_normal(50)])
    arrays = {
        "hidden": F,
        "hidden_loadings": np.array([[0.1, -0.5, 0.3], [1.0, 0.0, 0.0]]),
        "targets": np.array(["x", "y", "z"]),
    }
    first, second = hidden_inputs(arrays, X)
    assert first.outputs == (("y", -0.5), ("z", 0.3), ("x", 0.1))
    assert first.resembles[0][0] == "b"
    assert first.resembles[0][1] == pytest.approx(-1.0)
    assert len(second.resembles) == 3
    assert second.resembles[0][1] == pytest.approx(
        max((np.corrcoef(F[:, 1], X[name])[0, 1] for name in "abcd"), key=abs)
    )
    assert hidden_inputs(arrays)[0].resembles == ()
    assert hidden_inputs({"targets": arrays["targets"]}, X) == []


def test_it_has_the_explorers_look_and_leads_there(page):
    explorer = explorer_page(payload(small_cohorts(), "sequential"), "report.html")
    assert asset("base.css") in page
    assert asset("base.css") in explorer
    assert '<a href="explorer.html">' in page
    assert '<a href="report.html">' in explorer
