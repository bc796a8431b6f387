"""Tables of measurements as they come from their sources, told apart by what is in the file, never by its name.

The header of a sheet tells the layout; the layout tells which cells are names and which are numbers; barcodes, the
layout or the caller tell whether the samples are in rows or in columns.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from nard.data.h5 import is_hdf5, read_h5, split_part
from nard.data.names import antibody_key, barcode, gene_key, gene_name, is_barcode, is_identifier
from nard.data.sheets import MISSING, Sheet, as_number, cell_reader, is_date, no_rows, read_sheet
from nard.data.unpacking import file_error, read_bytes, require_file, some, stem
from nard.errors import DataError

__all__ = ["OrientationError", "Table", "read_pair", "read_table"]

_SNIFFED_BYTES = 4096
# So long are the numbers that the fast parser of pandas rounds as Python does.
_EXACT_DIGITS = 15

_XENA = {"sample", "Sample_description", "SampleID"}
_CBIOPORTAL = ("Hugo_Symbol", "Entrez_Gene_Id")
_CANCER = {"cancertype", "tumortype"}
_DESCRIPTIONS = _CANCER | {"sampletype", "setid", "patientid"}
_FILE_BARCODE = re.compile(r"TCGA([-.])[A-Z0-9]{2}\1[A-Z0-9]{4}(?:\1[A-Z0-9]+)*", re.IGNORECASE)
# Samples of the studies on Xena's hubs, and what no gene or antibody of theirs has in its name.
_CODED = re.compile(r"(TCGA|TARGET|GTEX)[-.]", re.IGNORECASE)
_OWN_SIGN = re.compile(r"[+%<>=*]|-$")
_STAR_SUFFIX = re.compile(r"\.rna_seq\.augmented_star_gene_counts$", re.IGNORECASE)


# Of a numbered series so many may be known by chance.
_BY_CHANCE = 0.1
_NUMBERED = re.compile(r"(.*?)\d+", re.DOTALL)
# Spreadsheets skip blanks before the sign.
_FORMULA = re.compile(r"\s*[=+\-@]\s*[A-Za-z]")


class OrientationError(DataError):
    """Nothing tells whether the samples of a table are in its rows or in its columns."""


@dataclass(frozen=True)
class Table:
    """Measurements of one file.

    Attributes
    ----------
    values : DataFrame of shape (n_samples, n_features)
        Floats; missing is NaN. Names are those of the file, and may repeat.
    layout : str
        What the file was recognised as.
    notes : tuple of dict
        Everything that was left out or changed while reading, as codes with numbers and names (:mod:`nard.data.words`).
    cancers : Series or None
        Cancer of each sample, where the file tells.
    own_names : bool or None
        Whether features are named as somebody liked, not by one of the sources whose spellings are known. None: it has
        the corner and the samples of such a source, which a user's own table may have, too.
    """

    values: pd.DataFrame
    layout: str
    notes: tuple[dict, ...]
    cancers: pd.Series | None = None
    own_names: bool | None = False


def read_table(
    path: str | Path,
    *,
    orientation: str = "auto",
    known_samples: Collection[str] | None = None,
    known_features: Collection[str] | None = None,
) -> Table:
    """Read a table of measurements, or a folder with one file per sample.

    Parameters
    ----------
    path : str or Path
        The file; plain or packed with gzip, bzip2, xz or zip. Or a folder of GDC files, one per sample. Or an AnnData
        or MuData file, with a layer or modality behind ``#`` (see :mod:`nard.data.h5`). Or an Excel workbook, with the
        name of a sheet behind ``#``, or a Parquet file (see :mod:`nard.data.workbooks`).
    orientation : {"auto", "samples_in_rows", "features_in_rows"}, default="auto"
        Needed where neither TCGA barcodes, nor the layout, nor known names tell. Those of AnnData are always in rows.
    known_samples, known_features : collection of str, optional
        Names that tell samples from features where barcodes do not.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        With the file, the place, what was found there, what was expected and how to fix it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from nard.data.tables import read_table
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "HiSeqV2")
    ...     _ = file.write_text("sample\\tTCGA-AA-3521-01\\tTCGA-AA-3522-01\\nTP53\\t9.5\\tNA\\n")
    ...     table = read_table(file)
    >>> table.layout
    'Xena matrix (features × samples)'
    >>> table.values
                     TP53
    TCGA-AA-3521-01   9.5
    TCGA-AA-3522-01   NaN
    """
    name, part = split_part(path)
    path = Path(name)
    if orientation not in ("auto", "samples_in_rows", "features_in_rows"):
        fix = "set `orientation` to auto, samples_in_rows or features_in_rows"
        raise file_error(path, "unknown orientation", fix, found=repr(orientation))
    if os.path.isdir(path):  # unlike Path.is_dir, it raises nothing
        return _read_folder(path, orientation)
    require_file(path)
    if is_hdf5(path):
        values, label = read_h5(path, part)
        notes = _formulas([*values.index, *values.columns])
        return Table(values, f"{label} (samples × features)", notes, own_names=True)
    sheet = read_sheet(path, part)
    return _measurements(sheet, _recognise(sheet), orientation, known_samples, known_features)


def read_pair(
    inputs: str | Path,
    outputs: str | Path,
    *,
    orientation: str = "auto",
    known_inputs: Collection[str] | None = None,
    known_outputs: Collection[str] | None = None,
) -> tuple[Table, Table]:
    """Two tables of the same samples. Where nothing else tells what the samples are, it is the names they share."""
    paths, known = (inputs, outputs), (known_inputs, known_outputs)
    tables: dict[int, Table] = {}
    unsure = {}
    for i, (path, features) in enumerate(zip(paths, known, strict=True)):
        try:
            tables[i] = read_table(path, orientation=orientation, known_features=features)
        except OrientationError as error:
            unsure[i] = error
    if len(unsure) == 2:
        ways = ("samples_in_rows", "features_in_rows")
        either = [[set(read_table(path, orientation=way).values.index) for way in ways] for path in paths]
        common = [(a, b) for a in range(2) for b in range(2) if either[0][a] & either[1][b]]
        if len(common) != 1:
            raise unsure[0]
        tables = {i: read_table(paths[i], orientation=ways[common[0][i]]) for i in unsure}
        return tables[0], tables[1]
    for i in unsure:
        tables[i] = read_table(paths[i], known_samples=tables[1 - i].values.index)
    return tables[0], tables[1]


# From rows to a table


@dataclass(frozen=True)
class _Layout:
    """How a sheet is to be read: its first ``lead`` columns describe the row, column ``name`` among them names it."""

    label: str | None = None
    samples_in_rows: bool | None = None
    lead: int = 1
    name: int = 0
    columns: tuple[int, ...] | None = None  # those to take, if not all after the leading ones
    unnamed: tuple[str, ...] = ("",)
    second_header: bool = False
    merge: str | None = None  # how repeated names are joined, in files of one sample
    note: dict | None = None


def _recognise(sheet: Sheet) -> _Layout:
    header = sheet.header
    keys = [re.sub("[^a-z]", "", cell.lower()) for cell in header]
    if {"AGID", "peptide_target", "protein_expression"} <= set(header):
        name, value = header.index("peptide_target"), header.index("protein_expression")
        return _Layout("GDC RPPA, one file per sample", False, name + 1, name, (value,), merge="mean")
    if {"gene_name", "tpm_unstranded"} <= set(header):
        name, value = header.index("gene_name"), header.index("tpm_unstranded")
        return _Layout("GDC STAR counts (TPM), one file per sample", False, name + 1, name, (value,), merge="sum")
    if header[0] in _CBIOPORTAL:
        lead = 2 if header[1] in _CBIOPORTAL else 1
        name = header.index("Hugo_Symbol") if "Hugo_Symbol" in header else 0
        return _Layout("cBioPortal (genes × samples)", False, lead, name, unnamed=MISSING)
    if header[0] in ("Hybridization REF", "Sample REF"):
        _, (_, *kinds) = next(sheet.rows(), (0, header))
        if all(as_number(kind, sheet.decimal) is None for kind in kinds):
            kind = "normalized_count" if "normalized_count" in kinds else kinds[0]
            columns = tuple(i for i, other in enumerate(kinds, 1) if other == kind)
            note: dict | None = None if len(columns) == len(kinds) else {"code": "one of several", "column": kind}
            return _Layout("Firehose (features × samples)", False, columns=columns, second_header=True, note=note)
    if header[0] == "Composite.Element.REF":
        return _Layout("cBioPortal or Firehose RPPA (antibodies × samples)", False)
    if keys[0] == "sampleid" and keys[1] in _CANCER:
        lead = next((i for i, key in enumerate(keys) if i and key not in _DESCRIPTIONS), len(keys))
        label = "TCPA level 4" if keys[1] == "cancertype" else "GDC PanCanAtlas RPPA"
        note = {"code": "descriptions", "columns": header[1:lead]}
        return _Layout(f"{label} (samples × antibodies)", True, lead, note=note)
    return _Layout()


def _measurements(sheet: Sheet, layout: _Layout, orientation="auto", known_samples=None, known_features=None) -> Table:
    path, header = sheet.path, sheet.header
    columns = list(layout.columns or range(layout.lead, len(header)))
    if not columns:
        raise file_error(path, "no column of numbers", "check that this is the right file", found=some(header))
    notes = [*sheet.notes, layout.note] if layout.note else list(sheet.notes)
    quick = _quick_cells(sheet, layout, columns)
    if quick is None and (dates := _date_columns(sheet, columns)):
        columns = [column for column in columns if column not in dates]
        notes.append({"code": "date columns", "count": len(dates), "columns": [header[column] for column in dates]})
        quick = _quick_cells(sheet, layout, columns)
    leads, values = _careful_cells(sheet, layout, columns) if quick is None else quick
    if not leads:
        raise no_rows(sheet)

    named = np.array([header[column] != "" for column in columns])
    for i in np.flatnonzero(~named):
        if not np.isnan(values[:, i]).all():
            raise file_error(
                path, f"column {columns[i] + 1} has numbers but no name", "name it in the header, or delete it"
            )
    if not named.all():
        values = values[:, named]
        notes.append({"code": "blank columns", "count": int((~named).sum())})
    rows = [lead[layout.name] for lead in leads]
    across = [_sample_of(path)] if layout.merge else [header[i] for i in np.array(columns)[named]]

    in_rows = _samples_in_rows(path, rows, across, layout, orientation, known_samples, known_features)
    samples, features = (rows, across) if in_rows else (across, rows)
    values = values if in_rows else values.T
    if "" in samples:
        place = f"row {samples.index('') + 1} below the header"
        raise file_error(path, f"{place} has no sample name in its first cell", "name the sample, or delete the row")
    symbols, unnamed = _symbols(features, layout, notes)
    if unnamed.any():
        symbols, values = symbols[~unnamed], values[:, ~unnamed]
        notes.append({"code": "unnamed", "count": int(unnamed.sum())})
    if not len(samples) or not len(symbols):
        fix = "check that this is the right file"
        raise file_error(path, f"{len(samples)} samples with {len(symbols)} named features", fix, found=some(header))

    table = pd.DataFrame(values, samples, symbols)
    if layout.merge and table.columns.has_duplicates:
        twice = int(table.columns.duplicated().sum())
        notes.append({"code": "joined", "count": twice, "how": layout.merge})
        joined = table.T.groupby(level=0, sort=False)
        table = (joined.mean() if layout.merge == "mean" else joined.sum(min_count=1)).T
    cancers = None
    if layout.samples_in_rows and in_rows:
        cancers = pd.Series([None if lead[1] in MISSING else lead[1] for lead in leads], samples, dtype=object)
    xena = header[0] in _XENA and not in_rows and _of_a_source(samples, symbols)
    kind = "Xena matrix" if xena else "plain table"
    label = layout.label or f"{kind} ({'samples × features' if in_rows else 'features × samples'})"
    notes += _formulas([*table.index, *table.columns])
    return Table(table, label, tuple(notes), cancers, own_names=None if xena else layout.label is None)


def _of_a_source(samples: list[str], features: np.ndarray) -> bool:
    """Whether samples are named by barcodes and features without signs, as Xena does and a user's table may not."""
    coded = sum(_CODED.match(name) is not None for name in samples)
    return coded > len(samples) / 2 and not any(_OWN_SIGN.search(name) for name in features)


def _symbols(features: list[str], layout: _Layout, notes: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """Names of the features, ``TP53|7157`` without its number, and which of them are no names.

    Firehose has some symbols twice; anywhere else a number that tells features apart is part of their names.
    """
    unnamed = set(layout.unnamed)
    genes = layout.label is None or layout.second_header
    if genes and all(re.fullmatch(r"[^|]+\|\d+", feature) for feature in features):
        symbols = list(map(gene_name, features))
        named = [symbol for symbol in symbols if symbol != "?"]
        if layout.second_header or len(set(named)) == len(named):
            features = symbols
            unnamed.add("?")
            notes.append({"code": "symbols"})
    return np.array(features, dtype=object), np.array([feature in unnamed for feature in features], dtype=bool)


def _formulas(names: list[str]) -> tuple[dict, ...]:
    """A note on names that a spreadsheet runs; they are kept, since other files and programs know them by these."""
    found = [name for name in names if _FORMULA.match(name)]
    return ({"code": "formulas", "count": len(found), "examples": [name[:40] for name in found[:3]]},) if found else ()


def _quick_cells(sheet: Sheet, layout: _Layout, columns: list[int]) -> tuple[list[list[str]], np.ndarray] | None:
    """Leading cells and numbers of every row; None where anything is irregular, which takes a closer look."""
    separator, lead, width = sheet.separator, layout.lead, len(sheet.header)
    leads, rests = [], []
    for line in sheet.body():
        try:
            cells = next(cell_reader([line], separator)) if '"' in line else line.split(separator, lead)
        except csv.Error:
            return None
        rest = separator.join(cells[lead:])
        if len(cells) <= lead or rest.count(separator) != width - lead - 1:
            return None
        rests.append(rest)
        leads.append([cell.strip() for cell in cells[:lead]])
    skipped = int(layout.second_header)
    content = "\n".join([*rests[skipped:], ""]).encode()
    try:
        values = pd.read_csv(
            io.BytesIO(content),
            sep=separator,
            header=None,
            usecols=[column - lead for column in columns],
            dtype=float,
            na_values=MISSING,
            keep_default_na=False,
            skip_blank_lines=False,
            quoting=csv.QUOTE_NONE,
            decimal=sheet.decimal,
            float_precision="high" if _is_short(content, separator) else "round_trip",
            low_memory=False,
        ).to_numpy()
    except ValueError:
        return None
    return None if len(values) != len(rests) - skipped or np.isinf(values).any() else (leads[skipped:], values)


def _is_short(content: bytes, separator: str) -> bool:
    """Whether no number has an exponent or many digits: then the fast parser is exact."""
    marks = bytearray(b"x" * 256)
    marks[ord(separator)] = marks[ord("\n")] = ord(" ")
    exponents = b"e" in content or b"E" in content
    return not exponents and b"x" * (_EXACT_DIGITS + 1) not in content.translate(marks)


def _date_columns(sheet: Sheet, columns: list[int]) -> list[int]:
    """The columns with nothing but dates in them, if there are others beside."""
    found, left = set(), set(columns)
    for _, cells in sheet.rows():
        for column in list(left):
            if is_date(cells[column]):
                found.add(column)
            elif cells[column] not in MISSING:
                left.discard(column)
        if not left:
            return []
    dates = sorted(left & found)
    return dates if len(dates) < len(columns) else []


def _careful_cells(sheet: Sheet, layout: _Layout, columns: list[int]) -> tuple[list[list[str]], np.ndarray]:
    """The same cell by cell: it forgives spaces and line ends within quotes, and tells the place of what is wrong."""
    leads, values, wrong = [], [], []
    for line, cells in islice(sheet.rows(), int(layout.second_header), None):
        leads.append(cells[: layout.lead])
        values.append([as_number(cells[column], sheet.decimal) for column in columns])
        for column, number in zip(columns, values[-1], strict=True):
            if number is None or math.isinf(number):
                wrong.append((line, column, cells))
    if wrong:
        line, column, cells = wrong[0]
        place = f"line {line}, column {sheet.header[column] or column + 1!r} (row {cells[layout.name]!r})"
        text = as_number(cells[column], sheet.decimal) is None
        alike = sum(other == column for _, other, _ in wrong)
        raise file_error(
            sheet.path,
            f"{place}: {'text where a number is expected' if text else 'an infinite value'}",
            "delete the column, none of its cells is a number" if alike == len(leads) else "correct or empty the cells",
            f"{cells[column]!r}; {len(wrong)} such cell(s) in the file, {alike} of them in this column",
            f"a number with {sheet.decimal!r} as decimal mark, or missing: an empty cell, {', '.join(MISSING[1:])}",
        )
    return leads, np.array(values, dtype=float).reshape(len(leads), len(columns))


def _samples_in_rows(path, rows, columns, layout: _Layout, orientation, known_samples, known_features) -> bool:
    shown = f"rows {some(rows)}; columns {some(columns)}"
    in_rows, in_columns = (any(is_barcode(barcode(name)) for name in names) for names in (rows, columns))
    if in_rows and in_columns:
        fix = "name a table with samples on one side and features on the other"
        raise file_error(path, "TCGA barcodes are in the rows and in the columns", fix, found=shown)
    told = in_rows if in_rows or in_columns else layout.samples_in_rows
    if orientation == "auto" and told is None:
        votes = _known(rows, known_samples, barcode) - _known(columns, known_samples, barcode)
        votes += _known_features(columns, known_features)
        votes -= _known_features(rows, known_features)
        votes += sum(map(is_identifier, columns)) - sum(map(is_identifier, rows))
        told = votes > 0 if votes else None
    if orientation == "auto" and told is None:
        problem = "cannot tell whether the samples are in rows or in columns"
        fix = (
            "set `orientation: samples_in_rows` if every row is a sample, "
            "`orientation: features_in_rows` if every row is a gene or protein"
        )
        expected = "TCGA barcodes or known names on one side"
        raise OrientationError(str(file_error(path, problem, fix, found=shown, expected=expected)))
    if orientation == "auto":
        return bool(told)
    if told is not None and told != (orientation == "samples_in_rows"):
        problem = f"the samples are in {'rows' if told else 'columns'}, but `orientation` is {orientation}"
        raise file_error(path, problem, "set `orientation: auto`", found=shown)
    return orientation == "samples_in_rows"


def _known(names: list[str], known: Collection[str] | None, *spellings) -> int:
    known = {spelling(name) for name in (() if known is None else known) for spelling in spellings}
    return sum(any(spelling(name) in known for spelling in spellings) for name in names)


def _known_features(names: list[str], known: Collection[str] | None) -> int:
    """How many are known; a few in a numbered series are so by chance, such as P53 among P1, P2, …"""
    count = _known(names, known, antibody_key, gene_key)
    return 0 if count < _BY_CHANCE * len(names) and _is_series(names) else count


def _is_series(names: list[str]) -> bool:
    """Whether all names are one word with different numbers."""
    found = [_NUMBERED.fullmatch(name) for name in names]
    return len(names) > 1 and all(found) and len({one[1] for one in found if one}) == 1


# Folders with one file per sample


def _sample_of(path: Path) -> str:
    name = _STAR_SUFFIX.sub("", stem(path))
    found = _FILE_BARCODE.search(name)
    return found.group() if found else name


def folder_files(folder: Path) -> Iterator[Path]:
    """The files that are looked at in a folder with one file per sample."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        # The download client of the GDC leaves its own files in folders called logs.
        if path.is_file() and not any(part.startswith(".") or part == "logs" for part in parts):
            yield path


def _read_folder(folder: Path, orientation: str) -> Table:
    tables, skipped = [], []
    for path in folder_files(folder):
        start = read_bytes(path)[:_SNIFFED_BYTES]
        if b"protein_expression" in start or b"tpm_unstranded" in start:
            sheet = read_sheet(path)
            tables.append(_measurements(sheet, _recognise(sheet), orientation))
        else:
            skipped.append(str(path.relative_to(folder)))
    layouts = sorted({table.layout for table in tables})
    if len(layouts) != 1:
        found = "; ".join(layouts) or (f"{len(skipped)} other file(s) {some(skipped)}" if skipped else "no file")
        fix = (
            "name the file with the table, or a folder with GDC files of one kind, one per sample (RPPA or STAR counts)"
        )
        raise file_error(folder, "not a folder of files with one sample each", fix, found=found)
    notes = []
    for note in (note for table in tables for note in table.notes):
        if note not in notes:
            notes.append(note)
    if skipped:
        notes.append({"code": "other files", "count": len(skipped), "files": skipped[:3]})
    values = pd.concat([table.values for table in tables])
    return Table(values, layouts[0], tuple(notes))
