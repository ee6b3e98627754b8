"""Above 80% clears old tool outputs; summarizes only if that is not enough.

It also runs if the reply would not fit. It clears all outputs beyond the newest 40k tokens and outside the
last 2 turns. The summary is a user-assistant pair right after the system prompt, and the last 2 turns stay.
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
