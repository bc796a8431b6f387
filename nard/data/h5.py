"""AnnData and MuData files, read by their documented layout: observations are samples, variables are features.

``cohort.h5ad`` is the matrix X, ``cohort.h5ad#log1p`` the layer of that name; ``cohort.h5mu#rna`` is X of a modality,
``cohort.h5mu#rna/log1p`` a layer of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from nard.data.names import composed
from nard.data.unpacking import AGAIN, file_error, some
from nard.errors import DataError

__all__ = ["is_hdf5", "read_h5", "split_part", "with_parts"]

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_PLACES = (0, 512, 1024, 2048)
_PART = re.compile(r"(.+\.(?:h5ad|h5mu|xlsx))#(.+)", re.IGNORECASE | re.DOTALL)
# Beyond this the dense matrix would take more than 8 GB, and so would each copy of it.
_MOST_VALUES = 10**9
_MOST_NAMES = 10**7
# Kinds of values by the letters of numpy: numbers; names, which are texts, numbers, or the numbers of categories.
_NUMBERS, _NAMES = "fiub", "OSfiub"
_DAMAGE = (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError)
# Beyond so many bytes, values may take no more than so many times what is stored of them.
_MUCH, _MOST_TIMES = 2**28, 250
_SAVE_AGAIN = "open it with a recent anndata and save it again"


def split_part(path: str | Path) -> tuple[str, str | None]:
    """The file, and the part of it that stands behind ``#``: of HDF5 files and workbooks.

    Examples
    --------
    >>> split_part("cohort.h5mu#rna"), split_part("table#1.tsv")
    (('cohort.h5mu', 'rna'), ('table#1.tsv', None))
    """
    found = _PART.fullmatch(str(path))
    return (found[1], found[2]) if found else (str(path), None)


def with_parts(named: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """The files that a job was given, by config key, each with the part that the config names; others as named.

    Examples
    --------
    >>> with_parts({"inputs": "cohort.h5mu#rna", "outputs": "y.tsv"}, {"inputs": "there/cohort.h5mu"})
    {'inputs': 'there/cohort.h5mu#rna', 'outputs': 'y.tsv'}
    """
    parts = {key: split_part(path) for key, path in named.items()}
    return {key: found.get(key, file) + (f"#{part}" if part else "") for key, (file, part) in parts.items()}


def is_hdf5(path: Path) -> bool:
    """Whether the signature is at the start, or behind the block of their own that MuData and others put before it."""
    with path.open("rb") as file:
        start = file.read(_PLACES[-1] + len(_SIGNATURE))
    return any(start[place:].startswith(_SIGNATURE) for place in _PLACES)


def read_h5(path: Path, part: str | None) -> tuple[pd.DataFrame, str]:
    """Samples × features of a file, and what the file was recognised as."""
    try:
        import h5py
    except ImportError:
        raise DataError(
            f"{path}: reading AnnData and MuData takes the package h5py.\n  to fix: pip install 'nard[anndata]'"
        ) from None
    try:
        with h5py.File(path, "r") as file:
            group, layer, label = _modality(path, file, part)
            matrix = _inside(path, group, "X") if layer is None else _layer(path, group, layer)
            shape = _shape(path, matrix)
            sides = zip(("obs", "var"), shape, strict=True)
            samples, features = (_names(path, _inside(path, group, side), count) for side, count in sides)
            values = _dense(path, matrix, shape)
    except DataError:
        raise
    except MemoryError as error:
        fix = "select samples and features first"
        raise file_error(path, "its values are too many for the memory", fix) from error
    except _DAMAGE as error:
        raise file_error(path, "the HDF5 file is damaged, or no AnnData or MuData file", AGAIN, str(error)) from error
    return pd.DataFrame(values, samples, features), label


def _modality(path: Path, file, part: str | None):
    """The AnnData group that is meant, its layer if one is, and a name for both."""
    groups = _members(path, file)
    if "mod" not in groups:
        if "obs" not in groups or "var" not in groups:
            expected = "the groups X, obs and var"
            fix = "save the data with anndata's write_h5ad"
            raise file_error(path, "an HDF5 file, but not of AnnData", fix, some(groups), expected)
        return file, part, "AnnData" + (f", layer {part}" if part else "")
    modalities = _inside(path, file, "mod")
    known = _members(path, modalities)
    name, _, layer = (part or "").partition("/")
    if name not in known:
        problem = f"a MuData file has no modality {name!r}" if name else "of a MuData file one modality is to be named"
        raise file_error(path, problem, f"write {path}#{known[0] if known else 'name'}", f"modalities {some(known, 9)}")
    label = f"MuData, modality {name}" + (f", layer {layer}" if layer else "")
    return _inside(path, modalities, name), layer or None, label


def _layer(path: Path, group, name: str):
    layers = _inside(path, group, "layers") if "layers" in _members(path, group) else None
    known = [] if layers is None else _members(path, layers)
    if name.partition("/")[0] not in known:
        raise file_error(
            path, f"there is no layer {name!r}", "correct the part behind #", f"layers {some(known, 9) or 'none'}"
        )
    return _inside(path, layers, name)


def _members(path: Path, group) -> list[str]:
    """The names in a group; unlike ``name in group``, this opens no file that a link leads to."""
    import h5py

    if not isinstance(group, h5py.Group):
        raise file_error(path, f"{group.name!r} is no group", _SAVE_AGAIN, found=type(group).__name__)
    return list(group)


def _inside(path: Path, group, name: str):
    """A member of a group, or of groups in it; links may lead to other files, so only what is stored here is read."""
    import h5py

    member = group
    for step in name.split("/"):
        known = _members(path, member)
        if step not in known:
            raise file_error(path, f"the file has no {name!r}", "save the data with it", found=some(known, 9))
        hard = member.id.links.get_info(step.encode()).type == h5py.h5l.TYPE_HARD
        member = member[step] if hard else None
        if member is None or (isinstance(member, h5py.Dataset) and (member.is_virtual or member.external)):
            raise file_error(path, f"{name!r} is a link to somewhere else", "save the data in one file, without links")
    return member


def _shape(path: Path, matrix) -> tuple[int, int]:
    """Samples and features of the matrix, as the file declares them: a small file may declare more than fits."""
    import h5py

    declared = matrix.shape if isinstance(matrix, h5py.Dataset) else matrix.attrs.get("shape")
    if declared is None or len(declared) != 2:
        raise file_error(path, f"{matrix.name!r} is no matrix", _SAVE_AGAIN, f"shape {declared}", "samples × features")
    shape = int(declared[0]), int(declared[1])
    if shape[0] * shape[1] > _MOST_VALUES or max(shape) > _MOST_NAMES:
        fix = "select the samples and features first, or aggregate cells to samples"
        raise file_error(path, f"{shape[0]} × {shape[1]} values are too many for a dense fit", fix)
    return shape


def _read(path: Path, dataset, most: int, kinds: str) -> np.ndarray:
    """The values of a dataset, if its header declares at most so many, and of these kinds."""
    import h5py

    if not isinstance(dataset, h5py.Dataset) or not dataset.shape:
        raise file_error(path, f"{dataset.name!r} holds no values", _SAVE_AGAIN)
    if dataset.size > most or dataset.nbytes > 8 * _MOST_VALUES:
        found = f"{dataset.size} values of {dataset.dtype.itemsize} bytes"
        raise file_error(path, f"{dataset.name!r} is too large", _SAVE_AGAIN, found, f"at most {most} values")
    if dataset.nbytes > max(_MUCH, _MOST_TIMES * dataset.id.get_storage_size()):
        found = f"{dataset.nbytes} bytes of values, {dataset.id.get_storage_size()} of them stored"
        raise file_error(path, f"{dataset.name!r} declares values that are not there", AGAIN, found)
    if dataset.dtype.kind not in kinds:
        expected = "numbers are" if kinds == _NUMBERS else "names are"
        raise file_error(path, f"values of type {dataset.dtype} where {expected} expected", _SAVE_AGAIN)
    return dataset.asstr()[:] if dataset.dtype.kind in "OS" else dataset[:]


def _names(path: Path, side, count: int) -> list[str]:
    """The names of the observations or variables, which pandas has as texts, nullable texts or categories."""
    import h5py

    if isinstance(side, h5py.Dataset):
        raise file_error(path, "an AnnData file of before 2020", _SAVE_AGAIN)
    index = _inside(path, side, str(side.attrs["_index"]))
    if isinstance(index, h5py.Group):
        kept = "codes" if "codes" in _members(path, index) else "values"
        values = _read(path, _inside(path, index, kept), count, _NAMES)
        if kept == "codes":
            if (values < 0).any():
                raise file_error(path, "observations or variables without a name", "give each of them one")
            values = _read(path, _inside(path, index, "categories"), _MOST_NAMES, _NAMES)[values]
    else:
        values = _read(path, index, count, _NAMES)
    if values.shape != (count,):
        raise file_error(path, f"{side.name!r} has {len(values)} names, but the matrix {count} on this side", AGAIN)
    return [composed(str(value)) for value in values]


def _dense(path: Path, matrix, shape: tuple[int, int]) -> np.ndarray:
    import h5py
    from scipy import sparse

    most = shape[0] * shape[1]
    if isinstance(matrix, h5py.Dataset):
        values = _read(path, matrix, most, _NUMBERS)
    else:
        kind = {"csr_matrix": sparse.csr_array, "csc_matrix": sparse.csc_array}.get(matrix.attrs.get("encoding-type"))
        if kind is None:
            raise file_error(path, "the matrix is stored in a way that is not known", _SAVE_AGAIN, some(matrix.attrs))
        sizes = {"data": most, "indices": most, "indptr": max(shape) + 1}
        parts = [_read(path, _inside(path, matrix, name), size, _NUMBERS) for name, size in sizes.items()]
        packed = kind(tuple(parts), shape=shape)
        packed.check_format(full_check=True)
        values = packed.toarray()
    values = values.astype(float)
    if np.isinf(values).any():
        raise file_error(path, f"{np.isinf(values).sum()} infinite values", "correct or empty them (NaN is missing)")
    return values
