"""Twenty ways to hand over broken data, each with the treatment or the error that a user would want."""

import gzip
import re
import unicodedata

import numpy as np
import pytest
from cohorts import N, barcodes, check, raw_tables, write

from nard.data.downloads import fetch
from nard.data.pathways import read_pathways
from nard.errors import DataError
from nard.project.config import validated

ONE_SCREEN = 24


class Files:
    """A sound pair of files that a case may break."""

    def __init__(self, folder):
        self.folder = folder
        self.mrna, self.rppa = raw_tables()

    def check(self, **keys):
        inputs = self.folder / "mrna.tsv"
        outputs = self.folder / "rppa.tsv"
        if not inputs.exists():
            write(self.mrna, inputs)
        if not outputs.exists():
            write(self.rppa, outputs)
        return check(str(inputs), str(outputs), **keys)


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def error_of(function, *arguments, **keys):
    """The text of the error, which fits on a screen."""
    with pytest.raises(DataError) as caught:
        function(*arguments, **keys)
    text = str(caught.value)
    assert len(text.splitlines()) <= ONE_SCREEN
    assert "Traceback" not in text
    return text


def noted(found, pattern):
    return any(re.search(pattern, text) for text in found["told"])


def test_sound_files_need_nothing(files):
    found = files.check()
    assert found["samples"] == N
    assert (found["d"], found["m"]) == (73, 77)
    assert not found["dropped"]


# 1
def test_wrong_orientation_is_read_right(files):
    write(files.mrna.T.rename_axis("sample"), files.folder / "mrna.tsv")
    found = files.check()
    assert (found["samples"], found["d"], found["m"]) == (N, 73, 77)


def test_orientation_that_contradicts_the_barcodes(files):
    text = error_of(files.check, orientation="samples_in_rows")
    assert "mrna.tsv" in text
    assert "orientation" in text


# 2
def test_no_shared_samples(files):
    files.rppa.columns = [name.replace("TCGA-AB", "TCGA-ZZ") for name in files.rppa.columns]
    text = error_of(files.check)
    assert "share no sample" in text
    assert "TCGA-AB-1000-01" in text
    assert "TCGA-ZZ-1000-01" in text


# 3
def test_duplicated_genes_keep_the_more_variable(files):
    import pandas as pd

    double = files.mrna.loc[["TP53"]] * 3
    files.mrna = pd.concat([files.mrna, double])
    found = files.check()
    assert found["d"] == 73
    assert noted(found, "same feature twice")


# 4
def test_text_in_numbers(files):
    table = files.mrna.astype(object)
    table.iloc[4, 7] = "n.d."
    files.mrna = table
    text = error_of(files.check)
    assert "mrna.tsv" in text
    assert "line 6" in text
    assert barcodes()[7] in text
    assert "n.d." in text


# 5
def test_all_missing_antibody_is_dropped(files):
    files.rppa.loc["BAX"] = np.nan
    found = files.check()
    assert found["m"] == 76
    assert found["samples"] == N
    assert noted(found, "no value in any sample")


# 6
def test_empty_file(files):
    (files.folder / "rppa.tsv").write_text("")
    text = error_of(files.check)
    assert "rppa.tsv" in text
    assert "empty" in text


# 7
def test_truncated_gzip(files):
    whole = gzip.compress(files.mrna.to_csv(sep="\t").encode())
    (files.folder / "mrna.tsv").write_bytes(whole[: len(whole) // 2])
    text = error_of(files.check)
    assert "mrna.tsv" in text
    assert re.search("truncated|cut off|corrupt|damaged|incomplete", text)


# 8
def test_wrong_checksum(files):
    source = files.folder / "HiSeqV2.gz"
    source.write_bytes(gzip.compress(b"sample\tA\nTP53\t1\n"))
    text = error_of(fetch, source.as_uri(), files.folder / "copy.gz", sha256="0" * 64)
    assert "0" * 64 in text
    assert "HiSeqV2.gz" in text
    assert not (files.folder / "copy.gz").exists()


# 9
def test_unknown_key():
    text = error_of(validated, {"cohorts": {"A": {"source": "simulated"}}, "fit": {"lamda": 0.1}})
    assert "unknown key `lamda` in fit. Did you mean `lam`?" in text


# 10
def test_unknown_pathway():
    text = error_of(read_pathways().restricted, ["Apoptosys"])
    assert "Apoptosys" in text
    assert "Did you mean 'Apoptosis'?" in text


# 11
def test_misspelt_method():
    text = error_of(validated, {"cohorts": {"A": {"source": "simulated"}}, "methods": ["sequental"]})
    assert "Did you mean 'sequential'?" in text


# 12
def test_negative_counts_under_log(files):
    files.mrna.iloc[3, 5] = -2.5
    text = error_of(files.check, preprocessing={"log": True})
    assert "mrna.tsv" in text
    assert "-2.5" in text
    assert files.mrna.index[3] in text
    assert barcodes()[5] in text
    assert "log: false" in text


# 13
def test_one_sample(files):
    files.mrna, files.rppa = files.mrna.iloc[:, :1], files.rppa.iloc[:, :1]
    text = error_of(files.check)
    assert "1 samples are left, at least 20" in text
    assert "mrna.tsv" in text


# 14
def test_utf16_is_read(files):
    write(files.mrna, files.folder / "mrna.tsv", encoding="utf-16")
    found = files.check()
    assert found["samples"] == N
    assert noted(found, "UTF-16")


# 15
def test_semicolons_and_decimal_commas_are_read(files):
    write(files.mrna, files.folder / "mrna.tsv", sep=";", decimal=",")
    found = files.check()
    assert (found["samples"], found["d"]) == (N, 73)


# 16
def test_dots_for_dashes_in_barcodes(files):
    files.rppa.columns = [name.replace("-", ".") for name in files.rppa.columns]
    assert files.check()["samples"] == N


# 17
def test_mixed_sample_types_keep_the_commonest_tumour(files):
    names = barcodes()
    names[:3] = [name[:-2] + "11" for name in names[:3]]
    names[3:5] = [name[:-2] + "06" for name in names[3:5]]
    files.mrna.columns, files.rppa.columns = names, names
    found = files.check()
    assert found["samples"] == N - 5
    assert noted(found, "sample type 11, kept: 01")
    assert noted(found, "2 more patients .*sample_types: patient")
    assert files.check(preprocessing={"sample_types": "patient"})["samples"] == N - 3
    assert files.check(preprocessing={"sample_types": ["01", "06"]})["samples"] == N - 3


# 18
def test_several_aliquots_of_a_sample(files):
    files.mrna.columns = [f"{name}A-11R" for name in barcodes()[:-1]] + [f"{barcodes()[0]}B-11R"]
    found = files.check()
    assert found["samples"] == N - 1
    assert noted(found, "another aliquot")


def test_plain_names_twice_with_different_values(files):
    files.mrna.columns = files.rppa.columns = [f"patient {i}" for i in range(N - 1)] + ["patient 0"]
    text = error_of(files.check)
    assert "mrna.tsv" in text
    assert "'patient 0' appears 2 times with different values" in text


# 19
def test_spaces_in_names(files):
    files.mrna.index = [f" {name} " for name in files.mrna.index]
    files.rppa.columns = [f"{name} " for name in files.rppa.columns]
    found = files.check()
    assert (found["samples"], found["d"]) == (N, 73)


# 20
def test_missing_file(files):
    write(files.mrna, files.folder / "mrna.tsv")
    text = error_of(check, str(files.folder / "mrnaa.tsv"), str(files.folder / "mrna.tsv"))
    assert "mrnaa.tsv" in text
    assert "mrna.tsv" in text
    assert "cohorts.TEST.inputs" in text


# 21
@pytest.mark.parametrize("preprocessing", [{}, {"outliers": "none"}, {"outliers": "none", "impute": "knn"}])
def test_values_that_cannot_be_squared(files, preprocessing):
    files.rppa.iloc[4, 7] = 1e160
    files.rppa.iloc[5, 8] = np.nan
    text = error_of(files.check, preprocessing=preprocessing)
    assert re.search(r"rppa.tsv has values too large .* in 1 column", text)
    assert repr(files.rppa.index[4]) in text
    assert "1e+160" in text
    assert "cohorts.TEST.outputs" in text


# 22
def test_accents_match_however_they_are_encoded(files):
    names = [f"Zoë {i}" for i in range(N)]
    files.mrna.columns = names
    files.rppa.columns = [unicodedata.normalize("NFD", name) for name in names]
    assert list(files.mrna.columns) != list(files.rppa.columns)
    assert files.check()["samples"] == N
