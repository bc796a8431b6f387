"""Features under the names that pathways know: other spellings, older symbols, identifiers, what spreadsheets spoil.

Nothing is renamed that has a right name already, and everything that is renamed is noted with its count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

import pandas as pd

from nard.data.names import gene_key, is_identifier, unversioned
from nard.data.sheets import read_frame
from nard.data.tables import Table
from nard.data.unpacking import file_error, some

__all__ = ["aliases", "as_named", "recognised"]

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec"
# 1-Mar, Mar-01, 01/03/2024, 2024-03-01 00:00:00; and 2.31E+13, which was 2310009E13Rik, a gene of the mouse.
_DATE = re.compile(
    rf"\d{{1,2}}[-/ ]({_MONTHS})([-/ ]\d{{2,4}})?|({_MONTHS})[-/ ]\d{{1,4}}"
    r"|\d{4}-\d\d-\d\d([ T]00:00:00)?|\d{1,2}/\d{1,2}/\d{2,4}|\d(\.\d+)?E\+\d+",
    re.IGNORECASE,
)
_SHOWN = 3


def recognised(table: Table, members: Collection[str], gene_names: str | Path | None = None) -> Table:
    """The table with the members of pathways that it has under another name renamed to theirs.

    ``members`` are genes, or nothing where antibodies are named. ``gene_names`` is a file of names and symbols.
    """
    before = list(map(str, table.values.columns))
    names, notes = before, []
    if gene_names is not None:
        names = _translated(before, members, Path(gene_names))
        notes += _renamed("gene names", before, names, file=str(gene_names))
    elif members and len(identifiers := [name for name in before if is_identifier(name)]) > len(before) / 2:
        notes.append({"code": "identifiers", "count": len(identifiers), "names": identifiers[:_SHOWN]})
    for code, others in (("other case", {name.upper(): name for name in members}), ("other names", aliases())):
        wanted = set(members).difference(map(gene_key, names))
        found = _first_of_each(names, {other: name for other, name in others.items() if name in wanted})
        notes += _renamed(code, names, found)
        names = found
    dates = [name for name in names if _DATE.fullmatch(name.strip())]
    if dates:
        notes.append({"code": "dates", "count": len(dates), "names": dates[:_SHOWN]})
    values = table.values if names == before else table.values.set_axis(names, axis=1)
    return replace(table, values=values, notes=(*table.notes, *notes))


def as_named(wanted: Sequence[str], names: Iterable[str]) -> list[str]:
    """The genes of a user's list as the table names them, in whatever case or by an older name they are listed."""
    by_capitals = {gene_key(str(name)).upper(): str(name) for name in names}
    named = set(map(gene_key, by_capitals.values()))
    return [
        by_capitals.get(name.upper(), by_capitals.get(aliases().get(name.upper(), ""), name))
        if gene_key(name) not in named
        else name
        for name in wanted
    ]


@cache
def aliases() -> Mapping[str, str]:
    """Older symbols and other names of the genes of the twelve pathways, in capitals. None is another gene's symbol."""
    with resources.as_file(resources.files("nard") / "data" / "gene_aliases.tsv") as path:
        table = pd.read_csv(path, sep="\t", dtype=str)
    return {
        other: gene for gene, others in zip(table["gene"], table["others"], strict=True) for other in others.split(";")
    }


def _first_of_each(names: list[str], wanted: Mapping[str, str]) -> list[str]:
    """Names renamed by their capitals; of several that mean one gene, only the first."""
    left = set(wanted.values())
    renamed = []
    for name in names:
        meant = wanted.get(gene_key(name).upper())
        if meant in left:
            left.remove(meant)
            name = meant
        renamed.append(name)
    return renamed


def _translated(names: list[str], members: Collection[str], path: Path) -> list[str]:
    """Names replaced by the symbols of a file: its column that holds them, and the one that names most members."""
    table = read_frame(path)
    known = {unversioned(name) for name in names}
    if known.intersection(map(unversioned, table.columns)):
        # What was read as the header is the first row of a file without one.
        table = pd.DataFrame([list(table.columns), *table.to_numpy(dtype=object).tolist()])
    table = table.astype("string").apply(lambda column: column.str.strip().str.removesuffix(".0"))
    hits = [sum(unversioned(name) in known for name in column.dropna()) for _, column in table.items()]
    source = max(range(len(hits)), key=hits.__getitem__)
    if not hits[source] or table.shape[1] < 2:
        raise file_error(
            path,
            "no column holds the names of the inputs",
            "a table with two columns, the names as in the file of inputs and the symbols of the genes",
            found=f"{', '.join(map(repr, table.columns))}; the inputs are named {some(names)}",
        )
    others = [i for i in range(table.shape[1]) if i != source]
    symbols = max(others, key=lambda i: len(set(members).intersection(table.iloc[:, i].dropna())))
    pairs = table.iloc[:, [source, symbols]].dropna()
    meant = dict(zip(pairs.iloc[:, 0].map(unversioned), pairs.iloc[:, 1], strict=True))
    return [meant.get(unversioned(name), name) for name in names]


def _renamed(code: str, before: Iterable[str], after: Iterable[str], **details) -> list[dict]:
    changed = [f"{old} → {new}" for old, new in zip(before, after, strict=True) if old != new]
    return [{"code": code, "count": len(changed), "names": changed[:_SHOWN], **details}] if changed else []
