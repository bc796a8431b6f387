"""The rooms of the package, in the order in which they may know each other."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "nard"
# Each may import from those before it. What is not listed is a loose module, which everybody may use.
ROOMS = (
    *("covariance", "algorithms", "selection", "export", "estimator", "baselines"),
    *("data", "fits", "project", "figures", "report", "experiments", "command"),
)
LOOSE = {"compiled", "errors", "files", "inputs", "palette", "progress", "runs", "simulate"}
# Of the loose modules, what these may know besides each other.
KNOWN_TO_LOOSE = {"simulate": {"covariance"}}
HEAVY = {"numba", "matplotlib", "pandas", "sklearn", "snakemake"}


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem in LOOSE)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_rooms(path: Path) -> set[str]:
    """Rooms and loose modules that a module imports, at its top or in a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("nard.")} - {room_of(path)}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_know_only_what_stands_to_their_left(path):
    room = room_of(path)
    left = KNOWN_TO_LOOSE.get(room, set()) if room in LOOSE else set(ROOMS[: ROOMS.index(room)])
    assert imported_rooms(path) <= LOOSE | left


def test_every_module_has_a_room():
    loose = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert loose == LOOSE
    assert len(loose) <= 8
    assert rooms == set(ROOMS)


@pytest.mark.parametrize("room", ["covariance", "algorithms", "selection"])
def test_numbers_know_neither_files_nor_tables_nor_figures(room):
    for path in (PACKAGE / room).glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for name in ("pandas", "matplotlib", "nard.files"):
            assert f"import {name}" not in text, path
            assert f"from {name}" not in text, path


def test_the_package_is_imported_at_once():
    """What takes long to import is imported by what needs it."""
    code = f"import sys, nard; print(*({HEAVY!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/extending.md"])
def test_files_that_a_page_names_are_there(page):
    root = PACKAGE.parent
    named = set(
        re.findall(r"`((?:nard|scripts|workflow|docs|tests|config)/[\w./-]*)`", (root / page).read_text("utf-8"))
    )
    assert len(named) > 1
    assert [name for name in sorted(named) if not (root / name).exists()] == []


def test_a_colour_needs_no_drawing():
    modules = "nard.palette, nard.export.cx2, nard.data.groups, nard.figures.catalogue"
    code = f"import sys, {modules}; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
