"""The input prompt: several lines, history, completion, and the status line below."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import AnyFormattedText
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from compact.repl.commands import COMMANDS
from compact.repl.driving import is_unread
from compact.repl.marks import FOLDER
from compact.repl.typed_text import typed_text

GLYPH = "› "
_STYLE = Style.from_dict(
    {
        "prompt": "ansicyan bold",
        "continuation": "ansibrightblack",
        "bottom-toolbar": "noreverse ansibrightblack",
        "bottom-toolbar.full": "noreverse ansiyellow",
    }
)


class PrivateHistory(FileHistory):
    """What was typed, readable only by this user; the file is created when there is something to keep."""

    def store_string(self, string: str) -> None:
        path = Path(os.fsdecode(self.filename))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            super().store_string(string)
        except OSError:
            pass  # A full disk must not end a conversation just because the history cannot be saved.


class SlashCompleter(Completer):
    """Completes commands after a slash, then their arguments."""

    def __init__(self, sessions: Callable[[], Sequence[str]], models: Callable[[], Sequence[str]]) -> None:
        self._words: dict[str, Callable[[], Sequence[str]]] = {
            "session": sessions,
            "model": models,
            "preset": _presets,
            "command": lambda: list(COMMANDS),
        }
        self._paths: Completer = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        word, space, argument = text.partition(" ")
        if not space:
            for command in COMMANDS.values():
                if command.name.startswith(word[1:]):
                    yield Completion(
                        f"/{command.name}",
                        -len(word),
                        display=command.usage,
                        display_meta=command.help,
                    )
            return
        kind = COMMANDS[word[1:]].completes if word[1:] in COMMANDS else ""
        if kind == "path":
            argument = argument.removeprefix("-f ").removeprefix("--again ")
            inner = Document(argument, len(argument))
            yield from self._paths.get_completions(inner, complete_event)
        elif kind:
            for name in self._words[kind]():
                if name.startswith(argument):
                    yield Completion(name, -len(argument))


class Prompt:
    """Asks for one message at a time."""

    def __init__(
        self,
        status: Callable[[], tuple[str, bool]],
        sessions: Callable[[], Sequence[str]],
        models: Callable[[], Sequence[str]],
        on_shown: Callable[[], None],
    ) -> None:
        self._status = status
        self._on_shown = on_shown
        self._session: PromptSession[str] = PromptSession(
            message=[("class:prompt", GLYPH)],
            multiline=True,
            prompt_continuation=lambda width, line, soft: [("class:continuation", "… ".rjust(width))],
            history=PrivateHistory(str(FOLDER / "history")),
            completer=SlashCompleter(sessions, models),
            complete_while_typing=True,
            reserve_space_for_menu=6,
            key_bindings=_keys(),
            bottom_toolbar=self._toolbar,
            style=_STYLE,
            enable_open_in_editor=True,
            tempfile_suffix=".md",
        )
        self._session.app.after_render += self._shown

    def _shown(self, _: Any) -> None:
        self._session.app.after_render -= self._shown
        self._on_shown()

    def _toolbar(self) -> AnyFormattedText:
        text, full = self._status()
        return [("class:bottom-toolbar.full" if full else "class:bottom-toolbar", f" {text}")]

    def ask(self, draft: str = "") -> str:
        return typed_text(self._session.prompt(default=draft))

    def typed_ahead(self) -> bool:
        """Whether keys are waiting for the next prompt: the last one may have read some along with its
        Enter."""
        keys = get_typeahead(self._session.app.input)
        store_typeahead(self._session.app.input, keys)
        return bool(keys) or is_unread()

    def set_aside(self, draft: str) -> None:
        """Keep a draft in the history: Up brings it back."""
        if next(iter(self._session.history.get_strings()[-1:]), "") != draft:
            self._session.history.append_string(draft)

    def refresh(self) -> None:
        """Redraw the status line; may be called from any thread."""
        self._session.app.invalidate()

    def end(self) -> None:
        """Stop asking, from another thread."""
        app = self._session.app
        if app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(lambda: app.exit(exception=EOFError) if app.is_running else None)


def _presets() -> Sequence[str]:
    from compact.policies import PRESETS

    return tuple(PRESETS)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.apply_completion(state.current_completion)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
