"""Which genes belong to which antibody, what it sees, and what follows for groups and own inputs."""

import re

import pandas as pd
import pytest
import yaml
from cohorts import raw_tables, settings_of, write
from hypothesis import given
from hypothesis import strategies as st

from nard.data.antibodies import read_antibodies
from nard.data.groups import feature_groups, own_genes, pathway_groups
from nard.data.names import antibody_key, antibody_name, gene_key
from nard.data.pathways import OTHER, read_pathways
from nard.errors import DataError
from nard.project.check import check_config, prepare_cohort

SHIPPED = read_antibodies().table
PATHWAYS = read_pathways()


def groups(inputs, outputs, antibodies=None):
    return pathway_groups(inputs, outputs, PATHWAYS, antibodies or read_antibodies())


def outputs_of(table):
    return table[table["side"] == "outputs"].set_index("name")


# The table


def test_the_shipped_antibodies_are_spelt_as_keys_and_once():
    assert len(SHIPPED) > 400
    assert SHIPPED.index.is_unique
    assert [antibody_key(name) for name in SHIPPED.index] == list(SHIPPED.index)
    genes = SHIPPED["gene"].str.split(";").explode()
    assert [gene_key(gene) for gene in genes] == list(genes)
    # One of them sees mitochondria and no single protein.
    assert list(SHIPPED.index[SHIPPED["gene"] == ""]) == ["MITOCHONDRIA"]
    assert set(SHIPPED["kind"]) == {"total", "phospho", "cleaved", "acetylated"}


def test_sites_of_the_shipped_antibodies_are_those_of_their_names():
    phospho = SHIPPED[SHIPPED["kind"] == "phospho"]
    for name, sites in phospho["sites"].items():
        assert name.endswith("P" + sites.replace(";", "")) or name.endswith("P" + sites.replace(";", "P")), name
        assert all(re.fullmatch(r"[STY]\d+", site) for site in sites.split(";"))
    assert (SHIPPED.loc[SHIPPED["kind"] == "total", "sites"] == "").all()


def test_the_shipped_antibodies_know_all_of_the_pathways():
    """The table of pathways has fewer genes of an antibody that sees several proteins, and no other ones."""
    for name, genes in PATHWAYS.genes_of_protein.items():
        assert set(genes) <= set(SHIPPED.loc[name, "gene"].split(";")), name


def test_every_antibody_of_real_files_is_known(real_data):
    files = sorted(real_data.glob("tcga/*/rppa.tsv.gz"))
    assert len(files) == 8
    for path in files:
        names = pd.read_csv(path, sep="\t", usecols=[0]).iloc[:, 0]
        assert not {name for name in names if antibody_key(name) not in SHIPPED.index}, path


def test_what_an_antibody_sees():
    kinds = {
        "AKT": "total",
        "AKTPS473": "phospho",
        "CASPASE7CLEAVEDD198": "cleaved",
        "PARPCLEAVED": "cleaved",
        "ACETYLATUBULINLYS40": "acetylated",
        "PTEN": "total",
        # Not in the table: by its name.
        "NEWPT77": "phospho",
        "LAMINACLEAVED": "cleaved",
    }
    assert outputs_of(groups(["TP53"], kinds))["kind"].to_dict() == kinds


# Groups and own inputs


def test_proteins_beyond_the_pathway_table_belong_to_those_of_their_genes():
    table = outputs_of(groups(["EGFR"], ["EGFR", "HER2", "AKT", "P27", "ACC1", "MITOCHONDRIA"]))
    assert table["pathways"].to_dict() == {
        "EGFR": "RTK",
        "HER2": "RTK",
        "AKT": "PI3K/AKT",
        "P27": "Cell-cycle;PI3K/AKT",
        "ACC1": OTHER,
        "MITOCHONDRIA": OTHER,
    }
    assert table["genes"]["ACC1"] == "ACACA"


def test_a_protein_of_several_genes_has_several_own_inputs():
    inputs = ["AKT3", "ERBB2", "AKT1", "AKT2", "PDPK1", "PDK1", "C12orf5"]
    own = own_genes(groups(inputs, ["AKT", "HER2", "PDK1", "TIGAR", "MITOCHONDRIA"]))
    assert own["AKT"] == ["AKT1", "AKT2", "AKT3"]
    assert own["HER2"] == ["ERBB2"]
    assert own["PDK1"] == ["PDPK1"]
    # Genes have had other symbols.
    assert own["TIGAR"] == ["C12orf5"]
    assert own["MITOCHONDRIA"] == ["MITOCHONDRIA"]


def test_the_genes_of_both_tables_count():
    assert PATHWAYS.genes_of_protein["MEK1PS217S221"] == ["MAP2K1"]
    assert own_genes(groups(["MAP2K1", "MAP2K2"], ["MEK1PS217S221"])) == {"MEK1PS217S221": ["MAP2K1", "MAP2K2"]}


def test_a_table_of_gene_symbols_is_not_taken_for_antibodies():
    """A proteome: its PDK1 is the gene's, not PDPK1, and its RPS6 is no phosphorylation of a protein called R."""
    symbols = [*(f"GENE{i}" for i in range(20)), "PDK1", "TTF1", "RPS6"]
    table = groups([*symbols, "PDPK1", "NKX2-1"], symbols)
    assert own_genes(table) == {name: [name] for name in symbols}
    assert set(outputs_of(table)["kind"]) == {"total"}


# A user's own


def own_table(tmp_path, **columns):
    return write(pd.DataFrame(columns), tmp_path / "antibodies.tsv", index=False)


def test_own_antibodies_come_before_all_others(tmp_path):
    path = own_table(
        tmp_path,
        antibody=["Akt_pS473-R-V", "My-Target_pY7", "X"],
        gene=["AKT1; ", "NEW1|17;NEW2", None],
        kind=["phospho", None, "methylated"],
        sites=["S473", "Y7", "K4"],
    )
    antibodies = read_antibodies(path)
    # Also where hardly any other name is known.
    names = ["AKTPS473", "MYTARGETPY7", "X", *(f"P{i}" for i in range(20))]
    table = groups(["AKT1", "AKT2", "NEW2"], names, antibodies)
    assert own_genes(table)["AKTPS473"] == ["AKT1"]
    assert own_genes(table)["MYTARGETPY7"] == ["NEW2"]
    assert outputs_of(table).loc[names[:3], "kind"].tolist() == ["phospho", "phospho", "methylated"]
    assert outputs_of(table).loc[names[:3], "sites"].tolist() == ["S473", "Y7", "K4"]
    # The others stay.
    assert len(antibodies.table) == len(SHIPPED) + 2


def test_kinds_and_sites_may_be_left_out(tmp_path):
    antibodies = read_antibodies(own_table(tmp_path, antibody=["A_pS10"], gene=["G"]))
    assert antibodies.table.loc["APS10", ["gene", "kind", "sites"]].tolist() == ["G", "phospho", ""]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"antibody": ["A"], "genes": ["G"]}, r"(?s)no column 'gene'.*found: 'antibody', 'genes'.*expected: antibody"),
        ({"name": ["A"], "gene": ["G"]}, "no column 'antibody'"),
        ({"antibody": ["A", None], "gene": ["G", "H"]}, "'antibody' is empty in row 2"),
        (
            {"antibody": ["Akt_pS473", "B", "AKTPS473"], "gene": ["G", "H", "I"]},
            r"(?s)'AKTPS473' is there twice.*row 3",
        ),
    ],
)
def test_mistakes_in_own_antibodies(tmp_path, columns, told):
    with pytest.raises(DataError, match=told):
        read_antibodies(own_table(tmp_path, **columns))


NAMES = st.text(st.sampled_from("abC_-"), min_size=1, max_size=6).filter(antibody_key)
GENES = st.lists(st.sampled_from(["G1", "G2", "G3"]), max_size=3)


@given(st.dictionaries(NAMES, GENES, min_size=1, max_size=6))
def test_own_antibodies_are_read_as_they_are_written(tmp_path_factory, genes):
    # Of spellings of one antibody the last.
    genes = {name: genes[name] for name in {antibody_key(name): name for name in genes}.values()}
    path = tmp_path_factory.mktemp("own") / "antibodies.tsv"
    rows = pd.DataFrame({"antibody": list(genes), "gene": [";".join(mine) for mine in genes.values()]})
    table = read_antibodies(write(rows, path, index=False)).table
    assert table.loc[table["own"], "gene"].to_dict() == {antibody_key(name): ";".join(genes[name]) for name in genes}


# Labels


def test_names_of_antibodies_are_readable():
    for spelling in ("GSK3A GSK3B|GSK3-alpha-beta_pS21_S9", "GSK3-alpha-beta_pS21_S9-R-V", "GSK3-alpha-beta_pS21_S9"):
        assert antibody_name(spelling) == "GSK3-alpha-beta_pS21_S9"


def test_groups_have_the_spelling_of_the_file():
    labels = {"inputs": {"MRE11A": "MRE11"}, "outputs": {"AKTPS473": "Akt_pS473"}}
    X, Y = pd.DataFrame(columns=["MRE11A", "AKT1"]), pd.DataFrame(columns=["AKTPS473", "HER2"])
    table = feature_groups(X, Y, {"kind": "omics"}, PATHWAYS, read_antibodies(), labels).set_index("name")
    assert table["label"].to_dict() == {"MRE11A": "MRE11", "AKT1": "AKT1", "AKTPS473": "Akt_pS473", "HER2": "HER2"}


def test_a_cohort_keeps_the_spelling_of_its_files(tmp_path):
    mrna, rppa = raw_tables()
    mrna = mrna.rename(index={"MRE11A": "MRE11|4361", "AKT1": "AKT1|207"})
    rppa = rppa.rename(index={"AKTPS473": "Akt_pS473-R-V", "BAX": "Bax-R-V"})
    paths = [write(table, tmp_path / f"{name}.tsv") for name, table in (("mrna", mrna), ("rppa", rppa))]
    settings, files = settings_of(*paths)
    prepared = prepare_cohort(settings, files, PATHWAYS)
    table = feature_groups(prepared.X, prepared.Y, settings, PATHWAYS, read_antibodies(), prepared.labels)
    assert {"MRE11A", "AKT1", "AKTPS473", "BAX", "PCNA"} <= set(table["name"])
    labels = {side: dict(zip(rows["name"], rows["label"], strict=True)) for side, rows in table.groupby("side")}
    assert {name: labels["outputs"][name] for name in ("AKTPS473", "PCNA")} == {"AKTPS473": "Akt_pS473", "PCNA": "PCNA"}
    assert labels["outputs"]["BAX"] == "Bax"
    assert (labels["inputs"]["MRE11A"], labels["inputs"]["AKT1"]) == ("MRE11", "AKT1")


def test_the_check_reads_own_antibodies(tmp_path):
    (tmp_path / "mine.tsv").write_text("antibody\tsymbol\nA\tG\n")
    config = {"antibodies": str(tmp_path / "mine.tsv"), "cohorts": {"A": {"source": "simulated"}}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    with pytest.raises(DataError, match=r"mine.tsv: no column 'gene'"):
        check_config(str(tmp_path / "config.yaml"))
