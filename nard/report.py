"""The report: one HTML page that holds its figures, tables and words, and can be mailed."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pandas as pd

import nard

__all__ = ["Figure", "figure_of", "html_table", "render", "software"]

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "numba", "networkx", "matplotlib", "upsetplot", "snakemake")


class Figure(SimpleNamespace):
    """A picture with its caption: ``name``, ``title`` (for screen readers), ``data`` (base64 PNG), ``caption``."""


def figure_of(path: str | Path, caption: str | Path, cohort: str | None, title: str) -> Figure:
    """``caption`` is a template that Snakemake's own report uses too, so it speaks of ``snakemake.wildcards``."""
    text = jinja2.Template(Path(caption).read_text(encoding="utf-8")).render(
        snakemake=SimpleNamespace(wildcards=SimpleNamespace(cohort=cohort))
    )
    path = Path(path)
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return Figure(name=path.stem, title=title, data=data, caption=" ".join(text.split()))


def html_table(table: pd.DataFrame, digits: int = 3) -> dict:
    """A table as header and rows of text; numbers are rounded and marked for right alignment."""
    numeric = [pd.api.types.is_numeric_dtype(table[column]) and table[column].dtype != bool for column in table]
    rows = [
        [(_shown(value, digits), is_number) for value, is_number in zip(row, numeric, strict=True)]
        for row in table.itertuples(index=False)
    ]
    header = [(str(column).replace("_", " "), is_number) for column, is_number in zip(table.columns, numeric, strict=True)]
    return {"header": header, "rows": rows}


def software() -> list[tuple[str, str]]:
    versions = [("nard", nard.__version__)]
    for package in _PACKAGES:
        try:
            versions.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            versions.append((package, "not installed"))
    return versions


def render(template: str | Path, sections: Sequence[Mapping], **page) -> str:
    """The page. Every name that comes from data is escaped."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(Path(template).read_text(encoding="utf-8")).render(sections=sections, **page)


def _shown(value, digits: int) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.{digits}f}" if abs(value) >= 10**-digits or value == 0 else f"{value:.1e}"
    return str(value)
