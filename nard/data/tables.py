"""Tables of measurements as they come from their sources, told apart by what is in the file, never by its name.

A file is unpacked, decoded and split into a sheet of lines; its header tells the layout; the layout tells which cells
are names and which are numbers; barcodes, the layout or the caller tell whether the samples are in rows or in columns.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import math
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from statistics import mode

import numpy as np
import pandas as pd

from nard.data.errors import DataError
from nard.data.names import antibody_key, barcode, gene_key, is_barcode, nearest

__all__ = ["Table", "read_frame", "read_table", "read_text"]

_MISSING = ("", "NA", "NaN", "nan", "N/A", "null", "NULL", ".", "-", "None", "#N/A")
_SEPARATORS = "\t;, "
_SNIFFED_LINES = 12
_SNIFFED_BYTES = 4096
# So long are the numbers that the fast parser of pandas rounds as Python does.
_EXACT_DIGITS = 15

_PACKED = {
    "zip": (b"PK\x03\x04", b"PK\x05\x06"),
    "gzip": (b"\x1f\x8b",),
    "bzip2": tuple(b"BZh%d1AY&SY" % level for level in range(1, 10)),
    "xz": (b"\xfd7zXZ\x00",),
}
_DAMAGE = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
_AGAIN = "download or copy it again"
# What downloads save in place of a table, by how the text begins.
_NO_TABLES = (
    (("<!doctype", "<html", "<?xml"), "a web page, most likely an error message of the server", _AGAIN),
    (("{",), "JSON, most likely an error message of the server", _AGAIN),
    (("version https://git-lfs",), "a Git LFS pointer", "run `git lfs pull` where it came from"),
)

_XENA = {"sample", "Sample_description", "SampleID"}
_CBIOPORTAL = ("Hugo_Symbol", "Entrez_Gene_Id")
_CANCER = {"cancertype", "tumortype"}
_DESCRIPTIONS = _CANCER | {"sampletype", "setid", "patientid"}
_FILE_BARCODE = re.compile(r"TCGA([-.])[A-Z0-9]{2}\1[A-Z0-9]{4}(?:\1[A-Z0-9]+)*", re.IGNORECASE)
_FILE_SUFFIX = re.compile(r"(\.rna_seq\.augmented_star_gene_counts)?(\.(gz|bz2|xz|zip|tsv|csv|txt))*$", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Measurements of one file.

    Attributes
    ----------
    values : DataFrame of shape (n_samples, n_features)
        Floats; missing is NaN. Names are those of the file, and may repeat.
    layout : str
        What the file was recognised as.
    notes : tuple of str
        Everything that was left out or changed while reading.
    cancers : Series or None
        Cancer of each sample, where the file tells.
    """

    values: pd.DataFrame
    layout: str
    notes: tuple[str, ...]
    cancers: pd.Series | None = None


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
        The file; plain or packed with gzip, bzip2, xz or zip. Or a folder of GDC files, one per sample.
    orientation : {"auto", "samples_in_rows", "features_in_rows"}, default="auto"
        Needed where neither TCGA barcodes, nor the layout, nor known names tell.
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
    path = Path(path)
    if orientation not in ("auto", "samples_in_rows", "features_in_rows"):
        fix = "set `orientation` to auto, samples_in_rows or features_in_rows"
        raise _error(path, "unknown orientation", fix, found=repr(orientation))
    if path.is_dir():
        return _read_folder(path, orientation)
    sheet = _read_sheet(path)
    return _measurements(sheet, _recognise(sheet), orientation, known_samples, known_features)


def read_frame(path: str | Path) -> pd.DataFrame:
    """Read a table of mixed columns, such as phenotypes or covariates.

    Columns of numbers become numbers; all others stay text, and so do codes with leading zeros. No column becomes the
    index.
    """
    sheet = _read_sheet(Path(path))
    columns = _text_columns(sheet)
    kept = [i for i, name in enumerate(sheet.header) if i == 0 or name or any(columns[i].categories)]
    frame = pd.concat([_column(columns[i], sheet.decimal) for i in kept], axis=1)
    return frame.set_axis([sheet.header[i] for i in kept], axis=1)


def read_text(path: str | Path) -> str:
    """The text of a file, unpacked and decoded, with line ends as ``\\n``."""
    return _decoded(Path(path))[0]


def _error(path: Path, problem: str, fix: str, found: str | None = None, expected: str | None = None) -> DataError:
    parts = {"found": found, "expected": expected, "to fix": fix}
    return DataError(f"{path}: {problem}." + "".join(f"\n  {name}: {part}" for name, part in parts.items() if part))


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# From bytes to text


def _content(path: Path) -> bytes:
    try:
        return _unpacked(path, path.read_bytes())
    except FileNotFoundError as error:
        if not path.parent.is_dir():
            raise _error(path, f"no such file, and no folder {path.parent}", "correct the path") from error
        similar = nearest(path.name, (other.name for other in path.parent.iterdir()))
        fix = f"did you mean {path.with_name(similar)}?" if similar else "correct the path"
        raise _error(path, "no such file", fix) from error
    except OSError as error:
        raise _error(path, "the file cannot be read", "correct its permissions", found=str(error)) from error


def _unpacked(path: Path, content: bytes) -> bytes:
    packing = next((name for name, magic in _PACKED.items() if content.startswith(magic)), None)
    if packing:
        unpack = {"gzip": gzip.decompress, "bzip2": bz2.decompress, "xz": lzma.decompress}.get(packing)
        try:
            return _unpacked(path, unpack(content) if unpack else _unzipped(path, content))
        except DataError:
            raise
        except _DAMAGE as error:
            problem = f"the {packing} file is damaged or cut off"
            raise _error(path, problem, _AGAIN, found=str(error)) from error
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise _error(path, "an Excel workbook", "save the sheet as TSV or CSV")
    if content[257:262] == b"ustar":
        raise _error(path, "a tar archive", "unpack it (tar -xf) and name the file with the table")
    return content


def _unzipped(path: Path, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        if "[Content_Types].xml" in names:
            raise _error(path, "an Excel workbook", "save the sheet as TSV or CSV")
        if len(names) != 1:
            problem = f"a zip archive of {len(names)} files instead of one"
            raise _error(path, problem, "unpack it and name the file with the table", found=_some(names))
        return archive.read(names[0])


def _decoded(path: Path) -> tuple[str, list[str]]:
    """Text and notes."""
    content = _content(path)
    notes = []
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", errors="replace")
        notes.append("the text is encoded as UTF-16")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
            notes.append("the text is not UTF-8 and was read as Latin-1: names with accents may look odd")
    if "\0" in text:
        raise _error(path, "binary data, not a table as text", "save the table as TSV or CSV")
    if not text or text.isspace():
        raise _error(path, "the file is empty", _AGAIN)
    start = text[:100].lstrip().lower()
    for starts, what, fix in _NO_TABLES:
        if start.startswith(starts):
            raise _error(path, f"not a table, but {what}", fix, found=repr(text[:80]))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, notes


# From text to rows of cells


@dataclass(frozen=True)
class _Sheet:
    """Lines of a file; those from ``first`` on are rows with as many cells as ``header``."""

    path: Path
    lines: list[str]
    first: int
    separator: str
    decimal: str
    header: list[str]
    notes: list[str]

    def body(self) -> list[str]:
        """The lines that are not blank; with quotation marks, a row may take several."""
        return [line for line in self.lines[self.first :] if line.strip(f' \t"{self.separator}')]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and stripped cells of every row that is not blank."""
        width = len(self.header)
        reader = _reader(self.lines[self.first :], self.separator)
        last = self.first
        try:
            for cells in reader:
                line, last = last + 1, self.first + reader.line_num
                cells = [cell.strip() for cell in cells]
                if not any(cells):
                    continue
                if len(cells) < width or any(cells[width:]):
                    fix = "correct the line (a quotation mark that is not closed joins lines)"
                    if not any(map(str.strip, self.lines[last:])):
                        fix += f"; it is the last one: if the file was cut off, {_AGAIN}"
                    problem = f"line {line} has {len(cells)} cells where {width} are expected, as in the header"
                    raise _error(self.path, problem, fix, found=repr(self.separator.join(cells)[:80]))
                yield line, cells[:width]
        except csv.Error as error:
            problem = f"line {last + 1} cannot be split into cells"
            raise _error(self.path, problem, "close its quotation mark", found=str(error)) from error


def _reader(lines: Iterable[str], separator: str):
    return csv.reader((line + "\n" for line in lines), delimiter=separator)


def _read_sheet(path: Path) -> _Sheet:
    text, notes = _decoded(path)
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    if start == len(lines):
        raise _error(path, "the file is empty but for comments", _AGAIN)
    comments = sum(line.startswith("#") for line in lines[:start])
    if comments:
        notes.append(f"{comments} comment line(s) skipped")

    sniffed = lines[start : start + _SNIFFED_LINES]
    separator = max(_SEPARATORS, key=lambda separator: _fit(_first_rows(sniffed, separator)))
    header, *rows = _first_rows(sniffed, separator)
    first = start + 1 + "".join(header).count("\n")
    header = [cell.strip() for cell in header]
    width = mode(map(len, rows)) if rows else len(header)
    while len(header) > width and not header[-1]:
        header.pop()
    while len(header) < width and not any(cells[len(header)].strip() for cells in rows if len(cells) == width):
        header.append("")
    if len(header) == width - 1:
        header.insert(0, "")
        notes.append("the header has one cell less than the rows, whose first cells were taken as their names")
    if len(header) == 1:
        fix = "save the table with tabs, commas or semicolons between the columns"
        raise _error(path, "only one column", fix, found=f"a header that nothing separates: {lines[start][:80]!r}")
    decimal = _decimal(path, lines, first, separator)
    if decimal == ",":
        notes.append("numbers have decimal commas")
    return _Sheet(path, lines, first, separator, decimal, header, notes)


def _first_rows(lines: list[str], separator: str) -> list[list[str]]:
    """Rows that are not blank, as far as they can be split."""
    rows = []
    try:
        for cells in _reader(lines, separator):
            if any(map(str.strip, cells)):
                rows.append(cells)
    except csv.Error:  # a cell of over 100,000 characters: a wrong separator, or a quotation mark that is not closed
        pass
    return rows or [[""]]


def _fit(rows: list[list[str]]) -> tuple[bool, bool, float]:
    """How well a separator suits: several columns, as many in every row, numbers in most cells."""
    header, *rows = rows
    widths = {len(cells) for cells in rows} or {len(header)}
    width = max(widths)
    regular = len(widths) == 1 and len(header) >= width - 1 and not any(header[width:])
    values = [cell.strip() for cells in rows for cell in cells[1:]]
    numeric = sum(any(_number(cell, decimal) is not None for decimal in ".,") for cell in values)
    return width > 1, max(width, len(header)) > 1, regular + numeric / max(len(values), 1)


def _decimal(path: Path, lines: list[str], first: int, separator: str) -> str:
    """The decimal mark; an error where commas may as well separate thousands."""
    if separator == ",":
        return "."
    commas, points = (_marked_numbers(lines, first, separator, mark) for mark in ",.")
    example = next(commas, None)
    if example is None or next(points, None):
        return "."
    for _, (_, whole, fraction, exponent) in chain([example], commas):
        if whole in ("", "0") or len(whole) > 3 or len(fraction) != 3 or exponent:
            return ","
    number, (text, *_) = example
    problem = f"line {number}: the comma in {text!r} may be a decimal comma or separate thousands"
    raise _error(path, problem, "save the table with decimal points and without thousands separators")


def _marked_numbers(lines: list[str], first: int, separator: str, mark: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line number, text, whole part, fraction and exponent of the numbers that have this decimal mark."""
    cell = re.compile(rf'{separator}\s*"?([-+]?(\d*){re.escape(mark)}(\d+)([eE][-+]?\d+)?)"?\s*(?={separator}|$)')
    for number, line in enumerate(islice(lines, first, None), first + 1):
        if mark in line:
            for match in cell.finditer(line):
                yield number, match.groups()


def _number(cell: str, decimal: str) -> float | None:
    """A stripped cell as a number, NaN if it is missing, None if it is text."""
    if cell in _MISSING:
        return math.nan
    if decimal == ",":
        cell = cell.replace(".", "_").replace(",", ".")
    try:
        # Python takes 1_000 for a number, tables do not.
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _text_columns(sheet: _Sheet) -> list[pd.Categorical]:
    separator, width, lines = sheet.separator, len(sheet.header), sheet.body()
    if not lines or any('"' in line or line.count(separator) != width - 1 for line in lines):
        rows = [cells for _, cells in sheet.rows()]
        if not rows:
            raise _no_rows(sheet)
        return [pd.Categorical(column) for column in zip(*rows, strict=True)]
    # As categories, each different text is kept and converted only once.
    content = io.BytesIO("\n".join(lines).encode())
    frame = pd.read_csv(
        content, sep=separator, header=None, dtype="category", na_filter=False, quoting=csv.QUOTE_NONE, low_memory=False
    )
    return [frame[column].array for column in frame]


def _column(cells: pd.Categorical, decimal: str) -> pd.Series:
    texts = [text.strip() for text in cells.categories]
    numbers = [_number(text, decimal) for text in texts]
    if None in numbers or any(re.match(r"[-+]?0\d", text) for text in texts):
        known = np.array([None if text in _MISSING else text for text in texts], dtype=object)
    elif all(re.fullmatch(r"[-+]?\d{1,18}", text) for text in texts):
        known = np.array([int(text) for text in texts])
    else:
        known = np.array(numbers)
    return pd.Series(known[cells.codes])


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
    note: str | None = None


def _recognise(sheet: _Sheet) -> _Layout:
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
        return _Layout("cBioPortal (genes × samples)", False, lead, name, unnamed=_MISSING)
    if header[0] in ("Hybridization REF", "Sample REF"):
        _, (_, *kinds) = next(sheet.rows(), (0, header))
        if all(_number(kind, sheet.decimal) is None for kind in kinds):
            kind = "normalized_count" if "normalized_count" in kinds else kinds[0]
            columns = tuple(i for i, other in enumerate(kinds, 1) if other == kind)
            note = None if len(columns) == len(kinds) else f"of the columns of each sample, {kind!r} was taken"
            return _Layout("Firehose (features × samples)", False, columns=columns, second_header=True, note=note)
    if header[0] == "Composite.Element.REF":
        return _Layout("cBioPortal or Firehose RPPA (antibodies × samples)", False)
    if keys[0] == "sampleid" and keys[1] in _CANCER:
        lead = next((i for i, key in enumerate(keys) if i and key not in _DESCRIPTIONS), len(keys))
        label = "TCPA level 4" if keys[1] == "cancertype" else "GDC PanCanAtlas RPPA"
        note = f"columns that describe the samples left out: {', '.join(header[1:lead])}"
        return _Layout(f"{label} (samples × antibodies)", True, lead, note=note)
    return _Layout()


def _measurements(sheet: _Sheet, layout: _Layout, orientation="auto", known_samples=None, known_features=None) -> Table:
    path, header = sheet.path, sheet.header
    columns = list(layout.columns or range(layout.lead, len(header)))
    if not columns:
        raise _error(path, "no column of numbers", "check that this is the right file", found=_some(header))
    quick = _quick_cells(sheet, layout, columns)
    leads, values = _careful_cells(sheet, layout, columns) if quick is None else quick
    if not leads:
        raise _no_rows(sheet)
    notes = [*sheet.notes, layout.note] if layout.note else list(sheet.notes)

    named = np.array([header[column] != "" for column in columns])
    for i in np.flatnonzero(~named):
        if not np.isnan(values[:, i]).all():
            raise _error(
                path, f"column {columns[i] + 1} has numbers but no name", "name it in the header, or delete it"
            )
    if not named.all():
        values = values[:, named]
        notes.append(f"{(~named).sum()} blank column(s) dropped")
    rows = [lead[layout.name] for lead in leads]
    columns = [_sample_of(path)] if layout.merge else [header[i] for i in np.array(columns)[named]]

    in_rows = _samples_in_rows(path, rows, columns, layout, orientation, known_samples, known_features)
    samples, features = (rows, columns) if in_rows else (columns, rows)
    values = values if in_rows else values.T
    if "" in samples:
        place = f"row {samples.index('') + 1} below the header"
        raise _error(path, f"{place} has no sample name in its first cell", "name the sample, or delete the row")
    features, unnamed = _symbols(features, layout, notes)
    if unnamed.any():
        features, values = features[~unnamed], values[:, ~unnamed]
        notes.append(f"{unnamed.sum()} feature(s) without a name or symbol dropped")
    if not len(samples) or not len(features):
        fix = "check that this is the right file"
        raise _error(path, f"{len(samples)} samples with {len(features)} named features", fix, found=_some(header))

    table = pd.DataFrame(values, samples, features)
    if layout.merge and table.columns.has_duplicates:
        notes.append(f"{table.columns.duplicated().sum()} repeated name(s) joined by the {layout.merge}")
        joined = table.T.groupby(level=0, sort=False)
        table = (joined.mean() if layout.merge == "mean" else joined.sum(min_count=1)).T
    cancers = None
    if layout.samples_in_rows and in_rows:
        cancers = pd.Series([None if lead[1] in _MISSING else lead[1] for lead in leads], samples, dtype=object)
    kind = "Xena matrix" if header[0] in _XENA and not in_rows else "plain table"
    label = layout.label or f"{kind} ({'samples × features' if in_rows else 'features × samples'})"
    return Table(table, label, tuple(notes), cancers)


def _no_rows(sheet: _Sheet) -> DataError:
    return _error(sheet.path, "no rows below the header", _AGAIN, found=_some(sheet.header))


def _symbols(features: list[str], layout: _Layout, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Names of the features, ``TP53|7157`` without its number, and which of them are no names."""
    unnamed = set(layout.unnamed)
    genes = layout.label is None or layout.second_header
    if genes and all(re.fullmatch(r"[^|]+\|\d+", feature) for feature in features):
        features = [feature.split("|")[0].strip() for feature in features]
        unnamed.add("?")
        notes.append("genes are named by their symbols, without the Entrez numbers of the file")
    return np.array(features, dtype=object), np.array([feature in unnamed for feature in features], dtype=bool)


def _quick_cells(sheet: _Sheet, layout: _Layout, columns: list[int]) -> tuple[list[list[str]], np.ndarray] | None:
    """Leading cells and numbers of every row; None where anything is irregular, which takes a closer look."""
    separator, lead, width = sheet.separator, layout.lead, len(sheet.header)
    leads, rests = [], []
    for line in sheet.body():
        try:
            cells = next(_reader([line], separator)) if '"' in line else line.split(separator, lead)
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
            na_values=_MISSING,
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


def _careful_cells(sheet: _Sheet, layout: _Layout, columns: list[int]) -> tuple[list[list[str]], np.ndarray]:
    """The same cell by cell: it forgives spaces and line ends within quotes, and tells the place of what is wrong."""
    leads, values, wrong = [], [], []
    for line, cells in islice(sheet.rows(), int(layout.second_header), None):
        leads.append(cells[: layout.lead])
        values.append([_number(cells[column], sheet.decimal) for column in columns])
        for column, number in zip(columns, values[-1], strict=True):
            if number is None or math.isinf(number):
                wrong.append((line, column, cells))
    if wrong:
        line, column, cells = wrong[0]
        place = f"line {line}, column {sheet.header[column] or column + 1!r} (row {cells[layout.name]!r})"
        text = _number(cells[column], sheet.decimal) is None
        alike = sum(other == column for _, other, _ in wrong)
        raise _error(
            sheet.path,
            f"{place}: {'text where a number is expected' if text else 'an infinite value'}",
            "delete the column, none of its cells is a number" if alike == len(leads) else "correct or empty the cells",
            f"{cells[column]!r}; {len(wrong)} such cell(s) in the file, {alike} of them in this column",
            f"a number with {sheet.decimal!r} as decimal mark, or missing: an empty cell, {', '.join(_MISSING[1:])}",
        )
    return leads, np.array(values, dtype=float).reshape(len(leads), len(columns))


def _samples_in_rows(path, rows, columns, layout: _Layout, orientation, known_samples, known_features) -> bool:
    shown = f"rows {_some(rows)}; columns {_some(columns)}"
    in_rows, in_columns = (any(is_barcode(barcode(name)) for name in names) for names in (rows, columns))
    if in_rows and in_columns:
        fix = "name a table with samples on one side and features on the other"
        raise _error(path, "TCGA barcodes are in the rows and in the columns", fix, found=shown)
    told = in_rows if in_rows or in_columns else layout.samples_in_rows
    if orientation == "auto" and told is None:
        votes = _known(rows, known_samples, barcode) - _known(columns, known_samples, barcode)
        votes += _known(columns, known_features, antibody_key, gene_key)
        votes -= _known(rows, known_features, antibody_key, gene_key)
        told = votes > 0 if votes else None
    if orientation == "auto" and told is None:
        problem = "cannot tell whether the samples are in rows or in columns"
        fix = (
            "set `orientation: samples_in_rows` if every row is a sample, "
            "`orientation: features_in_rows` if every row is a gene or protein"
        )
        raise _error(path, problem, fix, found=shown, expected="TCGA barcodes or known names on one side")
    if orientation == "auto":
        return told
    if told is not None and told != (orientation == "samples_in_rows"):
        problem = f"the samples are in {'rows' if told else 'columns'}, but `orientation` is {orientation}"
        raise _error(path, problem, "set `orientation: auto`", found=shown)
    return orientation == "samples_in_rows"


def _known(names: list[str], known: Collection[str] | None, *spellings) -> int:
    known = {spelling(name) for name in known or () for spelling in spellings}
    return sum(any(spelling(name) in known for spelling in spellings) for name in names)


# Folders with one file per sample


def _sample_of(path: Path) -> str:
    stem = _FILE_SUFFIX.sub("", path.name)
    found = _FILE_BARCODE.search(stem)
    return found.group() if found else stem


def _read_folder(folder: Path, orientation: str) -> Table:
    tables, skipped = [], []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        # The download client of the GDC leaves its own files in folders called logs.
        if not path.is_file() or any(part.startswith(".") or part == "logs" for part in inside.parts):
            continue
        start = _content(path)[:_SNIFFED_BYTES]
        if b"protein_expression" in start or b"tpm_unstranded" in start:
            sheet = _read_sheet(path)
            tables.append(_measurements(sheet, _recognise(sheet), orientation))
        else:
            skipped.append(str(inside))
    layouts = sorted({table.layout for table in tables})
    if len(layouts) != 1:
        found = "; ".join(layouts) or f"{len(skipped)} other file(s) {_some(skipped)}"
        fix = (
            "name the file with the table, or a folder with GDC files of one kind, one per sample (RPPA or STAR counts)"
        )
        raise _error(folder, "not a folder of files with one sample each", fix, found=found)
    notes = list(dict.fromkeys(note for table in tables for note in table.notes))
    if skipped:
        notes.append(f"{len(skipped)} other file(s) in the folder skipped: {_some(skipped)}")
    values = pd.concat([table.values for table in tables])  # noqa: PD011
    return Table(values, layouts[0], tuple(notes))
