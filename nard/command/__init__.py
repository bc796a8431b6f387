"""The command line ``nard``. Each command is a module with ``add``, its arguments, and ``run``, its work.

Only ``run`` imports what takes long, so that ``nard --help`` answers at once. Results go to standard output, all else
to standard error. Exit codes: 0 done, 1 a mistake in files or settings, 2 wrong usage, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings

import nard
from nard.command import check, compare, fit, init, plot, simulate
from nard.errors import DataError, printable

__all__ = ["main"]

_COMMANDS = (fit, check, init, simulate, compare, plot)
_EPILOG = """\
Start here:
  nard simulate -o demo                                   two tables to try, and the truth behind them
  nard fit demo/inputs.tsv.gz demo/outputs.tsv.gz -o out  which inputs matter, what they drive, how outputs are wired
  nard plot out                                           figures of it
  nard init my-project --inputs X.tsv --outputs Y.tsv     a config for the whole workflow, from looking at your files

`nard COMMAND --help` explains each command, with examples.
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="nard",
        description="Network automatic relevance determination: which inputs matter, and how the outputs are wired.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"nard {nard.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in _COMMANDS:
        module.add(commands)
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            code = options.run(options)
            sys.stdout.flush()
            return code
        except DataError as error:
            return _fail(str(error))
        except KeyboardInterrupt as stop:
            print(f"stopped: {stop}" if str(stop) else "stopped", file=sys.stderr)
            return 130
        except BrokenPipeError:
            # Whoever read our output has heard enough; Python must not complain again when it closes the stream.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except OSError as error:
            if error.filename is None:
                raise
            return _fail(f"{error.filename}: {error.strerror}.")


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1


def _warn(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"warning: {printable(str(message))}", file=sys.stderr)
