"""The OpenAI client with Compact: one line. Runs offline against `model_server.py`.

python examples/clients_minimal.py
"""

from __future__ import annotations

import json
from typing import Any

from compact import CompactConfig, CompactManager
from compact.integrations.clients import wrap

from model_server import WINDOW, model_server, page
from openai import OpenAI

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
TOOLS: Any = [{"type": "function", "function": {"name": "read_page", "parameters": SCHEMA}}]


def main() -> None:
    manager = CompactManager(
        CompactConfig(model="gpt-4o", max_context_tokens=WINDOW, archive={"adapter": "none"})
    )
    with model_server() as url:
        client = wrap(OpenAI(api_key="none", base_url=url), manager)
        messages: list[Any] = [{"role": "user", "content": "Where were we on page 3?"}]
        while True:
            answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS)
            said = answer.choices[0].message
            messages.append(said)
            if not said.tool_calls:
                break
            for call in said.tool_calls:
                text = page(json.loads(call.function.arguments)["number"])
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        print(said.content)


if __name__ == "__main__":
    main()
