"""The explorer's page: template, styles, scripts and payload in one file.

Names from data reach the page as JSON and are shown as text only. Its content security policy lets nothing but its own
script run and nothing be loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources

import jinja2

__all__ = ["asset", "explorer_page", "template"]

# In the order in which they build on each other.
_SCRIPTS = ("findings.js", "neighbourhood.js", "network.js", "export.js", "controls.js")


def asset(name: str) -> str:
    """A file of this folder."""
    return (resources.files("nard.report.explorer") / name).read_text(encoding="utf-8")


def template(text: str) -> jinja2.Template:
    """A page's template: everything that it is given is escaped, unless the template says otherwise."""
    return jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)


def explorer_page(payload: Mapping, report: str) -> str:
    """The page of a payload, with a link to the report at ``report``. The same payload gives the same bytes."""
    script = "\n".join(['"use strict";', *map(asset, _SCRIPTS)])
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    titles = [cohort["title"] for cohort in payload["cohorts"]]
    return template(asset("page.html.j2")).render(
        title=f"NARD explorer: {titles[0]}" if len(titles) == 1 else "NARD explorer",
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        report=report,
        base=asset("base.css"),
        style=asset("explorer.css"),
        network_style=asset("network.css"),
        # "<" could end the block; everything else is inert in it.
        data=json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        script=script,
    )
