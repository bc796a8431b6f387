"""Modified sites: which gene encodes the protein that a name such as TP53_S15 is of, and where it is modified.

Known spellings: ``GENE_S123``, ``GENE:S123s``, ``GENE|pS123``; of several sites ``GENE_S123S125`` and
``GENE_S123_T125``; all of them with an isoform behind, ``GENE_S123__P04637:S123``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Site", "sites_of"]

_RESIDUE = r"p?[STY]\d+[sty]?"
_NAME = re.compile(
    rf"(?P<label>(?P<gene>[^\s:|]+?)[_:|](?P<sites>{_RESIDUE}(?:[_;,/]?{_RESIDUE})*))(?:(?:__|\|).*)?", re.DOTALL
)


class Site(NamedTuple):
    """The gene, the sites (residue and place), and the name without the isoform."""

    gene: str
    sites: tuple[str, ...]
    label: str


def sites_of(names: Iterable[str]) -> dict[str, Site]:
    """The sites among the names, if at least half are sites: in other tables a name may look like one by chance.

    Where two isoforms have one label, each has its whole name.

    Examples
    --------
    >>> found = sites_of(["TP53_S15__P04637:S15", "AKT1:T308tS473s"])
    >>> found["AKT1:T308tS473s"].gene, found["AKT1:T308tS473s"].sites
    ('AKT1', ('T308', 'S473'))
    >>> found["TP53_S15__P04637:S15"].label
    'TP53_S15'
    """
    names = list(map(str, names))
    found = {name: match for name in names if (match := _NAME.fullmatch(name.strip()))}
    if 2 * len(found) < len(names):
        return {}
    labels = Counter(match["label"] for match in found.values())
    return {
        name: Site(match["gene"], _places(match["sites"]), name if labels[match["label"]] > 1 else match["label"])
        for name, match in found.items()
    }


def _places(sites: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[STY]\d+", sites))
