"""Downloads from a server that misbehaves as it is told."""

import gzip
import hashlib
import logging
import os
import random
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request

import pytest

from nard import runs
from nard.data import downloads
from nard.data.downloads import XENA_HUB, Download, fetch, xena_url
from nard.errors import DataError

# Random bytes do not compress, so that half of the archive is more than the buffers on the way.
BODY = gzip.compress(random.Random(0).randbytes(300_000), mtime=0)
OTHER = gzip.compress(random.Random(1).randbytes(300_000), mtime=0)
HALF = len(BODY) // 2


def sha256(body):
    return hashlib.sha256(body).hexdigest()


class Server(ThreadingHTTPServer):
    """Replies with ``plan``, one entry per request, the last one for all that follow; keeps what was asked and sent."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan, self.requests, self.sent = [], [], []
        self.over = threading.Event()
        self.root = f"http://127.0.0.1:{self.server_port}"
        self.url = f"{self.root}/TCGA.BRCA.sampleMap/RPPA.gz"

    def handle_error(self, *_):
        """Clients that hang up are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self)
        plan = self.server.plan
        (plan.pop(0) if len(plan) > 1 else plan[0])(self)

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.server.sent.append(len(body))
        self.wfile.write(body)


def serve(body=BODY, *, etag='"1"', modified=None, ranges=True, if_range=True, length=True, cut=None, stall=False):
    """A well-behaved reply, unless told otherwise; ``cut`` is after how many bytes it ends, or stalls."""

    def reply(handler):
        headers = {"ETag": etag, "Last_Modified": modified}
        status, start = 200, 0
        wanted = handler.headers["Range"]
        if ranges and wanted and (not if_range or handler.headers["If-Range"] in (etag, modified)):
            status, start = 206, int(wanted.removeprefix("bytes=").removesuffix("-"))
            headers["Content_Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            if start >= len(body):
                return handler.reply(416, Content_Range=f"bytes */{len(body)}")
        if length:
            headers["Content_Length"] = str(len(body) - start)
        end = None if cut is None else start + cut
        handler.reply(status, body[start:end], **{name: value for name, value in headers.items() if value})
        if stall:
            handler.server.over.wait(10)

    return reply


def status(code, body=b"", **headers):
    return lambda handler: handler.reply(code, body, **headers)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "raw data" / "rppa.tsv.gz"


def get(server, target, **options):
    return fetch(server.url, target, **({"pause": 0.01, "timeout": 5.0} | options))


def asked(server):
    """The Range headers of all requests."""
    return [request.headers["Range"] for request in server.requests]


def assert_arrived(target, body=BODY):
    """The file and its sum, and nothing else."""
    assert target.read_bytes() == body
    sidecar = target.with_name(target.name + ".sha256")
    assert sidecar.read_text() == f"{sha256(body)}  {target.name}\n"
    assert sorted(target.parent.iterdir()) == [target, sidecar]


def test_xena_url():
    assert xena_url("BRCA", "HiSeqV2") == f"{XENA_HUB}/TCGA.BRCA.sampleMap/HiSeqV2.gz"
    assert xena_url("luad", "RPPA_RBN", "http://host/x/") == "http://host/x/TCGA.LUAD.sampleMap/RPPA_RBN.gz"


@pytest.mark.parametrize(("cancer", "dataset"), [("../BRCA", "RPPA"), ("", "RPPA"), ("BRCA", "HiSeq")])
def test_xena_url_of_nothing(cancer, dataset):
    with pytest.raises(DataError, match="is no"):
        xena_url(cancer, dataset)


def test_download(server, target, caplog):
    server.plan = [serve()]
    seen = []
    with caplog.at_level(logging.INFO, logger="nard.data.downloads"):
        result = get(server, target, sha256=sha256(BODY).upper(), progress=lambda *now: seen.append(now))
    assert result == Download(server.url, target, sha256(BODY), len(BODY), 1)
    assert_arrived(target)
    assert seen[-1] == (len(BODY), len(BODY))
    assert f"Downloading {server.url}" in caplog.text
    assert f"{len(BODY)} bytes, SHA-256 {sha256(BODY)}" in caplog.text


def test_it_downloads_again(server, target):
    server.plan = [serve()]
    get(server, target)
    get(server, target)
    assert server.sent == [len(BODY)] * 2
    assert_arrived(target)


def test_files_that_are_no_archives_are_not_read(server, target):
    server.plan = [serve(b"plain")]
    assert get(server, target.with_suffix("")).size == 5


def test_drip(server, target):
    """A slow line is no dead line: the timeout is shorter than the download, not than its pauses."""

    def drip(handler):
        handler.reply(200, Content_Length=str(len(BODY)))
        for start in range(0, len(BODY), 50_000):
            handler.wfile.write(BODY[start : start + 50_000])
            time.sleep(0.1)

    server.plan = [drip]
    assert get(server, target, timeout=0.6).attempts == 1
    assert_arrived(target)


@pytest.mark.parametrize(
    "version",
    [
        {},
        {"etag": None, "modified": formatdate(0, usegmt=True)},
        {"etag": 'W/"1"', "modified": formatdate(0, usegmt=True)},
    ],
    ids=["strong ETag", "date", "weak ETag and date"],
)
def test_cut_off_and_resumed(server, target, caplog, version):
    server.plan = [serve(**version, cut=HALF), serve(**version)]
    with caplog.at_level(logging.INFO, logger="nard.data.downloads"):
        assert get(server, target).attempts == 2
    assert asked(server) == [None, f"bytes={HALF}-"]
    assert server.sent == [HALF, len(BODY) - HALF]
    assert server.requests[1].headers["If-Range"] == version.get("modified", '"1"')
    assert f"{HALF} of {len(BODY)} bytes arrived" in caplog.text
    assert f"Resuming {server.url} at byte {HALF} of {len(BODY)}" in caplog.text
    assert_arrived(target)


def test_resumed_by_the_next_call(server, target):
    server.plan = [serve(cut=HALF)]
    with pytest.raises(DataError, match=f"attempt 1 of 1 failed: {HALF} of {len(BODY)} bytes arrived"):
        get(server, target, attempts=1)
    assert not target.exists()
    server.plan = [serve()]
    get(server, target, attempts=1)
    assert server.sent == [HALF, len(BODY) - HALF]
    assert_arrived(target)


def test_complete_part(server, target):
    """Killed between the last byte and the new name."""
    server.plan = [serve(cut=HALF), serve()]
    with pytest.raises(DataError):
        get(server, target, attempts=1)
    target.with_name(target.name + ".part").write_bytes(BODY)
    get(server, target, attempts=1)
    assert server.sent == [HALF, 1]
    assert_arrived(target)


def test_part_of_another_address(server, target):
    server.plan = [serve(cut=HALF), serve()]
    with pytest.raises(DataError):
        get(server, target, attempts=1)
    fetch(f"{server.root}/copy/RPPA.gz", target)
    assert asked(server) == [None, None]
    assert_arrived(target)


def test_no_version_no_resumption(server, target):
    server.plan = [serve(etag=None, cut=HALF), serve(etag=None)]
    get(server, target)
    assert asked(server) == [None, None]
    assert_arrived(target)


def test_half_a_description_of_the_part(server, target):
    server.plan = [serve(cut=HALF), serve()]
    with pytest.raises(DataError):
        get(server, target, attempts=1)
    target.with_name(target.name + ".part.json").write_text('{"url": "ht')
    get(server, target)
    assert asked(server) == [None, None]
    assert_arrived(target)


def test_server_without_ranges(server, target):
    server.plan = [serve(ranges=False, cut=HALF), serve(ranges=False)]
    get(server, target)
    assert server.sent == [HALF, len(BODY)]
    assert_arrived(target)


def test_changed_between_the_parts(server, target):
    server.plan = [serve(cut=HALF), serve(OTHER, etag='"2"')]
    get(server, target)
    assert server.requests[1].headers["If-Range"] == '"1"'
    assert server.sent == [HALF, len(OTHER)]
    assert_arrived(target, OTHER)


@pytest.mark.parametrize("body", [OTHER, OTHER + OTHER, gzip.compress(b"less")], ids=["same size", "longer", "shorter"])
def test_changed_on_a_server_that_ignores_if_range(server, target, body):
    server.plan = [serve(cut=HALF), serve(body, etag='"2"', if_range=False)]
    assert get(server, target).attempts == 3
    assert asked(server) == [None, f"bytes={HALF}-", None]
    assert_arrived(target, body)


def test_versions_are_told_apart_without_an_archive_s_checksum(server, target):
    plain = target.with_suffix("")
    server.plan = [serve(b"old half", cut=3), serve(b"new text", etag='"2"', if_range=False)]
    get(server, plain)
    assert plain.read_bytes() == b"new text"


def test_wrong_range(server, target):
    wrong = status(206, BODY, Content_Range=f"bytes 0-{len(BODY) - 1}/{len(BODY)}", ETag='"1"')
    server.plan = [serve(cut=HALF), wrong, serve()]
    get(server, target)
    assert_arrived(target)


def test_short_body_of_unknown_length(server, target, caplog):
    server.plan = [serve(length=False, cut=HALF), serve(length=False)]
    get(server, target)
    assert "a damaged gzip file (Compressed file ended" in caplog.text
    assert_arrived(target)


def test_stall(server, target, caplog):
    server.plan = [serve(cut=HALF, stall=True), serve()]
    get(server, target, timeout=0.5)
    assert "nothing arrived for 0.5 s" in caplog.text
    assert server.sent == [HALF, len(BODY) - HALF]
    assert_arrived(target)


def test_no_reply_at_all(server, target):
    server.plan = [lambda handler: handler.server.over.wait(10)]
    with pytest.raises(DataError, match=r"attempt 2 of 2 failed: nothing arrived for 0\.1 s"):
        get(server, target, timeout=0.1, attempts=2)


def test_no_server(server, target):
    server.server_close()
    with pytest.raises(DataError, match=r"attempt 2 of 2 failed: .*refused"):
        get(server, target, attempts=2)


def test_corrupt_archive(server, target, caplog):
    corrupt = bytearray(BODY)
    corrupt[HALF] ^= 255
    server.plan = [serve(bytes(corrupt)), serve()]
    assert get(server, target).attempts == 2
    assert "a damaged gzip file" in caplog.text
    assert asked(server) == [None, None]
    assert_arrived(target)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>\n<body>Please log in", r"not a gzip file; it begins with '<html> <body>Please log in…'"),
        (b"", "the file is empty"),
        (BODY + b"tail", "a damaged gzip file"),
    ],
    ids=["page", "nothing", "more"],
)
def test_not_an_archive(server, target, body, message):
    server.plan = [serve(body)]
    with pytest.raises(DataError, match=message):
        get(server, target, attempts=3)
    assert len(server.requests) == 3
    assert list(target.parent.iterdir()) == []


def test_busy_server(server, target, caplog):
    server.plan = [status(503), status(503), serve()]
    assert get(server, target).attempts == 3
    assert "attempt 1 of 5 failed: status 503; next in 0.01 s" in caplog.text
    assert "attempt 2 of 5 failed: status 503; next in 0.02 s" in caplog.text
    assert_arrived(target)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("7", 7), ("3600", 60), (lambda: formatdate(time.time() + 30, usegmt=True), 30), ("soon", 0.01), ("-5", 0.01)],
    ids=["seconds", "too long", "date", "word", "negative"],
)
def test_retry_after(server, target, monkeypatch, value, expected):
    waits = []
    monkeypatch.setattr(downloads, "sleep", waits.append)
    server.plan = [status(429, Retry_After=value() if callable(value) else value), serve()]
    get(server, target)
    assert waits == [pytest.approx(expected, abs=2 if callable(value) else 0)]


@pytest.mark.parametrize("code", [401, 403, 404, 410])
def test_refused(server, target, code):
    server.plan = [status(code)]
    with pytest.raises(DataError, match=rf"RPPA\.gz: the server replied {code}\. .*spelling.*mirror.*source: files"):
        get(server, target)
    assert len(server.requests) == 1


def test_failure_leaves_the_target(server, target):
    target.parent.mkdir()
    target.write_bytes(b"old")
    for reply in (status(404), status(500), serve(b"<html>"), serve(ranges=False, cut=HALF), serve(OTHER, etag='"2"')):
        server.plan = [reply]
        with pytest.raises(DataError):
            get(server, target, attempts=2, sha256=sha256(BODY))
        assert target.read_bytes() == b"old"


def test_wrong_sum(server, target):
    server.plan = [serve()]
    with pytest.raises(DataError, match=f"{sha256(BODY)}, but {sha256(OTHER)} was expected.*changed or was damaged"):
        get(server, target, sha256=sha256(OTHER))
    assert list(target.parent.iterdir()) == []


def test_source_has_changed(server, target):
    server.plan = [serve(), serve(OTHER)]
    get(server, target)
    with pytest.raises(DataError, match=rf"{sha256(OTHER)}, but {sha256(BODY)} .* rm '.*rppa\.tsv\.gz\.sha256'"):
        get(server, target)
    assert_arrived(target)
    target.with_name(target.name + ".sha256").unlink()
    get(server, target)
    assert_arrived(target, OTHER)


def test_the_first_sum_stays(server, target):
    target.parent.mkdir()
    sidecar = target.with_name(target.name + ".sha256")
    sidecar.write_text(f"{sha256(BODY).upper()} *{target.name}\n")
    server.plan = [serve()]
    get(server, target)
    assert sidecar.read_text() == f"{sha256(BODY).upper()} *{target.name}\n"


@pytest.mark.parametrize("text", ["", "abc  rppa.tsv.gz\n"])
def test_unreadable_sum(server, target, text):
    target.parent.mkdir()
    target.with_name(target.name + ".sha256").write_text(text)
    with pytest.raises(DataError, match="is no SHA-256 sum; delete"):
        get(server, target)
    assert server.requests == []


def test_killed_and_resumed(server, target):
    server.plan = [serve(cut=HALF, stall=True), serve()]
    code = "import sys; from nard.data.downloads import fetch; fetch(*sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", code, server.url, str(target)])
    part = target.with_name(target.name + ".part")
    deadline = time.monotonic() + 30
    # what is in the buffer is lost
    while not (part.exists() and part.stat().st_size > HALF // 2) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    have = part.stat().st_size
    assert not target.exists()
    get(server, target)
    assert asked(server) == [None, f"bytes={have}-"]
    assert server.sent[1] == len(BODY) - have
    assert_arrived(target)


@pytest.mark.parametrize("version", ['"1"', '"2"'], ids=["resumed", "begun anew"])
def test_no_other_process_has_the_new_half_open(server, target, version):
    """One that does not see that its run is over, as on a network file system, and goes on writing."""
    server.plan = [serve(cut=HALF), serve(etag=version)]
    with pytest.raises(DataError):
        get(server, target, attempts=1)
    with target.with_name(target.name + ".part").open("r+b") as orphan:
        get(server, target)
        assert asked(server)[1] == f"bytes={HALF}-"
        orphan.seek(HALF)
        orphan.write(b"of the orphan")
    assert_arrived(target)


def halting(halted, further):
    """A reply of which the first half arrives, and the rest once it is told to."""

    def reply(handler):
        handler.reply(200, BODY[:HALF], Content_Length=str(len(BODY)), ETag='"1"')
        handler.wfile.flush()
        halted.set()
        further.wait(30)
        handler.wfile.write(BODY[HALF:])

    return reply


@pytest.mark.parametrize("over", [False, True], ids=["under way", "over"])
def test_a_download_that_outlived_its_run_harms_nothing(server, target, tmp_path, monkeypatch, over):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(runs.RUN, "0")
    os.close(runs.hold())
    halted, further = threading.Event(), threading.Event()
    # The file at the source has changed in between.
    server.plan = [halting(halted, further), serve(OTHER, etag='"2"', cut=None if over else HALF)]
    code = "import sys; from nard.data.downloads import fetch; fetch(*sys.argv[1:])"
    orphan = subprocess.Popen([sys.executable, "-c", code, server.url, str(target)], stderr=subprocess.PIPE)
    assert halted.wait(30)
    os.close(runs.hold())
    if over:
        get(server, target)
    else:
        with pytest.raises(DataError):
            get(server, target, attempts=1)
    before = contents(target)
    further.set()
    _, said = orphan.communicate(timeout=30)
    assert b"another run has been started in this folder" in said
    assert contents(target) == before
    # What it had not finished goes on where it stopped.
    server.plan = [serve(OTHER, etag='"2"')]
    get(server, target)
    assert asked(server)[2:] == [None if over else f"bytes={HALF}-"]
    assert_arrived(target, OTHER)


def contents(target):
    return {path.name: path.read_bytes() for path in target.parent.iterdir()}


@pytest.mark.parametrize("folder", ["mirror of Xena", "mirror%20of%20Xena", "run #1? é"])
@pytest.mark.parametrize("scheme", ["file://", "FILE://localhost"])
def test_file_mirror(tmp_path, target, folder, scheme):
    source = tmp_path / folder.replace("%20", " ") / "TCGA.BRCA.sampleMap" / "RPPA.gz"
    source.parent.mkdir(parents=True)
    source.write_bytes(BODY)
    fetch(xena_url("BRCA", "RPPA", f"{scheme}{tmp_path}/{folder}"), target)
    assert_arrived(target)
    assert not source.samefile(target)


def test_file_mirror_after_half_a_download(server, tmp_path, target):
    server.plan = [serve(cut=HALF), serve()]
    with pytest.raises(DataError):
        get(server, target, attempts=1)
    (tmp_path / "copy.gz").write_bytes(OTHER)
    fetch((tmp_path / "copy.gz").as_uri(), target)
    assert_arrived(target, OTHER)


@pytest.mark.parametrize("name", ["missing.gz", ""])
def test_no_such_file(tmp_path, target, name):
    with pytest.raises(DataError, match=r"Cannot read file:///.*: (No such file|Is a directory)"):
        fetch(f"file://{tmp_path}/{name}", target)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/x",
        "/data/xena",
        "data/x",
        "http:///x",
        "http://host:0/x",
        "http://a..b/x",
        "file://x/y",
        "file:/x",
        "http://h/?a b",
    ],
)
def test_unusable_address(target, url):
    with pytest.raises(DataError, match="addresses are https://host/"):
        fetch(url, target)


def test_unwritable_target(server, tmp_path):
    (tmp_path / "file").touch()
    server.plan = [serve()]
    with pytest.raises(DataError, match=r"Cannot write .*rppa\.gz: "):
        get(server, tmp_path / "file" / "rppa.gz")


def test_encoded_address(server, target):
    server.plan = [serve()]
    fetch(f"{server.root}/a%20b/c d%2Fé.gz", target)
    assert server.requests[0].path == "/a%20b/c%20d%2F%C3%A9.gz"


def test_redirect(server, target):
    server.plan = [serve(cut=HALF), status(302, Location="/else where"), serve()]
    get(server, target)
    assert server.requests[2].path == "/else%20where"
    assert asked(server) == [None, *[f"bytes={HALF}-"] * 2]
    assert_arrived(target)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("ftp://host/x", "redirects to ftp://host/x"),
        ("http://user:secret@host/x", r"redirects to http://\*\*\*@host/x"),
        ("file:///etc/hostname", "replied 302"),
        ("/round/and/round", "replied 302"),
    ],
)
def test_redirect_that_is_not_followed(server, target, location, message):
    server.plan = [status(302, Location=location)]
    with pytest.raises(DataError, match=message) as caught:
        get(server, target)
    assert "secret" not in str(caught.value)
    assert not target.exists()


def test_no_redirect_from_https_to_http():
    with pytest.raises(DataError, match="https://host/x redirects to http://host/x"):
        downloads._Redirects().redirect_request(Request("https://host/x"), None, 302, "", {}, "http://host/x")


@pytest.mark.parametrize("password", ["secret", "se@cret", "se%2Fcret"])
def test_credentials_are_used_and_hidden(server, target, caplog, password):
    url = server.url.replace("://", f"://user:{password}@")
    server.plan = [serve(cut=HALF), status(503), status(302, Location="/other"), serve()]
    with caplog.at_level(logging.DEBUG):
        result = fetch(url, target, pause=0.01)
    assert result.url == server.url.replace("://", "://***@")
    assert [bool(request.headers["Authorization"]) for request in server.requests] == [True, True, True, False]
    server.plan = [status(403)]
    with pytest.raises(DataError) as refused:
        fetch(url, target)
    with pytest.raises(DataError) as unusable:
        fetch("http://user:se/cret@host/x", target)
    for text in (caplog.text, str(refused.value), str(unusable.value)):
        assert "user" not in text
        assert "cret" not in text


def test_proxy(server, target, monkeypatch):
    monkeypatch.delenv("no_proxy")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", server.root)
    server.plan = [serve()]
    fetch("http://xena.invalid/RPPA.gz", target)
    assert server.requests[0].path == "http://xena.invalid/RPPA.gz"
    assert_arrived(target)
