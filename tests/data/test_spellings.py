"""Features under other names: renamed where the right one is absent, told with counts, and otherwise left alone."""

import numpy as np
import pandas as pd
import pytest
from cohorts import PATHWAYS, check, raw_tables, settings_of, write
from hypothesis import given
from hypothesis import strategies as st

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


def test_antibodies_in_any_case():
    assert {antibody_key(name) for name in ("DIRAS3", "Di-Ras3", "di_ras3")} == {"DIRAS3"}
