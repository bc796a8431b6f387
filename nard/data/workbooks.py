"""Excel workbooks and Parquet files as text with tabs, for them to be read like any other table.

Both take packages that not everybody has.
"""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import datetime
from pathlib import Path

from nard.errors import DataError

__all__ = ["is_parquet", "is_workbook", "text_of_parquet", "text_of_workbook", "unpacked_size"]

_INSTEAD = "save the sheet as TSV or CSV"


def is_workbook(content: bytes) -> bool:
    """Whether it is the zip archive that an Excel workbook is."""
    if not content.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def unpacked_size(content: bytes) -> int:
    """Bytes that the parts of a workbook say to have."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sum(part.file_size for part in archive.infolist())


def is_parquet(content: bytes) -> bool:
    return content.startswith(b"PAR1")


def text_of_workbook(path: Path, content: bytes, sheet: str | None) -> tuple[str, list[dict]]:
    """The cells of a sheet, the first with any if none is named, and a note where there are more."""
    try:
        import openpyxl
    except ImportError:
        raise _lacking(path, "an Excel workbook", "openpyxl", "excel", _INSTEAD) from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        texts = {one.title: _text(one.iter_rows(values_only=True)) for one in book.worksheets}
    except Exception as error:  # of many kinds, from XML to zip
        raise DataError(
            f"{path}: an Excel workbook that cannot be read.\n  found: {error}\n  to fix: {_INSTEAD}"
        ) from error
    filled = [title for title, text in texts.items() if text.strip()]
    if sheet is not None and sheet not in texts:
        raise DataError(f"{path}: no sheet {sheet!r}.\n  found: {', '.join(texts)}\n  to fix: name one of these")
    taken = sheet if sheet is not None else next(iter(filled), None)
    others = [title for title in filled if title != taken]
    notes = [{"code": "one sheet", "sheet": taken, "file": path.name, "others": others}] if others and not sheet else []
    return texts.get(taken or "", ""), notes


def text_of_parquet(path: Path, content: bytes) -> str:
    """The columns of a Parquet file, the index of a data frame first."""
    try:
        from pyarrow import csv as arrow_csv
        from pyarrow import parquet
    except ImportError:
        raise _lacking(path, "a Parquet file", "pyarrow", "parquet", "save the table as TSV or CSV") from None
    sink = io.BytesIO()
    try:
        table = parquet.read_table(io.BytesIO(content))
        index = [
            name for name in (table.schema.pandas_metadata or {}).get("index_columns", ()) if isinstance(name, str)
        ]
        table = table.select([*index, *(name for name in table.column_names if name not in index)])
        for i, field in enumerate(table.schema):
            if hasattr(field.type, "value_type") and hasattr(field.type, "index_type"):  # categories
                table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
        table = table.rename_columns(["" if name.startswith("__index_level") else name for name in table.column_names])
        arrow_csv.write_csv(table, sink, arrow_csv.WriteOptions(delimiter="\t", quoting_style="needed"))
    except Exception as error:
        raise DataError(
            f"{path}: a Parquet file that cannot be read as a table.\n  found: {error}\n"
            "  to fix: save the table as TSV or CSV"
        ) from error
    return sink.getvalue().decode()


def _text(rows) -> str:
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter="\t", lineterminator="\n")
    for row in rows:
        if any(cell is not None for cell in row):
            writer.writerow([_cell(cell) for cell in row])
    return sink.getvalue()


def _cell(cell) -> str:
    if cell is None:
        return ""
    return cell.isoformat(" ") if isinstance(cell, datetime) else str(cell)


def _lacking(path: Path, what: str, package: str, extra: str, instead: str) -> DataError:
    return DataError(
        f"{path}: {what}, which takes the package {package} to read.\n"
        f"  to fix: pip install {package} (it comes with 'nard[{extra}]'), or {instead}"
    )
