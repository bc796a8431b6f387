"""`make bench`: measures every claim about speed as a ratio, and writes benchmarks/RESULTS.md with its figures.

Every measurement runs in a process of its own (benchmarks/tasks.py), so that memory is counted for it alone. Some
sections can be left out: python benchmarks/bench.py --only glasso giant start table growth large-n shares paper
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import numpy as np
from real_data import real_data_folder

from nard.fits.methods import METHODS

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
FIGURES = HERE / "figures"
RESULTS = HERE / "RESULTS.md"
HEAD = "# Speed\n\nWritten by `make bench`. Where there is a peer or a floor, times are ratios to it in the same run."
VARIANTS = ("sequential", "hybrid", "full", "surrogate")
PYTHON_PEERS, R_PEERS = ("scikit-learn", "GGLasso", "skglm"), ("R glasso", "R huge")
# m, edge probability, and the peers that end within minutes there.
NETWORKS = [
    (20, 0.20, PYTHON_PEERS + R_PEERS),
    (50, 0.10, PYTHON_PEERS + R_PEERS),
    (100, 0.10, PYTHON_PEERS + R_PEERS),
    (200, 0.05, PYTHON_PEERS + R_PEERS),
    (500, 0.02, PYTHON_PEERS + R_PEERS),
    (1000, 0.02, ("scikit-learn", "GGLasso", "R glasso")),
    (1000, 0.10, ("scikit-learn", "GGLasso")),
    (1500, 0.02, ("scikit-learn", "GGLasso")),
    (1500, 0.10, ("scikit-learn", "GGLasso")),
    (2000, 0.02, ("scikit-learn", "GGLasso")),
]
PEER_STYLES = {
    "scikit-learn": ("#0072B2", "o"),
    "GGLasso": ("#D55E00", "s"),
    "skglm": ("#009E73", "^"),
    "R glasso": ("#CC79A7", "D"),
    "R huge": ("#E69F00", "v"),
}
GIANTS = (2000, 5000, 10000, 20000)
PACKAGES = {"scikit-learn": "sklearn", "GGLasso": "gglasso"}
GROWTH = (1500, 5000, 20000)
# Seconds per iteration in the paper's table for N = 20,000 and m = 2,000, on its machine: their shape is compared.
PAPER = {
    "d": (500, 1000, 2000, 5000, 10000, 15000, 20000, 30000),
    "full": (2.1, 2.4, 3.4, 10.7, 30.8, 70.9, 168.6, 376.7),
    "surrogate": (1.56, 1.96, 2.2, 3.7, 8.9, 20.8, 33.7, 64.7),
}


def run(task, environment=None, **arguments):
    """One task in a process of its own, and how long that process took."""
    print(f"{time.strftime('%H:%M:%S')} {task} {arguments}", flush=True)
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(HERE / "tasks.py"), task, json.dumps(arguments)],
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{task} {arguments} failed; see above.")
    result = json.loads(done.stdout.splitlines()[-1])
    result["process_seconds"] = time.perf_counter() - started
    print(f"         {json.dumps(result)}", flush=True)
    return result


def table(header, rows):
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def machine():
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        processor = next(
            (line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line), processor
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ("numpy", "scipy", "numba", "scikit-learn", "gglasso", "skglm")
    return (
        f"Machine: {os.cpu_count()} cores of {processor}, {memory:.0f} GB. Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in packages)
        + "."
    )


def r_packages():
    """Which of R's packages are there."""
    names = {peer: peer.split()[1] for peer in R_PEERS}
    if shutil.which("Rscript") is None:
        return []
    code = "cat(sapply(c({}), requireNamespace, quietly=TRUE))".format(
        ", ".join(f"'{name}'" for name in names.values())
    )
    found = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True).stdout.split()
    return [peer for peer, there in zip(names, found, strict=True) if there == "TRUE"]


def glasso():
    rows, ratios = [], {}
    there = [*PYTHON_PEERS, *r_packages()]
    for m, p, peers in NETWORKS:
        found = run(
            "compare_graphical_lassos", m=m, edge_probability=p, peers=[peer for peer in peers if peer in there]
        )
        own = found["nard"]["seconds"]
        cells = []
        for peer in there:
            if peer in found:
                ratio = found[peer]["seconds"] / own
                cells.append(f"{ratio:.1f} ({found[peer]['error']:.0e})")
                ratios.setdefault(peer, []).append((m, p, ratio))
            else:
                cells.append("not run")
        rows.append(
            [
                *(m, p, f"{found['lam']:.2f}", f"{found['nard']['error']:.0e}"),
                *cells,
                *(f"{own / found['Cholesky']['seconds']:.0f}", f"{found['warm_over_cold']:.2f}"),
            ]
        )
    fig, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
    for peer, points in ratios.items():
        colour, marker = PEER_STYLES[peer]
        sparse = [(m, ratio) for m, p, ratio in points if p != 0.10 or m <= 100]
        dense = [(m, ratio) for m, p, ratio in points if p == 0.10 and m > 100]
        ax.plot(*zip(*sparse, strict=True), marker=marker, color=colour, label=peer)
        if dense:
            style = {"marker": marker, "color": colour, "mfc": "white", "ls": ":"}
            ax.plot(*zip(*dense, strict=True), **style, label=f"{peer}, 10 % edges")
    ax.axhline(1.0, color="0.5", lw=0.8)
    ax.set(xscale="log", yscale="log", xlabel="variables m", ylabel="time relative to nard's")
    ax.set_title("Graphical lasso, cold")
    ax.legend(frameon=False, fontsize=8)
    save(fig, "graphical_lasso")
    header = ["m", "edge probability", "λ", "nard's error", *there, "in Cholesky factors", "warm/cold"]
    return (
        "## Graphical lasso\n\n"
        "Times of the peers relative to nard's, cold, in the same process (the shortest of as many runs of each as fit "
        "into two seconds up to m = 500, one run beyond; R's by R's own clock); in parentheses the relative error of "
        "the objective that each reached (scikit-learn at tol = 1e-4·|objective|, GGLasso's ADMM at tol = rtol = 1e-5, "
        "skglm's dual algorithm at tol = 1e-4, R's glasso at thr = 0.01, huge has no setting). Then nard's time is "
        "given in units of one Cholesky factor. Last comes the time to solve again, from the last solution, after S "
        "moved by 1 % of its norm, relative to a cold solve.\n\n"
        + table(header, rows)
        + "\n\n![ratios](figures/graphical_lasso.png)\n"
    )


def giant():
    there = [peer for peer in ("scikit-learn", "GGLasso") if find_spec(PACKAGES[peer])]
    found = {m: run("giant_component", m=m, cholesky=5 * (m == 5000), peers=there * (m == 2000)) for m in GIANTS}
    smallest = found[GIANTS[0]]
    slopes = [
        np.polyfit(np.log(GIANTS), [np.log(found[m][clock]) for m in GIANTS], 1)[0]
        for clock in ("seconds", "core_seconds")
    ]
    rows = [
        [
            *(f"{m:,}", f"{one['lam']:.3f}", f"{one['edges']:.1f}", f"{one['largest']:,}", one["steps"]),
            *(one["converged"], f"{one['gap']:.0e}"),
            *(f"{one[clock] / smallest[clock]:.1f}" for clock in ("seconds", "core_seconds")),
            f"{one['warm_seconds'] / one['seconds']:.2f} ({one['warm_core_seconds'] / one['core_seconds']:.2f})",
            *(f"{one['cold_gb']:.1f}", f"{one['peak_gb']:.1f}"),
        ]
        for m, one in found.items()
    ]
    at = found[5000]
    peers = "".join(
        f" At m = 2,000 {peer} takes {smallest[peer]['seconds'] / smallest['seconds']:.0f} times as long "
        f"({smallest[peer]['core_seconds'] / smallest['core_seconds']:.0f} times the cores' time), to an objective "
        f"larger by {smallest[peer]['worse']:.0e} of itself."
        for peer in there
    )
    header = ["m", "λ", "edges per variable", "largest component", "sweeps", "converged", "gap per variable"]
    header += ["time", "cores' time", "warm/cold", "memory, GB", "and with two results"]
    return (
        "## Graphical lasso of one giant component, from residuals\n\n"
        "500 samples of variables that each depend on one to three earlier ones; λ is what 16 correlations per "
        "variable exceed. Cold, to a duality gap of 1e-4 per variable; then again at 95 % of λ from that result "
        "(warm/cold, in parentheses of the time of all cores together). "
        f"Times are relative to m = {GIANTS[0]:,}; they grow like m to the power {slopes[0]:.2f} (cores' "
        f"time: {slopes[1]:.2f}). "
        f"At m = 5,000 the cold solve takes {at['seconds'] / at['cholesky_seconds']:.1f} times as long as one Cholesky "
        f"factor of that size (cores' time: {at['core_seconds'] / at['cholesky_core_seconds']:.1f} times).{peers}\n\n"
        + table(header, rows)
        + "\n"
    )


def start():
    with tempfile.TemporaryDirectory() as cache:
        environment = {"NUMBA_CACHE_DIR": cache}
        code = "import numpy as np; from nard import graphical_lasso; graphical_lasso(np.array([[1, .5], [.5, 1]]), .1)"
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
            seconds.append(time.perf_counter() - started)
    return (
        "## First use\n\n"
        f"Importing `graphical_lasso` and a first small solve: {seconds[0]:.1f} s in the first process, which compiles "
        f"and keeps the result on disk; {min(seconds[1:]):.1f} s in any later one.\n"
    )


def table_one():
    rows = []
    for method in VARIANTS:
        found = run("table_one", method=method)
        rows.append(
            [
                *(method, f"{found['ratio']:.0f}", f"{found['peak_gb']:.1f}", found["converged"]),
                *(f"{found['inputs_found']} of {found['inputs_true']}", found["inputs_false"]),
                *(f"{found['entry_tpr']:.3f}", f"{found['entry_fpr']:.5f}"),
            ]
        )
    header = ["method", "time / time of XXᵀ", "peak memory, GB", "converged", "relevant inputs found", "false inputs"]
    return (
        "## The paper's Table 1: d = 5,000, m = N = 1,500\n\n"
        "Edge probability 0.1, 5 % of the inputs relevant, 10 % of the entries in their columns, λ = 0.06. The whole "
        "`fit` of the paper's model, tests of 7.5 million entries included. Findings at a false discovery rate of "
        "5 %.\n\n" + table([*header, "entries: TPR", "FPR"], rows) + "\n"
    )


def growth():
    seconds = {method: [] for method in VARIANTS}
    for d in GROWTH:
        for method in VARIANTS:
            found = run("table_one", method=method, d=d, relevant=250 / d if d > 5000 else 0.05)
            seconds[method].append(found["ratio"] * found["product"])
    fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    rows = []
    for method in VARIANTS:
        slope = np.polyfit(np.log(GROWTH), np.log(seconds[method]), 1)[0]
        relative = np.array(seconds[method]) / seconds[method][GROWTH.index(5000)]
        look = {"color": METHODS[method].colour, "marker": METHODS[method].marker}
        ax.plot(GROWTH, relative, label=f"{method}: d^{slope:.2f}", **look)
        rows.append([method, f"{slope:.2f}", *(f"{value:.2f}" for value in relative)])
    for method in ("full", "surrogate"):
        relative = np.array(PAPER[method]) / PAPER[method][PAPER["d"].index(5000)]
        label = f"paper, {method} (N = 20,000, an iteration)"
        ax.plot(PAPER["d"], relative, color=METHODS[method].colour, ls=":", label=label)
    ax.set(xscale="log", yscale="log", xlabel="inputs d", ylabel="time relative to d = 5,000")
    ax.set_title("Growth with d, m = N = 1,500")
    ax.legend(frameon=False, fontsize=8)
    save(fig, "growth")
    return (
        "## Growth with the number of inputs, m = N = 1,500\n\n"
        "Fitted slope of ln(time) over ln d, and times relative to d = 5,000. As many inputs are relevant from "
        "d = 5,000 on. The paper prints no times for this figure; dotted in the plot are its times per iteration at "
        "N = 20,000, m = 2,000.\n\n"
        + table(["method", "slope", *(f"d = {d:,}" for d in GROWTH)], rows)
        + "\n\n![growth](figures/growth.png)\n"
    )


def large_n():
    rows = []
    for d in (500, 2000, 5000):
        found = {n: run("iteration", n=n, d=d) for n in (max(5000, d), 20000)}
        (_, small), (_, large) = found.items()
        rows.append(
            [
                *(f"{d:,}", f"{min(found):,}", f"{large['step'] / small['step']:.2f}"),
                *(f"{large['products'] / small['products']:.1f}", f"{large['peak_gb']:.1f}"),
            ]
        )
    header = ["d", "smaller N", "step at 20,000 / step at smaller N", "cross-products likewise", "peak memory, GB"]
    return (
        "## Many samples: N = 20,000, m = 2,000\n\n"
        "The work of an outer step of `sequential` (statistics of all inputs anew, 20 moves, a cold graphical lasso), "
        "after the one-off products XᵀX, XᵀY and YᵀY, at N = 20,000 and at a smaller N.\n\n"
        + table(header, rows)
        + "\n"
    )


def shares():
    if real_data_folder() is None:
        return "## A-shares\n\nNot run: NARD_REAL_DATA is not set.\n"
    rows = []
    for method in ("sequential", "hybrid"):
        found = run("shares", method=method)
        rows.append(
            [
                *(method, f"{found['seconds'] / 60:.1f}", f"{found['peak_gb']:.1f}", found["converged"]),
                *(found["active"], f"{found['entries_per_output']:.1f}"),
                f"{found['error'] / found['naive_error']:.0f}",
            ]
        )
    n, d, m = found["shape"]
    header = ["method", "minutes", "peak memory, GB", "converged", "active inputs", "entries found per output"]
    return (
        f"## A-shares: d = {d:,}, m = {m:,}, N = {n:,} and 200 days held out\n\n"
        "Five days of open, high, low and close of every share → next day's open, the paper's model at λ = 0.1. "
        "Entries are found at a false discovery rate of 0.001. Mean squared error of the posterior mean on the last "
        "200 days, in units of the training variances, relative to “tomorrow's open = today's close”.\n\n"
        + table([*header, "error"], rows)
        + "\n\n"
        f"Every share's close matters for one output only, while an input's α is shared by all outputs: the evidence "
        f"prefers {found['active']:,} active inputs for {n:,} samples, with dense weights.\n"
    )


def paper_shape():
    found = run("table_one", method="hybrid", d=60640, m=3032, n=1696, relevant=300 / 60640, edge_probability=0.02)
    return (
        "## The paper's stock data in shape: d = 60,640, m = 3,032, N = 1,696, simulated\n\n"
        f"`hybrid` at λ = 0.06: {found['process_seconds'] / 60:.1f} minutes, simulation included, "
        f"{found['ratio']:.0f} × the time of XXᵀ, {found['peak_gb']:.1f} GB at most; "
        f"{found['inputs_found']} of {found['inputs_true']} relevant inputs found and {found['inputs_false']} others, "
        f"entries: TPR {found['entry_tpr']:.3f}, FPR {found['entry_fpr']:.5f}. The paper reports 3 to 14.5 hours "
        "for its variants on the real data, on its machine.\n"
    )


def transcriptome():
    found = run("transcriptome")
    return (
        "## Whole transcriptome: d = 20,000, m = 200, N = 350, everything at its defaults\n\n"
        f"λ by five-fold cross-validation over a path of 40 values, of which {found['lams']} were needed, and the "
        f"parts of the model (`{found['relevance']}` was chosen): {found['seconds']:.0f} s, {found['peak_gb']:.1f} GB "
        f"at most; {found['inputs_found']} of {found['inputs_true']} relevant inputs found and "
        f"{found['inputs_false']} others.\n"
    )


def save(fig, name):
    FIGURES.mkdir(exist_ok=True)
    for suffix in ("png", "svg"):
        # Without a date the file changes only when the figure does.
        fig.savefig(FIGURES / f"{name}.{suffix}", dpi=150, metadata={"Date": None} if suffix == "svg" else None)
    plt.close(fig)


SECTIONS = {
    "glasso": glasso,
    "giant": giant,
    "start": start,
    "table": table_one,
    "growth": growth,
    "large-n": large_n,
    "shares": shares,
    "paper": paper_shape,
    "transcriptome": transcriptome,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="sections to measure anew")
    chosen = parser.parse_args().only
    # Sections that are not measured anew are kept as they are.
    texts = (
        dict(re.findall(r"<!-- (\S+) -->\n(.*?)\n(?=<!-- |\Z)", RESULTS.read_text(), re.DOTALL))
        if RESULTS.exists()
        else {}
    )
    for name in chosen:
        texts[name] = SECTIONS[name]()
        parts = [f"<!-- {section} -->\n{texts[section]}" for section in SECTIONS if section in texts]
        RESULTS.write_text(f"{HEAD}\n\n{machine()}\n\n" + "\n".join(parts) + "\n")
    print(f"Written to {RESULTS}.")


if __name__ == "__main__":
    main()
