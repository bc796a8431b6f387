"""Compiled code on several cores: functions that release Python's lock, on parts of the work.

The parts do not depend on the number of threads and results come back in their order, so that neither do sums of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

__all__ = ["in_threads", "thread_count"]


def thread_count() -> int:
    """What OMP_NUM_THREADS says, or else the cores that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(function: Callable, parts: Iterable) -> list:
    """``function`` of every part."""
    threads = thread_count()
    if threads == 1:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, parts))
