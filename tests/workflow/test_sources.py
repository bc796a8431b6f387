"""Real files by config alone, downloads from a mirror, and a cohort that lacks a file."""

import json
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pandas as pd
import pytest
import yaml
from cohorts import N, raw_tables, write
from real_data import real_data_folder
from runs import ROOT, run, write_config

pytestmark = pytest.mark.slow
REAL = real_data_folder()
needs_real_data = pytest.mark.skipif(REAL is None, reason="NARD_REAL_DATA is not set")


@pytest.fixture
def mirror(tmp_path):
    """A folder with the layout of Xena's hub."""
    folder = tmp_path / "a mirror"
    (folder / "TCGA.BRCA.sampleMap").mkdir(parents=True)
    mrna, rppa = raw_tables()
    write(mrna, folder / "TCGA.BRCA.sampleMap" / "HiSeqV2.gz")
    write(rppa, folder / "TCGA.BRCA.sampleMap" / "RPPA_RBN.gz")
    return folder


@pytest.fixture
def intranet(mirror):
    """The mirror as a server of the house hands it out."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(mirror))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("scheme", ["file", "http"])
def test_a_cancer_from_a_mirror(mirror, intranet, tmp_path, monkeypatch, scheme):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    address = mirror.as_uri() if scheme == "file" else intranet.replace("://", "://user:s3cret@")
    config = {"mirror": address, "cohorts": {"BRCA": {"source": "xena"}}}
    work = tmp_path / "work"
    write_config(work, config)
    target = "results/BRCA/data/summary.json"
    run(work, target)
    assert json.loads((work / target).read_text())["n_samples"] == N
    # Neither results nor logs nor what Snakemake records have the mirror's password.
    told = [path for path in work.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]
    assert told == ([work / "config.yaml"] if scheme == "http" else [])
    recorded = work / "resources/xena/BRCA/HiSeqV2.gz.sha256"
    assert recorded.exists()

    # The source changes: the recorded checksum refuses it, and the message says what to do.
    write(raw_tables(seed=1)[0], mirror / "TCGA.BRCA.sampleMap" / "HiSeqV2.gz")
    (work / "resources/xena/BRCA/HiSeqV2.gz").unlink()
    done = run(work, "resources/xena/BRCA/HiSeqV2.gz", check=False)
    assert done.returncode != 0
    assert "HiSeqV2.gz.sha256" in done.stdout + done.stderr


@pytest.fixture
def files(tmp_path):
    """A sound cohort of files, and two that lack one."""
    mrna, rppa = (write(table, tmp_path / name) for table, name in zip(raw_tables(), ("x.tsv", "y.tsv"), strict=True))
    cohorts = {
        "BAD1": {"source": "files", "inputs": mrna, "outputs": str(tmp_path / "none.tsv")},
        "GOOD": {"source": "files", "inputs": mrna, "outputs": rppa},
        "BAD2": {"source": "files", "inputs": str(tmp_path / "nothing.tsv"), "outputs": rppa},
    }
    fit = {"lam": 0.1, "relevance": "inputs", "hidden": 0}
    config = {"cohorts": cohorts, "methods": ["sequential"], "fit": fit, "use_pathways": ["Apoptosis"]}
    work = tmp_path / "work"
    write_config(work, config)
    return work


def test_every_cohort_is_prepared_by_one_job(files):
    """The check is about what that job found, and test_resources.py sees to it that no other one reads the files."""
    for targets in (["all", "check"], ["check"]):
        done = run(files, "--dry-run", *targets)
        assert re.search("^prepare +3$", done.stdout + done.stderr, re.M)


def test_all_mistakes_are_told_before_any_fit_and_sound_cohorts_finish(files):
    targets = [f"results/{cohort}/sequential/edges.tsv" for cohort in ("BAD1", "GOOD", "BAD2")]
    done = run(files, "--keep-going", *targets, cores=1, check=False)
    assert done.returncode != 0
    for mistake in ("cohort BAD1:", "cohorts.BAD1.outputs", "none.tsv", "cohort BAD2:", "nothing.tsv"):
        assert mistake in done.stderr
        assert done.stderr.index(mistake) < done.stderr.index("Fitting sequential to GOOD")
    assert [(files / target).exists() for target in targets] == [False, True, False]


@needs_real_data
def test_real_cancers_by_config_alone(tmp_path):
    cancers = ["KIRC", "LUAD", "LUSC", "COAD", "READ", "SKCM", "UCEC"]
    cohorts = {
        cancer: {
            "source": "files",
            "inputs": str(REAL / "tcga" / cancer / "mrna.tsv.gz"),
            "outputs": str(REAL / "tcga" / cancer / "rppa.tsv.gz"),
        }
        for cancer in [*cancers, "OV"]
    }
    fit = {"lam": "ebic", "relevance": "inputs", "hidden": 0}
    write_config(tmp_path, {"cohorts": cohorts, "methods": ["sequential"], "fit": fit})
    done = run(
        tmp_path,
        "--keep-going",
        *(f"results/{cancer}/sequential/edges.tsv" for cancer in cohorts),
        check=False,
        timeout=900,
    )
    # OV has no mRNA file: it fails at the check, which names the file and the key, and the others finish.
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "cohort OV" in said
    assert "cohorts.OV.inputs" in said
    assert not (tmp_path / "results/OV/data/X.tsv.gz").exists()
    for cancer in cancers:
        assert (tmp_path / f"results/{cancer}/sequential/edges.tsv").exists()
    # In KIRC genes go with the proteins that they encode.
    top = pd.read_csv(tmp_path / "results/KIRC/sequential/associations.tsv", sep="\t")
    groups = pd.read_csv(tmp_path / "results/KIRC/data/groups.tsv", sep="\t").set_index("name")["genes"]
    top = top[top["selected"]].head(20)
    own = [row.feature in groups.loc[[row.target]].iloc[-1].split(";") for row in top.itertuples()]
    assert sum(own) >= 5


@needs_real_data
def test_nhanes(tmp_path):
    config = yaml.safe_load((ROOT / "config/aging.yaml").read_text())
    config["cohorts"]["NHANES"]["table"] = str(REAL / "nhanes" / "nhanes4.csv.gz")
    config |= {"methods": ["sequential"], "fit": {"lam": "ebic"}}
    write_config(tmp_path, config)
    run(tmp_path, "results/figures/phenotype_network_NHANES.png", timeout=600)
    summary = json.loads((tmp_path / "results/NHANES/data/summary.json").read_text())
    assert summary["n_samples"] > 2000
    assert summary["n_outputs"] >= 12
