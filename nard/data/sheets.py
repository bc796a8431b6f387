"""From text to rows of cells: the separator, the decimal mark and the header are told by the lines themselves."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from statistics import mode

import numpy as np
import pandas as pd

from nard.data.h5 import split_part
from nard.data.unpacking import AGAIN, decoded, file_error, some
from nard.errors import DataError

__all__ = ["MISSING", "Sheet", "as_number", "cell_reader", "is_date", "no_rows", "read_frame", "read_sheet", "retyped"]

MISSING = (
    *("", "NA", "NaN", "nan", "N/A", "null", "NULL", ".", "-", "None", "#N/A"),
    # of clinical tables of TCGA and the GDC
    *("[Not Available]", "[Not Applicable]", "[Not Evaluated]", "[Unknown]", "[Pending]", "[Discrepancy]"),
    *("not reported", "Not Reported", "'--", "--"),
)

_DATE = re.compile(r"(\d{4}[-/]\d\d?[-/]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{4})([ T]\d\d?:\d\d(:\d\d(\.\d+)?)?)?Z?$")
_SEPARATORS = "\t;, "
_SNIFFED_LINES = 12
_SHOWN = 3


@dataclass(frozen=True)
class Sheet:
    """Lines of a file; those from ``first`` on are rows with as many cells as ``header``."""

    path: Path
    lines: list[str]
    first: int
    separator: str
    decimal: str
    header: list[str]
    notes: list[dict]

    def body(self) -> list[str]:
        """The lines that are not blank; with quotation marks, a row may take several."""
        return [line for line in self.lines[self.first :] if line.strip(f' \t"{self.separator}')]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and stripped cells of every row that is not blank."""
        width = len(self.header)
        reader = cell_reader(self.lines[self.first :], self.separator)
        last = self.first
        try:
            for cells in reader:
                line, last = last + 1, self.first + reader.line_num
                cells = [cell.strip() for cell in cells]
                if not any(cells):
                    continue
                _require_one_row(self.path, self.lines, line - 1, last, self.separator, len(cells))
                if len(cells) < width or any(cells[width:]):
                    fix = "correct the line (a quotation mark that is not closed joins lines)"
                    if not any(map(str.strip, self.lines[last:])):
                        fix += f"; it is the last one: if the file was cut off, {AGAIN}"
                    problem = f"line {line} has {len(cells)} cells where {width} are expected, as in the header"
                    raise file_error(self.path, problem, fix, found=repr(self.separator.join(cells)[:80]))
                yield line, cells[:width]
        except csv.Error as error:
            problem = f"line {last + 1} cannot be split into cells"
            raise file_error(self.path, problem, "close its quotation mark", found=str(error)) from error


def read_sheet(path: Path, part: str | None = None) -> Sheet:
    """Read a file, or a sheet of a workbook, and find out how its lines are to be split."""
    text, notes = decoded(path, part)
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    if start == len(lines):
        raise file_error(path, "the file is empty but for comments", AGAIN)
    comments = [i for i, line in enumerate(lines[:start]) if line.startswith("#")]
    sniffed = lines[start : start + _SNIFFED_LINES]
    separator = max(_SEPARATORS, key=lambda separator: _fit(_first_rows(sniffed, separator)))
    header, *rows = _first_rows(sniffed, separator)
    first = start + 1 + "".join(header).count("\n")
    named = next((i for i in reversed(comments) if _names_columns(_commented(lines[i], separator), header, rows)), None)
    if named is None:
        _require_one_row(path, lines, start, first, separator, len(header))
    else:
        comments.remove(named)
        header, rows = _commented(lines[named], separator), [header, *rows]
        start, first = named, start
        notes.append({"code": "commented header", "line": named + 1})
    if comments:
        notes.append({"code": "comments", "count": len(comments)})
    header = [cell.strip() for cell in header]
    width = mode(map(len, rows)) if rows else len(header)
    while len(header) > width and not header[-1]:
        header.pop()
    while len(header) < width and not any(cells[len(header)].strip() for cells in rows if len(cells) == width):
        header.append("")
    if len(header) == width - 1:
        header.insert(0, "")
        notes.append({"code": "short header"})
    if len(header) == 1:
        fix = "save the table with tabs, commas or semicolons between the columns"
        raise file_error(path, "only one column", fix, found=f"a header that nothing separates: {lines[start][:80]!r}")
    _require_names(path, header, start)
    names = [name for name in header[1:] if name]
    if named is None and header[0] and _numbers(names) and _whole(rows):
        notes.append({"code": "numbered columns", "line": start + 1, "names": names[:_SHOWN]})
    decimal = _decimal(path, lines, first, separator)
    if decimal == ",":
        notes.append({"code": "decimal commas"})
    return Sheet(path, lines, first, separator, decimal, header, notes)


def read_frame(path: str | Path) -> pd.DataFrame:
    """Read a table of mixed columns, such as phenotypes or covariates.

    Columns of numbers become numbers; all others stay text, and so do codes with leading zeros. No column becomes the
    index.
    """
    file, part = split_part(path)
    sheet = read_sheet(Path(file), part)
    columns = _text_columns(sheet)
    kept = [i for i, name in enumerate(sheet.header) if i == 0 or name or any(columns[i].categories)]
    frame = pd.concat([_column(columns[i], sheet.decimal) for i in kept], axis=1)
    return frame.set_axis([sheet.header[i] for i in kept], axis=1)


def retyped(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with columns of numbers as numbers, where text came from rows or columns that are gone now."""
    columns = [
        _column(pd.Categorical(column.fillna("").astype(str)), ".").set_axis(column.index)
        if column.dtype == object
        else column
        for _, column in frame.items()
    ]
    return pd.concat(columns, axis=1).set_axis(frame.columns, axis=1)


def as_number(cell: str, decimal: str) -> float | None:
    """A stripped cell as a number, NaN if it is missing, None if it is text."""
    if cell in MISSING:
        return math.nan
    if decimal == ",":
        cell = cell.replace(".", "_").replace(",", ".")
    try:
        # Python takes 1_000 for a number, tables do not.
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def is_date(cell: str) -> bool:
    """Whether a cell holds a date, with or without a time of the day."""
    return _DATE.match(cell) is not None


def cell_reader(lines: Iterable[str], separator: str):
    """Iterator over the rows of the lines, each a list of cells, that counts lines in ``line_num``."""
    return csv.reader((line + "\n" for line in lines), delimiter=separator)


def no_rows(sheet: Sheet) -> DataError:
    """What is wrong with a sheet that ends with its header, for the caller to raise."""
    return file_error(sheet.path, "no rows below the header", AGAIN, found=some(sheet.header))


def _first_rows(lines: list[str], separator: str) -> list[list[str]]:
    """Rows that are not blank, as far as they can be split."""
    rows = []
    try:
        for cells in cell_reader(lines, separator):
            if any(map(str.strip, cells)):
                rows.append(cells)
    except csv.Error:  # a cell of over 100,000 characters: a wrong separator, or a quotation mark that is not closed
        pass
    return rows or [[""]]


def _require_one_row(path: Path, lines: list[str], start: int, end: int, separator: str, width: int) -> None:
    """A cell in quotation marks may hold line ends; but if several of the lines could be rows, a mark is astray."""
    if end - start > 1 and sum(line.count(separator) == width - 1 for line in lines[start:end]) > 1:
        problem = f"lines {start + 1} to {end} are joined into one row by a quotation mark"
        fix = "remove the mark, or close it in its own line"
        raise file_error(path, problem, fix, repr(lines[start][:80]), f"{width} cells in each of these lines")


def _require_names(path: Path, header: list[str], start: int) -> None:
    """A header may name columns by numbers, but then by different whole ones, or it has no name of a row before them.

    Anything else is a row of a table without a header, which would be lost.
    """
    names = [name for name in header[1:] if name]
    numbered = all(map(str.isdigit, names)) and len(set(names)) == len(names)
    if header[0] and _numbers(names) and not numbered:
        fix = "write the names above it; if these are the names, empty the first cell of the line"
        expected = "a name for each column (a line that begins with # is a comment)"
        raise file_error(path, f"line {start + 1} is no header, but a row of numbers", fix, some(header), expected)


def _commented(line: str, separator: str) -> list[str]:
    """The cells of a comment."""
    return _first_rows([line.lstrip("#")], separator)[0]


def _names_columns(comment: list[str], row: list[str], rows: list[list[str]]) -> bool:
    """Whether a comment is the header of the rows below it: as many names, all different, above a row of numbers.

    Where all is text, any row could be the header; the comment then is, if it names every column and is no sentence,
    which has blanks after its commas.
    """
    cells = [cell.strip() for cell in comment]
    names = [cell for cell in cells if cell]
    if len(cells) != len(row) or len(set(names)) < len(names):
        return False
    below = [_numbers(column) for column in zip(*rows, strict=False)]
    if any(below):
        return all(_is_number(cell) for cell, numbers in zip(row, below, strict=False) if numbers)
    return len(names) == len(cells) > 1 and cells[1:] == comment[1:]


def _whole(rows: list[list[str]]) -> bool:
    """Whether there is nothing but whole numbers behind the names of the rows."""
    cells = [cell.strip() for row in rows for cell in row[1:]]
    return all(cell in MISSING or re.fullmatch(r"[-+]?\d+", cell) for cell in cells)


def _numbers(cells: Iterable[str]) -> bool:
    """Whether the cells are numbers or missing, but not all missing."""
    cells = [cell.strip() for cell in cells]
    return all(map(_is_number, cells)) and any(cell not in MISSING for cell in cells)


def _is_number(cell: str) -> bool:
    return any(as_number(cell.strip(), decimal) is not None for decimal in ".,")


def _fit(rows: list[list[str]]) -> tuple[bool, bool, bool, float]:
    """How well a separator suits: no tab in a cell, several columns, as many in every row, numbers in most cells."""
    header, *rows = rows
    whole = not any("\t" in cell.strip() for cells in (header, *rows) for cell in cells)
    widths = {len(cells) for cells in rows} or {len(header)}
    width = max(widths)
    regular = len(widths) == 1 and len(header) >= width - 1 and not any(header[width:])
    values = [cell for cells in rows for cell in cells[1:]]
    numeric = sum(map(_is_number, values))
    return whole, width > 1, max(width, len(header)) > 1, regular + numeric / max(len(values), 1)


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
    raise file_error(path, problem, "save the table with decimal points and without thousands separators")


def _marked_numbers(lines: list[str], first: int, separator: str, mark: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line number, text, whole part, fraction and exponent of the numbers that have this decimal mark."""
    cell = re.compile(rf'{separator}\s*"?([-+]?(\d*){re.escape(mark)}(\d+)([eE][-+]?\d+)?)"?\s*(?={separator}|$)')
    for number, line in enumerate(islice(lines, first, None), first + 1):
        if mark in line:
            for match in cell.finditer(line):
                yield number, match.groups()


def _text_columns(sheet: Sheet) -> list[pd.Categorical]:
    separator, width, lines = sheet.separator, len(sheet.header), sheet.body()
    if not lines or any('"' in line or line.count(separator) != width - 1 for line in lines):
        rows = [cells for _, cells in sheet.rows()]
        if not rows:
            raise no_rows(sheet)
        return [pd.Categorical(column) for column in zip(*rows, strict=True)]
    # As categories, each different text is kept and converted only once.
    content = io.BytesIO("\n".join(lines).encode())
    frame = pd.read_csv(
        content, sep=separator, header=None, dtype="category", na_filter=False, quoting=csv.QUOTE_NONE, low_memory=False
    )
    return [frame[column].array for column in frame]


def _column(cells: pd.Categorical, decimal: str) -> pd.Series:
    texts = [text.strip() for text in cells.categories]
    numbers = [as_number(text, decimal) for text in texts]
    if None in numbers or any(re.match(r"[-+]?0\d", text) for text in texts):
        known = np.array([None if text in MISSING else text for text in texts], dtype=object)
    elif all(re.fullmatch(r"[-+]?\d{1,18}", text) for text in texts):
        known = np.array([int(text) for text in texts])
    else:
        known = np.array(numbers)
    return pd.Series(known[cells.codes])
