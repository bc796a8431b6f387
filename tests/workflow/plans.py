"""What a run would do: the workflow with scripts that only write their outputs, and its plans."""

import io
import os
import shutil
from contextlib import redirect_stdout
from copy import deepcopy
from pathlib import Path

from runs import ROOT
from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, OutputSettings, Quietness, ResourceSettings

from nard.project import provenance

# Takes the place of what a script does. Its imports stay, so that the same code stands behind it.
_STUB = """
import json
from pathlib import Path

FOUND = {"method": "sequential", "n_samples": 50, "n_inputs": 9, "n_outputs": 9, "n_features": 9, "n_targets": 9}

if "snakemake" in globals():
    for path in snakemake.output:
        Path(path).write_text(json.dumps(FOUND))


def original():
"""
_PARTS = ("Snakefile", "config", "envs", "nard", "profiles", "scripts", "workflow")


def stubbed(folder: Path) -> Path:
    """A copy of the repository in which every job takes no time; its Snakefile."""
    folder.mkdir()
    for part in _PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        options = {"ignore": shutil.ignore_patterns("__pycache__"), "symlinks": False} if (ROOT / part).is_dir() else {}
        copy(ROOT / part, folder / part, **options)
    for script in (folder / "scripts").glob("*.py"):
        body = "".join(f"    {line}" for line in script.read_text().splitlines(keepends=True))
        script.write_text(_STUB + body)
    return folder / "Snakefile"


def changed(config: dict, place: str, value) -> dict:
    """A copy of the config with another value at ``place``, keys joined by dots."""
    config = deepcopy(config)
    *path, last = place.split(".")
    node = config
    for key in path:
        node = node.setdefault(key, {})
    node[last] = value
    return config


def triggered(snakefile: Path, folder: Path) -> tuple[set[str], set[str]]:
    """The jobs that the present state calls for by itself, and those that follow from these: rule, cohort, method."""
    before = os.getcwd()
    # In a run of its own nothing would be known yet.
    for known in (provenance._source, provenance._reached):
        known.cache_clear()
    try:
        with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
            workflow = api.workflow(
                snakefile=snakefile,
                resource_settings=ResourceSettings(cores=1),
                config_settings=ConfigSettings(configfiles=[folder / "config.yaml"]),
                workdir=folder,
            )
            with redirect_stdout(io.StringIO()):
                workflow.dag().summary()
            dag = workflow._workflow.dag
            causes, rest = set(), set()
            for job in dag.needrun_jobs():
                reason = dag.reason(job)
                own = reason.updated_input or reason.missing_output or reason.is_provenance_triggered()
                if job.rule.name != "all":
                    (causes if own else rest).add(_name(job))
            return causes, rest
    finally:
        os.chdir(before)


def _name(job) -> str:
    about = dict(job.wildcards.items())
    return " ".join(
        [job.rule.name, *(about[key] for key in ("cohort", "cancer", "chapter", "method", "what") if key in about)]
    )
