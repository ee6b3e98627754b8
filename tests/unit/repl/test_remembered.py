"""What a session remembers, one numbering everywhere, imports that can be undone, and honest hints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compact.errors import ConfigError
from compact.repl import opening
from support.chat_server import ChatServer
from support.cli import Compact, Ended

Chat = Callable[..., Ended]
SMALL = ("--window", "2000", "--counter", "chars4", "--set", "policy.hard_cap_buffer=50")


def objects(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.out.splitlines()]


def texts(ended: Ended) -> list[str]:
    return [line.get("text", "") for line in objects(ended)]


def written(folder: Path, turns: int, tokens: int = 100, name: str = "long.json") -> str:
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n:04d}" + "wxyz" * (tokens - 6)}
        for n in range(turns)
    ]
    (folder / name).write_text(json.dumps(said))
    return f"/import {name}"


# -- settings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["option", "command"])
def test_a_session_keeps_its_preset(chat: Chat, server: ChatServer, tmp_path: Path, how: str) -> None:
    lines = [written(tmp_path, 30), "and now?"]
    if how == "option":
        chat("talk", *SMALL, "--preset", "chat", given="\n".join(lines))
    else:
        chat("talk", *SMALL, given="\n".join(["/preset chat", *lines]))
    sent = json.dumps(server.last)
    assert "0004" not in sent[:200]
    found = objects(chat("talk", "--json", *SMALL, given="/preset\n/stats\nand then?\n"))
    assert found[0]["preset"] == "chat"
    assert found[1]["tokens"] < 2_000, "without its preset the session would not know its own summary"
    # Another session does not.
    assert objects(chat("other", "--json", given="/preset\n"))[0]["preset"] == "window"
    # What the command line names wins, and lasts.
    assert (
        objects(chat("talk", "--json", "--preset", "budget", given="/preset\nhello\n"))[0]["preset"]
        == "budget"
    )
    assert objects(chat("talk", "--json", given="/preset\n"))[0]["preset"] == "budget"


def test_a_preset_that_was_only_looked_at_stores_no_session(chat: Chat, compact: Compact) -> None:
    chat("talk", "--preset", "chat", given="/preset\n/stats\n")
    assert compact("history", "--json").json["sessions"] == []


def test_a_session_keeps_its_model_and_says_so_where_it_cannot(
    chat: Chat, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat("talk", given="hello\n/model gpt-4.1\n")
    monkeypatch.setattr(opening, "_wanted", lambda context: {})  # as without --model
    found = objects(chat("talk", "--json", given="again\n"))
    assert found[0]["agent"] == "gpt-4.1" and server.requests[-1]["model"] == "gpt-4.1"

    choose = opening.chosen

    def refusing(name: str, context: Any) -> Any:
        if name == "gpt-4.1":
            raise ConfigError("gpt-4.1 needs OPENAI_API_KEY, which is not set.")
        return choose(name, context)

    monkeypatch.setattr(opening, "chosen", refusing)
    ended = chat("talk", "--json", given="once more\n")
    assert objects(ended)[0]["agent"] == "gpt-4o"
    assert any("gpt-4.1, which cannot be used now" in text for text in texts(ended))


# -- one numbering -------------------------------------------------------------------------------------------


def test_plan_pin_and_recall_count_alike(chat: Chat, compact: Compact, tmp_path: Path) -> None:
    chat("talk", "--system", "Be brief.", *SMALL, given=written(tmp_path, 13, 40))
    shown = chat("talk", "--text", *SMALL, given="/plan\n/recall 0010wx\n/pin 10\n")
    assert re.search(r"^ +m12 user +\d+ .*0012wxyz", shown.out, re.MULTILINE)
    assert "— message 10, user" in shown.out
    assert "Pinned, it will never be trimmed: message 10, 0010wxyz" in shown.err


def test_a_plan_adds_up_also_what_it_does_not_show(chat: Chat, tmp_path: Path) -> None:
    shown = chat("talk", "--text", *SMALL, given=f"{written(tmp_path, 90)}\n/plan\n").out
    total = next(line for line in shown.split("\n") if line.startswith("tokens (messages)"))
    counted = sum(int(number) for number in re.findall(r"(?:kept|dropped) [\d,]+ \((\d+)\)", total))
    assert counted == 90, total
    assert len(shown.split("\n")) < 60


# -- hints ---------------------------------------------------------------------------------------------------


def test_a_focus_that_no_summary_can_keep_is_not_ignored_silently(chat: Chat, tmp_path: Path) -> None:
    history = written(tmp_path, 16)
    dropped = texts(chat("one", "--json", *SMALL, given=f"{history}\n/compact the numbers\n"))
    assert any("writes no summary" in text and "/preset chat" in text for text in dropped)
    silent = texts(chat("two", "--json", *SMALL, given=f"{history}\n/compact\n"))
    summarized = texts(
        chat("three", "--json", *SMALL, "--preset", "chat", given=f"{history}\n/compact the numbers\n")
    )
    assert not any("writes no summary" in text for text in [*silent, *summarized])


def test_the_first_trim_names_the_preset_that_summarizes(
    chat: Chat, server: ChatServer, tmp_path: Path
) -> None:
    server.rule = lambda body: "fine"
    lines = [written(tmp_path, 17), "one", *["x" * 1_200] * 5]
    said = texts(chat("talk", "--json", *SMALL, given="\n".join(lines)))
    assert sum(text.startswith("Context trimmed.") for text in said) >= 2
    assert sum("/preset chat would summarize" in text for text in said) == 1


# -- imports -------------------------------------------------------------------------------------------------


def test_an_import_is_undone_by_undo(chat: Chat, server: ChatServer, tmp_path: Path) -> None:
    more = written(tmp_path, 4)
    found = objects(chat("talk", "--json", given=f"hello\n{more}\n/undo\n/stats\n"))
    assert "4 messages" in found[2]["text"] and found[3]["messages"] == 2
    # Also after the chat was left, and what is said next stands in the place of what was imported.
    assert objects(chat("talk", "--json", given="/stats\n"))[0]["messages"] == 2
    chat("talk", given="again\n")
    assert [message["content"] for message in server.last] == ["hello", "You said: hello", "again"]
    assert objects(chat("talk", "--json", given="/stats\n"))[0]["messages"] == 4
    # The same file can be imported anew, and something said keeps it.
    found = objects(chat("talk", "--json", given=f"{more}\nand now?\n/undo\n"))
    assert "nothing to undo" in found[-1]["text"]
    assert objects(chat("talk", "--json", given="/stats\n"))[0]["messages"] == 10


def test_an_import_undone_and_done_again_is_there(chat: Chat, tmp_path: Path) -> None:
    more = written(tmp_path, 4)
    chat("talk", given=f"hello\n{more}\n/undo\n{more}\n")
    assert objects(chat("talk", "--json", given="/stats\n"))[0]["messages"] == 6


def test_an_import_of_a_system_prompt_is_undone_with_it(
    chat: Chat, server: ChatServer, tmp_path: Path
) -> None:
    said = [{"role": "system", "content": "Be loud."}, {"role": "user", "content": "hello"}]
    (tmp_path / "in.json").write_text(json.dumps(said))
    chat("talk", given="/import in.json\n/undo\nhow are you?\n")
    assert [message["content"] for message in server.last] == ["how are you?"]


def test_what_is_there_already_is_not_imported_twice(chat: Chat, tmp_path: Path) -> None:
    history = written(tmp_path, 6)
    found = objects(chat("talk", "--json", given=f"{history}\n{history}\n/stats\n"))
    assert found[1]["type"] == "error" and "holds these 6 messages already" in found[1]["text"]
    assert "/import --again long.json" in found[1]["text"] and found[2]["messages"] == 6
    again = objects(chat("talk", "--json", given="/import --again long.json\n/stats\n"))
    assert again[1]["messages"] == 12
