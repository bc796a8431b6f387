"""Modified sites and several tables of inputs: names, own pairs, the account, and what goes wrong."""

import numpy as np
import pandas as pd
import pytest
from cohorts import PATHWAYS, write

from nard.data.antibodies import read_antibodies
from nard.data.groups import feature_groups, own_genes, pathway_groups
from nard.data.names import split_input
from nard.data.sites import sites_of
from nard.errors import DataError
from nard.project.check import checked_cohort
from nard.project.config import ConfigError, cohort_files, cohort_settings, validated

SAMPLES = [f"01CO{i:03d}" for i in range(40)]
SITES = ["AKT1_S473__P31749:S473", "AKT1_T308__P31749:T308", "ACIN1_S825__Q9UKV3:S825", "ACIN1_S825__Q9UKV3-2:S825"]


@pytest.mark.parametrize(
    ("name", "gene", "places"),
    [
        ("TP53_S15", "TP53", ("S15",)),
        ("TP53_S15__P04637:S15", "TP53", ("S15",)),
        ("TP53:S15s", "TP53", ("S15",)),
        ("AKT1:T308tS473s", "AKT1", ("T308", "S473")),
        ("AKT1_T308_S473", "AKT1", ("T308", "S473")),
        ("AKT1|pS473", "AKT1", ("S473",)),
        ("HLA-A_S335|peptide", "HLA-A", ("S335",)),
        ("GTF2H2C_2_Y12", "GTF2H2C_2", ("Y12",)),
        ("CH17-340M24.3_T7", "CH17-340M24.3", ("T7",)),
    ],
)
def test_a_site_names_its_gene(name, gene, places):
    assert sites_of([name])[name][:2] == (gene, places)


@pytest.mark.parametrize(
    "name", ["TP53", "TTF1", "4E-BP1_pS65-R-V", "GSK3ALPHABETAPS21S9", "S100A4", "_S12", "H2_S", ""]
)
def test_other_names_are_no_sites(name):
    assert sites_of([name]) == {}


def test_sites_are_told_by_the_table():
    """In a table of antibodies a name may look like a site."""
    assert sites_of(["Akt_pS473", "BAX", "BID"]) == {}
    assert set(sites_of(["AKT1_S473", "BAX_S4", "BID"])) == {"AKT1_S473", "BAX_S4"}


def test_two_isoforms_keep_their_names_apart():
    labels = [site.label for site in sites_of(SITES).values()]
    assert labels == ["AKT1_S473", "AKT1_T308", *SITES[2:]]


def tables(folder, sites=SITES):
    """A transcriptome on more samples than the proteome, and sites; none named by barcodes."""
    rng = np.random.default_rng(0)
    genes = ["AKT1", "ACIN1", "BAX", "TP53"]
    mrna = pd.DataFrame(rng.uniform(0, 1e5, (4, 40)), genes, SAMPLES).round(3)
    protein = pd.DataFrame(rng.standard_normal((3, 36)), ["BAX", "AKT1", "MISSING"], SAMPLES[4:]).round(3)
    protein.iloc[2, :30] = np.nan
    output = pd.DataFrame(rng.standard_normal((len(sites), 39)), sites, SAMPLES[:39]).round(3)
    written = {"mrna": mrna, "protein": protein, "sites": output}
    return {name: write(table, folder / f"{name}.tsv") for name, table in written.items()}


def settings_of(inputs, outputs, **preprocessing):
    entry = {"source": "files", "inputs": inputs, "outputs": outputs, "orientation": "features_in_rows"}
    keep = {"genes": "all", "proteins": "all", **preprocessing}
    config = validated({"cohorts": {"COLON": entry}, "preprocessing": keep})
    settings = cohort_settings(config, "COLON")
    return settings, cohort_files(settings)


def prepared(folder, **preprocessing):
    files = tables(folder)
    given = settings_of({"mrna": files["mrna"], "protein": files["protein"]}, files["sites"], **preprocessing)
    return *checked_cohort("COLON", *given, PATHWAYS), given[0]


def test_inputs_of_several_tables_are_called_by_their_part(tmp_path):
    found, account, settings = prepared(tmp_path)
    assert list(found.X) == ["mrna:AKT1", "mrna:ACIN1", "mrna:BAX", "mrna:TP53", "protein:BAX", "protein:AKT1"]
    assert found.parts == ("mrna", "protein")
    assert list(found.X.index) == list(found.Y.index) == SAMPLES[4:39]
    # What was found minus what was left out is what was used, of samples that are in all tables of inputs.
    assert account["inputs"] == {"samples": {"found": 36, "used": 35}, "features": {"found": 7, "used": 6}}
    told = [fact["text"] for fact in account["notes"]]
    assert "36 samples are in all of the tables of inputs (mrna 40, protein 36)" in told
    # The counts of one table are no reason to take logarithms of the other.
    assert sum(text.startswith("log2(x + 1) taken") for text in told) == 1
    groups = feature_groups(found.X, found.Y, settings, PATHWAYS, read_antibodies(), found.labels, found.parts)
    by_name = groups.set_index("name")
    assert by_name.loc[["mrna:BAX", "protein:BAX"], "kind"].tolist() == ["mrna", "protein"]
    assert by_name.loc["protein:BAX", "pathway"] == "Apoptosis"
    assert by_name.loc[SITES, "sites"].tolist() == ["S473", "T308", "S825", "S825"]
    assert set(by_name.loc[SITES, "kind"]) == {"phospho"}
    assert by_name.loc[SITES[0], ["label", "genes"]].tolist() == ["AKT1_S473", "AKT1"]
    assert by_name.loc[SITES[0], "pathway"] == PATHWAYS.of_gene["AKT1"][0]
    assert own_genes(groups) == {
        **{key: ["mrna:AKT1", "protein:AKT1"] for key in SITES[:2]},
        **{key: ["mrna:ACIN1"] for key in SITES[2:]},
    }


def test_genes_are_chosen_in_each_table(tmp_path):
    found, _, _ = prepared(tmp_path, genes=1)
    assert [name.split(":")[0] for name in found.X] == ["mrna", "protein"]
    (tmp_path / "genes.txt").write_text("BAX\nakt1\n")
    found, _, _ = prepared(tmp_path, genes=str(tmp_path / "genes.txt"))
    assert list(found.X) == ["mrna:BAX", "mrna:AKT1", "protein:BAX", "protein:AKT1"]


def test_one_named_table_is_called_by_its_name_too(tmp_path):
    files = tables(tmp_path)
    found, account = checked_cohort("COLON", *settings_of({"mrna": files["mrna"]}, files["sites"]), PATHWAYS)
    assert next(iter(found.X)) == "mrna:AKT1"
    assert account["inputs"]["samples"] == {"found": 40, "used": 39}


def test_a_file_that_is_not_there_is_told_with_its_key(tmp_path):
    files = tables(tmp_path)
    given = settings_of({"mrna": files["mrna"], "protein": "nowhere.tsv"}, files["sites"])
    with pytest.raises(DataError, match=r"nowhere\.tsv(.|\n)*cohorts\.COLON\.inputs\.protein: nowhere\.tsv"):
        checked_cohort("COLON", *given, PATHWAYS)


def test_tables_of_inputs_without_a_sample_in_common_are_told(tmp_path):
    files = tables(tmp_path)
    other = pd.read_csv(files["protein"], sep="\t", index_col=0).rename(columns=lambda name: f"{name}T")
    given = settings_of({"mrna": files["mrna"], "protein": write(other, tmp_path / "o.tsv")}, files["sites"])
    with pytest.raises(DataError, match=r"share no sample(.|\n)*mrna\.tsv(.|\n)*o\.tsv"):
        checked_cohort("COLON", *given, PATHWAYS)


@pytest.mark.parametrize("inputs", [{}, {"m-rna": "a"}, {"1": "a"}, {"mrna": 3}, ["a", "b"]])
def test_what_the_inputs_can_be_is_told(inputs):
    with pytest.raises(ConfigError, match="inputs"):
        settings_of(inputs, "y.tsv")


def test_a_colon_is_part_of_a_name_unless_there_are_parts():
    assert split_input("HLA:A", ("mrna",)) == ("", "HLA:A")
    groups = pathway_groups(["HLA:A"], ["HLA:A"], PATHWAYS, read_antibodies())
    assert own_genes(groups) == {"HLA:A": ["HLA:A"]}


def test_proteins_named_by_symbols_are_no_phosphorylations():
    """CAPS2 holds a P, an S and a number."""
    groups = pathway_groups(["A", "B", "C"], ["A", "B", "C", "CAPS2"], PATHWAYS, read_antibodies())
    assert set(groups.loc[groups["side"] == "outputs", "kind"]) == {"total"}
