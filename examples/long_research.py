"""Research over more than three windows: four questions, 60 sources, one session that loses nothing.

    python examples/long_research.py

`CompactSession` keeps every item in the SDK's own SQLite session and returns what fits; the filter does the
same inside each run. The model is scripted and the sources are made up, so that it runs anywhere.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

from compact import CompactConfig, CompactManager, count_tokens
from compact.integrations.openai_agents import CompactSession, compact_filter

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from showing import draw_course, draw_facts, draw_rounds, prompts_of, stage

WINDOW = 12_000
SOURCES = 15
RULE = "Never cite anything older than 2015."
QUESTIONS = [
    f"How much heat can old mines store? {RULE}",
    "What does it cost to pump, compared with district heating?",
    "Which towns tried it, and what went wrong there?",
    "So should our town do it? Answer with the numbers you found.",
]
FACTS = [
    RULE,
    "MINE-104",
    "https://archive.example/mine/7",
    "reports/mine_022.pdf",
    "ERR_PUMP_31",
    "MINE-212",
]
"""Said once each, some of it forty prompts before the end."""
TOPICS = "storage cost towns outlook".split()


def source_text(number: int) -> str:
    """A made-up paper of some 600 tokens."""
    dice = random.Random(number)
    places = "Heerlen Springhill Bochum Mieres Katowice Gateshead".split()
    rows = "\n".join(
        f"{dice.choice(places)} {2015 + dice.randrange(11)}: {dice.randrange(20, 900)} kW at "
        f"{dice.randrange(12, 34)} degrees, {dice.randrange(30, 190)} euro per MWh."
        for _ in range(22)
    )
    trouble = (
        f" The run of week {number} failed with ERR_PUMP_{number}." if number % 31 == 0 and number else ""
    )
    return (
        f"MINE-{number * 4} (https://archive.example/mine/{number}, reports/mine_{number:03d}.pdf).{trouble} "
        f"Flooded galleries as heat stores, case {number}.\n{rows}\n"
        + "The water is warmer the deeper the gallery lies, and it moves slowly. "
        * 8
    )


@function_tool
def open_source(number: int) -> str:
    """Open one source by its number."""
    return source_text(number)


def scripted(question: int) -> ScriptedModel:
    first = question * SOURCES
    steps: list[Any] = [
        [function_call("open_source", {"number": n}, call_id=f"source_{n}")]
        for n in range(first, first + SOURCES)
    ]
    answer = f"On {TOPICS[question]}: sources {first} to {first + SOURCES - 1} agree in the main."
    return ScriptedModel([*steps, [assistant_message(answer, item_id=f"answer_{question}")]])


async def main() -> None:
    set_tracing_disabled(True)
    out = stage()
    config = CompactConfig(
        max_context_tokens=WINDOW, summarizer={"name": "extractive"}, archive={"adapter": "none"}
    )
    manager = CompactManager(config)
    session = CompactSession(SQLiteSession("research"), manager)
    run_config = RunConfig(call_model_input_filter=compact_filter(manager, session.session_id))
    for number, question in enumerate(QUESTIONS):
        model = scripted(number)
        agent = Agent("Researcher", instructions="Find numbers.", tools=[open_source], model=model)
        result = await Runner.run(
            agent, question, session=session, run_config=run_config, max_turns=SOURCES + 1
        )
        out.line(f"{out.styled(question, 'bold')}\n  {result.final_output}")

    prompts = prompts_of(manager.events)
    originals = await session.original_items()
    out.line(out.styled(f"\n{len(prompts)} prompts through a window of {WINDOW:,} tokens", "bold"))
    draw_course(out, prompts, WINDOW)
    out.line(out.styled("\nCompactions", "bold"))
    draw_rounds(out, prompts)
    out.line(out.styled("\nWhat the last prompt still holds, word for word", "bold"))
    last = str(model.calls[-1].input)
    recalled = [any(fact in hit.text for hit in manager.recall("research", fact)) for fact in FACTS]
    draw_facts(out, FACTS, last, recalled)
    kept = f"{len(originals)} items, {count_tokens(originals):,} tokens"
    out.line(f"\nThe session beneath still holds everything: {kept}.")


if __name__ == "__main__":
    asyncio.run(main())
