"""A table of covariates: which of its columns names the samples, and whether they are in its columns instead."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from nard.data.names import barcode, is_barcode, patient
from nard.data.samples import alike_words
from nard.data.sheets import read_frame, retyped
from nard.data.unpacking import file_error, some

__all__ = ["person", "read_covariates"]


def person(name: str) -> str:
    """Whom a sample is of: the patient of a TCGA barcode, otherwise its own name."""
    name = barcode(str(name))
    return patient(name) if is_barcode(name) else name


def read_covariates(path: str, samples: Collection[str]) -> tuple[pd.DataFrame, list[dict]]:
    """The rows of these samples with persons as index, and notes on how they were found.

    Persons are named by the column that names most of the samples, the first one where several do. Where the header
    names more of them, the table is turned.
    """
    table = read_frame(path)
    wanted = set(map(person, samples))
    hits = [len(wanted & set(map(person, column.dropna().unique()))) for _, column in table.items()]
    across = len(wanted & set(map(person, table.columns[1:])))
    notes = []
    if across > max(hits):
        table = _turned(table)
        notes.append({"code": "turned", "side": "covariates", "columns": list(map(str, table.columns[1:]))})
        best = 0
    elif not max(hits):
        cells = [list(map(str, column.dropna().unique())) for _, column in table.items()]
        # The column that may name them is told, numbers of rows often come before it.
        guesses = [(words, column) for column in cells if (words := alike_words(column, samples))]
        guesses.sort(key=lambda guess: all(cell.isdigit() for cell in guess[1]))
        words, likely = guesses[0] if guesses else ("", cells[0])
        raise file_error(
            Path(path),
            "no column, and not the header, names a sample of the cohort",
            "name the samples in a column as in the files of inputs and outputs",
            found=f"in its {'first ' if likely is cells[0] else ''}column {some(likely)}"
            + (f"\n{words.rstrip()}" if words else ""),
            expected=f"{some(samples)}, or their patients",
        )
    else:
        best = hits.index(max(hits))
    if best:
        notes.append({"code": "named by", "side": "covariates", "column": str(table.columns[best])})
    named = table.iloc[:, best].map(person, na_action="ignore")
    mine = named.isin(wanted).to_numpy()
    columns = [i for i in range(table.shape[1]) if i != best]
    # Clinical tables may have further headers below the first, with which a column of numbers looks like text.
    return retyped(table.iloc[mine, columns].set_axis(named[mine], axis=0)), notes


def _turned(table: pd.DataFrame) -> pd.DataFrame:
    """Rows for columns; what named the rows becomes the header."""
    names = table.iloc[:, 0].astype(str)
    return table.iloc[:, 1:].T.set_axis(names, axis=1).rename_axis(table.columns[0]).reset_index()
