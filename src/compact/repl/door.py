"""The way into the chat: at a terminal, or in a pipe."""

from __future__ import annotations

from importlib.util import find_spec

from compact.cli.context import Context
from compact.errors import MissingExtra


def enter(context: Context) -> int:
    """Chat until the user leaves or the input ends; returns the exit code."""
    args, out = context.args, context.out.stream
    if not args.json and context.stdin.isatty() and out.isatty():
        for package in ("prompt_toolkit", "rich"):
            if find_spec(package) is None:
                raise MissingExtra(package, "chat")
        from compact.repl.terminal import converse

        return converse(context)
    from compact.repl.opening import open_chat
    from compact.repl.plain import JsonVoice, TextVoice, messages_of
    from compact.repl.plain import converse as converse_plainly

    as_json = args.json or (not args.text and not out.isatty())
    chat = open_chat(context)
    try:
        voice = JsonVoice(out) if as_json else TextVoice(out, context.err.stream)
        return converse_plainly(chat, messages_of(context.stdin, args.json), voice)
    finally:
        chat.close()
