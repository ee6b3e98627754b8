"""Compact inside the OpenAI Agents SDK, in fewer than ten lines.

    python examples/agents_sdk_minimal.py

The agent reads a ship's log of 24 pages through a window of 8,000 tokens. Its model is scripted, so that it
runs anywhere; with a real model, nothing else changes. Prints each of Compact's decisions.
"""

from __future__ import annotations

import asyncio
import sys

from agents import Agent, RunConfig, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

# isort: split
# -- all that Compact needs -------------------------------------------------------------------------------
from compact import CompactConfig, CompactManager
from compact.integrations.openai_agents import compact_filter
from compact.tracing.console import ConsoleExporter

config = CompactConfig(model="gpt-4o", max_context_tokens=8_000, archive={"adapter": "none"})
manager = CompactManager(config, exporters=[ConsoleExporter(sys.stdout)])
run_config = RunConfig(call_model_input_filter=compact_filter(manager, "minimal"))
# ---------------------------------------------------------------------------------------------------------

PAGES = 24


@function_tool
def read_page(number: int) -> str:
    """Read one page of the ship's log."""
    weather = " ".join(f"At {hour}:00 wind force {(number * 5 + hour) % 9}, sea calm." for hour in range(48))
    return f"Page {number}. Position code POS-{number * 113}. {weather}"


async def main() -> None:
    set_tracing_disabled(True)
    calls = [[function_call("read_page", {"number": n}, call_id=f"call_{n}")] for n in range(PAGES)]
    model = ScriptedModel([*calls, [assistant_message("All read. Page 3 was at POS-339.")]])
    agent = Agent("Navigator", instructions="Read the log.", tools=[read_page], model=model)
    result = await Runner.run(agent, "Where were we on page 3?", max_turns=PAGES + 1, run_config=run_config)

    manager.flush()
    said = len(result.to_input_list())
    sent = len(model.calls[-1].input)
    print(f"\n{result.final_output}\nThe run holds {said} items; the last prompt had {sent} and fitted.")


if __name__ == "__main__":
    asyncio.run(main())
