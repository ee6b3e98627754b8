"""`compact export`: a stored session as JSONL, one message per line, redacted like all exports."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import copymode
from tempfile import mkstemp
from typing import Any, TextIO

from compact.console.context import Context, to_json
from compact.console.exits import ExitCode
from compact.console.stored import add_store, holding, redactor_of
from compact.console.terminal import plural
from compact.errors import StoreError
from compact.model.message import Message
from compact.stores.raw_json import as_plain


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to this file instead of standard output; it must not exist yet",
    )
    parser.add_argument("--force", action="store_true", help="with -o: replace an existing file")
    add_store(parser)


def run(context: Context) -> ExitCode:
    redactor, session = redactor_of(context), context.args.session
    with holding(context, session) as store:
        objects = (redactor.value(as_plain(item)) for item in objects_of(store.originals(session)))
        if context.args.output is None:
            count = _write(objects, context.out)
        else:
            try:
                count = _write_file(objects, Path(context.args.output), context.args.force)
            except FileExistsError:
                raise StoreError(
                    f"{context.args.output} could not be written: it already exists and is unchanged. "
                    "Name another file, or replace this one with --force."
                ) from None
            except OSError as error:
                raise StoreError(f"{context.args.output} could not be written: {error.strerror}.") from None
    context.note(
        f"{plural(count, 'message')} of {session}, {'redacted' if redactor.enabled else 'NOT redacted'}"
    )
    return ExitCode.OK


def objects_of(messages: Iterable[Message]) -> Iterator[Any]:
    """The callers' objects, one at a time; one that grew is returned as it last was."""
    last: Any = None
    for message in messages:
        if message.origin is None:
            continue
        if message.origin.part == 0 and last is not None:
            yield last
        last = message.origin.source
    if last is not None:
        yield last


def _write_file(objects: Iterable[Any], path: Path, replaces: bool) -> int:
    """Write a new file. The file it replaces stays until the new one is complete."""
    if not replaces or not path.is_file():
        with path.open("w" if replaces else "x", encoding="utf-8") as file:
            return _write(objects, file)
    target = path.resolve()
    descriptor, part = mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            count = _write(objects, file)
        copymode(target, part)
        Path(part).replace(target)
    finally:
        Path(part).unlink(missing_ok=True)
    return count


def _write(objects: Iterable[Any], out: TextIO | Any) -> int:
    count = 0
    for item in objects:
        out.write(to_json(item) + "\n")
        count += 1
    return count
