"""Fitted matrices as they are kept in files: those of many millions of entries without their zeros."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array

from nard.fits.memory import MOST_ROWS

__all__ = ["packed", "unpacked"]

_PARTS = ("data", "indices", "indptr", "shape")


def packed(name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    """The array by its name, or a large one by the parts of its sparse form: ``coef.data``, ``coef.indices``, ….

    One that is large even so is left out: it would be hundreds of megabytes that no file of results needs.
    """
    if np.size(array) <= MOST_ROWS:
        return {name: array}
    if np.count_nonzero(array) > MOST_ROWS:
        return {}
    sparse = csr_array(array)
    return {f"{name}.{part}": np.asarray(getattr(sparse, part)) for part in _PARTS}


def unpacked(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray | csr_array:
    """One of them; :class:`scipy.sparse.csr_array` if it was large.

    Examples
    --------
    >>> import numpy as np
    >>> from nard.fits.arrays import packed, unpacked
    >>> large = np.zeros((2000, 2000))
    >>> large[3, 4] = 1.0
    >>> unpacked(packed("coef", large), "coef")[3, 4]
    np.float64(1.0)
    """
    if name in arrays:
        return arrays[name]
    data, indices, indptr, shape = (arrays[f"{name}.{part}"] for part in _PARTS)
    return csr_array((data, indices, indptr), shape=tuple(shape))
