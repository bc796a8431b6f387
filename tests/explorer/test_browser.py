"""The explorer in Chromium: hostile names in real fits, and 2,000 edges."""

from dataclasses import replace

import pytest
from browser import Explorer, browser
from networks import HOSTILE, INPUTS, large_cohorts, small_cohorts
from tour import tour

from nard.files import write_text
from nard.report.explorer import explorer_page, payload


@pytest.fixture(scope="module")
def chrome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    with browser(folder) as chrome:
        chrome.downloads = folder / "downloads"
        yield chrome


def opened(chrome, cohorts, folder):
    path = folder / "explorer.html"
    write_text(explorer_page(payload(cohorts, "sequential"), "report.html"), path)
    return Explorer(chrome, path, chrome.downloads)


@pytest.mark.slow
def test_everything_on_small_fits(chrome, tmp_path):
    tour(opened(chrome, small_cohorts(), tmp_path), small_cohorts(), "sequential")


@pytest.mark.slow
def test_everything_on_two_thousand_edges(chrome, tmp_path):
    page = opened(chrome, large_cohorts(), tmp_path)
    tour(page, large_cohorts(), "sequential")
    page.choose("most", "Infinity")
    assert page.count(".edge") == 2000
    milliseconds = chrome.execute_script(
        """const slider = document.getElementById('limit'), start = slider.value, times = [];
        for (const value of [0, start, 3, start, 0, start]) {
          slider.value = value;
          const before = performance.now();
          slider.dispatchEvent(new Event('input'));
          times.push(performance.now() - before);
        }
        return times;"""
    )
    print("ms of script per change of the threshold, 2,000 edges:", [round(time, 1) for time in milliseconds])
    assert page.count(".edge") == 2000


def test_hostile_names_are_shown_and_not_run(chrome, tmp_path):
    page = opened(chrome, small_cohorts(), tmp_path)
    scripts = page.count("script, img, b, i")
    for name in HOSTILE:
        page.search(name)
        assert page.text("panel-title") == name
        assert page.node("output", name).get_attribute("aria-label").startswith(name)
        page.choose("other", 1)
        assert "B<b>B" in page.text("status")
        page.choose("other", "")
    page.search(INPUTS[3])
    assert page.text("panel-title") == INPUTS[3]
    assert page.count("script, img, b, i") == scripts
    assert chrome.title == "NARD explorer"
    page.assert_silent()


def test_a_private_edge_tells_that_the_other_cohort_lacks_its_node(chrome, tmp_path):
    page = opened(chrome, small_cohorts(), tmp_path)
    page.choose("other", 1)
    page.search("GSK3ALPHABETAPS21S9")
    assert "only AAA (GSK3ALPHABETAPS21S9 not measured in B<b>B)" in page.one("#panel").text


def test_names_are_spelt_as_in_the_file_and_found_by_either(chrome, tmp_path):
    spelt = {"GSK3ALPHABETAPS21S9": "GSK3-alpha-beta_pS21_S9", "P53": "p53"}
    cohorts = [
        replace(cohort, groups=cohort.groups.assign(label=cohort.groups["name"].replace(spelt)))
        for cohort in small_cohorts()
    ]
    page = opened(chrome, cohorts, tmp_path)
    for text in ("gsk3-alpha", "GSK3ALPHABETA"):
        page.search(text)
        assert page.text("panel-title") == "GSK3-alpha-beta_pS21_S9"
    # The name in the tables stands below.
    assert "GSK3ALPHABETAPS21S9" in page.one("#panel dl").text
    assert page.node("output", "P53").get_attribute("aria-label").startswith("p53,")
    assert page.node("output", "GSK3ALPHABETAPS21S9").text.startswith("GSK3-al")
    fit = cohorts[0].fits["sequential"]
    edges = fit.edges[fit.edges["selected"]]
    ends = edges[(edges["source"] == "P53") | (edges["target"] == "P53")][["source", "target"]].to_numpy().ravel()
    page.search("P53")
    assert set(page.panel_rows("Neighbours")) == {spelt.get(name, name) for name in ends} - {"p53"}
    page.assert_silent()


def test_one_cohort_has_nothing_to_be_compared_with(chrome, tmp_path):
    page = opened(chrome, small_cohorts()[1:], tmp_path)
    assert not page.one("#other").is_enabled()
    assert not page.one("#simulated").is_displayed()
    page.assert_silent()


def test_it_fits_a_phone(chrome, tmp_path):
    page = opened(chrome, small_cohorts(), tmp_path)
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.choose("other", 1)
        page.search("BAX")
        assert chrome.execute_script("return document.documentElement.scrollWidth") == 390
        page.assert_silent()
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_network_of_thousands_opens_at_its_hub_and_goes_on_from_there(chrome, tmp_path):
    cohorts = large_cohorts(1500, 700)
    page = opened(chrome, cohorts, tmp_path)
    edges = cohorts[0].fits["sequential"].edges.query("selected")
    strength = sum(
        edges.groupby(end)["partial_correlation"]
        .apply(lambda values: values.abs().sum())
        .reindex(cohorts[0].groups["name"], fill_value=0.0)
        for end in ("source", "target")
    )
    hub = strength.idxmax()
    assert page.text("panel-title") == hub
    assert page.text("status").startswith(f"Around {hub}: 60 of 700 proteins and ")
    assert page.count(".node.output") == 60
    # Its neighbours are there, with the edges among all that is drawn.
    near = set(edges.query("source == @hub")["target"]) | set(edges.query("target == @hub")["source"])
    assert set(page.panel_rows("Neighbours")) == near
    assert all(page.node("output", name) is not None for name in near)
    assert 0 < page.count(".edge") <= 100
    elsewhere = next(name for name in strength.index[::-1] if page.node("output", name) is None)
    page.search(elsewhere)
    assert page.text("status").startswith(f"Around {elsewhere}: ")
    assert page.node("output", elsewhere).get_attribute("aria-pressed") == "true"
    # Letting go leaves the drawing where it is.
    page.one("#clear").click()
    assert page.text("panel-title") == "Strongest edges"
    assert page.text("status").startswith(f"Around {elsewhere}: ")
    # An input is drawn with what it drives.
    page.search("GENE0")
    driven = set(page.panel_rows("Drives"))
    assert driven
    assert page.text("status").startswith("Around GENE0: ")
    assert all(page.node("output", name) is not None for name in driven)
    page.choose("other", 1)
    assert page.text("status").startswith("Around GENE0: ")
    page.assert_silent()
