"""Windows as people write them, and what they come to for a conversation."""

from __future__ import annotations

import pytest

from compact.errors import ConfigError
from compact.evaluation import DEFAULT_WINDOWS, parse_windows
from compact.evaluation.windows import scaled
from compact.policies import preset


def test_shares_and_tokens() -> None:
    windows = parse_windows("10%, 12.5%,8000,32k,1_500,8k")
    assert [window.label for window in windows] == ["10%", "12.5%", "8,000", "32,000", "1,500"]
    assert [window.label for window in DEFAULT_WINDOWS] == ["10%", "20%", "40%"]


@pytest.mark.parametrize("word", ["0%", "100%", "big", "-5", "12", "k", "%"])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(ConfigError, match="windows must be"):
        parse_windows(word)


def test_a_share_is_of_what_can_be_compacted_and_has_a_floor() -> None:
    [share, tokens] = parse_windows("20%,8000")
    assert share.tokens_for(fixed=1_000, body=50_000) == 11_000
    assert share.tokens_for(fixed=1_000, body=5_000) == 3_000
    assert share.tokens_for(fixed=1_000, body=50_000, largest=7_000) == 15_000
    assert tokens.tokens_for(fixed=1_000, body=50_000, largest=7_000) == 8_000


def test_reserves_are_lowered_only_where_the_window_is_small() -> None:
    agent = preset("agent")
    assert scaled(agent, 128_000) == agent
    assert scaled(agent, 4_000).reserve(4_000) == 500
