"""Pathways: which protein belongs where, and which genes encode it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

import pandas as pd

from nard.data.names import antibody_key, gene_key, nearest
from nard.data.sheets import read_frame
from nard.errors import DataError

__all__ = ["OTHER", "Pathways", "read_pathways"]

OTHER = "other"
_COLUMNS = ("pathway", "protein", "gene")


@dataclass(frozen=True)
class Pathways:
    """A table of pathway, protein and gene (several genes joined by ``;``), one row per membership."""

    table: pd.DataFrame

    @cached_property
    def names(self) -> list[str]:
        return list(dict.fromkeys(self.table["pathway"]))

    @cached_property
    def proteins(self) -> list[str]:
        return list(dict.fromkeys(self.table["protein"]))

    @cached_property
    def genes(self) -> list[str]:
        return list(dict.fromkeys(self.table["gene"].str.split(";").explode()))

    @cached_property
    def of_protein(self) -> dict[str, list[str]]:
        """Every pathway of each protein; the first one listed is its primary pathway."""
        return {name: list(dict.fromkeys(rows)) for name, rows in self.table.groupby("protein")["pathway"]}

    @cached_property
    def genes_of_protein(self) -> dict[str, list[str]]:
        """The genes that encode each protein."""
        return {
            name: list(dict.fromkeys(";".join(rows).split(";"))) for name, rows in self.table.groupby("protein")["gene"]
        }

    @cached_property
    def of_gene(self) -> dict[str, list[str]]:
        """Every pathway of each gene, the first one listed first."""
        pairs = self.table.assign(gene=self.table["gene"].str.split(";")).explode("gene")
        return {name: list(dict.fromkeys(rows)) for name, rows in pairs.groupby("gene")["pathway"]}

    def primary(self, protein: str) -> str:
        return self.of_protein.get(protein, [OTHER])[0]

    def restricted(self, names: list[str]) -> Pathways:
        """Only the pathways named, in this order."""
        unknown = [name for name in names if name not in self.names]
        if unknown:
            closest = nearest(unknown[0], self.names)
            hint = f" Did you mean {closest!r}?" if closest else ""
            known = ", ".join(self.names)
            raise DataError(f"config key `use_pathways`: there is no pathway {unknown[0]!r}.{hint}\n  known: {known}")
        chosen = [self.table[self.table["pathway"] == name] for name in dict.fromkeys(names)]
        return Pathways(pd.concat(chosen, ignore_index=True))


def read_pathways(path: str | Path | None = None, names: Sequence[str] | None = None) -> Pathways:
    """The table at ``path``, or the twelve pathways of the RPPA literature that the package ships.

    With ``names``, only these pathways.
    """
    if path is None:
        with resources.as_file(resources.files("nard") / "data" / "pathways.tsv") as shipped:
            table = pd.read_csv(shipped, sep="\t", dtype=str)
    else:
        table = read_frame(path)
        missing = [column for column in _COLUMNS if column not in table]
        if missing:
            raise DataError(
                f"{path}: no column {missing[0]!r}.\n  found: {', '.join(map(repr, table.columns))}\n"
                "  expected: pathway, protein, gene (several genes joined by ';'), one row per member"
            )
        empty = table[list(_COLUMNS)].isna()
        if empty.to_numpy().any():
            column = empty.any().idxmax()
            raise DataError(f"{path}: the column {column!r} is empty in row {empty[column].to_numpy().argmax() + 1}.")
    table = table[list(_COLUMNS)].astype(str)
    table["protein"] = table["protein"].map(antibody_key)
    table["gene"] = [";".join(gene_key(gene) for gene in genes.split(";") if gene.strip()) for genes in table["gene"]]
    return Pathways(table).restricted(list(names)) if names else Pathways(table)
