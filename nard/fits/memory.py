"""What a fit takes of memory, estimated from the shape of its data, and what there is.

The estimates count the arrays that the algorithms hold at their peak, in doubles. They are upper bounds: never below
what a fit was measured to take, and at most four times that (tests/test_memory.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from nard.errors import DataError
from nard.fits.doubles import nard_by_entries, nard_entries, nard_of_thousands
from nard.fits.methods import METHODS, find_method

__all__ = [
    "MOST_ROWS",
    "MemoryLimit",
    "fit_megabytes",
    "memory_limit",
    "require_memory",
    "too_large",
    "tuned_by",
]

# Beyond this only the selected associations are written: a table of every candidate would be gigabytes of nothing.
MOST_ROWS = 2_000_000
# The interpreter with NumPy, SciPy, scikit-learn, pandas and compiled code, 270 to 345 MB measured, and the two
# Snakemakes around a job on a cluster, up to 150 MB each, with some room.
_BASE = 800
_DOUBLE = 8
# A row of a table of findings, sorted, and as text on its way into a file: 360 to 380 bytes measured.
_ROW = 500
# Of the cross-validations.
_FOLDS = 5
# With more outputs the choice of the parts and of λ is made on some of them.
_MOST_OUTPUTS, _SOME_OUTPUTS = 1000, 500
# The largest data that the column-wise part is tried on, if it is not asked for.
_MOST_PRODUCTS = 5e8


def fit_megabytes(
    method: str, n_samples: int, n_inputs: int, n_outputs: int, *, tuned: bool = False, relevance: str = "auto"
) -> int:
    """Megabytes for a job that fits ``method``, the interpreter and the tables that it writes included.

    Parameters
    ----------
    method : str
        Its name; of a method that :data:`nard.fits.methods.METHODS` does not have a guess is made.
    n_samples, n_inputs, n_outputs : int
        N, d and m.
    tuned : bool, default=False
        Whether λ and the parts of the model are given, so that nothing is cross-validated.
    relevance : {"auto", "inputs", "entries", "both"}, default="auto"
        As in :class:`nard.NARD`; of no meaning for baselines.

    Examples
    --------
    >>> from nard.fits.memory import fit_megabytes
    >>> fit_megabytes("sequential", 350, 20_000, 200) < fit_megabytes("mrce", 350, 20_000, 200)
    True
    """
    n, d, m = n_samples, n_inputs, n_outputs
    # The data frame, the array checked, and the one centred.
    data = 3 * n * (d + m)
    folds = 0 if tuned else _FOLDS
    entry = find_method(method)
    # All associations or those that count, and pairs likewise; by then the fit has left the coefficients and the tests.
    rows = min(d * m, MOST_ROWS) + min(m * m // 2, MOST_ROWS)
    tables = 8 * d * m + 8 * m * m
    if not entry.minimises_j or relevance == "inputs":
        fit = entry.doubles(n, d, m, folds)
    else:
        some = m if m <= _MOST_OUTPUTS else _SOME_OUTPUTS
        if relevance == "entries" or (relevance == "auto" and min(n, d) * d * some > _MOST_PRODUCTS):
            fit = nard_by_entries(n, d, some, folds)
        else:
            fit = entry.doubles(n, d, some, folds) + nard_entries(n, d, some, folds)
        if m > some:
            fit, tables = max(fit, nard_of_thousands(n, d, m)), 3 * d * m + 10 * m * m
    tables += rows * _ROW // _DOUBLE
    return _BASE + -(-(data + max(fit, tables)) * _DOUBLE // 2**20)


def tuned_by(settings: Mapping, method: str) -> bool:
    """Whether the config's section `fit` leaves the method nothing to cross-validate; what it lacks is to be chosen."""
    if not find_method(method).minimises_j or isinstance(settings.get("lam", "cv"), str):
        return False
    relevance, hidden = settings.get("relevance", "auto"), settings.get("hidden", "auto")
    # The entry-wise model alone is one model, however many hidden inputs are counted.
    return relevance == "entries" or "auto" not in (relevance, hidden)


class MemoryLimit(NamedTuple):
    """Megabytes, and who says so."""

    megabytes: int
    source: str


def memory_limit(
    requested: int | None = None, environment: Mapping = os.environ, root: Path = Path("/")
) -> MemoryLimit:
    """What a job may take: the least of what the scheduler grants, the limit of its control group, and the machine's.

    ``requested`` is what the job asked the scheduler for. It counts inside a SLURM job, which is killed beyond it;
    SLURM's own variables do not reach the steps that Snakemake starts.
    """
    limits = [
        MemoryLimit(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20, "this machine has"),
        *(MemoryLimit(limit, "the limit of its control group is") for limit in _control_group_limits(root)),
    ]
    if "SLURM_MEM_PER_NODE" in environment:
        limits.append(MemoryLimit(int(environment["SLURM_MEM_PER_NODE"]), "SLURM grants"))
    elif "SLURM_JOB_ID" in environment and requested:
        limits.append(MemoryLimit(requested, "the job has asked SLURM for"))
    return min((limit for limit in limits if limit.megabytes > 0), key=lambda limit: limit.megabytes)


def _control_group_limits(root: Path) -> Iterator[int]:
    """Of this process's group and those around it, in version 1 and version 2 of control groups."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            folder, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        inner = Path(group.lstrip("/"))
        # Inside a container the group's own path may not be there, but that of the container is.
        for each in (inner, *inner.parents):
            try:
                yield int((folder / each / name).read_text()) // 2**20
            except (OSError, ValueError):  # "max" is no limit
                continue


def too_large(method: str, shape: tuple[int, int, int], settings: Mapping, limit: MemoryLimit) -> str | None:
    """Why the fit would be killed, and what to change; None if it has enough.

    ``shape`` is (N, d, m), ``settings`` the config's section `fit`.
    """
    n, d, m = shape
    needed = _needed(method, shape, settings)
    if needed <= limit.megabytes:
        return None
    lines = [
        f"{method}: a fit to {n} samples × {d} inputs × {m} outputs takes up to {needed} MB; "
        f"{limit.source} {limit.megabytes} MB"
    ]
    given = fit_megabytes(method, n, d, m, tuned=True, relevance="inputs")
    if find_method(method).minimises_j and given <= limit.megabytes:
        lines.append(
            "no cross-validation: the paper's model at a given λ, `fit: {lam: 0.1, relevance: inputs, hidden: 0}`, "
            f"takes up to {given} MB"
        )
    if fewer := _most_inputs(method, shape, settings, limit.megabytes):
        lines.append(f"fewer inputs: `preprocessing: {{genes: {fewer}}}` or less takes the most variable ones")
    fitting = [name for name in METHODS if _needed(name, shape, settings) <= limit.megabytes]
    if fitting:
        lines.append(f"other methods: `methods: [{', '.join(fitting)}]` fit into it")
    lines.append(
        f"more memory: a larger machine, `memory: {needed}` in the config if it says less, or on a cluster "
        f"`--set-resources fit:mem_mb={needed}`"
    )
    return "\n  ".join(lines)


def _needed(method: str, shape: tuple[int, int, int], settings: Mapping) -> int:
    """Megabytes with the settings of the config's section `fit`, or with those of them that a method takes."""
    return fit_megabytes(method, *shape, tuned=tuned_by(settings, method), relevance=settings.get("relevance", "auto"))


def _most_inputs(method: str, shape: tuple[int, int, int], settings: Mapping, megabytes: int) -> int:
    """The largest number of inputs below d, to two digits, that fits; 0 if none does."""
    n, d, m = shape
    low, high = 0, d
    while high - low > 1:
        middle = (low + high) // 2
        if _needed(method, (n, middle, m), settings) <= megabytes:
            low = middle
        else:
            high = middle
    unit = 10 ** max(len(str(low)) - 2, 0)
    return low // unit * unit


def require_memory(method: str, shape: tuple[int, int, int], settings: Mapping, requested: int | None = None) -> str:
    """Fails before the fit if it would be killed for want of memory; says what it takes and what there is."""
    limit = memory_limit(requested)
    if problem := too_large(method, shape, settings, limit):
        raise DataError(problem)
    needed = _needed(method, shape, settings)
    return f"memory: the fit takes up to {needed} MB; {limit.source} {limit.megabytes} MB"
