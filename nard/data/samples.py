"""Which samples of two tables belong together: TCGA barcodes, sample types, duplicates, overlap."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from nard.data.ledger import Ledger
from nard.data.names import barcode, is_barcode, patient, sample_type
from nard.errors import DataError

__all__ = ["alike_words", "match_samples", "same_samples"]

_SHOWN = 3
_TUMOUR_TYPES = tuple(f"{code:02d}" for code in range(1, 10))


def same_samples(
    inputs: pd.DataFrame, outputs: pd.DataFrame, names: tuple[str, str], ledger: Ledger
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables as they are if they have the same samples in one order, one per patient; else those they share."""
    if inputs.index.is_unique and inputs.index.equals(outputs.index) and _one_tumour_each(inputs.index):
        return inputs, outputs
    return match_samples(inputs, outputs, "auto", names, ledger)


def _one_tumour_each(names: Iterable[str]) -> bool:
    """Whether no sample would be left out for its type, or as a patient's second; true of names of other kinds."""
    codes = [barcode(str(name)) for name in names]
    known = [code for code in codes if is_barcode(code)]
    if len(known) <= len(codes) / 2:
        return True
    tumours = all(sample_type(code) in (None, *_TUMOUR_TYPES) for code in known)
    return tumours and len({patient(code) for code in known}) == len(known)


def match_samples(
    inputs: pd.DataFrame, outputs: pd.DataFrame, sample_types, names: tuple[str, str], ledger: Ledger
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with the samples they share, in one order, one sample per patient.

    TCGA samples match by patient and sample type, or by patient where a table has no types. ``sample_types`` is a list
    of two-digit types, "auto" for the tumour type that gives most patients with both, or "patient" to match tumours of
    one patient whatever their types. ``names`` are the files, for messages.
    """
    tables = {"inputs": inputs, "outputs": outputs}
    tables = {side: table.set_axis([barcode(str(name)) for name in table.index]) for side, table in tables.items()}
    if all(table.index.map(is_barcode).to_numpy().mean() > 0.5 for table in tables.values()):
        tables = _by_patient(tables, sample_types, names, ledger)
    else:
        for (side, table), name in zip(tables.items(), names, strict=True):
            tables[side] = _unique(table, side, name, ledger)
    shared = tables["inputs"].index.intersection(tables["outputs"].index)
    left, right = (table.index.difference(shared) for table in tables.values())
    alike = _alike(left, right, list)
    if shared.empty:
        raise DataError(
            "The two files share no sample.\n"
            f"  {names[0]}: {_some(inputs.index)}\n"
            f"  {names[1]}: {_some(outputs.index)}\n"
            "  expected: the same sample names in both, or TCGA barcodes\n"
            + alike_words(left, right)
            + "  to fix: rename the samples in one of the files, or set `orientation` if features were taken for\n"
            "  samples"
        )
    shared = shared.sort_values()
    if alike:
        ledger.note("alike samples", count=len(alike), names=[f"{one} and {other}" for one, other in alike[:_SHOWN]])
    for side, table in tables.items():
        other = "outputs" if side == "inputs" else "inputs"
        ledger.drop(side, "samples", table.index.difference(shared), "unmatched", other=other)
    return tables["inputs"].loc[shared], tables["outputs"].loc[shared]


def _by_patient(tables, sample_types, names, ledger: Ledger) -> dict[str, pd.DataFrame]:
    """TCGA samples, one of each patient; what is no barcode among barcodes (a control, a mean) is left out."""
    tables = {side: _only(table, is_barcode, "no barcode", side, ledger) for side, table in tables.items()}
    typed = {side: any(map(sample_type, table.index)) for side, table in tables.items()}
    for side in (side for side, known in typed.items() if known):
        tables[side] = _only(tables[side], sample_type, "no sample type", side, ledger)
    for side in (side for side, known in typed.items() if not known):
        ledger.note("patients", side=side)
    if any(typed.values()):
        kept = _kept_types(tables, typed, sample_types, ledger)
        for side in (side for side, known in typed.items() if known):
            types = tables[side].index.map(sample_type)
            if not types.isin(kept).any():
                raise DataError(
                    f"{names[0] if side == 'inputs' else names[1]}: no sample is of type {' or '.join(kept)}.\n"
                    f"  found: {', '.join(f'{n} of type {code}' for code, n in types.value_counts().items())}\n"
                    "  to fix: set `preprocessing.sample_types` to types that both files have, to auto, or to patient"
                )
            for code in sorted(set(types) - set(kept)):
                gone = tables[side].index[types == code]
                ledger.drop(side, "samples", gone, "sample type", type=code, kept=list(kept))
            tables[side] = tables[side][types.isin(kept)]
    by_type = all(typed.values()) and sample_types != "patient"
    unique = {}
    for side, table in tables.items():
        # Aliquots in alphabetical order: the earliest sample type, vial and plate comes first, on any machine.
        table = table.sort_index(kind="stable")
        keys = table.index.str[:15] if by_type else table.index.map(patient)
        ledger.drop(side, "samples", table.index[keys.duplicated()], "aliquot")
        unique[side] = table[~keys.duplicated()].set_axis(keys[~keys.duplicated()])
    if by_type:
        unique = _one_per_patient(unique, ledger)
    return unique


def _only(table: pd.DataFrame, wanted, code: str, side: str, ledger: Ledger) -> pd.DataFrame:
    fits = np.array([bool(wanted(name)) for name in table.index])
    ledger.drop(side, "samples", table.index[~fits], code)
    return table[fits]


def _kept_types(tables, typed, sample_types, ledger: Ledger) -> list[str]:
    """The types asked for; for "auto" the tumour type that most patients with both measurements have."""
    if sample_types == "patient":
        return list(_TUMOUR_TYPES)
    if sample_types != "auto":
        return sample_types
    both = {code: len(_patients_with_both(tables, typed, [code])) for code in _TUMOUR_TYPES}
    best = max(both, key=lambda code: both[code])
    more = len(_patients_with_both(tables, typed, _TUMOUR_TYPES)) - both[best]
    if more:
        ledger.note("more patients", type=best, patients=both[best], more=more)
    return [best]


def _patients_with_both(tables, typed, codes) -> set[str]:
    sides = [
        {patient(name) for name in table.index if not typed[side] or sample_type(name) in codes}
        for side, table in tables.items()
    ]
    return sides[0] & sides[1]


def _one_per_patient(tables: dict[str, pd.DataFrame], ledger: Ledger) -> dict[str, pd.DataFrame]:
    """The first of the types that both tables have: two samples of one patient are not independent."""
    shared = tables["inputs"].index.intersection(tables["outputs"].index).sort_values()
    again = shared[shared.map(patient).duplicated()]
    for side, table in tables.items():
        ledger.drop(side, "samples", again, "second sample type")
        tables[side] = table.drop(index=again)
    return tables


def _unique(table: pd.DataFrame, side: str, name: str, ledger: Ledger) -> pd.DataFrame:
    duplicated = table.index[table.index.duplicated()].unique()
    for sample in duplicated:
        if not table.loc[[sample]].drop_duplicates().shape[0] == 1:
            raise DataError(
                f"{name}: sample {sample!r} appears {(table.index == sample).sum()} times with different values"
                f" ({len(duplicated)} samples appear more than once).\n"
                "  expected: one row (or column) for each sample\n"
                "  to fix: keep one of them, or give them different names"
            )
    ledger.drop(side, "samples", table.index[table.index.duplicated()], "repeated sample")
    return table[~table.index.duplicated()]


def _alike(
    inputs: Iterable[str], outputs: Iterable[str], key: Callable[[list[str]], list[str]]
) -> list[tuple[str, str]]:
    """Pairs of names with the same key, which no other name of their file has. Barcodes are the same or are not."""
    sides = []
    for side in (inputs, outputs):
        names = [name for name in map(str, side) if not is_barcode(name)]
        keys = key([re.sub(r"[\W_]", "", name).casefold() for name in names])
        counts = Counter(keys)
        sides.append({key: name for key, name in zip(keys, names, strict=True) if key and counts[key] == 1})
    return [(sides[0][key], sides[1][key]) for key in sorted(sides[0].keys() & sides[1].keys())]


def _cores(names: list[str]) -> list[str]:
    """Names without the letters that all begin with, or end with, and without leading zeros; of zeros one is left."""
    start, end = (_shared_letters([name[::step] for name in names]) for step in (1, -1))
    return [re.sub(r"^0+(?=.)", "", name[start : len(name) - end]) for name in names]


def _shared_letters(names: list[str]) -> int:
    """How many letters all names begin with, before any digit."""
    columns = enumerate(zip(*names, strict=False))
    return next((i for i, letters in columns if letters[0].isdigit() or len(set(letters)) > 1), 0)


def alike_words(inputs: Iterable[str], outputs: Iterable[str]) -> str:
    """The names of two files, which share none, that may be meant to be the same; nothing where there are none."""
    alike = _alike(inputs, outputs, list) or _alike(inputs, outputs, _cores)
    if not alike:
        return ""
    shown = "; ".join(f"{one!r} and {other!r}" for one, other in alike[:_SHOWN])
    return f"  alike but for case, separators, or what all begin or end with: {len(alike)} pairs, such as {shown}\n"


def _some(names: Iterable[str]) -> str:
    names = list(map(str, names))
    return f"{len(names)} samples, such as " + ", ".join(map(repr, names[:3]))
