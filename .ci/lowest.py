"""The lowest versions that pyproject.toml allows, as constraints for pip: every bound `>=` becomes `==`."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
groups = [project["dependencies"], *project["optional-dependencies"].values()]
bounds = [re.match(r"([\w-]+)(?:\[.*\])?>=([\w.]+)", requirement) for group in groups for requirement in group]
print(*sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound}), sep="\n")
