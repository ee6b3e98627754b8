"""What was cleared or summarized is found again: by handle, by words, and through the tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compact import CompactConfig, CompactManager, lint
from compact.core.view import handle
from compact.counters import counter_for
from compact.errors import FormatError
from compact.formats import FORMAT_NAMES
from compact.formats.tools import tool_list
from compact.model.event import EventName
from compact.model.message import ToolResult
from compact.recall import MARK, NAME, handle_recall, recall_tool
from compact.stores import open_store
from compact.stores.memory import MemoryStore
from compact.stores.words import terms_of, words_of
from compact.testing.stores import keep, talk
from support.raw import Desk, assistant, step, user


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, new_database: Callable[[str], str]) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryStore()
        return
    with open_store(new_database(request.param)) as opened:
        yield opened


def work(outputs: dict[int, str], count: int = 30) -> list[dict[str, Any]]:
    """A task of so many steps; some return something worth recalling."""
    history = [user("the task")]
    for number in range(count):
        call, result = step(number, output=150)
        history += [call, {**result, "content": outputs.get(number, result["content"])}]
    return history


FACT = "The staging key of tenant_id 4711 is in conf/staging/keys.toml, port 8443. " * 4


def test_a_cleared_output_comes_back_by_its_handle(store: Any) -> None:
    desk = Desk("agent", 4_000, store=store)
    history = work({3: FACT})
    out = desk.preflight(history)
    name = handle(ToolResult(history[8]["tool_call_id"], FACT))
    assert FACT not in str(out)
    (found,) = desk.manager.recall("s", name)
    assert found.text == FACT and found.role == "tool" and found.handles == (name,)
    assert desk.events(EventName.RECALL)[-1].data["found"] == [found.position]
    assert desk.manager.recall("s", "r-0000000000") == []
    # A model repeats the hint as it stands in the prompt.
    for repeated in (f"(recall {name})", f"recall {name}", f"`{name}`"):
        assert desk.manager.recall("s", repeated) == [found]


@pytest.mark.parametrize(
    "query",
    ["conf/staging/keys.toml", "4711", "which port does staging use, 8443?", "tenant_id", "KEYS.TOML"],
)
def test_a_fact_is_found_by_words(store: Any, query: str) -> None:
    desk = Desk("agent", 4_000, store=store)
    desk.preflight(work({3: FACT}))
    assert FACT.strip() in [hit.text for hit in desk.manager.recall("s", query, limit=3)]


def test_a_query_without_a_match_finds_nothing(store: Any) -> None:
    desk = Desk("agent", 4_000, store=store)
    desk.preflight(work({}))
    for query in ("xylophone", "", "  ", '"', "* NEAR xylophone", "§1", "\0", "\ud800"):
        assert desk.manager.recall("s", query) == []
    assert desk.manager.recall("another", "import") == []


def test_what_an_edit_took_back_is_not_recalled(new_database: Callable[[str], str]) -> None:
    with open_store(new_database("sqlite")) as store:
        keep(store, "s", 0, talk("one", "the color is blue"), [])
        keep(store, "s", 1, talk("x", "the color is red")[1:], talk("one"))
        assert [hit.message.text for hit in store.search("s", "color")] == ["the color is red"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("getUserName failed", "user name"),
        ("set MAX_RETRY_COUNT to 5", "retry count"),
        ("会議は三月五日に変更されました", "三月五日"),
        ("Die Straße heißt Größe", "STRASSE"),
        ("naïve café", "café"),
        ("see https://example.org/a/b?id=77", "example.org/a/b"),
    ],
)
def test_words_in_code_and_other_scripts(new_database: Callable[[str], str], text: str, query: str) -> None:
    for kind in ("sqlite", "postgresql"):
        with open_store(new_database(kind)) as store:
            keep(store, "s", 0, talk("nothing to see", text, "nor here"), [])
            assert [hit.message.text for hit in store.search("s", query, 1)] == [text]


def test_queries_look_up_what_is_indexed() -> None:
    for text in ("getUserName", "a_b_c MAX_COUNT", "会議は三月", "x" * 500, "r2d2 v1.2.3"):
        for whole, *pieces in terms_of(text):
            assert whole in words_of(text) and set(pieces) <= words_of(text)


@pytest.mark.parametrize("format", FORMAT_NAMES)
def test_the_tool_is_one_of_its_format(format: str) -> None:
    (tool,) = tool_list([recall_tool(format)])
    assert tool.name == "recall_history" and "query" in str(tool.schema)
    with pytest.raises(FormatError, match="Known formats"):
        recall_tool("morse")


def test_the_tool_answers_within_its_tokens_and_marks_history(store: Any) -> None:
    desk = Desk("agent", 40_000, store=store)
    long = "row of no interest\n" * 900 + "the answer is 42 in cell Q7\n" + "row of no interest\n" * 900
    desk.preflight([*work({3: FACT, 5: long}), assistant("done"), user("what was in cell Q7?")])
    count = counter_for("gpt-4o", "chars4").count
    for most in (150, 400, 2_000):
        answer = handle_recall(desk.manager, "s", {"query": "cell Q7", "limit": 2}, max_tokens=most)
        assert answer.startswith(MARK) and "not an instruction" in MARK
        assert count(answer) <= most
        assert "the answer is 42 in cell Q7" in answer
    assert "offset" in answer


def test_little_room_holds_few_messages_instead_of_shreds_of_many(store: Any) -> None:
    desk = Desk(store=store)
    said = [f"Is the harbor crane {n} free on day {n}? Its driver starts at dawn." for n in range(6)]
    desk.preflight([{"role": "user", "content": text} for text in said])
    answer = handle_recall(desk.manager, "s", {"query": "harbor crane"}, max_tokens=100)
    assert answer.count("--- message") == answer.count("starts at dawn.") == 3
    assert "more characters" not in answer


def test_a_handle_that_nothing_has_is_told_as_one(store: Any) -> None:
    desk = Desk(store=store)
    desk.preflight([user("one")])
    for name in ("r-0123456789", "s-0123456789"):
        assert f"has the handle {name}." in handle_recall(desk.manager, "s", {"query": name})
    assert "Try other words" in handle_recall(desk.manager, "s", {"query": "xylophone"})


def test_a_long_output_is_read_on_by_offset(store: Any) -> None:
    desk = Desk("agent", 40_000, store=store)
    long = " ".join(f"line-{n:04d}" for n in range(2_000))
    history = work({5: long})
    desk.preflight(history)
    name, offset, read = handle(ToolResult(history[12]["tool_call_id"], long)), 0, ""
    while True:
        answer = handle_recall(desk.manager, "s", {"query": name, "offset": offset}, max_tokens=1_000)
        body = answer.split("\n")[2:-1]
        read += body[0]
        if len(body) == 1:
            break
        offset = int(body[-1].rstrip("]").split()[-1])
    assert read == long


@pytest.mark.parametrize(
    "arguments", ["{", "[]", "{}", {"query": 7}, {"query": " "}, {"query": "x", "limit": "many"}]
)
def test_a_wrong_call_is_answered_not_raised(arguments: Any) -> None:
    answer = handle_recall(Desk().manager, "s", arguments)
    assert answer.startswith("[The call was not understood")


def test_an_answer_of_the_tool_fits_into_the_conversation() -> None:
    desk = Desk("agent", 4_000)
    history = work({3: FACT})
    desk.preflight(history)
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "recall_history", "arguments": '{"query":"4711"}'},
    }
    answer = handle_recall(desk.manager, "s", call["function"]["arguments"])  # type: ignore[index]
    turn = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": answer},
    ]
    assert lint(desk.preflight([*history, *turn]), "openai") == [] and "8443" in answer


def test_an_earlier_search_is_not_what_a_search_finds() -> None:
    said = "Finance approved 400 euros for bulky parcels."
    manager = CompactManager(CompactConfig(model="gpt-4o", preset="agent"))
    query = {"query": "What did finance approve for bulky parcels?"}
    history: list[dict[str, Any]] = [{"role": "user", "content": said}]
    for number in range(4):
        function = {"name": NAME, "arguments": json.dumps(query)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
        manager.preflight("s", history)
        answer = handle_recall(manager, "s", query)
        assert said in answer
        assert NAME not in answer
        assert answer.count(MARK) == 1
        history.append({"role": "tool", "tool_call_id": f"c{number}", "content": answer})
        history.append({"role": "user", "content": f"Once more, {number}."})
