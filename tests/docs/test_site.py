"""The documentation builds without a warning, needs no network, and says what the code says."""

import re
import subprocess
import sys

import generate
import pytest
import yaml
from pages import PAGES, ROOT, name

from nard.project.config import schema


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere(site):
    for page in site.glob("*.html"):
        html = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="([^"]*)"', html)
        assert loaded
        assert not [address for address in loaded if "//" in address], page.name
        assert 'class="mermaid"' not in html  # its library would come from the network


@pytest.mark.slow
def test_generated_parts_are_there(site):
    assert (site / "figures/network.png").read_bytes().startswith(b"\x89PNG")
    assert "partial_correlation</th>" in (site / "reading.html").read_text(encoding="utf-8")
    assert 'id="nard.NARD.relevance"' in (site / "api.html").read_text(encoding="utf-8")
    for page in site.glob("*.html"):
        html = page.read_text(encoding="utf-8")
        assert "<!-- generated" not in html
        assert ":meth:" not in html


WITH_GENERATED = [page for page in PAGES if "<!-- generated" in page.read_text(encoding="utf-8")]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@pytest.mark.parametrize("page", WITH_GENERATED, ids=name)
def test_committed_pages_have_what_would_be_generated(page):
    """Who reads them on a code host sees no empty places."""
    text = page.read_text(encoding="utf-8")
    made = generate.filled(text)
    again = "write it with: python docs/generate.py"
    assert NUMBER.sub("", text) == NUMBER.sub("", made), again
    # The example is a fit, whose last digits are the machine's.
    numbers = [[float(number) for number in NUMBER.findall(one)] for one in (text, made)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02), again


def test_no_generated_place_is_empty():
    assert {page.stem for page in WITH_GENERATED} == {"config", "first-steps", "outputs", "reading"}
    for page in WITH_GENERATED:
        places = generate._PLACE.findall(page.read_text(encoding="utf-8"))
        assert len(places) == page.read_text(encoding="utf-8").count("<!-- generated") > 0
        assert not re.search(r"<!-- generated: \w+ -->\s*<!-- end -->", page.read_text(encoding="utf-8"))


def test_pictures_of_the_pages_are_committed():
    for page in PAGES:
        for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / picture).read_bytes().startswith(b"\x89PNG"), f"{name(page)}: {picture}"


def schema_keys(node, path=()):
    """Every key of the schema, found without the code that makes the page."""
    if "$ref" in node:
        node = schema()["$defs"][node["$ref"].rsplit("/", 1)[1]]
    for key, child in node.get("properties", {}).items():
        yield (*path, key)
        if not (key == "preprocessing" and path):
            yield from schema_keys(child, (*path, key))
    if isinstance(node.get("additionalProperties"), dict) and "$ref" in node["additionalProperties"]:
        yield from schema_keys(node["additionalProperties"], (*path, "NAME"))


def test_every_config_key_is_described():
    described = dict(generate.every_key())
    assert set(described) == set(schema_keys(schema()))
    text = generate.config_keys()
    for path, node in described.items():
        assert len(node.get("description", "")) > 15, path
        assert f"`{'.'.join(path)}`" in text
        assert node["description"] in text


def test_every_config_key_of_the_manual_is_in_the_schema():
    """config/config.yaml explains every key in place, but for those of the paper's experiments."""
    manual = (ROOT / "config/config.yaml").read_text()
    experiments = (ROOT / "config/paper.yaml").read_text()
    for path in schema_keys(schema()):
        if path[0] != "cohorts":
            place = experiments if path[0] == "paper" else manual
            assert re.search(rf"\b{path[-1]}:", place, re.MULTILINE), path


def test_quoted_messages_are_those_of_the_code():
    files = [*(ROOT / "nard").rglob("*.py"), *(ROOT / "workflow").rglob("*.smk")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    quoted = re.findall(r"^### .*?`([^`\n]+)`", (ROOT / "docs/faq.md").read_text(), re.MULTILINE)
    assert len(quoted) > 10
    for message in quoted:
        # What a message fills in stands as {} in the page.
        pattern = re.escape(message).replace(r"\{\}", r"\{[^\n]*\}")
        assert re.search(pattern, code), message


def test_every_step_has_a_place_for_its_time():
    steps = [entry["step"] for entry in yaml.safe_load((ROOT / "docs/times.yaml").read_text())]
    headings = re.findall(r"^## (\d\. .*)$", (ROOT / "docs/first-steps.md").read_text(), re.MULTILINE)
    assert steps == headings
