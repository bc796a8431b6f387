"""The tables of findings, each row with its q-value, and the methods that every estimator offers on them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd

from nard.export.graphs import findings_graph
from nard.inputs import CheckedDataMixin, is_number, require
from nard.selection import EdgeTest, EntryTest, InputTest, qvalues, two_sided

__all__ = ["FindingsMixin", "association_table", "edge_table", "relevance_table"]


def _check_fdr(fdr) -> None:
    require(is_number(fdr) and 0 < fdr < 1, "fdr", fdr, "a number strictly between 0 and 1")


def _with_decision(table: pd.DataFrame, fdr: float) -> pd.DataFrame:
    """Adds qvalue and selected; the most significant rows come first."""
    _check_fdr(fdr)
    table["qvalue"] = qvalues(table["pvalue"].to_numpy())
    table["selected"] = table["qvalue"] <= fdr
    return table.sort_values("pvalue", kind="stable", ignore_index=True)


def relevance_table(features, alpha, test: InputTest, fdr: float) -> pd.DataFrame:
    table = pd.DataFrame({"feature": features, "alpha": alpha, "statistic": test.statistic, "pvalue": test.pvalue})
    return _with_decision(table, fdr)


def association_table(features, targets, test: EntryTest, fdr: float, selected_only: bool) -> pd.DataFrame:
    _check_fdr(fdr)
    names, outputs = np.asarray(features, dtype=object), np.asarray(targets, dtype=object)
    d, m = test.weight.shape
    if selected_only:
        rows, columns, qvalue = test.selected(fdr)
    else:
        rows, columns = (part.ravel() for part in np.indices((d, m)))
        qvalue = test.qvalues().ravel()
    weight, sd = test.weight[rows, columns], test.sd[rows, columns]
    degrees = np.broadcast_to(test.degrees, m)[columns]
    flat = rows * m + columns
    table = pd.DataFrame(
        {
            "feature": names[rows],
            "target": outputs[columns],
            "weight": weight,
            "sd": sd,
            "degrees": degrees,
            "z": weight / sd,
            "pvalue": two_sided(weight / sd, degrees),
            "qvalue": qvalue,
            "selected": qvalue <= fdr,
            "own": np.isin(flat, np.ravel_multi_index(test.own_pairs(), (d, m))),
        }
    )
    probability, stand_ins = np.full(len(flat), np.nan), np.full(len(flat), "", dtype=object)
    if test.leads:
        order = np.argsort(flat)
        at = np.array([lead.feature * m + lead.target for lead in test.leads])
        place = np.minimum(np.searchsorted(flat[order], at), len(flat) - 1) if len(flat) else np.zeros(0, dtype=int)
        for lead, key, k in zip(test.leads, at, place, strict=False):
            if flat[order[k]] == key:
                probability[order[k]] = lead.probability
                stand_ins[order[k]] = ";".join(names[lead.stand_ins])
    table["probability"], table["stand_ins"] = probability, stand_ins
    return table.sort_values("pvalue", kind="stable", ignore_index=True)


def edge_table(targets, test: EdgeTest, fdr: float, most: int | None = None) -> pd.DataFrame:
    _check_fdr(fdr)
    rows, columns = np.triu_indices(len(targets), 1)
    degrees = np.broadcast_to(test.degrees, test.z.shape)
    pvalue = two_sided(test.z[rows, columns], degrees[rows, columns])
    qvalue = qvalues(pvalue)
    selected = qvalue <= fdr
    # q-values rise with p-values, so that the selected come first.
    kept = np.argsort(pvalue, kind="stable")[: None if most is None else selected.sum() + most]
    rows, columns = rows[kept], columns[kept]
    names = np.asarray(targets, dtype=object)
    scale = np.sqrt(np.diag(test.precision))
    partial = -test.precision[rows, columns] / (scale[rows] * scale[columns])
    # No correlation is beyond ±1; an estimate that is goes there with its standard deviation.
    beyond = np.maximum(np.abs(partial), 1.0)
    return pd.DataFrame(
        {
            "source": names[rows],
            "target": names[columns],
            "precision": test.precision[rows, columns],
            "partial_correlation": partial / beyond,
            "sd": test.sd[rows, columns] / beyond,
            "degrees": degrees[rows, columns],
            "z": test.z[rows, columns],
            "pvalue": pvalue[kept],
            "qvalue": qvalue[kept],
            "selected": selected[kept],
        }
    )


class FindingsMixin(CheckedDataMixin):
    """``associations``, ``edges`` and ``to_networkx`` of an estimator with fitted tests in the units of the data."""

    entry_test_: EntryTest
    edge_test_: EdgeTest

    def associations(self, fdr: float = 0.05, selected_only: bool = False) -> pd.DataFrame:
        """Input → output associations with their tests, most significant first.

        Parameters
        ----------
        fdr : float, default=0.05
            False discovery rate among the rows with ``selected`` true (Benjamini and Hochberg).
        selected_only : bool, default=False
            Only the selected rows, which is much quicker and smaller where W has many millions of entries.

        Returns
        -------
        DataFrame
            One row per entry of W: ``feature``, ``target``, ``weight`` (an estimate without shrinkage, in the units of
            the data), ``sd``, the ``degrees`` of freedom of Student's t, ``z`` = weight/sd, ``pvalue``, ``qvalue``,
            ``selected``; ``own``, whether the input belongs to the output (own pairs are tested at their own rate
            beside the rest); of inputs that lead an effect also their ``probability`` of being the one, and
            ``stand_ins``, joined by ";": inputs that the data cannot tell from this one. The input and its stand-ins
            hold the true one with a probability of 95 %.

        Examples
        --------
        >>> from nard import NARD
        >>> from nard.simulate import make_regression
        >>> data = make_regression(100, 8, 3, random_state=0)
        >>> table = NARD(lam=0.1).fit(data.X, data.Y).associations()
        >>> table.columns[:6].tolist()
        ['feature', 'target', 'weight', 'sd', 'degrees', 'z']
        >>> table.columns[6:].tolist()
        ['pvalue', 'qvalue', 'selected', 'own', 'probability', 'stand_ins']
        >>> len(table)
        24
        """
        self._check_fitted()
        return association_table(self.feature_labels_, self.target_labels_, self.entry_test_, fdr, selected_only)

    def edges(self, fdr: float = 0.05, most: int | None = None) -> pd.DataFrame:
        """Output – output edges of the residual network with their tests, most significant first.

        Parameters
        ----------
        fdr : float, default=0.05
            False discovery rate among the rows with ``selected`` true (Benjamini and Hochberg).
        most : int, optional
            Of the pairs that are not selected at most so many, the most significant ones, which is much quicker and
            smaller where there are millions of pairs. All of them count in the q-values.

        Returns
        -------
        DataFrame
            One row per pair of outputs: ``source``, ``target``, ``precision`` (by nodewise regressions, in the units
            of the data), ``partial_correlation``, its ``sd``, the ``degrees`` of freedom of Student's t, ``z`` =
            partial_correlation/sd, ``pvalue``, ``qvalue``, ``selected``.

        Examples
        --------
        >>> from nard import NARD
        >>> from nard.simulate import make_regression
        >>> data = make_regression(200, 5, 4, edge_probability=0.4, random_state=0)
        >>> edges = NARD(lam=0.1).fit(data.X, data.Y).edges()
        >>> edges.columns.tolist()
        ['source', 'target', 'precision', 'partial_correlation', 'sd', 'degrees', 'z', 'pvalue', 'qvalue', 'selected']
        """
        self._check_fitted()
        return edge_table(self.target_labels_, self.edge_test_, fdr, most)

    def to_networkx(self, fdr: float = 0.05, associations: bool = False) -> nx.Graph:
        """The selected edges as a graph whose nodes are the outputs.

        Parameters
        ----------
        fdr : float, default=0.05
            False discovery rate of the edges (and of the associations).
        associations : bool, default=False
            Also add the inputs with a selected association, and those associations.

        Returns
        -------
        networkx.Graph
            Nodes have ``label`` and ``kind`` ("target" or "feature"); edges have ``kind`` ("edge" or "association"),
            ``weight`` (partial correlation or regression weight), ``sign`` and ``qvalue``: plain Python values, ready
            for GraphML.

        Examples
        --------
        >>> from nard import NARD
        >>> from nard.simulate import make_regression
        >>> data = make_regression(200, 5, 4, edge_probability=0.4, random_state=0)
        >>> graph = NARD(lam=0.1).fit(data.X, data.Y).to_networkx()
        >>> sorted(graph.nodes)
        ['y0', 'y1', 'y2', 'y3']
        """
        self._check_fitted()
        table = self.associations(fdr, selected_only=True) if associations else None
        return findings_graph(self.target_labels_, self.edges(fdr, most=0), table)
