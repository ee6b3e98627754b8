"""Check what callers pass in before any of it is stored: a clear error now, not a TypeError later."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from compact.errors import ConfigError, FormatError, shown
from compact.ports import Archive, Exporter, Store, missing_methods


def check_session(session_id: Any) -> None:
    if not isinstance(session_id, str):
        _refuse("session_id", "text", session_id)


def check_limit(limit: Any) -> None:
    if not _is_number(limit) or limit < 0:
        raise FormatError(
            f"limit must be a whole number, 0 or more, not {shown(limit)}. Nothing was looked up."
        )


def check_query(query: Any, after: Any) -> None:
    if not isinstance(query, str):
        _refuse("query_or_handle", "text", query)
    if not _is_number(after):
        _refuse("after", "a position", after)


def check_note(note: Any) -> None:
    if not isinstance(note, str):
        _refuse("note", "text", note)


def check_step(step: Any) -> None:
    if not _is_number(step):
        _refuse("step", "the number of a compaction", step)


def check_patience(wait: Any, on_error: Any) -> None:
    if wait is not None and (isinstance(wait, bool) or not isinstance(wait, int | float) or not wait >= 0):
        raise FormatError(f"wait must be None or seconds, 0 or more, not {shown(wait)}. Nothing was changed.")
    if not isinstance(on_error, str) or on_error not in ("raise", "pass"):
        raise FormatError(f'on_error must be "raise" or "pass", not {shown(on_error)}. Nothing was changed.')


def check_asked(messages: Any, tools: Any, system: Any, context: Any) -> None:
    if not isinstance(messages, list) and (not _is_array(messages) or isinstance(messages, Mapping)):
        # Not a generator either: it is read more than once.
        _refuse("messages", "a list", messages)
    if not (tools is None or isinstance(tools, list) or _is_array(tools)):
        _refuse("tools", "a list, or a mapping from names", tools)
    if not (system is None or isinstance(system, str) or _is_array(system)):
        _refuse("system", "text or a list of text blocks", system)
    if not (context is None or isinstance(context, str)):
        _refuse("context", "text", context)


def check_ports(store: Any, archive: Any, exporters: Any) -> None:
    """Reject now what would fail in the middle of a conversation."""
    if store is not None:
        _check_port("store", "store", store, Store)
    if archive is not None:
        _check_port("archive", "archive", archive, Archive)
    if not isinstance(exporters, Collection):
        raise ConfigError(f"exporters must be a list, not {type(exporters).__name__}.", "exporters")
    for number, exporter in enumerate(exporters):
        port = object if callable(exporter) else Exporter
        _check_port(f"exporters[{number}]", "exporter", exporter, port)


def _check_port(path: str, kind: str, given: Any, port: type) -> None:
    if isinstance(given, type):
        raise ConfigError(f"{path}: {given.__name__} is a class. Pass an object of it.", path)
    if missing := missing_methods(given, port):
        raise ConfigError(
            f"{path}: {type(given).__name__} is no {kind}. It has no {', '.join(missing)}.", path
        )


def _is_number(value: Any) -> bool:
    # True and False are numbers to Python, and an error to databases.
    return isinstance(value, int) and not isinstance(value, bool)


def _is_array(value: Any) -> bool:
    # Arrays of numbers (numpy, pandas, torch) compare element by element: no list of messages does that.
    text = isinstance(value, (str, bytes, bytearray)) or hasattr(value, "__array__")
    return isinstance(value, Collection) and not text


def _refuse(name: str, wanted: str, given: Any) -> None:
    raise FormatError(f"{name} must be {wanted}, not {type(given).__name__}. Nothing was changed.")
