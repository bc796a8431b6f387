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

from nard.data.errors import DataError
from nard.data.unpacking import AGAIN, file_error, some

__all__ = ["is_hdf5", "read_h5", "split_part", "with_parts"]

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_PLACES = (0, 512, 1024, 2048)
_PART = re.compile(r"(.+\.(?:h5ad|h5mu))#(.+)", re.IGNORECASE | re.DOTALL)
# Beyond this the dense matrix would take more than 8 GB, and so would each copy of it.
_MOST_VALUES = 10**9
_SAVE_AGAIN = "open it with a recent anndata and save it again"


def split_part(path: str | Path) -> tuple[str, str | None]:
    """The file, and the part of it that stands behind ``#``.

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
    if not path.is_file():
        return False
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
            samples, features = (_names(path, _inside(path, group, side)) for side in ("obs", "var"))
            matrix = _inside(path, group, "X") if layer is None else _layer(path, group, layer)
            values = _dense(path, matrix, (len(samples), len(features)))
    except DataError:
        raise
    except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
        raise file_error(path, "the HDF5 file is damaged, or no AnnData or MuData file", AGAIN, str(error)) from error
    return pd.DataFrame(values, samples, features), label


def _modality(path: Path, file, part: str | None):
    """The AnnData group that is meant, its layer if one is, and a name for both."""
    if "mod" not in file:
        if "obs" not in file or "var" not in file:
            expected = "the groups X, obs and var"
            fix = "save the data with anndata's write_h5ad"
            raise file_error(path, "an HDF5 file, but not of AnnData", fix, some(file), expected)
        return file, part, "AnnData" + (f", layer {part}" if part else "")
    known = list(_inside(path, file, "mod"))
    name, _, layer = (part or "").partition("/")
    if name not in known:
        problem = f"a MuData file has no modality {name!r}" if name else "of a MuData file one modality is to be named"
        raise file_error(path, problem, f"write {path}#{known[0] if known else 'name'}", f"modalities {some(known, 9)}")
    label = f"MuData, modality {name}" + (f", layer {layer}" if layer else "")
    return _inside(path, _inside(path, file, "mod"), name), layer or None, label


def _layer(path: Path, group, name: str):
    layers = _inside(path, group, "layers") if "layers" in group else {}
    if name not in layers:
        raise file_error(path, f"there is no layer {name!r}", "correct the part behind #", f"layers {some(layers, 9)}")
    return _inside(path, layers, name)


def _inside(path: Path, group, name: str):
    """A member of a group; links may lead to other files, so that only what is stored here is read."""
    import h5py

    if name not in group:
        raise file_error(path, f"the file has no {name!r}", "save the data with it", found=some(group, 9))
    member = group[name] if isinstance(group.get(name, getlink=True), h5py.HardLink) else None
    if member is None or (isinstance(member, h5py.Dataset) and (member.is_virtual or member.external)):
        raise file_error(path, f"{name!r} is a link to somewhere else", "save the data in one file, without links")
    return member


def _names(path: Path, side) -> list[str]:
    """The names of the observations or variables, which pandas has as texts, nullable texts or categories."""
    import h5py

    if isinstance(side, h5py.Dataset):
        raise file_error(path, "an AnnData file of before 2020", _SAVE_AGAIN)
    index = _inside(path, side, side.attrs["_index"])
    if isinstance(index, h5py.Dataset):
        return _texts(index)
    if "codes" in index:
        names = _texts(_inside(path, index, "categories"))
        codes = _inside(path, index, "codes")[:]
        if (codes < 0).any():
            raise file_error(path, "observations or variables without a name", "give each of them one")
        return [names[code] for code in codes]
    return _texts(_inside(path, index, "values"))


def _texts(dataset) -> list[str]:
    values = dataset.asstr()[:] if dataset.dtype.kind in "OS" else dataset[:]
    return [str(value) for value in values]


def _dense(path: Path, matrix, shape: tuple[int, int]) -> np.ndarray:
    import h5py
    from scipy import sparse

    if shape[0] * shape[1] > _MOST_VALUES:
        fix = "select the samples and features first, or aggregate cells to samples"
        raise file_error(path, f"{shape[0]} × {shape[1]} values are too many for a dense fit", fix)
    if isinstance(matrix, h5py.Dataset):
        values = np.asarray(matrix[:])
    else:
        kind = {"csr_matrix": sparse.csr_array, "csc_matrix": sparse.csc_array}.get(matrix.attrs.get("encoding-type"))
        if kind is None:
            raise file_error(path, "the matrix is stored in a way that is not known", _SAVE_AGAIN, some(matrix.attrs))
        parts = [_inside(path, matrix, name)[:] for name in ("data", "indices", "indptr")]
        packed = kind(tuple(parts), shape=tuple(matrix.attrs["shape"]))
        packed.check_format(full_check=True)
        values = packed.toarray()
    if values.shape != shape:
        raise file_error(path, f"the matrix is {values.shape}, but there are {shape} names", AGAIN)
    if values.dtype.kind not in "fiub":
        raise file_error(path, f"values of type {values.dtype} where numbers are expected", "store numbers")
    values = values.astype(float)
    if np.isinf(values).any():
        raise file_error(path, f"{np.isinf(values).sum()} infinite values", "correct or empty them (NaN is missing)")
    return values
