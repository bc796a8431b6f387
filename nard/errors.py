"""Errors that are told in words: of a user's data, and of a method that cannot be fitted to them."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LONGEST_WORD = 200
_LONGEST_LINE = 1000
_MOST_LINES = 60


class DataError(ValueError):
    """A problem with the user's data, told so that the user can fix it, and shortly, whatever names it quotes."""

    def __init__(self, message: str):
        super().__init__(_shortened(message))


class FitError(RuntimeError):
    """A method cannot be fitted to these data, whoever runs it; ``code`` says why in a word or two.

    That is a result about the method, and no mistake of the user's: a run goes on without this fit.
    """

    code = "error"


class NotFinite(FitError):
    """What a method found or predicts is not made of finite numbers."""

    code = "not finite"


def printable(text: str) -> str:
    """The text without what would steer a terminal; line ends stay."""
    return _CONTROL.sub("�", text)


def _shortened(text: str) -> str:
    text = printable(text)
    lines = [
        _cut(re.sub(r"\S+", lambda word: _cut(word[0], _LONGEST_WORD), line), _LONGEST_LINE)
        for line in text.split("\n")
    ]
    more = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], *([f"  … and {more} more lines"] if more > 0 else [])])


def _cut(text: str, most: int) -> str:
    """The beginning and the end of what is longer."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
