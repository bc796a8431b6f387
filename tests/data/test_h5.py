"""AnnData and MuData files, as their own packages write them."""

import builtins
import warnings

import numpy as np
import pandas as pd
import pytest
from cohorts import raw_tables, settings_of, write
from scipy import sparse

from nard.data.pathways import read_pathways
from nard.data.tables import read_table
from nard.errors import DataError
from nard.project.check import checked_cohort, prepare_cohort

h5py = pytest.importorskip("h5py")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    anndata = pytest.importorskip("anndata")
    mudata = pytest.importorskip("mudata")

VALUES = np.array([[0.0, 1.5, 2.0], [3.0, 0.0, np.nan], [0.0, 0.0, 7.25], [1.0, 2.0, 3.0]])
SAMPLES, FEATURES = ["s1", "s2", "s3", "s4"], ["TP53", "AKT1", "ä β"]
EXPECTED = pd.DataFrame(VALUES, SAMPLES, FEATURES)


def data(matrix=VALUES, **parts):
    return anndata.AnnData(
        matrix, obs=pd.DataFrame(index=SAMPLES), var=pd.DataFrame(index=pd.Index(FEATURES, name="gene")), **parts
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, np.float32])
def test_matrices_of_every_form(tmp_path, form):
    data(form(VALUES)).write_h5ad(tmp_path / "a.h5ad")
    table = read_table(tmp_path / "a.h5ad")
    pd.testing.assert_frame_equal(table.values, EXPECTED)
    assert table.layout == "AnnData (samples × features)"
    assert table.own_names


def test_integers_and_compression(tmp_path):
    counts = np.arange(12).reshape(4, 3)
    data(counts).write_h5ad(tmp_path / "a.h5ad", compression="gzip")
    np.testing.assert_array_equal(read_table(tmp_path / "a.h5ad").values, counts)


def test_an_index_of_categories_and_of_nullable_text(tmp_path):
    """anndata writes these encodings where the index has such a type; here they are put in place by hand."""
    data().write_h5ad(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        del file["obs/_index"], file["var/gene"]
        names = file["obs"].create_group("_index")
        names.create_dataset("categories", data=sorted(SAMPLES, reverse=True), dtype=h5py.string_dtype())
        names.create_dataset("codes", data=[3, 2, 1, 0])
        genes = file["var"].create_group("gene")
        genes.create_dataset("values", data=FEATURES, dtype=h5py.string_dtype())
        genes.create_dataset("mask", data=[False] * 3)
    pd.testing.assert_frame_equal(read_table(tmp_path / "a.h5ad").values, EXPECTED)


def test_layers(tmp_path):
    data(layers={"log": VALUES + 1}).write_h5ad(tmp_path / "a.h5ad")
    pd.testing.assert_frame_equal(read_table(f"{tmp_path}/a.h5ad#log").values, EXPECTED + 1)
    with pytest.raises(DataError, match=r"no layer 'lgo'(.|\n)*layers 'log'"):
        read_table(f"{tmp_path}/a.h5ad#lgo")


@pytest.fixture
def multi(tmp_path):
    """Two modalities of a cohort of real shape in one file, and the same as tables."""
    mrna, rppa = raw_tables()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = {
            name: anndata.AnnData(table.T, layers={"twice": 2 * table.T.to_numpy()})
            for name, table in (("rna", mrna), ("prot", rppa))
        }
        mudata.MuData(both).write_h5mu(tmp_path / "cohort.h5mu")
    return tmp_path / "cohort.h5mu", write(mrna, tmp_path / "x.tsv"), write(rppa, tmp_path / "y.tsv")


def test_modalities(multi):
    file, x, _ = multi
    pd.testing.assert_frame_equal(read_table(f"{file}#rna").values, read_table(x).values, check_names=False)
    layer = read_table(f"{file}#rna/twice")
    np.testing.assert_array_equal(layer.values, 2 * read_table(x).values)
    assert layer.layout == "MuData, modality rna, layer twice (samples × features)"
    with pytest.raises(DataError, match=r"one modality is to be named\.\n  found: modalities '(rna|prot)'"):
        read_table(file)
    with pytest.raises(DataError, match="no modality 'protein'"):
        read_table(f"{file}#protein")


def test_a_cohort_in_one_file(multi):
    """Through the check and the preparation, as from two tables."""
    file, x, y = multi
    settings, files = settings_of(f"{file}#rna", f"{file}#prot")
    assert checked_cohort("TEST", settings, files, read_pathways())[1]["n_samples"] == 40
    found, expected = (
        prepare_cohort(settings, named, read_pathways()) for named in (files, {"inputs": x, "outputs": y})
    )
    pd.testing.assert_frame_equal(found.X, expected.X)
    pd.testing.assert_frame_equal(found.Y, expected.Y)


def test_without_h5py_the_error_says_what_to_install(tmp_path, monkeypatch):
    data().write_h5ad(tmp_path / "a.h5ad")
    real = builtins.__import__

    def absent(name, *arguments, **options):
        if name == "h5py":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(DataError, match=r"pip install 'nard\[anndata\]'"):
        read_table(tmp_path / "a.h5ad")


def _cut(path):
    path.write_bytes(path.read_bytes()[:3000])


def _other(path):
    with h5py.File(path, "w") as file:
        file["numbers"] = [1, 2]


def _without_matrix(path):
    with h5py.File(path, "r+") as file:
        del file["X"]


def _short(path):
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = VALUES[:2]


def _long(path):
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = np.vstack([VALUES, VALUES])


def _flat(path):
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = VALUES.ravel()


def _no_group(path):
    with h5py.File(path, "r+") as file:
        file["mod"] = [1, 2]


def _text(path):
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = np.full((4, 3), b"x")


def _infinite(path):
    with h5py.File(path, "r+") as file:
        file["X"][0, 0] = np.inf


def _old(path):
    with h5py.File(path, "r+") as file:
        del file["obs"]
        file["obs"] = np.zeros(4, dtype=[("index", "S3")])


def _linked(path):
    secret = path.with_name("secret.h5")
    with h5py.File(secret, "w") as file:
        file["X"] = VALUES
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = h5py.ExternalLink(secret.name, "/X")


def _linked_names(path):
    """Each name is stored as such in its file; the link is on the way to them."""
    with h5py.File(path.with_name("secret.h5"), "w") as file:
        file["_index"] = ["secret 1", "secret 2", "secret 3", "secret 4"]
    with h5py.File(path, "r+") as file:
        file["obs/e"] = h5py.ExternalLink("secret.h5", "/")
        file["obs"].attrs["_index"] = "e/_index"


def _soft_names(path):
    with h5py.File(path, "r+") as file:
        file["obs/soft"] = h5py.SoftLink("/obs/_index")
        file["obs"].attrs["_index"] = "soft"


def _dangling(path):
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = h5py.ExternalLink("nowhere.h5", "/X")


def _virtual(path):
    with h5py.File(path.with_name("secret.h5"), "w") as file:
        file["X"] = VALUES
        layout = h5py.VirtualLayout(VALUES.shape, float)
        layout[:] = h5py.VirtualSource(file["X"])
    with h5py.File(path, "r+") as file:
        del file["X"]
        file.create_virtual_dataset("X", layout)


def _stored_elsewhere(path):
    outside = path.with_name("passwords.txt")
    outside.write_bytes(VALUES.tobytes())
    with h5py.File(path, "r+") as file:
        del file["X"]
        file.create_dataset("X", VALUES.shape, float, external=[(str(outside), 0, VALUES.nbytes)])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_cut, "damaged, or no AnnData"),
        (_other, "not of AnnData"),
        (_without_matrix, "the file has no 'X'"),
        (_short, "(?s)'/obs/_index' is too large.*found: 4 values.*expected: at most 2 values"),
        (_long, "'/obs' has 4 names, but the matrix 8 on this side"),
        (_flat, "(?s)'/X' is no matrix.*shape .12,.*samples × features"),
        (_no_group, "'/mod' is no group"),
        (_text, "where numbers are expected"),
        (_infinite, "1 infinite values"),
        (_old, "of before 2020"),
        (_linked, "'X' is a link to somewhere else"),
        (_linked_names, "'e/_index' is a link to somewhere else"),
        (_soft_names, "'soft' is a link to somewhere else"),
        (_dangling, "'X' is a link to somewhere else"),
        (_virtual, "'X' is a link to somewhere else"),
        (_stored_elsewhere, "'X' is a link to somewhere else"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, spoil, message):
    data().write_h5ad(tmp_path / "a.h5ad")
    spoil(tmp_path / "a.h5ad")
    with pytest.raises(DataError, match=message) as error:
        read_table(tmp_path / "a.h5ad")
    assert "to fix" in str(error.value)


@pytest.mark.parametrize(("part", "message"), [("e", "'e' is a link"), ("e/X", "'e/X' is a link"), ("f/e/X", "link")])
def test_no_part_of_a_path_is_a_link(tmp_path, part, message):
    data(layers={"log": VALUES}).write_h5ad(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["X"] = VALUES
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        file["layers/e"] = h5py.ExternalLink("secret.h5", "/")
        file["layers/f/e"] = h5py.ExternalLink("secret.h5", "/")
        file["layers/f/own"] = VALUES + 1
    with pytest.raises(DataError, match=f"{message}.*\n  to fix: save the data in one file"):
        read_table(f"{tmp_path}/a.h5ad#{part}")
    pd.testing.assert_frame_equal(read_table(f"{tmp_path}/a.h5ad#f/own").values, EXPECTED + 1)


def _declared(path, rows, columns):
    """A small file whose matrix and names were never written, only declared."""
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (rows, columns), float, chunks=(1000, 1000))
        for side, count in (("obs", rows), ("var", columns)):
            file.create_dataset(f"{side}/_index", (count,), h5py.string_dtype(), chunks=(1000,))
            file[side].attrs["_index"] = "_index"


def _declared_sparse(path, rows, columns):
    _declared(path, rows, columns)
    with h5py.File(path, "r+") as file:
        del file["X"]
        matrix = file.create_group("X")
        matrix.attrs.update({"encoding-type": "csr_matrix", "shape": (rows, columns)})
        for name, count in (("data", 3), ("indices", 3), ("indptr", rows + 1)):
            matrix.create_dataset(name, (count,), int)


@pytest.mark.parametrize("declare", [_declared, _declared_sparse])
def test_a_small_file_that_declares_a_large_matrix_is_refused_by_its_shape(tmp_path, monkeypatch, declare):
    path = tmp_path / "a.h5ad"
    declare(path, 10**6, 10**5)
    assert path.stat().st_size < 20_000

    def no_reading(*_):
        raise AssertionError("values were read")

    monkeypatch.setattr(h5py.Dataset, "__getitem__", no_reading)
    with pytest.raises(DataError, match="1000000 × 100000 values are too many"):
        read_table(path)


def test_values_that_were_never_written_are_refused(tmp_path):
    _declared(tmp_path / "a.h5ad", 2000, 20_000)
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        for side, count in (("obs", 2000), ("var", 20_000)):
            del file[f"{side}/_index"]
            file[f"{side}/_index"] = np.arange(count)
    with pytest.raises(DataError, match=r"'/X' declares values that are not there.\n  found: 320000000 bytes .* 0 of"):
        read_table(tmp_path / "a.h5ad")


@pytest.mark.parametrize("name", ["obs/_index", "X/data", "X/indptr"])
def test_a_part_of_a_matrix_that_declares_too_much_is_refused(tmp_path, name):
    data(sparse.csr_matrix(VALUES)).write_h5ad(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        del file[name]
        file.create_dataset(name, (10**12,), int, chunks=(1000,))
    with pytest.raises(DataError, match=rf"(?s)'/{name}' is too large.*1000000000000 values of 8 bytes.*at most \d+"):
        read_table(tmp_path / "a.h5ad")


@pytest.mark.parametrize("signature", [b"HEAP", b"TREE", b"SNOD", b"GCOL"])
def test_damage_ends_in_words(tmp_path, signature):
    """HDF5 marks the pieces of a file's structure by signatures."""
    data().write_h5ad(tmp_path / "a.h5ad")
    whole = (tmp_path / "a.h5ad").read_bytes()
    assert signature in whole
    (tmp_path / "a.h5ad").write_bytes(whole.replace(signature, b"----"))
    with pytest.raises(DataError, match=r"damaged, or no AnnData(.|\n)*to fix"):
        read_table(tmp_path / "a.h5ad")


def test_a_table_has_no_parts(tmp_path):
    (tmp_path / "a.h5ad").write_text("sample\tx\ns1\t1\n")
    with pytest.raises(DataError, match="no HDF5 file and no workbook, so that it has no part 'rna'"):
        read_table(f"{tmp_path}/a.h5ad#rna")


def test_what_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("nard.data.h5._MOST_VALUES", 11)
    data().write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(DataError, match="4 × 3 values are too many"):
        read_table(tmp_path / "a.h5ad")
