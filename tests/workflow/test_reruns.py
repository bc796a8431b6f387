"""What is made again when a file or a key of the config changes, or the code: what depends on it, and nothing else."""

import os
import re
import shutil
import subprocess
import time

import pytest
import yaml
from plans import changed, stubbed, triggered
from runs import SNAKEMAKE, environment, write_config

from nard.project.config import schema

OMICS = ["SIM", "OWN", "MULTI", "BRCA"]
AGING = ["OLD", "PEOPLE"]
METHODS = ["sequential", "capme", "mine"]
FILES = {
    "pathways.tsv": "pathway\tprotein\tgene\nOne\tAKT\tAKT1\nTwo\tBAX\tBAX\n",
    "antibodies.tsv": "antibody\tgene\tsites\nAKT\tAKT1\t\n",
    "mine.py": "from nard.baselines.base import Baseline\n\n\nclass Mine(Baseline):\n    _estimate = x = 1\n",
    **dict.fromkeys(("x.tsv", "y.tsv", "folder/A.txt", "folder/more/B.txt", "folder/logs/C.txt"), "values"),
    **dict.fromkeys(
        ("ages.tsv", "genes.txt", "proteins.txt", "multi.h5mu", "people.csv", "batches.tsv", "names.tsv"), "values"
    ),
    "cancers/LUAD/mrna.tsv": "values",
}
CONFIG = {
    "pathways": "pathways.tsv",
    "antibodies": "antibodies.tsv",
    "methods": ["sequential", "capme", "mine.py:Mine"],
    "fit": {"lam": 0.1},
    "stability": {"subsamples": 2},
    "mirror": "file:///nowhere",
    "paper": {"chapters": ["tcga"], "files": {"tcga": "cancers", "nhanes": "not/there.csv"}},
    "cohorts": {
        "SIM": {"source": "simulated"},
        "OWN": {
            "source": "files",
            "inputs": "x.tsv",
            "outputs": "folder",
            "covariates": "ages.tsv",
            "gene_names": "names.tsv",
            "preprocessing": {"genes": "genes.txt", "proteins": "proteins.txt", "adjust": ["age"]},
        },
        "MULTI": {"source": "files", "inputs": "multi.h5mu#rna", "outputs": "y.tsv"},
        "BRCA": {"source": "xena", "covariates": "batches.tsv", "preprocessing": {"adjust": ["batch"]}},
        "OLD": {"source": "simulated", "kind": "aging"},
        "PEOPLE": {
            "source": "files",
            "kind": "aging",
            "table": "people.csv",
            "macro": {"a": ["b"]},
            "molecular": {"c": ["d"]},
        },
    },
}


def jobs(rule, cohorts, methods=("",)):
    return {f"{rule} {cohort} {method}".strip() for cohort in cohorts for method in methods}


PREPARED_WITH_PATHWAYS = jobs("simulate_omics", ["SIM"]) | jobs("prepare", ["OWN", "MULTI", "BRCA"])
ALL_PREPARED = jobs("prepare", [*OMICS, *AGING])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run whose jobs wrote next to nothing, and its Snakefile."""
    folder = tmp_path_factory.mktemp("reruns")
    snakefile, work = stubbed(folder / "repository"), folder / "work"
    write_config(work, CONFIG)
    for name, text in FILES.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
        os.utime(work / name, (1, 1))
    snakemake(snakefile, work)
    return snakefile, work


def snakemake(snakefile, work, *arguments):
    command = [*SNAKEMAKE[:3], "--snakefile", str(snakefile), "--configfile", "config.yaml", "--cores", "2"]
    done = subprocess.run([*command, *arguments], cwd=work, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def restored(finished):
    """Puts everything back as it was."""
    yield finished
    _, work = finished
    write_config(work, CONFIG)
    for name, text in FILES.items():
        (work / name).write_text(text)
        os.utime(work / name, (1, 1))
    (work / "folder" / "new.txt").unlink(missing_ok=True)


pytestmark = pytest.mark.slow


def test_nothing_is_to_be_done_again(finished):
    assert triggered(*finished) == (set(), set())


OF_FILES = {
    "x.tsv": jobs("prepare", ["OWN"]),
    "folder/A.txt": jobs("prepare", ["OWN"]),
    "folder/more/B.txt": jobs("prepare", ["OWN"]),
    "folder/new.txt": jobs("prepare", ["OWN"]),
    "folder/logs/C.txt": set(),
    "ages.tsv": jobs("prepare", ["OWN"]),
    "names.tsv": jobs("prepare", ["OWN"]),
    "genes.txt": jobs("prepare", ["OWN"]),
    "proteins.txt": jobs("prepare", ["OWN"]),
    "multi.h5mu": jobs("prepare", ["MULTI"]),
    "y.tsv": jobs("prepare", ["MULTI"]),
    "batches.tsv": jobs("prepare", ["BRCA"]),
    "people.csv": jobs("prepare", ["PEOPLE"]),
    "pathways.tsv": PREPARED_WITH_PATHWAYS,
    "antibodies.tsv": jobs("prepare", OMICS),
    "cancers/LUAD/mrna.tsv": {"paper_runs tcga"},
    "mine.py": jobs("fit", [*OMICS, *AGING], ["mine"]),
}


# A file that was moved, unpacked or restored from a backup to where another one was has a time of its own.
OLD_OR_NEW = pytest.mark.parametrize("old", [False, True], ids=["just now", "long ago"])


def dated(path, old):
    # Snakemake compares whole seconds on some file systems.
    os.utime(path, (2 if old else time.time() + 5,) * 2)


@OLD_OR_NEW
@pytest.mark.parametrize("name", OF_FILES)
def test_a_file_was_edited(restored, name, old):
    snakefile, work = restored
    text = FILES.get(name, "new")
    (work / name).write_text(text.replace("x = 1", "x = 2") if name == "mine.py" else text + "Three\tX\tX\n")
    dated(work / name, old)
    causes, rest = triggered(snakefile, work)
    assert causes == OF_FILES[name]
    assert ("report" in rest) == bool(OF_FILES[name])


@OLD_OR_NEW
def test_times_alone_make_nothing_again(restored, old):
    """As in a copy of the folder. Of files that are not small Snakemake itself takes newer ones for changed."""
    snakefile, work = restored
    for name in FILES:
        dated(work / name, old)
    assert triggered(snakefile, work) == (set(), set())


# Keys that take text of one's own: those that can name a file, and what of it is tried above, and those that cannot.
FILE_KEYS = {
    *("inputs", "outputs", "covariates", "gene_names", "table", "genes", "proteins", "pathways", "antibodies"),
    *("methods", "more_methods"),
}
# A mirror is downloaded from once.
NO_FILES = {"reference", "title", "cancer", "id", "age", "filter", "mirror"}
LISTS_OF_TEXT = {
    "use_pathways",
    "absent_proteins",
    "adjust",
    "sha256",
    "macro",
    "molecular",
    "sample_types",
    "chapters",
}


def test_every_key_that_can_name_a_file_is_tried():
    nodes = {**schema()["properties"], **schema()["$defs"]["cohort"]["properties"]}
    nodes |= schema()["$defs"]["preprocessing"]["properties"]
    free = {key for key, node in nodes.items() if takes_text(node)}
    assert free == FILE_KEYS | NO_FILES | (LISTS_OF_TEXT - {"chapters", "sha256", "macro", "molecular", "sample_types"})
    said = yaml.safe_dump(CONFIG)
    assert all(f"{key}:" in said for key in FILE_KEYS - {"more_methods"})


def takes_text(node):
    """Whether a value can be any text, or a list of such."""
    if "anyOf" in node:
        return any(map(takes_text, node["anyOf"]))
    kinds = node.get("type", [])
    if "array" in kinds:
        return takes_text(node["items"]) or node["items"].get("$ref") == "#/$defs/method"
    return "string" in kinds and "enum" not in node and not node.get("pattern", "").startswith("^[0-9]")


EVERYTHING_ELSE = [cohort for cohort in (*OMICS, *AGING) if cohort not in ("SIM", "OLD")]
OF_KEYS = [
    (
        "seed",
        2,
        jobs("simulate_omics", ["SIM"])
        | jobs("simulate_aging", ["OLD"])
        | jobs("fit", EVERYTHING_ELSE, METHODS)
        | jobs("floors", EVERYTHING_ELSE),
    ),
    ("fit.lam", 0.2, jobs("fit", [*OMICS, *AGING], ["sequential"])),
    ("fit.hidden", 0, jobs("fit", [*OMICS, *AGING], ["sequential"])),
    ("fit.fdr", 0.1, jobs("fit", [*OMICS, *AGING], METHODS)),
    ("fit.time_budget", 10, set()),
    ("memory", 100_000, set()),
    ("use_pathways", ["Two"], PREPARED_WITH_PATHWAYS),
    ("preprocessing", {"max_missing": 0.1}, ALL_PREPARED),
    ("preprocessing", {"log": False}, jobs("prepare", OMICS)),
    ("figures", {"max_edges": 5}, jobs("network_figure", OMICS)),
    ("stability.subsamples", 3, jobs("stability", [*OMICS, *AGING], ["sequential"])),
    ("mirror", "file:///elsewhere", {"download BRCA"}),
    ("cohorts.SIM.samples", 50, jobs("simulate_omics", ["SIM"])),
    ("cohorts.SIM.extra_proteins", 5, jobs("simulate_omics", ["SIM"])),
    ("cohorts.OLD.samples", 50, jobs("simulate_aging", ["OLD"])),
    ("cohorts.OLD.extra_proteins", 5, set()),
    ("cohorts.OWN.title", "A cohort", jobs("prepare", ["OWN"])),
    ("cohorts.OWN.orientation", "samples_in_rows", jobs("prepare", ["OWN"])),
    ("cohorts.OWN.inputs", "y.tsv", jobs("prepare", ["OWN"])),
    ("cohorts.OWN.preprocessing.genes", "all", jobs("prepare", ["OWN"])),
    ("cohorts.OWN.preprocessing.impute", "knn", jobs("prepare", ["OWN"])),
    ("cohorts.MULTI.inputs", "multi.h5mu#rna/log", jobs("prepare", ["MULTI"])),
    ("cohorts.PEOPLE.filter", "d > 1", jobs("prepare", ["PEOPLE"])),
    ("cohorts.PEOPLE.preprocessing", {"genes": "all"}, set()),
]


@pytest.mark.parametrize(
    ("place", "value", "expected"), OF_KEYS, ids=[f"{place}: {value}" for place, value, _ in OF_KEYS]
)
def test_a_key_was_changed(restored, place, value, expected):
    snakefile, work = restored
    write_config(work, changed(CONFIG, place, value))
    causes, rest = triggered(snakefile, work)
    assert causes - {"report"} == expected
    # It shows the config.
    assert "report" in causes | rest


def test_a_method_more_refits_nothing_that_is_there(restored):
    snakefile, work = restored
    write_config(work, changed(CONFIG, "cohorts.SIM.more_methods", ["hybrid"]))
    made = set.union(*triggered(snakefile, work))
    long = ("simulate", "download", "prepare", "fit", "held_out", "stability")
    assert {job for job in made if job.startswith(long)} == {"fit SIM hybrid", "held_out SIM hybrid"}
    assert {"jaccard", "methods_table", "recovery_table", "explorer", "report", "trace_figure SIM"} <= made


def test_another_reference_refits_nothing(restored):
    snakefile, work = restored
    write_config(work, changed(CONFIG, "reference", "capme"))
    made = set.union(*triggered(snakefile, work))
    long = ("simulate", "download", "prepare", "fit", "held_out")
    assert not {job for job in made if job.startswith(long)}
    assert jobs("stability", [*OMICS, *AGING], ["capme"]) | jobs("network_figure", OMICS) <= made


@pytest.mark.parametrize(
    ("file", "more", "expected"),
    [
        ("figures/network.py", "ANOTHER = 1", {"network_figure", "report"}),
        ("baselines/capme.py", "ANOTHER = 1", {"fit", "held_out"}),
        ("estimator/model.py", "# A word more.", set()),
        ("__init__.py", "__version__ = '99'", {"simulate_aging", "prepare", "fit", "report"}),
        ("data/pathways.tsv", "Three\tX\tX", {"simulate_omics", "prepare", "fit", "report"}),
    ],
)
def test_the_package_was_edited(restored, file, more, expected):
    """In a process of its own, in which the package is the copy."""
    snakefile, work = restored
    path = snakefile.parent / "nard" / file
    before = path.read_text()
    path.write_text(f"{before}{more}\n")
    try:
        text = snakemake(snakefile, work, "--dry-run")
    finally:
        path.write_text(before)
    rules = set(re.findall(r"^(\w+) +\d+$", text, re.MULTILINE))
    assert expected <= rules
    if file.startswith("figures"):
        assert not rules & {"prepare", "fit", "held_out"}
    if file.startswith("baselines"):
        assert set(re.findall(r"Fitting (\w+) to", text)) == {"capme"}
        assert "prepare" not in rules
    if not expected:
        assert "Nothing to be done" in text


def test_cohorts_of_another_config_are_told(restored, tmp_path):
    snakefile, work = restored
    folder = shutil.copytree(work, tmp_path / "work")
    # Whatever is there, the report tells it; all else stays.
    (folder / "results/ALIEN/data").mkdir(parents=True)
    (folder / "results/ALIEN/data/summary.json").write_text("{}")
    assert triggered(snakefile, folder) == ({"report"}, set())
    write_config(folder, CONFIG | {"cohorts": {"SIM": CONFIG["cohorts"]["SIM"]}})
    text = snakemake(snakefile, folder, "results/tables/cohorts.tsv")
    assert "results/ also holds ALIEN, BRCA, MULTI, OLD, OWN, PEOPLE, which the present config does not name" in text
    assert (folder / "results/ALIEN/data/summary.json").read_text() == "{}"
