"""Files that appear whole or not at all, and with the same bytes for the same content."""

from __future__ import annotations

import gzip
import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nard.runs import require_current

__all__ = ["atomic", "read_json", "read_tsv", "write_json", "write_npz", "write_text", "write_tsv"]

_DIGITS = "%.8g"
# Columns of names, which stay text even if they look like numbers.
_NAMES = dict.fromkeys(
    (
        *("sample", "feature", "source", "target", "name", "id", "label", "genes", "sites", "cohort"),
        *("stand_ins", "untested"),
    ),
    str,
)
# Of these, lists that may be empty, which is not missing.
_LISTS = ("stand_ins", "genes", "sites", "untested")


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path``, moved there when the block ends well.

    The suffixes are kept, since writers of figures look at them, and the name is new each time: a job that outlived
    its killed run and the job that replaces it may write at once. Nothing is moved if another run has taken over.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".part-", suffix="".join(path.suffixes[-2:]), dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        require_current()
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def write_text(text: str, path: str | Path) -> None:
    with atomic(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(value: Mapping, path: str | Path) -> None:
    write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", path)


def read_json(path: str | Path) -> dict:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write_tsv(table: pd.DataFrame, path: str | Path, *, index: bool = False) -> None:
    """Tab-separated, eight digits, nothing where a value is missing; gzipped, without a time stamp, if so named."""
    text = io.StringIO()
    table.to_csv(text, sep="\t", index=index, float_format=_DIGITS, lineterminator="\n")
    content = text.getvalue().encode("utf-8")
    if str(path).endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    with atomic(path) as part:
        part.write_bytes(content)


def read_tsv(path: str | Path, **options) -> pd.DataFrame:
    """A table written by :func:`write_tsv`. Sodium is called NA, so only an empty cell is missing."""
    table = pd.read_csv(path, sep="\t", keep_default_na=False, na_values=[""], **{"dtype": _NAMES, **options})
    for name in _LISTS:
        if name in table:
            table[name] = table[name].fillna("")
    if table.empty and "selected" in table:
        # Without rows nothing shows that these are truth values.
        table["selected"] = table["selected"].astype(bool)
    return table


def write_npz(path: str | Path, **arrays: Any) -> None:
    with atomic(path) as part, part.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
