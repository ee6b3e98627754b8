"""Turn pydantic's findings into errors that name the setting first, then what it must be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from compact.errors import ConfigError, shown
from compact.model.fields import dotted_paths, find, siblings, submodel

_OURS = "compact"
_GOT = re.compile(r"\(got [^()]*(?=\))")
_WANTED = {
    "bool": "true or false",
    "dict": "a mapping",
    "float": "a number",
    "int": "a whole number",
    "missing": "set",
    "model": "a mapping",
    "string": "text",
    "tuple": "a list",
}


def nearest(name: str, known: Iterable[str]) -> str:
    """The known dotted path that `name` most likely means, or an empty string.

    A path matches as a whole, or by its last word, so that a setting put in the wrong section is found too.
    """
    paths = list(known)
    found = get_close_matches(name, paths, n=1, cutoff=0.7)
    if found:
        return found[0]
    by_last_word = {path.rpartition(".")[2]: path for path in reversed(paths)}
    found = get_close_matches(name.rpartition(".")[2], by_last_word, n=1, cutoff=0.75)
    return by_last_word[found[0]] if found else ""


def finding(error: ConfigError) -> PydanticCustomError:
    """One of our own rejections as a pydantic finding, so that it is reported together with the others."""
    return PydanticCustomError(_OURS, "{message}", {"message": str(error), "path": error.path})


def config_error(
    error: ValidationError,
    model: type[BaseModel],
    origins: Mapping[str, str] | None = None,
    section: str = "",
) -> ConfigError:
    """One error for all findings, one line each; `origins` says where a dotted path's value came from.

    `section` is the path of the model among the settings, ending in a dot.
    """
    lines, first = [], ""
    for found in error.errors(include_url=False):
        if found["type"] == _OURS:
            path = str(found["ctx"]["path"])
            line = _with_origin(found["msg"], _origin(path, origins or {}))
        else:
            path = section + ".".join(str(step) for step in found["loc"])
            line = _line(path, found, model, _origin(path, origins or {}), section)
        first = first or path
        lines.append(line)
    return ConfigError("\n".join(lines), first)


def _with_origin(message: str, origin: str) -> str:
    return _GOT.sub(lambda got: f"{got[0]} {origin}", message, count=1) if origin else message


def _line(path: str, finding: Any, model: type[BaseModel], origin: str, section: str) -> str:
    kind: str = finding["type"]
    if kind == "extra_forbidden":
        # Not the section it is in: "policy.foo" does not mean "policy".
        elsewhere = (known for known in dotted_paths(model, section) if not path.startswith(f"{known}."))
        near = _sibling(path, finding, model) or nearest(path, elsewhere)
        hint = f" Did you mean {near}?" if near else ""
        return f"{path} is not a known setting{f' ({origin})' if origin else ''}.{hint}"
    wanted = _wanted(kind, finding, find(model, finding["loc"]))
    if kind == "missing":
        return f"{path} must be set{f' ({origin})' if origin else ''}"
    got = shown(finding["input"])
    if origin.startswith("from COMPACT_"):
        got = str(finding["input"])[:80]
    return f"{path} must be {wanted} (got {got}{f' {origin}' if origin else ''})"


def _sibling(path: str, finding: Any, model: type[BaseModel]) -> str:
    """The setting of the same section that is most likely meant."""
    front, dot, name = path.rpartition(".")
    found = get_close_matches(name, siblings(model, finding["loc"]), n=1, cutoff=0.75)
    return f"{front}{dot}{found[0]}" if found else ""


def _wanted(kind: str, finding: Any, field: FieldInfo | None) -> str:
    context = finding.get("ctx", {})
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        return _bounds(field, context)
    if kind == "string_too_short":
        return "text, and not empty"
    if "expected" in context:
        return "one of " + str(context["expected"]).replace("'", "").replace(" or ", ", ")
    if kind.startswith("model_") and field is not None and (section := submodel(field)) is not None:
        return f"a mapping with fields such as {next(iter(section.model_fields))}"
    return _WANTED.get(kind.partition("_")[0]) or str(finding["msg"]).removeprefix("Input should be ")


def _bounds(field: FieldInfo | None, broken: Mapping[str, Any]) -> str:
    """All bounds of the field, so that one look at the error is enough; at least the `broken` one."""
    limits: dict[str, Any] = {}
    for mark in field.metadata if field is not None else ():
        limits |= {name: getattr(mark, name) for name in ("ge", "gt", "le", "lt") if hasattr(mark, name)}
    limits = limits or dict(broken)
    low, high = limits.get("ge"), limits.get("le")
    if low is not None and high is not None:
        return f"{low}-{high}"
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    return " and ".join(f"{words[name]} {limit}" for name, limit in limits.items())


def _origin(path: str, origins: Mapping[str, str]) -> str:
    while path:
        if path in origins:
            return origins[path]
        path = path.rpartition(".")[0]
    return origins.get("", "")
