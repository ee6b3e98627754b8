"""The terminal chat, driven through a real pseudo-terminal; words and colors are read off the screen."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import Answer, ChatServer, chat_server
from support.terminal import Terminal, chatting

YELLOW, ORANGE, CYAN, RED = {"brown"}, {"ff8700"}, {"cyan"}, {"red"}
AT_80 = "Context at 80% capacity. Consider /clear or /save."
AT_90 = "Context at 90% capacity. Auto-trimming soon."
TRIMMED = "Context trimmed. Kept first 2 and last 10 turns."
INSTEAD = "The turns between are dropped. /preset chat would summarize them instead."
# Four characters are a token, and the reserve is small, so that tests can aim at per cents of the window.
WINDOW = 2_000
SMALL = ("--window", str(WINDOW), "--counter", "chars4", "--set", "policy.hard_cap_buffer=50")


HELD = threading.Event()


def rule(body: dict[str, Any]) -> str | Answer:
    """`say N` is answered with about N tokens, `hold on` when HELD is set, all else with what was said."""
    asked = str(body["messages"][-1]["content"])
    if asked == "hold on":
        return Answer("It took", " a while", hold=HELD)
    if asked.startswith("say "):
        return "wxyz" * int(asked.split()[1])
    return f"You said: {asked}"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(rule) as running:
        yield running


def options(server: ChatServer, *more: str) -> tuple[str, ...]:
    return ("--model", "gpt-4o", "--base-url", server.url, *more)


def roles(server: ChatServer) -> list[str]:
    return [message["role"] for message in server.last]


def history(turns: int, tokens: int) -> list[dict[str, Any]]:
    """So many turns of so many tokens, without what only our exports have."""
    kinds = ("user", "assistant")
    return [{"role": kinds[n % 2], "content": f"{n:04d}" + "wxyz" * (tokens - 6)} for n in range(turns)]


def seeded(terminal: Terminal, folder: Path, turns: int, tokens: int) -> None:
    (folder / "seed.json").write_text(json.dumps(history(turns, tokens)))
    assert f"{turns} turns imported" in terminal.say("/import seed.json")


@pytest.mark.spec("S1.1", "S1.2", "S1.3", "S1.4")
@pytest.mark.spec("S1.5", part="terminal")
def test_turns_add_up_and_clear_starts_fresh(server: ChatServer, tmp_path: Path) -> None:
    briefly = options(server, *SMALL, "--system", "Be brief.", "talk")
    with chatting(tmp_path, *briefly) as terminal:
        assert "You said: first question" in terminal.say("first question")
        terminal.say("second question")
        assert roles(server) == ["system", "user", "assistant", "user"]
        assert [m["content"] for m in server.last[1:]] == [
            "first question",
            "You said: first question",
            "second question",
        ]
        before = total(terminal)
        terminal.say("third question")
        after = total(terminal)
        # The running total grew by just the two turns: their text at four characters a token, and 4 each.
        added = 4 + -(-len("third question") // 4) + 4 + -(-len("You said: third question") // 4)
        assert after - before == added

        assert "Saved and cleared: 6 messages" in terminal.say("/clear")
        terminal.say("a new beginning")
        assert [m["content"] for m in server.last] == ["Be brief.", "a new beginning"]
        # Session metadata stays: the same session, its title and system prompt.
        said = terminal.say("/save")
        assert "session talk “first question”" in said
        assert "Undone: /clear" in terminal.say("/undo")
        terminal.say("back again")
        assert len(server.last) == 1 + 6 + 2 + 1


def total(terminal: Terminal) -> int:
    """The running total that /stats shows."""
    said = terminal.say("/stats")
    line = next(line for line in said.split("\n") if line.startswith("Context: "))
    return int(line.split()[1].replace(",", ""))


@pytest.mark.spec("S1.7", "S1.8", "S1.9", "S1.11")
@pytest.mark.spec("S1.6", part="terminal")
@pytest.mark.parametrize("columns", [80, 200])
def test_yellow_at_80_percent_then_a_trim_with_the_next_message(
    server: ChatServer, tmp_path: Path, columns: int
) -> None:
    briefly = options(server, *SMALL, "--system", "Be brief.")
    with chatting(tmp_path, *briefly, columns=columns) as terminal:
        seeded(terminal, tmp_path, 14, 100)
        said = terminal.say("say 240")
        assert AT_80 in said and AT_90 not in said and TRIMMED not in said
        assert terminal.color_of(AT_80) == YELLOW
        assert said.endswith(AT_80)  # after the reply, and nothing had to be answered
        # Commands typed now neither trim nor warn again.
        assert AT_80 not in terminal.say("/save")
        whole = server.last
        assert len(whole) == 16

        said = terminal.say("how are you")
        # 17 turns: the first 2 and the last 10 went out, and a marker for the 5 between, before the reply.
        marker = server.last[3]
        assert marker["role"] == "user" and "5 earlier turns were trimmed" in marker["content"]
        # The system prompt, the first two and the newest are as they were, in their order.
        assert server.last[:3] == whole[:3] and whole[0]["content"] == "Be brief."
        assert server.last[4:12] == whole[8:]
        assert [m["content"] for m in server.last[12:]] == ["wxyz" * 240, "how are you"]
        # Before the next prompt; the first trim of a session also names what would summarize instead.
        assert said.endswith(f"{TRIMMED}\n{INSTEAD}")
        assert terminal.color_of(TRIMMED) == CYAN
        assert AT_80 not in said
        assert "⟳1" in terminal.status
        # Re-armed after the trim: the next crossing is told again.
        assert AT_80 in terminal.say("say 500")


@pytest.mark.spec("S1.10")
@pytest.mark.parametrize("columns", [80, 200])
def test_orange_at_90_percent_and_one_more_turn(server: ChatServer, tmp_path: Path, columns: int) -> None:
    with chatting(tmp_path, *options(server, *SMALL), columns=columns) as terminal:
        seeded(terminal, tmp_path, 14, 100)
        said = terminal.say("say 420")
        # A jump past 90 % shows the orange warning only, with what can be done.
        assert AT_90 in said and AT_80 not in said
        assert terminal.color_of(AT_90) == ORANGE
        assert "/save" in said[said.index(AT_90) :] and "/clear" in said[said.index(AT_90) :]

        said = terminal.say("one more turn")
        assert len(server.last) == 17 and TRIMMED not in said and AT_90 not in said

        said = terminal.say("and now it is trimmed")
        assert len(server.last) == 13
        assert TRIMMED in said


@pytest.mark.spec("S1.10", "S1.11")
@pytest.mark.parametrize("columns", [80, 200])
def test_a_turn_that_would_not_fit_is_trimmed_at_once_with_the_real_counts(
    server: ChatServer, tmp_path: Path, columns: int
) -> None:
    with chatting(tmp_path, *options(server, *SMALL), columns=columns) as terminal:
        seeded(terminal, tmp_path, 18, 103)
        terminal.see(AT_90)
        assert terminal.color_of(AT_90) == ORANGE
        long = "x" * 4 * 160
        terminal.type(long)
        terminal.until(lambda: terminal.text.count("x") >= len(long), "the long message")
        terminal.type("\r")
        terminal.prompted()
        assert TRIMMED in terminal.text
        assert len(server.last) == 13
        # What stays is too large for ten turns: the notice has the real count.
        terminal.say("say 900")
        terminal.say("on we go")
        kept = len(server.last) - 3
        assert 1 <= kept < 10
        assert f"Context trimmed. Kept first 2 and last {kept} turns." in terminal.text


@pytest.mark.spec("S1.12", "S1.13")
def test_an_export_comes_back_to_the_same_bytes_and_is_redacted(server: ChatServer, tmp_path: Path) -> None:
    secret = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    with chatting(tmp_path, *options(server, "one")) as terminal:
        terminal.say("before the clear")
        terminal.say("/clear")
        terminal.say(f"my key is {secret}")
        terminal.say("and München 東京 🙂")
        assert "4 turns written to context.json, redacted" in terminal.say("/export context.json")
        assert "already exists" in terminal.say("/export context.json")
        assert "4 turns written" in terminal.say("/export -f context.json")
        first = (tmp_path / "context.json").read_bytes()
        turns = json.loads(first)
        assert secret.encode() not in first
        for turn in turns:
            assert turn.keys() >= {"role", "content", "timestamp", "session_id", "agent"}
            assert turn["session_id"] == "one" and turn["agent"] == "gpt-4o"
        assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2
        assert "before the clear" not in first.decode()

    with chatting(tmp_path, *options(server, "two")) as terminal:
        before = total(terminal)
        assert "4 turns imported" in terminal.say("/import context.json")
        after = total(terminal)
        assert after > before
        terminal.say("/export again.json")
        assert (tmp_path / "again.json").read_bytes() == first
        terminal.say("what did I say?")
        assert [message["content"] for message in server.last[:4]] == [turn["content"] for turn in turns]

        # A bad file is refused, and nothing is changed.
        held = total(terminal)
        (tmp_path / "bad.json").write_text('[{"role": "user", "content": "fine"}, {"role": "wizard"}]')
        (tmp_path / "half.json").write_text('[{"role": "user", "content": "fi')
        assert "messages[1] fits no known format" in terminal.say("/import bad.json").replace("\n", " ")
        assert terminal.color_of("bad.json was not imported") == RED
        assert "not valid JSON" in terminal.say("/import half.json")
        assert "could not be read" in terminal.say("/import nowhere.json")
        assert total(terminal) == held


@pytest.mark.spec("S1.14")
def test_sessions_last(server: ChatServer, tmp_path: Path) -> None:
    with chatting(tmp_path, *options(server, "alpha")) as terminal:
        terminal.say("remember the number 42")
        assert "Saved: session alpha “numbers”, 2 turns" in terminal.say("/save numbers")
        terminal.enter("/quit")
        assert terminal.ended() == 0
    with chatting(tmp_path, *options(server)) as terminal:
        listed = terminal.say("/sessions")
        assert "alpha" in listed and "numbers" in listed
        assert "2 turns" in terminal.say("/resume numbers")
        terminal.say("which number?")
        assert [message["content"] for message in server.last] == [
            "remember the number 42",
            "You said: remember the number 42",
            "which number?",
        ]
        assert "Did you mean alpha?" in terminal.say("/resume alpa")
        terminal.type("\x04")
        assert terminal.ended() == 0


@pytest.mark.spec("S1.14")
def test_two_chats_on_one_session_lose_no_turn(server: ChatServer, tmp_path: Path) -> None:
    HELD.clear()
    talk = options(server, "talk")
    with chatting(tmp_path, *talk) as one, chatting(tmp_path, *talk) as other:
        one.say("first")
        assert "The session went on elsewhere: 2 messages came in." in other.say("second")
        # A reply that comes after the other chat went on is put behind what came meanwhile.
        one.enter("hold on")
        one.see("It took")
        other.say("third")
        HELD.set()
        one.prompted()
        other.say("/export all.json")
    asked = ["first", "second", "third"]
    turns = [turn["content"] for turn in json.loads((tmp_path / "all.json").read_text())]
    assert turns[::2] == [*asked, "hold on"]
    assert turns[1::2] == [*(f"You said: {text}" for text in asked), "It took a while"]
