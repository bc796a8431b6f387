"""Every layout is read as what it is, any table is read back exactly, and what is wrong is told with its place."""

import bz2
import csv
import datetime
import gzip
import io
import lzma
import unicodedata
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nard.data import sheets, tables
from nard.data.sheets import read_frame, read_sheet
from nard.data.tables import OrientationError, read_pair, read_table
from nard.data.unpacking import read_text
from nard.data.words import words
from nard.errors import DataError

A, B, C = "TCGA-AA-3521-01", "TCGA-AA-3522-01", "TCGA-A6-2671-11"


def zipped(content: bytes, *names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return buffer.getvalue()


PACKINGS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zip": lambda content: zipped(content, "tmp/table.csv"),
}


@pytest.fixture
def write(tmp_path):
    def write(text, name="table", encoding="utf-8"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write


def notes_of(table):
    return tuple(map(words, table.notes))


def check(table, layout, rows):
    """The table is of this layout and holds these rows: sample, values by feature."""
    assert table.layout.startswith(layout)
    expected = pd.DataFrame.from_dict(rows, orient="index", dtype=float)
    pd.testing.assert_frame_equal(table.values, expected)


# Layouts


@pytest.mark.parametrize("corner", ["sample", "Sample_description", "SampleID"])
def test_xena(write, corner):
    path = write(f"{corner}\t{A}\t{B}\nTP53\t1.5\tNA\nAKT1\t-2\t\n")
    check(
        read_table(path),
        "Xena matrix (features × samples)",
        {A: {"TP53": 1.5, "AKT1": -2}, B: {"TP53": np.nan, "AKT1": np.nan}},
    )


def test_tcpa(write):
    text = f"Sample_ID,Cancer_Type,Sample_Type,SetID,X1433BETA,AKT_pS473\n{A},COAD,Primary,1,0.5,NA\n"
    text += f"{B},,Primary,1,1.5,2.5\n"
    for content in (text, zipped(text.encode(), "tmp/", "tmp/TCGA-L4.csv", "__MACOSX/tmp/._TCGA-L4.csv")):
        table = read_table(write(content))
        rows = {A: {"X1433BETA": 0.5, "AKT_pS473": np.nan}, B: {"X1433BETA": 1.5, "AKT_pS473": 2.5}}
        check(table, "TCPA level 4 (samples × antibodies)", rows)
        assert table.cancers.index.equals(table.values.index)
        assert table.cancers.tolist() == ["COAD", None]
        assert "left out: Cancer_Type, Sample_Type, SetID" in notes_of(table)[0]


def test_pancanatlas(write):
    path = write(f"SampleID\tTumorType\tX1433BETA\n{A}-20\tCOAD\t0.5\n{A}-21\tREAD\t1.5\n")
    table = read_table(path)
    check(
        table,
        "GDC PanCanAtlas RPPA (samples × antibodies)",
        {f"{A}-20": {"X1433BETA": 0.5}, f"{A}-21": {"X1433BETA": 1.5}},
    )
    assert table.cancers.tolist() == ["COAD", "READ"]


def test_cbioportal_rppa(write):
    path = write(f"Composite.Element.REF\t{A}\nAKT1 AKT2 AKT3|Akt_pS473\t0.5\nBIRC2 |cIAP\tNA\n")
    rows = {A: {"AKT1 AKT2 AKT3|Akt_pS473": 0.5, "BIRC2 |cIAP": np.nan}}
    check(read_table(path), "cBioPortal or Firehose RPPA", rows)


@pytest.mark.parametrize("samples", [(A, B), ("P-01", "P-02")])
def test_cbioportal_mrna(write, samples):
    a, b = samples
    rows = {a: {"TP53": 1, "AKT1": 3}, b: {"TP53": 2, "AKT1": 4}}
    ids = {a: {"7157": 1.0, "1": 9.0}, b: {"7157": 2.0, "1": 9.0}}
    both = write(f"Hugo_Symbol\tEntrez_Gene_Id\t{a}\t{b}\nTP53\t7157\t1\t2\n\t1\t9\t9\nNA\t2\t9\t9\nAKT1\t207\t3\t4\n")
    check(read_table(both), "cBioPortal (genes × samples)", rows)
    assert notes_of(read_table(both)) == ("2 feature(s) without a name or symbol dropped",)
    swapped = write(f"Entrez_Gene_Id\tHugo_Symbol\t{a}\t{b}\n7157\tTP53\t1\t2\n207\tAKT1\t3\t4\n")
    check(read_table(swapped), "cBioPortal", rows)
    check(read_table(write(f"Hugo_Symbol\t{a}\t{b}\nTP53\t1\t2\nAKT1\t3\t4\n")), "cBioPortal", rows)
    check(read_table(write(f"Entrez_Gene_Id\t{a}\t{b}\n7157\t1\t2\n1\t9\t9\n")), "cBioPortal", ids)


def test_firehose_mrna(write):
    path = write(
        f"Hybridization REF\t{A}\t{B}\ngene_id\tnormalized_count\tnormalized_count\n"
        "?|100130426\t0\t0\nTP53|7157\t1\t2\nSLC35E2|9906\t3\t4\nSLC35E2|728661\t5\t6\n"
    )
    table = read_table(path)
    assert table.layout == "Firehose (features × samples)"
    assert table.values.columns.tolist() == ["TP53", "SLC35E2", "SLC35E2"]
    assert table.values.loc[B].tolist() == [2, 4, 6]
    assert notes_of(table)[-1] == "1 feature(s) without a name or symbol dropped"


def test_firehose_with_several_columns_per_sample(write):
    path = write(
        f"Hybridization REF\t{A}\t{A}\t{A}\t{B}\t{B}\t{B}\n"
        "gene_id\traw_count\tscaled_estimate\ttranscript_id\traw_count\tscaled_estimate\ttranscript_id\n"
        "TP53|7157\t10\t1e-6\tuc1.1,uc2.1\t20\t2e-6\tuc1.1\n"
    )
    check(read_table(path), "Firehose", {A: {"TP53": 10}, B: {"TP53": 20}})
    assert "'raw_count' was taken" in notes_of(read_table(path))[0]


def test_firehose_rppa(write):
    path = write(f"Sample REF\t{A}\nComposite Element REF\tProtein Expression\n4E-BP1_pS65-R-V\t0.5\n")
    check(read_table(path), "Firehose", {A: {"4E-BP1_pS65-R-V": 0.5}})
    path = write(f"Sample.ID\t{A}\nYWHAB|14-3-3_beta\t0.5\n")
    check(read_table(path), "plain table", {A: {"YWHAB|14-3-3_beta": 0.5}})


def test_whose_names_are_known(write):
    """Those of plain tables are not, whichever way round; those of what looks like Xena's may be."""
    assert read_table(write(f"sample\t{A}\nTP53\t1\n")).own_names is None
    assert not read_table(write("Hugo_Symbol,P1\nTP53,1\n")).own_names
    assert read_table(write(f"sample,TP53\n{A},1\n")).own_names
    assert read_table(write(f"id,{A}\nTP53,1\n")).own_names


def test_entrez_numbers_after_symbols(write):
    check(read_table(write(f"gene_id\t{A}\nTP53|7157\t1\n?|1\t2\n?|2\t3\n")), "plain table", {A: {"TP53": 1}})


def test_numbers_that_tell_features_apart_are_kept(write):
    table = read_table(write(f"locus\t{A}\nchr1|123\t1\nchr1|456\t2\nchr2|123\t3\n?|7\t4\n"))
    check(table, "plain table", {A: {"chr1|123": 1, "chr1|456": 2, "chr2|123": 3, "?|7": 4}})
    assert notes_of(table) == ()


RPPA = "AGID\tlab_id\tcatalog_number\tset_id\tpeptide_target\tprotein_expression\n"
STAR = (
    "# gene-model: GENCODE v36\n"
    "gene_id\tgene_name\tgene_type\tunstranded\tstranded_first\tstranded_second\ttpm_unstranded\tfpkm_unstranded\n"
    "N_unmapped\t\t\t5\t5\t5\t\t\nN_ambiguous\t\t\t7\t7\t7\t\t\n"
)


def test_gdc_rppa_folder(write, tmp_path):
    write(
        RPPA + "AGID1\t1\t2\told\t1433BETA\t0.5\nAGID2\t1\t2\told\tAKT_pS473\tNA\n", f"x/{B}A-21-A45F-20_RPPA_data.tsv"
    )
    write(
        gzip.compress((RPPA + "AGID1\t1\t2\told\t1433BETA\t1.5\nAGID3\t1\t2\told\tATM\t2\n").encode()),
        "x/y/mine.tsv.gz",
    )
    write(b"\0\1", "x/logs/a.parcel")
    write(b"\0\1", "x/.state")
    write("one column only", "x/MANIFEST.txt")
    table = read_table(tmp_path / "x")
    nan = np.nan
    rows = {
        f"{B}A-21-A45F-20": {"1433BETA": 0.5, "AKT_pS473": nan, "ATM": nan},
        "mine": {"1433BETA": 1.5, "AKT_pS473": nan, "ATM": 2.0},
    }
    check(table, "GDC RPPA, one file per sample", rows)
    assert notes_of(table) == ("1 other file(s) in the folder skipped: 'MANIFEST.txt'",)
    check(read_table(tmp_path / "x" / "y" / "mine.tsv.gz"), "GDC RPPA", {"mine": {"1433BETA": 1.5, "ATM": 2.0}})


def test_gdc_star_counts(write, tmp_path):
    rows = (
        "E1\tTP53\tprotein_coding\t1\t1\t1\t{}\t9\nE2\tY_RNA\tmisc\t1\t1\t1\t2\t9\nE3\tY_RNA\tmisc\t1\t1\t1\t0.5\t9\n"
    )
    write(STAR + rows.format(1.25), "x/0b1c.rna_seq.augmented_star_gene_counts.tsv")
    write(STAR + rows.format("3e-2"), "x/tcga.aa.3521.01a.tsv")
    table = read_table(tmp_path / "x")
    check(
        table,
        "GDC STAR counts",
        {"0b1c": {"TP53": 1.25, "Y_RNA": 2.5}, "tcga.aa.3521.01a": {"TP53": 0.03, "Y_RNA": 2.5}},
    )
    assert notes_of(table) == (
        "1 comment line(s) skipped",
        "2 feature(s) without a name or symbol dropped",
        "1 repeated name(s) joined by the sum",
    )


def test_r_row_names(write):
    rows = {A: {"x": 1, "y": 2}, B: {"x": 3, "y": 4}}
    for text in (
        f'"x" "y"\n"{A}" 1 2\n"{B}" 3 4\n',
        f"x\ty\n{A}\t1\t2\n{B}\t3\t4\n",
        f'"","x","y"\n"{A}",1,2\n"{B}",3,4\n',
    ):
        check(read_table(write(text)), "plain table (samples × features)", rows)


@pytest.mark.parametrize(
    "text",
    [
        f"# made by hand\n\n#\nid,x y,z\n{A},1,2\n{B},3,4\n\n\n",
        f"id,x y,z,,\n{A},1,2,,\n{B},3,4,,\n,,,,\n",
        f"id,x y,z\n{A},1,2,\n\n{B},3,4,\n",
        f"id,x y,z,\n{A},1,2\n{B},3,4\n",
        f"id , x y , z \r\n {A} , 1 ,2\r\n{B}, 3,4 \r\n",
        f'id;"x y";z\n{A};1,0;2\n{B};3;"4,00"\n',
        f"id\tx y\tz\r{A}\t1,0\t2\r{B}\t3\t4,00\r",
        f'id,"x y","z"\n"{A}","1","2"\n"{B}","3","4"\n',
        f"\ufeffid,x y,z\n{A},1,2\n{B},3,4",
    ],
    ids=["comments", "blank columns", "row ends", "header end", "spaces", "decimal commas", "tabs", "quotes", "mark"],
)
def test_untidy_tables(write, text):
    check(read_table(write(text)), "plain table", {A: {"x y": 1, "z": 2}, B: {"x y": 3, "z": 4}})


def test_missing_spellings(write):
    spellings = ["", "NA", "NaN", "nan", "N/A", "null", "NULL", ".", "-", "None", "#N/A"]
    for pad in ("", " "):
        path = write(
            "".join(f"{name}\t1\t{pad}{cell}{pad}\n" for name, cell in [("id", "y"), *((A, s) for s in spellings)])
        )
        table = read_table(path)
        assert table.values.shape == (len(spellings), 2)
        assert table.values["y"].isna().all()


def test_line_ends_within_quotes(write):
    check(read_table(write(f'id,"x\n(log2)",y\n"{A}",1,"\n2"\n')), "plain table", {A: {"x\n(log2)": 1, "y": 2}})


def test_repeated_names_are_kept(write):
    table = read_table(write(f"id,x,x\n{A},1,2\n{A},3,4\n"))
    assert table.values.index.tolist() == [A, A]
    assert table.values.to_numpy().tolist() == [[1, 2], [3, 4]]


def test_encodings(write):
    text = f"id,β-catenin\n{A},1\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        table = read_table(write(text, encoding=encoding))
        assert table.values.columns.tolist() == ["β-catenin"]
        assert bool(notes_of(table)) == (encoding == "utf-16")
    latin = read_table(write(f"id,Größe\n{A},1\n", encoding="latin-1"))
    assert latin.values.columns.tolist() == ["Größe"]
    assert "Latin-1" in notes_of(latin)[0]


# Orientation


def test_barcodes_with_dots(write):
    assert read_table(write("id\tTCGA.AA.3521.01A\tTCGA.AA.3522.01A\nx\t1\t2\n")).values.shape == (2, 1)


def test_known_names_tell_the_orientation(write):
    path = write("id,s1,s2\nTP53,1,2\nAkt_pS473,3,4\n")
    for known in ({"known_samples": ["s2"]}, {"known_features": ["TP53"]}, {"known_features": ["AKTPS473"]}):
        check(
            read_table(path, **known),
            "plain table (features",
            {"s1": {"TP53": 1, "Akt_pS473": 3}, "s2": {"TP53": 2, "Akt_pS473": 4}},
        )
    for known in ({"known_samples": ["TP53"]}, {"known_features": ["s1"]}):
        assert read_table(path, **known).values.columns.tolist() == ["s1", "s2"]
    assert read_table(path, orientation="samples_in_rows", known_features=["TP53"]).values.index[0] == "TP53"


def test_names_with_a_space_do_not_part_a_table_with_tabs(write):
    table = read_frame(write("age\tpatient\n50\tpatient 0\n51\tpatient 1\n"))
    assert table.columns.tolist() == ["age", "patient"]
    assert table["patient"].tolist() == ["patient 0", "patient 1"]


def test_a_numbered_sample_may_have_the_name_of_a_protein(write):
    samples = [f"P{number}" for number in range(1, 61)]
    rows = "".join(f"{name},1,2\n" for name in samples)
    tables = read_pair(write(f"id,m1,m2\n{rows}", "x"), write(f"id,t1,t2\n{rows}", "y"), known_outputs=["P53"])
    assert [table.values.index.tolist() for table in tables] == [samples, samples]


@pytest.mark.parametrize("swapped", [False, True])
def test_the_samples_of_one_table_tell_the_orientation_of_the_other(write, swapped):
    """Genes that are known, and identifiers that nobody knows, of samples with plain names."""
    known = write("id,s1,s2\nTP53,1,2\nAKT1,3,4\n", "known")
    plain = write("id,ENSG01,ENSG02,ENSG03\ns2,1,2,3\ns1,4,5,6\n", "plain")
    strange = write("id,ENSG01\nt1,1\n", "strange")

    def read(other):
        paths, names = [known, other], {"known_inputs": ["TP53"]}
        if swapped:
            paths, names = paths[::-1], {"known_outputs": ["TP53"]}
        return read_pair(*paths, **names)[0 if swapped else 1]

    check(
        read(plain),
        "plain table (samples",
        {"s2": {"ENSG01": 1, "ENSG02": 2, "ENSG03": 3}, "s1": {"ENSG01": 4, "ENSG02": 5, "ENSG03": 6}},
    )
    with pytest.raises(OrientationError, match=f"{strange}: cannot tell"):
        read(strange)


@pytest.mark.parametrize(
    ("text", "orientation", "message"),
    [
        ("id,x\ny,1\n", "auto", "cannot tell.*rows 'y'; columns 'x'.*orientation: samples_in_rows.*features_in_rows"),
        (f"id,{A}\n{B},1\n", "auto", "barcodes are in the rows and in the columns"),
        (f"id,{A}\n{B},1\n", "samples_in_rows", "barcodes are in the rows and in the columns"),
        (f"id,{A}\nx,1\n", "samples_in_rows", "samples are in columns, but `orientation` is samples_in_rows"),
        (f"id,x\n{A},1\n", "features_in_rows", "samples are in rows, but `orientation` is features_in_rows"),
        ("Hugo_Symbol,P1\nTP53,1\n", "samples_in_rows", "samples are in columns"),
        (f"id,x\n{A},1\n", "rows", "unknown orientation.*'rows'.*auto, samples_in_rows or features_in_rows"),
    ],
)
def test_orientation_errors(write, text, orientation, message):
    path = write(text)
    with pytest.raises(DataError, match=f"(?s){path}.*{message}"):
        read_table(path, orientation=orientation)


# Errors


NO_TABLES = [
    (b"", "the file is empty"),
    (b" \n\n", "the file is empty"),
    (b"# x\n", "empty but for comments"),
    (gzip.compress(b"id,x\na,1\n" * 100)[:-20], "gzip file is damaged or cut off.*download or copy it again"),
    (bz2.compress(b"id,x\na,1\n" * 100)[:-20], "bzip2 file is damaged"),
    (lzma.compress(b"id,x\na,1\n" * 100)[:-20], "xz file is damaged"),
    (zipped(b"id,x\na,1\n", "a")[:-20], "zip file is damaged"),
    (zipped(b"id,x\na,1\n", "a", "b"), "zip archive of 2 files.*'a', 'b'"),
    (zipped(b"", "[Content_Types].xml", "xl/workbook.xml"), "Excel workbook.*save the sheet as TSV or CSV"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "Excel workbook"),
    (bytes(257) + b"ustar" + bytes(300), "tar archive"),
    (b"PAR\0\0", "binary data"),
    (b"PAR1\0\0", "Parquet file.*save the table as TSV or CSV"),
    (b"\n<!DOCTYPE html><title>404</title>", "web page"),
    (b"<HTML><body>", "web page"),
    (b'<?xml version="1.0"?><Error/>', "web page"),
    (b'{"message": "not found"}', "JSON"),
    (b"version https://git-lfs.github.com/spec/v1\noid", "Git LFS pointer.*git lfs pull"),
    (b"x\n1\n2\n", "only one column.*tabs, commas or semicolons"),
    (b"id|x\na|1\n", "only one column"),
    (b"id,x,y\n", "no rows below the header"),
    (b"Hugo_Symbol,Entrez_Gene_Id\nTP53,1\n", "no column of numbers"),
    (b"Hugo_Symbol,P1\n,1\n", "1 samples with 0 named features"),
]


# Packed content holds the time, which may not be part of a test's name.
@pytest.mark.parametrize(("content", "message"), NO_TABLES, ids=[message.split(".*")[0] for _, message in NO_TABLES])
def test_what_is_no_table(write, content, message):
    path = write(content)
    with pytest.raises(DataError, match=f"(?s){path}: (?=.*to fix: ).*{message}"):
        read_table(path)


TIDY = ["id,x,y", f"{A},1,2", f"{B},3,4", f"{C},5,6"]


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (3, f"{B},abc,4", f"line 3, column 'x' \\(row '{B}'\\): text.*'abc'; 1 such cell.*an empty cell, NA, NaN,"),
        (4, f"{C},5,1_000", "line 4, column 'y'.*'1_000'"),
        (4, f"{C},5,1e999", "line 4, column 'y'.*an infinite value.*'1e999'"),
        (4, f"{C},-inf,2", "line 4, column 'x'.*an infinite value"),
        (2, f"{A},1", "line 2 has 2 cells where 3 are expected"),
        (3, f"{B},3,4,5", "line 3 has 4 cells where 3 are expected"),
        (4, f"{C},5", "line 4 has 2 cells where 3 are expected.*it is the last one.*cut off"),
        (2, f'"{A},1,2', "line 2 has 1 cells.*quotation mark"),
        (3, ",3,4", "row 2 below the header has no sample name"),
        (1, "id,x,", "column 3 has numbers but no name"),
    ],
)
def test_wrong_cells(write, line, text, message):
    path = write("\n".join([*TIDY[: line - 1], text, *TIDY[line:], ""]))
    with pytest.raises(DataError, match=f"(?s){path}: (?=.*to fix: ).*{message}"):
        read_table(path)


def test_line_numbers_count_comments_and_blank_lines(write):
    path = write(f'# a\nid,"x\nx"\n\n{A},1\n"{B}\n",oops\n{C},oops\n')
    with pytest.raises(DataError, match=rf"(?s)line 6, column 'x\\nx' \(row '{B}'\).*'oops'; 2 such"):
        read_table(path)


def test_a_column_of_text(write):
    path = write(f"id,sex,x\n{A},f,1\n{B},m,2\n")
    with pytest.raises(DataError, match=r"(?s)line 2, column 'sex'.*2 of them in this column.*delete the column"):
        read_table(path)


def test_points_among_decimal_commas(write):
    path = write(f"id;x;y\n{A};1.234;2\n{B};1,5;2\n")
    with pytest.raises(DataError, match=r"(?s)line 3, column 'x'.*'1,5'.*'\.' as decimal mark"):
        read_table(path)
    path = write(f"id;x;y\n{A};1.234,5;2\n{B};1,5;2\n")
    with pytest.raises(DataError, match=r"(?s)line 2, column 'x'.*'1\.234,5'.*',' as decimal mark"):
        read_table(path)


def test_commas_of_unknown_meaning(write):
    path = write(f"id\tx\n{A}\t12\n{B}\t1,234\n")
    with pytest.raises(DataError, match=f"(?s){path}: line 3: the comma in '1,234'.*decimal points"):
        read_table(path)


def test_a_long_unclosed_quotation(write):
    row = ",".join(["1"] * 100_000)
    header = row.replace("1", "x")
    path = write(f"id,{header}\n" + "".join(f'"{name},{row}\n' for name in (A, B)))
    with pytest.raises(DataError, match=f"{path}: line 2 "):
        read_table(path)


def test_missing_files(write, tmp_path):
    path = write("id,x\n", "HiSeqV2.tsv")
    with pytest.raises(DataError, match=f"(?s)HiSeqv2.tsv: no such file.*did you mean {path}"):
        read_table(tmp_path / "HiSeqv2.tsv")
    with pytest.raises(DataError, match=r"no such file, and no folder .*nowhere"):
        read_table(tmp_path / "nowhere" / "x.tsv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no such file\.\n  to fix: correct the path"):
        read_frame(tmp_path / "empty" / "zzz")


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [("mrnaa.tsv", "mrna.tsv"), ("mrna.tsv.gz", "mrna.tsv"), ("rppa.csv", "rppa.csv.xz"), ("RPPA.tsv", "rppa.tsv.gz")],
)
def test_missing_files_with_a_name_alike(write, tmp_path, wanted, meant):
    for name in ("mrna.tsv", "rppa.csv.xz", "rppa.tsv.gz"):
        write("id,x\n", name)
    with pytest.raises(DataError, match=rf"no such file\.\n  to fix: did you mean {tmp_path / meant}\?$"):
        read_table(tmp_path / wanted)


def test_missing_files_with_no_name_alike(write, tmp_path):
    for name in ("rppa.tsv.gz", ".hidden", "b", "c", "folder/x"):
        write("id,x\n", name)
    with pytest.raises(
        DataError, match=r"no such file\.\n  found: in this folder 'b', 'c', 'rppa.tsv.gz'\n  to fix: corr"
    ):
        read_table(tmp_path / "mrna.tsv.gz")
    for name in "defg":
        write("id,x\n", name)
    with pytest.raises(DataError, match=r"in this folder 'b', 'c', 'd', 'e', 'f' and 2 more\n"):
        read_table(tmp_path / "mrna.tsv.gz")


def test_folders_without_samples(write, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"(?s)empty: not a folder of files with one sample each.*found: no file"):
        read_table(tmp_path / "empty")
    write(f"id,x\n{A},1\n", "x/matrix.csv")
    with pytest.raises(DataError, match=r"(?s)x: not a folder .*'matrix.csv'.*name the file"):
        read_table(tmp_path / "x")
    write(RPPA + "AGID1\t1\t2\told\tATM\t0.5\n", "x/a.tsv")
    write(STAR + "E1\tTP53\tprotein_coding\t1\t1\t1\t2\t9\n", "x/b.tsv")
    with pytest.raises(DataError, match=r"(?s)x: not a folder .*GDC RPPA.*GDC STAR"):
        read_table(tmp_path / "x")
    broken = write(RPPA + "AGID1\t1\t2\told\tATM\thigh\n", "y/a.tsv")
    with pytest.raises(DataError, match=f"(?s){broken}: line 2, column 'protein_expression' .row 'ATM'.*'high'"):
        read_table(tmp_path / "y")


# Headers and quotation marks


@pytest.mark.parametrize("start", ["#IID", "## by PLINK, twice\n#IID", "# one, comment, here\n\n# IID"])
def test_a_header_that_begins_with_a_hash(write, start):
    path = write(f"{start},x,y\n{A},1,2\n{B},3,NA\n")
    check(read_table(path), "plain table (samples", {A: {"x": 1, "y": 2}, B: {"x": 3, "y": np.nan}})
    assert any("taken as the header, although it begins with #" in note for note in notes_of(read_table(path)))
    frame = read_frame(write(f"{start},sex,age\n{A},f,60\n{B},,61\n"))
    assert frame.columns.tolist() == ["IID", "sex", "age"]
    assert frame["sex"].tolist() == ["f", None]


@pytest.mark.parametrize("start", ["#IID", "# made by hand, 2020\n#IID", "# IID"])
def test_a_header_of_text_that_begins_with_a_hash(write, start):
    for text, rows in ((f"{start},sex\na,f\n", 1), (f"{start},sex\na,f\nb,\nc,m\n", 3)):
        frame = read_frame(write(text))
        assert frame.columns.tolist() == ["IID", "sex"]
        assert frame["IID"].tolist() == list("abc")[:rows]


@pytest.mark.parametrize("comment", ["# from the lab, in May", "#f,f", "#,x", "# x", "#a,b,c"])
def test_a_comment_is_no_header_of_text(write, comment):
    assert read_frame(write(f"{comment}\nid,sex\na,f\nb,m\n")).columns.tolist() == ["id", "sex"]


def test_of_several_comments_the_header_has_different_names(write):
    lines = ["#IID,x,y", "#type,num,num", f"{A},1,2", f"{B},3,4", ""]
    table = read_table(write("\n".join(lines)))
    check(table, "plain table (samples", {A: {"x": 1, "y": 2}, B: {"x": 3, "y": 4}})
    taken = "line 1 was taken as the header, although it begins with #"
    assert notes_of(table) == (taken, "1 comment line(s) skipped")
    with pytest.raises(DataError, match="line 2 is no header, but a row of numbers"):
        read_table(write("\n".join(lines[1:]).replace("1,2", "0.5,2")))


@pytest.mark.parametrize("comment", ["# from the lab, in May, again", "#1,1,1", "#", "# x"])
def test_a_comment_is_no_header(write, comment):
    path = write(f"{comment}\nid,x,y\n{A},1,2\n{B},3,4\n")
    check(read_table(path), "plain table (samples", {A: {"x": 1, "y": 2}, B: {"x": 3, "y": 4}})
    assert notes_of(read_table(path)) == ("1 comment line(s) skipped",)


@pytest.mark.parametrize("line", [f"{A},0.5,2", f"{A},2,2", f"{A},NA,2", f"# x\n{A},-1,2", f'{A},"0,5",1e3'])
def test_a_table_without_a_header(write, line):
    path = write(f"{line}\n{B},3,4\n{C},5,6\n")
    number = 2 if line.startswith("#") else 1
    with pytest.raises(DataError, match=f"(?s){path}: line {number} is no header.*'{A}'.*to fix: write the names"):
        read_table(path)


def test_names_that_are_numbers(write):
    """Whole ones, such as those of Entrez or of samples; others, such as masses, below a blank corner."""
    check(read_table(write(f"id,7157,207\n{A},1,2\n")), "plain table", {A: {"7157": 1, "207": 2}})
    for header in (",101.5,99.25", "101.5,99.25"):
        check(read_table(write(f"{header}\n{A},1,2\n")), "plain table", {A: {"101.5": 1, "99.25": 2}})


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"{A},17,4,20,1\n{B},3,9,1,7\n{C},-5,NA,6,0\n", True),
        (f"#id,17,4,20,1\n{A},3,9,1,7\n", False),
        (f",17,4,20,1\n{A},3,9,1,7\n", False),
        (f"id,17,4,20,1\n{A},3.5,9,1,7\n", False),
        (f"id,x1,4,20,1\n{A},3,9,1,7\n", False),
        (f"id,\n{A},3\n{B},4\n", False),
    ],
)
def test_names_that_may_be_a_row_are_told(write, text, asked):
    """Of whole numbers, since a row of others would have some, too."""
    notes = [words(note) for note in read_sheet(write(text)).notes]
    told = "columns are named by numbers, such as 17, 4, 20: is line 1 really a header?"
    assert [note for note in notes if "really" in note] == [told] * asked


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["id,x,y", f'"{A},1,2', f"{B},3,4", f'{C}",5,6'], "2 to 4"),
        (["id,x,y", f'"{A},1,2', f'"{B}",3,4', f'"{C}",5,6'], "2 to 3"),
        (["id,x,y", f"{A},1,2", f'"{B},3,4,', f'{C}",5,6,'], "3 to 4"),
        (["id,x,y", f"{A},1,2", "", f'"{B},3,4', f'{C}",5,6'], "4 to 5"),
        (['id,"x,y', f'{A},1",2', f"{B},3,4"], "1 to 2"),
    ],
)
def test_a_stray_quotation_mark_swallows_no_rows(write, lines, joined):
    path = write("\n".join(lines))
    for read in (read_table, read_frame):
        with pytest.raises(DataError, match=f"(?s){path}: lines {joined} are joined into one row.*to fix: remove"):
            read(path)


# Text and mixed columns


@pytest.mark.parametrize("packing", PACKINGS)
def test_text(write, packing):
    assert read_text(write(PACKINGS[packing]("TP53\r\nβ\r".encode()))) == "TP53\nβ\n"


def test_packed_twice(write):
    assert read_text(write(zipped(gzip.compress(b"a\n"), "a.gz"))) == "a\n"


@pytest.mark.parametrize(("separator", "point"), [(",", "."), ("\t", "."), (";", ","), ("\t", ",")])
def test_frame(write, separator, point):
    lines = [
        ["id", "age", "stage", "code", "score", "flag", "empty", ""],
        ["p 1", "60", "II", "007", f"1{point}5", "True", "NA", ""],
        [" p2", "61", "-", "012", "", "False", "", ""],
        ["3", "62", "IV", "1", "-2e3", "NA", "", ""],
    ]
    frame = read_frame(write("\n".join(map(separator.join, lines))))
    assert frame.columns.tolist() == ["id", "age", "stage", "code", "score", "flag", "empty"]
    assert frame.index.tolist() == [0, 1, 2]
    assert frame["id"].tolist() == ["p 1", "p2", "3"]
    assert frame["age"].dtype == np.int64
    assert frame["stage"].tolist() == ["II", None, "IV"]
    assert frame["code"].tolist() == ["007", "012", "1"]
    np.testing.assert_array_equal(frame["score"], [1.5, np.nan, -2000])
    assert frame["flag"].tolist() == ["True", "False", None]
    assert frame["empty"].isna().all()


def test_frame_with_row_names(write):
    frame = read_frame(write('"x","y"\n"a",1,"u"\n"b",2,"v"\n'))
    assert frame.columns.tolist() == ["", "x", "y"]
    assert frame.iloc[:, 0].tolist() == ["a", "b"]


def test_frame_with_commas_in_text(write):
    frame = read_frame(write("id\tcodes\tage\na\t1,2\t60.5\nb\t1,234\t61\n"))
    assert frame["codes"].tolist() == ["1,2", "1,234"]
    assert frame["age"].tolist() == [60.5, 61]


def test_frame_errors(write):
    for text, message in (("id,x\n", "no rows"), ("id,x\na,1\nb\n", "line 3 has 1 cells where 2"), ("", "empty")):
        path = write(text)
        with pytest.raises(DataError, match=f"{path}: .*{message}"):
            read_frame(path)


# Any table


def names(shape):
    # Spaces at the ends, control characters and line ends do not survive; barcodes and TP53|7157 have a meaning, and
    # a header of numbers may be a row.
    text = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"], exclude_characters="|"), min_size=1, max_size=8)
    composed = text.map(lambda name: unicodedata.normalize("NFC", name))
    plain = composed.filter(lambda name: name == name.strip() and not sheets._numbers([name]))
    return st.lists(plain, min_size=shape, max_size=shape)


@st.composite
def matrices(draw):
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    short = st.decimals(-9999, 9999, places=4).map(float)
    values = draw(arrays(float, (n, d), elements=st.floats(allow_infinity=False) | short | st.just(np.nan)))
    return pd.DataFrame(values, draw(names(n)), draw(names(d)))


@settings(max_examples=150, deadline=None)
@given(
    matrix=matrices(),
    separator=st.sampled_from("\t;,"),
    point=st.sampled_from(".,"),
    missing=st.sampled_from(["", "NA", "NaN", ".", "#N/A"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    packing=st.sampled_from(sorted(PACKINGS)),
    corner=st.sampled_from(["id", "", "sample", None]),
    flip=st.booleans(),
)
def test_any_matrix_is_read_back(
    tmp_path_factory, matrix, separator, point, missing, end, encoding, packing, corner, flip
):
    assume(point == "." or separator != ",")
    # Nothing tells a row of R whose last cell is empty from a row that ends in a separator.
    assume(corner is not None or missing)

    def number(value):
        # Three digits after a decimal comma might be thousands; an exponent settles it.
        return missing if np.isnan(value) else repr(value) if point == "." else f"{value:.17e}".replace(".", ",")

    side = matrix.T if flip else matrix
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    header = side.columns.tolist() if corner is None else [corner, *side.columns]
    writer.writerow(header)
    for name, values in zip(side.index, side.to_numpy(), strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        buffer.write(separator.join([quoted, *map(number, values.tolist())]) + end)
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(PACKINGS[packing](buffer.getvalue().encode(encoding)))
    table = read_table(path, orientation="features_in_rows" if flip else "samples_in_rows")
    pd.testing.assert_frame_equal(table.values, matrix, check_exact=True)
    assert table.values.to_numpy().tobytes() == matrix.to_numpy().tobytes() or np.isnan(matrix.to_numpy()).any()


@settings(max_examples=50, deadline=None)
@given(matrix=matrices(), separator=st.sampled_from("\t,"))
def test_both_ways_of_reading_agree(tmp_path_factory, matrix, separator):
    path = tmp_path_factory.getbasetemp() / "both"
    path.write_text(matrix.to_csv(sep=separator, na_rep="NA", index_label="id", quoting=csv.QUOTE_NONNUMERIC), "utf-8")
    sheet = read_sheet(path)
    columns = list(range(1, len(sheet.header)))
    quick, careful = (read(sheet, tables._Layout(), columns) for read in (tables._quick_cells, tables._careful_cells))
    assert quick[0] == careful[0]
    np.testing.assert_array_equal(quick[1], careful[1])


# Real files


def test_real_files(real_data):
    shapes = {}
    for path in sorted((real_data / "tcga").glob("*/*.tsv.gz")):
        table = read_table(path)
        with gzip.open(path, "rt") as file:
            header = next(file).rstrip("\n").split("\t")
            rows = sum(1 for line in file)
        assert table.layout == "Xena matrix (features × samples)"
        assert table.values.shape == (len(header) - 1, rows)
        assert table.values.index.tolist() == header[1:]
        shapes[path.parent.name, path.name[:4]] = table.values.shape
    assert shapes["KIRC", "mrna"][1] == 174
    assert shapes["KIRC", "rppa"][0] == 478


# Dates


def test_columns_of_dates_are_left_out_and_told(write):
    path = write(f"id\tx\tdrawn\tseen\ty\n{A}\t1\t2020-01-31\tNA\t2\n{B}\t3\t\t31/01/2020 10:30\t4\n")
    table = read_table(path)
    check(table, "plain table", {A: {"x": 1, "y": 2}, B: {"x": 3, "y": 4}})
    assert "2 column(s) of dates left out: drawn, seen" in notes_of(table)[0]


def test_a_date_among_numbers_is_an_error(write):
    for text in (f"id\tx\ty\n{A}\t1\t2020-01-31\n{B}\t3\t4\n", f"id\tx\ty\n{A}\t2020-01-31\t2020-01-31\n"):
        with pytest.raises(DataError, match="'2020-01-31'"):
            read_table(write(text))


@given(
    st.dates(min_value=datetime.date(1000, 1, 1)),
    st.sampled_from(["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M"]),
)
def test_dates_are_dates_and_numbers_are_not(date, form):
    assert sheets.is_date(date.strftime(form))
    assert not sheets.is_date(f"{date.year}.{date.day}")
    assert not sheets.is_date(f"-{date.year}e-{date.day}")


# A user's table is no source's, whatever its corner says


@pytest.mark.parametrize("corner", ["sample", "SampleID"])
def test_a_plain_table_with_the_corner_of_xena(write, corner):
    """Samples of one's own, or names with signs, are a user's: CD4+ is not CD4-."""
    for samples, features, own in (
        (("P1", "P2"), ("TP53", "AKT1"), True),
        ((A, B), ("CD4+", "CD4-"), True),
        ((A, B), ("HLA-A", "Caspase-7_cleavedD198-R-C"), None),
        (("GTEX-1117F-0226", "GTEX-1117F-0426"), ("TP53", "?|100130426"), None),
    ):
        rows = [[corner, *samples], [features[0], "1", "2"], [features[1], "3", "4"]]
        path = write("".join("\t".join(row) + "\n" for row in rows))
        table = read_table(path, orientation="auto" if A in samples else "features_in_rows")
        assert table.own_names is own
        assert table.layout == f"{'plain table' if own else 'Xena matrix'} (features × samples)"
        assert list(table.values) == list(features)
