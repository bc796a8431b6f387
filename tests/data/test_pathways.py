"""Names in one spelling, pathways in the order asked for, and who belongs to whom."""

import numpy as np
import pandas as pd
import pytest
from cohorts import write
from hypothesis import given
from hypothesis import strategies as st

from nard.data.antibodies import read_antibodies
from nard.data.groups import block_groups, own_genes, own_inputs, pathway_groups
from nard.data.names import antibody_key, barcode, gene_key, is_barcode, nearest, patient, sample_type
from nard.data.pathways import OTHER, Pathways, read_pathways
from nard.errors import DataError

# Names


@pytest.mark.parametrize(
    "spellings",
    [
        ["4E-BP1_pS65-R-V", "EIF4EBP1|4E-BP1_pS65", "X4EBP1_pS65", "4EBP1PS65", " 4ebp1_ps65 "],
        ["HER3_pY1298", "ERBB3|HER3_pY1289-R-C", "HER3PY1289"],
        ["JNK_pT183_pY185", "JNK_pT183_Y185-R-V", "JNKPT183Y185", "JNK_pT183_pT185"],
        ["53BP1-R-E", "X53BP1", "TP53BP1|53BP1"],
        ["Akt_pS473-R-V", "AKT1 AKT2 AKT3|Akt_pS473", "AKTPS473"],
        ["c-Met_pY1235-R-V", "CMETPY1235"],
    ],
)
def test_spellings_of_an_antibody_are_joined(spellings):
    assert len({antibody_key(name) for name in spellings}) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("AKT_pS473", "AKT_pT308"),
        ("XIAP", "IAP"),
        ("PKC-α", "PKC-δ"),
        ("β-catenin", "catenin"),
        ("蛋白甲", "蛋白乙"),
        ("S6_pS235", "S6"),
        ("BAX-R-V", "BAK-R-V"),
    ],
)
def test_different_proteins_stay_apart(a, b):
    assert antibody_key(a) != antibody_key(b)


@given(st.text(st.sampled_from("aAbX19_-. |αß"), max_size=12))
def test_a_key_is_its_own_key(name):
    assert antibody_key(antibody_key(name)) == antibody_key(name)
    assert gene_key(gene_key(name)) == gene_key(name)
    assert barcode(barcode(name)) == barcode(name)


def test_barcodes():
    for name in ("TCGA-AA-3521", "TCGA-AA-3521-01", "TCGA-AA-3521-01A", "TCGA-AA-3521-01A-21-1898-20"):
        assert is_barcode(name)
        assert patient(name) == "TCGA-AA-3521"
        assert sample_type(name) == ("01" if len(name) > 12 else None)
        assert barcode(f" {name.lower().replace('-', '.')} ") == name
    for name in ("TCGA-AA-35", "TCGA-AA-3521-1", "XTCGA-AA-3521", "patient.1", "TCGA-AA-3521A", ""):
        assert not is_barcode(name)
        assert barcode(name) == name


def test_nearest():
    assert nearest("Apoptosys", ["Apoptosis", "EMT"]) == "Apoptosis"
    assert nearest("tp53", ["TP53", "TP63"]) == "TP53"
    assert nearest("abc", ["xyz"]) is None
    assert nearest("abc", []) is None


# Pathways


def test_the_shipped_pathways_are_those_of_the_paper():
    pathways = read_pathways()
    assert len(pathways.names) == 12
    assert len(pathways.genes) == len(set(pathways.genes)) == 73
    assert len(pathways.proteins) == len(set(pathways.proteins)) == 77
    ten = pathways.restricted([name for name in pathways.names if "ormone" not in name])
    assert (len(ten.names), len(ten.genes), len(ten.proteins)) == (10, 69, 72)
    assert pathways.genes_of_protein["AKTPS473"] == ["AKT1", "AKT2", "AKT3"]
    assert pathways.of_protein["P27PT157"] == ["Cell-cycle", "PI3K/AKT"]
    assert pathways.primary("P27PT157") == "Cell-cycle"
    assert pathways.primary("NOSUCH") == OTHER
    assert all(antibody_key(name) == name for name in pathways.proteins)


def test_pathways_come_in_the_order_asked_for():
    pathways = read_pathways()
    chosen = pathways.restricted(["PI3K/AKT", "Apoptosis", "Cell-cycle"])
    assert chosen.names == ["PI3K/AKT", "Apoptosis", "Cell-cycle"]
    assert set(chosen.proteins) == {
        name for name, mine in pathways.of_protein.items() if set(mine) & {"PI3K/AKT", "Apoptosis", "Cell-cycle"}
    }
    # The primary pathway is the first of those asked for.
    assert chosen.primary("P27PT157") == "PI3K/AKT"
    assert pathways.names[0] == "Apoptosis"
    with pytest.raises(DataError, match=r"(?s)no pathway 'PI3K'.*known: Apoptosis"):
        pathways.restricted(["Apoptosis", "PI3K"])


def test_own_pathways(tmp_path):
    table = pd.DataFrame(
        {
            "gene": ["AKT1; AKT2|208", "MRE11", "AKT1"],
            "note": ["x", "y", "z"],
            "protein": ["Akt_pS473-R-V", "Mre11-R-C", "AKT_pS473"],
            "pathway": ["A", "B", "B"],
        }
    )
    pathways = read_pathways(write(table, tmp_path / "mine.csv", sep=",", index=False))
    assert pathways.names == ["A", "B"]
    assert pathways.proteins == ["AKTPS473", "MRE11"]
    assert pathways.genes == ["AKT1", "AKT2", "MRE11A"]
    assert pathways.genes_of_protein == {"AKTPS473": ["AKT1", "AKT2"], "MRE11": ["MRE11A"]}
    assert pathways.of_gene["AKT1"] == ["A", "B"]
    with pytest.raises(DataError, match=r"(?s)no column 'pathway'.*found: 'gene', 'note', 'protein'"):
        read_pathways(write(table.drop(columns="pathway"), tmp_path / "none.tsv", index=False))
    commented = table.rename(columns={"gene": "#gene"})
    assert read_pathways(write(commented, tmp_path / "commented.tsv", index=False)).table.equals(pathways.table)


@pytest.mark.parametrize("missing", ["", "NA"])
@pytest.mark.parametrize("column", ["gene", "pathway", "protein"])
def test_empty_cells_make_no_names(tmp_path, missing, column):
    """A protein whose gene is left open must not be encoded by a gene called None."""
    table = pd.DataFrame({"pathway": ["A", "A"], "protein": ["P1", "P2"], "gene": ["G1", "G2"]})
    table.loc[1, column] = missing
    try:
        pathways = read_pathways(write(table, tmp_path / "mine.tsv", index=False))
    except DataError:
        return
    names = {*pathways.names, *pathways.proteins, *pathways.genes}
    assert not {name.upper() for name in names} & {"", "NONE", "NAN", "NA"}


def test_a_trailing_semicolon_makes_no_gene(tmp_path):
    table = pd.DataFrame({"pathway": ["A"], "protein": ["P1"], "gene": ["G1; G2;"]})
    assert read_pathways(write(table, tmp_path / "mine.tsv", index=False)).genes == ["G1", "G2"]


# Groups

ANTIBODIES = read_antibodies()
SMALL = Pathways(
    pd.DataFrame(
        [("B", "P1", "G1"), ("B", "P2PS9", "G2;G3"), ("A", "P3", "G4"), ("A", "P1", "G1")],
        columns=["pathway", "protein", "gene"],
    )
)


def test_groups_of_genes_and_proteins():
    groups = pathway_groups(["G4", "NEW", "G1", "G2"], ["P9", "P3", "P2PS9", "P1"], SMALL, ANTIBODIES)
    expected = [
        ("inputs", "G1", "mRNA", "B", "B;A", "G1"),
        ("inputs", "G2", "mRNA", "B", "B", "G2"),
        ("inputs", "G4", "mRNA", "A", "A", "G4"),
        ("inputs", "NEW", "mRNA", OTHER, OTHER, "NEW"),
        ("outputs", "P2PS9", "phospho", "B", "B", "G2;G3"),
        ("outputs", "P1", "total", "B", "B;A", "G1"),
        ("outputs", "P3", "total", "A", "A", "G4"),
        ("outputs", "P9", "total", OTHER, OTHER, ""),
    ]
    columns = ["side", "name", "kind", "pathway", "pathways", "genes"]
    assert list(groups[columns].itertuples(index=False, name=None)) == expected
    assert groups["label"].tolist() == groups["name"].tolist()


def test_own_genes_are_those_that_encode_the_protein():
    pathways = Pathways(
        pd.DataFrame({"pathway": ["A", "A"], "protein": ["P1", "P2"], "gene": ["G1;G2", "MRE11A"]}),
    )
    groups = pathway_groups(["G2|17", "G1", "MRE11", "P9"], ["P1", "P2-R-V", "P9"], pathways, ANTIBODIES)
    assert own_genes(groups) == {"P1": ["G1", "G2|17"], "P2-R-V": ["MRE11"], "P9": ["P9"]}


def test_own_genes_of_phenotypes_are_those_of_the_same_name():
    settings = {"molecular": {"A": ["x", "both"]}, "macro": {"B": ["y", "both"]}}
    assert own_genes(block_groups(["x", "both"], ["y", "both"], settings)) == {"y": ["y"], "both": ["both"]}


def test_own_inputs_share_a_pathway():
    inputs, outputs = ["G4", "NEW", "G1", "G2"], ["P9", "P3", "P2PS9", "P1"]
    own = own_inputs(pathway_groups(inputs, outputs, SMALL, ANTIBODIES), inputs, outputs)
    assert own.shape == (4, 2, 4)
    np.testing.assert_array_equal(own[:, 0] ^ own[:, 1], True)
    np.testing.assert_array_equal(
        own[:, 0],
        [
            [False, False, False, False],  # P9 has no pathway, and "other" is none
            [True, False, True, False],
            [False, False, True, True],
            [True, False, True, True],
        ],
    )


def test_groups_of_phenotypes_follow_the_config():
    settings = {"molecular": {"Z": ["c", "a"], "Y": ["b"]}, "macro": {"M": ["x", "y"]}}
    groups = block_groups(["a", "b", "c"], ["y"], settings)
    assert groups["name"].tolist() == ["c", "a", "b", "y"]
    assert groups["pathway"].tolist() == ["Z", "Z", "Y", "M"]
    assert groups["kind"].tolist() == ["molecular"] * 3 + ["macro"]
