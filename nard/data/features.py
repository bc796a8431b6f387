"""Which genes and proteins are kept, under one spelling each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from nard.data.ledger import Ledger
from nard.data.names import is_list, nearest
from nard.data.tables import Table
from nard.data.unpacking import read_text
from nard.errors import DataError

__all__ = ["choose_features", "complementary", "one_spelling", "spelt", "wanted_names"]

_MOST_NAMES = 8
# Between letters or digits: a sign at the end is part of a name, CD4- is not CD4.
_SEPARATORS = re.compile(r"(?<=\w)[\s_.-]+(?=\w)")


def spelt(
    table: Table, wanted: Sequence[str] | int | None, key: Callable[[str], str]
) -> tuple[list[str], Sequence[str] | int | None]:
    """A name for each feature of the table, and what is wanted in the same spelling.

    A source spells one feature in several ways, which ``key`` joins. Names of somebody's own, where CD4+ is not CD4-,
    are joined only to find what is wanted and is not there as it is spelt. So are those of a table that only looks like
    that of a source, if different features would become one.
    """
    names = [str(name).strip() for name in table.values.columns]
    sought = [] if wanted is None or isinstance(wanted, int) else wanted
    joined = [key(name) for name in names]
    own_names = _differ(table.values, names, joined) if table.own_names is None else table.own_names
    if not own_names:
        found, names = [key(name) for name in sought], joined
    else:
        own = set(names)
        found = [name if name in own else key(name) for name in sought]
        known, absent = own.intersection(found), set(found) - own
        names = [
            other if name not in known and other in absent else name for name, other in zip(names, joined, strict=True)
        ]
    return names, found if sought else wanted


def _differ(values: pd.DataFrame, names: Sequence[str], joined: Sequence[str]) -> bool:
    """Whether features of different names, but of one once these are joined, have different values of any sample."""
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(joined):
        groups.setdefault(name, []).append(i)
    several = [values.iloc[:, group] for group in groups.values() if len({names[i] for i in group}) > 1]
    return any((columns.max(axis=1) > columns.min(axis=1)).any() for columns in several)


def complementary(
    values: pd.DataFrame, names: Sequence[str], wanted: Sequence[str] | int | None, side: str, ledger: Ledger
) -> tuple[pd.DataFrame, list[str]]:
    """Columns whose names differ only in case and separators, and that never have values of the same sample, as one.

    A protein is called DIRAS3 in one batch and Di-Ras3 in another. The name is the one that is wanted, or the first.
    """
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        groups.setdefault(_SEPARATORS.sub("", name).casefold(), []).append(i)
    names, gone, merged = list(names), [], []
    for group in (group for group in groups.values() if len(group) > 1):
        columns = values.iloc[:, group]
        present = columns.notna()
        if not present.any().all() or (present.sum(axis=1) > 1).any():
            continue
        meant = [names[i] for i in group if isinstance(wanted, Sequence) and names[i] in wanted] or [names[group[0]]]
        merged.append(" and ".join(map(str, columns.columns)))
        values = values.assign()
        values.isetitem(group[0], columns.bfill(axis=1).iloc[:, 0])
        names[group[0]] = meant[0]
        gone += group[1:]
    if merged:
        ledger.drop(side, "features", [str(values.columns[i]) for i in gone], "merged")
        ledger.note("merged spellings", side=side, count=len(merged), names=merged[:_MOST_NAMES])
    kept = [i for i in range(len(names)) if i not in set(gone)]
    return (values.iloc[:, kept], [names[i] for i in kept]) if gone else (values, names)


def one_spelling(
    values: pd.DataFrame, names: Sequence[str], side: str, ledger: Ledger
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Columns under new names, and new name → old one.

    Of several with one new name the most complete is kept, the most variable among those.
    """
    if len(set(names)) == len(names):
        return values.set_axis(names, axis=1), dict(zip(names, map(str, values.columns), strict=True))
    rank = pd.DataFrame({"name": names, "missing": values.isna().sum().to_numpy(), "spread": -values.var().to_numpy()})
    best = rank.sort_values(["missing", "spread"], kind="stable").drop_duplicates("name").index.sort_values()
    lost = [str(values.columns[i]) for i in rank.index.difference(best)]
    ledger.drop(side, "features", lost, "repeated feature")
    kept = values.iloc[:, best]
    names = [names[i] for i in best]
    return kept.set_axis(names, axis=1), dict(zip(names, map(str, kept.columns), strict=True))


def wanted_names(choice, members: Sequence[str], option: str) -> Sequence[str] | int | None:
    """What an option such as `genes` asks for: names, a number of the most variable, or None for all."""
    if choice == "pathway":
        return members
    if choice == "all":
        return None
    if not is_list(choice):
        return choice
    if not Path(choice).exists():
        raise DataError(
            f"config key `preprocessing.{option}`: {choice!r} is neither pathway nor all, and there is no such file.\n"
            "  expected: pathway, all, a file with one name per line" + (", or a number" if option == "genes" else "")
        )
    return [line.strip() for line in read_text(choice).splitlines() if line.strip()]


def choose_features(
    values: pd.DataFrame, wanted: Sequence[str] | int | None, side: str, where: str, ledger: Ledger
) -> pd.DataFrame:
    """The wanted columns, in the wanted order; names that are absent are noted with the nearest one present."""
    if wanted is None:
        return values
    if isinstance(wanted, int):
        chosen = set(values.var().sort_values(ascending=False, kind="stable").index[:wanted])
        kept = [name for name in values.columns if name in chosen]
        ledger.drop(side, "features", values.columns.difference(kept), "less variable", number=wanted)
    else:
        kept = [name for name in dict.fromkeys(wanted) if name in values.columns]
        absent = [name for name in dict.fromkeys(wanted) if name not in values.columns]
        if not kept:
            raise DataError(
                f"{where}: none of the {len(absent)} {side} asked for is there.\n"
                f"  asked for: {', '.join(absent[:5])}, …\n"
                f"  found: {', '.join(map(str, values.columns[:5]))}, …\n"
                "  to fix: if features were taken for samples set `orientation`; otherwise correct the names"
                + (", translate them by `gene_names`" if side == "inputs" else "")
                + f", or set\n  `preprocessing.{'genes' if side == 'inputs' else 'proteins'}: all`"
            )
        if absent:
            # The first few, with a likely misspelling if there is one; gene symbols are too much alike for more.
            hints = {name: nearest(name, map(str, values.columns), alike=0.85) for name in absent[:_MOST_NAMES]}
            ledger.note("absent", side=side, count=len(absent), nearest=hints)
        ledger.drop(side, "features", values.columns.difference(kept), "not asked for")
    return values[kept]
