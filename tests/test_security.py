"""Input that means harm: code in data, paths that lead out, names with markup, addresses with passwords."""

import ast
import bz2
import gzip
import io
import itertools
import logging
import lzma
import os
import pickle
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from nard.command import main
from nard.data.downloads import _Redirects, fetch, masked
from nard.data.expressions import rows_where
from nard.data.sheets import read_frame
from nard.data.tables import read_table
from nard.data.words import words
from nard.errors import DataError, printable
from nard.project.config import ConfigError, load_config, validated, without_secrets
from nard.report.methods_section import MethodsSection

ROOT = Path(__file__).resolve().parents[1]
PASSWORD = "s3cret/pw"
SECRET = f"https://user:{PASSWORD}@host/xena"


# No input is ever run


def _python_code():
    """The source of the package and of the workflow; rule files are made of Python and rules, so only read as text."""
    yield from [*(ROOT / "nard").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]


CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "shelve",
    "marshal",
    "subprocess",
    "telnetlib",
    "xmlrpc",
}
METHODS = {
    *("read_pickle", "to_pickle", "system", "popen", "mktemp", "extractall", "extract"),
    *("spawnl", "spawnv", "execv", "execl"),
}


# Starts this interpreter on its own module, and git to tell the commit: no word of the commands comes from a user.
EXCUSED = {("nard/experiments/running.py", "subprocess")}


def _dangers(tree):
    """Line and name of whatever runs or unpickles what it is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from ((node.lineno, name) for name in names if name.split(".")[0] in MODULES)
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id in CALLS:
            yield node.lineno, function.id
        if isinstance(function, ast.Attribute):
            owner = ast.unparse(function.value)
            constant = bool(node.args) and isinstance(node.args[0], ast.Constant)
            # DataFrame.query and eval evaluate a text, which is then to be one of ours.
            if function.attr in METHODS or (function.attr in {"eval", "query"} and not constant):
                yield node.lineno, f"{owner}.{function.attr}"
            if owner == "yaml" and function.attr in {"unsafe_load", "full_load", "load_all", "unsafe_load_all"}:
                yield node.lineno, f"yaml.{function.attr}"
            if owner == "yaml" and function.attr == "load" and not _safe_loader(tree, node):
                yield node.lineno, "yaml.load"
        for keyword in node.keywords:
            constant = getattr(keyword.value, "value", None)
            if keyword.arg in {"shell", "allow_pickle"} and constant is not False:
                yield node.lineno, f"{keyword.arg}="


def _safe_loader(tree, call):
    """Whether the loader is a class of the same file that is made from the safe one."""
    loader = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return loader in classes and [ast.unparse(base) for base in classes[loader].bases] == ["yaml.SafeLoader"]


def test_nothing_runs_or_unpickles_its_input():
    files = list(_python_code())
    assert len(files) > 80
    found = {(str(path.relative_to(ROOT)), what) for path in files for _, what in _dangers(_tree(path))}
    assert found == EXCUSED
    for path in [ROOT / "Snakefile", ROOT / "workflow/Snakefile", *(ROOT / "workflow").rglob("*.smk")]:
        text = path.read_text()
        assert not any(word in text for word in ("eval(", "exec(", "pickle", "os.system", "shell:", "shell("))


def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "code",
    [
        "eval(x)",
        "import pickle",
        "from subprocess import run",
        "np.load(f, allow_pickle=True)",
        "np.load(f, allow_pickle=choice)",
        "yaml.load(text)",
        "yaml.load(text, yaml.Loader)",
        "yaml.unsafe_load(text)",
        "run(x, shell=True)",
        "os.system(x)",
        "pd.read_pickle(x)",
        "table.eval(x)",
        "table.query(x)",
        "archive.extractall()",
    ],
)
def test_the_search_finds_what_it_looks_for(code):
    assert list(_dangers(ast.parse(code)))


class Trap:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_pickles_are_no_tables_and_no_configs(tmp_path):
    path, sprung = tmp_path / "x.tsv", tmp_path / "sprung"
    path.write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(DataError):
        read_table(path)
    config = tmp_path / "config.yaml"
    config.write_text(f"cohorts: !!python/object/apply:builtins.open ['{sprung}', 'w']\n")
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_config(config)
    assert not sprung.exists()


def test_a_filter_is_parsed_and_never_run(tmp_path):
    people = pd.DataFrame({"age": [30, 40]})
    sprung = tmp_path / "sprung"
    for expression in (
        f"open({str(sprung)!r}, 'w') == 1",
        f"__import__('pathlib').Path({str(sprung)!r}).touch() == None",
        f"age.to_csv({str(sprung)!r}) == 1",
        f"[open(p, 'w') for p in [{str(sprung)!r}]] == 1",
        f"age == f\"{{open({str(sprung)!r}, 'w')}}\"",
        f"`age` > 1 and @open({str(sprung)!r}, 'w')",
        "().__class__.__bases__[0].__subclasses__() == 1",
    ):
        with pytest.raises(DataError, match="config key `filter`"):
            rows_where(people, expression)
    assert not sprung.exists()


def test_model_files_are_written_without_pickles(tmp_path):
    from nard.files import write_npz

    write_npz(tmp_path / "m.npz", names=np.array(["a", "b"]), values=np.eye(2))
    with np.load(tmp_path / "m.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"names", "values"}


# Paths stay where they belong


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "/abs", ".hidden", "..", "a\\b", "a b", "a\n", "a\0", "", "-x", "$(id)", "a;b", "{x}", "ä"]
)
def test_cohorts_are_not_named_by_paths(name):
    with pytest.raises(ConfigError, match="use letters, digits, - and _ only"):
        validated({"cohorts": {name: {"source": "simulated"}}})


@pytest.mark.parametrize("cancer", ["../../etc", "a/b", "BRCA\n", ".."])
def test_cancers_are_not_named_by_paths(cancer):
    with pytest.raises(ConfigError):
        validated({"cohorts": {"A": {"source": "xena", "cancer": cancer}}})


TABLE = b"sample\tTCGA-AA-0001-01\tTCGA-AA-0002-01\nTP53\t1\t2\n"


@pytest.mark.parametrize("name", ["../escaped.tsv", "/tmp/escaped.tsv", "a/../../escaped.tsv", "C:\\escaped.tsv"])
def test_archives_are_read_but_never_unpacked_to_disk(tmp_path, name):
    folder = tmp_path / "in"
    folder.mkdir()
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr(name, TABLE)
    assert list(read_table(folder / "x.zip").values) == ["TP53"]
    assert {path.name for path in tmp_path.rglob("*")} == {"in", "x.zip"}
    assert not Path("/tmp/escaped.tsv").exists()


def test_a_link_in_an_archive_is_not_followed(tmp_path):
    (tmp_path / "secret.tsv").write_bytes(TABLE)
    link = zipfile.ZipInfo("table.tsv")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, str(tmp_path / "secret.tsv"))
    with pytest.raises(DataError):
        read_table(tmp_path / "x.zip")


@pytest.mark.parametrize("packed", [False, True])
def test_tar_archives_are_refused(tmp_path, packed):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        member = tarfile.TarInfo("../escaped.tsv")
        member.size = len(TABLE)
        archive.addfile(member, io.BytesIO(TABLE))
    data = content.getvalue()
    (tmp_path / "x.tar").write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(DataError, match="a tar archive"):
        read_table(tmp_path / "x.tar")
    assert {path.name for path in tmp_path.iterdir()} == {"x.tar"}


# What would never end is refused at once


def _zipped(content):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.tsv", content)
    return packed.getvalue()


BOMBS = {
    "gzip": lambda: gzip.compress(bytes(2**29)),
    "bzip2": lambda: bz2.compress(bytes(2**29)),
    "xz": lambda: lzma.compress(bytes(2**29), preset=0),
    "zip": lambda: _zipped(bytes(2**29)),
    "gzip in gzip": lambda: gzip.compress(gzip.compress(bytes(2**29))),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOMBS)
def test_archives_that_unpack_to_far_more_than_they_are(tmp_path, kind):
    path = tmp_path / "x.tsv"
    path.write_bytes(BOMBS[kind]())
    code = f"""
import resource, sys, time
from nard.data.sheets import read_frame
from nard.data.tables import read_table
from nard.data.words import words
started = time.process_time()
try:
    read_table({str(path)!r})
except ValueError as error:
    print(error)
print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    seconds, kilobytes = map(float, done.stderr.split())
    assert "unpacks to more than 250 times its size" in done.stdout
    assert seconds < 20
    assert kilobytes < 1e6


def test_a_table_of_zeros_is_no_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr("nard.data.unpacking._MUCH", 2**16)
    rows = "".join(f"G{i}" + "\t0" * 500 + "\n" for i in range(300))
    header = "sample\t" + "\t".join(f"TCGA-AA-{i:04d}-01" for i in range(500)) + "\n"
    (tmp_path / "x.gz").write_bytes(gzip.compress((header + rows).encode()))
    assert read_table(tmp_path / "x.gz").values.shape == (500, 300)


def test_an_archive_that_holds_archives_without_end(tmp_path):
    content = TABLE
    for _ in range(5):
        content = gzip.compress(content)
    (tmp_path / "x.gz").write_bytes(content)
    with pytest.raises(DataError, match="an archive in an archive, 3 times"):
        read_table(tmp_path / "x.gz")


@pytest.mark.parametrize("read", [read_table, load_config, read_frame])
def test_what_is_no_file_is_not_read(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    for path, message in {
        tmp_path / "pipe": "a pipe, not a file",
        Path("/dev/zero"): "a device, not a file",
        tmp_path / "link": "a link to nowhere, which is not there",
        tmp_path / "circle": "cannot be read",
        tmp_path / ("x" * 300): "cannot be read",
        tmp_path / "x\0y": "cannot be read",
    }.items():
        with pytest.raises(DataError, match=message):
            read(path)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    """Root may read everything, so that the refusal is made up."""

    def refuse(self, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(self))

    (tmp_path / "x.tsv").write_bytes(TABLE)
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    for read in (read_table, read_frame):
        with pytest.raises(DataError, match=r"the file cannot be read.*\n.*Permission denied"):
            read(tmp_path / "x.tsv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in itertools.pairwise("abcdefghijklmnop")),
            "more than 100000 entries",
        ),
        ("cohorts: &a {A: *a}", "an alias of what it is in itself"),
        ("a: " + "[" * 10**5, "more than 30 levels"),
        ("a: " + "{a: " * 10**5, "more than 30 levels"),
        ("- " * 10**5, "more than 30 levels"),
    ],
)
def test_configs_that_grow_or_nest_without_measure(tmp_path, text, message):
    (tmp_path / "config.yaml").write_text(text)
    started = time.process_time()
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path / "config.yaml")
    assert time.process_time() - started < 5


def test_long_names_are_quoted_shortly(tmp_path):
    long = "x" * 10**5
    (tmp_path / "x.tsv").write_text(f"sample\t{long}\tTCGA-AA-0001-01\n{long}\tno number\t{long}\n")
    with pytest.raises(DataError) as error:
        read_table(tmp_path / "x.tsv")
    assert len(str(error.value)) < 3000
    with pytest.raises(ConfigError) as error:
        validated({"cohorts": {"A": {"source": long}}, **{f"key{i}": 1 for i in range(3000)}})
    assert len(str(error.value)) < 20_000
    assert "more lines" in str(error.value)


# Names are shown, not run


def test_the_report_shows_names_and_runs_none(tmp_path):
    from nard.report.page import CohortResults, report_page

    bad = "<script>alert(1)</script>"
    summary = {
        **{"cohort": "A", "title": bad, "kind": "omics", "simulated": False},
        **{"n_samples": 30, "n_inputs": 1, "n_outputs": 2},
        "advice": [],
        "notes": [{"code": "read", "side": "inputs", "file": bad, "layout": "plain table"}],
        "dropped": [{"code": "filter", "filter": bad, "side": "inputs", "what": "samples", "count": 1, "names": [bad]}],
    }
    found = {"features": 1, "features_with_associations": 1, "associations": 1, "edges": 1}
    fit = {"fdr": 0.05, "found": found, "diagnostics": {}}
    edges = {
        "source": [bad],
        "target": ['" onload="x'],
        "partial_correlation": [0.5],
        "pvalue": [0.0],
        "qvalue": [0.0],
        "selected": [True],
    }
    associations = {
        "feature": [bad],
        "target": [bad],
        "weight": [1.0],
        "sd": [0.1],
        "pvalue": [0.0],
        "qvalue": [0.0],
        "selected": [True],
    }
    names = [bad, '" onload="x']
    nodes = pd.DataFrame({"id": names, "label": names, "pathway": bad, "pathways": bad})
    results = CohortResults(
        summary, fit, {"r2": 0.1, "log_likelihood": -1.0}, pd.DataFrame(associations), pd.DataFrame(edges), nodes
    )
    row = {"cohort": bad, "method": "sequential", "converged": True, "remark": bad}
    numbers = ("samples", "samples_with_inputs", "samples_with_outputs", "inputs", "outputs")
    counts = dict.fromkeys((*numbers, "inputs_found", "outputs_found"), 1)
    cohorts = pd.DataFrame([{"cohort": bad, "title": bad, "data": "measured", **counts}])
    tables = {"cohorts": cohorts, "methods": pd.DataFrame([row])}
    config = {**validated({"cohorts": {"A": {"source": "simulated"}}}), "mirror": SECRET, "title": bad}
    seconds, methods = {(bad, "sequential"): 1.0}, MethodsSection([f"We measured {bad}."], [bad])
    page = report_page([results], tables, [], ROOT / "workflow" / "report", config, seconds, methods)
    assert bad not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert '" onload="x' not in page
    # The config is printed, but for the password of its mirror.
    assert PASSWORD not in page
    assert "https://***@host/xena" in page


def test_a_title_is_text_in_the_methods_section():
    section = MethodsSection(["Data: <img src=x onerror=alert(1)> & <b>KIRC</b>, age < 20, q<0.05."], ["<https://doi>"])
    text = section.markdown()
    assert "&lt;img src=x" in text
    assert "&lt;b>KIRC&lt;/b>" in text
    assert "age < 20, q<0.05." in text
    assert "<https://doi>" in text


def test_names_that_a_spreadsheet_would_run_are_told(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("id\t=cmd|' /C calc'!A0\tTP53\t-3\tCD4+\n@SUM(A1)\t1\t2\t3\t4\n+b\t2\t3\t4\t5\n -c\t2\t3\t4\t6\n")
    table = read_table(path, orientation="samples_in_rows")
    (note,) = (note for note in table.notes if note["code"] == "formulas")
    assert note["count"] == 4
    assert table.values.columns[0] == "=cmd|' /C calc'!A0"
    assert "4 name(s) begin like a formula (@SUM(A1), +b, -c)" in words(note)
    path.write_text("id\tTP53\t-3\tCD4+\n1\t2\t3\t4\n-5\t2\t3\t4\n")
    assert not read_table(path, orientation="samples_in_rows").notes


# Downloads and passwords


@pytest.mark.parametrize(
    ("old", "new", "followed"),
    [
        ("http://host/x", "http://host/y", True),
        ("http://host/x", "https://host/y", True),
        ("http://host/x", "http://other/y", False),
        ("http://host/x", "http://host:8080/y", False),
        ("http://host/x", "https://cloud/y", True),
        ("https://host/x", "https://cloud/y", True),
        ("https://host/x", "http://host/y", False),
        ("https://host/x", "https://user:pw@host/y", False),
        ("https://host/x", "ftp://host/y", False),
    ],
)
def test_redirects(old, new, followed):
    from urllib.request import Request

    request = Request(old)
    if followed:
        assert _Redirects().redirect_request(request, None, 302, "", {}, new).full_url == new
    else:
        with pytest.raises(DataError, match="redirects to"):
            _Redirects().redirect_request(request, None, 302, "", {}, new)


@pytest.mark.parametrize("url", [SECRET, "http://user:pw@host/x", "ftp://a:pw@b@host/x", "user:pw@host"])
def test_addresses_are_shown_without_passwords(url):
    assert masked(url).endswith("***@host" + url.rpartition("@host")[2])
    assert "pw" not in masked(url)
    assert "user" not in masked(url)


def test_a_password_reaches_neither_logs_nor_errors(tmp_path, caplog):
    with caplog.at_level(logging.DEBUG), pytest.raises(DataError) as error:
        fetch(SECRET, tmp_path / "x.gz", attempts=1, timeout=0.1)
    assert "***@host" in caplog.text
    for text in (caplog.text, str(error.value)):
        assert PASSWORD not in text


def test_a_password_does_not_reach_the_complaints_about_a_config():
    with pytest.raises(ConfigError) as error:
        validated({"mirror": SECRET.replace("https", "ftp"), "cohorts": {"A": {"source": "xena"}}})
    assert "`mirror` is 'ftp://***@host/xena'" in str(error.value)
    assert PASSWORD not in str(error.value)


def test_what_snakemake_keeps_of_a_config_has_no_password():
    """Snakemake records the parameters of every job, so that these must not hold the mirror as it is."""
    config = validated({"mirror": SECRET, "cohorts": {"A": {"source": "simulated"}}})
    shown = without_secrets(config)
    assert PASSWORD not in yaml.safe_dump(shown)
    assert {**shown, "mirror": SECRET} == config
    rules = {path.name: path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk")}
    assert not [name for name, text in rules.items() if "=config,\n" in text or 'config["mirror"],' in text]


def test_names_steer_no_terminal(tmp_path, capsys):
    for name, side in (("x", "gene"), ("y", "protein")):
        rows = "".join(f"s{i}\t{i}\t{i * i % 7}\n" for i in range(30))
        (tmp_path / f"{name}.tsv").write_text(f"id\t=H\x1b[31mred{side}\tb{side}\n{rows}")
    assert main(["check", str(tmp_path / "x.tsv"), str(tmp_path / "y.tsv"), "--orientation", "samples_in_rows"]) == 0
    out, err = capsys.readouterr()
    assert "�[31mred" in out + err
    assert "\x1b" not in out + err
    assert printable("a\nb\tc\x07\u202e") == "a\nb\tc��"
