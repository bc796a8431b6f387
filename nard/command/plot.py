"""``nard plot``: the figures of one fit."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from nard.command.parts import command, say, show
from nard.errors import DataError

_EXAMPLES = """\
  nard plot out/
  nard plot results/READ/sequential --format png svg --max-edges 50

Figures go to FOLDER/figures, as the workflow draws them: network and associations (phenotype_network and
phenotype_associations of aging cohorts), trace (of methods that minimise J), trust (of the same), lam_path (if λ was
chosen)."""


def add(commands) -> None:
    parser = command(
        commands, "plot", run, "draw the network, the associations and the convergence of a fit", _EXAMPLES
    )
    parser.add_argument("folder", metavar="FOLDER", help="of a fit: of `nard fit`, or results/COHORT/METHOD")
    parser.add_argument("--format", nargs="+", choices=["png", "pdf", "svg"], default=["png", "pdf"], dest="formats")
    parser.add_argument("--max-edges", type=int, default=100, help="most edges in the network; default: %(default)s")


def run(options: argparse.Namespace) -> int:
    from nard.figures.catalogue import figures_of_cohorts
    from nard.files import read_json
    from nard.fits.fitting import FIT_FILES

    folder = Path(options.folder)
    lacking = [name for name in FIT_FILES.values() if not (folder / name).is_file()]
    # The workflow keeps the groups of the features with the data, `nard fit` with the fit.
    data = next((place for place in (folder, folder.parent / "data") if (place / "groups.tsv").is_file()), None)
    if lacking or data is None:
        name = lacking[0] if lacking else "groups.tsv"
        raise DataError(f"{folder}: no {name} in this folder.\n  expected: the folder of a fit, see `nard fit`")
    import matplotlib

    matplotlib.use("Agg")
    from nard.figures.style import save_figure

    written: list[str] = []
    config = _config_of(folder, read_json(folder / "fit.json"), options.max_edges)
    for name, figure, case in figures_of_cohorts(config):
        files = figure.files_in([{"fit": folder, "data": data}], case, config)
        paths = [folder / "figures" / f"{name}.{suffix}" for suffix in dict.fromkeys(options.formats)]
        save_figure(figure.drawn(files, figure.settings(config, case)), paths)
        written += map(str, paths)
        say(f"drawn: {name}")
    show({"figures": written}, "\n".join(written), options.json)
    return 0


def _config_of(folder: Path, fit: Mapping, max_edges: int) -> dict:
    """What the config of a run that has this fit only would say, as far as figures depend on it."""
    from nard.files import read_tsv

    tried = len(read_tsv(folder / "lam_path.tsv")) > 0
    return {
        "cohorts": {fit["cohort"]: {"kind": fit["kind"], "more_methods": []}},
        "methods": [fit["method"]],
        "reference": fit["method"],
        "fit": {"lam": "cv" if tried else fit["tuned"].get("lam")},
        "figures": {"max_edges": max_edges},
        "stability": {"subsamples": int((folder / "stability.tsv").is_file())},
    }
