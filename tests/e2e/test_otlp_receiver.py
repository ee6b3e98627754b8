"""What we export as OTLP arrives in a receiver that we did not write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.rotel import Receiver, receiving

RUN = """
import sys
from compact import CompactConfig, CompactManager
archive, tracing = {"adapter": "fs", "path": sys.argv[2]}, {"otlp_endpoint": sys.argv[1]}
config = CompactConfig(max_context_tokens=6_000, counter="chars4", archive=archive, tracing=tracing)
roles = ("user", "assistant")
history = [{"role": roles[n % 2], "content": f"src/app_{n}.py " + "word " * 150} for n in range(80)]
manager = CompactManager(config)
for length in range(1, 80, 2):
    manager.preflight("session-7", history[:length])
"""

METRICS = {
    "compact.cache.hit_ratio",
    "compact.compaction.duration",
    "compact.compactions",
    "compact.context.usage",
    "compact.summary.duration",
    "compact.survival",
    "compact.tokens.saved",
}


CHILDREN = {
    "compact.token_estimate",
    "compact.trigger_decision",
    "compact.summary_created",
    "compact.archival",
    "compact.pruned_messages",
}


def children(receiver: Receiver) -> list[str]:
    """The names of the spans beneath the compaction."""
    spans = receiver.spans()
    whole = spans.get("compact.compaction", {})
    return [name for name, span in spans.items() if "ID" in whole and span.get("Parent ID") == whole["ID"]]


def run(receiver: Receiver, folder: Path) -> None:
    command = [sys.executable, "-c", RUN, receiver.url, str(folder / "archive")]
    # Nothing closes the manager: leaving the process has to be enough.
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.spec("S4.12")
def test_spans_and_metrics_arrive(tmp_path: Path) -> None:
    with receiving(tmp_path) as receiver:
        run(receiver, tmp_path)
        # It prints what it received a little later, and not all at once.
        receiver.wait_for(lambda: set(children(receiver)) >= CHILDREN and receiver.metrics() >= METRICS)
        assert set(children(receiver)) == CHILDREN and receiver.metrics() == METRICS
        whole = receiver.spans()["compact.compaction"]
        assert whole["gen_ai.conversation.id"] == "Str(session-7)"
        assert whole["gen_ai.conversation.compacted"] == "Bool(true)"
        assert "service.name: Str(compact)" in receiver.text()
