"""The MCP server, asked by the official client over standard input and output and over HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from support.strict_provider import TASK, page_text

SETTINGS = ["--window", "4k", "--model", "gpt-4o"]


def talk(pages: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
    for number in range(pages):
        function = {"name": "read_page", "arguments": f'{{"number": {number}}}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": page_text(number)})
    return messages


async def use_all_tools(client: Any) -> None:
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert names == {"compact", "plan", "recall", "restore"}

    async def call(name: str, **arguments: Any) -> Any:
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    messages = talk(12)
    planned = await call("plan", session_id="s", messages=messages)
    assert planned["triggered"] and planned["tokens_after"] < planned["tokens_before"]
    done = await call("compact", session_id="s", messages=messages)
    assert done["changed"] and done["step"] == 1 and "COMPACT-SUMMARY" in str(done["messages"])
    assert done["tokens_after"] < done["tokens_before"]
    found = await call("recall", session_id="s", query="Keeper-17")
    assert "Keeper-17" in found["found"][0]["text"]
    back = await call("restore", session_id="s", step=1)
    assert back["messages"] == messages
    forced = await call("compact", session_id="t", messages=talk(6), force=True, note="the keepers")
    assert forced["changed"] and len(forced["messages"]) < 13
    refused = await client.call_tool("restore", {"session_id": "nobody", "step": 3})
    assert refused.is_error


@pytest.mark.spec("S5.16")
async def test_over_standard_input_and_output(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "compact", "mcp", *SETTINGS]
    server = StdioServerParameters(
        command=command[0], args=command[1:], cwd=str(tmp_path), env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        await use_all_tools(client)


@contextmanager
def served(folder: Path, *options: str, **environ: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "compact", "mcp", "--http", "--port", str(port), *SETTINGS, *options]
    environ = {**os.environ, **environ}
    process = subprocess.Popen(command, cwd=folder, env=environ, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not is_open(port):
            assert process.poll() is None and time.monotonic() < deadline, "the server did not start"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(60)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.spec("S5.16")
async def test_over_http(tmp_path: Path) -> None:
    with served(tmp_path) as url:
        async with Client(url) as client:
            await use_all_tools(client)


@pytest.mark.parametrize("token", ["", "right"])
def test_over_http_only_its_own_callers_are_answered(tmp_path: Path, token: str) -> None:
    options = ("--host", "0.0.0.0", "--token-env", "MCP_TOKEN") if token else ()
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}
    good = {"accept": "application/json, text/event-stream"}
    if token:
        good["authorization"] = f"Bearer {token}"
    bad = {"authorization": "Bearer wrong"} if token else {"host": "evil.example"}
    with (
        served(tmp_path, *options, MCP_TOKEN=token) as url,
        httpx2.Client(trust_env=False, timeout=60) as client,
    ):
        assert client.post(url, json=asked, headers=good).status_code == 200
        assert client.post(url, json=asked, headers=good | bad).status_code == (401 if token else 421)
        foreign = {"origin": "https://evil.example"}
        assert client.post(url, json=asked, headers=good | foreign).status_code == 403
