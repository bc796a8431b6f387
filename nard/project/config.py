"""The workflow's configuration: defaults filled in, mistakes told in the user's terms."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from importlib import resources
from pathlib import Path

import jsonschema
import yaml

from nard.data.blocks import simulated_blocks
from nard.data.downloads import masked
from nard.data.names import composed, is_list, nearest
from nard.data.unpacking import require_file
from nard.errors import DataError
from nard.fits.classes import load_class
from nard.fits.methods import FLOORS, METHODS, announced, find_method
from nard.project.chapters import CHAPTERS

__all__ = [
    "ConfigError",
    "cohort_files",
    "cohort_settings",
    "entry_of",
    "fit_settings",
    "load_config",
    "methods_of",
    "of_kind",
    "preparation_settings",
    "read_yaml",
    "resolve",
    "schema",
    "table_files",
    "validated",
    "without_secrets",
]


# Keys that there were, and what to write instead.
_GONE = {
    ("fit", "refit"): "There is no refit any more: `fit.relevance` (auto, inputs, entries, both) says which parts the "
    "coefficients have. Leave `refit` out, or write `relevance: auto`.",
}


# Far beyond any config, and far below what would take long to go through.
_DEEPEST, _MOST_NODES = 30, 100_000


class ConfigError(DataError):
    """A mistake in the configuration."""


@cache
def schema() -> dict:
    """The schema of the config; the names of the methods are those of the registry and of entry points."""
    text = (resources.files("nard.project") / "schemas" / "config.schema.yaml").read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    found["$defs"]["method"]["then"] = {"enum": [*METHODS, *announced()]}
    return found


def load_config(path: str | Path) -> dict:
    """The configuration in a YAML file, checked and with its defaults."""
    return validated(read_yaml(path), str(path))


def read_yaml(path: str | Path) -> dict:
    """The keys and values in a YAML file; a key that is there twice is an error."""
    try:
        require_file(Path(path))
    except DataError as error:
        raise ConfigError(str(error)) from None
    try:
        config = yaml.load(Path(path).read_text(encoding="utf-8"), _Careful)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a file that can be read as UTF-8.\n  {error}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # numbers may be too long to be any
        raise ConfigError(f"{path}: not valid YAML.\n  {error}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: expected keys and values, `cohorts:` among them, found {type(config).__name__}.")
    return config


# No number in a config is larger, and floats end not much later.
_LARGEST = 10**300


class _Careful(yaml.SafeLoader):
    """Takes no mapping with a key that is there twice, of which plain YAML would silently keep the last.

    Nor what is nested too deeply, or grows beyond measure by aliases of aliases.
    """

    def __init__(self, stream):
        super().__init__(stream)
        self._depth = 0
        self._sizes: dict[int, int] = {}  # of every node with all that its aliases stand for

    def compose_node(self, parent, index):
        mark = self.peek_event().start_mark
        self._depth += 1
        if self._depth > _DEEPEST:
            raise yaml.composer.ComposerError(None, None, f"more than {_DEEPEST} levels, one in another", mark)
        alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if alias:
            if id(node) not in self._sizes:
                raise yaml.composer.ComposerError(None, None, "an alias of what it is in itself", mark)
            return node
        children = [] if isinstance(node, yaml.ScalarNode) else node.value
        parts = [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
        self._sizes[id(node)] = 1 + sum(self._sizes[id(part)] for part in parts)
        if self._sizes[id(node)] > _MOST_NODES:
            raise yaml.composer.ComposerError(None, None, f"more than {_MOST_NODES} entries, aliases included", mark)
        return node

    def compose_mapping_node(self, anchor):
        node = super().compose_mapping_node(anchor)
        known = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in known:
                    problem = f"the key `{key.value}` is there twice"
                    raise yaml.composer.ComposerError(None, None, problem, key.start_mark)
                known.add((key.tag, key.value))
        return node

    def construct_yaml_int(self, node):
        number = super().construct_yaml_int(node)
        if abs(number) > _LARGEST:
            raise yaml.constructor.ConstructorError(None, None, "a number beyond measure", node.start_mark)
        return number


# By its tag, since YAML knows no methods.
_Careful.add_constructor("tag:yaml.org,2002:int", _Careful.construct_yaml_int)


def _finite(_, value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(_, value) -> bool:
    """1.0 is none here, though JSON knows no difference: what takes a whole number would fail on it, later."""
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many({"number": _finite, "integer": _whole}),
)


def validated(given: Mapping, where: str = "config") -> dict:
    """A copy of ``given`` with every default filled in; :class:`ConfigError` names all mistakes."""
    config = deepcopy(dict(given))
    problems = list(_keys_that_are_no_text(config))
    if not problems:
        validator = _Validator(schema())
        problems = [line for error in validator.iter_errors(config) for line in _in_plain_words(error)]
    if not problems:
        _fill(config, schema())
        for cohort in config["cohorts"].values():
            if cohort["source"] == "simulated" and cohort["kind"] == "aging":
                cohort.update(simulated_blocks())
        problems = list(_inconsistencies(config))
    if problems:
        raise ConfigError(f"{where}: {len(problems)} to correct\n" + "\n".join(f"  - {line}" for line in problems))
    return config


def without_secrets(config: Mapping) -> dict:
    """The configuration as reports and records may show it: a mirror's address may hold a password."""
    mirror = config.get("mirror")
    return {**config, "mirror": masked(mirror)} if isinstance(mirror, str) else dict(config)


def cohort_settings(config: Mapping, cohort: str) -> dict:
    """What a checked config says of one cohort: its entry, called by its name if by no other, with its preparation.

    The preparation is the common one, overridden by the cohort's own.
    """
    entry = config["cohorts"][cohort]
    preprocessing = {**config["preprocessing"], **entry["preprocessing"]}
    return {
        **entry,
        # Names in files have one form of their accents (nard.data.unpacking), those of files themselves have either.
        **{key: composed(entry[key]) for key in ("id", "age", "filter", "macro", "molecular")},
        "preprocessing": {**preprocessing, "adjust": composed(preprocessing["adjust"])},
        "cancer": entry["cancer"] or cohort,
        "title": entry["title"] or cohort,
    }


# What the preparation of a cohort depends on, besides its `preprocessing`; common to both kinds, and of one of them.
_PREPARED = {
    None: ("source", "kind", "title"),
    "omics": ("cancer", "orientation"),
    "aging": ("id", "age", "filter", "age_fdr", "macro", "molecular"),
}
# Steps of `preprocessing` that phenotypes do not go through.
_ONLY_OMICS = ("sample_types", "genes", "proteins", "log")


def preparation_settings(config: Mapping, cohort: str) -> dict:
    """Those settings of a checked config that a cohort's X, Y and groups depend on, and no others.

    A cohort is prepared again, and fitted again, when one of these changes.
    """
    settings = cohort_settings(config, cohort)
    kind, steps = settings["kind"], settings["preprocessing"]
    kept = {key: settings[key] for key in (*_PREPARED[None], *_PREPARED[kind])}
    if kind == "aging":
        return {**kept, "preprocessing": {key: value for key, value in steps.items() if key not in _ONLY_OMICS}}
    return {**kept, "preprocessing": steps, "use_pathways": config["use_pathways"]}


def fit_settings(config: Mapping, method: str) -> dict:
    """Those settings of the section `fit` that a method's fits depend on."""
    return {key: config["fit"][key] for key in ("fdr", "statistics", *find_method(method).takes)}


def methods_of(config: Mapping, cohort: str) -> list[str]:
    """The names of the methods to fit to a cohort, in the order of the config."""
    entries = [*config["methods"], *config["cohorts"][cohort]["more_methods"]]
    return list(dict.fromkeys(find_method(entry).name for entry in entries))


def entry_of(config: Mapping, name: str) -> str:
    """The entry of `methods` or `more_methods` that goes by this name; it tells where a user's own class is."""
    return next((entry for entry in _method_entries(config) if find_method(entry).name == name), name)


def _method_entries(config: Mapping) -> list[str]:
    more = [entry for cohort in config["cohorts"].values() for entry in cohort["more_methods"]]
    return list(dict.fromkeys([*config["methods"], *more]))


def of_kind(config: Mapping, kind: str, source: str | None = None) -> list[str]:
    """Cohorts of a kind (omics, aging), in the order of the config."""
    return [
        name
        for name, cohort in config["cohorts"].items()
        if cohort["kind"] == kind and (source is None or cohort["source"] == source)
    ]


# The keys of a cohort that name its files, by source and kind.
_FILES = {
    ("files", "omics"): ("inputs", "outputs", "covariates", "gene_names"),
    ("files", "aging"): ("table",),
    ("xena", "omics"): ("covariates", "gene_names"),
}


def cohort_files(settings: Mapping) -> dict[str, str]:
    """The user's files that hold a cohort's data, by the config key that names them: ``inputs``, or ``inputs.mrna``."""
    found: dict[str, str] = {}
    for key in _FILES.get((settings["source"], settings["kind"]), ()):
        if isinstance(settings[key], Mapping):
            found |= {f"{key}.{part}": path for part, path in settings[key].items()}
        elif settings[key]:
            found[key] = settings[key]
    return found


def table_files(config: Mapping, cohort: str) -> dict[str, str]:
    """The files besides a cohort's data that its X, Y and groups are made from, by the config key that names them.

    These are the lists of genes and proteins to keep, and the tables of pathways and antibodies. With
    :func:`cohort_files` they are all files that the config names for a cohort.
    """
    settings = cohort_settings(config, cohort)
    if settings["kind"] == "aging":
        return {}
    chosen = {key: settings["preprocessing"][key] for key in ("genes", "proteins")}
    lists = {key: choice for key, choice in chosen.items() if is_list(choice)}
    return lists | {key: config[key] for key in ("pathways", "antibodies") if config[key] is not None}


def resolve(node: Mapping) -> Mapping:
    if "$ref" not in node:
        return node
    target = schema()
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**target, **{key: value for key, value in node.items() if key != "$ref"}}


def _fill(config: dict, node: Mapping, *, overrides: bool = False) -> None:
    """Defaults, deeply. A cohort's `preprocessing` holds overrides, so it takes none."""
    for key, child in node.get("properties", {}).items():
        child = resolve(child)
        if key not in config and "default" in child and not overrides:
            config[key] = deepcopy(child["default"])
        if isinstance(config.get(key), dict):
            _fill(config[key], child, overrides=key == "preprocessing" and "source" in config)
    entries = node.get("additionalProperties")
    if isinstance(entries, Mapping) and "$ref" in entries:
        for value in config.values():
            _fill(value, resolve(entries))


def _keys_that_are_no_text(config, path: tuple = ()) -> Iterator[str]:
    if isinstance(config, Mapping):
        for key, value in config.items():
            if not isinstance(key, str):
                yield f"the name {key} in `{_place(path)}` is no text for YAML: put it in quotes, '{key}'."
            yield from _keys_that_are_no_text(value, (*path, key))


def _place(path: Iterable) -> str:
    return ".".join(map(str, path)) or "the top level"


def _in_plain_words(error: jsonschema.ValidationError) -> Iterator[str]:
    place = _place(error.absolute_path)
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        for key in [key for key in error.instance if key not in known]:
            closest = nearest(str(key), known)
            hint = f"Did you mean `{closest}`?" if closest else f"Known keys: {', '.join(known)}."
            yield f"unknown key `{key}` in {place}. {_GONE.get((place, key), hint)}"
    elif error.validator == "required":
        for key in [key for key in error.validator_value if key not in error.instance]:
            yield f"{place} lacks the key `{key}`.{_choices(error.schema.get('properties', {}).get(key, {}))}"
    elif error.validator == "enum":
        choices = [str(choice) for choice in error.validator_value]
        closest = nearest(str(error.instance), choices)
        hint = f" Did you mean {closest!r}?" if closest else ""
        yield f"`{place}` is {error.instance!r}; it can be {_listed(error.validator_value)}.{hint}"
    elif error.validator == "type":
        kinds = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
        yield f"`{place}` is {error.instance!r}: expected {' or '.join(_TYPES[kind] for kind in kinds)}."
    elif error.validator == "anyOf":
        yield f"`{place}` is {error.instance!r}: {resolve(error.schema).get('description', error.message)}"
    elif "propertyNames" in error.absolute_schema_path:
        yield f"the name {error.instance!r} in `{place}`: use letters, digits, - and _ only, since it names a folder."
    elif place == "mirror":
        yield f"`mirror` is {masked(str(error.instance))!r}: expected file:///…, http://… or https://…, or null."
    else:
        yield f"`{place}` is {error.instance!r}: {error.message}"


_TYPES = {
    "integer": "a whole number, without a decimal point",
    "number": "a finite number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list, [a, b]",
    "object": "keys and values",
    "null": "null",
}


def _choices(node: Mapping) -> str:
    return f" It can be {_listed(node['enum'])}." if "enum" in node else ""


def _listed(values: Iterable) -> str:
    return ", ".join("true" if value is True else "false" if value is False else str(value) for value in values)


def _inconsistencies(config: Mapping) -> Iterator[str]:
    """What a schema cannot tell."""
    yield from _methods_from_outside(config)
    names = [find_method(entry).name for entry in config["methods"]]
    if config["reference"] not in names:
        yield f"`reference` is {config['reference']!r}, which is not among `methods` ({', '.join(names)})."
    for chapter in (config["paper"] or {}).get("chapters") or []:
        if chapter not in CHAPTERS:
            yield f"`paper.chapters` has {chapter!r}; there are {', '.join(CHAPTERS)}."
    for name in config["cohorts"]:
        place, cohort = f"cohorts.{name}", cohort_settings(config, name)
        if name in ("benchmarks", "comparison", "figures", "logs", "paper", "tables"):
            yield f"`{place}`: the name is taken by a folder of results; choose another."
        if cohort["source"] == "xena" and cohort["kind"] == "aging":
            yield f"`{place}`: Xena has no aging cohorts; use `kind: omics` or `source: files`."
        if cohort["source"] == "files":
            needed = ("table", "macro", "molecular") if cohort["kind"] == "aging" else ("inputs", "outputs")
            for key in needed:
                if not cohort[key]:
                    yield f"`{place}` lacks the key `{key}`, which `source: files` with `kind: {cohort['kind']}` needs."
        adjust = cohort["preprocessing"]["adjust"]
        if adjust and cohort["kind"] == "omics" and not cohort["covariates"]:
            yield f"`{place}` is to be adjusted for {', '.join(adjust)} but names no `covariates` table."
        if cohort["source"] == "simulated" and cohort["kind"] == "omics" and adjust:
            yield f"`{place}`: simulated samples have no covariates to adjust for; set `preprocessing: {{adjust: []}}`."
        if cohort["source"] == "xena" and not cohort["cancer"].isalnum():
            yield f"`{place}` lacks the key `cancer`: {name!r} is no abbreviation of a cancer."
        listed = [column for side in ("macro", "molecular") for block in cohort[side].values() for column in block]
        twice = sorted({column for column in listed if listed.count(column) > 1})
        if twice:
            yield f"`{place}`: column {twice[0]!r} is listed more than once under `macro` and `molecular`."


def _methods_from_outside(config: Mapping) -> Iterator[str]:
    """What is wrong with users' own methods: their names, which are folders, and their classes."""
    taken = {"data", *METHODS, *FLOORS}
    for entry in _method_entries(config):
        if entry in METHODS:
            continue
        method = find_method(entry)
        if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_-]*", method.name):
            yield f"the method {entry!r}: its name {method.name!r} names a folder: letters, digits, - and _ only."
        if method.name.lower() in taken:
            yield f"the method {entry!r}: the name {method.name!r} is taken; write `another={method.path}`."
        taken.add(method.name.lower())
        try:
            load_class(method.path)
        except DataError as error:
            yield f"the method {entry!r}: {error}"
