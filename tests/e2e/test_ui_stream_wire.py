"""The reply's bytes from both sides: Python writes the committed fixture, the AI SDK reads it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compact.chat import events
from compact.chat.tools import Tool, Toolbox
from compact.errors import ChatError
from compact.model.event import Event, EventName
from compact.model.message import ToolCall, Usage
from compact.server.studio.ui_stream import DONE, UiStream, encoded, usage_part
from support.studio import RuleModel, new_session, studio

FOLDER = Path(__file__).parents[1] / "wire"
FIXTURE = FOLDER / "reply.sse"
USAGE = {"tokens": 812, "window": 4000, "percent": 20.3, "compacts_next": False}


def engine(name: EventName, data: dict[str, Any], duration: float | None = None) -> events.Compacting:
    return events.Compacting(Event(name, "s", 1, 1_794_000_000.5, data, 3, duration))


EVENTS: list[Any] = [
    events.Accepted({"role": "user", "content": "Which port?"}, 4),
    engine(EventName.START, {"tokensBefore": 3500, "modelLimit": 4000, "reason": "overflow"}),
    engine(EventName.SUMMARIZE, {"messagesCount": 12}),
    engine(
        EventName.COMPLETE,
        {
            "tokensBefore": 3500,
            "tokensAfter": 900,
            "messagesCompacted": 12,
            "summary": "## Goals\n- é 日本 🧵",
        },
        0.25,
    ),
    events.StepStarted(1, "a rule"),
    events.ReasoningDelta("I should "),
    events.ReasoningDelta("look it up."),
    events.TextDelta("One moment."),
    events.ToolCalled(ToolCall("call_1", "recall_history", '{"query": "port"}')),
    events.ToolReturned("call_1", "recall_history", "The port is 8460.\nline 2 \u2028 end"),
    events.ToolCalled(ToolCall("call_2", "broken", "not json")),
    events.ToolReturned("call_2", "broken", "[The call of broken failed: no such tool]", True),
    events.UsageReported(Usage(input=700, output=40), 0.5),
    usage_part(USAGE),
    events.StepStarted(2, "a rule"),
    events.TextDelta("The port "),
    events.TextDelta("is 8460 \N{SPOOL OF THREAD}\ud800."),
    events.UsageReported(Usage(input=812, output=10, cache_read=600), 0.25),
    events.Notice(
        events.Severity.WARNING, events.Topic.CAPACITY, "Context at 80% capacity.", {"percent": 80}
    ),
    events.Finished(events.Finish.STOP),
]


def written(happened: list[Any]) -> bytes:
    ui, made = UiStream(), b""
    number = 0
    for event in happened:
        for chunk in [event] if isinstance(event, dict) else ui.chunks(event):
            number += 1
            made += encoded(chunk, f"fixture-{number}")
    return made + DONE


def read(*arguments: str) -> dict[str, Any]:
    if not (FOLDER.parents[1] / "web/node_modules/ai").is_dir():
        pytest.fail("The AI SDK is not installed: run `make web`, or `npm ci` in web/.")
    command = ["node", str(FOLDER / "read_stream.cjs"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_stream_is_the_committed_bytes() -> None:
    assert written(EVENTS) == FIXTURE.read_bytes()


@pytest.mark.parametrize("fragment", ["1", "7", "100000"])
def test_the_ai_sdk_reads_the_committed_bytes_in_fragments(fragment: str) -> None:
    found = read("file", str(FIXTURE), fragment)
    message = found["message"]
    assert (message["id"], found["errors"]) == ("m5", [])
    assert message["metadata"] == {
        "position": 5,
        "user_position": 4,
        "question": "Which port?",
        "usage": {"input": 1512, "output": 50, "cache_read": 600, "cache_write": 0},
        "cost": 0.75,
    }
    parts = message["parts"]
    kinds = [part["type"] for part in parts]
    assert kinds == [
        "data-compaction",
        "step-start",
        "reasoning",
        "text",
        "dynamic-tool",
        "dynamic-tool",
        "data-context-usage",
        "step-start",
        "text",
    ]
    # Three events of one compaction are one part: the newest state.
    assert parts[0]["data"]["event"] == "compaction-complete" and "日本 🧵" in parts[0]["data"]["summary"]
    assert (parts[2]["text"], parts[2]["state"]) == ("I should look it up.", "done")
    assert (parts[4]["state"], parts[4]["input"]) == ("output-available", {"query": "port"})
    assert parts[4]["output"] == "The port is 8460.\nline 2 \u2028 end"
    assert (parts[5]["state"], parts[5]["input"]) == ("output-error", "not json")
    assert parts[8]["text"] == "The port is 8460 🧵?."
    assert [part["data"]["text"] for part in found["transient"]] == ["Context at 80% capacity."]


def test_a_failure_and_a_stop_are_read_as_such(tmp_path: Path) -> None:
    file = tmp_path / "failed.sse"
    failed = [EVENTS[0], events.StepStarted(1, "a rule"), events.TextDelta("The por")]
    problem = events.Failed(ChatError("The model broke off. Ask again."), kept=True)
    file.write_bytes(written([*failed, problem, events.Finished(events.Finish.FAILED)]))
    found = read("file", str(file), "50")
    assert found["errors"] == ["The model broke off. Ask again."]
    assert found["message"]["parts"][-1]["text"] == "The por"
    file.write_bytes(written([*failed, events.Finished(events.Finish.STOPPED)]))
    found = read("file", str(file), "50")
    assert found["errors"] == [] and found["message"]["parts"][-1]["text"] == "The por"


def test_the_ai_sdk_talks_to_the_running_server(tmp_path: Path) -> None:
    answers = iter([("port_of", {"name": "web"}), "It is 8460."])
    tools = Toolbox([Tool("port_of", "The port of a service.", lambda name: f"{name} has port 8460")])
    with studio(tmp_path, RuleModel(lambda _: next(answers)), tools) as client:
        session = new_session(client)
        found = read("live", str(client.base_url).rstrip("/"), session, "Which port has web?")
    assert found["errors"] == [] and found["resumed"] is False
    kinds = [part["type"] for part in found["message"]["parts"]]
    assert kinds == ["step-start", "dynamic-tool", "data-context-usage", "step-start", "text"]
    assert found["message"]["parts"][1]["output"] == "web has port 8460"
    assert found["message"]["parts"][-1]["text"] == "It is 8460."
