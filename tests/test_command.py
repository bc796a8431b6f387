"""The command line."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from cohorts import N, raw_tables, write

import nard
from nard.baselines import CAPME
from nard.command import main
from nard.errors import FitError
from nard.files import read_json, read_tsv, write_json, write_tsv
from nard.fits.fitting import FIT_FILES
from nard.project.config import load_config, schema
from nard.project.patterns import files_by_cohort

PATHWAYS = ["Apoptosis", "Cell-cycle"]
QUICK = ["--lam", "0.1", "--relevance", "inputs", "--hidden", "0"]


def said(capsys, *arguments, code=0):
    """What a command prints to standard output and to standard error."""
    assert main([str(argument) for argument in arguments]) == code
    return capsys.readouterr()


def refused(capsys, *arguments):
    """What a command says of wrong usage."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    assert stopped.value.code == 2
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A small simulated cohort, and one fit of it."""
    folder = tmp_path_factory.mktemp("demo")
    assert main(["simulate", "-o", str(folder), "--samples", "60", "--pathways", *PATHWAYS]) == 0
    tables = [str(folder / f"{side}.tsv.gz") for side in ("inputs", "outputs")]
    assert main(["fit", *tables, "-o", str(folder / "fit"), *QUICK]) == 0
    return folder


@pytest.fixture(scope="module")
def tables(demo):
    return demo / "inputs.tsv.gz", demo / "outputs.tsv.gz"


# What all commands have in common


def test_help_comes_at_once_and_without_the_numerics():
    code = (
        "import sys\nfrom nard.command import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'numpy', 'pandas', 'sklearn', 'numba', 'matplotlib', 'snakemake'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for command in ("fit", "check", "init", "simulate", "compare", "plot"):
        assert command in done.stdout


@pytest.mark.parametrize("command", ["fit", "check", "init", "simulate", "compare", "plot"])
def test_every_command_has_help_with_examples(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert f"examples:\n  nard {command} " in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"nard {nard.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["fit", "x", "y"], "-o/--output"),
        (["fit", "x", "y", "-o", "z", "--lam", "-1"], "'-1' is not cv, ebic or a number of at least 0"),
        (["fit", "x", "y", "-o", "z", "--lam", "nan"], "'nan' is not cv"),
        (["fit", "x", "y", "-o", "z", "--fdr", "1"], "'1' is not a number between 0 and 1"),
        (["fit", "x", "y", "-o", "z", "--seed", "0.5"], "'0.5' is not a whole number"),
        (["fit", "x", "y", "-o", "z", "--method", "sequentiel"], "invalid choice: 'sequentiel'"),
        (["check", "a", "b", "c"], "one config or two tables, not 3 files"),
        (["compare", "a"], "two folders or more"),
        (["compare", "a", "a"], "named twice"),
        (["init", "p", "--inputs", "x"], "--inputs and --outputs go together"),
        (["init", "p", "--inputs", "x", "--outputs", "y", "--adjust", "age"], "--adjust needs --covariates"),
        (["init", "p", "--covariates", "c"], "need --inputs and --outputs"),
        (["init", "p", "--table", "t", "--cohort", "A=x,y"], "one of these"),
        (["init", "p", "--cohort", "A=x"], "'A=x' is not NAME=INPUTS,OUTPUTS"),
        (["init", "p", "--cohort", "A=x,y", "--name", "B"], "one --name for one cohort"),
        (["init", "p", "--inputs", "x", "--outputs", "y", "--name", "A", "B"], "one --name for one cohort"),
        (["init", "p", "--macro", "x"], "need --table"),
    ],
)
def test_wrong_usage(arguments, message, capsys):
    assert message in refused(capsys, *arguments)


def test_ctrl_c_is_tidy(tables, tmp_path):
    """A word, not a traceback, and no half of a result."""
    command = [sys.executable, "-m", "nard", "fit", *map(str, tables), "-o", str(tmp_path / "out"), "--method", "jrns"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while "fitting" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert rest == "stopped\n"
    assert not (tmp_path / "out").exists()


def test_output_that_nobody_reads_to_its_end(demo, monkeypatch):
    class Closed(io.TextIOBase):
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return unused

    with open(os.devnull, "w") as stream:
        unused = stream.fileno()
        monkeypatch.setattr("sys.stdout", Closed())
        assert main(["compare", str(demo / "fit"), "--truth", str(demo)]) == 0


# nard fit


def test_fit_writes_the_files_of_a_fit(demo):
    assert {path.name for path in (demo / "fit").iterdir()} == {*FIT_FILES.values(), "groups.tsv"}
    fit = json.loads((demo / "fit" / "fit.json").read_text())
    assert (fit["cohort"], fit["simulated"], fit["n_samples"], fit["tuned"]["lam"]) == ("DEMO", True, 60, 0.1)


def test_fit_of_entries_and_hidden_inputs(demo, tables, tmp_path, capsys):
    settings = ["--lam", "0.1", "--relevance", "entries", "--hidden", "2", "--statistics", "all"]
    fit = json.loads(said(capsys, "fit", *tables, "-o", tmp_path / "out", *settings, "--json").out)
    assert fit["tuned"] == {"lam": 0.1, "relevance": "entries", "hidden": 2, "tails": None}
    assert fit["tested"] == {"relevance": "entries", "hidden": 2}
    assert fit["hidden"] == {"number": 2}
    hidden = read_tsv(tmp_path / "out" / "hidden.tsv")
    outputs = list(read_tsv(tables[1], index_col=0).index)
    assert hidden["target"].tolist() == 2 * outputs
    with np.load(tmp_path / "out" / "model.npz") as model:
        np.testing.assert_allclose(hidden["loading"], model["hidden_loadings"].ravel(), rtol=1e-6)
    # A protein's own inputs are its genes, and every z is kept where that was asked for.
    with np.load(tmp_path / "out" / "statistics.npz") as kept:
        assert kept["associations"].shape == (len(kept["features"]), len(outputs))
    assert not (demo / "fit" / "statistics.npz").exists()
    associations = read_tsv(tmp_path / "out" / "associations.tsv")
    genes = read_tsv(tmp_path / "out" / "nodes.tsv").set_index("id")["genes"].str.split(";")
    own = [row.feature in genes[row.target] for row in associations.itertuples()]
    assert any(own)
    assert associations["own"].tolist() == own
    assert associations["stand_ins"].map(type).eq(str).all()
    # The paper's model has none of it, and a baseline's tables have the same columns.
    assert read_tsv(demo / "fit" / "hidden.tsv").empty
    said(capsys, "fit", *tables, "-o", tmp_path / "baseline", "--method", "mssl")
    baseline = read_tsv(tmp_path / "baseline" / "associations.tsv")
    assert list(baseline) == list(associations)
    assert not baseline["own"].any()


def test_fit_has_the_defaults_of_the_config():
    import argparse

    from nard.command import fit

    parser = argparse.ArgumentParser()
    fit.add(parser.add_subparsers())
    options = parser.parse_args(["fit", "x", "y", "-o", "z"])
    properties = schema()["properties"]
    for name in ("lam", "fdr", "statistics", "relevance", "hidden", "time_budget"):
        assert getattr(options, name) == properties["fit"]["properties"][name]["default"]
    assert options.seed == properties["seed"]["default"]


def test_fit_does_not_depend_on_the_way_the_tables_are_written(demo, tables, tmp_path, capsys):
    """Samples in rows, as CSV, in another order, one of them missing from Y: the findings of the same data."""
    x, y = (read_tsv(path, index_col=0, dtype={0: str}).T for path in tables)
    shuffled = x.sample(frac=1, random_state=0)
    shuffled.to_csv(tmp_path / "x.csv")
    write(y.T, tmp_path / "y.tsv")
    result = said(capsys, "fit", tmp_path / "x.csv", tmp_path / "y.tsv", "-o", tmp_path / "out", *QUICK, "--json")
    for name in ("edges.tsv", "associations.tsv", "features.tsv", "nodes.tsv"):
        assert (tmp_path / "out" / name).read_bytes() == (demo / "fit" / name).read_bytes()
    summary = json.loads(result.out)
    assert summary["cohort"] == "out"
    assert summary["simulated"] is False
    assert summary["files"]["edges"] == str(tmp_path / "out" / "edges.tsv")
    assert "not measured among the inputs" in result.err


def test_fit_tells_samples_by_the_names_that_the_tables_share(tmp_path, capsys):
    """No barcodes, no known genes, one table either way round."""
    rng = np.random.default_rng(0)
    samples = [f"mouse {i}" for i in range(40)]
    x = pd.DataFrame(rng.standard_normal((40, 3)), samples, ["diet", "weight", "dose"])
    y = pd.DataFrame(rng.standard_normal((40, 4)) + x[["dose"]].to_numpy(), samples, ["a", "b", "c", "d"])
    x.to_csv(tmp_path / "x.csv")
    y.T.to_csv(tmp_path / "y.csv")
    said(capsys, "fit", tmp_path / "x.csv", tmp_path / "y.csv", "-o", tmp_path / "out", *QUICK)
    features = read_tsv(tmp_path / "out" / "features.tsv").set_index("feature")["selected"]
    assert features.to_dict() == {"dose": True, "weight": False, "diet": False}
    y.set_axis(list(range(40)), axis=0).to_csv(tmp_path / "z.csv")
    err = said(capsys, "fit", tmp_path / "x.csv", tmp_path / "z.csv", "-o", tmp_path / "no", code=1).err
    assert "cannot tell whether the samples are in rows or in columns" in err
    assert not (tmp_path / "no").exists()


def test_fit_by_own_pathways(tables, tmp_path, capsys):
    (tmp_path / "pathways.tsv").write_text("pathway\tprotein\tgene\nMine\tBAX\tBAX\n")
    said(capsys, "fit", *tables, "-o", tmp_path / "out", *QUICK, "--groups", tmp_path / "pathways.tsv", "--name", "A")
    pathways = read_tsv(tmp_path / "out" / "nodes.tsv").set_index("id")["pathway"]
    assert pathways["BAX"] == "Mine"
    assert set(pathways.drop("BAX")) == {"other"}
    fit = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert (fit["title"], fit["simulated"]) == ("A", True)


def test_fit_by_groups_of_more_features(demo, tables, tmp_path, capsys):
    """Nodes are the outputs that were fitted, whatever else the table of groups has."""
    groups = read_tsv(demo / "fit" / "nodes.tsv", dtype=str)
    y = read_tsv(tables[1], index_col=0, dtype={0: str})
    named = [("inputs", name) for name in read_tsv(tables[0], index_col=0, dtype={0: str}).index]
    named += [("outputs", name) for name in (*y.index, "NOT_MEASURED")]
    rows = [f"{side}\t{name}\tx\tA\tA\t{name}\t#000000" for side, name in named]
    header = "side\tname\tkind\tpathway\tpathways\tgenes\tcolour"
    (tmp_path / "groups.tsv").write_text("\n".join([header, *rows]) + "\n")
    said(capsys, "fit", *tables, "-o", tmp_path / "out", *QUICK, "--groups", tmp_path / "groups.tsv")
    assert set(read_tsv(tmp_path / "out" / "nodes.tsv", dtype=str)["id"]) == set(groups["id"])


def test_fit_by_groups_that_lack_a_name(tables, tmp_path, capsys):
    rows = "side\tname\tkind\tpathway\tpathways\tgenes\tcolour\ninputs\tBAX\tmRNA\tA\tA\tBAX\t#000000\n"
    (tmp_path / "groups.tsv").write_text(rows)
    command = ("fit", *tables, "-o", tmp_path / "out", "--groups", tmp_path / "groups.tsv")
    assert "15 of the inputs are not in it" in said(capsys, *command, code=1).err
    (tmp_path / "groups.tsv").write_text("side\tname\ninputs\tBAX\n")
    assert "expected: side, name, kind" in said(capsys, *command, code=1).err


def _gap_of_inputs(mrna, rppa):
    mrna.iloc[0, 3] = np.nan


def _constant(mrna, rppa):
    rppa.iloc[0] = 1.0


@pytest.mark.parametrize(
    ("spoil", "message"), [(_gap_of_inputs, "contains NaN"), (_constant, "constant"), (None, "none.tsv: no such file")]
)
def test_fit_of_tables_that_cannot_be_fitted(spoil, message, tmp_path, capsys):
    mrna, rppa = raw_tables()
    if spoil:
        spoil(mrna, rppa)
    x, y = write(mrna, tmp_path / "x.tsv"), write(rppa, tmp_path / "y.tsv")
    files = (x, y) if spoil else (tmp_path / "none.tsv", y)
    err = said(capsys, "fit", *files, "-o", tmp_path / "out", *QUICK, code=1).err
    assert message in err
    assert "Traceback" not in err
    assert "nard init" in err or not spoil
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", ["sequential", "ard", "mrce"])
def test_fit_tells_copies_once_whatever_the_method(method, tmp_path, capsys):
    mrna, rppa = raw_tables()
    y = pd.concat([rppa.iloc[:3], rppa.iloc[[0]].set_axis(["COPY"])]).rename_axis("sample")
    files = write(mrna.iloc[:3], tmp_path / "x.tsv"), write(y, tmp_path / "y.tsv")
    err = said(capsys, "fit", *files, "-o", tmp_path / "out", *QUICK, "--method", method).err
    assert len([line for line in err.splitlines() if "COPY" in line and "copies" in line]) == 1
    fit = read_json(tmp_path / "out" / "fit.json")
    told = fit["cautions"] if method == "sequential" else fit["trust"]["advice"]
    assert [fact["code"] for fact in told] == ["copies"]


def test_fit_into_a_folder_that_cannot_be(tables, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    err = said(capsys, "fit", *tables, "-o", tmp_path / "file" / "out", *QUICK, code=1).err
    assert err.splitlines()[-1].startswith("error: ")


# nard check


@pytest.fixture
def config(tmp_path):
    """A sound cohort, one without a file, and a simulated one."""
    mrna, rppa = raw_tables()
    sound = {"source": "files", "inputs": write(mrna, tmp_path / "x.tsv"), "outputs": write(rppa, tmp_path / "y.tsv")}
    cohorts = {"GOOD": sound, "BAD": {**sound, "inputs": str(tmp_path / "none.tsv")}, "SIM": {"source": "simulated"}}

    def written(*names):
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump({"cohorts": {name: cohorts[name] for name in names}}))
        return str(path)

    return written


def test_check_prints_a_table(config, capsys):
    out = said(capsys, "check", config("GOOD", "SIM")).out
    row = next(line for line in out.splitlines() if "GOOD" in line)
    assert row.split()[-5:] == [str(N), "73", "77", "none", "left"]
    assert "checked by the workflow (snakemake --cores 1 check): SIM" in out


def test_check_goes_on_after_an_error(config, capsys):
    result = said(capsys, "check", config("BAD", "GOOD"), code=1)
    assert "GOOD" in result.out
    assert "cohorts.BAD.inputs" in result.err
    assert "none.tsv" in result.err


def test_check_as_json(config, tmp_path, capsys):
    found = json.loads(said(capsys, "check", config("BAD", "GOOD", "SIM"), "--json", code=1).out)
    [account] = found["cohorts"]
    assert (account["cohort"], account["n_samples"], account["notes"][0]["code"]) == ("GOOD", N, "read")
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml", "x.tsv", "y.tsv"}  # nothing is written
    assert found["checked_later"] == ["SIM"]
    assert "none.tsv" in found["errors"][0]


def test_check_of_a_config_that_is_not_there(tmp_path, capsys):
    assert "none.yaml: no such file" in said(capsys, "check", tmp_path / "none.yaml", code=1).err


def test_check_of_two_tables(tmp_path, capsys):
    mrna, rppa = raw_tables()
    rppa.iloc[:, 0] = np.nan
    x, y = write(2**mrna, tmp_path / "x.tsv"), write(rppa.iloc[:, :-1], tmp_path / "y.tsv")
    found = json.loads(said(capsys, "check", x, y, "--json").out)
    assert found["samples"] == N - 1
    assert found["inputs"]["looks_raw"]
    assert (found["inputs"]["in_pathways"], found["inputs"]["of_pathways"]) == (73, 73)
    assert found["outputs"]["missing"] == pytest.approx(1 / (N - 1))
    out = said(capsys, "check", x, y).out
    assert f"samples in both: {N - 1}" in out
    assert "look like raw counts" in out


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1e76, -1e160, 1e200])
@pytest.mark.parametrize("side", [0, 1])
def test_values_beyond_measure_are_told_of_any_two_tables(side, value, tmp_path, capsys):
    pair = raw_tables()
    pair[1].iloc[1] = np.nan
    files = [write(table, tmp_path / name) for table, name in zip(pair, ("x.tsv", "y.tsv"), strict=True)]
    assert said(capsys, "check", *files).err == ""
    pair[side].iloc[3, 1] = value
    write(pair[side], files[side])
    new = ("init", tmp_path / "new", "--inputs", files[0], "--outputs", files[1])
    for command in (("check", *files), ("fit", *files, "-o", tmp_path / "new", "--method", "mrce"), new):
        err = said(capsys, *command, code=1).err
        assert f"{files[side]} has values too large or too small to compute with in 1 column(s)" in err
    assert not (tmp_path / "new").exists()


# nard simulate


def test_simulate_makes_what_the_workflow_makes(demo):
    from nard.data.pathways import read_pathways
    from nard.data.simulated import simulate_omics

    cohort = simulate_omics(read_pathways(None, PATHWAYS), "DEMO", 60, 0, [], 1)
    for side in ("inputs", "outputs"):
        table = read_tsv(demo / f"{side}.tsv.gz", index_col=0, dtype={0: str})
        np.testing.assert_allclose(table.to_numpy(), cohort.tables[side].to_numpy(), rtol=1e-7)
        assert list(table.index) == list(cohort.tables[side].index)
    assert len(read_tsv(demo / "truth_edges.tsv")) == len(cohort.edges)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "../escape"], "letters, digits, - and _ only"),
        (["--samples", "3"], "less than the minimum of 20"),
        (["--pathways", "Apoptosys"], "Did you mean 'Apoptosis'"),
    ],
)
def test_simulate_refuses(arguments, message, tmp_path, capsys):
    assert message in said(capsys, "simulate", "-o", tmp_path / "out", *arguments, code=1).err
    assert not (tmp_path / "out").exists()


# nard compare


def test_compare_fits(demo, tables, tmp_path, capsys):
    said(capsys, "fit", *tables, "-o", tmp_path / "b", "--lam", "0.1", "--method", "mssl")
    rows = json.loads(said(capsys, "compare", demo / "fit", tmp_path / "b", "--json").out)
    from nard.fits.comparison import association_set, jaccard

    a, b = (association_set(read_tsv(folder / "associations.tsv")) for folder in (demo / "fit", tmp_path / "b"))
    assert rows[0] == {
        "a": str(demo / "fit"),
        "b": str(tmp_path / "b"),
        "what": "associations",
        "jaccard": jaccard(a, b),
        "n_a": len(a),
        "n_b": len(b),
    }
    assert [row["what"] for row in rows] == ["associations", "edges"]
    assert "jaccard" in said(capsys, "compare", demo / "fit", tmp_path / "b").out


def test_compare_fits_that_found_nothing(demo, tmp_path, capsys):
    for name in ("a", "b"):
        for what in ("associations", "edges"):
            table = read_tsv(demo / f"fit/{what}.tsv").assign(selected=False)
            write_tsv(table, tmp_path / name / f"{what}.tsv")
    folders = tmp_path / "a", tmp_path / "b"
    assert [row["jaccard"] for row in json.loads(said(capsys, "compare", *folders, "--json").out)] == [None, None]
    assert said(capsys, "compare", *folders).out.count("n/a") == 2


def test_compare_with_the_truth(demo, capsys):
    rows = {
        row["what"]: row for row in json.loads(said(capsys, "compare", demo / "fit", "--truth", demo, "--json").out)
    }
    true = read_tsv(demo / "truth_associations.tsv")
    assert rows["associations"]["true"] == len(true)
    assert rows["features"]["true"] == true["feature"].nunique()
    assert rows["associations"]["tpr"] > 0.5
    assert rows["associations"]["fdr"] < 0.3


def test_compare_a_fit_that_there_is_not(demo, tmp_path, capsys):
    folder = tmp_path / "own"
    shutil.copytree(demo / "fit", folder)
    failed = {"code": "singular matrix", "message": "of rank 3"}
    write_json({**read_json(folder / "fit.json"), "failed": failed}, folder / "fit.json")
    err = said(capsys, "compare", demo / "fit", folder, code=1).err
    assert f"{folder}: this method could not be fitted: singular matrix: of rank 3" in err


def test_fit_that_cannot_be_says_why(tables, tmp_path, capsys, monkeypatch):
    def give_up(self, X, Y):
        raise FitError("its posterior is improper.")

    monkeypatch.setattr(CAPME, "_estimate", give_up)
    err = said(capsys, "fit", *tables, "-o", tmp_path / "out", "--method", "capme", code=1).err
    assert "capme cannot be fitted to these data: its posterior is improper." in err


def test_compare_what_is_no_fit(demo, tmp_path, capsys):
    err = said(capsys, "compare", demo / "fit", tmp_path, code=1).err
    assert f"{tmp_path}: no associations.tsv in this folder" in err


# nard plot


def test_plot(demo, capsys):
    written = json.loads(said(capsys, "plot", demo / "fit", "--format", "png", "svg", "--json").out)["figures"]
    names = {Path(path).name for path in written}
    assert names == {
        f"{name}.{kind}" for name in ("network", "associations", "trace", "trust") for kind in ("png", "svg")
    }
    assert all(Path(path).stat().st_size > 5000 for path in written)
    network = (demo / "fit" / "figures" / "network.svg").read_text()
    # The stamp of the simulated data is drawn as shapes of letters, with its text as a comment.
    assert "SIMULATED DATA" in network
    for path in written:
        os.remove(path)
    os.rmdir(demo / "fit" / "figures")


def test_plot_of_nothing(tmp_path, capsys):
    assert "no edges.tsv in this folder" in said(capsys, "plot", tmp_path, code=1).err


# nard init


@pytest.fixture
def raw(tmp_path):
    """Files of a user: raw counts of many genes, some gaps, and a clinical table."""
    mrna, rppa = raw_tables()
    rppa = rppa.mask(np.random.default_rng(0).random(rppa.shape) < 0.01)
    clinical = pd.DataFrame({"age": np.linspace(40, 80, N), "sex": ["f", "m"] * (N // 2)}, mrna.columns)
    return {
        "inputs": write((2**mrna).round(2), tmp_path / "mrna.tsv"),
        "outputs": write(rppa, tmp_path / "rppa.tsv"),
        "covariates": write(clinical.rename_axis("sample"), tmp_path / "clinical.tsv"),
    }


def test_init_writes_a_config_that_runs(raw, tmp_path, capsys):
    project = tmp_path / "my project"
    command = ["init", project, "--name", "KIRC", "--adjust", "age", "sex"]
    for key, path in raw.items():
        command += [f"--{key}", path]
    result = json.loads(said(capsys, *command, "--json").out)
    config = load_config(result["config"])
    cohort = config["cohorts"]["KIRC"]
    assert {key: cohort[key] for key in raw} == raw
    # 77 proteins with 1 % of gaps: hardly a sample has none, so that they are filled in.
    assert cohort["preprocessing"] == {
        "genes": "pathway",
        "proteins": "pathway",
        "log": "auto",
        "adjust": ["age", "sex"],
        "impute": "knn",
    }
    assert result["found"]["n_samples"] == N
    text = (project / "config" / "config.yaml").read_text()
    for reason in (
        "73 of the 73 genes",
        "log2(x + 1) will be taken",
        "age (numbers from 40 to 80)",
        "leave too few of 40",
    ):
        assert reason in text
    assert result["next"][0] == f"cd '{project}'"
    assert result["next"][2].endswith("Snakefile --cores 2")
    assert "KIRC" in said(capsys, "check", result["config"]).out
    assert "is not overwritten" in said(capsys, *command, code=1).err
    assert (project / "config" / "config.yaml").read_text() == text


def test_init_takes_what_it_knows_nothing_about(tmp_path, capsys):
    rng = np.random.default_rng(0)
    samples = [f"s{i}" for i in range(30)]
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    x = pd.DataFrame(rng.standard_normal((2500, 30)), [f"f{i}" for i in range(2500)], samples)
    y = pd.DataFrame(rng.standard_normal((30, 3)), samples, ["u", "v", "w"])
    x.to_csv(project / "data" / "x.csv")
    y.to_csv(project / "data" / "y.csv")
    said(capsys, "init", project, "--inputs", project / "data/x.csv", "--outputs", project / "data/y.csv")
    cohort = load_config(project / "config/config.yaml")["cohorts"]["COHORT"]
    # The project can be moved with its data.
    assert (cohort["inputs"], cohort["outputs"]) == ("data/x.csv", "data/y.csv")
    assert cohort["preprocessing"] == {"genes": 2000, "proteins": "all", "log": "auto"}


def test_init_proposes_normal_scores_for_skewed_values(raw, tmp_path, capsys):
    """z-scores of what is no logarithm."""
    mrna, _ = raw_tables()
    linear = np.exp(mrna)
    linear = linear.sub(linear.mean(axis=1), axis=0).div(linear.std(axis=1), axis=0)
    path = write(linear, tmp_path / "z.tsv")
    said(capsys, "init", tmp_path / "new", "--inputs", path, "--outputs", raw["outputs"])
    text = (tmp_path / "new/config/config.yaml").read_text()
    assert yaml.safe_load(text)["cohorts"]["COHORT"]["preprocessing"]["outliers"] == "rank_normal"
    assert "half of the inputs have a skewness beyond 1." in text


def test_init_without_files_is_a_template(tmp_path, capsys):
    out = said(capsys, "init", tmp_path / "new").out
    cohort = load_config(tmp_path / "new/config/config.yaml")["cohorts"]["COHORT"]
    assert cohort["inputs"] == "data/inputs.tsv"
    assert "edit " in out
    assert "EDIT" in (tmp_path / "new/config/config.yaml").read_text()


def test_init_that_fails_writes_nothing(raw, tmp_path, capsys):
    project = tmp_path / "project"
    files = ["--inputs", raw["inputs"], "--outputs", raw["outputs"]]
    covariates = ["--covariates", raw["covariates"], "--adjust", "aeg"]
    assert "Did you mean 'age'?" in said(capsys, "init", project, *files, *covariates, code=1).err
    assert "use letters, digits" in said(capsys, "init", project, *files, "--name", "a/b", code=1).err
    assert "use letters, digits" in said(capsys, "init", project, "--name", "a: b", code=1).err
    assert "no such file" in said(capsys, "init", project, *files[:2], "--outputs", "none.tsv", code=1).err
    assert not project.exists()


@pytest.fixture
def several(tmp_path):
    """Files of three cohorts in folders of their names, and of one more that lacks its inputs."""
    for i, name in enumerate(("COAD", "LUAD", "READ", "OV")):
        (tmp_path / name).mkdir()
        mrna, rppa = raw_tables(seed=i)
        if name != "OV":
            write(mrna, tmp_path / name / "mrna.tsv")
        write(rppa, tmp_path / name / "rppa.tsv")
    return ["--inputs", f"{tmp_path}/{{cohort}}/mrna.tsv", "--outputs", f"{tmp_path}/{{cohort}}/rppa.tsv"]


def test_init_takes_several_cohorts_by_a_pattern(several, tmp_path, capsys):
    done = said(capsys, "init", tmp_path / "new", *several, "--json")
    assert "OV is left out: no file for --inputs" in done.err
    cohorts = load_config(tmp_path / "new/config/config.yaml")["cohorts"]
    assert list(cohorts) == ["COAD", "LUAD", "READ"]
    assert cohorts["LUAD"]["inputs"] == f"{tmp_path}/LUAD/mrna.tsv"
    assert [account["cohort"] for account in json.loads(done.out)["found"]] == ["COAD", "LUAD", "READ"]
    said(capsys, "check", tmp_path / "new/config/config.yaml")
    said(capsys, "init", tmp_path / "two", *several, "--name", "READ", "COAD")
    assert list(load_config(tmp_path / "two/config/config.yaml")["cohorts"]) == ["READ", "COAD"]
    for name, message in (("OV", "no cohort has all"), ("BRCA", "no such cohort.\n  found: COAD, LUAD, READ, OV")):
        assert message in said(capsys, "init", tmp_path / "none", *several, "--name", name, code=1).err
    nowhere = ["--inputs", "nowhere/{cohort}.tsv", *several[2:]]
    assert "nowhere/{cohort}.tsv: no such file" in said(capsys, "init", tmp_path / "none", *nowhere, code=1).err
    assert not (tmp_path / "none").exists()


def test_init_takes_several_cohorts_one_by_one(several, tmp_path, capsys):
    """One that cannot be read is told, and the others are written."""
    cohorts = [f"{name}={tmp_path}/{name}/mrna.tsv,{tmp_path}/{name}/rppa.tsv" for name in ("READ", "OV", "COAD")]
    arguments = [argument for cohort in cohorts for argument in ("--cohort", cohort)]
    done = said(capsys, "init", tmp_path / "new", *arguments, code=1)
    assert "cohort OV is not in the config" in done.err
    assert list(load_config(tmp_path / "new/config/config.yaml")["cohorts"]) == ["READ", "COAD"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("{cohort}/{cohort}.x.tsv", ["A", "B.2"]), ("{cohort}/x[1].tsv", ["B.2"]), ("{cohort}.h5mu#rna/log", ["A"])],
)
def test_patterns_of_files(tmp_path, pattern, names):
    for path in ("A/A.x.tsv", "B.2/B.2.x.tsv", "B.2/x[1].tsv", "C/A.x.tsv", "C/x1.tsv", "A.h5mu"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    found, lacking = files_by_cohort({"inputs": f"{tmp_path}/{pattern}", "covariates": "shared.tsv"})
    assert found == {
        name: {"inputs": f"{tmp_path}/{pattern}".replace("{cohort}", name), "covariates": "shared.tsv"}
        for name in names
    }
    assert lacking == {}


@pytest.fixture
def phenotypes(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, 100)
    columns = {
        name: age + rng.normal(0, 10, 100) for name in ("grip left", "grip right", "bmi", "crp [mg/L]", "hdl", "alp")
    }
    table = pd.DataFrame({"id": [f"p{i}" for i in range(100)], "age": age, "sex": rng.choice([0, 1], 100), **columns})
    table["seen"] = pd.date_range("2020-01-01", periods=100).strftime("%Y-%m-%d")
    return write(table, tmp_path / "phenotypes.csv", sep=",", index=False)


def test_init_takes_a_table_of_phenotypes(phenotypes, tmp_path, capsys):
    command = ["init", tmp_path / "new", "--table", phenotypes, "--id", "id", "--name", "AGING", "--adjust", "sex"]
    refused = said(capsys, *command, code=1).err
    assert "seen: dates from 2020-01-01" in refused
    assert "which columns are the outputs?\n  found: grip left, grip right, bmi, crp [mg/L], hdl, alp\n" in refused
    assert "Did you mean 'bmi'?" in said(capsys, *command, "--macro", "bmj", code=1).err
    assert "no column of numbers is left" in said(capsys, *command, "--macro", "*", code=1).err
    assert "no column 'agee'. Did you mean 'age'?" in said(capsys, *command, "--age", "agee", code=1).err
    said(capsys, *command, "--macro", "grip*", "bmi", "--molecular", "crp [mg/L]", "hdl", "alp")
    cohort = load_config(tmp_path / "new/config/config.yaml")["cohorts"]["AGING"]
    assert (cohort["kind"], cohort["id"], cohort["preprocessing"]["adjust"]) == ("aging", "id", ["age", "sex"])
    assert cohort["macro"] == {"macro": ["grip left", "grip right", "bmi"]}
    assert cohort["molecular"] == {"molecular": ["crp [mg/L]", "hdl", "alp"]}
    assert "# not in use: seen" in (tmp_path / "new/config/config.yaml").read_text()
    path = tmp_path / "new/config/config.yaml"
    assert "nothing is adjusted" not in said(capsys, "check", path).out
    path.write_text(path.read_text().replace("adjust: [age, sex]", "adjust: []"))
    assert "nothing is adjusted for age" in " ".join(said(capsys, "check", path).out.split())


def test_skewed_and_sparse_values_are_told_of_any_two_tables(tmp_path, capsys):
    mrna, rppa = raw_tables()
    sparse = rppa.mask(np.random.default_rng(0).random(rppa.shape) < 0.8, 0.0)
    files = [write(np.exp(mrna - 8), tmp_path / "x.tsv"), write(sparse, tmp_path / "y.tsv")]
    told = [said(capsys, "check", *files).out, said(capsys, "fit", *files, "-o", tmp_path / "out", *QUICK).err]
    for text in told:
        assert text.count("skewed like linear measurements") == 1
        assert f"{len(rppa)} features have the same value, such as zero" in text


def test_fit_tells_of_chains_that_have_not_converged(demo, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("nard.fits.trust.MOST_RHAT", 0.5)  # which none is
    sampler = ["--method", "jrns", "--time-budget", "0.1"]
    told = said(capsys, "fit", demo / "inputs.tsv.gz", demo / "outputs.tsv.gz", "-o", tmp_path / "out", *sampler).err
    fit = json.loads((tmp_path / "out/fit.json").read_text())
    assert [caution["code"] for caution in fit["cautions"]] == ["R-hat"]
    assert told.count("warning: The chains have not converged") == 1
