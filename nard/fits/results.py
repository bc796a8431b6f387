"""The files of one fit: tables of findings, the graph, and what is needed to use the model again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from nard.baselines.base import Baseline, Estimate
from nard.export.cx2 import cx2_text
from nard.export.graphs import findings_graph, readable_as_xml
from nard.files import atomic, read_tsv, write_json, write_npz, write_text, write_tsv
from nard.fits.arrays import packed
from nard.fits.listing import edges_listed, listed_edges
from nard.fits.memory import MOST_ROWS
from nard.fits.methods import settings_of_tests, tuned_settings
from nard.fits.statistics import association_pvalues, edge_pvalues, pvalue_counts, write_statistics
from nard.fits.trust import cautions, trust

__all__ = ["Unfitted", "hidden_table", "node_table", "read_matrix", "write_fit"]

# Fitted attributes that are kept where a method has them.
_ARRAYS = (
    *("coef", "intercept", "precision", "input_coef", "entry_coef", "hidden", "hidden_loadings", "alpha"),
    *("inclusion_coef", "inclusion_precision"),
)
# Columns of associations that only NARD has, and what stands there for baselines.
_OF_ENTRIES = {"own": False, "probability": np.nan, "stand_ins": ""}
_DIAGNOSTICS = ("converged", "n_iter", "n_burnin", "n_draws", "guarded")


class Unfitted(Baseline):
    """Stands for a model that could not be fitted: its tables have their columns and no rows, its arrays no entries.

    ``failed`` says why, as :func:`nard.fits.failures.method_errors` does.
    """

    def __init__(self, failed=None):
        self.failed = failed
        self.feature_labels_, self.target_labels_ = [], []
        self.coef_ = self.precision_ = np.zeros((0, 0))
        self.intercept_ = np.zeros(0)
        nothing = np.zeros((0, 0), dtype=bool)
        self._estimated = Estimate(self.coef_, self.precision_, nothing, nothing)

    def _estimate(self, X, Y):
        raise NotImplementedError("It stands for a model, and is none.")


def read_matrix(path: str | Path) -> pd.DataFrame:
    """X or Y as the preparation wrote it: samples × features."""
    header = list(read_tsv(path, header=None, nrows=1, dtype=str).iloc[0])
    # The names are set afterwards, since pandas would change one that occurs twice, or is that of the index.
    values = read_tsv(path, header=None, skiprows=1, index_col=0, dtype={0: str}, float_precision="round_trip")
    return values.set_axis(header[1:], axis=1).rename_axis(header[0])


def node_table(groups: pd.DataFrame, edges: pd.DataFrame) -> pd.DataFrame:
    """One row per output: its groups, and its degree and strength among the selected edges."""
    nodes = groups[groups["side"] == "outputs"].drop(columns="side").rename(columns={"name": "id"})
    selected = edges[edges["selected"]]
    ends = pd.concat([selected["source"], selected["target"]]).astype(str)
    strength = pd.concat([selected["partial_correlation"].abs()] * 2).groupby(ends.to_numpy()).sum()
    nodes["degree"] = nodes["id"].map(ends.value_counts()).fillna(0).astype(int)
    nodes["strength"] = nodes["id"].map(strength).fillna(0.0)
    return nodes.reset_index(drop=True)


def hidden_table(model) -> pd.DataFrame:
    """One row per hidden input and output: the loading, in units of the output per standard deviation of the input."""
    loadings = getattr(model, "hidden_loadings_", np.zeros((0, len(model.target_labels_))))
    return pd.DataFrame(
        {
            "hidden": np.repeat(np.arange(1, len(loadings) + 1), loadings.shape[1]),
            "target": np.array(list(model.target_labels_) * len(loadings), dtype=object),
            "loading": loadings.ravel(),
        }
    )


def write_fit(
    model,
    fdr: float,
    groups: pd.DataFrame,
    about: dict,
    paths: dict[str, str],
    notes: Sequence[Mapping] = (),
    advice: Sequence[Mapping] = (),
) -> dict:
    """Writes the findings of a fitted model; returns the summary that goes into ``fit.json``.

    ``notes`` and ``advice`` are those of the preparation of its data.
    """
    edges = listed_edges(model, fdr, len(model.target_labels_))
    edges.insert(2, "interaction", "residual")
    edges["sign"] = _signs(edges["partial_correlation"])
    n_features, n_targets = (int((groups["side"] == side).sum()) for side in ("inputs", "outputs"))
    everything, which_edges = n_targets * n_features <= MOST_ROWS, edges_listed(len(model.target_labels_))
    associations = model.associations(fdr, selected_only=not everything)
    associations = associations.assign(
        **{name: value for name, value in _OF_ENTRIES.items() if name not in associations},
        sign=_signs(associations["weight"]),
    )
    features = model.relevance(fdr)
    features.insert(1, "label", features["feature"].map(_labels(groups, "inputs")))
    hidden = hidden_table(model)
    nodes = node_table(groups, edges)
    failed, diagnostics = getattr(model, "failed", None), _diagnostics(model)
    found = {
        "features": int(features["selected"].sum()),
        "features_with_associations": int(associations.loc[associations["selected"], "feature"].nunique()),
        "associations": int(associations["selected"].sum()),
        "edges": int(edges["selected"].sum()),
    }
    path = getattr(model, "lam_path_", None)
    facts = trust(path, {"associations": associations, "edges": edges}, notes, advice)
    summary = {
        **about,
        "n_features": n_features,
        "n_targets": n_targets,
        "fdr": fdr,
        "tuned": {} if failed else tuned_settings(about["method"], model),
        "tested": {} if failed else settings_of_tests(about["method"], model),
        "hidden": {"number": hidden["hidden"].nunique()},
        "cautions": cautions(getattr(model, "cautions_", []), facts, diagnostics),
        "trust": facts,
        "diagnostics": diagnostics,
        "associations_listed": "all" if everything else "selected only",
        "edges_listed": which_edges,
        "pvalues": {
            "associations": pvalue_counts(associations, None if everything else association_pvalues(model)),
            "edges": pvalue_counts(edges, None if which_edges == "all" else edge_pvalues(model)),
        },
        "found": dict.fromkeys(found) if failed else found,
        "failed": failed,
    }
    write_tsv(edges, paths["edges"])
    write_tsv(nodes, paths["nodes"])
    write_tsv(associations, paths["associations"])
    write_tsv(features, paths["features"])
    write_tsv(hidden, paths["hidden"])
    # Only methods that minimise something leave a trace, and only those that choose one λ a path.
    objective = getattr(model, "objective_", [])
    write_tsv(pd.DataFrame({"step": np.arange(len(objective)), "objective": objective}), paths["trace"])
    write_tsv(pd.DataFrame(columns=["lam", "score"]) if path is None else path, paths["lam_path"])
    write_npz(
        paths["model"],
        **_arrays(model),
        features=np.array(model.feature_labels_, dtype=str),
        targets=np.array(model.target_labels_, dtype=str),
    )
    graph = placed_graph(nodes, groups, edges, associations)
    with atomic(paths["graph"]) as part:
        nx.write_graphml(readable_as_xml(graph), part)
    write_text(cx2_text(graph, f"{about['title']}: {about['method']}"), paths["cx2"])
    if "statistics" in paths:
        write_statistics(model, paths["statistics"])
    write_json(summary, paths["fit"])
    return summary


def _arrays(model) -> dict[str, np.ndarray]:
    """One after the other, since a large one may be made when it is asked for."""
    kept: dict[str, np.ndarray] = {}
    for name in _ARRAYS:
        array = getattr(model, f"{name}_", None)
        if array is not None:
            kept |= packed(name, array)
    return kept


def placed_graph(nodes, groups, edges, associations) -> nx.Graph:
    """The selected findings, with the positions and colours of the network figure."""
    from nard.export.layouts import circular_layout

    graph = findings_graph(nodes["id"], edges, associations)
    place = circular_layout(nodes)
    of_input = groups[groups["side"] == "inputs"].set_index("name")
    of_output = nodes.set_index("id")
    for node, attributes in graph.nodes(data=True):
        row = of_output.loc[node] if attributes["kind"] == "target" else of_input.loc[attributes["label"]]
        if attributes["kind"] == "feature":
            # An input stands outside the circle, beside the middle of what it drives.
            x, y = np.mean([place[neighbour] for neighbour in graph[node]], axis=0)
            reach = 1.5 / max(np.hypot(x, y), 1e-3)
            place[node] = (x * reach, y * reach)
        colour = row["colour"]
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        x, y = place[node]
        attributes.update(
            label=str(row["label"]), pathway=str(row["pathway"]), measured=str(row["kind"]), genes=str(row["genes"])
        )
        attributes.update(
            x=round(1000 * float(x), 1), y=round(1000 * float(y), 1), r=red, g=green, b=blue, colour=colour
        )
    return graph


def _diagnostics(model) -> dict:
    """What a method says of its own fit; of a sampler's R̂ and effective sample sizes the worst, null if not finite."""
    found = {name: _scalar(getattr(model, f"{name}_")) for name in _DIAGNOSTICS if hasattr(model, f"{name}_")}
    for name, worst in (("rhat", max), ("ess", min)):
        if hasattr(model, f"{name}_"):
            values = list(getattr(model, f"{name}_").values())
            found[name] = float(f"{worst(values):.4g}") if np.isfinite(values).all() else None
    return found


def _scalar(value):
    return bool(value) if isinstance(value, bool | np.bool_) else int(value)


def _labels(groups: pd.DataFrame, side: str) -> pd.Series:
    mine = groups[groups["side"] == side]
    return mine.set_index("name")["label"]


def _signs(values: pd.Series) -> np.ndarray:
    return np.where(values > 0, "positive", "negative")
