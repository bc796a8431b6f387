"""The workflow's configuration: defaults filled in, mistakes told in the user's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from importlib import resources
from pathlib import Path

import jsonschema
import yaml

from nard.chapters import CHAPTERS
from nard.data.blocks import simulated_blocks
from nard.data.downloads import masked
from nard.data.names import nearest
from nard.errors import DataError

__all__ = [
    "ConfigError",
    "cohort_files",
    "cohort_settings",
    "load_config",
    "methods_of",
    "read_yaml",
    "resolve",
    "schema",
    "validated",
    "without_secrets",
]


# Keys that there were, and what to write instead.
_GONE = {
    ("fit", "refit"): "There is no refit any more: `fit.relevance` (auto, inputs, entries, both) says which parts the "
    "coefficients have. Leave `refit` out, or write `relevance: auto`.",
}


class ConfigError(DataError):
    """A mistake in the configuration."""


@cache
def schema() -> dict:
    return yaml.safe_load(
        (resources.files("nard.project") / "schemas" / "config.schema.yaml").read_text(encoding="utf-8")
    )


def load_config(path: str | Path) -> dict:
    """The configuration in a YAML file, checked and with its defaults."""
    return validated(read_yaml(path), str(path))


def read_yaml(path: str | Path) -> dict:
    """The keys and values in a YAML file; a key that is there twice is an error."""
    try:
        config = yaml.load(Path(path).read_text(encoding="utf-8"), _UniqueKeys)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a file that can be read as UTF-8.\n  {error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML.\n  {error}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: expected keys and values, `cohorts:` among them, found {type(config).__name__}.")
    return config


class _UniqueKeys(yaml.SafeLoader):
    """Takes no mapping with a key that is there twice; plain YAML would silently keep the last."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for (key, _), name in zip(node.value, keys, strict=True):
            if keys.count(name) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"the key `{name}` is there twice", key.start_mark)
        return super().construct_mapping(node, deep)


def validated(config: Mapping, where: str = "config") -> dict:
    """A copy of ``config`` with every default filled in; :class:`ConfigError` names all mistakes."""
    config = deepcopy(dict(config))
    problems = list(_keys_that_are_no_text(config))
    if not problems:
        validator = jsonschema.Draft202012Validator(schema())
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
    return {
        **entry,
        "preprocessing": {**config["preprocessing"], **entry["preprocessing"]},
        "cancer": entry["cancer"] or cohort,
        "title": entry["title"] or cohort,
    }


def methods_of(config: Mapping, cohort: str) -> list[str]:
    """The methods to fit to a cohort, in the order of the registry's tables."""
    return list(dict.fromkeys([*config["methods"], *config["cohorts"][cohort]["more_methods"]]))


def cohort_files(settings: Mapping) -> dict[str, str]:
    """The files of a cohort with ``source: files``, by the config key that names them."""
    keys = ("table",) if settings["kind"] == "aging" else ("inputs", "outputs", "covariates")
    return {key: settings[key] for key in keys if settings[key] is not None}


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
    elif error.validator == "anyOf":
        yield f"`{place}` is {error.instance!r}: {resolve(error.schema).get('description', error.message)}"
    elif "propertyNames" in error.absolute_schema_path:
        yield f"the name {error.instance!r} in `{place}`: use letters, digits, - and _ only, since it names a folder."
    elif place == "mirror":
        yield f"`mirror` is {masked(str(error.instance))!r}: expected file:///…, http://… or https://…, or null."
    else:
        yield f"`{place}` is {error.instance!r}: {error.message}"


def _choices(node: Mapping) -> str:
    return f" It can be {_listed(node['enum'])}." if "enum" in node else ""


def _listed(values: Iterable) -> str:
    return ", ".join("true" if value is True else "false" if value is False else str(value) for value in values)


def _inconsistencies(config: Mapping) -> Iterator[str]:
    """What a schema cannot tell."""
    if config["reference"] not in config["methods"]:
        methods = ", ".join(config["methods"])
        yield f"`reference` is {config['reference']!r}, which is not among `methods` ({methods})."
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
        if adjust and cohort["kind"] == "omics" and cohort["covariates"] is None:
            yield f"`{place}` is to be adjusted for {', '.join(adjust)} but names no `covariates` table."
        if cohort["source"] == "simulated" and cohort["kind"] == "omics" and adjust:
            yield f"`{place}`: simulated samples have no covariates to adjust for; set `preprocessing: {{adjust: []}}`."
        if cohort["source"] == "xena" and not cohort["cancer"].isalnum():
            yield f"`{place}` lacks the key `cancer`: {name!r} is no abbreviation of a cancer."
        columns = [column for side in ("macro", "molecular") for block in cohort[side].values() for column in block]
        twice = sorted({column for column in columns if columns.count(column) > 1})
        if twice:
            yield f"`{place}`: column {twice[0]!r} is listed more than once under `macro` and `molecular`."
