"""The command line: ``python -m nard check config.yaml``."""

from __future__ import annotations

import argparse
import sys

from nard.check import check_config, printed
from nard.data.errors import DataError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m nard", description="Network automatic relevance determination.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "check", help="read the files that a config names and say what is in them, before any fit"
    )
    check.add_argument("config", help="the workflow's config file")
    options = parser.parse_args(arguments)
    try:
        rows, errors, later = check_config(options.config)
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if rows:
        print(printed(rows))
    if later:
        print(f"Simulated or downloaded, so checked by the workflow (snakemake --cores 1 check): {', '.join(later)}")
    for error in errors:
        print(f"error: {error}\n", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
