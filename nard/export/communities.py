"""Communities of a network: groups of nodes with more edges among themselves than with others."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd

__all__ = ["MOST_NODES", "communities"]

# A network of more nodes has no room on a circle, or in anybody's view.
MOST_NODES = 500
_SEED = 0


def communities(edges: pd.DataFrame) -> pd.Series:
    """The number of the community of every node that has an edge, from 0, the largest.

    After Blondel et al. (2008), by the absolute partial correlations. The same edges, in whatever order, give the same
    communities.

    Parameters
    ----------
    edges : DataFrame
        With ``source``, ``target`` and ``partial_correlation``; all rows count.

    Examples
    --------
    >>> import pandas as pd
    >>> from nard.export.communities import communities
    >>> pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "e")]
    >>> edges = pd.DataFrame(pairs, columns=["source", "target"]).assign(partial_correlation=0.5)
    >>> communities(edges).to_dict()
    {'a': 0, 'b': 0, 'c': 0, 'd': 1, 'e': 1}
    """
    ends = edges[["source", "target"]].astype(str).to_numpy()
    names = np.unique(ends)
    # As numbers in a fixed order, since sets of text have another order in every process.
    numbers = np.sort(np.searchsorted(names, ends), axis=1)
    order = np.lexsort(numbers.T)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(names)))
    strength = edges["partial_correlation"].abs().to_numpy()
    graph.add_weighted_edges_from((int(numbers[i, 0]), int(numbers[i, 1]), float(strength[i])) for i in order)
    found = nx.community.louvain_communities(graph, weight="weight", seed=_SEED) if len(edges) else []
    found = sorted(map(sorted, found), key=lambda members: (-len(members), members))
    number = {names[i]: rank for rank, members in enumerate(found) for i in members}
    return pd.Series(number, dtype=int).sort_index()
