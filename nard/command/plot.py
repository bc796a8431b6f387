"""``nard plot``: the figures of one fit."""

from __future__ import annotations

import argparse
from pathlib import Path

from nard.command.parts import command, say, show
from nard.errors import DataError

_EXAMPLES = """\
  nard plot out/
  nard plot results/READ/sequential --format png svg --max-edges 50

Figures go to FOLDER/figures: network, associations, trace (of methods that minimise J), lam_path (if λ was chosen)."""


def add(commands) -> None:
    parser = command(
        commands, "plot", run, "draw the network, the associations and the convergence of a fit", _EXAMPLES
    )
    parser.add_argument("folder", metavar="FOLDER", help="of a fit: of `nard fit`, or results/COHORT/METHOD")
    parser.add_argument("--format", nargs="+", choices=["png", "pdf", "svg"], default=["png", "pdf"], dest="formats")
    parser.add_argument("--max-edges", type=int, default=100, help="most edges in the network; default: %(default)s")


def run(options: argparse.Namespace) -> int:
    from nard.fits.fitting import FIT_FILES

    folder = Path(options.folder)
    lacking = [name for name in FIT_FILES.values() if not (folder / name).is_file()]
    if lacking:
        raise DataError(f"{folder}: no {lacking[0]} in this folder.\n  expected: the folder of a fit, see `nard fit`")
    import matplotlib

    matplotlib.use("Agg")
    from nard.figures.style import save_figure

    written: list[str] = []
    for name, figure in _figures(folder, options.max_edges):
        paths = [folder / "figures" / f"{name}.{suffix}" for suffix in dict.fromkeys(options.formats)]
        save_figure(figure, paths)
        written += map(str, paths)
        say(f"drawn: {name}")
    show({"figures": written}, "\n".join(written), options.json)
    return 0


def _figures(folder: Path, max_edges: int):
    """Name and figure, one after the other: each is closed when it has been saved."""
    from nard.figures.associations import plot_associations
    from nard.figures.blocks import plot_blocks
    from nard.figures.network import plot_network
    from nard.figures.traces import plot_lam_table, plot_trace
    from nard.files import read_json, read_tsv
    from nard.fits.methods import METHODS
    from nard.report.captions import origin

    fit = read_json(folder / "fit.json")
    nodes, edges = read_tsv(folder / "nodes.tsv"), read_tsv(folder / "edges.tsv")
    note = origin([fit], fit["method"])
    if fit["kind"] == "aging":
        yield "network", plot_blocks(nodes, edges, title=f"{fit['title']}: network", fdr=fit["fdr"], note=note)
    else:
        title = f"{fit['title']}: network of the outputs"
        yield "network", plot_network(nodes, edges, title=title, max_edges=max_edges, fdr=fit["fdr"], note=note)
    yield (
        "associations",
        plot_associations(
            read_tsv(folder / "associations.tsv"),
            nodes,
            _own(folder, nodes),
            title=f"{fit['title']}: associations",
            fdr=fit["fdr"],
            note=note,
        ),
    )
    trace = read_tsv(folder / "trace.tsv")
    if len(trace):
        trace["method"] = METHODS[fit["method"]].title
        yield "trace", plot_trace(trace, title=f"{fit['title']}: convergence", note=note)
    path = read_tsv(folder / "lam_path.tsv")
    if len(path):
        yield "lam_path", plot_lam_table(path, fit["tuned"]["lam"], title=f"{fit['title']}: choice of λ", note=note)


def _own(folder: Path, nodes):
    """Pathway, name, genes and colour of the outputs, and of the inputs that drive any: the graph has these."""
    import pandas as pd

    from nard.export.cx2 import cx2_nodes

    inputs = [node for node in cx2_nodes((folder / "network.cx2").read_text("utf-8")) if node["kind"] == "feature"]
    columns = {"label": "protein", "genes": "gene", "pathway": "pathway", "colour": "colour"}
    tables = [nodes[list(columns)], pd.DataFrame(inputs, columns=list(columns))]
    return pd.concat(tables, ignore_index=True).rename(columns=columns).fillna("")
