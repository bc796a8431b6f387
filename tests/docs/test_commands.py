"""Every command and every piece of code in the README and the documentation is run, or is listed with a reason.

The shell commands of a page are run one after the other in a copy of the repository of its own, then the page's Python.
"""

import os
import subprocess
import sys
from functools import cache

import pandas as pd
import pytest
import yaml
from pages import PAGES, ROOT, blocks, commands, name

from nard.data.pathways import read_pathways
from nard.data.simulated import simulate_omics
from nard.files import write_tsv
from nard.project.config import schema, validated
from nard.simulate import make_regression

SAME_BYTES = "needs a run; tests/workflow/test_small_run.py compares the files of both"
SLURM = "snakemake --workflow-profile profiles/slurm --configfile my.yaml"
# Commands that are not run here, and why.
EXCUSED = {
    "git clone REPOSITORY nard": "the test works in a copy",
    "cd nard": "the test works in a copy",
    "make run": "make builds an environment from the network; tests/workflow/test_default_run.py runs the workflow",
    "make test": "this is it",
    "make quick": "this is it",
    "make lint": "continuous integration runs it before the tests",
    "make docs": "tests/docs/test_site.py builds the pages",
    "nard fit results/READ/data/X.tsv.gz results/READ/data/Y.tsv.gz -o out": SAME_BYTES,
    "cmp out/edges.tsv results/READ/sequential/edges.tsv": SAME_BYTES,
    'pip install ".[workflow,cluster]"': "installs from the network; the environment of the tests has both",
    "sinfo": "needs a cluster",
    "sacctmgr show associations user=$USER format=account": "needs a cluster with accounting",
    SLURM: "tests/cluster runs it on a real SLURM",
    f"{SLURM} --default-resources slurm_partition=main slurm_account=mylab": "needs a cluster of that partition",
}
# Commands that are not run here whatever follows.
EXCUSED_STARTS = {
    "snakemake --executor kubernetes": "needs a Kubernetes cluster; the page says that it was not run",
    "snakemake --executor aws-batch": "needs an account of AWS; the page says that it was not run",
    "snakemake --executor googlebatch": "needs an account of Google Cloud; the page says that it was not run",
}
# How far `snakemake` goes on a page; tests/workflow/test_small_run.py goes all the way.
SHORTENED = {"README.md": "--dry-run", "docs/first-steps.md": "--dry-run", "docs/tutorial.md": "--until fit"}
# A block without a language is what a program says.
LANGUAGES = {"sh", "python", "yaml", "mermaid", ""}


def simulate(folder, inputs, outputs):
    """Two small files of a cohort."""
    pathways = read_pathways().restricted(["Apoptosis", "Cell-cycle"])
    tables = simulate_omics(pathways, "TEST", 60, 0, [], 1).tables
    write_tsv(tables["inputs"], folder / inputs, index=True)
    write_tsv(tables["outputs"], folder / outputs, index=True)


def prepare_readme(folder):
    simulate(folder, "data/kirc_mrna.tsv.gz", "data/kirc_rppa.tsv.gz")
    (folder / "my.yaml").write_text(blocks((ROOT / "README.md").read_text(), "yaml")[0].text)


def prepare_first_steps(folder):
    simulate(folder, "resources/simulated/READ/inputs.tsv.gz", "resources/simulated/READ/outputs.tsv.gz")


def prepare_extending(folder):
    (folder / "least_squares.py").write_text(blocks((ROOT / "docs/extending.md").read_text(), "python")[0].text)


# What a page has before its first command.
PREPARED = {
    "README.md": prepare_readme,
    "docs/cluster.md": prepare_readme,
    "docs/extending.md": prepare_extending,
    "docs/first-steps.md": prepare_first_steps,
}


@cache
def text_of(page):
    return page.read_text(encoding="utf-8")


def copy_of_the_repository(folder):
    """As a clone after `make run` has set up the environment."""
    ignored = {".git", ".venv", ".snakemake", "results", "resources", "site", "data", "docs", "tests"}
    for path in ROOT.iterdir():
        if path.name not in ignored:
            (folder / path.name).symlink_to(path)
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/activate").write_text(f'export PATH="{os.path.dirname(sys.executable)}:$PATH"\n')


def excused(command):
    return command in EXCUSED or command.startswith(tuple(EXCUSED_STARTS))


def run_shell(page, folder):
    lines = [command for command in commands(text_of(page)) if not excused(command)]
    activate = ". .venv/bin/activate"
    if activate not in lines:
        # The page presumes that it has been typed before.
        lines.insert(0, activate)
    if name(page) in SHORTENED:
        lines.insert(0, f'snakemake() {{ command snakemake "$@" {SHORTENED[name(page)]}; }}')
    script = "\n".join(["set -euo pipefail", "trap 'echo \"failed: $BASH_COMMAND\" >&2' ERR", *lines])
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{name(page)}\n{done.stdout}\n{done.stderr}"


def run_python(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    made = make_regression(80, 6, 4, edge_probability=0.4, random_state=0)
    variables = {"X": pd.DataFrame(made.X).add_prefix("x"), "Y": pd.DataFrame(made.Y).add_prefix("y")}
    for block in blocks(text_of(page), "python"):
        exec(compile(block.text, name(page), "exec"), variables)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if {b.language for b in blocks(text_of(page))} & {"sh", "python"}], ids=name
)
def test_the_commands_of_a_page_work(page, tmp_path, monkeypatch):
    copy_of_the_repository(tmp_path)
    PREPARED.get(name(page), lambda folder: None)(tmp_path)
    run_shell(page, tmp_path)
    run_python(page, tmp_path, monkeypatch)


def test_no_command_is_excused_that_is_not_there():
    everything = {command for page in PAGES for command in commands(text_of(page))}
    assert set(EXCUSED) <= everything
    for start in EXCUSED_STARTS:
        assert any(command.startswith(start) for command in everything), start


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_kind_that_is_tested(page):
    assert {block.language for block in blocks(text_of(page))} <= LANGUAGES


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_configs_are_valid(page, tmp_path, monkeypatch):
    PREPARED.get(name(page), lambda folder: None)(tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in blocks(text_of(page), "yaml"):
        content = yaml.safe_load(block.text)
        if set(content) & set(schema()["properties"]):
            validated({"cohorts": {"ANY": {"source": "simulated"}}} | content, name(page))
