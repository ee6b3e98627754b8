"""Reads settings from a file and from `COMPACT_*` variables, as plain data that the models then validate."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from compact.errors import ConfigError
from compact.model.fields import dotted_paths, find, submodel, variants
from compact.model.message import json_kind
from compact.model.problems import config_error, nearest

PREFIX = "COMPACT_"
FILE_VARIABLE = "COMPACT_CONFIG"
DEFAULT_FILES = ("compact.yaml", "compact.yml", "compact.json")


class ConfigWarning(UserWarning):
    """A setting that has no effect."""


Config = TypeVar("Config", bound=BaseModel)


def load(
    model: type[Config],
    path: str | PathLike[str] | None,
    environ: Mapping[str, str] | None,
    overrides: Mapping[str, Any],
    named: Mapping[str, str] | None = None,
) -> Config:
    """Merge the file, then variables, then `overrides`; later ones win, setting by setting.

    `named` gives the origin of overrides by their dotted paths, as in "from --window".
    """
    variables = os.environ if environ is None else environ
    if path is not None and not isinstance(path, str | PathLike):
        raise ConfigError(
            f"path must be the path of a file, not {type(path).__name__}. No settings were loaded."
        )
    file = Path(path) if path is not None else default_file(variables)
    data: dict[str, Any] = read_file(file) if file is not None else {}
    if "summarizer" in data:
        # A variable for one setting of a list applies to its first entry.
        data = {**data, "summarizer": first_with_fallbacks(data["summarizer"])}
    origins = {"": f"in {file}"} if file is not None else {}
    settings, unknown = from_environ(model, variables)
    for message in unknown:
        warnings.warn(message, ConfigWarning, stacklevel=4)
    for dotted, name, value in settings:
        if dotted == "summarizer" and not isinstance(value, Mapping):
            # Names take the place of what the file says; variables for single settings apply to the first.
            data = {**data, dotted: first_with_fallbacks(value)}
        else:
            data = merged(data, nested(dotted.split("."), value))
        origins[dotted] = f"from {name}"
    data = merged(data, overrides)
    origins |= {dotted: (named or {}).get(dotted, "") for dotted in _leaves(overrides)}
    try:
        return model.model_validate(data)
    except ConfigError as error:
        # Report the same errors again, now with the origin of each value.
        if isinstance(error.__context__, ValidationError):
            raise config_error(error.__context__, model, origins) from None
        raise


def first_with_fallbacks(value: Any) -> Any:
    """A summarizer or a list of them, some given only by name, as settings: the first, then its fallbacks."""
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, list | tuple) or not value:
        return value
    links = [{"name": link} if isinstance(link, str) else link for link in value]
    first, *others = [
        link.model_dump(exclude_unset=True) if isinstance(link, BaseModel) else link for link in links
    ]
    return {**first, "fallbacks": others} if isinstance(first, Mapping) else value


def default_file(environ: Mapping[str, str]) -> Path | None:
    if environ.get(FILE_VARIABLE):
        return Path(environ[FILE_VARIABLE])
    return next((Path(name) for name in DEFAULT_FILES if Path(name).is_file()), None)


def read_file(path: Path) -> dict[str, Any]:
    """A configuration file as a mapping; raises ConfigError with the file and the position."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{path} could not be read: {reason}. No settings were loaded.") from None
    try:
        data = _parse_json(text) if path.suffix == ".json" else _parse_yaml(text)
    except ValueError as error:
        raise ConfigError(f"{path} could not be parsed: {error}. No settings were loaded.") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold a mapping of settings (got {json_kind(data)}).")
    return data


def _parse_json(text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f"the key {key!r} appears twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=unique) if text.strip() else None


def _parse_yaml(text: str) -> Any:
    import yaml

    class UniqueKeys(yaml.SafeLoader):
        """PyYAML silently keeps the last of two equal keys; a setting must not vanish like that."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key_node, _ in node.value:
                key = key_node.value
                if isinstance(key, str) and key in seen:
                    raise ValueError(f"line {key_node.start_mark.line + 1}: the key {key!r} appears twice")
                if isinstance(key, str):
                    seen.add(key)
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, UniqueKeys)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise ValueError(where + str(getattr(error, "problem", None) or error)) from None


def from_environ(
    model: type[BaseModel], environ: Mapping[str, str]
) -> tuple[list[tuple[str, str, Any]], list[str]]:
    """Settings as (dotted path, variable, value), and a warning for each variable that sets nothing.

    `COMPACT_SUMMARIZER__MODEL` is `summarizer.model`. A name that is not a top-level setting is looked up in
    the policy: `COMPACT_TRIGGER_PCT` is `policy.trigger_pct`.
    """
    settings, unknown = [], []
    names = sorted(name for name in environ if name.startswith(PREFIX) and name != FILE_VARIABLE)
    for name in sorted(names, key=lambda name: name.count("__")):
        steps = tuple(name.removeprefix(PREFIX).lower().split("__"))
        path = next((path for path in (steps, ("policy", *steps)) if find(model, path) is not None), None)
        field = find(model, path) if path is not None else None
        if path is None or field is None or "models" in path[:-1]:
            unknown.append(f"{name} sets nothing.{_did_you_mean(name, model)}")
        else:
            dotted, text = ".".join(path), environ[name]
            takes_names = dotted == "summarizer" and text.strip()[:1] not in ("", "{", "[", '"')
            settings.append((dotted, name, _words(text) if takes_names else _value(name, text, field)))
    return settings, unknown


def _did_you_mean(name: str, model: type[BaseModel]) -> str:
    # Compared without the prefix: with it, all short names would look similar.
    known = (variable.removeprefix(PREFIX) for variable in variable_names(model))
    near = nearest(name.removeprefix(PREFIX), known)
    return f" Did you mean {PREFIX}{near}?" if near else " It is not a known setting."


def variable_names(model: type[BaseModel]) -> Iterator[str]:
    """Every variable that would set something, with policy settings in their short form."""
    for dotted in dotted_paths(model):
        yield PREFIX + dotted.removeprefix("policy.").replace(".", "__").upper()


def _value(name: str, text: str, field: FieldInfo) -> Any:
    """A variable's text as data of the field's shape; pydantic parses numbers and booleans."""
    kinds = variants(field.annotation)
    if submodel(field) is not None or any(get_origin(kind) is dict for kind in kinds):
        return _json_value(name, text)
    if any(get_origin(kind) is tuple for kind in kinds):
        return _json_value(name, text) if text.lstrip().startswith("[") else _words(text)
    is_text = any(
        kind is str or get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum))
        for kind in kinds
    )
    return None if not is_text and text.strip().lower() in ("", "none", "null") else text.strip()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _json_value(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{name} must hold JSON: {error}") from None


def _leaves(settings: Mapping[str, Any], front: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{front}{key}.")
        else:
            yield f"{front}{key}"


def nested(steps: list[str], value: Any) -> dict[str, Any]:
    for step in reversed(steps):
        value = {step: value}
    result: dict[str, Any] = value
    return result


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` on top, merged mapping by mapping; neither is modified."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both and old is not None else value
    return result
