"""Features under other names: renamed where the right one is absent, told with counts, and otherwise left alone."""

import numpy as np
import pandas as pd
import pytest
from cohorts import PATHWAYS, check, raw_tables, settings_of, write
from hypothesis import given
from hypothesis import strategies as st

from nard.data.features import complementary, spelt
from nard.data.ledger import Ledger
from nard.data.names import antibody_key, gene_key
from nard.data.spellings import aliases, recognised
from nard.data.tables import Table
from nard.errors import DataError
from nard.project.check import checked_cohort

GENES = PATHWAYS.genes
SPOILT = ["1-Mar", "2-Sep", "Mar-01", "2.31E+13", "2024-03-01", "2024-03-01 00:00:00", "01/03/2024", "3-Sept"]
SOUND = ["MARCH1", "SEPT2", "2310009E13Rik", "HLA-A", "NKX2-1", "C1orf112", "14-3-3_beta", "p27", "1-8D", "DEC1"]


def table_of(names):
    values = np.arange(3.0 * len(names)).reshape(3, -1)
    return Table(pd.DataFrame(values, ["a", "b", "c"], list(names)), "made up", ())


def found_in(names, members=GENES, gene_names=None):
    table = recognised(table_of(names), members, gene_names)
    pd.testing.assert_frame_equal(table.values.set_axis(list(names), axis=1), table_of(names).values)
    return list(table.values), {note["code"]: note for note in table.notes}


@given(st.lists(st.sampled_from(GENES), unique=True, min_size=1), st.data())
def test_genes_in_any_case_or_by_an_older_name_are_found(genes, data):
    others: dict[str, list[str]] = {}
    for other, gene in aliases().items():
        others.setdefault(gene, []).append(other)

    def drawn(gene):
        name = data.draw(st.sampled_from([gene, *others.get(gene, [])]))
        return data.draw(st.sampled_from([name, name.lower(), name.capitalize()]))

    names, notes = found_in([drawn(gene) for gene in genes])
    assert [gene_key(name) for name in names] == genes
    assert set(notes) <= {"other case", "other names"}


def test_what_is_renamed_is_counted_and_shown():
    names, notes = found_in(["Tp53", "EGFR", "FRAP1", "her2", "Nonsense"])
    assert names == ["TP53", "EGFR", "MTOR", "ERBB2", "Nonsense"]
    assert (notes["other case"]["count"], notes["other case"]["names"]) == (1, ["Tp53 → TP53"])
    assert (notes["other names"]["count"], notes["other names"]["names"]) == (2, ["FRAP1 → MTOR", "her2 → ERBB2"])


def test_what_has_its_right_name_is_left_alone():
    """A second column that might mean the same stays what it is called."""
    assert found_in(["TP53", "Tp53", "P53", "MTOR", "FRAP1"]) == (["TP53", "Tp53", "P53", "MTOR", "FRAP1"], {})
    assert found_in(["Tp53", "tp53"])[0] == ["TP53", "tp53"]


def test_no_other_name_is_a_gene_of_the_pathways():
    assert set(aliases().values()) <= set(GENES)
    assert not set(aliases()) & set(GENES)
    assert all(other == other.upper() == other.strip() for other in aliases())


@pytest.mark.parametrize("name", SPOILT)
def test_names_that_a_spreadsheet_spoilt_are_told(name):
    names, notes = found_in([name, "TP53"])
    assert names == [name, "TP53"]
    assert (notes["dates"]["count"], notes["dates"]["names"]) == (1, [name])
    # Those of proteins, too.
    assert found_in([name], ())[1]["dates"]["count"] == 1


@pytest.mark.parametrize("name", [*SOUND, *GENES, *PATHWAYS.proteins])
def test_sound_names_are_no_dates(name):
    assert "dates" not in found_in([name])[1]


@pytest.fixture
def identifiers():
    return [f"ENSG{10**10 + i}.{i % 20 + 1}" for i in range(len(GENES))]


@pytest.mark.parametrize("columns", [["id", "symbol"], ["symbol", "id"], ["chromosome", "id", "symbol"]])
def test_identifiers_are_translated_by_a_file(identifiers, tmp_path, columns):
    assert found_in(identifiers)[1]["identifiers"]["count"] == len(GENES)
    table = pd.DataFrame({"id": [name.split(".")[0] for name in identifiers], "symbol": GENES, "chromosome": "7"})
    path = tmp_path / "names.csv"
    table[columns].to_csv(path, index=False)
    names, notes = found_in(identifiers, gene_names=path)
    assert names == GENES
    assert notes["gene names"]["count"] == len(GENES)
    assert set(notes) == {"gene names"}


def test_numbers_are_translated_by_a_file(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text("entrez\tsymbol\n7157\tTP53\n1956\tEGFR\n\tAKT1\n")
    assert found_in(["7157", "1956", "9"], gene_names=path)[0] == ["TP53", "EGFR", "9"]


@pytest.mark.parametrize(
    "text", ["#id\tsymbol\n7157\tTP53\nE2\tEGFR\n", "7157\tTP53\nE2\tEGFR\n", "TP53\t7157\nEGFR\tE2\n"]
)
def test_the_first_row_of_a_file_of_names_is_in_use(tmp_path, text):
    """Behind a header that begins with #, and without any."""
    path = tmp_path / "names.tsv"
    path.write_text(text)
    names, notes = found_in(["7157", "E2", "9"], gene_names=path)
    assert names == ["TP53", "EGFR", "9"]
    assert notes["gene names"]["count"] == 2


def test_a_file_of_numbers_and_names_without_a_header(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text("7157\tTP53\n1956\tEGFR\n\tAKT1\n")
    assert found_in(["7157", "1956", "9"], gene_names=path)[0] == ["TP53", "EGFR", "9"]


def test_a_file_of_names_that_names_nothing_is_an_error(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text("a\tb\n1\t2\n")
    with pytest.raises(DataError, match=r"(?s)names.tsv: no column holds the names.*'a', 'b'.*'TP53'"):
        found_in(["TP53"], gene_names=path)


def test_a_cohort_named_by_identifiers(tmp_path, identifiers):
    mrna, rppa = raw_tables()
    files = write(mrna.set_axis(identifiers), tmp_path / "x.tsv"), write(rppa, tmp_path / "y.tsv")
    with pytest.raises(DataError, match="translate them by `gene_names`"):
        check(*files)
    assert any("identifiers of Ensembl" in text for text in check(*files, preprocessing={"genes": "all"})["told"])
    names = write(pd.DataFrame({"symbol": GENES}, identifiers).rename_axis("id"), tmp_path / "names.tsv")
    assert check(*files, gene_names=names)["d"] == len(GENES)


def test_identifiers_tell_features_from_samples(tmp_path, identifiers):
    mrna, rppa = raw_tables()
    samples = [f"s{i}" for i in range(mrna.shape[1])]
    x = mrna.set_axis(identifiers).set_axis(samples, axis=1)
    y = rppa.set_axis(samples, axis=1)
    for table in (x, x.T):
        settings, files = settings_of(
            write(table.rename_axis("id"), tmp_path / "x.tsv"),
            write(y, tmp_path / "y.tsv"),
            preprocessing={"genes": "all"},
        )
        prepared, account = checked_cohort("TEST", settings, files, PATHWAYS)
        assert list(prepared.X) == identifiers
        assert "identifiers" in [fact["code"] for fact in account["advice"]]


@pytest.mark.parametrize("listed", [["FRAP1", "tp53", "AKT1"], ["MTOR", "TP53", "akt1"], ["RAFT1", "P53", "AKT1"]])
@pytest.mark.parametrize("named", [["FRAP1", "Tp53", "AKT1"], ["MTOR", "TP53", "AKT1"]])
def test_a_list_of_genes_in_other_spellings(tmp_path, listed, named):
    mrna, rppa = raw_tables()
    files = [
        write(mrna.rename(dict(zip(["MTOR", "TP53", "AKT1"], named, strict=True))), tmp_path / "x.tsv"),
        write(rppa, tmp_path / "y.tsv"),
    ]
    (tmp_path / "genes.txt").write_text("\n".join(listed))
    settings, named_files = settings_of(*files, preprocessing={"genes": str(tmp_path / "genes.txt")})
    prepared, _ = checked_cohort("TEST", settings, named_files, PATHWAYS)
    assert list(prepared.X) == ["MTOR", "TP53", "AKT1"]


# One feature under two spellings


def split(values, names=("DIRAS3", "Di-Ras3"), own_names=False):
    """The first column in two parts, under these names."""
    half = np.arange(len(values)) < len(values) // 2
    first = values.iloc[:, 0]
    table = values.iloc[:, 1:].assign(**{names[0]: first.where(half), names[1]: first.where(~half)})
    return Table(table, "made up", (), own_names=own_names)


@pytest.mark.parametrize("own_names", [False, True])
@pytest.mark.parametrize("wanted", [None, ["DIRAS3", "AR"], ["Di-Ras3"]])
def test_spellings_that_complement_each_other_are_one(own_names, wanted):
    values = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 3)), columns=["x", "AR", "BAX"])
    table, ledger = split(values, own_names=own_names), Ledger()
    ledger.find("outputs", *table.values.shape)
    names, sought = spelt(table, wanted, antibody_key)
    found, names = complementary(table.values, names, sought, "outputs", ledger)
    assert names == ["AR", "BAX", "Di-Ras3" if own_names and wanted == ["Di-Ras3"] else "DIRAS3"]
    np.testing.assert_array_equal(found.iloc[:, 2], values["x"])
    assert ledger.used("outputs", "features") == 3
    assert [(note["code"], note["names"]) for note in ledger.notes] == [("merged spellings", ["DIRAS3 and Di-Ras3"])]


@pytest.mark.parametrize("names", [("CD4+", "CD4-"), ("AKT1", "AKT2"), ("p27", "p27_pT157")])
def test_different_features_are_not_joined(names):
    values = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 3)), columns=["x", "AR", "BAX"])
    table, ledger = split(values, names, own_names=True), Ledger()
    found, kept = complementary(table.values, list(table.values), None, "outputs", ledger)
    assert kept == ["AR", "BAX", *names]
    assert found is table.values
    assert ledger.notes == []


def test_spellings_that_overlap_are_not_joined():
    values = pd.DataFrame({"DIRAS3": [1.0, 2.0, np.nan], "Di-Ras3": [np.nan, 3.0, 4.0]})
    assert complementary(values, ["DIRAS3", "DIRAS3"], None, "outputs", Ledger())[1] == ["DIRAS3", "DIRAS3"]


def test_a_cohort_with_an_antibody_under_two_names(tmp_path):
    mrna, rppa = raw_tables()
    half = np.arange(rppa.shape[1]) < 15
    other = pd.DataFrame([rppa.loc["BAX"].where(~half)], ["Bax-R-V"])
    spoilt = rppa.copy()
    spoilt.loc["BAX"] = rppa.loc["BAX"].where(half)
    files = [
        write(mrna, tmp_path / "x.tsv"),
        write(pd.concat([spoilt, other]).rename_axis("sample"), tmp_path / "y.tsv"),
    ]
    found = check(*files)
    assert (found["m"], found["samples"]) == (77, rppa.shape[1])
    assert any(text.startswith("1 features stand under two spellings") for text in found["told"])


# Tables in each other's place


def test_inputs_and_outputs_in_each_others_place(tmp_path):
    mrna, rppa = (write(table, tmp_path / name) for table, name in zip(raw_tables(), "xy", strict=True))

    def advice(*files):
        settings, named = settings_of(*files, preprocessing={"genes": "all", "proteins": "all"})
        account = checked_cohort("TEST", settings, named, PATHWAYS)[1]
        return [fact["code"] for fact in account["advice"] if fact["code"] in ("swapped", "same table")]

    assert advice(mrna, rppa) == []
    assert advice(rppa, mrna) == ["swapped"]
    assert advice(mrna, mrna) == advice(rppa, rppa) == ["same table"]


def test_proteins_named_like_their_genes_are_in_their_place(tmp_path):
    """As in mass spectrometry."""
    mrna, _ = raw_tables()
    proteins = write(mrna + np.random.default_rng(0).standard_normal(mrna.shape), tmp_path / "y.tsv")
    options = {"genes": "all", "proteins": "all"}
    told = check(write(mrna, tmp_path / "x.tsv"), proteins, preprocessing=options)["told"]
    assert not any("swapped" in text for text in told)
