"""Graphs from tables of findings."""

from __future__ import annotations

import re
from math import isfinite

import networkx as nx
import pandas as pd

__all__ = ["findings_graph", "readable_as_xml"]

# XML 1.0 has no way to write these, not even escaped.
_NO_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def findings_graph(targets, edges: pd.DataFrame, associations: pd.DataFrame | None = None) -> nx.Graph:
    """The selected rows as a graph. Attributes are plain Python values, as GraphML writers demand.

    An input that bears the name of an output (a gene and its protein) gets the node id ``name (input)``. Associations
    of a method that tests also have ``own`` and ``stand_ins``, and where the input leads an effect ``probability``.
    """
    graph = nx.Graph()
    graph.add_nodes_from((str(name), {"label": str(name), "kind": "target"}) for name in targets)
    for row in edges[edges["selected"]].itertuples():
        _connect(graph, row.source, row.target, "edge", row.partial_correlation, row.qvalue)
    if associations is not None:
        outputs = set(graph.nodes)
        for row in associations[associations["selected"]].itertuples():
            node = str(row.feature)
            while node in outputs:
                node += " (input)"
            graph.add_node(node, label=str(row.feature), kind="feature")
            _connect(graph, node, row.target, "association", row.weight, row.qvalue, **_naming(row))
    return graph


def readable_as_xml(graph: nx.Graph) -> nx.Graph:
    """A copy in which characters that XML cannot hold are written as their codes, such as \\x01."""
    graph = nx.relabel_nodes(graph, _without_control)
    for attributes in (*graph.nodes.values(), *graph.edges.values()):
        attributes.update({key: _without_control(value) for key, value in attributes.items()})
    return graph


def _without_control(value):
    return _NO_XML.sub(lambda found: rf"\x{ord(found[0]):02x}", value) if isinstance(value, str) else value


def _naming(row) -> dict:
    """How sure it is that an association is the named input's; nothing of a method that does not tell.

    An empty cell of a file is no text.
    """
    if pd.isna(getattr(row, "own", None)):
        return {}
    known = {"own": bool(row.own), "stand_ins": row.stand_ins if isinstance(row.stand_ins, str) else ""}
    return {**known, "probability": float(row.probability)} if isfinite(row.probability) else known


def _connect(graph, source, target, kind, weight, qvalue, **more):
    sign = "positive" if weight > 0 else "negative"
    graph.add_edge(str(source), str(target), kind=kind, weight=float(weight), sign=sign, qvalue=float(qvalue), **more)
