"""Small conversations, and a summarizer that keeps chosen words."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig
from compact.evaluation import Case
from compact.model.summary import SummaryRequest

Line = dict[str, Any]
Writer = Callable[..., Path]

FILLER = "The harbor master walks along the quay and notes which boats came in with the tide. "


class Remembers:
    """Keeps exactly these words of what it summarizes, if they occur."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def summarize(self, request: SummaryRequest) -> str:
        seen = " ".join(str(part) for message in request.messages for part in message.parts)
        seen += request.previous_summary or ""
        return (
            "Kept from before: " + "; ".join(word for word in self.words if word in seen) + ". " + FILLER * 3
        )


def harbor(turns: int = 24) -> Line:
    """A run with a remark that is made once, early, and needed later."""
    messages: list[Any] = [{"role": "system", "content": "You run a harbor."}]
    for turn in range(turns):
        said = "The albatross smells of old tar." if turn == 1 else f"Report number {turn}, please."
        messages.append({"role": "user", "content": f"{said} {FILLER * 4}"})
        messages.append({"role": "assistant", "content": f"Report {turn}: all is well. {FILLER * 4}"})
    return {
        "id": "harbor-1",
        "source": "example/harbor",
        "messages": messages,
        "probe_cut_index": len(messages) - 1,
        "probes": [
            {"kind": "reused_identifier", "value": "old tar", "hard": True},
            {"kind": "reused_identifier", "value": f"Report number {turns - 1}", "hard": False},
            {"kind": "reused_identifier", "value": "never said by anyone", "hard": True},
        ],
    }


def letters() -> Line:
    """Two people who write to each other, and questions about what they wrote."""
    messages = []
    for day in range(20):
        text = "i moved to a green house by the lake." if day == 2 else f"Day {day} was quiet."
        messages.append({"role": "user" if day % 2 == 0 else "assistant", "content": f"{text} {FILLER * 5}"})
    return {
        "id": "letters-1",
        "source": "example/letters",
        "messages": messages,
        "probes": [
            {"kind": "place", "question": "Where to, and when?", "answer_keys": ["Green house", "lake"]},
            {"kind": "opinion", "question": "Is it nice?", "answer_keys": []},
        ],
    }


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Writes lines (objects, or raw text) to a JSONL file and returns its path."""

    def to_file(name: str, *lines: Any) -> Path:
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return to_file


@pytest.fixture
def harbor_case() -> Case:
    from compact.evaluation.loading import Identifier

    line = harbor()
    probes = tuple(Identifier(probe["value"], probe["hard"]) for probe in line["probes"])
    return Case(line["id"], "harbor", line["messages"], line["probe_cut_index"], identifiers=probes)


@pytest.fixture
def letters_case() -> Case:
    from compact.evaluation.loading import Question

    line = letters()
    return Case(
        line["id"],
        "letters",
        line["messages"],
        len(line["messages"]),
        questions=(Question(("Green house", "lake")),),
    )


@pytest.fixture
def configure() -> Callable[[str], CompactConfig]:
    # Without a floor only the scripted prose remains: the test is about the measuring itself.
    return lambda preset: CompactConfig(preset=preset, counter="chars4", policy={"survival_floor": 0.0})


@pytest.fixture
def remembers() -> type[Remembers]:
    return Remembers


@pytest.fixture
def harbor_line() -> Line:
    return harbor()


@pytest.fixture
def letters_line() -> Line:
    return letters()
