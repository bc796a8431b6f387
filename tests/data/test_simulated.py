"""Simulated cohorts have the shapes of the paper, a truth that the data bear out, and are the same for a seed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nard.data.blocks import simulated_blocks
from nard.data.pathways import read_pathways
from nard.data.simulated import simulate_aging, simulate_omics
from nard.errors import DataError
from nard.files import write_tsv
from nard.project.check import prepare_cohort
from nard.project.config import cohort_settings, load_config, validated

PATHWAYS = read_pathways()
CONFIG = Path(__file__).parents[2] / "config" / "config.yaml"
# Samples, genes and proteins of the paper's table.
PAPER = {
    "READ": (121, 73, 76),
    "LUAD": (356, 73, 76),
    "COAD": (338, 73, 76),
    "LUSC": (309, 73, 86),
    "OV": (227, 73, 77),
    "SKCM": (333, 73, 76),
    "UCEC": (393, 73, 77),
}


def small(name="A", n=40, n_extra=0, absent=(), seed=1):
    return simulate_omics(PATHWAYS, name, n, n_extra, list(absent), seed)


def weights(cohort):
    return cohort.associations.set_index(["feature", "target"])["weight"]


def edges(cohort):
    return {frozenset(pair) for pair in zip(cohort.edges["source"], cohort.edges["target"], strict=True)}


def partial_correlations(cohort, names):
    """Matrix of the true partial correlations, with a unit diagonal."""
    position = {name: i for i, name in enumerate(names)}
    matrix = np.eye(len(names))
    for source, target, value in cohort.edges.itertuples(index=False):
        i, j = position[source], position[target]
        matrix[i, j] = matrix[j, i] = value
    return matrix


def assert_same(a, b):
    assert a.tables.keys() == b.tables.keys()
    for name, table in a.tables.items():
        pd.testing.assert_frame_equal(table, b.tables[name])
    pd.testing.assert_frame_equal(a.associations, b.associations)
    pd.testing.assert_frame_equal(a.edges, b.edges)


@pytest.mark.parametrize("simulate", [small, lambda name="A", seed=1: simulate_aging(name, 40, seed)])
def test_name_and_seed_make_the_cohort(simulate):
    first = simulate()
    assert_same(first, simulate())
    for other in (simulate(seed=2), simulate(name="B")):
        for name, table in first.tables.items():
            numbers = table.select_dtypes("number").to_numpy()
            assert not np.isclose(numbers, other.tables[name].select_dtypes("number").to_numpy()).mean() > 0.01


def test_another_process_makes_the_same_cohort():
    """Python's own hashes of names differ from one process to the next."""
    program = (
        "from nard.data.pathways import read_pathways; from nard.data.simulated import simulate_omics\n"
        "cohort = simulate_omics(read_pathways(), 'A', 40, 0, [], 1)\n"
        "print(cohort.tables['outputs'].to_csv(), end='')"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert there.stdout == small().tables["outputs"].to_csv()


@pytest.mark.parametrize("cohort", PAPER)
def test_shapes_of_the_paper(cohort, tmp_path):
    """Through files and preparation, as the workflow does it with the default config."""
    config = load_config(CONFIG)
    entry = config["cohorts"][cohort]
    assert entry["source"] == "simulated"
    raw = simulate_omics(
        PATHWAYS, cohort, entry["samples"], entry["extra_proteins"], entry["absent_proteins"], config["seed"]
    )
    files = {side: str(tmp_path / f"{side}.tsv.gz") for side in raw.tables}
    for side, table in raw.tables.items():
        write_tsv(table, files[side], index=True)
    prepared = prepare_cohort(cohort_settings(config, cohort), files, PATHWAYS)
    assert (*prepared.X.shape, prepared.Y.shape[1]) == PAPER[cohort]
    assert prepared.X.index.equals(prepared.Y.index)
    for side, values in (("inputs", prepared.X), ("outputs", prepared.Y)):
        assert (prepared.ledger.used(side, "samples"), prepared.ledger.used(side, "features")) == values.shape
        assert np.isfinite(values.to_numpy()).all()
    assert set(config["cohorts"]) == {*PAPER, "AGING"}


def test_raw_tables_look_like_real_ones():
    raw = small(n=100, n_extra=3, absent=["BRCA2"])
    mrna, rppa = raw.tables["inputs"], raw.tables["outputs"]
    assert list(mrna.index) == PATHWAYS.genes
    assert list(rppa.index[:77]) == PATHWAYS.proteins
    assert len(rppa) == 80
    assert rppa.index.is_unique
    # Five of a hundred samples have proteins only.
    assert mrna.shape[1] == 100
    assert list(rppa.columns[:100]) == list(mrna.columns)
    assert rppa.shape[1] == 105
    assert 0 < mrna.to_numpy().min() < mrna.to_numpy().max() < 25
    missing = rppa.isna().mean(axis=1)
    assert missing["BRCA2"] > 0.75
    assert missing["BRCA2"] < 1
    assert (missing.drop("BRCA2") == 0).all()


@pytest.mark.parametrize("name", ["A", "LUSC"])
def test_truth_of_omics(name):
    cohort = small(name, n_extra=9, absent=["BRCA2", "PTEN"])
    genes, proteins = cohort.tables["inputs"].index, list(cohort.tables["outputs"].index)
    truth = cohort.associations
    assert not truth.duplicated(["feature", "target"]).any()
    assert truth["feature"].isin(genes).all()
    assert truth["target"].isin(proteins).all()
    assert truth["weight"].abs().between(0.35, 0.8).all()
    # Most proteins depend on the gene that encodes them, and few on any other one.
    own = {(gene, protein) for protein, mine in PATHWAYS.genes_of_protein.items() for gene in mine}
    found = set(zip(truth["feature"], truth["target"], strict=True))
    assert 0.4 < len(own & found) / len(own) < 0.8
    assert len(found - own) / (len(genes) * len(proteins) - len(own)) < 0.02
    # Edges: a positive definite network, mostly within pathways, none of a protein that is not measured.
    partial = partial_correlations(cohort, proteins)
    precision = 2 * np.eye(len(proteins)) - partial
    assert np.linalg.eigvalsh(precision)[0] > 0.05
    assert cohort.edges["partial_correlation"].abs().between(0.01, 0.999).all()
    assert len(edges(cohort)) == len(cohort.edges)
    assert not {"BRCA2", "PTEN"} & {*cohort.edges["source"], *cohort.edges["target"]}
    members = PATHWAYS.of_protein
    pairs = [frozenset((a, b)) for i, a in enumerate(proteins) for b in proteins[:i]]
    within = {pair for pair in pairs if len({*members.get(min(pair), ())} & {*members.get(max(pair), ())})}
    assert len(edges(cohort) & within) / len(within) > 5 * len(edges(cohort) - within) / (len(pairs) - len(within))


def test_the_data_bear_out_the_truth():
    """Least squares on many samples finds the weights, and the inverse covariance of its residuals the edges."""
    cohort = small(n=6000, n_extra=2)
    X = cohort.tables["inputs"].T
    Y = cohort.tables["outputs"].T.loc[X.index]
    genes, proteins = list(X), list(Y)
    X = (X - X.mean()) / X.std()
    Y = (Y - Y.mean()) / 0.4  # the scale of raw abundances
    coef, *_ = np.linalg.lstsq(X.to_numpy(), Y.to_numpy(), rcond=None)
    true = np.zeros_like(coef)
    for (gene, protein), weight in weights(cohort).items():
        true[genes.index(gene), proteins.index(protein)] = weight
    # Residual variances are one, so a weight is known to about 1/√(0.7 · 6000).
    assert np.abs(coef - true).max() < 0.1
    residuals = Y.to_numpy() - X.to_numpy() @ coef
    np.testing.assert_allclose(residuals.var(axis=0), 1, atol=0.1)
    precision = np.linalg.inv(np.cov(residuals, rowvar=False))
    scale = np.sqrt(np.diag(precision))
    found = -precision / np.outer(scale, scale)
    np.fill_diagonal(found, 1)
    assert np.abs(found - partial_correlations(cohort, proteins)).max() < 0.08


def test_cancers_share_most_of_their_truth():
    first, second = small("LUAD"), small("OV", n_extra=5)
    a, b = weights(first), weights(second)
    both = a.index.intersection(b.index)
    np.testing.assert_array_equal(a[both], b[both])
    # 0.75² of the common truth over what either has; chance would give less than 0.02.
    assert len(both) / len(a.index.union(b.index)) > 0.3
    assert len(both) < len(a)
    common = edges(first) & edges(second)
    assert len(common) / len(edges(first) | edges(second)) > 0.3


def test_more_proteins_do_not_change_the_associations_of_the_others():
    few, more = small(n_extra=0), small(n_extra=9, absent=["BRCA2"])
    kept = more.associations[more.associations["target"].isin(PATHWAYS.proteins)].reset_index(drop=True)
    pd.testing.assert_frame_equal(few.associations, kept)


def test_aging_table():
    cohort = simulate_aging("A", 400, 1)
    table, blocks = cohort.tables["table"], simulated_blocks()
    molecular = [name for block in blocks["molecular"].values() for name in block]
    macro = [name for block in blocks["macro"].values() for name in block]
    assert list(table) == ["id", "age", "sex", *molecular, *macro]
    assert table["id"].is_unique
    assert table["age"].between(20, 80).all()
    assert set(table["sex"]) == {"female", "male"}
    assert cohort.associations["feature"].isin(molecular).all()
    assert cohort.associations["target"].isin(macro).all()
    assert set(cohort.associations["target"]) == set(macro)
    assert {*cohort.edges["source"], *cohort.edges["target"]} <= set(macro)
    partial = partial_correlations(cohort, macro)
    assert np.linalg.eigvalsh(2 * np.eye(len(macro)) - partial)[0] > 0.05
    # Who does not age depends on nobody who does, and is tied to nobody.
    ageless = {name for side in blocks.values() for block in side.values() for name in block[-3:]}
    links = [(*pair,) for pair in cohort.associations[["feature", "target"]].itertuples(index=False)]
    assert all((a in ageless) == (b in ageless) for a, b in links)
    assert not ageless & {*cohort.edges["source"], *cohort.edges["target"]}
    # The edges keep mostly to a tissue.
    same = [a.split()[0] == b.split()[0] for a, b in zip(cohort.edges["source"], cohort.edges["target"], strict=True)]
    assert np.mean(same) > 0.6


def test_aging_depends_on_age_as_said():
    table, blocks = simulate_aging("A", 4000, 3).tables["table"], simulated_blocks()
    for side in blocks.values():
        for block in side.values():
            correlation = table[block].corrwith(table["age"])
            assert (correlation[block[:-3]] > 0.25).all()
            assert (correlation[block[-3:]].abs() < 0.08).all()


def simulated(**keys):
    """As the workflow makes a cohort: the config is checked first."""
    settings = validated({"cohorts": {"A": {"source": "simulated", "samples": 30, **keys}}})["cohorts"]["A"]
    return simulate_omics(PATHWAYS, "A", 30, settings["extra_proteins"], settings["absent_proteins"], 1)


def test_an_absent_protein_that_does_not_exist_is_told():
    with pytest.raises(DataError, match="BRCA3"):
        simulated(absent_proteins=["BRCA3"])


def test_more_extra_proteins_than_there_are_is_told():
    try:
        cohort = simulated(extra_proteins=200)
    except DataError:
        return
    assert len(cohort.tables["outputs"]) == 77 + 200
