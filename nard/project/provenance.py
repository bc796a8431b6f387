"""What a result is made by: the code that its script leads to, and the versions of the packages that do the numbers.

Every rule has this among its parameters, so that Snakemake makes a result again when its own code has changed, and
leaves it alone when other code has. Comments do not count. A rule that reads the user's files has what is in them
there, too.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import nard
from nard.data.tables import folder_files
from nard.data.unpacking import require_file
from nard.errors import DataError
from nard.fits.classes import is_file

__all__ = ["content_of", "made_by"]

_PACKAGE = Path(nard.__file__).parent
# Packages whose version can change a number, a table or a figure, by the name that they are imported by.
_COUNTED = {
    **{name: name for name in ("numpy", "scipy", "numba", "pandas", "networkx", "matplotlib", "upsetplot")},
    "sklearn": "scikit-learn",
}


class _Source(NamedTuple):
    digest: str
    imports: frozenset[str]  # dotted names of modules, or of what is in them


def made_by(
    script: Path, modules: Iterable[str] = (), files: Iterable[Path] = (), package: Path = _PACKAGE
) -> dict[str, str]:
    """The digest of the code that a script's result depends on, and the versions of the packages that it imports.

    Parameters
    ----------
    script : Path
        If it is not there, as in a workflow that is read from another host, the whole package counts.
    modules : iterable of str
        What the script loads by name, which cannot be seen in it: modules, or files of Python.
    files : iterable of Path
        Whatever else of the workflow it reads, such as templates.
    package : Path
        The folder of the package ``nard``.
    """
    sources = _reached(script, tuple(modules), package)
    contents = {name: source.digest for name, source in sources.items()}
    contents |= {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    code = hashlib.sha256(repr(sorted(contents.items())).encode()).hexdigest()[:16]
    imported = {name.partition(".")[0] for source in sources.values() for name in source.imports}
    return {"code": code, **{_COUNTED[name]: _version(_COUNTED[name]) for name in sorted(imported & set(_COUNTED))}}


def content_of(path: str | Path) -> str | None:
    """A digest of what is in a file, or in the files of a folder and their names; None if that cannot be read.

    Times are not part of it: a file that was moved to the place of another one may be older than what was made of
    that, and a copy of a folder is as good as the folder.
    """
    # Of no name Path makes the working directory.
    is_folder, path = os.path.isdir(path), Path(path)
    try:
        files = list(folder_files(path)) if is_folder else [path]
        found = [(file.relative_to(path).as_posix(), _sum_of(file)) for file in files]
    except (OSError, DataError):
        return None
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def _sum_of(path: Path) -> str:
    require_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _reached(script: Path, modules: tuple[str, ...], package: Path) -> dict[str, _Source]:
    """The modules that a script imports, directly or not, by where they are in the package, and itself."""
    ahead = [script, *(path for name in modules for path in _named(name, package))]
    if not script.exists():
        ahead = list(package.rglob("*.py"))
    reached: dict[str, _Source] = {}
    while ahead:
        path = ahead.pop()
        place = str(path.relative_to(package)) if path.is_relative_to(package) else path.name
        if place not in reached:
            reached[place] = _source(path)
            ahead.extend(inner for name in reached[place].imports for inner in _of_package(name, package))
    return reached


def _named(name: str, package: Path) -> Iterator[Path]:
    """A module of the package, of another one, or a file."""
    if is_file(name):
        yield Path(name)
    elif name.partition(".")[0] == "nard":
        yield from _of_package(name, package)
    elif (found := find_spec(name)) and found.has_location:
        yield Path(str(found.origin))


def _of_package(name: str, package: Path) -> Iterator[Path]:
    """The files that importing a dotted name runs, if it is one of the package: packages, and the module itself."""
    first, *rest = name.split(".")
    if first != "nard":
        return
    for depth in range(len(rest) + 1):
        inside = package.joinpath(*rest[:depth])
        for path in (inside / "__init__.py", inside.with_suffix(".py")):
            if path.is_relative_to(package) and path.is_file():
                yield path


@cache
def _source(path: Path) -> _Source:
    tree = ast.parse(path.read_bytes())
    imports: set[str] = set()
    ahead: list[ast.AST] = [tree]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imports.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
        ahead.extend(ast.iter_child_nodes(node))
    return _Source(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), frozenset(imports))


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
