"""What SPEC says of counting and model limits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from compact.config import ModelLimits
from compact.core.measure import PRIMING, measure_message, measure_part, measure_system, measure_tools
from compact.counters import counter_for
from compact.model.message import (
    CompactionMarker,
    Message,
    Part,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    digest_of,
)
from compact.models.limits import LimitsSource, limits_for
from unit.counters.sample_texts import KINDS, sample_texts


def message(role: Role, *parts: Part) -> Message:
    return Message(role=role, parts=parts, digest=digest_of(role, parts))


@pytest.mark.spec("S1.4")
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4"])
def test_the_estimate_is_within_a_fifth_on_95_percent_of_texts(model: str) -> None:
    exact, estimate = counter_for(model), counter_for(model, "estimate")
    assert exact.exact
    texts = sample_texts()
    assert len(texts) >= 150 and all(len(text) >= 2_000 for _, text in texts)
    misses = [kind for kind, text in texts if not 0.8 <= estimate.count(text) / exact.count(text) <= 1.2]
    assert len(misses) <= 0.05 * len(texts), misses
    # ... and no kind of text is given up for the average.
    assert all(misses.count(kind) <= 2 for kind in KINDS), misses


@pytest.mark.spec("S1.4")
def test_four_characters_a_token_can_be_chosen_and_is_the_worse_estimate() -> None:
    plain, exact = counter_for("gpt-4o", "chars4"), counter_for("gpt-4o")
    assert plain.count("x" * 4_000) == 1_000
    within = [0.8 <= plain.count(text) / exact.count(text) <= 1.2 for _, text in sample_texts()]
    assert sum(within) < 0.7 * len(within)


@pytest.mark.spec("S2.3")
@pytest.mark.parametrize(
    ("model", "window", "output"),
    [
        ("openai/gpt-4o", 128_000, 16_384),
        ("openai/gpt-4o-mini", 128_000, 16_384),
        ("openai/gpt-4-turbo", 128_000, 4_096),
        ("openai/gpt-4", 8_192, 4_096),
        ("openai/gpt-3.5-turbo", 16_385, 4_096),
        ("anthropic/claude-3.5-sonnet", 200_000, 8_192),
        ("anthropic/claude-3-opus", 200_000, 4_096),
        ("anthropic/claude-3-sonnet", 200_000, 4_096),
        ("anthropic/claude-3-haiku", 200_000, 4_096),
        ("google/gemini-1.5-pro", 1_000_000, 8_192),
    ],
)
def test_limits_by_provider_and_model_id_or_bare_id(model: str, window: int, output: int) -> None:
    for name in (model, model.partition("/")[2]):
        found = limits_for(name)
        assert (found.window, found.max_output) == (window, output)
        assert found.source is LimitsSource.REGISTRY and found.warning is None


@pytest.mark.spec("S2.3")
def test_an_unknown_model_gets_the_fallback_and_a_warning_unless_the_user_knows_it() -> None:
    unknown = limits_for("acme/unheard-of-1")
    assert (unknown.window, unknown.max_output) == (16_000, 4_096)
    assert unknown.warning is not None and "acme/unheard-of-1" in unknown.warning
    known = limits_for(
        "acme/unheard-of-1", {"acme/unheard-of-1": ModelLimits(window=50_000, max_output=2_000)}
    )
    assert (known.window, known.max_output, known.warning) == (50_000, 2_000, None)


@pytest.mark.spec("S2.4")
def test_counting_by_part() -> None:
    count = counter_for("gpt-4o").count
    output, placeholder = "line of output\n" * 500, "[Tool output cleared - see conversation summary]"
    call = ToolCall("call_1", "read_file", '{"path": "src/app.py"}')
    assert measure_part(call, count) == count("read_file") + count('{"path": "src/app.py"}')
    assert measure_part(ToolResult("call_1", output), count) == count(output)
    cleared = ToolResult("call_1", placeholder, cleared_at=1.0, original_tokens=count(output))
    assert measure_part(cleared, count) == count(placeholder)
    assert measure_part(StepStart(), count) == 4
    assert measure_part(CompactionMarker("All done.", 1.0, 12, 9_000), count) == count("All done.")
    assert measure_message(message(Role.USER, Text("hello")), count) == 4 + count("hello")
    assert measure_message(message(Role.ASSISTANT, StepStart(), call), count) == 8 + measure_part(call, count)


@pytest.mark.spec("S2.5")
@pytest.mark.parametrize("kind", ["auto", "tiktoken", "chars4", "estimate"])
@pytest.mark.parametrize(
    "model",
    ["claude-3-5-sonnet", "anthropic/claude-opus-4-7", "gemini-2.5-pro", "deepseek-chat", "in-house-7b"],
)
def test_a_margin_of_a_tenth_or_more_where_the_tokenizer_is_not_the_models(model: str, kind: str) -> None:
    counter = counter_for(model, kind)
    assert counter.margin >= 1.1
    assert not counter.exact


@pytest.mark.spec("S2.5")
def test_vendors_with_own_weights_are_counted_by_them_and_the_margin_comes_on_top() -> None:
    text = "".join(
        text for kind, text in sample_texts(each=1) if kind in ("english", "python", "json", "log")
    )
    names = {
        model: counter_for(model).name
        for model in ("claude-sonnet-4-5", "claude-opus-4-7", "gemini-2.5-pro", "llama-3.3-70b")
    }
    assert len(set(names.values())) == 4
    o200k = counter_for("gpt-4o").count(text)
    # Medians measured against the vendors' tokenizers on agent text, over o200k: 1.21, 1.53, 1.21.
    for model, ratio in (("claude-sonnet-4-5", 1.21), ("claude-opus-4-7", 1.53), ("gemini-2.5-pro", 1.21)):
        counter = counter_for(model)
        assert counter.count(text) * counter.margin > ratio * o200k
    assert counter_for("gpt-4o").margin == 1.0


@pytest.mark.spec("S4.1")
def test_the_estimate_covers_all_that_is_sent() -> None:
    """System, developer, tools, history and the new input, counted with the model's own encoding."""
    count = counter_for("gpt-4o").count
    system = "You are a careful assistant."
    tool = ("get_order", "Look up an order", {"type": "object", "properties": {"id": {"type": "string"}}})
    developer = message(Role.DEVELOPER, Text("Answer in French."))
    history = [
        message(Role.USER, Text("Where is my order 7?")),
        message(Role.ASSISTANT, ToolCall("c1", "get_order", '{"id":"7"}')),
        message(Role.TOOL, ToolResult("c1", "shipped yesterday")),
    ]
    new_input = message(Role.USER, Text("And order 8?"))
    texts = [
        system, "Answer in French.", "Where is my order 7?", "get_order", '{"id":"7"}', "shipped yesterday",
        "And order 8?", "get_order:Look up an order", "id:string:",
    ]  # fmt: skip
    messages = [developer, *history, new_input]
    total = (
        measure_system(system, count)
        + measure_tools([tool], count)
        + sum(measure_message(item, count) for item in messages)
        + PRIMING
    )
    tool_overhead = 7 + 3 + 3 + 12
    assert total == sum(count(text) for text in texts) + 4 * (1 + len(messages)) + tool_overhead + PRIMING


HOSTILE_SCRIPT = """
import base64, json, random
from compact.counters import counter_for

M = 1_000_000
TEXTS = {
    "one letter": "a" * M,
    "spaces": " " * M,
    "tabs": "\\t" * M,
    "newlines": "\\n" * M,
    "no-break spaces": "\\u00a0" * M,
    "base64": base64.b64encode(random.Random(1).randbytes(1_500_000)).decode(),
    "hex": random.Random(2).randbytes(M // 2).hex(),
    "ruler": "=" * M,
    "emoji": "\\U0001f600" * (M // 4),
    "no breaks": "\\u6f22\\u5b57" * (M // 4),
    "NULs": "\\0" * M,
    "lone surrogates": "\\ud800" * (M // 4),
    "broken pairs": "\\udc00\\ud83d" * (M // 8),
    "special tokens": "<|endoftext|>" * (M // 13),
    "fifteen megabytes of spaces": " " * (15 * M),
}
exact, estimate = counter_for("gpt-4o"), counter_for("gpt-4o", "estimate")
small = {name: exact.count(text[:4096]) * len(text) / 4096 for name, text in TEXTS.items()}
print(json.dumps({name: [exact.count(text), small[name], estimate.count(text), len(text)]
                  for name, text in TEXTS.items()}))
"""
# What tiktoken itself says of the whole text, where it can encode it.
KNOWN = {
    "one letter": 125_000,
    "newlines": 62_500,
    "ruler": 15_625,
    "emoji": 250_000,
    "NULs": 500_000,
    "special tokens": 461_539,
}


@pytest.mark.spec("S4.1")
def test_hostile_text_is_counted_and_neither_crashes_nor_stalls() -> None:
    # The limit is a guard against a hang, not a measure of speed.
    done = subprocess.run([sys.executable, "-c", HOSTILE_SCRIPT], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    counted: dict[str, list[float]] = json.loads(done.stdout)
    for name, (tokens, from_small_blocks, estimated, length) in counted.items():
        expected = KNOWN.get(name, from_small_blocks)
        assert tokens == pytest.approx(expected, rel=0.02), name
        assert 0 < estimated <= 4 * length, name
