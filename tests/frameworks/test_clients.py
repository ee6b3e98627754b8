"""`wrap(OpenAI())`, `wrap(Anthropic())`: each wire, whole and streamed, against a strict server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from compact import CompactManager, ConfigError, InsufficientBudget
from compact.integrations.clients import wrap
from support.framework_contract import IntegrationContract, manager_for
from support.strict_provider import ANSWER, TASK, StrictProvider, page_text, strict_provider

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
ABOUT = {"name": "read_page", "description": "Read one page."}
CHAT_TOOLS: Any = [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}]
TOOLS: Any = [{"type": "function", **ABOUT, "parameters": SCHEMA, "strict": False}]
ANTHROPIC_TOOLS: Any = [{**ABOUT, "input_schema": SCHEMA}]
MODEL = "gpt-4o"
CLAUDE = "claude-opus-4-7"


def openai_client(server: StrictProvider, manager: CompactManager | None, kind: Any = OpenAI) -> Any:
    client = kind(api_key="none", base_url=f"{server.url}/v1", max_retries=0)
    return client if manager is None else wrap(client, manager, "s")


def anthropic_client(server: StrictProvider, manager: CompactManager | None, kind: Any = Anthropic) -> Any:
    client = kind(api_key="none", base_url=server.url, max_retries=0)
    return client if manager is None else wrap(client, manager, "s")


def page(arguments: Any) -> str:
    return page_text((json.loads(arguments) if isinstance(arguments, str) else arguments)["number"])


class TestChatCompletions(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        with openai_client(server, manager) as client:
            return self.read(client)

    def read(self, client: Any) -> str:
        messages: list[Any] = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": TASK}]
        while True:
            answer = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
            said = answer.choices[0].message
            messages.append(said)
            if not said.tool_calls:
                return str(said.content)
            for call in said.tool_calls:
                text = page(call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


class TestChatCompletionsAsyncStreamed(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        return asyncio.run(self.work(server, manager))

    async def work(self, server: StrictProvider, manager: CompactManager | None) -> str:
        async with openai_client(server, manager, AsyncOpenAI) as client:
            return await self.aread(client)

    async def aread(self, client: Any) -> str:
        messages: list[Any] = [{"role": "user", "content": TASK}]
        while True:
            stream = await client.chat.completions.create(
                model=MODEL, messages=messages, tools=CHAT_TOOLS, stream=True
            )
            text, calls = "", []
            async for chunk in stream:
                delta = chunk.choices[0].delta
                text += delta.content or ""
                calls += [
                    call.model_dump(include={"id", "type", "function"}) for call in delta.tool_calls or ()
                ]
            if not calls:
                return text
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            for call in calls:
                result = page(call["function"]["arguments"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


class TestResponses(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        with openai_client(server, manager) as client:
            return self.read(client)

    def read(self, client: Any) -> str:
        items: list[Any] = [{"role": "user", "content": TASK}]
        while True:
            answer = client.responses.create(model=MODEL, input=items, tools=TOOLS, instructions="Be exact.")
            items += [item.model_dump(exclude_none=True) for item in answer.output]
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return str(answer.output_text)
            for call in calls:
                output = page(call.arguments)
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


class TestResponsesAsyncStreamed(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        return asyncio.run(self.work(server, manager))

    async def work(self, server: StrictProvider, manager: CompactManager | None) -> str:
        async with openai_client(server, manager, AsyncOpenAI) as client:
            return await self.aread(client)

    async def aread(self, client: Any) -> str:
        items: list[Any] = [{"role": "user", "content": TASK}]
        while True:
            async with client.responses.stream(model=MODEL, input=items, tools=TOOLS) as stream:
                answer = await stream.get_final_response()
            items += [
                item.model_dump(exclude_none=True, exclude={"parsed_arguments", "status"})
                for item in answer.output
            ]
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return str(answer.output_text)
            for call in calls:
                output = page(call.arguments)
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


class TestMessages(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        with anthropic_client(server, manager) as client:
            return self.read(client)

    def read(self, client: Any) -> str:
        messages: list[Any] = [{"role": "user", "content": TASK}]
        while True:
            answer = client.messages.create(
                model=CLAUDE, max_tokens=100, messages=messages, tools=ANTHROPIC_TOOLS, system="Be exact."
            )
            messages.append(
                {
                    "role": "assistant",
                    "content": [one.model_dump(exclude_none=True) for one in answer.content],
                }
            )
            uses = [block for block in answer.content if block.type == "tool_use"]
            if not uses:
                return str(answer.content[0].text)
            messages.append(
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": use.id, "content": page(use.input)}
                        for use in uses
                    ],
                }
            )

    def cached(self, request: dict[str, Any]) -> Any:
        """Without the cache marks, which are ours to set: a text that carries one becomes a block."""
        return [
            (message["role"], [_unmarked(block) for block in _blocks(message["content"])])
            for message in request["messages"]
        ]


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _unmarked(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}


class TestMessagesAsyncStreamed(TestMessages):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        return asyncio.run(self.work(server, manager))

    async def work(self, server: StrictProvider, manager: CompactManager | None) -> str:
        async with anthropic_client(server, manager, AsyncAnthropic) as client:
            return await self.aread(client)

    async def aread(self, client: Any) -> str:
        messages: list[Any] = [{"role": "user", "content": TASK}]
        while True:
            async with client.messages.stream(
                model=CLAUDE, max_tokens=100, messages=messages, tools=ANTHROPIC_TOOLS
            ) as stream:
                answer = await stream.get_final_message()
            content = [
                one.model_dump(exclude_none=True, include={"type", "text", "id", "name", "input"})
                for one in answer.content
            ]
            messages.append({"role": "assistant", "content": content})
            uses = [block for block in answer.content if block.type == "tool_use"]
            if not uses:
                return str(answer.content[0].text)
            results = [
                {"type": "tool_result", "tool_use_id": use.id, "content": page(use.input)} for use in uses
            ]
            messages.append({"role": "user", "content": results})


@pytest.mark.spec("S2.14")
def test_anthropic_gets_cache_marks_and_the_others_none() -> None:
    with strict_provider(pages=3) as server:
        TestMessages().run(server, manager_for())
    last = server.requests[-1]
    assert last["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert last["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert 1 <= json.dumps(last["messages"]).count("cache_control") <= 2
    with strict_provider(pages=3) as server:
        TestChatCompletions().run(server, manager_for())
    assert "cache_control" not in json.dumps(server.requests)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_overflow_that_the_provider_reports_is_compacted_hard_and_sent_once_more(streamed: bool) -> None:
    """The provider's window is smaller than we believe."""
    messages: list[Any] = []
    for number in range(9):
        messages += [
            {"role": "user", "content": page_text(number)},
            {"role": "assistant", "content": "Read."},
        ]
    messages.append({"role": "user", "content": "Which keeper was on page 3?"})
    with strict_provider(window=3_000) as server, openai_client(server, manager_for(8_000)) as client:
        answer = client.chat.completions.create(model=MODEL, messages=messages, stream=streamed)
        if streamed:
            assert "".join(chunk.choices[0].delta.content or "" for chunk in answer) == ANSWER
        else:
            assert answer.choices[0].message.content == ANSWER
        assert len(server.requests) == 2 and len(server.refusals) == 1
        with pytest.raises(InsufficientBudget):
            client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "x " * 5_000}])


SAID: Any = [{"role": "user", "content": "Hello."}]
ASKED: Any = {"model": CLAUDE, "max_tokens": 9, "messages": SAID}


def _streamed(server: StrictProvider, manager: CompactManager, way: str) -> None:
    """One streamed reply to a short question, in one of the ways that the clients have."""
    with openai_client(server, manager) as openai, anthropic_client(server, manager) as claude:
        match way:
            case "chat":
                options: Any = {"include_usage": True}
                list(
                    openai.chat.completions.create(
                        model=MODEL, messages=SAID, stream=True, stream_options=options
                    )
                )
            case "responses":
                list(openai.responses.create(model=MODEL, input=SAID, stream=True))
            case "responses, held":
                with openai.responses.stream(model=MODEL, input=SAID) as held:
                    held.get_final_response()
            case "messages, one by one":
                stream = claude.messages.create(**ASKED, stream=True)
                while next(stream, None) is not None:
                    pass
            case "messages, held":
                with claude.messages.stream(**ASKED) as held:
                    held.get_final_message()


async def _astreamed(server: StrictProvider, manager: CompactManager, way: str) -> None:
    async with (
        openai_client(server, manager, AsyncOpenAI) as openai,
        anthropic_client(server, manager, AsyncAnthropic) as claude,
    ):
        match way:
            case "async responses":
                stream = await openai.responses.create(model=MODEL, input=SAID, stream=True)
                assert [event async for event in stream]
            case "async messages, held":
                async with claude.messages.stream(**ASKED) as held:
                    await held.get_final_message()


WAYS = (
    "chat; responses; responses, held; messages, one by one; messages, held; async responses; "
    "async messages, held"
).split("; ")


@pytest.mark.parametrize("way", WAYS)
async def test_the_usage_of_a_stream_is_reported(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def observe(self: Any, session: str, messages: Any, usage: Any, *more: Any, **named: Any) -> float:
        seen.append(getattr(usage, "prompt_tokens", 0) or usage.input_tokens)
        return 1.0

    monkeypatch.setattr(CompactManager, "observe", observe)
    with strict_provider() as server:
        if way.startswith("async"):
            await _astreamed(server, manager_for(), way)
        else:
            _streamed(server, manager_for(), way)
        assert seen == [server.tokens_seen], "once, with the provider's own count"


def test_the_client_that_was_given_stays_as_it_is_and_another_kind_is_refused() -> None:
    with OpenAI(api_key="none") as client:
        wrapped = wrap(client, manager_for())
        assert isinstance(wrapped, OpenAI) and wrapped is not client
        assert "create" in vars(wrapped.chat.completions) and "create" not in vars(client.chat.completions)
    with pytest.raises(ConfigError, match="openai or anthropic"):
        wrap(object())


def test_a_history_that_lives_at_the_provider_is_left_alone() -> None:
    with strict_provider() as server:
        manager = manager_for()
        with openai_client(server, manager) as client:
            client.responses.create(
                model=MODEL, input=[{"role": "user", "content": "Hi."}], previous_response_id="resp_0"
            )
    assert not manager.events


@pytest.mark.parametrize("name", ["with_options", "copy"])
def test_a_copy_of_a_wrapped_client_is_wrapped_too(name: str) -> None:
    with strict_provider() as server, openai_client(server, manager_for()) as client:
        copied = getattr(getattr(client, name)(timeout=30), name)(timeout=20)
        assert TestChatCompletions().read(copied) == ANSWER
        assert "COMPACT-SUMMARY" in str(server.requests[-1]) and server.refusals == []
        # Wrapped again it goes by the new manager alone.
        other = manager_for()
        wrap(copied, other, "s").chat.completions.create(model=MODEL, messages=SAID)
        assert other.events
