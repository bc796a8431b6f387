"""Which group every feature belongs to: the pathway of a gene or protein, the block of a phenotype."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pandas as pd

from nard.data.antibodies import Antibodies, kind_as_spelt
from nard.data.names import antibody_key, gene_key, split_input
from nard.data.pathways import OTHER, Pathways
from nard.data.sites import sites_of

__all__ = ["block_groups", "coloured", "feature_groups", "names_in", "own_genes", "own_inputs", "pathway_groups"]

_COLUMNS = ["side", "name", "label", "kind", "sites", "pathway", "pathways", "genes"]


def feature_groups(
    X: pd.DataFrame,
    Y: pd.DataFrame,
    settings: Mapping,
    pathways: Pathways,
    antibodies: Antibodies,
    labels: Mapping[str, Mapping[str, str]],
    parts: Collection[str] = (),
) -> pd.DataFrame:
    """The groups of a cohort's features, with colours: blocks of its config in aging cohorts, pathways in others.

    ``labels`` maps, for each side, names to the spelling of their file, where that is another. ``parts`` are the tables
    of the inputs, if there are several.
    """
    if settings["kind"] == "aging":
        return coloured(block_groups(X, Y, settings), [*settings["macro"], *settings["molecular"]])
    groups = coloured(pathway_groups(X, Y, pathways, antibodies, parts), [*pathways.names, OTHER])
    rows = zip(groups["side"], groups["name"], groups["label"], strict=True)
    return groups.assign(label=[labels[side].get(name, label) for side, name, label in rows])


def pathway_groups(
    inputs: Iterable[str],
    outputs: Iterable[str],
    pathways: Pathways,
    antibodies: Antibodies,
    parts: Collection[str] = (),
) -> pd.DataFrame:
    """One row per gene and protein: side, name, label, kind, sites, pathway (the first), pathways (all), genes.

    A protein's genes are those of both tables, but those of a user's own antibody alone; a modified site's gene is the
    one in its name. A protein that is not in the table of pathways belongs to those of its genes. Inputs of one of
    several ``parts`` are called by its name, a colon and their gene, and are of the kind of its name.
    """
    inputs, outputs = list(inputs), list(outputs)
    order = {name: i for i, name in enumerate([*pathways.names, OTHER])}
    rows, symbols = [], set()
    for name in inputs:
        part, gene = split_input(name, parts)
        symbols.add(gene)
        mine = pathways.of_gene.get(gene_key(gene), [OTHER])
        rows.append(("inputs", name, name, part or "mRNA", "", mine[0], ";".join(mine), gene))
    known = antibodies.of(map(antibody_key, outputs)).to_dict("index")
    sites = sites_of(outputs)
    # A name that an input has, too, is a gene symbol: nothing in it stands for a phosphorylation. Where most are such,
    # the others are symbols of genes that the inputs lack.
    all_symbols = 2 * sum(name in symbols for name in outputs) > len(outputs)
    for protein in outputs:
        key = antibody_key(protein)
        spelt = "total" if all_symbols or protein in symbols else kind_as_spelt(key)
        antibody = known.get(key, {"gene": "", "kind": spelt, "sites": "", "own": False})
        label = protein
        if (site := sites.get(protein)) and not antibody["own"]:
            antibody = {"gene": site.gene, "kind": "phospho", "sites": ";".join(site.sites), "own": True}
            label = site.label
        genes = [] if antibody["own"] else pathways.genes_of_protein.get(key, [])
        genes = list(dict.fromkeys([*genes, *filter(None, antibody["gene"].split(";"))]))
        of_genes = dict.fromkeys(name for gene in genes for name in pathways.of_gene.get(gene_key(gene), []))
        mine = pathways.of_protein.get(key) or sorted(of_genes, key=order.__getitem__) or [OTHER]
        rows.append(
            ("outputs", protein, label, antibody["kind"], antibody["sites"], mine[0], ";".join(mine), ";".join(genes))
        )
    table = pd.DataFrame(rows, columns=_COLUMNS)
    return table.sort_values(
        ["side", "pathway"], key=lambda column: column.map(order).fillna(0) if column.name == "pathway" else column,
        kind="stable", ignore_index=True,
    )  # fmt: skip


def block_groups(inputs: Iterable[str], outputs: Iterable[str], settings: Mapping) -> pd.DataFrame:
    """The same of phenotypes; blocks and phenotypes in the order of the config."""
    kept = {"inputs": set(inputs), "outputs": set(outputs)}
    rows = [
        (side, name, name, kind, "", block, block, "")
        for side, kind in (("inputs", "molecular"), ("outputs", "macro"))
        for block, names in settings[kind].items()
        for name in names
        if name in kept[side]
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def coloured(groups: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The groups with a column ``colour``, by the whole list of names: one that is absent shifts no other's colour."""
    from nard.palette import pathway_colours

    return groups.assign(colour=groups["pathway"].map(pathway_colours(names)))


def names_in(groups: pd.DataFrame) -> tuple[set[str], set[str]]:
    """The inputs and the outputs."""
    inputs = groups["side"] == "inputs"
    return set(groups.loc[inputs, "name"]), set(groups.loc[~inputs, "name"])


def own_genes(groups: pd.DataFrame) -> dict[str, list[str]]:
    """Output → inputs that belong to it: the genes that encode it; where none are known, the inputs of its name."""
    spellings: dict[str, list[str]] = {}
    inputs, outputs = (groups[groups["side"] == side] for side in ("inputs", "outputs"))
    for name, gene in zip(inputs["name"], inputs["genes"], strict=True):
        spellings.setdefault(gene_key(gene or name), []).append(name)
    return {
        name: [each for gene in genes.split(";") for each in spellings.get(gene_key(gene), [])]
        if genes
        else spellings.get(gene_key(name), [name])
        for name, genes in zip(outputs["name"], outputs["genes"], strict=True)
    }


def own_inputs(groups: pd.DataFrame, inputs: list[str], outputs: list[str]) -> np.ndarray:
    """Boolean (outputs, 2, inputs): the inputs that share a pathway with the output, and the others."""
    member = groups.set_index(["side", "name"])["pathways"].str.get_dummies(";").drop(columns=OTHER, errors="ignore")
    # Counts of shared pathways are small, and products of floats are quick.
    of_inputs, of_outputs = (
        member.loc[[(side, name) for name in names]].to_numpy(dtype=np.float32)
        for side, names in (("inputs", inputs), ("outputs", outputs))
    )
    own = of_outputs @ of_inputs.T > 0
    return np.stack([own, ~own], axis=1)
