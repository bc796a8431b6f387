"""Simulated cohorts with the names, shapes and file formats of real ones, and with a truth that is known.

Genes drive the proteins that they encode and a few others, and proteins are wired mostly within their pathway. Cancers
share most of their truth, so that what they have in common can be looked for. Aging phenotypes come in tissues.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pandas as pd

from nard.data.blocks import simulated_blocks
from nard.data.names import nearest
from nard.data.pathways import Pathways
from nard.errors import DataError
from nard.simulate import draw_residuals, precision_of_graph

__all__ = ["SimulatedCohort", "simulate_aging", "simulate_omics"]

# Antibodies outside the pathways that real panels measure too.
_EXTRA_PROTEINS = (
    *("1433BETA", "1433EPSILON", "1433ZETA", "ACC1", "AMPKALPHA", "ANNEXIN1", "ASNS", "CD31", "CKIT", "CMET"),
    *("DVL3", "EEF2", "ELK1PS383", "G6PD", "IGFBP2", "LCK", "LKB1", "NOTCH1", "PAXILLIN", "PEA15"),
    *("PKCALPHA", "SMAD1", "SMAD3", "STATHMIN", "SYK", "TRANSGLUTAMINASE", "VEGFR2", "XIAP"),
)

_OWN_GENE = 0.8  # chance that a gene drives the protein that it encodes
_OTHER_GENE = 0.012  # chance of any other association
_WITHIN, _BETWEEN = 0.22, 0.012  # chance of an edge within and between pathways
_SHARED = 0.75  # chance that a cancer has an association or edge of the common truth
_PRIVATE = 0.2  # as many private ones, as a share of the common ones' density
_WEIGHTS = (0.35, 0.8)
_GENE_FACTOR = 0.3  # share of a gene's variance that its pathway shares
_ONE_SIDED = 0.05  # share of samples whose proteins alone were measured
_MOSTLY_MISSING = 0.9

_AGELESS = 3  # the last ones of each tissue and layer do not depend on age
_AGE_LOADING = 0.6
_TISSUE_WITHIN, _TISSUE_BETWEEN = 0.35, 0.01


@dataclass(frozen=True)
class SimulatedCohort:
    """Raw tables by their name, as files would hold them, and the truth behind them."""

    tables: dict[str, pd.DataFrame]
    associations: pd.DataFrame
    edges: pd.DataFrame


def simulate_omics(
    pathways: Pathways, name: str, n: int, n_extra: int, absent: list[str], seed: int
) -> SimulatedCohort:
    """Tables ``inputs`` (log2 expression, genes × samples) and ``outputs`` (proteins × samples)."""
    _require_proteins(pathways, n_extra, absent)
    common, own = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1, zlib.crc32(name.encode())])
    genes, proteins = pathways.genes, [*pathways.proteins, *_EXTRA_PROTEINS[:n_extra]]
    # The common truth covers all proteins that any cohort may have, so that it is the same in all.
    everything = [*pathways.proteins, *_EXTRA_PROTEINS]

    encodes = np.array(
        [[gene in pathways.genes_of_protein.get(protein, ()) for gene in genes] for protein in everything]
    )
    W = _shared_and_private(np.where(encodes, _OWN_GENE, _OTHER_GENE), ~encodes, _WEIGHTS, common, own)
    member = [set(pathways.of_protein.get(protein, ())) for protein in everything]
    within = np.array([[bool(a & b) for b in member] for a in member])
    graph = _shared_and_private(np.where(within, _WITHIN, _BETWEEN), ~within, _WEIGHTS, common, own) != 0
    kept = np.arange(len(proteins))
    W, graph = W[kept], graph[np.ix_(kept, kept)]
    lost = np.array([proteins.index(protein) for protein in absent], dtype=int)
    # A protein that is not measured must not leave a trace between its neighbours.
    graph[lost], graph[:, lost] = False, False
    omega = precision_of_graph(graph, own)

    total = n + round(_ONE_SIDED * n)
    factors = own.standard_normal((total, len(pathways.names)))
    of_gene = [pathways.names.index(pathways.of_gene[gene][0]) for gene in genes]
    X = (
        np.sqrt(1 - _GENE_FACTOR) * own.standard_normal((total, len(genes)))
        + np.sqrt(_GENE_FACTOR) * factors[:, of_gene]
    )
    Y = X @ W.T + draw_residuals(omega, total, own)

    samples = [f"{name}-sim-{i:04d}" for i in range(1, total + 1)]
    expression = own.uniform(5, 13, len(genes)) + X * own.uniform(0.5, 1.5, len(genes))
    abundance = 0.4 * Y
    abundance[np.ix_(np.flatnonzero(own.random(total) < _MOSTLY_MISSING), lost)] = np.nan
    mrna = pd.DataFrame(expression[:n].T.round(4), genes, samples[:n]).rename_axis("sample")
    rppa = pd.DataFrame(abundance.T.round(4), proteins, samples).rename_axis("sample")
    return SimulatedCohort({"inputs": mrna, "outputs": rppa}, _nonzero(W, genes, proteins), _edges(omega, proteins))


def _require_proteins(pathways: Pathways, n_extra: int, absent: list[str]) -> None:
    if n_extra > len(_EXTRA_PROTEINS):
        raise DataError(f"config key `extra_proteins` is {n_extra}; there are {len(_EXTRA_PROTEINS)} to take.")
    unknown = [protein for protein in absent if protein not in pathways.proteins]
    if unknown:
        closest = nearest(unknown[0], pathways.proteins)
        hint = f" Did you mean {closest!r}?" if closest else ""
        raise DataError(f"config key `absent_proteins`: no pathway has a protein {unknown[0]!r}.{hint}")


def simulate_aging(name: str, n: int, seed: int) -> SimulatedCohort:
    """Table ``table``: one row per person with id, age, sex, molecular and macro phenotypes."""
    rng = np.random.default_rng([seed, 2, zlib.crc32(name.encode())])
    blocks = simulated_blocks()
    inputs, ageless_inputs, _ = _flat(blocks["molecular"])
    outputs, ageless_outputs, tissue = _flat(blocks["macro"])

    age = rng.uniform(20, 80, n).round(1)
    score = (age - 50) / np.sqrt(300.0)
    X = rng.standard_normal((n, len(inputs)))
    X[:, ~ageless_inputs] *= np.sqrt(1 - _AGE_LOADING**2)
    X[:, ~ageless_inputs] += _AGE_LOADING * score[:, None]
    W = np.zeros((len(outputs), len(inputs)))
    for i in range(len(outputs)):
        # A phenotype depends on age through the inputs that do, and on none of them if it does not.
        candidates = np.flatnonzero(ageless_inputs == ageless_outputs[i])
        chosen = rng.choice(candidates, 3, replace=False)
        W[i, chosen] = rng.uniform(*_WEIGHTS, 3)
    same = tissue[:, None] == tissue[None, :]
    graph = rng.random(same.shape) < np.where(same, _TISSUE_WITHIN, _TISSUE_BETWEEN)
    graph[ageless_outputs], graph[:, ageless_outputs] = False, False
    omega = precision_of_graph(graph, rng)
    Y = X @ W.T + draw_residuals(omega, n, rng)

    table = pd.DataFrame(np.column_stack([X, Y]).round(4), columns=[*inputs, *outputs])
    table.insert(0, "id", [f"{name}-sim-{i:04d}" for i in range(1, n + 1)])
    table.insert(1, "age", age)
    table.insert(2, "sex", rng.choice(["female", "male"], n))
    return SimulatedCohort({"table": table}, _nonzero(W, inputs, outputs), _edges(omega, outputs))


def _flat(blocks: dict[str, list[str]]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """All columns, which of them are ageless, and the number of each one's block."""
    names = [name for block in blocks.values() for name in block]
    ageless = np.concatenate([np.arange(len(block)) >= len(block) - _AGELESS for block in blocks.values()])
    number = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks.values()])
    return names, ageless, number


def _shared_and_private(chance, may_be_private, weights, common, own) -> np.ndarray:
    """Signed weights, most of them drawn from the common truth."""
    values = common.uniform(*weights, chance.shape) * common.choice([-1.0, 1.0], chance.shape, p=(0.3, 0.7))
    shared = (common.random(chance.shape) < chance) & (own.random(chance.shape) < _SHARED)
    private = (own.random(chance.shape) < _PRIVATE * chance) & may_be_private
    return np.where(shared | private, values, 0.0)


def _nonzero(W, features, targets) -> pd.DataFrame:
    rows, columns = np.nonzero(W)
    return pd.DataFrame(
        {
            "feature": [features[j] for j in columns],
            "target": [targets[i] for i in rows],
            "weight": W[rows, columns],
        }
    )


def _edges(omega, targets) -> pd.DataFrame:
    rows, columns = np.nonzero(np.triu(omega, 1))
    scale = np.sqrt(np.diag(omega))
    return pd.DataFrame(
        {
            "source": [targets[i] for i in rows],
            "target": [targets[j] for j in columns],
            "partial_correlation": -omega[rows, columns] / (scale[rows] * scale[columns]),
        }
    )
