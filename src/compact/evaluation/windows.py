"""Windows to evaluate: shares of each conversation, or numbers of tokens."""

from __future__ import annotations

from dataclasses import dataclass

from compact.errors import ConfigError
from compact.model.policy import Policy

FLOOR = 2_000
LARGEST_MESSAGES = 2
"""A share gives a conversation at least `FLOOR` tokens, and this many times its largest message: real windows
are never smaller, and in a smaller one there is nothing to decide."""

RESERVE_SHARE = 8
"""A reserve takes at most 1/RESERVE_SHARE of the window: 4,096 tokens would fill a small window."""


@dataclass(frozen=True, slots=True)
class Window:
    """Either `share` of the conversation or `tokens` is set."""

    share: float | None = None
    tokens: int = 0

    @property
    def label(self) -> str:
        return f"{self.tokens:,}" if self.share is None else f"{self.share:.4g}%"

    def tokens_for(self, fixed: int, body: int, largest: int = 0) -> int:
        """The window for a conversation: system prompt and tools are fixed, the share applies to the rest."""
        if self.share is None:
            return self.tokens
        return fixed + max(round(body * self.share / 100), FLOOR, LARGEST_MESSAGES * largest)


DEFAULT_WINDOWS = tuple(Window(share=share) for share in (10.0, 20.0, 40.0))


def parse_windows(text: str) -> tuple[Window, ...]:
    """Windows from "10%,20%" or "8000,32k"; raises ConfigError for anything else."""
    return tuple(dict.fromkeys(_window(word.strip()) for word in text.split(",") if word.strip()))


def _window(word: str) -> Window:
    factor = {"k": 1_000, "m": 1_000_000}.get(word[-1].lower(), 1)
    digits = word.lower().replace("_", "").rstrip("km%")
    try:
        number = float(digits)
    except ValueError:
        number = 0.0
    if word.endswith("%") and 0 < number < 100:
        return Window(share=number)
    if not word.endswith("%") and 500 <= number * factor < 1e9:
        return Window(tokens=int(number * factor))
    raise ConfigError(
        f"windows must be shares such as 20% or tokens from 500 on, such as 8000 or 8k (got {word!r}).",
        "windows",
    )


def scaled(policy: Policy, window: int) -> Policy:
    """The policy with reserves that suit the window; unchanged for a window of ordinary size."""
    most = window // RESERVE_SHARE
    return policy.model_copy(
        update={
            "hard_cap_buffer": min(policy.hard_cap_buffer, most),
            "output_reserve": min(policy.output_reserve, most),
        }
    )
