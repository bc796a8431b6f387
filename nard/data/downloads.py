"""Downloads that can be interrupted, resumed and trusted.

A file arrives as ``<target>.part`` and takes the target's name once it is complete and verified: nobody reads half a
file. ``<target>.part.json`` says which version the half belongs to, ``<target>.sha256`` which sum the first download
had. Only one process at a time may fetch a target. One that outlived its run of the workflow ends when it notices the
next run, and until then writes into a half that is no longer the one by this name.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import logging
import os
import re
import shlex
import shutil
import string
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse, InvalidURL
from io import BufferedReader
from pathlib import Path
from time import sleep, time
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener, url2pathname

from nard.errors import DataError
from nard.files import atomic, write_text
from nard.runs import require_current

__all__ = ["XENA_HUB", "Download", "fetch", "masked", "xena_url"]

XENA_HUB = "https://tcga.xenahubs.net/download"
_DATASETS = ("HiSeqV2", "RPPA", "RPPA_RBN")
_BLOCK = 1 << 20
_LONGEST_WAIT = 60.0  # seconds between two attempts, whatever the server asks for
_ADVICE = "Check the spelling of the cancer, set `mirror` to a copy, or use `source: files` with local files."

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Download:
    """A file that has arrived: ``url`` is without credentials, ``size`` in bytes, ``attempts`` how many it took."""

    url: str
    path: Path
    sha256: str
    size: int
    attempts: int


class _TryAgainError(Exception):
    """A failure that may pass; the server may have said after how many seconds."""

    def __init__(self, reason: str, wait: float = 0.0):
        super().__init__(reason)
        self.wait = wait


def xena_url(cancer: str, dataset: str, mirror: str | None = None) -> str:
    """Address of a TCGA table ("HiSeqV2", "RPPA" or "RPPA_RBN") on the UCSC Xena hub, or on a mirror with its layout.

    Examples
    --------
    >>> from nard.data.downloads import xena_url
    >>> xena_url("BRCA", "RPPA", mirror="file:///data/xena")
    'file:///data/xena/TCGA.BRCA.sampleMap/RPPA.gz'
    """
    if not re.fullmatch("[A-Za-z0-9]+", cancer):
        raise DataError(f"{cancer!r} is no TCGA cancer; these are abbreviations such as BRCA or LUAD.")
    if dataset not in _DATASETS:
        raise DataError(f"{dataset!r} is no data set that can be downloaded; there are {', '.join(_DATASETS)}.")
    return f"{(mirror or XENA_HUB).rstrip('/')}/TCGA.{cancer.upper()}.sampleMap/{dataset}.gz"


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    attempts: int = 5,
    timeout: float = 60.0,
    pause: float = 1.0,
    progress: Callable[[int, int | None], None] | None = None,
) -> Download:
    """Download a file, whether or not it is there already; if that fails, the target stays as it was.

    Parameters
    ----------
    url : str
        https://…, http://… or file:///….
    target : Path
        Where the file goes. If its name ends in .gz, it must be an intact gzip file.
    sha256 : str, optional
        The sum that the file must have. If there is a ``<target>.sha256``, it must have that sum too.
    attempts : int, default=5
        How often to try. What has arrived is kept for the next attempt, or the next call.
    timeout : float, default=60.0
        Seconds without a single byte after which an attempt has failed.
    pause : float, default=1.0
        Seconds before the second attempt; they double with each further one.
    progress : callable, optional
        Called with the bytes that are here and those of the whole file, None if unknown.

    Returns
    -------
    Download
        What has arrived.
    """
    target, shown = Path(target), masked(url)
    part, sidecar = _beside(target, ".part"), _beside(target, ".sha256")
    try:
        sums = _expected_sums(sidecar, sha256)
        target.parent.mkdir(parents=True, exist_ok=True)
        _take_over(part)
        logger.info("Downloading %s", shown)
        for attempt in range(1, attempts + 1):
            try:
                _receive(url, part, timeout, progress)
                if target.name.endswith(".gz"):
                    _check_gzip(part)
                break
            except _TryAgainError as error:
                failure = f"attempt {attempt} of {attempts} failed: {error}"
                if attempt == attempts:
                    raise DataError(f"Cannot download {shown}; {failure}. {_ADVICE}") from error
                wait = min(max(pause * 2 ** (attempt - 1), error.wait), _LONGEST_WAIT)
                logger.warning("%s: %s; next in %.3g s", shown, failure, wait)
                sleep(wait)
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        for expected, remedy in sums.items():
            if found != expected:
                _discard(part)
                raise DataError(
                    f"{shown} has the SHA-256 sum {found}, but {expected} was expected: the file at the source has "
                    f"changed or was damaged. To accept the new version, {remedy}."
                )
        size = part.stat().st_size
        require_current()
        os.replace(part, target)
        _discard(part)
        if not sidecar.exists():
            write_text(f"{found}  {target.name}\n", sidecar)
    except OSError as error:  # of this side: those of the source have become other errors
        raise DataError(f"Cannot write {target}: {error.strerror or error}.") from error
    logger.info("Downloaded %s: %d bytes, SHA-256 %s", shown, size, found)
    return Download(shown, target, found, size, attempt)


def _take_over(part: Path) -> None:
    """Copy the half that is there: the process that left it may still be at work, and write into the old file."""
    if part.exists():
        with atomic(part) as own:
            shutil.copyfile(part, own)


def _receive(url: str, part: Path, timeout: float, progress) -> None:
    """One attempt: ``part`` becomes the whole file, or as much of it as arrives."""
    stream, done, version = _open(url, part, timeout)
    require_current()
    with stream, part.open("r+b" if done else "wb") as out:
        out.seek(done)
        if not done:  # after the old half has gone, so that a version never describes the half of another one
            _beside(part, ".json").write_text(json.dumps(version), encoding="utf-8")
        total = version["size"]
        while total is None or done < total:
            try:
                # Unlike read, read1 returns what there is: it is not lost if the rest never comes.
                block = stream.read1(_BLOCK if total is None else min(_BLOCK, total - done))
            except (OSError, HTTPException) as error:
                raise _TryAgainError(_reason(error, timeout)) from error
            if not block:
                break
            require_current()
            out.write(block)
            done += len(block)
            if progress is not None:
                progress(done, total)
        out.flush()
        os.fsync(out.fileno())
    if total is not None and done < total:
        raise _TryAgainError(f"{done} of {total} bytes arrived")


def _open(url: str, part: Path, timeout: float) -> tuple[BufferedReader | HTTPResponse, int, dict]:
    """The source, the byte of the file at which it begins, and the version of the file."""
    local = re.fullmatch("file://(?:localhost)?(/.*)", url, re.IGNORECASE | re.DOTALL)
    if local:
        try:
            stream = Path(url2pathname(local[1])).open("rb")  # noqa: SIM115 (the caller closes it)
        except OSError as error:
            raise DataError(f"Cannot read {url}: {error.strerror}. {_ADVICE}") from error
        return stream, 0, {"url": url, "size": os.fstat(stream.fileno()).st_size}

    have, old = _half(part, url)
    reply: Any = _ask(url, {"Range": f"bytes={have}-", "If-Range": _validator(old)} if have else {}, timeout)
    new = {"etag": reply.headers["ETag"], "modified": reply.headers["Last-Modified"]}
    if reply.status == 200:
        return reply, 0, {"url": masked(url), "size": reply.length, **new}
    span = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", reply.headers["Content-Range"] or "")
    if reply.status == 206 and span and int(span[1]) == have > 0:
        new["size"] = int(span[2])
        # Some servers ignore If-Range, so the versions are compared here too; a reply need not repeat every field.
        if all(value is None or old[name] in (None, value) for name, value in new.items()):
            logger.info("Resuming %s at byte %d of %d", masked(url), have, new["size"])
            return reply, have, old | {"size": new["size"]}
    reply.close()
    _discard(part)
    raise _TryAgainError(f"the reply with status {reply.status} does not continue what arrived before")


def _half(part: Path, url: str) -> tuple[int, dict]:
    """How many bytes are here, and of which version; none if the server could not tell that version from others."""
    try:
        version = json.loads(_beside(part, ".json").read_text(encoding="utf-8"))
        have = part.stat().st_size
        if version["url"] != masked(url) or not _validator(version):
            return 0, {}
        # The last byte is asked for again, as a range that begins at the end of the file is an error.
        return (have if version["size"] is None else max(min(have, version["size"] - 1), 0)), version
    except (OSError, ValueError, TypeError, KeyError):  # no half, or a killed process left half a description
        return 0, {}


def _validator(version: dict) -> str:
    """What If-Range takes: a weak ETag does not promise the same bytes."""
    etag = version["etag"]
    return etag if etag and not etag.startswith("W/") else version["modified"]


def _ask(url: str, headers: dict[str, str], timeout: float) -> HTTPResponse | HTTPError:
    """The reply to a request, if it is a success or says that there is no such range."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError
        credentials, _, host = parts.netloc.rpartition("@")
        bare = urlunsplit((parts.scheme, host, quote(parts.path, safe=string.punctuation), parts.query, ""))
        request = Request(bare, headers={"User-Agent": "nard"} | headers)
        if credentials:
            token = base64.b64encode(unquote(credentials).encode()).decode()
            # unredirected: not for the server that a redirect leads to
            request.add_unredirected_header("Authorization", f"Basic {token}")
        return build_opener(_Redirects).open(request, timeout=timeout)
    except DataError:
        raise
    except HTTPError as error:
        if error.code == 416:
            return error
        error.close()
        if error.code in (408, 429) or error.code >= 500:
            raise _TryAgainError(f"status {error.code}", _retry_after(error.headers.get("Retry-After", ""))) from None
        raise DataError(f"Cannot download {masked(url)}: the server replied {error.code}. {_ADVICE}") from None
    except (ValueError, InvalidURL):
        raise DataError(
            f"Cannot download {masked(url)!r}: addresses are https://host/…, http://host/… or file:///folder/…, and "
            "special characters in a password are percent-encoded."
        ) from None
    except (OSError, HTTPException) as error:
        raise _TryAgainError(_reason(error, timeout)) from error


class _Redirects(HTTPRedirectHandler):
    """Follows redirects within a server, and to another one by https only.

    Never from https to http, which others on the way can read and change. Hubs hand out files from a cloud's servers,
    so that other hosts are not refused as such; the checksum holds wherever the file comes from.
    """

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        elsewhere = (old.hostname, old.port) != (new.hostname, new.port)
        allowed = new.scheme == "https" or (new.scheme == old.scheme == "http" and not elsewhere)
        if not allowed or "@" in new.netloc:
            raise DataError(
                f"{req.full_url} redirects to {masked(newurl)}; followed are https addresses and those of the same "
                f"server, without credentials. {_ADVICE}"
            )
        if elsewhere:
            logger.info("%s is handed out by %s", req.full_url, new.hostname)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _retry_after(value: str) -> float:
    """Seconds that the server asks to wait, which it sends as such or as a date."""
    try:
        return int(value) if value.isdecimal() else parsedate_to_datetime(value).timestamp() - time()
    except (ValueError, OverflowError):
        return 0.0


def _reason(error: Exception, timeout: float) -> str:
    cause = getattr(error, "reason", error)
    return f"nothing arrived for {timeout:g} s" if isinstance(cause, TimeoutError) else str(cause) or repr(cause)


def _check_gzip(part: Path) -> None:
    """Read an archive to its end, where its checksum is; a bad one is not worth resuming."""
    with part.open("rb") as file:
        start = file.read(60)
    if not start.startswith(b"\x1f\x8b"):
        text = " ".join(start.decode(errors="replace").split())
        _discard(part)
        raise _TryAgainError(f"not a gzip file; it begins with {text + '…'!r}" if start else "the file is empty")
    try:
        with gzip.open(part) as archive:
            while archive.read(_BLOCK):
                pass
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        _discard(part)
        raise _TryAgainError(f"a damaged gzip file ({error})") from error


def _expected_sums(sidecar: Path, given: str | None) -> dict[str, str]:
    """The sums that a file must have, each with how to accept another one."""
    sums = {}
    if given is not None:
        sums[given.lower()] = "give its sum as `sha256`"
    if sidecar.exists():
        recorded = sidecar.read_text(encoding="utf-8", errors="replace").split()
        sums[recorded[0].lower() if recorded else ""] = f"delete the recorded sum: rm {shlex.quote(str(sidecar))}"
    for value, remedy in sums.items():
        if not re.fullmatch("[0-9a-f]{64}", value):
            raise DataError(f"{value!r} is no SHA-256 sum; {remedy}.")
    return sums


def _discard(part: Path) -> None:
    require_current()
    part.unlink(missing_ok=True)
    _beside(part, ".json").unlink(missing_ok=True)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def masked(url: str) -> str:
    """The address as messages and reports may show it: without credentials.

    A password with a / in it ends the host's part of the address, so everything before the last @ is hidden.

    Examples
    --------
    >>> masked("https://user:password@host/xena"), masked("file:///data/a@b")
    ('https://***@host/xena', 'file:///data/a@b')
    """
    return re.sub("^(?!file:)([a-z][a-z0-9+.-]*://)?.*@", r"\1***@", url, flags=re.IGNORECASE | re.DOTALL)
