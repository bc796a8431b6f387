"""From bytes to text: files are unpacked and decoded by what is in them, never by their name."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO

from nard.data.names import composed, nearest
from nard.data.workbooks import is_parquet, is_workbook, text_of_parquet, text_of_workbook, unpacked_size
from nard.errors import DataError

__all__ = ["AGAIN", "decoded", "file_error", "read_bytes", "read_text", "require_file", "some", "stem"]

AGAIN = "download or copy it again"

_PACKED = {
    "zip": (b"PK\x03\x04", b"PK\x05\x06"),
    "gzip": (b"\x1f\x8b",),
    "bzip2": tuple(b"BZh%d1AY&SY" % level for level in range(1, 10)),
    "xz": (b"\xfd7zXZ\x00",),
}
_OPENERS: Mapping[str, Callable] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_ENDINGS = re.compile(r"(\.(gz|bz2|xz|zip|tsv|csv|txt|xlsx|parquet))+$", re.IGNORECASE)
# So much alike, by difflib, is a name that may have been meant.
_ALIKE = 0.75
_DAMAGE = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
# What is no file, though a path may name it: reading some of these would never end.
_NO_FILES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
# Beyond so many bytes, an archive may unpack to no more than so many times its size. Zeros alone have 100.
_MUCH = 2**28
_MOST_TIMES = 250
_CHUNK = 2**22
# An archive in an archive is common, but one can be made that holds itself.
_MOST_LAYERS = 3
# What downloads save in place of a table, by how the text begins.
_NO_TABLES = (
    (("<!doctype", "<html", "<?xml"), "a web page, most likely an error message of the server", AGAIN),
    (("{",), "JSON, most likely an error message of the server", AGAIN),
    (("version https://git-lfs",), "a Git LFS pointer", "run `git lfs pull` where it came from"),
)


def read_text(path: str | Path) -> str:
    """The text of a file, unpacked and decoded, with line ends as ``\\n``."""
    return decoded(Path(path))[0]


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked."""
    require_file(path)
    try:
        content = path.read_bytes()
        return _unpacked(path, content, len(content))
    except OSError as error:
        raise _unreadable(path, error) from error
    except MemoryError as error:
        raise file_error(path, "the file is too large for the memory", "select samples and features first") from error


def require_file(path: Path) -> None:
    """An error at once where there is nothing that could be read to its end."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _not_there(path) from error
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(mode):
        what = _NO_FILES.get(stat.S_IFMT(mode), "something else")
        raise file_error(path, f"{what}, not a file", "save the content in a file, and name that")
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise _unreadable(path, error) from error


def decoded(path: Path, part: str | None = None) -> tuple[str, list[dict]]:
    """The text of a file, or of a sheet of a workbook, and facts on how it was decoded."""
    content = read_bytes(path)
    notes: list[dict] = []
    if is_workbook(content):
        text, notes = text_of_workbook(path, content, part)
    elif part is not None:
        problem = f"no HDF5 file and no workbook, so that it has no part {part!r}"
        raise file_error(path, problem, "leave out # and what follows")
    elif is_parquet(content):
        text = text_of_parquet(path, content)
    elif content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", errors="replace")
        notes.append({"code": "utf-16"})
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
            notes.append({"code": "latin-1"})
    if "\0" in text:
        raise file_error(path, "binary data, not a table as text", "save the table as TSV or CSV")
    if not text.isascii():
        # An accent may be a character of its own; names are to be the same either way.
        text = composed(text)
    if not text or text.isspace():
        raise file_error(path, "the file is empty", AGAIN)
    start = text[:100].lstrip().lower()
    for starts, what, fix in _NO_TABLES:
        if start.startswith(starts):
            raise file_error(path, f"not a table, but {what}", fix, found=repr(text[:80]))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, notes


def file_error(path: Path, problem: str, fix: str, found: str | None = None, expected: str | None = None) -> DataError:
    """What is wrong with a file and how to fix it, for the caller to raise."""
    parts = {"found": found, "expected": expected, "to fix": fix}
    return DataError(f"{path}: {problem}." + "".join(f"\n  {name}: {part}" for name, part in parts.items() if part))


def some(names: Iterable[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    names = list(names)
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def stem(path: Path) -> str:
    """The name of a file without the endings that tell its format."""
    return _ENDINGS.sub("", path.name)


def _unreadable(path: Path, error: Exception) -> DataError:
    return file_error(path, "the file cannot be read", "correct the path, or its permissions", found=str(error))


def _not_there(path: Path) -> DataError:
    if path.is_symlink():
        return file_error(path, f"a link to {path.readlink()}, which is not there", "correct the link")
    if not path.parent.is_dir():
        return file_error(path, f"no such file, and no folder {path.parent}", "correct the path")
    others = sorted(path.parent.iterdir())
    # Endings are shared by files that have nothing else in common.
    similar = nearest(stem(path), map(stem, others), alike=_ALIKE)
    if similar is not None:
        closest = nearest(path.name, (other.name for other in others if stem(other) == similar), alike=0)
        return file_error(path, "no such file", f"did you mean {path.parent / str(closest)}?")
    files = [other.name for other in others if other.is_file() and not other.name.startswith(".")]
    found = f"in this folder {some(files, most=5)}" if files else None
    return file_error(path, "no such file", "correct the path", found)


def _unpacked(path: Path, content: bytes, size: int, layers: int = 0) -> bytes:
    """``content`` without its packing, of which there may be several layers; ``size`` is that of the file."""
    if is_workbook(content):
        # The package that reads it unpacks all of it.
        if unpacked_size(content) > max(_MUCH, _MOST_TIMES * len(content)):
            raise _far_too_large(path)
        return content
    packing = next((name for name, magic in _PACKED.items() if content.startswith(magic)), None)
    if packing:
        if layers == _MOST_LAYERS:
            raise file_error(
                path, f"an archive in an archive, {layers} times", "unpack it and name the file with the table"
            )
        packed = io.BytesIO(content)
        try:
            with _OPENERS[packing](packed) if packing in _OPENERS else _unzipped(path, packed) as stream:
                inside = _drained(path, stream, packed, size / len(content))
            return _unpacked(path, inside, size, layers + 1)
        except DataError:
            raise
        except _DAMAGE as error:
            problem = f"the {packing} file is damaged or cut off"
            raise file_error(path, problem, AGAIN, found=str(error)) from error
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise file_error(path, "an Excel workbook of the old kind", "save the sheet as TSV or CSV")
    if content[257:262] == b"ustar":
        raise file_error(path, "a tar archive", "unpack it (tar -xf) and name the file with the table")
    return content


def _drained(path: Path, stream: IO[bytes], packed: io.BytesIO, of_file: float) -> bytes:
    """All that a stream unpacks; ``of_file`` bytes of the file stand for one of the packed ones."""
    parts, unpacked = [], 0
    while chunk := stream.read(_CHUNK):
        parts.append(chunk)
        unpacked += len(chunk)
        if unpacked > max(_MUCH, _MOST_TIMES * of_file * packed.tell()):
            raise _far_too_large(path)
    return b"".join(parts)


def _far_too_large(path: Path) -> DataError:
    problem = f"the archive unpacks to more than {_MOST_TIMES} times its size, which no table does"
    return file_error(path, problem, "check that this is the right file; if it is, unpack it first")


def _unzipped(path: Path, packed: io.BytesIO) -> IO[bytes]:
    archive = zipfile.ZipFile(packed)
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if len(names) != 1:
        problem = f"a zip archive of {len(names)} files instead of one"
        raise file_error(path, problem, "unpack it and name the file with the table", found=some(names))
    return archive.open(names[0])
