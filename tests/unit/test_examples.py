"""The examples run, offline, and show what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from support.trace_service import trace_service

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def shown(name: str, *options: str, folder: Path) -> str:
    """What an example prints, run in an empty folder without anybody's keys."""
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", str(EXAMPLES / name), *options],
        env={**kept, "COLUMNS": "100", "PYTHONUTF8": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    assert done.stderr == ""
    assert list(folder.iterdir()) == [], "an example leaves nothing behind"
    return done.stdout


@pytest.mark.spec("S4.17", "S4.22")
def test_the_minimal_example_needs_fewer_than_ten_lines(tmp_path: Path) -> None:
    source = (EXAMPLES / "agents_sdk_minimal.py").read_text(encoding="utf-8")
    (needed,) = re.findall(r"# -- all that Compact needs -+\n(.*?)# -+\n", source, re.DOTALL)
    lines = [line for line in needed.splitlines() if line.strip()]
    assert 4 <= len(lines) < 10
    before, after = source.split(needed)
    code = before[before.index("from __future__") : before.index("# -- all")] + after
    assert "compact" not in code.lower(), "nothing else knows of it"
    out = shown("agents_sdk_minimal.py", folder=tmp_path)
    assert len(re.findall(r"compaction #\d+ done", out)) >= 2
    assert "of 8,000 tokens" in out and "POS-339" in out


@pytest.mark.spec("S4.22")
def test_the_coding_session_mends_a_real_project_inside_a_small_window(tmp_path: Path) -> None:
    out = shown("coding_session.py", "--traces", "http://127.0.0.1:9", folder=tmp_path)
    assert "FAILED (failures=2) · FAILED (failures=1) · OK · OK" in out
    assert out.count("compacted, v") >= 1
    assert "lost" not in out and out.count("in the prompt") >= 4
    assert "No trace service" in out


@pytest.mark.spec("S4.22")
def test_the_coding_session_is_traced_where_a_service_runs(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    with trace_service(tmp_path / "traces.db") as service:
        url = str(service.base_url).rstrip("/")
        out = shown("coding_session.py", "--traces", url, folder=folder)
        traces = service.get("/traces").json()["traces"]
        spans = [
            span for each in traces for span in service.get(f"/traces/{each['trace_id']}").json()["spans"]
        ]
    assert f"The trace is at {url}" in out
    run = next(each for each in traces if each["name"] == "Coding session")
    assert run["error_count"] == 0 and len(traces) >= 2, "the SDK's trace, and Compact's own beside it"
    names = [span["name"] for span in spans]
    assert {"Coder", "run_tests", "edit_file", "compact.compaction", "compact.summary_created"} <= set(names)
    assert names.count("compact.compaction") == 2 * out.count("compacted, v")


@pytest.mark.spec("S4.22")
def test_the_long_research_goes_through_three_windows_in_several_rounds(tmp_path: Path) -> None:
    out = shown("long_research.py", folder=tmp_path)
    windows = re.search(r"up to ([\d,]+) tokens, ([\d.]+) windows", out)
    assert windows is not None and float(windows[2]) >= 3
    sent = re.search(r"as sent: up to ([\d,]+)", out)
    assert sent is not None and int(sent[1].replace(",", "")) <= 12_000
    assert len(re.findall(r"^ +\d+ +\d+ +[\d,]+ +[\d,]+ +\d+ messages", out, re.MULTILINE)) >= 4
    assert "lost" not in out
    counts = re.search(r"(\d) of 6 in the prompt, (\d) recalled from the store", out)
    assert counts is not None and int(counts[1]) + int(counts[2]) == 6
    assert out.count("\n  recalled ") == int(counts[2])
    assert "What only tools returned is not counted" in out
    assert "still holds everything: 128 items" in out


def test_the_sample_session_is_shown_with_every_preset(tmp_path: Path) -> None:
    out = shown("before_after.py", folder=tmp_path)
    assert all(f"\n{preset}\n" in out for preset in ("budget", "chat", "window", "agent", "rolling"))


@pytest.mark.spec("S5.12")
@pytest.mark.parametrize("name", ["clients", "langchain", "pydantic_ai", "ai_sdk"])
def test_a_framework_goes_through_three_windows(name: str, tmp_path: Path) -> None:
    out = shown(f"{name}_minimal.py", folder=tmp_path)
    assert "POS-339" in out
    pages, window, largest = (int(found.replace(",", "")) for found in re.findall(r"([\d,]{5,}) ?", out)[-3:])
    assert pages > 3 * window > 3 * largest


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("litellm", "litellm", "litellm"),
        ("strands", "strands", "strands"),
        ("google_adk", "google.adk", "adk"),
        ("llama_index", "llama_index", "llama-index"),
        ("crewai", "crewai", "crewai"),
        ("langchain", "langchain", "langchain"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ],
)
def test_an_example_whose_framework_is_missing_names_the_extra(name: str, module: str, extra: str) -> None:
    hidden = f"import runpy, sys; sys.modules[{module!r}] = None; runpy.run_path(sys.argv[1])"
    example = str(EXAMPLES / f"{name}_minimal.py")
    ended = subprocess.run(
        [sys.executable, "-c", hidden, example], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.endswith(f"is not installed. Install it with: pip install 'compact-context[{extra}]'")


@pytest.mark.parametrize("servers", [(), ("http://127.0.0.1:9", "http://127.0.0.1:9")])
def test_the_agent_of_the_ai_sdk_names_what_starts_it(servers: tuple[str, ...]) -> None:
    ended = subprocess.run(
        ["node", str(EXAMPLES / "ai_sdk_minimal.mjs"), *servers],
        env={key: value for key, value in os.environ.items() if key != "COMPACT_PACKAGE"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert "Run `python examples/ai_sdk_minimal.py`" in ended.stderr and "Error" not in ended.stderr


def test_an_unchanged_client_goes_through_the_gateway(tmp_path: Path) -> None:
    out = shown("gateway_minimal.py", folder=tmp_path)
    rows = re.findall(r"the agent sent +([\d,]+) tokens, the model got +([\d,]+)(  compacted)?$", out, re.M)
    sent, got = ([int(row[column].replace(",", "")) for row in rows] for column in (0, 1))
    assert len(rows) > 20 and max(got) <= 5_000 and sent[:7] == got[:7]
    assert sent == sorted(sent), "a conversation only grows"
    fell = [after < before for before, after in pairwise([0, *got])]
    assert [bool(row[2]) for row in rows] == fell and sum(fell) > 2, "what the model gets shrinks only there"
    assert "Page 3 was at POS-339." in out
    assert "Without the gateway: 400, This model's maximum context length is 5000 tokens." in out


def test_the_mcp_server_is_asked(tmp_path: Path) -> None:
    out = shown("mcp_minimal.py", folder=tmp_path)
    assert "became" in out and "POS-339" in out and "all 25 messages are back" in out
