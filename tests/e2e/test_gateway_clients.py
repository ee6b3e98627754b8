"""Unmodified clients through the gateway: to a provider that refuses, and to a real model's server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool

from compact import CompactConfig, CompactManager
from compact.models.local import WINDOW, LocalChatModel
from compact.server.gateway.running import serving
from support.ai_sdk import ai_sdk
from support.gateway import gateway_settings
from support.providers import Calls, Provider, providing

SMALL = 6_000
MODEL = "smollm2"
SAID = "every ship on this page paid its fee in full, and nothing is open. "


def conversation(tokens: int) -> list[dict[str, str]]:
    """User and assistant in turn, of about this many tokens."""
    messages: list[dict[str, str]] = []
    while len(messages) * 60 < tokens:
        number = len(messages) // 2
        messages.append({"role": "user", "content": f"Page {number}: {SAID * 4}"})
        messages.append({"role": "assistant", "content": f"Page {number} agrees: {SAID * 3}"})
    return messages


def gateway(upstream: str, window: int, **settings: Any) -> Any:
    config = CompactConfig(
        max_context_tokens=window,
        archive={"adapter": "none"},
        strip_meta=True,
        policy={"trigger_pct": 0.7, "summary_max_pct": 0.08},
        **settings,
    )
    return serving(gateway_settings(upstream), CompactManager(config))


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing(window=SMALL) as made:
        yield made


@pytest.mark.spec("S5.11")
def test_the_openai_client_holds_five_windows(provider: Provider) -> None:
    talk: list[Any] = [*conversation(5 * SMALL), {"role": "user", "content": "Go on."}]
    with (
        openai.OpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0) as bare,
        pytest.raises(openai.BadRequestError),
    ):
        bare.chat.completions.create(model="gpt-4o", messages=talk)
    with (
        gateway(provider.url, SMALL, counter="chars4") as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        whole = client.chat.completions.create(model="gpt-4o", messages=talk)
        assert whole.choices[0].message.content == "Noted."
        stream = client.chat.completions.create(model="gpt-4o", messages=talk, stream=True)
        assert "".join(piece.choices[0].delta.content or "" for piece in stream) == "Noted. "
        answer = client.responses.create(model="gpt-4o", input=talk)
        assert answer.output_text == "Noted."
        assert [model.id for model in client.models.list()] == ["scripted"]


@pytest.mark.spec("S5.11")
def test_the_anthropic_client_holds_five_windows(provider: Provider) -> None:
    talk: list[Any] = [*conversation(5 * SMALL), {"role": "user", "content": "Go on."}]
    asked: dict[str, Any] = {"model": "claude-sonnet-5-5", "max_tokens": 50, "messages": talk}
    with (
        anthropic.Anthropic(base_url=provider.url, api_key="none", max_retries=0) as bare,
        pytest.raises(anthropic.BadRequestError),
    ):
        bare.messages.create(**asked)
    with (
        gateway(provider.url, SMALL, counter="chars4") as url,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client,
    ):
        assert client.messages.create(**asked).content[0].text == "Noted."
        with client.messages.stream(**asked) as stream:
            assert "".join(stream.text_stream) == "Noted."
        counted = client.messages.count_tokens(model="claude-sonnet-5-5", messages=talk)
        assert counted.input_tokens <= SMALL


@pytest.mark.spec("S5.11")
def test_the_ai_sdk_holds_five_windows(provider: Provider) -> None:
    talk = [*conversation(5 * SMALL), {"role": "user", "content": "Go on."}]
    assert "context_length_exceeded" in ai_sdk(provider.url, messages=talk)["error"]
    with gateway(provider.url, SMALL, counter="chars4") as url:
        assert ai_sdk(url, messages=talk)["text"] == "Noted."
        assert ai_sdk(url, messages=talk, stream=True)["text"] == "Noted. "


@function_tool
def read_page(number: int) -> str:
    """Read one page of the log."""
    return f"Page {number}. " + SAID * 40


@pytest.mark.spec("S5.11")
async def test_an_agent_works_through_three_windows() -> None:
    quiet = RunConfig(tracing_disabled=True)
    read: list[int] = []

    def next_page(messages: list[Any], tools: list[Any]) -> Any:
        read.append(len(read))
        return "All pages agree." if len(read) > 40 else Calls([("read_page", {"number": len(read)})])

    with providing(next_page, SMALL) as provider, gateway(provider.url, SMALL, counter="chars4") as url:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            model = OpenAIChatCompletionsModel("gpt-4o", client)
            agent = Agent("reader", instructions="You read logs.", tools=[read_page], model=model)
            result = await Runner.run(agent, "Read the log, page by page.", max_turns=60, run_config=quiet)
        assert result.final_output == "All pages agree."
        assert not [one.refused for one in provider.asked if one.refused]
        assert sum(len(str(item)) for item in result.to_input_list()) / 4 > 3 * SMALL
        async with openai.AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0) as bare:
            read.clear()
            agent.model = OpenAIChatCompletionsModel("gpt-4o", bare)
            with pytest.raises(openai.BadRequestError):
                await Runner.run(agent, "Read the log, page by page.", max_turns=60, run_config=quiet)


# Every one asks for a reply of two tokens, and says how large the prompt was and how much of it was cached.
# They send the same conversation, so that the model reads it once.


def ask_openai(url: str, talk: list[Any]) -> tuple[int, int]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=300) as client:
        usage = client.chat.completions.create(model=MODEL, max_tokens=2, messages=talk).usage
    assert usage is not None and usage.prompt_tokens_details is not None
    return usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens or 0


def ask_anthropic(url: str, talk: list[Any]) -> tuple[int, int]:
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=300) as client:
        usage = client.messages.create(model=MODEL, max_tokens=2, messages=talk).usage
    cached = usage.cache_read_input_tokens or 0
    return usage.input_tokens + cached, cached


def ask_agents_sdk(url: str, talk: list[Any]) -> tuple[int, int]:
    async def run() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            settings = ModelSettings(max_tokens=2)
            agent = Agent("reader", model=OpenAIChatCompletionsModel(MODEL, client), model_settings=settings)
            return await Runner.run(agent, talk, run_config=RunConfig(tracing_disabled=True))

    usage = asyncio.run(run()).raw_responses[-1].usage
    return usage.input_tokens, usage.input_tokens_details.cached_tokens


def ask_ai_sdk(url: str, talk: list[Any]) -> tuple[int, int]:
    found = ai_sdk(url, messages=talk, maxOutputTokens=2)
    if found["error"]:
        raise RuntimeError(found["error"])
    return found["usage"]["inputTokens"], found["usage"]["inputTokenDetails"]["cacheReadTokens"] or 0


@pytest.fixture(scope="module")
def real_gateway(local_model: LocalChatModel) -> Iterator[str]:
    """Its window is smaller than the model's, which takes a minute to read."""
    with gateway(local_model.url, 1_600, counter="estimate") as url:
        yield url


@pytest.mark.spec("S5.11")
@pytest.mark.parametrize("ask", [ask_openai, ask_anthropic, ask_agents_sdk, ask_ai_sdk])
def test_a_real_model_behind_it_refuses_without_us_and_keeps_its_cache_with_us(
    ask: Any, real_gateway: str, local_model: LocalChatModel
) -> None:
    question = {"role": "user", "content": "Go on."}
    talk: list[Any] = [*conversation(5 * WINDOW), question]
    with pytest.raises(Exception, match="context"):
        ask(local_model.url, talk)
    assert ask(real_gateway, talk)[0] < WINDOW
    talk += [{"role": "assistant", "content": "It agrees."}, question]
    prompt, cached = ask(real_gateway, talk)
    assert 0.8 * prompt < cached < prompt < WINDOW
