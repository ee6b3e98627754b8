"""Responses items in a compaction: hosted tools count as tools, a reply of several items as one turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager

FACTS = [
    *(f"service_port_{number}" for number in range(6)),
    *(f"node{number}.relay{number * 7}.example" for number in range(6)),
]


def function(number: int, text: str) -> list[dict[str, Any]]:
    call = {"type": "function_call", "call_id": f"c{number}", "name": "get", "arguments": "{}"}
    return [call, {"type": "function_call_output", "call_id": f"c{number}", "output": text}]


def mcp(number: int, text: str) -> list[dict[str, Any]]:
    return [{"type": "mcp_call", "id": f"mcp_{number}", "name": "get", "arguments": "{}", "output": text}]


def interpreter(number: int, text: str) -> list[dict[str, Any]]:
    outputs = [{"type": "logs", "logs": text}]
    return [{"type": "code_interpreter_call", "id": f"ci_{number}", "code": "x", "outputs": outputs}]


def search(number: int, text: str) -> list[dict[str, Any]]:
    return [{"type": "file_search_call", "id": f"fs_{number}", "queries": ["q"], "results": [{"text": text}]}]


def search_attributes(number: int, text: str) -> list[dict[str, Any]]:
    first, _, rest = text.partition("\n")
    found = {"file_id": "f", "filename": "a.md", "score": 0.8, "attributes": {"note": first}, "text": rest}
    return [{"type": "file_search_call", "id": f"fs_{number}", "queries": ["q"], "results": [found]}]


def web(number: int, text: str) -> list[dict[str, Any]]:
    action = {"type": "search", "query": "q", "sources": [{"type": "url", "url": text}]}
    return [{"type": "web_search_call", "id": f"ws_{number}", "status": "completed", "action": action}]


def failing(number: int, text: str) -> list[dict[str, Any]]:
    error = {"type": "tool_execution_error", "content": [{"type": "text", "text": text}]}
    return [{"type": "mcp_call", "id": f"mcp_{number}", "name": "get", "arguments": "{}", "error": error}]


def shell(number: int, text: str) -> list[dict[str, Any]]:
    call = {"type": "shell_call", "call_id": f"c{number}", "action": {"commands": ["ls"]}}
    ended = {"stdout": "", "stderr": text, "outcome": {"type": "exit", "exit_code": 1}}
    return [call, {"type": "shell_call_output", "call_id": f"c{number}", "output": [ended]}]


def local_shell(number: int, text: str) -> list[dict[str, Any]]:
    action = {"type": "exec", "command": ["ls"], "env": {}}
    call = {"type": "local_shell_call", "id": f"l{number}", "call_id": f"c{number}", "action": action}
    return [call, {"type": "local_shell_call_output", "id": f"c{number}", "output": text}]


def patch(number: int, text: str) -> list[dict[str, Any]]:
    operation = {"type": "update_file", "path": "a.py", "diff": "@@"}
    call = {
        "type": "apply_patch_call",
        "call_id": f"c{number}",
        "operation": operation,
        "status": "completed",
    }
    output = {"type": "apply_patch_call_output", "call_id": f"c{number}", "status": "completed"}
    return [call, {**output, "output": text}]


def unheard_of(number: int, text: str) -> list[dict[str, Any]]:
    return [{"type": "later_call", "id": f"fu_{number}", "input": "x", "output": {"stdout": text}}]


def facts_left(make: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(folder)
    items: list[Any] = [{"role": "user", "content": "Find the ports."}]
    filler = "\n".join("nothing of interest here" for _ in range(45))
    for number, fact in enumerate(FACTS):
        items += make(number, f"{fact}=84{number:02d}\n{filler}")
    items += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Now the hosts."}]
    manager = CompactManager(CompactConfig(model="gpt-4o", max_context_tokens=2_950))
    prepared = manager.prepare("s", items)
    assert prepared.was_compacted
    return sum(fact in str(prepared.messages) for fact in FACTS)


@pytest.mark.parametrize(
    "make",
    [mcp, failing, interpreter, search, search_attributes, web, shell, local_shell, patch, unheard_of],
)
def test_facts_of_hosted_tools_survive_as_those_of_functions_do(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        facts_left(make, tmp_path, monkeypatch) == facts_left(function, tmp_path, monkeypatch) == len(FACTS)
    )


def test_the_marker_counts_a_reply_of_several_items_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    items: list[Any] = []
    for turn in range(20):
        items.append({"role": "user", "content": f"question {turn}"})
        items.append({"type": "reasoning", "id": f"rs_{turn}", "summary": []})
        ids = [f"c{turn}a", f"c{turn}b"]
        items += [{"type": "function_call", "call_id": at, "name": "get", "arguments": "{}"} for at in ids]
        items += [{"type": "function_call_output", "call_id": at, "output": "word " * 120} for at in ids]
        items.append({"type": "message", "role": "assistant", "content": f"answer {turn}"})
    config = CompactConfig(model="gpt-4o", max_context_tokens=6_000, preset="window")
    sent = CompactManager(config).preflight("s", items)
    marker = next(item["content"] for item in sent if "trimmed" in str(item.get("content")))
    # 20 questions, 20 steps, 20 answers; the first 2 and the last 10 stay.
    assert marker.startswith("[48 earlier turns")
