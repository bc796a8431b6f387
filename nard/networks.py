"""Graphs from tables of findings."""

from __future__ import annotations

import re

import networkx as nx
import pandas as pd

__all__ = ["findings_graph", "readable_as_xml"]

# XML 1.0 has no way to write these, not even escaped.
_NO_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def findings_graph(targets, edges: pd.DataFrame, associations: pd.DataFrame | None = None) -> nx.Graph:
    """The selected rows as a graph. Attributes are plain Python values, as GraphML writers demand.

    An input that bears the name of an output (a gene and its protein) gets the node id ``name (input)``.
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
            _connect(graph, node, row.target, "association", row.weight, row.qvalue)
    return graph


def readable_as_xml(graph: nx.Graph) -> nx.Graph:
    """A copy in which characters that XML cannot hold are written as their codes, such as \\x01."""
    graph = nx.relabel_nodes(graph, _without_control)
    for attributes in graph.nodes.values():
        attributes.update({key: _without_control(value) for key, value in attributes.items()})
    return graph


def _without_control(value):
    return _NO_XML.sub(lambda found: rf"\x{ord(found[0]):02x}", value) if isinstance(value, str) else value


def _connect(graph, source, target, kind, weight, qvalue):
    sign = "positive" if weight > 0 else "negative"
    graph.add_edge(str(source), str(target), kind=kind, weight=float(weight), sign=sign, qvalue=float(qvalue))
