"""The package as others install it: a wheel that needs no Snakemake."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# A stand-in for a machine on which the extras are not installed.
CODE = """
import sys

BLOCKED = ("snakemake", "jinja2", "upsetplot", "h5py")


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import nard
assert nard.__file__.startswith(sys.argv[1]), nard.__file__
import nard.estimator, nard.figures.network, nard.figures.associations, nard.figures.traces, nard.fits.fitting
from nard.command import main

folder = sys.argv[2]
tables = [f"{folder}/demo/{side}.tsv.gz" for side in ("inputs", "outputs")]
for arguments in (
    ["simulate", "-o", f"{folder}/demo", "--samples", "40", "--pathways", "Apoptosis"],
    ["check", *tables],
    ["init", f"{folder}/project", "--inputs", tables[0], "--outputs", tables[1]],
    ["--help"],
):
    assert main(arguments) == 0, arguments
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built offline, by the build backend that pyproject.toml names, from a copy of the source."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "nard", source / "nard", ignore=shutil.ignore_patterns("__pycache__"))
    build = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    done = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("nard-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel):
    folder = wheel.parent / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_wheel_holds_the_whole_package(wheel):
    """Every file of the source but no other: schemas and tables too."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        (entry,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        assert "nard = nard.command:main" in archive.read(entry).decode()
    tracked = subprocess.run(["git", "ls-files", "nard"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout: which files belong to the package is not known")
    assert set(tracked.stdout.split()) - inside == set()
    assert {"nard/project/schemas/config.schema.yaml", "nard/data/pathways.tsv", "nard/data/antibodies.tsv"} <= inside
    assert not [name for name in inside if not name.startswith("nard/")]


def test_it_works_where_the_extras_are_not_installed(installed, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(installed), str(tmp_path)],
        cwd=tmp_path,
        # Nothing is fitted here, so nothing needs to be compiled.
        env={**os.environ, "PYTHONPATH": str(installed), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "usage: nard" in done.stdout
    # The wheel has no workflow, so that the user fills in where it is.
    assert "--snakefile PATH_TO_THE_WORKFLOW/Snakefile" in done.stdout
