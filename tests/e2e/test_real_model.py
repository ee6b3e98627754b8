"""A real model behind a real server: what goes over the wire is understood on both sides.

The model is tiny and its summaries are worthless, so these tests say nothing about what it writes. It is
stopped at its first full stop, which ends every answer in the regular way.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compact.errors import SummaryRefused
from compact.model.summary import RefusalReason, Summary
from compact.models.local import LocalChatModel
from compact.summarizers._http import InputTooLong
from compact.summarizers.anthropic import AnthropicSummarizer
from compact.summarizers.openai import OpenAISummarizer
from support.conversations import asking, lighthouse, user

REQUEST = asking(*lighthouse(), strategy="brief", max_tokens=120)
TOO_MUCH = asking(user("the lamp is on and the lamp is off " * 2_000), strategy="brief", max_tokens=120)


def openai(model: LocalChatModel, **options: object) -> OpenAISummarizer:
    settings: dict = {"extra": {"stop": ["."]}, "timeout": 100.0} | options
    return OpenAISummarizer("smollm2", f"{model.url}/v1", **settings)


def anthropic(model: LocalChatModel, **options: object) -> AnthropicSummarizer:
    settings: dict = {"extra": {"stop_sequences": ["."]}, "timeout": 100.0} | options
    return AnthropicSummarizer("smollm2", model.url, **settings)


def assert_answered(summary: Summary) -> None:
    assert summary.text.strip()
    assert summary.strategy == "brief"
    assert summary.usage is not None
    assert 0 < summary.usage.output <= 120
    assert summary.tokens == summary.usage.output


def test_a_session_is_summarized_over_chat_completions(local_model: LocalChatModel) -> None:
    summary = openai(local_model).summarize(REQUEST)

    assert_answered(summary)
    assert summary.usage is not None and summary.usage.input > 500, "the prompt and the session were read"
    # A prompt from the cache is rounded differently than one that is read: both of these come from the cache.
    whole = openai(local_model).summarize(REQUEST)
    streaming = {"stop": ["."], "stream": True, "stream_options": {"include_usage": True}}
    streamed = openai(local_model, extra=streaming).summarize(REQUEST)
    assert_answered(streamed)
    assert streamed.text == whole.text, "seed and temperature reach the model, streaming changes nothing"


def test_a_session_is_summarized_over_the_messages_api(local_model: LocalChatModel) -> None:
    assert_answered(anthropic(local_model).summarize(REQUEST))
    streaming = {"stop_sequences": ["."], "stream": True}
    assert_answered(anthropic(local_model, extra=streaming).summarize(REQUEST))


def test_a_summary_that_reaches_the_limit_is_refused(local_model: LocalChatModel) -> None:
    # Overridden behind the prompt's back, so that the prompt is the cached one and the test takes no time.
    for summarizer in (
        openai(local_model, extra={"max_tokens": 4}),
        anthropic(local_model, extra={"max_tokens": 4}),
    ):
        with pytest.raises(SummaryRefused) as caught:
            summarizer.summarize(REQUEST)
        assert caught.value.reason == RefusalReason.TOO_LONG


def test_input_beyond_the_window_is_told_as_such(local_model: LocalChatModel) -> None:
    for summarizer in (openai(local_model), anthropic(local_model)):
        with pytest.raises(InputTooLong) as caught:
            summarizer.summarize(TOO_MUCH)
        assert "400" in str(caught.value)


def test_the_cached_prefix_is_reused(local_model: LocalChatModel, tmp_path: Path) -> None:
    """The conversation as last sent, then the request for a summary behind it: the first part is cached."""
    prefix = [
        {"role": "system", "content": "You keep the lighthouse of Ramsund and answer in one sentence."},
        {"role": "user", "content": "The lamp goes on two hours late, and the harbor complains. " * 8},
    ]
    warm_up = openai(local_model, extra={"stop": ["."], "messages": prefix})
    assert warm_up.summarize(REQUEST).text

    short = tmp_path / "short.md"
    short.write_text("Say in one sentence where the work stands.", encoding="utf-8")
    request = asking(*lighthouse(), strategy=str(short), max_tokens=120, prefix_messages=prefix)
    summary = openai(local_model, reuse_prefix=True).summarize(request)
    assert summary.usage is not None
    assert summary.usage.cache_read > 80, "the prefix came out of the cache"
    assert summary.usage.cache_read < summary.usage.input
