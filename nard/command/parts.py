"""What several commands share: how they are declared, what they say, and arguments that mean the same in each."""

from __future__ import annotations

import argparse
import json
import sys

from nard.errors import printable

__all__ = ["add_orientation", "command", "say", "show"]


def command(commands, name: str, run, summary: str, examples: str) -> argparse.ArgumentParser:
    """A command with its help; ``examples`` is what a user may type."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=run)
    return parser


def add_orientation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--orientation",
        choices=["auto", "samples_in_rows", "features_in_rows"],
        default="auto",
        help="where the samples are; auto tells by barcodes, known names, and names that both tables share",
    )


def say(text: str) -> None:
    """A line for a person to follow; it is no result."""
    print(printable(text), file=sys.stderr, flush=True)


def show(result, text: str, as_json: bool) -> None:
    """The result on standard output, for a program or for a person."""
    print(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) if as_json else printable(text))
