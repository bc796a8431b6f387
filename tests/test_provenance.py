"""The code and the packages that a result is made by, and what is in the files that it is made from."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nard.fits.methods import METHODS
from nard.project import provenance
from nard.project.provenance import content_of, made_by

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "scripts"


@pytest.fixture
def edited(tmp_path):
    """Adds a line to a module in a copy of the package: what a script is made by before and after."""

    def edit(script, module, line, modules=()):
        before = made_by(SCRIPTS / f"{script}.py", modules)
        package = shutil.copytree(ROOT / "nard", tmp_path / "nard", ignore=shutil.ignore_patterns("__pycache__"))
        assert made_by(SCRIPTS / f"{script}.py", modules, package=package) == before
        provenance._reached.cache_clear()
        provenance._source.cache_clear()
        with (package / module).open("a") as file:
            file.write(f"\n{line}\n")
        return before, made_by(SCRIPTS / f"{script}.py", modules, package=package)

    return edit


@pytest.mark.parametrize(
    ("script", "module", "modules", "counts"),
    [
        ("fit", "algorithms/evidence.py", ("nard.estimator.model",), True),
        ("fit", "algorithms/evidence.py", ("nard.baselines.capme",), False),
        ("fit", "baselines/capme.py", ("nard.baselines.capme",), True),
        ("fit", "baselines/capme.py", ("nard.estimator.model",), False),
        ("fit", "figures/style.py", ("nard.estimator.model",), False),
        ("fit", "__init__.py", ("nard.estimator.model",), True),
        ("figure", "figures/style.py", ("nard.figures.network",), True),
        ("figure", "figures/network.py", ("nard.figures.network",), True),
        ("figure", "figures/upset.py", ("nard.figures.network",), False),
        ("prepare", "data/cleaning.py", (), True),
        ("prepare", "estimator/model.py", (), False),
        ("prepare", "report/page.py", (), False),
    ],
)
def test_code_counts_where_it_is_used(edited, script, module, modules, counts):
    before, after = edited(script, module, "ANOTHER = 1", modules)
    assert (before["code"] != after["code"]) == counts
    assert {**before, "code": ""} == {**after, "code": ""}


def test_comments_do_not_count(edited):
    before, after = edited("prepare", "data/cleaning.py", "# A word more.")
    assert before == after


def test_packages_that_do_the_numbers_count(monkeypatch):
    before = made_by(SCRIPTS / "fit.py", ["nard.estimator.model"])
    assert {"numpy", "scipy", "numba", "pandas"} <= set(before)
    assert "matplotlib" not in before
    monkeypatch.setattr(provenance, "_version", lambda name: "99" if name == "scipy" else before[name])
    assert made_by(SCRIPTS / "fit.py", ["nard.estimator.model"]) == {**before, "scipy": "99"}


@pytest.mark.parametrize("method", ["sequential", "capme"])
def test_whatever_a_fit_imports_is_among_it(method):
    """Seen from what Python has loaded by the time the class is there."""
    place, name = METHODS[method].path.split(":")
    lines = [line for line in (SCRIPTS / "fit.py").read_text().splitlines() if line.startswith(("from", "import"))]
    code = "\n".join([*lines, f"from {place} import {name}", "import sys", "print(*sys.modules)"])
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    modules = {module for module in loaded.stdout.split() if module.partition(".")[0] == "nard"}
    known = {
        ".".join(["nard", *Path(file).with_suffix("").parts]).removesuffix(".__init__")
        for file in provenance._reached(SCRIPTS / "fit.py", (place,), ROOT / "nard")
    }
    assert len(modules) > 20
    assert modules <= known


def test_a_class_of_ones_own(tmp_path):
    own = tmp_path / "own.py"
    own.write_text("x = 1\n")
    before = made_by(SCRIPTS / "fit.py", [str(own)])
    other = tmp_path / "more" / "own.py"
    other.parent.mkdir()
    other.write_text("x = 2\n")
    assert made_by(SCRIPTS / "fit.py", [str(other)]) != before
    # One of a package that is installed.
    assert made_by(SCRIPTS / "fit.py", ["yaml.dumper"]) != made_by(SCRIPTS / "fit.py", ["yaml.loader"])


def test_other_files_count(tmp_path):
    page = tmp_path / "page.j2"
    found = []
    for text in ("one", "two"):
        page.write_text(text)
        found.append(made_by(SCRIPTS / "report.py", files=[page])["code"])
    assert len(set(found)) == 2


def test_without_the_scripts_the_whole_package_counts(edited):
    before, after = edited("absent", "figures/style.py", "ANOTHER = 1")
    assert before != after


def test_every_rule_has_it():
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for rule in path.read_text().split("rule ")[1:]:
            # A download is what it is, and the paper's runs have records of their own.
            if "script:" in rule and not rule.startswith(("download", "paper_runs")):
                assert "made_by=made_by(" in rule, rule


def test_of_a_file_its_content_counts_and_not_its_time(tmp_path):
    file, other, link = (tmp_path / name for name in ("a.tsv", "b.tsv", "link.tsv"))
    file.write_text("1")
    other.write_text("2")
    link.symlink_to(file)
    found = content_of(file)
    assert content_of(link) == found != content_of(other)
    os.utime(file, (1, 1))
    assert content_of(file) == found == content_of(shutil.copy(file, tmp_path / "copy.tsv"))
    link.unlink()
    link.symlink_to(other)
    assert content_of(link) == content_of(other)
    os.replace(other, file)
    assert content_of(file) != found


def test_of_a_folder_the_files_that_are_read_count_and_their_names(tmp_path):
    folder = tmp_path / "folder"
    for name in ("A.txt", "more/B.txt", "logs/C.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    found = {content_of(folder)}
    shutil.copytree(folder, tmp_path / "copy")
    (folder / "logs/C.txt").write_text("another")
    assert {content_of(folder), content_of(tmp_path / "copy")} == found
    (folder / "more/B.txt").write_text("another")
    found.add(content_of(folder))
    (folder / "A.txt").rename(folder / "D.txt")
    found.add(content_of(folder))
    assert len(found) == 3


@pytest.mark.parametrize("name", ["", "absent.tsv", "pipe", "pipe/a.tsv", "a" * 1000, "a\0b", "dangling"])
def test_what_cannot_be_read_has_no_content(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert content_of(name) is None
