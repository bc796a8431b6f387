"""The conda environment and the package ask for the same versions."""

import re
import tomllib

import yaml
from runs import ROOT

CONDA_NAMES = {"matplotlib": "matplotlib-base"}
# What a job in a conda environment does not need: Snakemake runs it from outside.
OUTSIDE = {"snakemake", "pygments"}


def test_conda_and_pip_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {}
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["workflow"]]:
        name, versions = re.match(r"([A-Za-z0-9_-]+)(.*)", requirement).groups()
        if name not in OUTSIDE:
            wanted[CONDA_NAMES.get(name, name)] = versions
    environment = yaml.safe_load((ROOT / "envs/nard.yaml").read_text())["dependencies"]
    found = dict(line.split(" ", 1) for line in environment if not line.startswith("python "))
    assert found == wanted
