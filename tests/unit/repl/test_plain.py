"""The chat in a pipe: messages, JSON lines, exit codes; and every command, as a program sees it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from compact.config import CompactConfig
from compact.manager import CompactManager
from compact.repl.commands import COMMANDS
from compact.repl.commands.memory import session_line
from compact.repl.plain import messages_of
from compact.stores import open_store
from compact.stores.memory import MemoryStore
from support.chat_server import Answer, ChatServer
from support.cli import Compact, Ended

Chat = Callable[..., Ended]


def objects(ended: Ended) -> list[dict[str, Any]]:
    """Every line of the output, which must be one JSON object each."""
    return [json.loads(line) for line in ended.out.splitlines()]


def test_a_question_in_a_pipe_is_answered(chat: Chat, server: ChatServer) -> None:
    ended = chat(given="why is\nthe sky blue?\n")
    assert ended.code == 0 and "\x1b" not in ended.out
    (reply,) = objects(ended)
    assert reply["type"] == "reply" and reply["content"] == "You said: why is\nthe sky blue?"
    assert reply["usage"] == {"prompt_tokens": 10, "completion_tokens": 7}
    assert reply["context"]["window"] == 128_000
    assert len(server.requests) == 1


def test_plain_text_is_the_reply_and_nothing_else(chat: Chat) -> None:
    ended = chat("--text", given="hello\n/save greeting\n")
    assert ended.out == "You said: hello\n"
    assert "Saved: session" in ended.err


@pytest.mark.parametrize(
    ("given", "one_a_line", "found"),
    [
        ("a\nb\n\nc\n", False, ["a\nb\n\nc"]),
        ("a\n/stats\nb\nc\n/quit\n", False, ["a", "/stats", "b\nc", "/quit"]),
        ("/usr/bin is full\n", False, ["/usr/bin is full"]),
        ("a\nb\n", True, ["a", "b"]),
        ('{"content": "a\\nb"}\n/stats\n', True, ["a\nb", "/stats"]),
        ("{not json\n", True, ["{not json"]),
        ("\n \n", False, []),
        # Bytes that are not UTF-8, and UTF-8 read under a locale that is not: both as Python reads them.
        ("caf\udce9\n/save \udcff\n", False, ["caf\ufffd", "/save \ufffd"]),
        ("gr\udcc3\udcbc\udcc3\udc9fe\n", True, ["grüße"]),
        ('{"content": "half \\ud83d"}\n', True, ["half \ufffd"]),
    ],
)
def test_what_is_piped_in_becomes_messages(given: str, one_a_line: bool, found: list[str]) -> None:
    assert list(messages_of(given.splitlines(keepends=True), one_a_line)) == found


def test_json_takes_one_message_a_line_and_remembers(chat: Chat, server: ChatServer) -> None:
    ended = chat("--json", given='one\n{"content": "two\\nlines"}\n')
    assert [line["content"] for line in objects(ended)] == ["You said: one", "You said: two\nlines"]
    assert [message["content"] for message in server.last] == ["one", "You said: one", "two\nlines"]


def test_exit_codes(chat: Chat, tmp_path: Path) -> None:
    assert chat(given="").code == 2
    failed = chat("--json", given="fail\nhello\n")
    assert failed.code == 4
    problem, reply = objects(failed)
    assert problem["type"] == "error" and problem["error"] == "ChatError" and problem["exit_code"] == 4
    assert reply["content"] == "You said: hello"
    assert chat(given="/import nowhere.json\n").code == 2
    assert chat(given="/nope\n").code == 2
    assert chat("--preset", "nope", given="hello\n").code == 2
    assert chat("--json", '{"content": 5}', given='{"content": 5}\n').code == 2
    too_small = chat("--window", "300", "--set", "policy.hard_cap_buffer=100", given="x" * 4_000 + "\n")
    assert too_small.code == 3 and objects(too_small)[0]["error"] == "InsufficientBudget"


def test_a_missing_extra_is_a_line_and_no_traceback(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    ended = chat("--json", given="hello\n")
    (problem,) = objects(ended)
    assert ended.code == 4 and problem["type"] == "error"
    assert "httpx2 is not installed. Install it with: pip install" in json.dumps(problem)


def test_sessions_are_those_of_the_other_commands(chat: Chat, compact: Compact) -> None:
    chat("talk", given="remember the number 42\n")
    history = compact("history", "--json").json
    assert [(s["session_id"], s["message_count"]) for s in history["sessions"]] == [("talk", 2)]
    assert "number 42" in compact("recall", "talk", "number").out
    exported = [json.loads(line) for line in compact("export", "talk").out.splitlines()]
    assert [turn["role"] for turn in exported] == ["user", "assistant"]
    assert exported[0]["session_id"] == "talk" and exported[1]["usage"]["completion_tokens"] == 7


def test_last_goes_on_with_the_newest_session(chat: Chat, server: ChatServer) -> None:
    chat("older", given="a\n")
    chat("newer", given="b\n")
    chat("--last", given="c\n")
    assert [message["content"] for message in server.last] == ["b", "You said: b", "c"]


def test_a_reply_that_failed_leaves_the_session_and_is_told_on_return(chat: Chat) -> None:
    chat("talk", given="hello\n")
    chat("talk", given="fail\n")
    found = objects(chat("talk", "--json", given="/stats\n/resume talk\n"))
    assert found[0]["messages"] == 2
    assert {"type": "unanswered", "content": "fail"} in found


def test_a_session_whose_first_message_failed_is_listed_by_what_was_asked(
    chat: Chat, compact: Compact
) -> None:
    chat("talk", given="fail\n")
    assert "talk  1 message, 0 compactions  fail" in compact("history").out
    chat("talk", given="hello\n")
    assert compact("history").out.rstrip().endswith("  fail")


def test_a_message_has_one_number_everywhere_whether_a_system_prompt_stands_before_it_or_not(
    chat: Chat, compact: Compact
) -> None:
    for session, system in (("bare", ()), ("led", ("--system", "Be brief."))):
        shown = chat(session, "--text", *system, given="where is the anchor?\n/plan\n/recall anchor\n").out
        assert re.search(r"^ +m0 user .*anchor", shown, re.MULTILINE), session
        assert "— message 0, user" in shown
        assert "--- message 0, user" in compact("recall", session, "anchor").out


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (100, "* 20261116-155803-00c5  2026-11-16 15:58      2 messages  Moving the booking service"),
        (64, "* 20261116-155803-00c5  2026-11-16 15:58  Moving the booking se…"),
        (40, "* 20261116-155803-00c5  Moving the book…"),
    ],
)
def test_a_narrow_list_of_sessions_keeps_the_titles(width: int, line: str) -> None:
    at = datetime(2026, 11, 16, 15, 58).timestamp()
    store = MemoryStore(clock=lambda: at)
    store.put_session("20261116-155803-00c5", title="Moving the booking service")
    (thread,) = store.sessions()
    assert session_line(replace(thread, message_count=2), "*", 20, width) == line
    single = session_line(replace(thread, message_count=1), "*", 20, width)
    assert single == line.replace("    2 messages", "     1 message")


def test_stats_names_the_turns_where_turns_decide(chat: Chat) -> None:
    assert "Next compaction after 6 turns, or at " in chat("--preset", "rolling", given="/stats\n").out


def test_stats_counts_trims_as_trims_and_names_a_clear_only_after_one(chat: Chat) -> None:
    shown = chat("talk", "--text", "--preset", "window", given="hello\n/stats\n").out
    assert "Next trim at " in shown and " tokens from now." in shown
    assert "Session talk: 2 messages, 0 trims" in shown
    cleared = chat("talk", "--text", "--preset", "window", given="/clear\nhello again\n/stats\n").out
    assert "Session talk: 2 messages since /clear, " in cleared


def test_stats_plan_trace_and_the_rest_have_figures_for_programs(chat: Chat) -> None:
    commands = "/stats /plan /trace /model /preset /summary /sessions /help".split()
    lines = ["hello", *commands, "/recall hello", "/help stats"]
    found = objects(chat("talk", "--json", given="\n".join(lines)))
    stats = found[1]
    assert stats["type"] == "result"
    assert stats["trigger"] == 102_400 and stats["breakdown"]["messages"] == stats["tokens"]
    assert stats["sizes"] == [17]
    assert [line["type"] for line in found if line["type"] == "error"] == []
    by_key = {key: line for line in found for key in line}
    assert by_key["mode"]["reason"] == "below-trigger"
    assert by_key["events"]["events"][0]["name"] == "compact.token_estimate"
    assert by_key["preset"]["preset"] == "window"
    assert by_key["in_use"]["in_use"] is False and "hello" in by_key["in_use"]["summary"]
    assert by_key["found"]["found"][0]["text"].endswith("hello")
    assert set(by_key["commands"]["commands"]) == set(COMMANDS)


def test_compact_pin_undo_and_presets(chat: Chat, server: ChatServer) -> None:
    said = "".join(f"message {n} is about number {n} {'and more ' * 40}\n" for n in range(8))
    lines = ["/pin m2", "/compact", "now", "/undo", "then", "/preset budget", "/compact the numbers"]
    lines += ["/summary", "last", "/pin 99"]
    found = objects(chat("talk", "--json", given=said + "\n".join(lines)))
    pinned = next(line for line in found if "pinned" in line)
    assert pinned["pinned"] is True and pinned["message"] == 2 and "message 1 is" in pinned["text"]
    texts = [line.get("text", "") for line in found]
    assert "Context trimmed. Kept first 2 and last 10 turns." in texts, texts
    sent = [[message["content"] for message in request["messages"]] for request in server.requests]
    trimmed, whole = sent[8], sent[9]
    assert any(text.startswith("message 1 is") for text in trimmed)
    assert not any(text.startswith("You said: message 2") for text in trimmed)
    assert len(whole) == 19  # /undo: all turns go out again
    assert any(text.startswith("Context compacted:") for text in texts)
    assert any(line.get("in_use") for line in found)
    assert "<COMPACT-SUMMARY v1>" in json.dumps(sent[10])
    assert found[-1]["type"] == "error" and "message N as /plan" in found[-1]["text"]


def test_a_trace_tells_no_secret(chat: Chat) -> None:
    said = "".join(f"message {n} is about number {n} {'and more ' * 40}\n" for n in range(8))
    ended = chat("talk", "--json", given=f"{said}/compact keep password=swordfish-9\n/trace\n")
    assert "password=<REDACTED>" in ended.out and "swordfish" not in ended.out


def test_a_plan_is_told_in_the_models_window_and_tokens(chat: Chat, server: ChatServer) -> None:
    # A provider that counts half as much again as we do.
    server.rule = lambda body: Answer("fine", usage={"prompt_tokens": 1_500, "completion_tokens": 7})
    said = "wxyz" * 993  # 1,000 tokens with what goes around them
    ended = chat("talk", "--json", *SMALL[2:], "--window", "10000", given=f"{said}\n/stats\n/plan\n")
    _, stats, plan, _ = objects(ended)
    assert stats["window"] == plan["window"] == 10_000 and "window 10,000 · budget 9,950" in plan["text"]
    assert f"trigger {stats['trigger']:,}" in plan["text"]
    assert plan["before"] == stats["tokens"] and 1_500 < plan["before"] < 1_520
    assert " 1,496 " in plan["text"] and "apart" not in plan["text"]


def test_switching_the_model_keeps_the_session(chat: Chat, server: ChatServer) -> None:
    found = objects(chat("talk", "--json", given="hello\n/model gpt-4.1\nagain\n"))
    assert found[1]["window"] == 1_000_000 and found[2]["agent"] == "gpt-4.1"
    assert server.requests[-1]["model"] == "gpt-4.1" and len(server.last) == 3


def test_a_system_prompt_lasts_with_the_session(chat: Chat, server: ChatServer) -> None:
    chat("talk", "--system", "Be brief.", given="hello\n/clear\n")
    chat("talk", given="again\n")
    assert [message["content"] for message in server.last] == ["Be brief.", "again"]


SMALL = ("--window", "2000", "--counter", "chars4", "--set", "policy.hard_cap_buffer=50")


def long_history(folder: Path, turns: int, tokens: int = 100) -> str:
    kinds = ("user", "assistant")
    said = [{"role": kinds[n % 2], "content": f"{n:04d}" + "wxyz" * (tokens - 6)} for n in range(turns)]
    (folder / "long.json").write_text(json.dumps(said))
    return "/import long.json"


def test_over_the_window_and_after_a_failed_compaction_all_can_be_saved(chat: Chat, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where the archive's folder should be")
    lines = [long_history(tmp_path, 60), "/stats", "and now?", "/save", "/export all.json", "/stats"]
    ended = chat("talk", "--json", *SMALL, "--set", "archive.path=blocked", given="\n".join(lines))
    found = objects(ended)
    stats = [line for line in found if "breakdown" in line]
    assert stats[0]["percent"] > 100 and stats[1]["messages"] == 60 == stats[0]["messages"]
    (problem,) = [line for line in found if line["type"] == "error"]
    assert problem["error"] == "ArchiveError" and ended.code == 4
    assert any(line.get("text", "").startswith("Saved: session talk") for line in found)
    assert len(json.loads((tmp_path / "all.json").read_text())) == 60
    # With room to write the archive, the same session goes on.
    again = objects(chat("talk", "--json", *SMALL, given="and now?"))
    assert again[0]["content"] == "You said: and now?"
    assert again[1]["text"] == "Context trimmed. Kept first 2 and last 10 turns."


def test_a_trim_that_fails_while_all_fits_is_told_and_the_turn_goes_on(chat: Chat, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("")
    lines = [long_history(tmp_path, 17), "and now?"]
    found = objects(chat("talk", "--json", *SMALL, "--set", "archive.path=blocked", given="\n".join(lines)))
    assert any(line.get("content") == "You said: and now?" for line in found)
    assert any("could not be made smaller" in line.get("text", "") for line in found)


def test_a_server_that_counts_more_than_we_do_gets_a_smaller_prompt(
    chat: Chat, server: ChatServer, tmp_path: Path
) -> None:
    refusal = "request (2100 tokens) exceeds the available context size (2000 tokens), try increasing it"
    usual = server.rule

    def refusing(body: dict[str, Any]) -> Any:
        return Answer(refusal, status=400) if len(body["messages"]) > 13 else usual(body)

    server.rule = refusing
    found = objects(chat("talk", "--json", *SMALL, given=f"{long_history(tmp_path, 14)}\nand now?\n"))
    assert [len(request["messages"]) for request in server.requests] == [15, 12]
    assert found[1]["content"] == "You said: and now?"
    assert found[2]["text"] == "Context trimmed. Kept first 2 and last 9 turns."


def test_a_session_that_another_door_wrote_in_its_own_format_goes_on(
    chat: Chat, server: ChatServer, tmp_path: Path
) -> None:
    said = [
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a cat"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]},
    ]
    with open_store(f"sqlite:///{tmp_path}/.compact/sessions.db") as store:
        CompactManager(CompactConfig(), store=store).append("talk", said)
    for question in ("and now?", "and then?"):
        assert chat("talk", given=question).code == 0
    roles = ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert [message["role"] for message in server.last] == roles
    assert server.last[1]["tool_calls"][0]["function"]["name"] == "look"
    assert server.last[-1]["content"] == "and then?"


def test_a_pin_lasts_with_the_session(chat: Chat, server: ChatServer, tmp_path: Path) -> None:
    chat("talk", *SMALL, given=f"{long_history(tmp_path, 16, 50)}\n/pin 4\n")
    ended = chat("talk", "--json", *SMALL, given="/compact\nand now?\n/undo\n/recall 0004wx\n")
    assert ended.code == 0
    contents = [message["content"] for message in server.last]
    assert any(text.startswith("0004") for text in contents)
    assert not any(text.startswith("0003") for text in contents)
    # Found by a part of a word, which the store's index does not know.
    assert objects(ended)[-1]["found"][0]["text"].startswith("0004")


def test_what_a_model_says_cannot_drive_a_terminal(chat: Chat) -> None:
    said = "red\x1b[31m title\x1b]0;x\x07 c1\x9b41m line\u2028end"
    ended = chat("--text", given=said)
    assert ended.out == "You said: red[31m title]0;x c141m line\u2028end\n"
    ended = chat("--json", given=json.dumps({"content": said}))
    assert "\x9b" not in ended.out
    assert objects(ended)[0]["content"] == f"You said: {said}"


@pytest.mark.parametrize("bad", ['{"x": 1}', '{"content": 5}', '{"content": ' + "[" * 100_000])
def test_a_line_that_is_no_message_is_told_and_later_ones_are_tried(
    chat: Chat, server: ChatServer, bad: str
) -> None:
    ended = chat("--json", given=f"first\n{bad}\nthird\n")
    assert ended.code == 2 and len(server.requests) == 2
    said, problem, later = objects(ended)
    assert (said["type"], problem["type"], later["type"]) == ("reply", "error", "reply")
    assert problem["error"] == "FormatError" and problem["exit_code"] == 2
    assert later["content"] == "You said: third"


def test_what_ends_a_run_is_one_object_too(chat: Chat) -> None:
    ended = chat("--preset", "no-such", given="hello")
    assert ended.code == 2
    assert objects(ended)[0]["type"] == "error" and "no-such" in objects(ended)[0]["text"]


@pytest.mark.parametrize("name", ["~no-such-user-here/x.json", "x" * 300, "zero\0byte"])
def test_a_name_that_can_be_no_file_is_told(chat: Chat, name: str) -> None:
    given = "".join(json.dumps({"content": f"{command} {name}"}) + "\n" for command in ("/export", "/import"))
    ended = chat("--json", given=given + "still here\n")
    exported, imported, reply = objects(ended)
    assert ended.code == 2 and reply["type"] == "reply"
    for found in (exported, imported):
        assert found["error"] == "FormatError" and "cannot be opened" in found["text"]


def test_another_model_leaves_the_preset(chat: Chat) -> None:
    ended = chat("--json", given="/preset budget\n/model gpt-4o-mini\n/preset\n/model\n")
    found = objects(ended)
    assert found[-2]["preset"] == "budget" and found[-1]["model"] == "gpt-4o-mini"


def test_another_preset_leaves_what_was_set(chat: Chat) -> None:
    options = ("--window", "8000", "--set", "policy.hard_cap_buffer=300", "--json")
    found = objects(chat(*options, given="/preset budget\n/stats\n/preset nonsense\n/stats\n"))
    assert found[1]["budget"] == found[3]["budget"] == 8_000 - 300
    assert found[1]["trigger"] == found[3]["trigger"] == 0.85 * 8_000
    assert found[2]["type"] == "error"


def test_two_that_begin_in_the_same_second_are_two_sessions(chat: Chat) -> None:
    names = {objects(chat(given="hello"))[0]["session_id"] for _ in range(3)}
    assert len(names) == 3


def test_help_on_a_slip_names_the_nearest(chat: Chat) -> None:
    assert "Did you mean /stats?" in objects(chat(given="/help /stat"))[0]["text"]


def test_a_question_that_ends_an_import_stays_a_turn(chat: Chat, server: ChatServer, tmp_path: Path) -> None:
    told = [("user", "one"), ("assistant", "two"), ("user", "three")]
    (tmp_path / "in.json").write_text(json.dumps([{"role": role, "content": text} for role, text in told]))
    chat("kept", given="/import in.json\n")
    assert objects(chat("kept", given="/save"))[0]["turns"] == 3
    chat("kept", given="four")
    assert [message["content"] for message in server.last] == ["one", "two", "three", "four"]


def test_a_session_over_its_window_can_be_saved_and_exported(chat: Chat, tmp_path: Path) -> None:
    told = [{"role": ("user", "assistant")[n % 2], "content": "wxyz" * 500} for n in range(8)]
    (tmp_path / "in.json").write_text(json.dumps(told))
    small = ("--window", "2000", "--counter", "chars4", "--set", "policy.hard_cap_buffer=50", "--json")
    too_long = json.dumps({"content": "wxyz" * 3_000})
    given = ["/import in.json", "/save", "/export one.json", too_long, "/save", "/export two.json", "/stats"]
    ended = chat(*small, "full", given="\n".join(given) + "\n")
    said = [found for found in objects(ended) if found["type"] in ("info", "result", "error")]
    assert ended.code == 3
    assert [found["type"] for found in said] == ["info"] * 3 + ["error"] + ["info"] * 2 + ["result"]
    assert said[3]["error"] == "InsufficientBudget"
    assert said[-1]["tokens"] > 2 * said[-1]["window"]
    one, two = (tmp_path / name for name in ("one.json", "two.json"))
    assert len(json.loads(one.read_text())) == 8 and one.read_bytes() == two.read_bytes()


def test_a_small_limit_of_the_output_is_kept(chat: Chat, server: ChatServer) -> None:
    chat("--set", "models={gpt-4o: {window: 8000, max_output: 24}}", given="hello")
    assert server.requests[-1]["max_tokens"] == 24
