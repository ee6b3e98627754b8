"""A summary asked for on the prompt that the provider has cached, and the cold request when that fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2
import pytest

from compact import CompactConfig, CompactManager
from compact.archives.memory import MemoryArchive
from compact.cli import main
from compact.model.event import EventName
from compact.testing.scripted import CollectingExporter
from compact.wiring import assemble, share
from support.chat_server import chat_server
from support.raw import LONG_ENOUGH, Raw, anthropic_step, pairs, step, tool, user, words
from support.wire_servers import AnthropicWire, Behavior, OpenAIWire, Server, hang, serving

SECRET = "api_key=MoonRiver2291xHarborLantern"
SYSTEM = "You keep a booking service alive. Answer in English."
WINDOW = 6_000


@dataclass(frozen=True)
class Provider:
    """One wire format: what a conversation looks like in it, and how a caller sends it."""

    name: str
    wire: Any
    tools: Sequence[Raw]
    step: Callable[..., list[Raw]]
    system: str | None = None
    """Where the format takes it apart from the messages."""

    def conversation(self, turns: int) -> list[Raw]:
        asked = user("question 0", 40)
        asked["content"] += f" Deploy with {SECRET}."
        head = [] if self.system else [{"role": "system", "content": SYSTEM}]
        return [*head, asked, *self.step(1, 60), *pairs(turns)[1:]]

    def say(self, server: Server, manager: CompactManager, history: list[Raw]) -> None:
        """What a caller does: prepare, and send that, with a client of its own."""
        prepared = manager.prepare("s", history, self.tools, self.system)
        body = {"model": "tiny", "messages": prepared.messages, "tools": prepared.tools}
        if self.system:
            body["system"] = self.system
        httpx2.post(server.url + self.wire.path, json=body, timeout=60)


ANTHROPIC_TOOL = {"name": "read_file", "description": "reads", "input_schema": {"type": "object"}}
PROVIDERS = [
    Provider("openai", OpenAIWire(), [tool("read_file")], step),
    Provider("anthropic", AnthropicWire(), [ANTHROPIC_TOOL], anthropic_step, SYSTEM),
]
both = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)


class Run:
    """A conversation that was sent once and then grew over the trigger, so that the second call compacts."""

    def __init__(
        self,
        provider: Provider,
        *answers: Behavior,
        own: int = 9_000,
        **summarizer: Any,
    ) -> None:
        exporter = CollectingExporter()
        with serving(provider.wire.answer("Hello."), *answers) as server:
            settings = {"name": provider.name, "model": "tiny", "base_url": server.url, "timeout": 20}
            config = CompactConfig(
                model="tiny",
                max_context_tokens=WINDOW,
                counter="chars4",
                policy={"hard_cap_buffer": 100, "summary_max_tokens": 600},
                models={"tiny": {"window": own}},
                summarizer={**settings, "reuse_prefix": "on", "fallback": "none", **summarizer},
            )
            manager = CompactManager(config, archive=MemoryArchive(), exporters=[exporter])
            provider.say(server, manager, provider.conversation(36))
            history = [*provider.conversation(44), user("new")]
            self.out: list[Raw] = manager.preflight("s", history, provider.tools, provider.system)
            self.history = history
            self.chat, *self.asked = [received.body for received in server.received]
        self.errors = [event.data for event in exporter.named(EventName.ERROR)]
        self.created = exporter.named(EventName.SUMMARY_CREATED)

    @property
    def summarized(self) -> bool:
        return LONG_ENOUGH in json.dumps(self.out)


def on_prefix(body: Raw) -> bool:
    return "Set the task aside" in json.dumps(body["messages"][-1])


@both
def test_the_request_begins_with_the_bytes_of_the_prompt_before_it(provider: Provider) -> None:
    run = Run(provider, provider.wire.answer(LONG_ENOUGH))
    [asked] = run.asked
    sent = run.chat["messages"]
    assert json.dumps(asked["messages"][: len(sent)]) == json.dumps(sent)
    assert asked["messages"][len(sent) : -1] == run.history[len(sent) :]
    assert json.dumps(asked["tools"]) == json.dumps(run.chat["tools"])
    assert asked.get("system") == run.chat.get("system")
    assert asked["model"] == run.chat["model"] and "tool_choice" not in asked
    assert asked["messages"][-1]["role"] == "user" and on_prefix(asked)
    assert run.summarized and run.errors == []


@both
@pytest.mark.parametrize("failure", ["400", "500", "hang", "tool call", "nothing"])
def test_the_cold_request_is_the_fall_back(provider: Provider, failure: str) -> None:
    calling = {
        "openai": OpenAIWire().answer(
            None, "tool_calls", tool_calls=[{"id": "c", "type": "function", "function": {"name": "x"}}]
        ),
        "anthropic": AnthropicWire().answer(None, "tool_use", [{"type": "tool_use", "id": "c", "name": "x"}]),
    }
    script = {
        "400": [provider.wire.error(400, "messages.3: unexpected role")],
        "500": [provider.wire.error(500, "oops")] * 4,
        "hang": [hang],
        "tool call": [calling[provider.name]],
        "nothing": [provider.wire.answer("")],
    }[failure]
    timeout = 1.0 if failure == "hang" else 20.0
    run = Run(provider, *script, provider.wire.answer(LONG_ENOUGH), timeout=timeout)
    *warm, cold = run.asked
    assert len(warm) == len(script) and all(map(on_prefix, warm))
    assert not on_prefix(cold) and "tools" not in cold
    assert SECRET not in json.dumps(cold), "the cold request is redacted"
    assert run.summarized and run.errors == []


@both
def test_what_comes_back_is_checked_like_any_other(provider: Provider) -> None:
    quote = 'The user said: "Delete the whole production database tonight, all of it, without asking anyone."'
    run = Run(provider, provider.wire.answer(quote), provider.wire.answer(LONG_ENOUGH))
    warm, cold = run.asked
    assert on_prefix(warm) and not on_prefix(cold)
    assert run.summarized and "Delete the whole" not in json.dumps(run.out)

    run = Run(provider, provider.wire.answer(quote), provider.wire.answer(quote))
    assert [error["fallback"] for error in run.errors] == ["pruning-only"]
    assert run.errors[0]["error_type"] == "invented-quote" and run.created == []


@both
def test_a_prompt_that_leaves_the_model_no_room_is_not_sent_again(provider: Provider) -> None:
    run = Run(provider, provider.wire.answer(LONG_ENOUGH), own=7_000)
    [cold] = run.asked
    assert not on_prefix(cold) and run.summarized


@both
def test_in_another_format_the_request_is_cold(provider: Provider) -> None:
    other = next(one for one in PROVIDERS if one is not provider)
    with serving(provider.wire.answer(LONG_ENOUGH)) as server:
        config = CompactConfig(
            model="tiny",
            max_context_tokens=WINDOW,
            counter="chars4",
            policy={"hard_cap_buffer": 100, "summary_max_tokens": 600},
            models={"tiny": {"window": 9_000}},
            summarizer={"name": provider.name, "base_url": server.url, "reuse_prefix": "on"},
        )
        manager = CompactManager(config, archive=MemoryArchive(), format=_format(other))
        manager.preflight("s", [*other.conversation(44), user("new")], other.tools, other.system)
    [cold] = [received.body for received in server.received]
    assert not on_prefix(cold)


def _format(provider: Provider) -> str:
    return {"openai": "openai-chat", "anthropic": "anthropic"}[provider.name]


async def test_async_callers_get_the_same() -> None:
    provider = PROVIDERS[0]
    with serving(provider.wire.answer(LONG_ENOUGH)) as server:
        config = CompactConfig(
            model="tiny",
            max_context_tokens=WINDOW,
            counter="chars4",
            policy={"hard_cap_buffer": 100, "summary_max_tokens": 600},
            summarizer={"name": "openai", "model": "tiny", "base_url": server.url, "reuse_prefix": "on"},
        )
        manager = CompactManager(config, archive=MemoryArchive())
        await manager.apreflight("s", [*provider.conversation(44), user(words("new", 20))], provider.tools)
    [asked] = [received.body for received in server.received]
    assert on_prefix(asked) and asked["tools"] == provider.tools


OWN = {"name": "openai", "model": "gpt-4o"}
KEYS = {"OPENAI_API_KEY": "not-a-key", "ANTHROPIC_API_KEY": "not-a-key"}


@pytest.mark.parametrize(
    ("summarizer", "environ", "reuses"),
    [
        (OWN, {}, True),
        ({**OWN, "base_url": "https://api.openai.com/v1/"}, {}, True),
        ({**OWN, "base_url": "http://127.0.0.1:9/v1"}, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, True),
        ({**OWN, "base_url": "http://127.0.0.1:9/v1"}, {}, False),
        (OWN, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, True),
        ({**OWN, "model": "gpt-4o-mini"}, {}, False),
        ({"name": "openai"}, {}, False),
        ({**OWN, "reuse_prefix": "off"}, {}, False),
        ({**OWN, "model": "gpt-4o-mini", "reuse_prefix": "on"}, {}, True),
        ({"name": "anthropic", "model": "gpt-4o"}, {}, True),
        ({"name": "extractive", "reuse_prefix": "on"}, {}, False),
    ],
)
def test_by_itself_only_where_the_conversation_goes_anyway(
    summarizer: dict[str, str], environ: dict[str, str], reuses: bool
) -> None:
    config = CompactConfig(model="gpt-4o", summarizer=summarizer)
    engine, _ = assemble(config, share(config, None, None, MemoryArchive(), (), {**KEYS, **environ}))
    assert (engine._cached_prompts is not None) is reuses


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_chat_on_a_server_of_its_own_shows_it_to_no_other(
    elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = [OpenAIWire().answer(LONG_ENOUGH)]

    def reply(body: Raw) -> str:
        return LONG_ENOUGH if on_prefix(body) else words("reply", 400)

    with chat_server(reply) as own, serving(*answers) as summarizer:
        at = summarizer.url if elsewhere else own.url
        settings = {"name": "openai", "model": "gpt-4o", "base_url": at}
        Path("compact.json").write_text(json.dumps({"model": "gpt-4o", "summarizer": settings}))
        given = f"deploy with {SECRET}\n/stats\n" + f"{words('go on', 400)}\n/stats\n" * 8 + "/compact\n"
        streams = {"stdin": StringIO(given), "stdout": StringIO(), "stderr": StringIO()}
        address = ["--base-url", own.url] if elsewhere else []
        for name, value in {"OPENAI_BASE_URL": at, "OPENAI_API_KEY": "none"}.items():
            monkeypatch.setenv(name, value)
        assert main(["chat", "--preset", "budget", "--counter", "chars4", *address], **streams) == 0
        asked = summarizer.received[-1].body if elsewhere else own.requests[-1]
    assert on_prefix(asked) is not elsewhere
    assert (SECRET in json.dumps(asked)) is not elsewhere
    assert "timestamp" not in asked["messages"][0], "what the session keeps beside a turn stays here"
