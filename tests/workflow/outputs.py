"""The files of a run as docs/outputs.yaml describes them, and what is really in a file."""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import yaml
from runs import ROOT

ANY = "*"
# Names that no cohort may have, see nard.project.config.
_COHORT = "(?!(?:benchmarks|comparison|figures|logs|tables)/)[^/]+"


@dataclass(frozen=True)
class Described:
    """An entry of docs/outputs.yaml."""

    file: str
    what: str
    called: str = "column"
    fields: dict = field(default_factory=dict)
    optional: dict = field(default_factory=dict)

    @property
    def pattern(self) -> re.Pattern:
        """Of the paths that the entry describes; a rule has a folder of files if it has several jobs."""
        text = re.escape(self.file).replace(r"\{rule\}", ".+").replace(r"\{cohort\}", _COHORT)
        return re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", text))

    def compare(self, found: list[str], where: str) -> None:
        """Fails unless the fields are the described ones, in that order."""
        if not self.fields:
            return
        wanted = [name for name in self.fields if name != ANY]
        known = set(wanted) | set(self.optional)
        assert [name for name in found if name in wanted] == wanted, where
        assert ANY in self.fields or set(found) <= known, f"{where}: {set(found) - known} not described"


@cache
def listed_files() -> list[Described]:
    entries = yaml.safe_load((ROOT / "docs/outputs.yaml").read_text(encoding="utf-8"))
    return [Described(**entry) for entry in entries]


def from_samplers(entry: Described) -> set[str]:
    """Optional fields that only a sampler writes, which takes too long for a test."""
    return {name for name, text in entry.optional.items() if text.endswith("(JRNS)")}


def fields_in(path: Path) -> list[str]:
    """Columns of a table, keys of JSON, arrays of npz, attributes of GraphML; none of other files."""
    if path.name.endswith((".tsv", ".tsv.gz")):
        return list(pd.read_csv(path, sep="\t", nrows=0))
    if path.suffix == ".json":
        return list(json.loads(path.read_text(encoding="utf-8")))
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return list(arrays)
    if path.suffix == ".graphml":
        graph = nx.read_graphml(path)
        attributes = [f"node {key}" for _, node in graph.nodes(data=True) for key in node]
        attributes += [f"edge {key}" for _, _, edge in graph.edges(data=True) for key in edge]
        return list(dict.fromkeys(attributes))
    return []
