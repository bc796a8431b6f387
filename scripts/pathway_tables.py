"""Findings summed up by pathway: explained variation of its proteins, and edges within and between pathways."""

from itertools import combinations_with_replacement

import pandas as pd

from nard.files import read_tsv, write_tsv
from nard.project.jobs import job


def explained(held_out: pd.DataFrame, nodes: pd.DataFrame) -> pd.DataFrame:
    """Mean over the proteins of each pathway; a protein of two pathways counts in both."""
    members = nodes.assign(pathway=nodes["pathways"].str.split(";")).explode("pathway")
    table = members[["id", "pathway"]].merge(held_out, left_on="id", right_on="target")
    means = table.groupby("pathway", sort=False)[["own", "other", "r2"]].mean()
    return means.assign(proteins=table.groupby("pathway", sort=False).size()).reset_index()


def crosstalk(edges: pd.DataFrame, nodes: pd.DataFrame) -> pd.DataFrame:
    """Edges and possible pairs for every pair of pathways; a protein counts in its primary pathway."""
    pathway = nodes.set_index("id")["pathway"]
    order = list(dict.fromkeys(pathway))
    position = {name: i for i, name in enumerate(order)}
    ends = pd.DataFrame({"a": edges["source"].map(pathway), "b": edges["target"].map(pathway)})
    swap = ends["a"].map(position) > ends["b"].map(position)
    ends.loc[swap, ["a", "b"]] = ends.loc[swap, ["b", "a"]].to_numpy()
    found = ends[edges["selected"]].value_counts()
    possible = ends.value_counts()
    rows = [
        (a, b, int(found.get((a, b), 0)), int(possible.get((a, b), 0)))
        for a, b in combinations_with_replacement(order, 2)
    ]
    return pd.DataFrame(rows, columns=["pathway_a", "pathway_b", "edges", "possible"])


if __name__ == "__main__":
    with job(snakemake.log[0]):
        source = snakemake.input
        order = pd.Series({name: i for i, name in enumerate(snakemake.params.pathways)})
        explained_tables, crosstalk_tables = [], []
        for cohort, held_out, nodes, edges in zip(
            snakemake.params.cohorts, source.held_out, source.nodes, source.edges, strict=True
        ):
            nodes = read_tsv(nodes)
            table = explained(read_tsv(held_out), nodes)
            explained_tables.append(
                table.sort_values("pathway", key=lambda names: names.map(order), kind="stable").assign(cohort=cohort)
            )
            crosstalk_tables.append(crosstalk(read_tsv(edges), nodes).assign(cohort=cohort))
        write_tsv(
            pd.concat(explained_tables)[["cohort", "pathway", "own", "other", "r2", "proteins"]],
            snakemake.output.explained,
        )
        write_tsv(
            pd.concat(crosstalk_tables)[["cohort", "pathway_a", "pathway_b", "edges", "possible"]],
            snakemake.output.crosstalk,
        )
