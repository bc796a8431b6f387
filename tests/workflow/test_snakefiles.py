"""The workflow by either of its Snakefiles, from another folder."""

import re
import subprocess

import pytest
from runs import ROOT, SMALL, SNAKEMAKE, environment, write_config

CATALOG = ROOT / "workflow" / "Snakefile"


def snakemake(folder, snakefile, *arguments):
    done = subprocess.run(
        [*SNAKEMAKE[:3], "--snakefile", str(snakefile), "--cores", "1", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def planned(text, prefix=""):
    """Rules and the number of their jobs, but for the one that only names the target."""
    counts = dict(re.findall(rf"^{prefix}(\w+) +(\d+)$", text, re.MULTILINE))
    return {rule: int(n) for rule, n in counts.items() if rule not in ("all", "default", "total")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")
    write_config(folder, SMALL)
    return folder


@pytest.fixture(scope="module")
def plan(folder):
    return planned(snakemake(folder, ROOT / "Snakefile", "-n", "--configfile", "config.yaml"))


def test_both_plan_the_same(folder, plan):
    assert planned(snakemake(folder, CATALOG, "-n", "--configfile", "config.yaml")) == plan
    assert plan["fit"] == 6


def test_as_a_module(folder, plan, tmp_path):
    outer = tmp_path / "Snakefile"
    outer.write_text(
        f'module nard:\n    snakefile: "{CATALOG}"\n    config: config\n\nuse rule * from nard as nard_*\n'
    )
    assert planned(snakemake(folder, outer, "-n", "--configfile", "config.yaml"), "nard_") == plan


def test_a_job_finds_its_script(folder):
    target = "resources/simulated/AAA/inputs.tsv.gz"
    snakemake(folder, CATALOG, target, "--configfile", "config.yaml")
    assert (folder / target).exists()
