"""`compact import`: messages from a file into a stored session, all or none, checked first."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from compact.cli.measuring import Meter
from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.files import MAX_BYTES, Shape, read
from compact.console.options import load_config
from compact.console.stored import add_store, created
from compact.console.terminal import plural
from compact.core.view import chain
from compact.errors import FormatError
from compact.formats import by_name, recognizes, without_table
from compact.formats.recognition import ANY, narrow, preferred
from compact.model.message import Message, Role
from compact.ports import Format

if TYPE_CHECKING:
    from compact.ports import DoorStore

MAX_LINE = 64 * 1024 * 1024
MAX_DEPTH = 64
_AT_A_TIME = 100
Messages = Callable[[], Iterator[tuple[int, Any]]]
"""Starts over with each call: messages are recognized, then checked, then stored."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="one message per line, as `compact export` writes it, or a JSON file with one conversation",
    )
    parser.add_argument("session", metavar="SESSION", help="session to append the messages to")
    parser.add_argument("--format", metavar="NAME", help="the message format (default: detected)")
    parser.add_argument(
        "--again", action="store_true", help="also append what the session already begins or ends with"
    )
    add_store(parser, creates=True)


def run(context: Context) -> ExitCode:
    path, session = Path(context.args.file), context.args.session
    if not session.strip():
        raise FormatError("SESSION is empty: name the session that the messages are to go into.")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(
                f"{path} is larger than {MAX_BYTES >> 20} MiB; split it first. Nothing was stored."
            )
        with path.open("rb") as stream:
            messages = messages_of(stream, path)
            format = checked(messages, path, context.args.format)
            with created(context) as store, store.exclusively(session):
                meter = Meter(load_config(context)[0], context)
                held = [] if context.args.again else [message.digest for message in store.originals(session)]
                given = _stored(store, session, messages, format, meter.size)
                count = len(given)
                # Raised inside the transaction, so that all of it is rolled back.
                if count and given in (held[:count], held[-count:]):
                    these = "this message" if count == 1 else f"these {count} messages"
                    raise FormatError(
                        f"{session} holds {these} already. Nothing was stored; import into another "
                        "session, or append once more with --again."
                    )
    except OSError as error:
        raise FormatError(f"{path} could not be read: {error.strerror}. Nothing was stored.") from None
    if context.args.json:
        context.print_json({"session": session, "messages": count, "format": format.name})
    context.note(f"{plural(count, 'message')} appended to {session} ({format.name})")
    return ExitCode.OK


def checked(messages: Messages, path: Path, named: str | None) -> Format:
    """The messages' format; FormatError says where they are wrong."""
    format = by_name(named) if named is not None else _recognized(messages)
    count = 0
    for number, item in messages():
        format.decode(item, number)
        count += 1
    if count == 0:
        raise FormatError(f"{path} holds no message. Nothing was stored.")
    return format


def _recognized(messages: Messages) -> Format:
    """The format of the messages, read one by one because a file may be larger than memory."""
    possible = ANY
    try:
        for number, item in messages():
            possible = narrow(possible, [item], number)
        return by_name(preferred(possible))
    except FormatError:
        for format in without_table():
            if all(recognizes(format, [item]) for _, item in messages()):
                return format
        raise


def messages_of(stream: BinaryIO, path: Path) -> Messages:
    """The messages of a file that is one whole conversation, such as a request body, or has one per line."""
    first = stream.readline(MAX_LINE + 1)
    if _is_object(first):
        return partial(lines, stream, path)
    try:
        whole = read(str(path), StringIO())
    except FormatError:
        return partial(lines, stream, path)  # It reports the line that cannot be read.
    if whole.shape in (Shape.LINES, Shape.OBJECT_LINES):
        return partial(lines, stream, path)
    if len(whole.conversations) != 1:
        raise FormatError(
            f"{path} holds {len(whole.conversations)} conversations, and a session takes one. Nothing was "
            "stored."
        )
    return partial(_items, whole.conversations[0].messages, path)


def _is_object(line: bytes) -> bool:
    """Whether a line is a complete object but not a request body; then the file is read line by line."""
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(item, dict) and "messages" not in item


def _items(items: Sequence[Any], path: Path) -> Iterator[tuple[int, Any]]:
    for number, item in enumerate(items):
        if not _is_message(item):
            raise FormatError(f"{path}: message {number + 1} is not a message. Nothing was stored.")
        yield number, item


def lines(stream: BinaryIO, path: Path) -> Iterator[tuple[int, Any]]:
    stream.seek(0)
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise FormatError(
                f"{path}, line {number} is longer than {MAX_LINE >> 20} MiB. Nothing was stored."
            )
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _unexpected(path, f"line {number} is not JSON ({getattr(error, 'msg', error)})") from None
        if not _is_message(item):
            raise _unexpected(path, f"line {number} is not a message")
        yield number - 1, item


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and "messages" not in item and _depth(item) <= MAX_DEPTH


def _unexpected(path: Path, found: str) -> FormatError:
    return FormatError(
        f"{path} must hold one message a line, as `compact export` writes it, or one conversation as JSON: "
        f"{found}. Nothing was stored."
    )


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level and deepest <= MAX_DEPTH:
        deepest += 1
        inner: list[Any] = []
        for item in level:
            children = item.values() if isinstance(item, dict) else item
            inner += [child for child in children if isinstance(child, dict | list)]
        level = inner
    return deepest


def _stored(
    store: DoorStore,
    session: str,
    messages: Messages,
    format: Format,
    size: Callable[[Message], int],
) -> list[bytes]:
    """Append the messages; returns their digests."""
    start, previous = store.end(session)
    stored, batch = list[bytes](), list[Message]()
    leading = True
    for number, item in messages():
        decoded = format.decode(item, number)
        # The caller passes the system prompt with each call; it is not part of the history.
        leading = leading and all(m.role in (Role.SYSTEM, Role.DEVELOPER) for m in decoded)
        if leading:
            continue
        batch += decoded
        stored += [message.digest for message in decoded]
        if len(batch) >= _AT_A_TIME:
            sizes = list(map(size, batch))
            store.append(session, start, batch, previous=previous, format=format.name, sizes=sizes)
            start, previous, batch = start + len(batch), chain(batch, previous), []
    if batch:
        sizes = list(map(size, batch))
        store.append(session, start, batch, previous=previous, format=format.name, sizes=sizes)
    return stored
