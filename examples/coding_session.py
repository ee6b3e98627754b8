"""A coding agent with real tools in a real (temporary) folder, through a window far too small for it.

    python examples/coding_session.py [--window 7000] [--traces http://127.0.0.1:5175]

It reads modules, runs the tests, fixes the bugs and runs them again. The model is scripted; files, edits
and test runs are real. If a trace service is running (`compact traces`), the SDK's trace of the run goes
there, with Compact's spans inside it, and so do Compact's own events.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import urllib.request
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from compact import CompactConfig, CompactManager
from compact.integrations.openai_agents import compact_filter
from compact.tracing.agents_sdk import AgentsSdkSpans

from agents import Agent, RunConfig, Runner, function_tool, set_trace_processors, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor
from showing import draw_facts, draw_prompts, draw_rounds, prompts_of, stage

RULE = "Never edit anything in tests/."
TASK = f"The tests of the billing package fail. Find out why and mend it. {RULE} Run them with unittest."
FACTS = [RULE, "billing/rounding.py", "billing/tax.py", "AssertionError", "9.52", "billing/invoice.py"]
MODULES = "rounding tax discount invoice currency ledger export report".split()
MENDED = {
    "rounding": ("return int(value * 100) / 100", "return round(value + 1e-9, 2)"),
    "tax": ("RATE = 0.91", "RATE = 0.19"),
}


def write_project(folder: Path) -> None:
    """A small package with two mistakes, and tests that find them."""
    (folder / "billing").mkdir()
    (folder / "tests").mkdir()
    (folder / "billing" / "__init__.py").write_text("")
    for name in MODULES:
        helpers = "\n".join(
            f"def {name}_case_{n}(amount: float) -> float:\n"
            f'    """Case {n} of {name}: amounts from {n * 10} on, see docs/{name}.md section {n}."""\n'
            f"    return amount * {n + 1} / {n + 2}\n"
            for n in range(12)
        )
        (folder / "billing" / f"{name}.py").write_text(
            f'"""{name} of invoices."""\n\n{_core(name)}\n{helpers}'
        )
    (folder / "tests" / "test_billing.py").write_text(
        "import unittest\n\nfrom billing.rounding import rounded\nfrom billing.tax import with_tax\n\n\n"
        "class Billing(unittest.TestCase):\n"
        "    def test_half_cents_go_up(self):\n        self.assertEqual(rounded(9.515), 9.52)\n\n"
        "    def test_tax_is_added(self):\n        self.assertEqual(rounded(with_tax(100)), 119.0)\n"
    )


def _core(name: str) -> str:
    if name == "rounding":
        return "def rounded(value: float) -> float:\n    return int(value * 100) / 100\n"
    if name == "tax":
        return "RATE = 0.91\n\n\ndef with_tax(net: float) -> float:\n    return net * (1 + RATE)\n"
    return f"NAME = {name!r}\n"


def tools_in(folder: Path) -> list[Any]:
    def inside(path: str) -> Path:
        found = (folder / path).resolve()
        if not found.is_relative_to(folder.resolve()):
            raise ValueError(f"{path} is outside the project")
        return found

    @function_tool
    def list_files() -> str:
        """All files of the project."""
        return "\n".join(sorted(str(path.relative_to(folder)) for path in folder.rglob("*.py")))

    @function_tool
    def read_file(path: str) -> str:
        """A file of the project, with line numbers."""
        return "\n".join(f"{n:4} {line}" for n, line in enumerate(inside(path).read_text().splitlines(), 1))

    @function_tool
    def edit_file(path: str, old: str, new: str) -> str:
        """Replace a text that stands once in a file."""
        text = inside(path).read_text()
        if text.count(old) != 1:
            return f"Not done: the text stands {text.count(old)} times in {path}."
        inside(path).write_text(text.replace(old, new))
        return f"Edited {path}."

    @function_tool
    def run_tests() -> str:
        """Run the tests of the project."""
        done = subprocess.run(
            # -B: byte code of a file edited twice within a second may be that of its older text.
            [sys.executable, "-B", "-m", "unittest", "-v", "tests.test_billing"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        return f"exit status {done.returncode}\n{done.stderr}"

    return [list_files, read_file, edit_file, run_tests]


def script() -> list[tuple[str, dict[str, str]]]:
    """What a coding model would do here."""

    def read(*names: str) -> list[tuple[str, dict[str, str]]]:
        return [("read_file", {"path": f"billing/{name}.py"}) for name in names]

    def mend(name: str) -> tuple[str, dict[str, str]]:
        old, new = MENDED[name]
        return ("edit_file", {"path": f"billing/{name}.py", "old": old, "new": new})

    return [
        ("list_files", {}),
        ("run_tests", {}),
        ("read_file", {"path": "tests/test_billing.py"}),
        *read("invoice", "rounding", "ledger", "currency"),
        mend("rounding"),
        ("run_tests", {}),
        *read("discount", "tax", "export", "report"),
        mend("tax"),
        ("run_tests", {}),
        *read("invoice", "rounding", "tax"),
        ("run_tests", {}),
    ]


def is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=0.5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


async def main() -> None:
    parser = ArgumentParser(description="A coding agent in a temporary folder, kept inside a small window.")
    parser.add_argument("--window", type=int, default=7_000)
    parser.add_argument(
        "--traces", default="http://127.0.0.1:5175", help="a trace service, if one runs there"
    )
    options = parser.parse_args()
    out = stage()
    traced = is_up(options.traces)
    set_tracing_disabled(not traced)
    batches = BatchTraceProcessor(
        BackendSpanExporter(api_key="none", endpoint=f"{options.traces}/v1/traces/ingest")
    )
    set_trace_processors([batches] if traced else [])
    config = CompactConfig(
        max_context_tokens=options.window,
        summarizer={"name": "extractive"},
        archive={"adapter": "none"},
        tracing={"ariadne_url": options.traces} if traced else {},
    )
    manager = CompactManager(config, exporters=[AgentsSdkSpans()])
    steps = script()
    model = ScriptedModel(
        [
            *([function_call(name, given, call_id=f"call_{n}")] for n, (name, given) in enumerate(steps)),
            [assistant_message("Both mistakes are mended: half cents were cut off, the tax rate was 0.91.")],
        ],
        emit_traces=traced,
    )
    with tempfile.TemporaryDirectory() as folder:
        write_project(Path(folder))
        agent = Agent("Coder", instructions="Work in small steps.", tools=tools_in(Path(folder)), model=model)
        run_config = RunConfig(
            workflow_name="Coding session", call_model_input_filter=compact_filter(manager, "coding")
        )
        result = await Runner.run(agent, TASK, max_turns=len(steps) + 1, run_config=run_config)

    prompts = prompts_of(manager.events)
    labels = ["the task", *(f"{name} {Path(given.get('path', '')).name}" for name, given in steps)]
    out.paragraph("", TASK, 0, "bold")
    draw_prompts(out, prompts, labels, options.window)
    out.line(out.styled("\nCompactions", "bold"))
    draw_rounds(out, prompts)
    out.line(out.styled("\nWhat the last prompt still holds, word for word", "bold"))
    recalled = [any(fact in hit.text for hit in manager.recall("coding", fact)) for fact in FACTS]
    draw_facts(out, FACTS, str(model.calls[-1].input), recalled)
    tests = [
        str(item["output"]) for item in result.to_input_list() if "exit status" in str(item.get("output"))
    ]
    verdicts = [text.strip().splitlines()[-1] for text in tests]
    out.line(f"\nTest runs: {out.dot.join(verdicts)}\n{result.final_output}")
    if traced:
        manager.flush()
        batches.force_flush()
        out.line(f"The trace is at {options.traces}/traces")
    else:
        out.line(f"No trace service at {options.traces}; `compact traces` starts one.")
    batches.shutdown()


if __name__ == "__main__":
    asyncio.run(main())
