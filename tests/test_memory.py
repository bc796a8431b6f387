"""The memory estimate against measured fits, the limits it is held against, and what a fit too large says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from cohorts import raw_tables, write
from memory_table import markdown

from nard.__main__ import main
from nard.baselines import CAPME
from nard.errors import DataError
from nard.fits.memory import MemoryLimit, fit_megabytes, memory_limit, require_memory, too_large, tuned_by
from nard.fits.methods import METHODS

ROOT = Path(__file__).parents[1]
# Shapes of every kind, in which the data count and a fit takes a second: fewer samples than inputs, more, many outputs.
MEASURED = {
    "sequential": ["120x2000x30", "100x60x300", "120x2000x30:both", "100x60x300:both", "60x3000x100:inputs"],
    "hybrid": ["120x2000x30"],
    "full": ["120x2000x30"],
    "surrogate": ["600x500x15"],
    "mrce": ["80x500x5"],
    "capme": ["100x150x30"],
    "mssl": ["100x600x20"],
    "ard": ["60x600x2"],
    "multitask_lasso": ["60x600x4"],
    "jrns": ["100x800x20"],
    "hsghs": ["100x80x90"],
}
# The config lets NARD choose λ and the parts of the model.
CHOOSE = {"lam": "cv", "relevance": "auto", "hidden": "auto"}
PAPER = {"lam": 0.1, "relevance": "inputs", "hidden": 0}
MOST = 4.0
# Megabytes that allocators and caches take as they like; the estimate's base has room for them.
NOISE = 5.0


def fit_memory(asked):
    script = str(ROOT / "tests/fit_memory.py")
    done = subprocess.run([sys.executable, script, *asked], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def measured():
    asked = [f"{method}:{shape}" for method, shapes in MEASURED.items() for shape in shapes]
    # What compiles code keeps hundreds of megabytes for that: it is to be there already, as in every run but the first.
    fit_memory(asked)
    return fit_memory(asked)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read from /proc")
def test_the_estimate_is_never_below_what_a_fit_takes_and_not_far_above(measured):
    assert set(MEASURED) == set(METHODS)
    base = fit_megabytes("sequential", 1, 1, 1)
    # With the code of all methods, where a job has that of one; and two Snakemakes.
    assert measured.pop("base") + 2 * 150 <= base
    for fit, took in measured.items():
        method, shape, *relevance = fit.split(":")
        given = {"tuned": True, "relevance": relevance[0]} if relevance else {}
        estimate = fit_megabytes(method, *map(int, shape.split("x")), **given) - base
        assert took - NOISE <= estimate <= MOST * (took + NOISE), f"{fit}: took {took:.1f} MB, estimated {estimate} MB"


def test_the_constants_are_those_of_the_methods():
    from nard.algorithms import entries
    from nard.baselines import separate
    from nard.estimator import choice
    from nard.fits import doubles, memory, methods

    assert memory._FOLDS == choice._N_FOLDS == CAPME().n_folds
    assert (doubles._EFFECTS, doubles._KEPT) == (entries.MOST_EFFECTS, entries._KEPT)
    assert choice._MOST_PRODUCTS == memory._MOST_PRODUCTS
    assert choice._MOST_OUTPUTS == memory._MOST_OUTPUTS
    assert choice._SOME_OUTPUTS == memory._SOME_OUTPUTS
    assert CAPME().n_values == separate._REGRESSIONS["multitask_lasso"]().alphas == methods._VALUES


@pytest.mark.parametrize("method", METHODS)
def test_more_of_anything_takes_more(method):
    shape = [200, 3000, 50]
    before = fit_megabytes(method, *shape)
    for axis in range(3):
        larger = [2 * size if i == axis else size for i, size in enumerate(shape)]
        assert fit_megabytes(method, *larger) >= before
    assert fit_megabytes(method, *shape, tuned=True) <= before


def test_nard_does_not_pay_for_pairs_of_inputs():
    """A matrix of 60,000 × 60,000 is 28 GB."""
    assert fit_megabytes("sequential", 100, 60_000, 50) < 5000 < 28_000 < fit_megabytes("mrce", 100, 60_000, 50)


def test_thousands_of_outputs_take_a_few_dozen_matrices_of_their_size():
    """44 of them were measured, with 13,482 inputs and 4,376 outputs; tables and what allocators keep come to it."""
    n, d, m = 96, 13_482, 4376
    measured = 6790
    assert measured <= fit_megabytes("sequential", n, d, m) <= 2 * measured


def test_a_fit_too_large_says_what_to_change():
    said = too_large("mrce", (350, 20_000, 200), CHOOSE, MemoryLimit(16_000, "SLURM grants"))
    needed = fit_megabytes("mrce", 350, 20_000, 200)
    assert f"takes up to {needed} MB; SLURM grants 16000 MB" in said
    assert f"--set-resources fit:mem_mb={needed}" in said
    genes = int(said.split("genes: ")[1].split("}")[0])
    assert 10_000 < genes < 20_000
    assert too_large("mrce", (350, genes, 200), CHOOSE, MemoryLimit(16_000, "")) is None
    others = said.split("methods: [")[1].split("]")[0].split(", ")
    assert "sequential" in others
    assert "mrce" not in others
    for method in others:
        assert too_large(method, (350, 20_000, 200), CHOOSE, MemoryLimit(16_000, "")) is None


def test_a_given_penalty_takes_less():
    """A thousand outputs fit into 3 GB if nothing is cross-validated."""
    shape, limit = (1696, 5000, 900), MemoryLimit(3000, "this machine has")
    assert "lam: 0.1, relevance: inputs, hidden: 0" in too_large("sequential", shape, CHOOSE, limit)
    assert too_large("sequential", shape, PAPER, limit) is None


@pytest.mark.parametrize(
    ("settings", "tuned"),
    [
        (CHOOSE, False),
        ({**CHOOSE, "lam": 0.1}, False),
        ({**PAPER, "lam": "ebic"}, False),
        ({**PAPER, "hidden": "auto"}, False),
        ({**PAPER, "relevance": "both"}, True),
        ({"lam": 0.1, "relevance": "entries", "hidden": "auto"}, True),
        (PAPER, True),
    ],
)
def test_what_leaves_nothing_to_cross_validate(settings, tuned):
    assert tuned_by(settings, "sequential") == tuned
    assert not tuned_by(settings, "mrce")


def test_a_fit_that_nothing_helps_but_memory():
    said = too_large("sequential", (350, 20_000, 200), CHOOSE, MemoryLimit(100, "this machine has"))
    assert "genes" not in said
    assert "methods" not in said
    assert "more memory" in said


def test_it_is_told_before_the_fit(monkeypatch):
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1000")
    with pytest.raises(DataError, match="SLURM grants 1000 MB"):
        require_memory("mrce", (350, 20_000, 200), CHOOSE)
    assert "the fit takes up to" in require_memory("mrce", (50, 10, 5), CHOOSE)


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"proc/self/cgroup": "0::/job/step", "sys/fs/cgroup/job/memory.max": f"{300 * 2**20}\n"}, 300),
        # The innermost is not always the smallest, and "max" is none.
        (
            {
                "proc/self/cgroup": "0::/job/step",
                "sys/fs/cgroup/job/step/memory.max": "max",
                "sys/fs/cgroup/memory.max": f"{200 * 2**20}",
            },
            200,
        ),
        (
            {
                "proc/self/cgroup": "3:cpu:/x\n4:memory:/slurm/job_1\n",
                "sys/fs/cgroup/memory/slurm/job_1/memory.limit_in_bytes": f"{400 * 2**20}",
            },
            400,
        ),
        # In a container the path of the group is that of the host.
        ({"proc/self/cgroup": "0::/../pod", "sys/fs/cgroup/memory.max": f"{100 * 2**20}"}, 100),
    ],
)
def test_the_limit_of_a_control_group_counts(tmp_path, files, limit):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory_limit(environment={}, root=tmp_path) == (limit, "the limit of its control group is")


def test_without_a_scheduler_the_machine_counts(tmp_path):
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    assert memory_limit(10, {}, tmp_path) == (physical, "this machine has")
    assert memory_limit(10, {"SLURM_JOB_ID": "1"}, tmp_path) == (10, "the job has asked SLURM for")
    assert memory_limit(10, {"SLURM_JOB_ID": "1", "SLURM_MEM_PER_NODE": "20"}, tmp_path) == (20, "SLURM grants")
    # `--mem 0` is all that the node has.
    assert memory_limit(10, {"SLURM_MEM_PER_NODE": "0"}, tmp_path).megabytes == physical


def test_check_tells_of_fits_that_are_too_large(tmp_path, capsys):
    mrna, rppa = raw_tables()
    cohort = {"source": "files", "inputs": write(mrna, tmp_path / "x.tsv"), "outputs": write(rppa, tmp_path / "y.tsv")}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"cohorts": {"A": cohort}, "methods": ["sequential"], "memory": 200}))
    assert main(["check", str(path)]) == 1
    assert "cohort A: sequential: a fit to 40 samples" in capsys.readouterr().err
    path.write_text(yaml.safe_dump({"cohorts": {"A": cohort}, "methods": ["sequential"], "memory": 2000}))
    assert main(["check", str(path)]) == 0


def test_the_table_in_the_docs_is_what_the_function_says():
    text = (ROOT / "docs/cluster.md").read_text()
    shown = text.split("<!-- python tests/memory_table.py -->\n")[1].split("\n<!-- end -->")[0]
    assert shown == markdown()


def test_the_message_in_the_docs_is_what_is_said():
    said = too_large("mrce", (350, 20_000, 200), CHOOSE, MemoryLimit(16_000, "the job has asked SLURM for"))
    assert f"```\n{said}\n```" in (ROOT / "docs/cluster.md").read_text()
