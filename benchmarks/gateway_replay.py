"""How much of each prompt a provider's cache would serve: the gateway against the frameworks' own compaction.

    pip install -e . langchain langgraph llama-index-core strands-agents      (an environment of its own)
    python benchmarks/gateway_replay.py DATA [--window 16000] [--limit 3] [--sources mini-swe,pi]

DATA is a folder of *.jsonl.gz files (or one file), one conversation per line. Every conversation longer
than the window is sent as its client would send it: a prompt after each user message and each tool step.
`cached` is the share of all prompts, in tokens, that is a byte prefix of the previous prompt; `cost` counts
a cached token as a tenth, in thousands per conversation. `over` counts prompts over the window, `invalid`
those with a form that a provider rejects, `refused` overflows that were answered with a smaller prompt. All
methods that summarize get the same summary at once. Frameworks that are not installed are skipped. The exit
code is 1 if one of our prompts is over the window or invalid.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from replay import conversations, prompts

from compact import CompactConfig, CompactManager
from compact.policies import PRESETS
from compact.server.gateway.compacting import Compaction
from compact.server.gateway.exchange import Exchange
from compact.server.gateway.wire import CHAT as CHAT_API
from compact.server.http.bodies import json_bytes
from support.providers import CHARS_PER_TOKEN, CHAT, Refused, check, prompt_text

SUMMARY = "The task is under way. " + "What was found so far is listed here, one item after another. " * 20
TRIGGER = 0.8
"""Of the window: where the frameworks that take a number start."""

Messages = list[dict[str, Any]]
Compactor = Callable[[Messages], Messages]
"""Gets the whole history of one conversation, longer with each call; returns what goes to the model."""
Maker = Callable[[int, Any, Counter[str]], Compactor]
"""Window, tools, and a tally of prompts that were refused and sent again smaller."""


def tokens_of(messages: Messages, tools: Any = None) -> int:
    return len(prompt_text(CHAT, {"messages": messages, "tools": tools})) // CHARS_PER_TOKEN + 1


# -- ours, and the two ends of the scale --------------------------------------------------------------------


def ours(preset: str) -> Maker:
    """Through the gateway's own code: what it would send for the body that the client sends."""

    def make(window: int, tools: Any, tally: Counter[str]) -> Compactor:
        config = CompactConfig(
            model="gpt-4o",
            max_context_tokens=window,
            preset=preset,
            counter="chars4",
            strip_meta=True,
            archive={"adapter": "none"},
        )
        compaction = Compaction(CompactManager(config, summarizer=lambda request: SUMMARY), 20.0, 60.0)

        async def sent(messages: Messages) -> Messages:
            body = {"model": "gpt-4o", "messages": messages} | ({"tools": tools} if tools else {})
            raw = json_bytes(body)
            exchange = Exchange("POST", "", [], raw, CHAT_API, session_name="replay")
            ready = compaction.grown(exchange) or await compaction.ready(exchange)
            out: Messages = json.loads(ready.body)["messages"]
            if tokens_of(out, tools) > window:
                tally["refused"] += 1
                ready = await compaction.smaller(exchange, ready) or ready
                out = json.loads(ready.body)["messages"]
            compaction.answered(exchange, ready, {"prompt_tokens": tokens_of(out, tools)})
            await compaction.settled()
            return out

        loop = asyncio.new_event_loop()
        return lambda messages: loop.run_until_complete(sent(messages))

    return make


def nothing(window: int, tools: Any, tally: Counter[str]) -> Compactor:
    return lambda messages: messages


def sliding(window: int, tools: Any, tally: Counter[str]) -> Compactor:
    """The newest whole turns and steps that fit."""

    def compacted(messages: Messages) -> Messages:
        head = [one for one in messages if one["role"] == "system"]
        rest = messages[len(head) :]
        starts = [n for n, one in enumerate(rest) if one["role"] == "user"]
        starts += [n for n, one in enumerate(rest) if one["role"] == "assistant"]
        room, kept = TRIGGER * window - tokens_of(head, tools), len(rest)
        for start in sorted(starts, reverse=True):
            room -= tokens_of(rest[start:kept])
            if room < 0 and kept < len(rest):
                break
            kept = start
        return [*head, *rest[kept:]]

    return compacted


# -- the frameworks -----------------------------------------------------------------------------------------


def langchain_trim(window: int, tools: Any, tally: Counter[str]) -> Compactor:
    core = import_module("langchain_core.messages")

    def size(messages: list[Any]) -> int:
        return tokens_of(core.convert_to_openai_messages(messages), tools)

    def compacted(messages: Messages) -> Messages:
        kept = core.trim_messages(
            core.convert_to_messages(messages),
            max_tokens=int(TRIGGER * window),
            token_counter=size,
            strategy="last",
            start_on=("human", "ai"),
            include_system=True,
        )
        return list(core.convert_to_openai_messages(kept))

    return compacted


def langchain_summarization(window: int, tools: Any, tally: Counter[str]) -> Compactor:
    core = import_module("langchain_core.messages")
    fake = import_module("langchain_core.language_models.fake_chat_models")
    middleware = import_module("langchain.agents.middleware").SummarizationMiddleware(
        model=fake.FakeListChatModel(responses=[SUMMARY]),
        trigger=("tokens", int(TRIGGER * window)),
        token_counter=lambda messages: tokens_of(core.convert_to_openai_messages(list(messages)), tools),
    )
    state: list[Any] = []
    seen = 0

    def compacted(messages: Messages) -> Messages:
        nonlocal state, seen
        head = [one for one in messages if one["role"] == "system"]
        state += core.convert_to_messages(messages[max(seen, len(head)) :])
        seen = len(messages)
        changed = middleware.before_model({"messages": state}, SimpleNamespace())
        if changed:
            state = [one for one in changed["messages"] if not isinstance(one, core.RemoveMessage)]
        return [*head, *core.convert_to_openai_messages(state)]

    return compacted


def llama_index_buffer(window: int, tools: Any, tally: Counter[str]) -> Compactor:
    types = import_module("llama_index.core.llms")
    buffer = import_module("llama_index.core.memory").ChatMemoryBuffer.from_defaults(
        token_limit=int(TRIGGER * window),
        tokenizer_fn=lambda text: [0] * (len(text) // CHARS_PER_TOKEN),
    )
    seen = 0

    def compacted(messages: Messages) -> Messages:
        nonlocal seen
        head = [one for one in messages if one["role"] == "system"]
        for one in messages[max(seen, len(head)) :]:
            given = {name: value for name, value in one.items() if name not in ("role", "content")}
            buffer.put(
                types.ChatMessage(role=one["role"], content=one.get("content"), additional_kwargs=given)
            )
        seen = len(messages)
        # Its own agents pass the size of the system prompt.
        kept = buffer.get(initial_token_count=min(tokens_of(head, tools), int(TRIGGER * window) - 1))
        said = [
            {"role": str(one.role.value), "content": one.content, **one.additional_kwargs} for one in kept
        ]
        return [*head, *said]

    return compacted


def strands_manager(name: str, **settings: Any) -> Maker:
    """One of its conversation managers, asked before each call and after each overflow, as its loop does."""

    def make(window: int, tools: Any, tally: Counter[str]) -> Compactor:
        module = import_module("strands.agent.conversation_manager")
        manager = getattr(module, name)(**settings)
        if name.startswith("Summarizing"):
            manager._generate_summary = lambda *given: {"role": "user", "content": [{"text": SUMMARY}]}
        agent = SimpleNamespace(messages=[], model=None)
        seen = 0

        def compacted(messages: Messages) -> Messages:
            nonlocal seen
            head = [one for one in messages if one["role"] == "system"]
            for one in messages[max(seen, len(head)) :]:
                _append(agent.messages, one)
            seen = len(messages)
            manager.apply_management(agent)
            for _ in range(20):
                if tokens_of([*head, *_chat(agent.messages)], tools) <= window:
                    break
                tally["refused"] += 1
                try:
                    manager.reduce_context(agent, e=RuntimeError("overflow"))
                except Exception:  # it gives up, as it would in the loop
                    break
            return [*head, *_chat(agent.messages)]

        return compacted

    return make


def _append(bedrock: list[Any], one: dict[str, Any]) -> None:
    role = "assistant" if one["role"] == "assistant" else "user"
    blocks: list[Any] = [{"text": one["content"]}] if one["role"] != "tool" and one.get("content") else []
    for call in one.get("tool_calls") or ():
        given = json.loads(call["function"]["arguments"])
        blocks.append(
            {"toolUse": {"toolUseId": call["id"], "name": call["function"]["name"], "input": given}}
        )
    if one["role"] == "tool":
        answer = {"toolUseId": one["tool_call_id"], "status": "success"}
        blocks.append({"toolResult": {**answer, "content": [{"text": one["content"]}]}})
    if bedrock and one["role"] == "tool" and "toolResult" in bedrock[-1]["content"][0]:
        bedrock[-1]["content"].extend(blocks)
    else:
        bedrock.append({"role": role, "content": blocks})


def _chat(bedrock: list[Any]) -> Messages:
    messages: Messages = []
    for one in bedrock:
        text = "".join(block["text"] for block in one["content"] if "text" in block)
        calls = [
            {
                "id": block["toolUse"]["toolUseId"],
                "type": "function",
                "function": {
                    "name": block["toolUse"]["name"],
                    "arguments": json.dumps(block["toolUse"]["input"]),
                },
            }
            for block in one["content"]
            if "toolUse" in block
        ]
        for block in one["content"]:
            if "toolResult" in block:
                result = block["toolResult"]
                said = "".join(part.get("text", "") for part in result["content"])
                messages.append({"role": "tool", "tool_call_id": result["toolUseId"], "content": said})
        if calls:
            messages.append({"role": one["role"], "content": text or None, "tool_calls": calls})
        elif text:
            messages.append({"role": one["role"], "content": text})
    return messages


CONTENDERS: dict[str, Maker] = {
    "no compaction": nothing,
    "sliding window": sliding,
    "langchain trim_messages": langchain_trim,
    "langchain SummarizationMiddleware": langchain_summarization,
    "llama-index ChatMemoryBuffer": llama_index_buffer,
    "strands SlidingWindow": strands_manager("SlidingWindowConversationManager"),
    "strands Summarizing": strands_manager("SummarizingConversationManager"),
    **{f"compact {preset}": ours(preset) for preset in PRESETS},
}


# -- the replay ---------------------------------------------------------------------------------------------


def replay(compact: Compactor, window: int, one: dict[str, Any], most: int, tally: Counter[str]) -> None:
    messages, tools = one["messages"], one.get("tools")
    before = ""
    for end in islice(prompts(messages), most):
        sent = compact(messages[:end])
        body = {"model": "gpt-4o", "messages": sent, "tools": tools}
        shown = prompt_text(CHAT, body)
        size = len(shown) // CHARS_PER_TOKEN + 1
        cached = shared(shown, before) // CHARS_PER_TOKEN
        tally.update(prompts=1, tokens=size, cached=cached, breaks=not shown.startswith(before))
        tally.update(over=size > window, units=size - cached + cached // 10)
        try:
            check(CHAT, body)
        except Refused:
            tally["invalid"] += 1
        before = shown


def shared(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return low


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--window", type=int, default=16_000)
    parser.add_argument("--limit", type=int, default=3, help="conversations a source")
    parser.add_argument("--prompts", type=int, default=150, help="the first ones of each conversation")
    parser.add_argument("--sources", default="", help="names of files, without .jsonl.gz")
    options = parser.parse_args()
    chosen: list[dict[str, Any]] = []
    taken: Counter[str] = Counter()
    for source, one in conversations(options.data):
        wanted = not options.sources or source in options.sources.split(",")
        if wanted and taken[source] < options.limit and tokens_of(one["messages"]) > 1.5 * options.window:
            taken[source] += 1
            chosen.append(one)
    print(f"window {options.window:,}; conversations: {dict(taken)}")
    heads = ("prompts", "cached", "breaks", "over", "invalid", "refused", "cost", "s")
    print(" " * 34 + "".join(f"{head:>9}" for head in heads))
    bad = 0
    for name, make in CONTENDERS.items():
        tally: Counter[str] = Counter()
        began = time.perf_counter()
        try:
            for one in chosen:
                replay(
                    make(options.window, one.get("tools"), tally), options.window, one, options.prompts, tally
                )
        except ImportError as error:
            print(f"{name:<34}not installed ({error.name})")
            continue
        counts = "".join(f"{tally[key]:9}" for key in ("breaks", "over", "invalid", "refused"))
        share = tally["cached"] / max(tally["tokens"], 1)
        cost = tally["units"] / max(len(chosen), 1) / 1000
        seconds = time.perf_counter() - began
        print(f"{name:<34}{tally['prompts']:9}{share:9.1%}{counts}{cost:9.0f}{seconds:9.1f}", flush=True)
        if name.startswith("compact"):
            bad += tally["over"] + tally["invalid"]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
