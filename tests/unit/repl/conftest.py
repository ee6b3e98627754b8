"""A chat in this process, with a model that answers over the real wire."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compact.cli import main
from support.chat_server import Answer, ChatServer, chat_server
from support.cli import Compact, Ended


@pytest.fixture
def server() -> Iterator[ChatServer]:
    def rule(body: dict[str, Any]) -> str | Answer:
        asked = str(body["messages"][-1]["content"])
        if asked == "fail":
            return Answer("no such model", status=404)
        usage = {"prompt_tokens": 10 * len(body["messages"]), "completion_tokens": 7}
        return Answer("You said: ", asked, usage=usage)

    with chat_server(rule) as running:
        yield running


@pytest.fixture
def chat(server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """`compact chat` with these options and this input, not on a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # The studio keeps its sessions there.

    def run(*options: str, given: str = "", model: str = "gpt-4o") -> Ended:
        out, err = io.StringIO(), io.StringIO()
        argv = ["chat", "--model", model, "--base-url", server.url, *options]
        code = main(argv, stdin=io.StringIO(given), stdout=out, stderr=err, environ={})
        return Ended(int(code), out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def compact() -> Compact:
    def run(*argv: str) -> Ended:
        out, err = io.StringIO(), io.StringIO()
        code = main(list(argv), stdin=io.StringIO(), stdout=out, stderr=err, environ={})
        return Ended(int(code), out.getvalue(), err.getvalue())

    return run
