"""At 80% keeps the first 2 and the last 10 turns; drops the rest.

One marker, a user message, says how many have been dropped so far. A turn is one user or assistant message
with its tool results.
"""

from compact.model.policy import Policy, Rest, TurnUnit

POLICY = Policy(
    name="window",
    trigger_pct=0.80,
    hard_cap_buffer=0,
    turn_unit=TurnUnit.MESSAGE,
    keep_first_turns=2,
    keep_recent_turns=10,
    keep_tool_io_pairs=None,
    rest=Rest.DISCARD,
)
