"""Graphs as files that other programs open: GraphML and CX2, whatever the names in them."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from nard.data.antibodies import read_antibodies
from nard.data.groups import coloured, pathway_groups
from nard.data.pathways import OTHER, read_pathways
from nard.export.cx2 import cx2_text
from nard.export.graphs import findings_graph, readable_as_xml
from nard.fits.fitting import fit_paths, fitted_model, write_model
from nard.fits.results import node_table, placed_graph

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'more'",
    "]]>",
    "=cmd|' /C calc'!A0",
    "naïve\tβ\n",
    "bell\x07\x1b",
    "{}",
]
ABOUT = {"cohort": "A", "title": "A <b>", "kind": "omics", "simulated": False}
SETTINGS = {"lam": 0.1, "fdr": 0.05, "relevance": "auto", "hidden": 0, "time_budget": None}
TYPES = {"string": str, "boolean": bool, "long": int, "integer": int, "double": float}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A fit whose inputs and outputs have such names, and its files."""
    rng = np.random.default_rng(0)
    n, m = 80, len(HOSTILE)
    X = pd.DataFrame(rng.standard_normal((n, m)), columns=HOSTILE)
    shared = rng.standard_normal((n, 1))
    Y = pd.DataFrame(2 * X.to_numpy() + rng.standard_normal((n, m)) + shared, columns=HOSTILE)
    pathways = read_pathways()
    groups = coloured(pathway_groups(X, Y, pathways, read_antibodies()), [*pathways.names, OTHER])
    folder = tmp_path_factory.mktemp("hostile")
    model = fitted_model("sequential", SETTINGS, 1, X, Y, groups, folder)
    paths = fit_paths(folder)
    summary = write_model(model, "sequential", SETTINGS, n, groups, ABOUT, paths)
    assert summary["found"]["associations"] >= m
    assert summary["found"]["edges"] > 0
    return paths


@pytest.fixture(scope="module")
def cx2(hostile):
    with open(hostile["cx2"], encoding="utf-8") as file:
        return json.load(file)


def test_graphml_stays_well_formed(hostile):
    graph = nx.read_graphml(hostile["graph"])
    labels = {node["label"] for _, node in graph.nodes(data=True)}
    shown = {r"bell\x07\x1b" if name.startswith("bell") else name for name in HOSTILE}
    assert labels == shown
    assert len(graph) == 2 * len(HOSTILE)


def test_labels_are_those_of_the_file():
    groups = pathway_groups(["MRE11A"], ["MRE11", "AKTPS473"], read_pathways(), read_antibodies())
    spelt = {"MRE11A": "MRE11", "MRE11": "Mre11", "AKTPS473": "Akt_pS473"}
    groups = coloured(groups, groups["pathway"]).assign(label=groups["name"].map(spelt))
    pair = {"selected": [True], "qvalue": [0.01]}
    edges = pd.DataFrame({"source": ["MRE11"], "target": ["AKTPS473"], "partial_correlation": [0.3], **pair})
    associations = pd.DataFrame({"feature": ["MRE11A"], "target": ["MRE11"], "weight": [0.5], **pair})
    nodes = node_table(groups, edges)
    assert dict(zip(nodes["id"], nodes["label"], strict=True)) == {"MRE11": "Mre11", "AKTPS473": "Akt_pS473"}
    graph = placed_graph(nodes, groups, edges, associations)
    assert dict(graph.nodes(data="label")) == spelt


def test_names_are_left_as_they_are(hostile):
    """Also those that a spreadsheet would take for a formula: a changed name would not be found again."""
    from nard.files import read_tsv

    assert set(read_tsv(hostile["nodes"])["id"]) == set(HOSTILE)
    with open(hostile["cx2"], encoding="utf-8") as file:
        nodes = [node["v"] for part in json.load(file) for node in part.get("nodes", ())]
    assert {node["label"] for node in nodes} == set(HOSTILE)


def test_cx2_has_the_aspects_of_the_format_in_their_order(cx2):
    assert cx2[0] == {"CXVersion": "2.0", "hasFragments": False}
    assert cx2[-1] == {"status": [{"success": True, "error": ""}]}
    assert all(len(part) == 1 for part in cx2[1:])
    names = [next(iter(part)) for part in cx2[1:]]
    aspects = ["attributeDeclarations", "networkAttributes", "nodes", "edges", "visualProperties"]
    assert names == ["metaData", *aspects, "status"]
    counts = {row["name"]: row["elementCount"] for row in cx2[1]["metaData"]}
    assert counts == {name: len(part[name]) for name, part in zip(aspects, cx2[2:], strict=False)}


def test_cx2_elements_are_what_is_declared(cx2):
    parts = {key: value for part in cx2[1:] for key, value in part.items()}
    declared = parts["attributeDeclarations"][0]
    for aspect in ("nodes", "edges"):
        rows = parts[aspect]
        assert [row["id"] for row in rows] == list(range(len(rows)))
        for row in rows:
            for key, value in row["v"].items():
                assert type(value) is TYPES[declared[aspect][key]["d"]], key
    assert set(parts["networkAttributes"][0]) == set(declared["networkAttributes"])
    ids = {node["id"] for node in parts["nodes"]}
    assert all({edge["s"], edge["t"]} <= ids for edge in parts["edges"])
    assert all(isinstance(node["x"], float) and isinstance(node["y"], float) for node in parts["nodes"])
    visual = parts["visualProperties"][0]
    for mappings, aspect in (("nodeMapping", "nodes"), ("edgeMapping", "edges")):
        for mapping in visual[mappings].values():
            assert mapping["definition"]["attribute"] in declared[aspect]


def test_cx2_holds_the_graph_of_the_graphml(hostile, cx2):
    graph = nx.read_graphml(hostile["graph"])
    parts = {key: value for part in cx2[1:] for key, value in part.items()}
    names = [node["v"]["name"].replace("\x07", r"\x07").replace("\x1b", r"\x1b") for node in parts["nodes"]]
    edges = {frozenset((names[edge["s"]], names[edge["t"]])): edge["v"]["weight"] for edge in parts["edges"]}
    assert edges == {frozenset(ends[:2]): ends[2]["weight"] for ends in graph.edges(data=True)}
    for node in parts["nodes"]:
        # Up is the other way round.
        assert (node["x"], -node["y"]) == (graph.nodes[names[node["id"]]]["x"], graph.nodes[names[node["id"]]]["y"])


def test_cx2_leaves_out_what_is_unknown():
    graph = nx.Graph()
    graph.add_nodes_from(["a", "b"], x=0.0, y=0.0, label="a")
    graph.add_edge("a", "b", kind="edge", weight=0.5, qvalue=float("nan"))
    edge = json.loads(cx2_text(graph, "name"))[5]["edges"][0]
    assert edge["v"] == {"interaction": "edge", "kind": "edge", "weight": 0.5}
    # No edges at all is a network too.
    assert json.loads(cx2_text(nx.empty_graph(0), "name"))[5] == {"edges": []}


TABLE = pd.DataFrame(
    {
        "feature": ["a", "b", "c"],
        "target": ["y", "y", "z"],
        "weight": [1.0, -1.0, 1.0],
        "qvalue": [0.01, 0.02, 0.03],
        "selected": True,
        "own": [True, False, False],
        "probability": [0.75, np.nan, 1.0],
        "stand_ins": ["b;bell\x07", np.nan, ""],
    }
)
NO_EDGES = pd.DataFrame(columns=["source", "target", "partial_correlation", "qvalue", "selected"]).astype(
    {"selected": bool}
)


def test_an_association_tells_whose_it_may_be():
    graph = findings_graph(["y", "z"], NO_EDGES, TABLE)
    naming = {
        node: {key: graph[node][target].get(key) for key in ("own", "probability", "stand_ins")}
        for node, target in (("a", "y"), ("b", "y"), ("c", "z"))
    }
    assert naming["a"] == {"own": True, "probability": 0.75, "stand_ins": "b;bell\x07"}
    assert naming["b"] == {"own": False, "probability": None, "stand_ins": ""}
    assert naming["c"] == {"own": False, "probability": 1.0, "stand_ins": ""}
    assert {type(value) for edge in naming.values() for value in edge.values()} <= {bool, float, str, type(None)}


def test_an_association_without_a_test_has_no_such_attributes():
    known = findings_graph(["y", "z"], NO_EDGES, TABLE.drop(columns=["own", "probability", "stand_ins"]))
    missing = findings_graph(["y", "z"], NO_EDGES, TABLE.assign(own=np.nan, probability=np.nan, stand_ins=np.nan))
    for graph in (known, missing):
        assert set(graph["a"]["y"]) == {"kind", "weight", "sign", "qvalue"}


def test_stand_ins_survive_graphml_and_cx2(tmp_path):
    graph = findings_graph(["y", "z"], NO_EDGES, TABLE)
    nx.write_graphml(readable_as_xml(graph), tmp_path / "g.graphml")
    edge = nx.read_graphml(tmp_path / "g.graphml").edges["a", "y"]
    assert (edge["own"], edge["probability"], edge["stand_ins"]) == (True, 0.75, r"b;bell\x07")
    nx.set_node_attributes(graph, 0.0, "x")
    nx.set_node_attributes(graph, 0.0, "y")
    parts = {key: value for part in json.loads(cx2_text(graph, "name"))[1:] for key, value in part.items()}
    declared = parts["attributeDeclarations"][0]["edges"]
    assert [declared[key]["d"] for key in ("own", "probability", "stand_ins")] == ["boolean", "double", "string"]
