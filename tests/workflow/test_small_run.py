"""The workflow on two small cohorts: repeated, on one core, killed, from other places, as a module."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from outputs import fields_in, from_samplers, listed_files
from runs import ROOT, SMALL, SNAKEMAKE, command, environment, kill_after, run, tables, write_config

from nard.fits.fitting import FIT_FILES

pytestmark = pytest.mark.slow

METHOD_FILES = {
    *("edges.tsv", "associations.tsv", "features.tsv", "hidden.tsv", "nodes.tsv", "trace.tsv", "lam_path.tsv"),
    *("fit.json", "model.npz", "network.graphml", "network.cx2", "held_out.tsv", "held_out.json"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    write_config(folder, SMALL)
    run(folder)
    return folder


def test_it_writes_the_files_of_the_design(finished):
    for cohort in SMALL["cohorts"]:
        data = {path.name for path in (finished / "results" / cohort / "data").iterdir()}
        assert {"X.tsv.gz", "Y.tsv.gz", "summary.json"} <= data
        for method in SMALL["methods"]:
            assert {path.name for path in (finished / "results" / cohort / method).iterdir()} == METHOD_FILES
    jaccard = pd.read_csv(finished / "results/comparison/jaccard.tsv", sep="\t")
    assert list(jaccard) == ["cohort", "method_a", "method_b", "what", "jaccard", "n_a", "n_b"]
    figures = {path.name for path in (finished / "results/figures").iterdir()}
    for name in ("network_AAA", "phenotype_network_AGE", "upset_associations", "upset_edges", "jaccard", "pathway_map"):
        assert {f"{name}.png", f"{name}.pdf"} <= figures
    assert (finished / "results/report.html").stat().st_size > 100_000
    for page in ("explorer.html", *(f"{cohort}/explorer.html" for cohort in SMALL["cohorts"])):
        assert (finished / "results" / page).stat().st_size > 50_000


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Files that the small run does not write: with λ chosen, subsamples, and the table of checks."""
    folder = tmp_path_factory.mktemp("other")
    cohorts = {"AAA": SMALL["cohorts"]["AAA"]}
    config = SMALL | {"methods": ["sequential"], "fit": {"relevance": "entries", "statistics": "all"}}
    config |= {"stability": {"subsamples": 2}}
    write_config(folder, config | {"cohorts": cohorts})
    run(folder, "check", "results/AAA/sequential/stability.tsv")
    return folder


def test_every_file_and_column_is_described(finished, other):
    """docs/outputs.yaml is what the runs have written, no more and no less."""
    seen = {}
    for folder in (finished, other):
        for path in [*folder.glob("results/**/*"), *folder.glob("resources/**/*")]:
            if path.is_file():
                entries = [entry for entry in listed_files() if entry.pattern.fullmatch(str(path.relative_to(folder)))]
                assert len(entries) == 1, f"{path.relative_to(folder)} is described {len(entries)} times"
                found = fields_in(path)
                entries[0].compare(found, str(path))
                seen.setdefault(entries[0].file, set()).update(found)
    described = {entry.file for entry in listed_files()}
    assert described - set(seen) == {"resources/xena/{cancer}/{dataset}.gz"}
    for entry in listed_files():
        assert set(entry.optional) - seen.get(entry.file, set()) <= from_samplers(entry)


def test_the_graph_opens_with_positions_and_colours(finished):
    graph = nx.read_graphml(finished / "results/AAA/sequential/network.graphml")
    for _, node in graph.nodes(data=True):
        assert {"label", "x", "y", "r", "g", "b", "pathway", "kind"} <= set(node)
    nodes = pd.read_csv(finished / "results/AAA/sequential/nodes.tsv", sep="\t")
    assert set(nodes["id"]) <= set(graph.nodes)


def test_the_model_file_needs_no_pickle(finished):
    with np.load(finished / "results/AAA/sequential/model.npz", allow_pickle=False) as model:
        assert model["coef"].shape == (len(model["targets"]), len(model["features"]))


@pytest.mark.parametrize(("cohort", "method"), [("AAA", "sequential"), ("AGE", "hybrid"), ("AAA", "capme")])
def test_the_command_writes_the_same_files(finished, tmp_path, cohort, method):
    """Byte for byte, on as many threads as the machine has."""
    data = finished / "results" / cohort / "data"
    tables = [str(data / name) for name in ("X.tsv.gz", "Y.tsv.gz")]
    settings = ["--method", method, "--lam", str(SMALL["fit"]["lam"]), "--relevance", "entries"]
    subprocess.run(
        [sys.executable, "-m", "nard", "fit", *tables, "-o", str(tmp_path), *settings],
        env=environment(),
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert {path.name for path in tmp_path.iterdir()} == {*FIT_FILES.values(), "groups.tsv"}
    for name in FIT_FILES.values():
        assert (tmp_path / name).read_bytes() == (finished / "results" / cohort / method / name).read_bytes(), name
    assert (tmp_path / "groups.tsv").read_bytes() == (data / "groups.tsv").read_bytes()


@pytest.mark.parametrize(
    ("cohort", "names"),
    [("AAA", ["network", "associations"]), ("AGE", ["phenotype_network", "phenotype_associations"])],
)
def test_plot_draws_what_the_workflow_draws(finished, tmp_path, cohort, names):
    """Byte for byte; of the convergence only that of its own fit."""
    shutil.copytree(finished / "results" / cohort / "data", tmp_path / "data")
    shutil.copytree(finished / "results" / cohort / "sequential", tmp_path / "fit")
    plot = [sys.executable, "-m", "nard", "plot", str(tmp_path / "fit"), "--format", "png"]
    subprocess.run(plot, env=environment(), check=True, capture_output=True, timeout=120)
    figures = tmp_path / "fit" / "figures"
    assert {path.stem for path in figures.iterdir()} == {*names, "trace", "trust"}
    for name in names:
        assert (figures / f"{name}.png").read_bytes() == (
            finished / "results" / "figures" / f"{name}_{cohort}.png"
        ).read_bytes()


def test_simulated_data_are_called_so(finished):
    page = (finished / "results/report.html").read_text()
    assert "All data on this page are SIMULATED" in page


def test_a_second_run_does_nothing(finished):
    done = run(finished)
    assert "Nothing to be done" in done.stdout + done.stderr


def test_every_log_is_filled(finished):
    logs = list((finished / "results/logs").rglob("*.log"))
    assert len(logs) > 20
    assert all("done" in log.read_text() for log in logs)


def test_one_core_gives_the_same_tables(finished, tmp_path):
    write_config(tmp_path, SMALL)
    run(tmp_path, cores=1)
    assert tables(tmp_path) == tables(finished)


def test_killed_at_ten_moments_it_ends_with_the_same_tables(finished, tmp_path):
    write_config(tmp_path, SMALL)
    rng = np.random.default_rng()
    moments = rng.uniform(1, 12, 10)
    print("killed after", moments.round(2))
    for i, seconds in enumerate(moments):
        # Jobs that outlive the run go on beside those of the next one.
        kill_after(tmp_path, seconds, jobs_too=i % 3 > 0)
    run(tmp_path)
    assert tables(tmp_path) == tables(finished)
    assert not list(tmp_path.rglob(".part-*"))


def test_from_a_clone_in_a_path_with_a_space(finished, tmp_path):
    clone = tmp_path / "my clone"
    ignored = shutil.ignore_patterns(".git", ".venv", "results", "resources", ".snakemake", "__pycache__", "tests")
    shutil.copytree(ROOT, clone, ignore=ignored, symlinks=True)
    work = tmp_path / "my work"
    write_config(work, SMALL)
    subprocess.run(
        [*SNAKEMAKE[:3], "--snakefile", str(clone / "Snakefile"), "--configfile", "config.yaml", "--cores", "2"],
        cwd=work,
        env=environment(),
        check=True,
        capture_output=True,
        timeout=600,
    )
    assert tables(work) == tables(finished)


def test_with_an_interpreter_in_a_path_with_a_space(finished, tmp_path):
    """Its packages are those of the interpreter that runs the tests."""
    home = tmp_path / "my environment"
    venv.create(home, with_pip=False)
    packages = sysconfig.get_path("purelib", vars={"base": str(home)})
    Path(packages, "others.pth").write_text(sysconfig.get_path("purelib"))
    work = tmp_path / "work"
    write_config(work, SMALL)
    target = "resources/simulated/AAA/inputs.tsv.gz"
    subprocess.run(
        [str(home / "bin" / "python"), *command(work, target)[1:]],
        env=environment() | {"PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        timeout=600,
    )
    assert (work / target).read_bytes() == (finished / target).read_bytes()


def test_as_a_module(finished, tmp_path):
    write_config(tmp_path, {"networks": SMALL})
    (tmp_path / "Snakefile").write_text(
        'configfile: "config.yaml"\n\n'
        f'module nard:\n    snakefile: "{ROOT / "Snakefile"}"\n    config: config["networks"]\n    prefix: "sub"\n\n'
        "use rule * from nard as nard_*\n\n"
        'rule all:\n    default_target: True\n    input:\n        "sub/results/AAA/sequential/edges.tsv",\n'
    )
    subprocess.run(
        [*SNAKEMAKE[:3], "--cores", "2"], cwd=tmp_path, env=environment(), check=True, capture_output=True, timeout=600
    )
    made = (tmp_path / "sub/results/AAA/sequential/edges.tsv").read_bytes()
    assert made == (finished / "results/AAA/sequential/edges.tsv").read_bytes()


def test_two_runs_at_once_are_refused(finished):
    import fcntl

    with (finished / ".snakemake" / "nard.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(finished, "--forcerun", "jaccard", check=False)
    assert done.returncode != 0
    assert "Another run" in done.stdout + done.stderr
