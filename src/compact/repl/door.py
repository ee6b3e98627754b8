"""The entry point of the chat: at a terminal, or in a pipe."""

from __future__ import annotations

from contextlib import closing
from importlib.util import find_spec

from compact.console.context import Context
from compact.errors import CompactError, MissingExtra


def enter(context: Context) -> int:
    """Chat until the user leaves or the input ends; returns the exit code."""
    args, out = context.args, context.out.stream
    at_terminal = not args.json and context.stdin.isatty() and out.isatty()
    for package in ("sqlalchemy", "prompt_toolkit", "rich") if at_terminal else ("sqlalchemy",):
        if find_spec(package) is None:
            raise MissingExtra(package, "chat")
    if at_terminal:
        from compact.repl.terminal import converse

        return converse(context)
    from compact.repl.chat import failed
    from compact.repl.opening import open_chat
    from compact.repl.plain import JsonVoice, TextVoice, messages_of
    from compact.repl.plain import converse as converse_plainly

    if not args.json and (args.text or out.isatty()):
        with closing(open_chat(context)) as chat:
            return converse_plainly(
                chat, messages_of(context.stdin, False), TextVoice(out, context.err.stream)
            )
    voice = JsonVoice(out)
    try:
        with closing(open_chat(context)) as chat:
            return converse_plainly(chat, messages_of(context.stdin, args.json), voice)
    except CompactError as problem:
        # Like every other line: one object, where programs look for it.
        voice.show(said := failed(problem))
        return said.exit_code
