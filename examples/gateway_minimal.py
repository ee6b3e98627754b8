"""An unchanged OpenAI client behind `compact gateway`. Runs offline against `model_server.py`.

python examples/gateway_minimal.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from compact import count_tokens

from model_server import WINDOW, model_server, page
from openai import BadRequestError, OpenAI

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
TOOLS: Any = [{"type": "function", "function": {"name": "read_page", "parameters": SCHEMA}}]


@contextmanager
def gateway(upstream: str) -> Iterator[str]:
    """`compact gateway --upstream URL --window 5000`, as you would start it in another terminal."""
    with TemporaryDirectory() as folder:
        options = ["--upstream", upstream, "--window", str(WINDOW), "--port", "0", "--json"]
        kept = ["--store", f"sqlite:///{folder}/gateway.db", "--set", "archive.adapter=none"]
        command = [sys.executable, "-m", "compact", "gateway", *options, *kept]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            try:
                yield json.loads(process.stdout.readline())["url"] + "/v1"
            finally:
                process.terminate()


def run(url: str, messages: list[Any]) -> str:
    """The agent's own loop. Only the base URL is that of the gateway."""
    client = OpenAI(api_key="none", base_url=url)
    number = got = 0
    while True:
        number, last = number + 1, got
        whole = count_tokens(messages, "gpt-4o", tools=TOOLS)
        answer = client.chat.completions.with_raw_response.create(
            model="gpt-4o", messages=messages, tools=TOOLS
        )
        is_shorter = answer.headers["x-compact-compacted"] == "1"
        got = int(answer.headers["x-compact-tokens-after"]) if is_shorter else whole
        # What was compacted once stays so, and grows by what is new, until it is compacted again.
        note = "  compacted" if got < last else ""
        print(f"request {number:>2}: the agent sent {whole:>6,} tokens, the model got {got:>5,}{note}")
        said = answer.parse().choices[0].message
        messages.append(said)
        if not said.tool_calls:
            return said.content or ""
        for call in said.tool_calls:
            text = page(json.loads(call.function.arguments)["number"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


def main() -> None:
    messages: list[Any] = [{"role": "user", "content": "Where were we on page 3?"}]
    with model_server() as upstream:
        with gateway(upstream) as url:
            print(run(url, messages))
        try:
            OpenAI(api_key="none", base_url=upstream).chat.completions.create(
                model="gpt-4o", messages=messages, tools=TOOLS
            )
        except BadRequestError as error:
            print(f"Without the gateway: {error.status_code}, {error.body['message']}")  # type: ignore[index]


if __name__ == "__main__":
    main()
