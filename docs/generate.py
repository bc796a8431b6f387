"""What the documentation takes from the code: config keys, files and columns, and the example network.

A hook of MkDocs. In a page, what stands between the lines ``<!-- generated: name -->`` and ``<!-- end -->`` is what the
function of that name makes. The pages are read on code hosts, too, so it is committed; ``python docs/generate.py``
writes it anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

import yaml

from nard.project.config import resolve, schema

_PAGES = Path(__file__).parent
_PLACE = re.compile(r"^<!-- generated: ([a-z_]+) -->$.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)
_MARKS = re.compile(r"^<!-- (generated: [a-z_]+|end) -->$", re.MULTILINE)
_OUTSIDE = re.compile(r"\[[^\]]+\]\(\.\./([^)]+)\)")
_EXAMPLE = {"samples": 200, "pathways": ["Apoptosis", "Cell-cycle", "PI3K/AKT"], "seed": 4, "lam": 0.1}


# Called by MkDocs


def on_page_markdown(markdown, page, config, files):
    """Fills the places of generated text; files outside of these pages are named, not linked."""
    return _OUTSIDE.sub(lambda link: f"`{link[1]}`", _MARKS.sub("", filled(markdown)))


def on_page_content(html, page, config, files):
    """Docstrings refer to code as Sphinx has it."""
    return re.sub(r":(?:meth|func|class):<code>", "<code>", html)


def filled(markdown: str) -> str:
    parts = {"config_keys": config_keys, "output_files": output_files, "example_edges": example_edges, "times": times}
    return _PLACE.sub(lambda place: f"<!-- generated: {place[1]} -->\n\n{parts[place[1]]()}\n\n<!-- end -->", markdown)


# Config keys


def config_keys() -> str:
    """A heading per key, below it its values, its default and its description."""
    parts = []
    for path, node in every_key():
        name = ".".join(path)
        # The anchor by which other pages link to a key, on any host.
        lines = [f'{"##" if len(path) == 1 else "###"} <a id="{name}"></a>`{name}`']
        facts = [_values(node)]
        if "default" in node and node.get("type") != "object":
            facts.append(f"default: `{_plain(node['default'])}`")
        lines += [" · ".join(facts), node.get("description", "")]
        parts.append("\n\n".join(filter(None, lines)))
    return "\n\n".join(parts)


def every_key(node: Mapping | None = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Mapping]]:
    """Every key of the config by its path; a cohort's own `preprocessing` has the keys of the common one."""
    for name, child in (node or schema()).get("properties", {}).items():
        child = resolve(child)
        yield (*path, name), child
        if name == "cohorts":
            yield from every_key(resolve(child["additionalProperties"]), (name, "NAME"))
        elif not (name == "preprocessing" and path):
            yield from every_key(child, (*path, name)) if "properties" in child else ()


def _values(node: Mapping) -> str:
    """What a key can be, in words."""
    node = resolve(node)
    if "anyOf" in node:
        return ", or ".join(map(_values, node["anyOf"]))
    if "enum" in node:
        return ", ".join(f"`{_plain(value)}`" for value in node["enum"])
    if "then" in node:
        return f"{_values(node['then'])}, or the path of a class"
    kinds = node.get("type", "object")
    names = {"integer": "a whole number", "number": "a number", "string": "text", "boolean": "`true` or `false`"}
    names |= {"null": "`null`", "array": "a list", "object": "keys and values"}
    words = []
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        text = names[kind]
        if kind == "array" and "items" in node:
            text += f" of {_values(node['items'])}"
        limits = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
        bounds = [f"{word} {node[limit]:g}" for limit, word in limits.items() if limit in node]
        words.append(f"{text} {' and '.join(bounds)}" if bounds and kind != "null" else text)
    return " or ".join(words)


def _plain(value) -> str:
    """As YAML has it, in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=1000).strip().removesuffix("...").strip()


# Files and columns


def described_files() -> list[dict]:
    """The files of a run as docs/outputs.yaml describes them."""
    return _read("outputs.yaml")


def _read(name: str) -> list[dict]:
    return yaml.safe_load((_PAGES / name).read_text(encoding="utf-8"))


def output_files() -> str:
    """A heading per folder, below it one per file with a table of what is in it."""
    parts, folder = [], None
    for entry in described_files():
        path = PurePosixPath(entry["file"])
        if path.parent != folder:
            folder = path.parent
            parts.append(f"## `{folder}/`")
        parts += [f"### `{path.name}`", entry["what"]]
        fields = {**entry.get("fields", {}), **entry.get("optional", {})}
        if fields:
            rows = [f"| `{name}` | {text} |" for name, text in fields.items()]
            parts.append("\n".join([f"| {entry.get('called', 'column')} | what it is |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def times() -> str:
    """The measured times of the first steps."""
    rows = [
        f"| {entry['step']} | {'not measured yet' if entry['seconds'] is None else _duration(entry['seconds'])} |"
        for entry in _read("times.yaml")
    ]
    return "\n".join(["| step | time |", "|---|---|", *rows])


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


# The example


@cache
def _example():
    """The findings of a small simulated cohort, as the workflow writes them: nodes and edges."""
    from nard import NARD
    from nard.data.antibodies import read_antibodies
    from nard.data.cohort import prepare_omics
    from nard.data.groups import coloured, own_genes, pathway_groups
    from nard.data.pathways import read_pathways
    from nard.data.simulated import simulate_omics
    from nard.data.tables import Table
    from nard.fits.results import node_table

    pathways = read_pathways().restricted(_EXAMPLE["pathways"])
    made = simulate_omics(pathways, "EXAMPLE", _EXAMPLE["samples"], 0, [], _EXAMPLE["seed"]).tables
    tables = tuple(Table(made[side].T, "simulated", ()) for side in ("inputs", "outputs"))
    options = {key: child.get("default") for key, child in schema()["$defs"]["preprocessing"]["properties"].items()}
    prepared = prepare_omics(tables, dict.fromkeys(made, "simulated"), pathways, options)
    groups = pathway_groups(prepared.X.columns, prepared.Y.columns, pathways, read_antibodies())
    model = NARD(lam=_EXAMPLE["lam"], own=own_genes(groups), random_state=0)
    edges = model.fit(prepared.X, prepared.Y).edges()
    return node_table(coloured(groups, pathways.names), edges), edges


def draw_example(path: Path) -> None:
    from nard.figures import plot_network

    nodes, edges = _example()
    figure = plot_network(nodes, edges, title="An example", note=f"SIMULATED DATA – {_EXAMPLE['samples']} samples")
    figure.savefig(path, format="png", dpi=130, metadata={"Software": None})


def example_edges() -> str:
    """The surest edge of either sign, the last that is selected and the first that is not, as rows of edges.tsv."""
    _, edges = _example()
    columns = ["source", "target", "partial_correlation", "z", "pvalue", "qvalue", "selected"]
    selected = edges[edges["selected"]]
    positive = selected["partial_correlation"] > 0
    chosen = [selected[positive].index[0], selected[~positive].index[0], selected.index[-1], len(selected)]
    rows = [
        [f"{value:.3g}" if isinstance(value, float) else str(value) for value in row]
        for row in edges.loc[sorted(chosen), columns].itertuples(index=False)
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [columns, ["---"] * len(columns), *rows])


if __name__ == "__main__":
    for page in sorted(_PAGES.glob("*.md")):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    draw_example(_PAGES / "figures/network.png")
