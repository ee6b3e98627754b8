"""Above 80% clears old tool outputs; summarizes only if that is not enough.

It also runs if the reply would not fit. It clears all outputs but the newest 40k tokens of them (at most 30%
of the window) and the newest 4 steps of the last 2 turns. The summary is a user-assistant pair right after
the system prompt; the texts of the last 2 turns and their newest 4 steps stay.
"""

from compact.model.policy import Placement, Policy

POLICY = Policy(
    name="agent",
    trigger_pct=0.80,
    trigger_above=True,
    hard_cap_buffer=0,
    output_reserve=4_096,
    keep_recent_turns=2,
    keep_tool_io_pairs=4,
    keep_tool_io_anywhere=False,
    prune=True,
    strategy="continuation",
    placement=Placement.PAIR,
    summary_max_tokens=2_000,
    summary_max_pct=0.10,
)
