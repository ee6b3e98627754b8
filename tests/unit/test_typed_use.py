"""What the documents show passes a strict type checker in a program of one's own, without any plugin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from typing import Any

from compact import Compacted, CompactConfig, CompactManager, Policy, Unchanged, lint, summarize
from compact.model.event import Event
from compact.model.summary import SummaryRequest
from compact.policies import preset

config = CompactConfig(
    model="gpt-4o",
    preset="agent",
    policy={"trigger_pct": 0.7, "turn_unit": "message"},
    summarizer=["extractive", {"name": "openai"}],
    archive={"adapter": "none"},
    storage={"url": "sqlite:///sessions.db"},
    redaction={"patterns": ["ACME-[0-9]{8}"]},
    tracing={"console": True},
    models={"acme/large": {"window": 64000, "max_output": 8000}},
)
other = CompactConfig(policy=Policy(name="late", trigger_pct=0.9), summarizer={"name": "anthropic"})
changed = CompactConfig(preset="agent", policy=preset("agent").model_copy(update={"trigger_pct": 0.7}))


def write(request: SummaryRequest) -> str:
    return request.prompt


def hear(event: Event) -> None:
    print(event.name, event.data)


messages: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
with CompactManager(config, summarizer=[write, "extractive"], exporters=[hear]) as manager:
    sent: list[dict[str, Any]] = manager.preflight("s", messages)
    ready = manager.prepare("s", messages, on_error="pass")
    match ready.outcome:
        case Compacted(record=record):
            print(record.summary)
        case Unchanged(reason):
            print(reason)
    print([hit.text for hit in manager.recall("s", "hello")], manager.usage("s", messages).percent)
print(lint(messages)[0].message, summarize(messages, 100).survival["all"])


async def work(manager: CompactManager) -> int:
    await manager.aappend("s", messages)
    return (await manager.aprepare("s", messages)).tokens.final
"""


def test_a_strictly_typed_program_may_write_what_the_documents_write(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=cache", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (checked.stdout, checked.stderr) == ("Success: no issues found in 1 source file\n", "")
