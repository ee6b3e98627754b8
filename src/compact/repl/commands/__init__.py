"""The slash commands. Each has a one-line help text; a typo gets the nearest command as a suggestion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from compact.errors import HistoryGone
from compact.repl.saying import Canvas, Happening, Said, error

if TYPE_CHECKING:
    from compact.repl.chat import Chat

Run = Callable[["Chat", str, Canvas], Iterator[Happening]]


@dataclass(frozen=True)
class Command:
    name: str
    help: str
    home: str
    """The module whose function of that name runs it; imported at first use."""
    takes: str = ""
    completes: str = ""
    """The kind of its argument, for completion: path, session, preset, command."""

    def run(self, chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
        module = import_module(f"compact.repl.commands.{self.home}")
        run: Run = getattr(module, f"run_{self.name}")
        return run(chat, argument, canvas)

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.takes}".rstrip()


COMMANDS: Mapping[str, Command] = {
    command.name: command
    for command in (
        Command("help", "this list, or what one command does", "general", "[command]", "command"),
        Command("stats", "how full the context is, what fills it, and when it is trimmed", "context"),
        Command("clear", "save, then start fresh; the session and its settings stay", "context"),
        Command("compact", "compact now; the text says what to focus on", "context", "[focus]"),
        Command("plan", "what compacting would do to each message, without doing it", "context"),
        Command("summary", "the summary in use, or one of the conversation so far", "context"),
        Command("undo", "undo the last compaction, /clear or /import", "context"),
        Command("pin", "protect your last message, or message N; again to unpin", "context", "[N]"),
        Command("recall", "find what was said, even if it was trimmed", "memory", "text"),
        Command("save", "make sure everything is stored, and set a title", "memory", "[title]"),
        Command("sessions", "the stored sessions, newest first", "memory"),
        Command("resume", "continue a session: the last one, or by name", "memory", "[name]", "session"),
        Command("export", "write the turns since the last /clear to a file", "files", "[-f] [file]", "path"),
        Command(
            "import",
            "append a file's turns: ours, OpenAI, Anthropic, AI SDK",
            "files",
            "[--again] file",
            "path",
        ),
        Command("preset", "show the presets, or use another", "general", "[name]", "preset"),
        Command("model", "show the model, or use another", "general", "[name]", "model"),
        Command("trace", "the latest events of the engine", "general", "[N]"),
        Command("quit", "leave; everything is already stored", "general"),
    )
}
_ALSO = {"exit": "quit", "q": "quit", "?": "help", "h": "help", "load": "import", "history": "sessions"}


def is_command(text: str) -> bool:
    """Whether a line begins with a slash and a word; `/usr/bin is full` is a message."""
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    return len(word) > 1 and word[0] == "/" and "/" not in word[1:] and "\n" not in text.strip()


def unknown(name: str) -> Said:
    near = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    hint = f" Did you mean /{near[0]}?" if near else ""
    return error(f"There is no command /{name}.{hint} /help lists them all.", 2)


def run(chat: Chat, text: str, canvas: Canvas) -> Iterator[Happening]:
    """Run the command that this line names, or suggest the one that was probably meant."""
    word, _, argument = text.strip().partition(" ")
    name = word[1:].lower()
    from compact.repl.chat import failed, said

    command = COMMANDS.get(_ALSO.get(name, name))
    if command is None:
        yield unknown(name)
        return
    try:
        yield from map(said, chat.conversation.catch_up())
    except HistoryGone as gone:
        yield failed(gone)
    yield from command.run(chat, argument.strip(), canvas)
