"""The default run's READ cohort on a real SLURM: its jobs are queued, one is killed midway, and the run recovers."""

import os
import shutil
import signal
import subprocess
import time

import pytest
import slurm_node
from runs import ROOT, command, environment, run, tables, write_config
from yaml import safe_load

pytestmark = pytest.mark.slow

TARGETS = ["results/READ/sequential/held_out.tsv", "results/READ/hybrid/edges.tsv"]
VICTIM = "rule_fit_wildcards_READ_sequential"
# What the profile leaves to the cluster: this one has no accounting, and its jobs take seconds.
OPTIONS = [
    *("--workflow-profile", str(ROOT / "profiles/slurm")),
    *("--slurm-status-command", "squeue", "--slurm-no-account"),
    *("--slurm-init-seconds-before-status-checks", "4", "--latency-wait", "10"),
    *("--default-resources", "slurm_partition=main", "--jobs", "4"),
]


def read_cohort():
    """READ as the default config has it, but for λ, whose choice would take most of the time."""
    default = safe_load((ROOT / "config/config.yaml").read_text())
    return {
        "seed": default["seed"],
        "methods": ["sequential", "hybrid"],
        "fit": {"lam": 0.1, "relevance": "entries"},
        "cohorts": {"READ": {**default["cohorts"]["READ"], "more_methods": []}},
    }


@pytest.fixture(scope="module")
def cluster():
    if reason := slurm_node.why_not():
        if os.environ.get("CI"):
            pytest.fail(f"CI has to run this test: {reason}")
        pytest.skip(reason)
    with slurm_node.cluster():
        yield


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    write_config(folder, read_cohort())
    run(folder, *TARGETS)
    return folder


class Queue:
    """What `squeue` has shown: the jobs by number, each with its rule, memory in MB and the states seen."""

    def __init__(self):
        self.rule, self.memory, self.states = {}, {}, {}

    def look(self):
        answer = subprocess.run(
            ["squeue", "--noheader", "--states=all", "--format=%i|%k|%m|%T"], capture_output=True, text=True, check=True
        )
        for line in answer.stdout.splitlines():
            job, rule, memory, state = line.split("|")
            self.rule[job], self.memory[job] = rule, int(memory.removesuffix("M"))
            self.states.setdefault(job, []).append(state)

    def jobs(self, rule):
        return [job for job, name in self.rule.items() if name == rule]


def kill_on_node(job):
    """As the kernel does when memory runs out: SIGKILL to what the job runs on its node."""
    listed = subprocess.run(["scontrol", "listpids", job], capture_output=True, text=True).stdout
    killed = 0
    for line in listed.splitlines()[1:]:
        try:
            os.kill(int(line.split()[0]), signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            continue
    return killed


@pytest.fixture(scope="module")
def recovered(cluster, local, tmp_path_factory):
    """A run on the cluster whose fit of `sequential` was killed once: its folder, what it said, and the queue."""
    folder = tmp_path_factory.mktemp("slurm")
    write_config(folder, read_cohort())
    log = folder / "results/logs/fit/READ_sequential.log"
    queue, killed = Queue(), 0
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(
            command(folder, *OPTIONS, "--", *TARGETS), env=environment(), stdout=output, stderr=subprocess.STDOUT
        )
        try:
            deadline = time.monotonic() + 550
            while process.poll() is None and time.monotonic() < deadline:
                queue.look()
                if not killed and log.exists() and "memory: " in log.read_text():
                    killed = kill_on_node(queue.jobs(VICTIM)[0])
                time.sleep(0.3)
        finally:
            if process.poll() is None:
                process.kill()  # its jobs end with the cluster
            process.wait()
    queue.look()
    said = (folder / "output.txt").read_text()
    assert process.returncode == 0, said
    assert killed, said
    return folder, said, queue


def test_the_jobs_were_queued(recovered):
    *_, queue = recovered
    for rule in (VICTIM, "rule_fit_wildcards_READ_hybrid", "rule_held_out_wildcards_READ_sequential"):
        assert any("RUNNING" in queue.states[job] for job in queue.jobs(rule)), queue.rule
    # The steps before the fits share a job.
    assert len(queue.rule) == 5


def test_the_killed_job_was_tried_again_with_twice_the_memory(recovered):
    folder, said, queue = recovered
    first, second = queue.jobs(VICTIM)
    assert queue.states[first][-1] == "FAILED"
    assert queue.states[second][-1] == "COMPLETED"
    assert queue.memory[second] == 2 * queue.memory[first]
    assert f"SLURM-job '{first}' failed" in said
    # Its log broke off, and SLURM's is kept; the next one has what it asked for.
    assert f"the job has asked SLURM for {queue.memory[first]} MB\n====" in said
    assert (folder / f"results/logs/slurm/rule_fit/READ_sequential/{first}.log").exists()
    assert "Trying to restart job" in said
    log = (folder / "results/logs/fit/READ_sequential.log").read_text()
    assert f"the job has asked SLURM for {queue.memory[second]} MB" in log


def test_the_tables_are_those_of_a_local_run(recovered, local):
    folder, *_ = recovered
    assert tables(folder) == tables(local)


def test_a_fit_larger_than_its_memory_fails_before_it_begins(local, tmp_path, monkeypatch):
    folder = shutil.copytree(local, tmp_path / "copy")
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "300")
    done = run(folder, "--forcerun", "fit", "--", "results/READ/hybrid/edges.tsv", check=False)
    assert done.returncode != 0
    assert "hybrid: a fit to 121 samples × 73 inputs × 76 outputs takes up to" in done.stdout + done.stderr
    log = (folder / "results/logs/fit/READ_hybrid.log").read_text()
    assert "SLURM grants 300 MB" in log
    assert "Traceback" not in log
