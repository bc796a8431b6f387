"""The figures show what the tables hold, say what they leave out, and never let labels collide."""

import subprocess
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import PathPatch
from matplotlib.text import Text
from numpydoc.validate import validate

import nard.figures
from nard.data.antibodies import read_antibodies
from nard.data.groups import block_groups, coloured, pathway_groups
from nard.data.pathways import read_pathways
from nard.export.communities import communities
from nard.export.layouts import circular_layout
from nard.figures import (
    house_style,
    plot_associations,
    plot_blocks,
    plot_communities,
    plot_crosstalk,
    plot_jaccard,
    plot_lam_table,
    plot_network,
    plot_pathway_map,
    plot_trace,
    plot_trust,
    plot_upset,
    save_figure,
    stamp,
)
from nard.figures.associations import draw_associations
from nard.figures.catalogue import CATALOGUE
from nard.figures.communities import _main_pathway
from nard.figures.network import FARTHEST, _spread, draw_network
from nard.files import read_tsv, write_tsv
from nard.fits.statistics import pvalue_counts
from nard.palette import pathway_colours

PATHWAYS = ["Apoptosis", "Cell-cycle", "DNA damage response", "EMT", "Hormone signaling (Breast)", "PI3K/AKT", "RTK"]
CANCERS = ["BRCA", "COAD", "OV", "UCEC"]
NOTE = "Simulated data – COAD – NARD sequential"
ODD = ["$a_b$", "<b> & 'c'", "_one $", "β_catenin$x^2", "a very long name with many words in it_$_1"]


def nodes(count=86, groups=PATHWAYS) -> pd.DataFrame:
    ids = [f"P{i}" for i in range(count)]
    labels = [f"GSK3ALPHABETAPS21S{i}" if i % 3 == 0 else f"BCL{i}" for i in range(count)]
    pathway = [groups[i * len(groups) // count] for i in range(count)]
    table = pd.DataFrame({"id": ids, "label": labels, "pathway": pathway, "kind": "total"})
    # The first is in two pathways.
    table["pathways"] = table["pathway"].where(table["id"] != "P0", f"{groups[0]};{groups[-1]}")
    return table


def edges(nodes, count, seed=0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(list(combinations(nodes["id"], 2)), columns=["source", "target"])
    table["partial_correlation"] = rng.uniform(0.05, 0.8, len(table)) * rng.choice([-1, 1], len(table))
    table["selected"] = False
    table.loc[rng.choice(len(table), count, replace=False), "selected"] = True
    table["qvalue"] = np.where(table["selected"], 0.01, 0.5)
    # As the package writes it: most significant first.
    return table.sort_values("qvalue", kind="stable", ignore_index=True)


def gene_pathways(nodes) -> pd.DataFrame:
    genes = [f"G{i};G{i}B" if i % 5 == 0 else f"G{i}" for i in range(len(nodes))]
    return pd.DataFrame({"pathway": nodes["pathway"], "protein": nodes["id"], "gene": genes})


def associations(nodes, count, seed=0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    genes = [*gene_pathways(nodes)["gene"].str.split(";").explode(), "UNKNOWN"]
    pairs = [(gene, target) for gene in genes for target in nodes["id"]]
    table = pd.DataFrame(pairs, columns=["feature", "target"])
    table["weight"] = rng.normal(0, 0.4, len(table))
    table["selected"] = False
    table.loc[rng.choice(len(table), count, replace=False), "selected"] = True
    return table


def shares(cohorts=CANCERS, pathways=PATHWAYS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [(cohort, pathway, *rng.uniform(-0.05, 0.6, 2)) for cohort in cohorts for pathway in pathways]
    return pd.DataFrame(rows, columns=["cohort", "pathway", "own", "other"])


def crosstalk(pathways=PATHWAYS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    pairs = [(a, b) for i, a in enumerate(pathways) for b in pathways[i:]]
    rows = [(a, b, cohort, rng.integers(5), 40) for a, b in pairs for cohort in CANCERS]
    return pd.DataFrame(rows, columns=["pathway_a", "pathway_b", "cohort", "edges", "possible"])


def jaccard(methods) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kinds = ("edges", "associations")
    rows = [(c, a, b, what, rng.random()) for c in CANCERS for a, b in combinations(methods, 2) for what in kinds]
    return pd.DataFrame(rows, columns=["cohort", "method_a", "method_b", "what", "jaccard"])


def found(cancers=CANCERS, count=80, seed=0) -> dict:
    rng = np.random.default_rng(seed)
    return {name: {f"e{i}" for i in np.flatnonzero(rng.random(count) < 0.4)} for name in cancers}


def groups(contents, pathways=PATHWAYS) -> dict:
    return {element: pathways[int(element[1:]) % len(pathways)] for element in set().union(*contents.values())}


def trace(methods) -> pd.DataFrame:
    rows = [(method, step, 5 + rank + 100 * 0.5**step) for rank, method in enumerate(methods) for step in range(30)]
    return pd.DataFrame(rows, columns=["method", "step", "objective"])


def lam_table() -> pd.DataFrame:
    lam = np.geomspace(0.5, 0.01, 12)
    return pd.DataFrame({"lam": lam, "score": -((np.log(lam) + 2.5) ** 2), "standard_error": 0.3})


def pvalues_of(count, selected) -> dict:
    """p-values of nothing, evenly spread, and of what is selected."""
    values = np.concatenate([np.full(selected, 1e-6), (np.arange(count - selected) + 0.5) / (count - selected)])
    return pvalue_counts(pd.DataFrame({"pvalue": values, "selected": np.arange(count) < selected}))


CHECKS = [
    ("samples", "120 for 30 inputs, 25 outputs", "", True),
    ("penalty λ", "0.0123, of 0.58 to 0.0123", "within what was tried", False),
    ("fewest degrees of freedom", "114 (associations), 116 (edges)", "at least 10", True),
]


def trusted(count=2000, selected=60, checks=CHECKS, title="Trust", note=NOTE):
    tables = {"associations": pvalues_of(count, selected), "edges": pvalues_of(count, 0)}
    warnings = ["λ = 0.0123 is the smallest that was tried; " * 4 for _, _, _, fine in checks if not fine]
    return plot_trust(tables, checks, warnings, title=title, note=note)


def unstable(nodes, count) -> pd.DataFrame:
    table = edges(nodes, count)
    return table.assign(stability=np.where(np.arange(len(table)) % 3, 0.9, 0.4))


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


def says(figure, words) -> bool:
    """Whether the words are written on the figure, wherever its lines break."""
    return words in " ".join(texts(figure)).replace("\n", " ").replace(r"\$", "$")


def laid_out(figure):
    """The renderer that measures the texts, after everything has found its place."""
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    return canvas.get_renderer()


def corners(text, renderer) -> np.ndarray:
    """The four corners of a text as it lies, a little within its line height, of which capitals use less."""
    rotation = text.get_rotation()
    box = text.get_window_extent(renderer)
    if rotation % 90:
        x, y = text.get_transform().transform(text.get_position())
        text.set_rotation(0)
        box = text.get_window_extent(renderer)
        text.set_rotation(rotation)
        angle = np.radians(rotation)
        along, aside = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        start = np.array([x, y]) - (along * box.width if text.get_horizontalalignment() == "right" else 0)
        half = 0.4 * box.height
        ends = (start, start + along * box.width)
        return np.array(
            [ends[0] - half * aside, ends[1] - half * aside, ends[1] + half * aside, ends[0] + half * aside]
        )
    thin = 0.12 * min(box.width, box.height)
    left, right, low, high = box.x0 + thin, box.x1 - thin, box.y0 + thin, box.y1 - thin
    return np.array([(left, low), (right, low), (right, high), (left, high)])


def overlap(a, b) -> bool:
    """Whether two rectangles overlap: no direction of a side separates them."""
    for box in (a, b):
        for axis in (box[1] - box[0], box[3] - box[0]):
            one, two = a @ axis, b @ axis
            if one.max() <= two.min() or two.max() <= one.min():
                return False
    return True


def out_of_view(figure):
    """The labels of ticks that are not drawn."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            shown = ax.axison and axis.get_visible()
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not (shown and low <= tick.get_loc() <= high):
                    yield from (tick.label1, tick.label2)


@house_style()
def assert_tidy(figure):
    """No text overlaps another or leaves the figure, and none is smaller than 6 points."""
    renderer = laid_out(figure)
    hidden = set(out_of_view(figure))
    visible = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    visible = [text for text in visible if text not in hidden]
    assert min(text.get_size() for text in visible) >= 6
    boxes = [corners(text, renderer) for text in visible]
    width, height = figure.bbox.size
    for text, box in zip(visible, boxes, strict=True):
        inside = box.min() >= 0 and box[:, 0].max() <= width and box[:, 1].max() <= height
        assert inside, f"{text.get_text()!r} leaves the figure"
    lows, highs = np.array([box.min(axis=0) for box in boxes]), np.array([box.max(axis=0) for box in boxes])
    near = (lows[:, None] < highs[None]).all(axis=2) & (highs[:, None] > lows[None]).all(axis=2)
    for i, j in np.argwhere(np.triu(near, 1)):
        assert not overlap(boxes[i], boxes[j]), f"{visible[i].get_text()!r} overlaps {visible[j].get_text()!r}"


def curves(figure) -> list[PathPatch]:
    return [patch for patch in figure.axes[-1].patches if isinstance(patch, PathPatch)]


def bar_heights(figure) -> list[float]:
    """Heights of the stacked bars from left to right."""
    ax = next(ax for ax in figure.axes if ax.get_ylabel())
    heights = Counter()
    for bar in ax.patches:
        heights[round(bar.get_x(), 6)] += bar.get_height()
    return [heights[place] for place in sorted(heights)]


def blobs(count=700, sizes=(20, 14, 12, 11, 9, 8, 7, 3, 2), seed=0) -> pd.DataFrame:
    """All edges among the first nodes, among the next, and so on, with three between the first two and the third."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes])
    pairs = [
        pair for first, size in zip(starts, sizes, strict=False) for pair in combinations(range(first, first + size), 2)
    ]
    pairs += [(1, starts[1] + 1), (2, starts[1] + 2), (3, starts[2])] if len(sizes) > 2 else []
    ends = {end: [f"P{pair[i]}" for pair in pairs] for i, end in enumerate(("source", "target"))}
    values = rng.uniform(0.2, 0.7, len(pairs)) * rng.choice([1, -1], len(pairs), p=[0.8, 0.2])
    return pd.DataFrame({**ends, "partial_correlation": values, "selected": True})


FIGURES = {
    "communities": lambda: plot_communities(nodes(700), blobs(), title="Communities", note=NOTE),
    "many communities": lambda: plot_communities(
        nodes(2000), blobs(2000, (40, 30, *range(25, 3, -1), *[5] * 40)), title="Communities", note=NOTE
    ),
    "few communities": lambda: plot_communities(nodes(700), blobs(700, (70, 4)), title="Communities", note=NOTE),
    "network": lambda: plot_network(nodes(), edges(nodes(), 120), title="Network", note=NOTE),
    "network without edges": lambda: plot_network(nodes(), edges(nodes(), 0), title="Network", note=NOTE),
    "network of few": lambda: plot_network(nodes(3, PATHWAYS[:2]), edges(nodes(3), 1), title="Network", note=NOTE),
    "crowded network": lambda: plot_network(nodes(160), edges(nodes(160), 30), title="Network", note=NOTE),
    "upset": lambda: plot_upset(found(), groups(found()), pathway_colours(PATHWAYS), title="UpSet", note=NOTE),
    "undivided upset": lambda: plot_upset(
        found(CANCERS[:2]), None, None, title="UpSet", element_name="edges", note=NOTE
    ),
    "small pathway map": lambda: plot_pathway_map(shares(["OV"], ["EMT"]), title="Map", note=NOTE),
    "wide pathway map": lambda: plot_pathway_map(shares([f"COHORT{i}" for i in range(12)]), title="Map", note=NOTE),
    "crosstalk": lambda: plot_crosstalk(crosstalk(), title="Cross-talk", note=NOTE),
    "small crosstalk": lambda: plot_crosstalk(crosstalk(["EMT"]), title="Cross-talk", note=NOTE),
    "associations": lambda: plot_associations(
        associations(nodes(77), 300), nodes(77), gene_pathways(nodes(77)), title="Associations", note=NOTE
    ),
    "few associations": lambda: plot_associations(
        associations(nodes(5), 2), nodes(5), gene_pathways(nodes(5)), title="Associations", note=NOTE
    ),
    "jaccard": lambda: plot_jaccard(jaccard([f"NARD method {i}" for i in range(6)]), title="Agreement", note=NOTE),
    "jaccard of two": lambda: plot_jaccard(jaccard(["NARD", "MRCE"]), title="Agreement", note=NOTE),
    "blocks": lambda: plot_blocks(nodes(57), edges(nodes(57), 90), title="Blocks", note=NOTE),
    "labelled rows": lambda: plot_blocks(nodes(80), edges(nodes(80), 90), title="Blocks", note=NOTE),
    "unlabelled blocks": lambda: plot_blocks(nodes(120), edges(nodes(120), 90), title="Blocks", note=NOTE),
    "narrow blocks": lambda: plot_blocks(
        nodes(14, [f"block {i}" for i in range(14)]), edges(nodes(14), 3), title="Blocks", note=NOTE
    ),
    "λ": lambda: plot_lam_table(lam_table(), 0.08, title="Choice of λ", note=NOTE),
    "trace": lambda: plot_trace(trace(["NARD full", "NARD sequential"]), title="Descent", note=NOTE),
    "trust": trusted,
    "unstable network": lambda: plot_network(nodes(), unstable(nodes(), 120), title="Network", note=NOTE),
    "unstable blocks": lambda: plot_blocks(nodes(57), unstable(nodes(57), 90), title="Blocks", note=NOTE),
}


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_collides(name):
    figure = FIGURES[name]()
    assert_tidy(figure)
    assert says(figure, NOTE)


def test_same_input_same_bytes_in_every_format(tmp_path):
    save_figure(FIGURES["upset"](), tmp_path / "one")
    save_figure(FIGURES["upset"](), [tmp_path / f"two{suffix}" for suffix in (".png", ".pdf", ".svg")])
    save_figure(FIGURES["network of few"](), tmp_path / "three.svg")
    save_figure(FIGURES["network of few"](), tmp_path / "four.svg")
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(files) == 8
    for suffix in ("png", "pdf", "svg"):
        assert files[f"one.{suffix}"] == files[f"two.{suffix}"]
    assert files["three.svg"] == files["four.svg"]


def test_nothing_is_left_of_a_figure_that_cannot_be_written(tmp_path):
    figure = plot_lam_table(lam_table(), 0.1, title="λ")
    with pytest.raises(ValueError, match=r"\.jpg"):
        save_figure(figure, [tmp_path / "a.png", tmp_path / "a.jpg"])
    figure.savefig = None
    with pytest.raises(TypeError):
        save_figure(figure, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_pathway_colours_are_stable_and_distinct():
    names = [f"pathway {i}" for i in range(14)]
    colours = pathway_colours([*names, "other", *names])
    assert list(colours) == [*names, "other"]
    assert len(set(colours.values())) == 15
    assert pathway_colours(["other", *names[:3]])["pathway 2"] == colours["pathway 2"]


def test_stamps_add_up_and_make_room_for_themselves():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(layout="constrained")
    ax.set_xlabel("x")
    stamp(figure, "Simulated data for $5")
    stamp(figure, "COAD")
    assert says(figure, "Simulated data for $5 – COAD")
    assert_tidy(figure)
    plt.close(figure)


def test_the_layout_depends_on_the_proteins_only():
    table = nodes()
    places = circular_layout(table)
    assert list(places) == table["id"].tolist()
    np.testing.assert_allclose(np.hypot(*np.array(list(places.values())).T), 1)
    # Pathways that come in pieces are put together.
    shuffled = table.sample(frac=1, random_state=0)
    order = pd.Series(list(circular_layout(shuffled))).map(table.set_index("id")["pathway"])
    assert (order != order.shift()).sum() == len(PATHWAYS)


@pytest.mark.parametrize(("selected", "count"), [(143, 100), (57, 57), (0, 0)])
def test_network_draws_the_strongest_edges_and_says_so(selected, count):
    table = nodes()
    links = edges(table, selected)
    figure = plot_network(table, links, title="Network")
    strength = links.loc[links["selected"], "partial_correlation"]
    strength = strength.reindex(strength.abs().sort_values(ascending=False).index)[:100]
    assert len(curves(figure)) == count
    expected = {143: "strongest 100 of 143 edges shown (q ≤ 0.05)", 57: "all 57 edges shown", 0: "no edges at q ≤ 0.05"}
    assert says(figure, expected[selected])
    widths = [curve.get_linewidth() for curve in curves(figure)][::-1]
    np.testing.assert_allclose(widths, 0.4 + 4 * strength.abs())
    dashed = [curve.get_linestyle() not in ("solid", "-") for curve in curves(figure)][::-1]
    np.testing.assert_array_equal(dashed, strength < 0)
    labels = {text.get_text(): text.get_color() for text in figure.axes[-1].texts}
    connected = set(links.loc[strength.index, ["source", "target"]].to_numpy().ravel())
    for protein in table.itertuples():
        assert (labels[protein.label] == "black") == (protein.id in connected)


def labels_of(figure):
    """Those at the rim, which are turned; numbers of the arcs are not."""
    return [text.get_text() for text in figure.axes[-1].texts if text.get_rotation_mode() == "anchor"]


def test_in_a_crowd_those_with_edges_are_labelled_and_nobody_else():
    table = nodes(300).assign(label=[f"N{i}" for i in range(300)])
    links = edges(table, 12)
    connected = links.loc[links["selected"], ["source", "target"]].to_numpy().ravel()
    figure = plot_network(table, links, title="Network")
    assert sorted(labels_of(figure)) == sorted({name.replace("P", "N") for name in connected})
    assert says(figure, "only the others are labelled")
    # With more than there is room for, the strongest come first: here neighbours, of which few have room.
    names = table["id"][:60].tolist()
    links = pd.DataFrame({"source": names[::2], "target": names[1::2], "selected": True})
    links["partial_correlation"] = np.linspace(-0.9, 0.1, len(links)).round(3) - 0.005
    figure = plot_network(table, links, title="Network")
    assert says(figure, "those with the strongest edges are labelled")
    labelled = set(labels_of(figure))
    assert 10 < len(labelled) < 60
    assert {"N0", "N1"} < labelled <= {f"N{i}" for i in range(60)}
    # Without an edge there is nobody to name.
    assert labels_of(plot_network(table, links.assign(selected=False), title="Network")) == []


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=60, unique=True), st.floats(0.02, 0.3))
def test_labels_keep_their_distance_and_their_order(angles, distance):
    angles = pd.Series(angles, [f"N{i}" for i in range(len(angles))])
    spread = _spread(angles, angles.index, distance)
    assert "N0" in spread.index
    places = spread.to_numpy()
    assert (np.diff(places) >= distance - 1e-9).all()
    assert len(places) == 1 or 2 * np.pi - (places[-1] - places[0]) >= distance - 1e-9
    assert (angles[spread.index].diff().dropna() >= 0).all()
    assert np.abs(places - angles[spread.index]).max() <= FARTHEST


def test_edges_within_and_across_pathways_are_told_apart():
    table = nodes(6, ["a", "b", "other"])
    table.loc[2, "pathways"] = None
    pairs = [("P0", "P1"), ("P0", "P5"), ("P2", "P3"), ("P4", "P5"), ("P0", "P2")]
    links = pd.DataFrame(pairs, columns=["source", "target"]).assign(partial_correlation=0.3, selected=True)
    figure = plot_network(table, links, title="Network")
    assert says(figure, "2 within a pathway, 1 across pathways, 2 with proteins of none")
    assert [curve.get_alpha() for curve in curves(figure)][::-1] == [1.0, 0.55, 1.0, 0.55, 0.55]


def test_edges_that_seldom_come_back_have_a_ring_in_their_middle():
    table = nodes(6, ["a", "b", "other"])
    pairs = [("P0", "P1"), ("P0", "P5"), ("P2", "P3"), ("P4", "P5")]
    links = pd.DataFrame(pairs, columns=["source", "target"])
    links = links.assign(partial_correlation=[0.5, 0.4, 0.3, 0.2], selected=True, stability=[0.9, 0.4, np.nan, 0.0])
    figure = plot_network(table, links, title="Network")
    assert says(figure, "a ring marks 2 that come back in fewer than half of the subsamples")
    rings = [line.get_xydata()[0] for line in figure.axes[-1].lines][::-1]
    of_rings = [curves(figure)[::-1][place].get_path() for place in (1, 3)]
    for ring, path in zip(rings, of_rings, strict=True):
        points = np.asarray(path.vertices)
        while len(points) > 1:
            points = (points[1:] + points[:-1]) / 2
        np.testing.assert_allclose(ring, points[0])
    matrix = plot_blocks(table, links, title="Blocks")
    assert says(matrix, "a ring marks 2 that come back in fewer than half of the subsamples")
    assert sum(len(line.get_xdata()) for line in matrix.axes[0].lines if line.get_marker() == "o") == 4
    for draw in (plot_network, plot_blocks):
        assert not says(draw(table, links.drop(columns="stability"), title="Network"), "ring")


def test_communities_are_the_groups_whatever_the_order_of_their_edges():
    table = blobs()
    found = communities(table)
    assert found.value_counts().tolist() == [20, 14, 12, 11, 9, 8, 7, 3, 2]
    assert found[["P0", "P19", "P20", "P33", "P34"]].tolist() == [0, 0, 1, 1, 2]
    turned = table.sample(frac=1, random_state=1).rename(columns={"source": "target", "target": "source"})
    pd.testing.assert_series_equal(communities(turned), found)
    assert communities(table.head(0)).empty


def test_a_network_of_thousands_is_drawn_as_its_communities():
    fit = {"title": "OV", "simulated": False, "n_samples": 96, "method": "sequential", "fdr": 0.05}
    many, few = (draw_network(fit, nodes(count), blobs(), max_edges=100) for count in (700, 400))
    assert says(many, "OV: protein network, its communities")
    # Pairs are no communities that are drawn.
    inside = len(blobs()) - 3 - 1
    found = f"the 8 largest of 9 communities of {inside + 4} edges (q ≤ 0.05) between 86 of 700 proteins: 84 proteins, "
    assert says(many, f"{found}{inside} edges inside, 2 lines for 3 of the 3 edges between")
    assert says(many, "20 members, 190 edges; 20 and 60 shown")
    assert says(few, "strongest 100 of")
    caption = CATALOGUE["network"].caption_for
    assert "stand on the circle" in caption({"cohort": "OV"}, 400)
    assert "stand on the circle" not in caption({"cohort": "OV"}, 700)
    # Before the fit nobody knows.
    assert all(
        part in caption({"cohort": "OV"}) for part in ("stand on the circle", "Communities of the protein network")
    )


def test_the_legend_has_the_pathways_that_are_drawn():
    table = nodes(700).assign(pathway="other")
    table.loc[[3, 600], "pathway"] = ["EMT", "RTK"]
    figure = plot_communities(table, blobs(), title="Communities")
    assert says(figure, "EMT")
    assert not says(figure, "RTK")


def test_a_community_has_the_colour_of_the_pathway_of_most():
    assert _main_pathway(pd.Series(["EMT", "EMT", "RTK", "other", "other", "other"])) == "EMT"
    assert _main_pathway(pd.Series(["EMT", *["other"] * 4])) == "other"
    assert _main_pathway(pd.Series(["other"])) == "other"


def test_p_values_are_counted_and_what_is_not_fine_is_marked():
    figure = trusted(1010, 60)
    bars, [even, *_] = figure.axes[1].patches, figure.axes[1].lines
    heights = np.array([bar.get_height() for bar in bars]).reshape(2, 20)
    assert heights[1].tolist() == [60] + [0] * 19
    assert heights[0].sum() == 950
    assert np.ptp(heights[0]) <= 1
    assert even.get_ydata()[0] == pytest.approx(1010 / 20)
    assert says(figure, "selected (60)")
    assert says(figure, "! 0.0123, of 0.58 to 0.0123 asked for: within what was tried")
    assert not says(figure, "! 114")
    millions = {which: [10**6] * 20 for which in ("selected", "others")}
    assert says(plot_trust({"edges": millions}, CHECKS, [], title="Trust"), "selected (20 M)")
    thousands = {which: [10**5] * 20 for which in ("selected", "others")}
    large = plot_trust({"a": thousands, "b": millions}, CHECKS, [], title="Trust", note=NOTE)
    assert says(large, "tests (thousands)")
    assert says(large, "tests (millions)")
    assert_tidy(large)
    assert says(plot_trust({"edges": pvalues_of(0, 0)}, CHECKS, [], title="Trust"), "there are no tests")


@pytest.mark.parametrize("max_subsets", [25, 5])
def test_upset_bars_are_the_exclusive_intersections(max_subsets):
    contents = found(CANCERS)
    exclusive = Counter()
    for element in set().union(*contents.values()):
        exclusive[frozenset(name for name in CANCERS if element in contents[name])] += 1
    sizes = sorted(exclusive.values(), reverse=True)
    colours = pathway_colours(PATHWAYS)
    figure = plot_upset(contents, groups(contents), colours, title="UpSet", max_subsets=max_subsets)
    assert bar_heights(figure) == sizes[:max_subsets]
    assert says(figure, "found in exactly these cancers")
    omitted = f"intersections ({sum(sizes[max_subsets:])} associations) are not shown"
    assert says(figure, omitted) == (max_subsets < len(sizes))
    # The totals are those of the whole sets, whatever is omitted.
    for name in CANCERS:
        assert str(len(contents[name])) in texts(figure)


def test_upset_stacks_by_pathway():
    contents = {"A": {1, 2, 3, 4}, "B": {4}, "C": set()}
    figure = plot_upset(contents, {1: "x", 2: "x", 3: None}, pathway_colours(["x", "y"]), title="UpSet")
    assert bar_heights(figure) == [3, 1]
    assert {"x", "other"} <= set(texts(figure))
    assert "y" not in texts(figure)


@pytest.mark.filterwarnings("error")
def test_upset_of_one_set_or_none():
    assert says(plot_upset({"A": {1, 2}}, None, None, title="UpSet"), "A is the only cancer")
    assert says(plot_upset({"A": set(), "B": set()}, None, None, title="UpSet"), "No associations were found")
    plot_upset({"A": {1}, "B": {2}}, None, None, title="UpSet")
    left = plot_upset({"A": set(), "B": set()}, None, None, title="UpSet", untested=3)
    assert says(left, "that could be tested in all of them; 3 others were found")
    left = plot_upset({"A": {1}, "B": {2}}, None, None, title="UpSet", untested=3)
    assert says(left, "left out: 3 associations found, but not tested in every cancer")


def test_pathway_map_shows_percentages():
    table = shares(["OV"], ["EMT", "RTK"])
    table[["own", "other"]] = [[0.123, -0.02], [np.nan, -0.0001]]
    figure = plot_pathway_map(table, title="Map")
    assert {"12.3", "−2.0", "0.0"} <= set(texts(figure))
    assert "nan" not in texts(figure)
    assert says(figure, "n/a: none of the pathway's genes")
    assert [text.get_text() for text in figure.axes[0].texts] == ["12.3", "n/a"]
    panels = [ax.collections[0] for ax in figure.axes[:2]]
    assert panels[0].get_array().mask.ravel().tolist() == [False, True]
    colours = panels[1].to_rgba(panels[1].get_array())
    np.testing.assert_array_equal(colours, np.broadcast_to(panels[1].to_rgba(0.0), colours.shape))


def test_crosstalk_adds_up_over_cohorts():
    table = pd.DataFrame(
        [("a", "a", "X", 2, 10), ("a", "a", "Y", 1, 10), ("a", "b", "X", 4, 5), ("b", "b", "X", 0, 0)],
        columns=["pathway_a", "pathway_b", "cohort", "edges", "possible"],
    )
    figure = plot_crosstalk(table, title="Cross-talk")
    density = figure.axes[0].collections[0].get_array()
    np.testing.assert_allclose(density.filled(-1), [[15, 80], [80, -1]])
    assert [text.get_text() for text in figure.axes[0].texts] == ["3", "4", "4"]


def test_associations_are_capped_with_at_least_one_per_row_and_column():
    table = nodes(77)
    found = associations(table, 400)
    figure = plot_associations(found, table, gene_pathways(table), title="Associations")
    cells = figure.axes[0].collections[2].get_array()
    assert cells.shape == (60, 60)
    assert (~cells.mask).any(axis=0).all()
    assert (~cells.mask).any(axis=1).all()
    chosen = found[found["selected"]]
    genes, targets = chosen["feature"].nunique(), chosen["target"].nunique()
    assert says(figure, f"strongest 60 of {genes} genes and 60 of {targets} proteins, with {cells.count()} of 400")
    strongest = chosen.loc[chosen["weight"].abs().idxmax(), "weight"]
    assert strongest in cells.compressed()
    small = plot_associations(found, table, gene_pathways(table), title="Associations", max_genes=200, max_targets=200)
    assert says(small, "all 400 associations (q ≤ 0.05)")


def test_own_genes_are_framed():
    table = nodes(5)
    pairs = [("G0", "P0"), ("G0B", "P1"), ("G1", "P2"), ("UNKNOWN", "P0")]
    found = pd.DataFrame(pairs, columns=["feature", "target"]).assign(weight=0.2, selected=True)
    figure = plot_associations(found, table, gene_pathways(table), title="Associations")
    frames = [patch.get_xy() for patch in figure.axes[0].patches if not patch.get_fill()]
    # Rows P0, P1, P2; columns G0, G0B, G1, UNKNOWN.
    assert frames == [(0, 0), (1, 0), (2, 1)]


def written(tmp_path, groups):
    """Groups as a figure gets them: read from their file."""
    write_tsv(coloured(groups, groups["pathway"]), tmp_path / "groups.tsv")
    return read_tsv(tmp_path / "groups.tsv")


def test_associations_have_the_spelling_of_the_file(tmp_path):
    groups = pathway_groups(["PDPK1", "PDK1", "TP53"], ["PDK1", "P53", "AKTPS473"], read_pathways(), read_antibodies())
    groups["label"] = groups["label"].replace({"AKTPS473": "Akt_pS473", "TP53": "Tp53"})
    pairs = [("PDPK1", "PDK1"), ("PDK1", "PDK1"), ("TP53", "P53"), ("TP53", "AKTPS473")]
    found = pd.DataFrame(pairs, columns=["feature", "target"]).assign(weight=0.2, selected=True)
    outputs = groups[groups["side"] == "outputs"].rename(columns={"name": "id"})
    fit = {"title": "A", "kind": "omics", "method": "sequential", "fdr": 0.05, "simulated": False, "n_samples": 9}
    nodes = coloured(outputs, groups["pathway"])
    ax = draw_associations(fit, nodes, found, written(tmp_path, groups)).axes[0]
    rows, columns = ([label.get_text() for label in axis.get_ticklabels()] for axis in (ax.yaxis, ax.xaxis))
    assert sorted(rows) == ["Akt_pS473", "P53", "PDK1"]
    assert sorted(columns) == ["PDK1", "PDPK1", "Tp53"]
    # The antibody PDK1 sees the protein of PDPK1, and not that of the gene that bears its name.
    frames = {patch.get_xy() for patch in ax.patches if not patch.get_fill()}
    own = [("PDPK1", "PDK1"), ("Tp53", "P53")]
    assert frames == {(columns.index(gene), rows.index(protein)) for gene, protein in own}


def test_associations_of_phenotypes(tmp_path):
    settings = {"molecular": {"Liver": ["alp", "ggt"]}, "macro": {"Body": ["bmi"], "Lung": ["fev"]}}
    groups = block_groups(["alp", "ggt"], ["bmi", "fev"], settings)
    pairs = [("alp", "fev", 0.3), ("ggt", "bmi", -0.2)]
    found = pd.DataFrame(pairs, columns=["feature", "target", "weight"]).assign(selected=True)
    nodes = coloured(groups[groups["side"] == "outputs"].rename(columns={"name": "id"}), groups["pathway"])
    fit = {"title": "A", "kind": "aging", "method": "sequential", "fdr": 0.05, "simulated": False, "n_samples": 9}
    figure = draw_associations(fit, nodes, found, written(tmp_path, groups))
    assert says(figure, "all 2 associations (q ≤ 0.05) of 2 molecular phenotypes with 2 macro phenotypes")
    assert {"Liver", "Body", "Lung"} <= set(texts(figure))
    # No phenotype is another's own, so that there is no frame to explain.
    assert not says(figure, "gene")


def test_jaccard_is_averaged_over_cohorts():
    table = pd.DataFrame(
        [("X", "a", "b", "edges", 0.2), ("Y", "b", "a", "edges", 0.6), ("X", "a", "c", "edges", np.nan)],
        columns=["cohort", "method_a", "method_b", "what", "jaccard"],
    )
    figure = plot_jaccard(table, title="Agreement")
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.40\n0.20–0.60"]
    assert says(figure, "over 2 cohorts; hatched: neither selects any, or one could not be fitted")


def test_jaccard_says_over_how_many_cohorts():
    """Not all of them have all methods, and where neither selects any there is no index."""
    rows = [("X", "a", "b", 0.2), ("Y", "a", "b", 0.6), ("X", "a", "c", 0.5), ("Y", "a", "c", np.nan)]
    table = pd.DataFrame(rows, columns=["cohort", "method_a", "method_b", "jaccard"]).assign(what="edges")
    figure = plot_jaccard(table, title="Agreement")
    assert says(figure, "mean and range over 1 to 2 cohorts")
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.40\n0.20–0.60", "0.50"]
    assert says(plot_jaccard(table.assign(jaccard=np.nan), title="Agreement"), "over 0 cohorts; hatched")


def test_blocks_are_symmetric_and_counted():
    table = nodes(6, ["heart", "lung"])
    links = pd.DataFrame({"source": ["P0", "P1"], "target": ["P1", "P5"]}).assign(selected=True)
    links["partial_correlation"] = [0.4, -0.2]
    figure = plot_blocks(table, links, title="Blocks")
    assert says(figure, "2 edges (q ≤ 0.05): 1 within blocks, 1 between blocks")
    cells = next(artist for artist in figure.axes[0].collections if artist.get_array() is not None).get_array()
    assert cells.count() == 4
    assert cells[0, 1] == cells[1, 0] == 0.4
    assert cells[1, 5] == cells[5, 1] == -0.2
    assert {"heart", "lung"} <= set(texts(figure))


def test_trace_starts_from_the_smallest_objective_of_all():
    figure = plot_trace(trace(["a", "b"]), title="Descent")
    lines = figure.axes[0].get_lines()
    np.testing.assert_allclose(lines[0].get_ydata()[-1], 0)
    np.testing.assert_allclose(lines[1].get_ydata()[-1], 1)
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert lines[0].get_marker() != lines[1].get_marker()


def test_lam_table_knows_what_the_scores_are():
    assert "log-likelihood" in plot_lam_table(lam_table(), 0.1, title="λ").axes[0].get_ylabel()
    criterion = lam_table().drop(columns="standard_error")
    assert "eBIC" in plot_lam_table(criterion, 0.1, title="λ").axes[0].get_ylabel()


EMPTY = {
    "communities": lambda: plot_communities(nodes(600), blobs().assign(selected=False), title="Empty"),
    "no community of three": lambda: plot_communities(nodes(600), blobs().head(1), title="Empty"),
    "network": lambda: plot_network(nodes(0), edges(nodes(2), 0), title="Empty"),
    "associations": lambda: plot_associations(
        associations(nodes(3), 0), nodes(3), gene_pathways(nodes(3)), title="Empty"
    ),
    "pathway map": lambda: plot_pathway_map(shares([]), title="Empty"),
    "crosstalk": lambda: plot_crosstalk(crosstalk([]), title="Empty"),
    "jaccard": lambda: plot_jaccard(jaccard([]), title="Empty"),
    "blocks": lambda: plot_blocks(nodes(0), edges(nodes(2), 0), title="Empty"),
    "blocks without edges": lambda: plot_blocks(nodes(4), edges(nodes(4), 0), title="Empty"),
    "λ": lambda: plot_lam_table(lam_table()[:0], 0.1, title="Empty"),
    "trace": lambda: plot_trace(trace([]), title="Empty"),
    "trust": lambda: trusted(0, 0, []),
    "one step": lambda: plot_trace(trace(["a"])[:1], title="Empty"),
    "all missing": lambda: plot_pathway_map(shares(["OV"], ["EMT"]).assign(own=np.nan, other=np.nan), title="Empty"),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.filterwarnings("error")
def test_empty_tables_give_figures(name):
    assert_tidy(EMPTY[name]())


def odd_figures():
    table = nodes(10, ODD)
    table["label"] = ODD * 2
    links = edges(table, 10)
    contents = found(ODD[:4], 20)
    yield plot_network(table, links, title=ODD[0], note=ODD[3])
    yield plot_communities(table, links.assign(selected=True), title=ODD[0], note=ODD[3])
    yield plot_upset(
        contents, groups(contents, ODD), pathway_colours(ODD), title=ODD[0], element_name=ODD[3], note=ODD[3]
    )
    yield plot_pathway_map(shares(ODD, ODD), title=ODD[0], note=ODD[3])
    yield plot_crosstalk(crosstalk(ODD), title=ODD[0], note=ODD[3])
    own = gene_pathways(table).assign(gene=ODD * 2)
    pairs = associations(table, 20).assign(feature=lambda rows: rows["feature"].str.cat(["$"] * len(rows)))
    yield plot_associations(pairs, table, own, title=ODD[0], note=ODD[3])
    yield plot_jaccard(jaccard(ODD).assign(what=ODD[0]), title=ODD[0], note=ODD[3])
    yield plot_blocks(table, links, title=ODD[0], note=ODD[3])
    yield plot_lam_table(lam_table(), 0.1, title=ODD[0], note=ODD[3])
    yield plot_trace(trace(ODD), title=ODD[0], note=ODD[3])
    yield trusted(title=ODD[0], note=ODD[3])


@pytest.mark.filterwarnings("error")
def test_odd_names_are_written_as_they_are():
    for figure in odd_figures():
        assert_tidy(figure)
        assert says(figure, ODD[0])
        assert says(figure, ODD[3])


def test_the_package_does_not_load_matplotlib():
    code = "import sys, nard; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", [name for name in nard.figures.__all__ if name.startswith(("plot", "circ", "path"))])
def test_docstrings_are_complete(name):
    required = {"GL08", "SS03", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03"}
    errors = [error for error in validate(f"nard.figures.{name}")["errors"] if error[0] in required]
    assert not errors
