"""The strategies, as tables: the headings of a summary, what goes under each, and how the room is shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from compact.evidence import Shares


class Part(Enum):
    """What can go under a heading."""

    TASK = "the first message of the user"
    WORDS = "what else the user said"
    CONCLUDED = "what the assistant stated"
    NEWEST = "what it stated last"
    FILES = "files that changed"
    STEPS = "commands and calls"
    PENDING = "calls without a result"
    VALUES = "names and values"


@dataclass(frozen=True, slots=True)
class Strategy:
    headings: tuple[tuple[str, tuple[Part, ...]], ...]
    shares: Shares = field(default_factory=Shares)
    ledger: bool = False
    """Decisions and steps one line each, `[m12] what :: why :: from what :: outcome`."""
    changes: bool = False
    """Files one by one, with a line of what was written."""
    sentences: int = 0
    """The number of sentences of prose that come first, for the parts that have no heading."""


USERS_WORDS = "User's words"
_HANDOVER = (
    ("Task", (Part.TASK,)),
    ("Preferences", (Part.WORDS,)),
    ("What was done", (Part.FILES, Part.STEPS)),
    ("Current state", (Part.CONCLUDED,)),
    ("Next", (Part.NEWEST,)),
    ("Calls in progress", (Part.PENDING,)),
    ("Ids, names and values", (Part.VALUES,)),
)
_TO_CONTINUE = Shares(words=0.45, conclusions=0.30, values=0.12)
"""An agent's run has few words of the user and many findings of its own."""
STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "task_state": Strategy(
            (
                ("Goals", (Part.TASK,)),
                ("Constraints and wishes", (Part.WORDS,)),
                ("Decisions", (Part.CONCLUDED,)),
                ("Done", (Part.FILES, Part.STEPS)),
                ("Outstanding", (Part.NEWEST, Part.PENDING)),
                ("Key entities", (Part.VALUES,)),
            )
        ),
        "decision_log": Strategy(
            (
                (USERS_WORDS, (Part.TASK, Part.WORDS)),
                ("Decisions", (Part.CONCLUDED, Part.NEWEST, Part.FILES, Part.STEPS, Part.PENDING)),
                ("Key entities", (Part.VALUES,)),
            ),
            Shares(conclusions=0.20, done=0.15),
            ledger=True,
        ),
        "code_delta": Strategy(
            (
                ("Changes", (Part.FILES,)),
                (USERS_WORDS, (Part.TASK, Part.WORDS)),
                ("Why", (Part.CONCLUDED,)),
                ("Follow-up", (Part.NEWEST, Part.STEPS, Part.PENDING)),
                ("Names and values", (Part.VALUES,)),
            ),
            Shares(words=0.35, all_words=0.50, done=0.25),
            changes=True,
        ),
        "brief": Strategy(((USERS_WORDS, (Part.TASK, Part.WORDS)),), Shares(rest_chars=1_000), sentences=5),
        "rolling": Strategy(
            (
                ("Goals and preferences", (Part.TASK, Part.WORDS)),
                ("Decisions and constraints", (Part.CONCLUDED,)),
                ("Facts and entities", (Part.FILES, Part.STEPS, Part.VALUES)),
                ("Open questions", (Part.NEWEST, Part.PENDING)),
            ),
        ),
        "continuation": Strategy(_HANDOVER, _TO_CONTINUE),
        "site_building": Strategy(_HANDOVER, _TO_CONTINUE),
    }
)
BESIDE = Strategy(
    (
        (USERS_WORDS, (Part.TASK, Part.WORDS)),
        ("Conclusions", (Part.CONCLUDED, Part.NEWEST)),
        ("Done", (Part.FILES, Part.STEPS, Part.PENDING)),
        ("Evidence", (Part.VALUES,)),
    ),
    Shares(words=1.0, all_words=1.0, conclusions=0.10, done=0.0),
)
"""What is added to a model's prose: the words, then what the prose left out."""


def strategy_for(name: str) -> Strategy:
    """The table with that name; a user's own prompt gets the form of the first."""
    return STRATEGIES.get(name, STRATEGIES["task_state"])
