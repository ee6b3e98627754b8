"""`compact mcp`, called by an MCP client: compact, recall, restore. Runs offline.

python examples/mcp_minimal.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from model_server import WINDOW, page


async def main() -> None:
    messages: list[Any] = []
    for number in range(12):
        messages += [{"role": "user", "content": page(number)}, {"role": "assistant", "content": "Noted."}]
    messages.append({"role": "user", "content": "Where were we on page 3?"})
    with tempfile.TemporaryDirectory() as folder:
        options = ["-m", "compact", "mcp", "--quiet", "--window", str(WINDOW), "--model", "gpt-4o"]
        server = StdioServerParameters(command=sys.executable, args=options, cwd=folder)
        async with Client(stdio_client(server)) as client:

            async def call(name: str, **arguments: Any) -> Any:
                return (await client.call_tool(name, {"session_id": "demo", **arguments})).structured_content

            done = await call("compact", messages=messages)
            print(f"compact: {done['tokens_before']:,} tokens became {done['tokens_after']:,}")
            found = await call("recall", query="POS-339")
            print(f"recall:  {found['found'][0]['text'][:40]}...")
            back = await call("restore", step=done["step"])
            print(f"restore: all {len(back['messages'])} messages are back")


if __name__ == "__main__":
    asyncio.run(main())
