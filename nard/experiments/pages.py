"""What is written about the chapters: one page each, all of them together, and their part of the report."""

from __future__ import annotations

import base64
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import pandas as pd

from nard.experiments import chapter_module
from nard.project.chapters import CHAPTERS, chapter_figures

__all__ = ["chapter_page", "machine", "report_parts", "reproduction_page"]

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


def chapter_page(name: str, table: pd.DataFrame, results: Sequence[Mapping]) -> str:
    """Table, remarks, readings and the account of the runs, in Markdown."""
    module = chapter_module(name)
    figures = "\n".join(f"![{figure}](../figures/{figure}.png)\n" for figure in chapter_figures(name))
    shown = _brief(name, table)
    part = "" if shown is table else "The main part of "
    return "\n".join(
        [
            f"## {CHAPTERS[name].title}\n",
            *(f"- {remark}" for remark in module.remarks(table)),
            f"\n{figures}",
            f"{part}[`results/tables/{name}.tsv`](../tables/{name}.tsv), from the runs in `results/paper/{name}/`:\n",
            _markdown(shown),
            "",
            "### How we read the paper\n" if CHAPTERS[name].of_paper else "### Designs\n",
            module.READINGS.strip(),
            "",
            *_account(results),
            "",
        ]
    )


def reproduction_page(pages: Mapping[str, str], settings: Mapping, options: str, date: str) -> str:
    """All chapters on one page; ``pages`` are theirs, by name, and ``options`` Snakemake's."""
    parts = [
        "# The paper's experiments, ours beside theirs\n",
        f"{machine()} {date}. Sizes × {settings['scale']:g}; at most {settings['seeds']} seeds, "
        f"{settings['seconds']:g} s and {settings['gigabytes']:g} GB per run. Every run's record "
        "(`results/paper/<chapter>/<run>.json`) has what was asked, what came out or why nothing did, the time, the "
        "memory and the commit; every table is made from them. Real data are the files that the config's `paper.files` "
        "names (config/paper.yaml says which they are).\n",
        f"All of it:\n\n    snakemake paper {options}\n\nOne chapter:\n",
        *(f"    snakemake {name} {options}" for name in pages),
        "\n## In short\n",
        *(f"- {CHAPTERS[name].title}. {_main_remark(page)}" for name, page in pages.items()),
        "",
        # The page lies one folder above the chapters'.
        *(page.replace("](../", "](") for page in pages.values()),
    ]
    return "\n".join(parts)


def report_parts(names: Sequence[str], tables: Mapping[str, pd.DataFrame], figures: Mapping[str, Path]) -> list[dict]:
    """The report's chapter about the paper; ``figures`` are PNG files by name."""
    parts = []
    for name in names:
        module = chapter_module(name)
        points = module.remarks(tables[name])
        parts.append(
            {
                "id": f"paper-{name}",
                "title": CHAPTERS[name].title,
                "points": points,
                "table": _cells(_brief(name, tables[name])),
            }
        )
        for figure in chapter_figures(name):
            picture = {
                "name": figure,
                "title": CHAPTERS[name].title,
                "data": base64.b64encode(figures[figure].read_bytes()).decode("ascii"),
                "caption": "",
                "alt": f"{CHAPTERS[name].title} ({figure}). {' '.join(points[:1])}",
            }
            parts.append({"figure": picture})
        readings = [" ".join(text.split()) for text in module.READINGS.strip().split("\n\n")]
        parts.append({"paragraphs": readings})
    return parts


def _brief(name: str, table: pd.DataFrame) -> pd.DataFrame:
    module = chapter_module(name)
    return module.brief(table) if hasattr(module, "brief") else table


def _main_remark(page: str) -> str:
    return next((line.removeprefix("- ") for line in page.splitlines() if line.startswith("- ")), "")


def machine() -> str:
    """Cores, processor, memory and the packages that do the numeric work."""
    processor, info = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if info.exists():
        models = [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        processor = models[0] if models else processor
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in _PACKAGES)
    return (
        f"{os.cpu_count()} cores of {processor}, {memory:.0f} GB, Python {platform.python_version()}, with {packages}."
    )


def _account(results: Sequence[Mapping]) -> list[str]:
    """How many runs there were, from which commits, and why some have no result."""
    done = [record for record in results if record["status"] == "done"]
    commits = sorted({record["commit"] or "no commit known" for record in results})
    lines = [f"{len(done)} of {len(results)} runs have a result, from {', '.join(commits)}."]
    reasons: dict[str, list[str]] = {}
    for record in results:
        if record["status"] != "done":
            reasons.setdefault(record["reason"], []).append(record["name"])
    return [*lines, "", *(f"- Not run: {', '.join(names)}: {reason}" for reason, names in reasons.items())]


def _shown(value) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, float):
        size = abs(value)
        return f"{value:.0f}" if size >= 1000 else f"{value:.5g}" if size >= 10 else f"{value:.4g}"
    return str(value)


def _cells(table: pd.DataFrame) -> dict:
    """A table as the report's template takes it: text, and whether it is a number."""
    numeric = [pd.api.types.is_numeric_dtype(table[column]) for column in table]
    header = [str(column).replace("_", " ") for column in table]
    rows = [list(zip(map(_shown, row), numeric, strict=True)) for row in table.itertuples(index=False)]
    return {"header": list(zip(header, numeric, strict=True)), "rows": rows}


def _markdown(table: pd.DataFrame) -> str:
    cells = _cells(table)
    header = [name for name, _ in cells["header"]]
    rules = ["---:" if number else "---" for _, number in cells["header"]]
    rows = [[text.replace("|", "\\|") for text, _ in row] for row in cells["rows"]]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rules, *rows))
