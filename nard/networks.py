"""Graphs from tables of findings."""

from __future__ import annotations

import networkx as nx
import pandas as pd

__all__ = ["findings_graph"]


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


def _connect(graph, source, target, kind, weight, qvalue):
    sign = "positive" if weight > 0 else "negative"
    graph.add_edge(str(source), str(target), kind=kind, weight=float(weight), sign=sign, qvalue=float(qvalue))
