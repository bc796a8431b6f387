"""The pages that people read, and the code blocks in them."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(text: str, language: str | None = None) -> list[Block]:
    """The code blocks of a page's text, in their order."""
    found = [Block(language, textwrap.dedent(code)) for _, language, code in _BLOCK.findall(text)]
    return [block for block in found if language in (None, block.language)]


def commands(text: str) -> list[str]:
    """The shell commands of a page's text without their comments, one that goes on in the next line as one."""
    lines = [line for block in blocks(text, "sh") for line in block.text.replace("\\\n", " ").splitlines()]
    bare = (re.sub(r"(^|\s+)#.*$", "", line) for line in lines)
    return [" ".join(line.split()) for line in bare if line.strip()]
