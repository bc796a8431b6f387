"""CX2, the network format of Cytoscape and NDEx: the graph with its attributes, places and colours."""

from __future__ import annotations

import json

import networkx as nx

from nard.palette import NEGATIVE, POSITIVE

__all__ = ["cx2_text"]

_TYPES = {str: "string", bool: "boolean", int: "long", float: "double"}
# What the format itself has a place for.
_PLACES = ("x", "y")
_VISUAL = {
    "default": {
        "network": {"NETWORK_BACKGROUND_COLOR": "#FFFFFF"},
        "node": {
            "NODE_SHAPE": "ellipse",
            "NODE_WIDTH": 40,
            "NODE_HEIGHT": 40,
            "NODE_BORDER_WIDTH": 0,
            "NODE_LABEL_COLOR": "#000000",
            "NODE_LABEL_FONT_SIZE": 12,
        },
        "edge": {"EDGE_WIDTH": 2, "EDGE_LINE_COLOR": "#8A8A8A", "EDGE_LINE_STYLE": "solid"},
    },
    "nodeMapping": {
        "NODE_LABEL": {"type": "PASSTHROUGH", "definition": {"attribute": "label", "type": "string"}},
        "NODE_BACKGROUND_COLOR": {"type": "PASSTHROUGH", "definition": {"attribute": "colour", "type": "string"}},
        "NODE_SHAPE": {
            "type": "DISCRETE",
            "definition": {
                "attribute": "kind",
                "type": "string",
                "map": [{"v": "target", "vp": "ellipse"}, {"v": "feature", "vp": "triangle"}],
            },
        },
    },
    "edgeMapping": {
        "EDGE_LINE_COLOR": {
            "type": "DISCRETE",
            "definition": {
                "attribute": "sign",
                "type": "string",
                "map": [{"v": "positive", "vp": POSITIVE}, {"v": "negative", "vp": NEGATIVE}],
            },
        },
        "EDGE_LINE_STYLE": {
            "type": "DISCRETE",
            "definition": {
                "attribute": "kind",
                "type": "string",
                "map": [{"v": "edge", "vp": "solid"}, {"v": "association", "vp": "dashed"}],
            },
        },
    },
}


def cx2_text(graph: nx.Graph, name: str) -> str:
    """The graph as CX2. Nodes have ``x`` and ``y`` (upwards, where CX2 counts downwards); other attributes are kept.

    Every node's own id becomes its attribute ``name``, since ids are numbers in CX2.
    """
    number = {node: i for i, node in enumerate(graph)}
    nodes: list[dict] = [
        {
            "id": number[node],
            "x": attributes["x"],
            "y": 0.0 - attributes["y"],
            "v": {"name": node, **{key: value for key, value in attributes.items() if key not in _PLACES}},
        }
        for node, attributes in graph.nodes(data=True)
    ]
    edges: list[dict] = [
        {
            "id": i,
            "s": number[source],
            "t": number[target],
            "v": {"interaction": attributes["kind"], **_known(attributes)},
        }
        for i, (source, target, attributes) in enumerate(graph.edges(data=True))
    ]
    network = {"name": name, "description": "Selected findings of NARD"}
    declarations = {
        "networkAttributes": _declared([network]),
        "nodes": _declared([node["v"] for node in nodes]),
        "edges": _declared([edge["v"] for edge in edges]),
    }
    aspects: dict[str, list] = {
        "attributeDeclarations": [declarations],
        "networkAttributes": [network],
        "nodes": nodes,
        "edges": edges,
        "visualProperties": [_VISUAL],
    }
    content = [
        {"CXVersion": "2.0", "hasFragments": False},
        {"metaData": [{"name": aspect, "elementCount": len(rows)} for aspect, rows in aspects.items()]},
        *({aspect: rows} for aspect, rows in aspects.items()),
        {"status": [{"success": True, "error": ""}]},
    ]
    lines = ",\n".join(json.dumps(part, ensure_ascii=False, allow_nan=False) for part in content)
    return f"[{lines}]\n"


def _known(attributes: dict) -> dict:
    """Without those that are not a number: CX2 leaves out what is unknown (some methods have no q-values)."""
    return {key: value for key, value in attributes.items() if value == value}


def _declared(rows: list[dict]) -> dict:
    """The type of every attribute that any of the rows has."""
    return {key: {"d": _TYPES[type(value)]} for row in rows for key, value in row.items()}
