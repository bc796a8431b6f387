"""Antibodies: the genes that encode what each of them binds, and which form of it, at which sites."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import pandas as pd

from nard.data.names import antibody_key, gene_key
from nard.data.sheets import read_frame
from nard.errors import DataError

__all__ = ["Antibodies", "kind_as_spelt", "read_antibodies"]

_SPELT = {"phospho": re.compile(r"P[STY]\d+"), "cleaved": re.compile("CLEAVED"), "acetylated": re.compile("ACETYL")}


@dataclass(frozen=True)
class Antibodies:
    """Rows by antibody: gene and sites (several joined by ``;``), kind, and whether the row is a user's ``own``."""

    table: pd.DataFrame

    def of(self, keys: Iterable[str]) -> pd.DataFrame:
        """The rows of these antibodies.

        Rows of the package count only if they have at least half of the names: in a table of gene symbols PDK1 and
        TTF1 are genes, while the antibodies of these names see PDPK1 and NKX2-1. A user's own rows always count.
        """
        keys = list(dict.fromkeys(keys))
        known = self.table[self.table.index.isin(keys)]
        return known if 2 * len(known) >= len(keys) else known[known["own"]]


def read_antibodies(path: str | Path | None = None) -> Antibodies:
    """The antibodies of the RPPA literature that the package knows; those of the table at ``path`` in their place."""
    with resources.as_file(resources.files("nard") / "data" / "antibodies.tsv") as shipped:
        known = pd.read_csv(shipped, sep="\t", dtype=str, keep_default_na=False).assign(own=False)
    if path is not None:
        own = _own_table(path)
        known = pd.concat([known[~known["antibody"].isin(own["antibody"])], own.assign(own=True)])
    return Antibodies(known.set_index("antibody"))


def kind_as_spelt(key: str) -> str:
    """What an antibody that is in no table sees, by its name.

    Examples
    --------
    >>> [kind_as_spelt(key) for key in ("CREBPS133", "LAMINACLEAVED", "AKT")]
    ['phospho', 'cleaved', 'total']
    """
    return next((kind for kind, pattern in _SPELT.items() if pattern.search(key)), "total")


def _own_table(path: str | Path) -> pd.DataFrame:
    table = read_frame(path)
    missing = [column for column in ("antibody", "gene") if column not in table]
    if missing:
        raise DataError(
            f"{path}: no column {missing[0]!r}.\n  found: {', '.join(map(repr, table.columns))}\n"
            "  expected: antibody, gene (several genes joined by ';'), and if you like kind and sites"
        )
    unnamed = table["antibody"].isna().to_numpy()
    if unnamed.any():
        raise DataError(f"{path}: the column 'antibody' is empty in row {unnamed.argmax() + 1}.")
    table = table.reindex(columns=["antibody", "gene", "kind", "sites"]).fillna("").astype(str)
    table["antibody"] = table["antibody"].map(antibody_key)
    twice = table["antibody"][table["antibody"].duplicated()]
    if len(twice):
        raise DataError(
            f"{path}: the antibody {twice.iloc[0]!r} is there twice, in row {twice.index[0] + 1} again.\n"
            "  expected: one row for each antibody, whose genes are joined by ';'"
        )
    for column, spelt in (("gene", gene_key), ("sites", str.strip)):
        table[column] = [";".join(spelt(one) for one in cell.split(";") if one.strip()) for cell in table[column]]
    unsaid = table["kind"].str.strip() == ""
    table["kind"] = table["kind"].str.strip().mask(unsaid, table["antibody"].map(kind_as_spelt))
    return table
