"""Exports and imports as files: a JSON array of turn objects, and histories in other formats."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from compact.chat import transfer
from compact.chat.turns import Turn
from compact.console.context import to_json
from compact.console.files import read
from compact.errors import FormatError, StoreError


def exported(turns: Sequence[Turn], redact: Callable[[Any], Any]) -> str:
    """The turns as the redacted text of an export."""
    return to_json(transfer.exported(turns, redact), indent=2) + "\n"


def path_of(name: str) -> Path:
    """The path of the file that a user names, with `~` expanded."""
    try:
        path = Path(name).expanduser()
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass  # Reading or writing the file will report it.
    except (OSError, RuntimeError, ValueError) as error:  # An unknown home, a name too long, a zero byte.
        problem = getattr(error, "strerror", None) or error
        raise FormatError(f"{name} cannot be opened: {str(problem).rstrip('.')}. Nothing was done.") from None
    return path


def write(path: Path, text: str, replace: bool = False) -> None:
    """Write the whole file or nothing: a full disk leaves the previous file."""
    if path.exists() and not replace:
        raise StoreError(f"{path} already exists and is unchanged. `/export -f {path}` replaces it.")
    if not path.parent.exists():
        raise StoreError(
            f"The folder {path.parent} does not exist. Nothing was written; create it, or name another."
        )
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(
            f"{path} could not be written: {error.strerror or error}. The session is unchanged."
        ) from None


def imported(path: str) -> tuple[list[Turn], list[Turn]]:
    """The leading system turns of the file's history, and the turns after them; else FormatError."""
    try:
        conversations = read(path).conversations
    except FormatError as problem:
        raise FormatError(f"{problem} Nothing was imported.") from None
    if len(conversations) != 1:
        raise FormatError(
            f"{path} holds {len(conversations)} conversations; write the one you mean to a file of its own. "
            "Nothing was imported."
        )
    return transfer.imported(conversations[0].messages, conversations[0].system, path)
