"""One list of what providers say where a prompt is too long, for every way in."""

from __future__ import annotations

import pytest

from compact.integrations._base import is_overflow
from compact.models._http import Trouble, trouble_of

TOO_LONG = {
    "openai": "context_length_exceeded: This model's maximum context length is 128000 tokens.",
    "openai-responses": "Your input exceeds the context window of this model.",
    "anthropic": "invalid_request_error: prompt is too long: 210000 tokens > 200000 maximum",
    "anthropic-output": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    "anthropic-bytes": "request_too_large: Request exceeds the maximum size",
    "gemini": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "xai": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "bedrock": "ValidationException: Input is too long for requested model.",
    "llama.cpp": "exceed_context_size_error: the request exceeds the available context size.",
    "vllm": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "ollama": "prompt too long; exceeded max context length by 42 tokens",
    "moonshot": "Invalid request: Your request exceeded model token limit: 131072",
    "mistral": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "litellm": "litellm.ContextWindowExceededError: it did not fit",
}
OTHER = {
    "output": "max_tokens is too large: 50000. This model supports at most 16384 completion tokens.",
    "tools": "This model does not support tools.",
    "rate": "Rate limit reached: 30000 tokens per minute. Please try again in 2 s.",
    "context": "Unknown parameter: 'context_management'.",
    "files": "The file exceeds the maximum size of 20 MB.",
}


@pytest.mark.parametrize("said", TOO_LONG.values(), ids=TOO_LONG)
def test_every_way_in_recognizes_a_prompt_that_is_too_long(said: str) -> None:
    assert trouble_of(400, said) is Trouble.TOO_LONG
    assert is_overflow(Exception(said))


@pytest.mark.parametrize("said", OTHER.values(), ids=OTHER)
def test_nothing_else_is_taken_for_it(said: str) -> None:
    assert trouble_of(400, said) is Trouble.BAD_REQUEST
    assert not is_overflow(Exception(said))


def test_the_status_counts_too() -> None:
    refused = Exception("Payload Too Large")
    refused.status_code = 413  # type: ignore[attr-defined]
    assert is_overflow(refused) and trouble_of(413, "") is Trouble.TOO_LONG
    refused.status_code = 429  # type: ignore[attr-defined]
    refused.args = (TOO_LONG["openai"],)
    assert not is_overflow(refused) and trouble_of(429, TOO_LONG["openai"]) is Trouble.BUSY
