"""Memory for matrices that the system hands out quickly."""

from __future__ import annotations

import numpy as np

__all__ = ["matrices"]

# The first touch of a page takes up to microseconds, so that with pages of 4 kB a new matrix can cost more than the
# work done on it. NumPy asks for huge pages, of 2 MB, in arrays from 4 MB on; they begin at multiples of their size.
_HUGE_PAGE = 2**18
_WORTH_IT = 2**16


def matrices(count: int, m: int) -> list[np.ndarray]:
    """Uninitialised m×m matrices next to each other, so that what keeps one keeps them all."""
    size = count * m * m
    if size < _WORTH_IT:
        return list(np.empty((count, m, m)))
    # What is never touched takes no memory.
    block = np.empty(max(size, _HUGE_PAGE) + _HUGE_PAGE)
    start = -(block.ctypes.data // block.itemsize) % _HUGE_PAGE
    return list(block[start : start + size].reshape(count, m, m))
