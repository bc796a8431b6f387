"""The rules of the workflow and what each needs, as the README shows them: ``python tests/workflow/rulegraph.py``."""

import re
import subprocess
import tempfile
from pathlib import Path

import networkx as nx
from runs import SNAKEMAKE, environment, write_config

# One cohort of every kind and source, and every option that adds a rule.
EVERYTHING = {
    "stability": {"subsamples": 10},
    "figures": {"upset_per_pathway": True},
    "cohorts": {
        "A": {"source": "simulated"},
        "B": {"source": "simulated", "kind": "aging"},
        "C": {"source": "xena"},
    },
}


def graph() -> nx.DiGraph:
    """Rule → rule, without what follows from other arrows."""
    with tempfile.TemporaryDirectory() as folder:
        write_config(Path(folder), EVERYTHING)
        done = subprocess.run(
            [*SNAKEMAKE, "--directory", folder, "--configfile", f"{folder}/config.yaml", "--rulegraph", "dot"],
            env=environment(),
            check=True,
            capture_output=True,
            text=True,
        )
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', done.stdout))
    arrows = nx.DiGraph((names[a], names[b]) for a, b in re.findall(r"(\d+) -> (\d+)", done.stdout))
    return nx.transitive_reduction(arrows)


def mermaid() -> str:
    lines = sorted(f"    {a} --> {b}" for a, b in graph().edges)
    return "\n".join(["```mermaid", "flowchart LR", *lines, "```"])


if __name__ == "__main__":
    print(mermaid())
