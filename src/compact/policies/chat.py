"""At 80% summarizes everything before the last 6 messages.

The summary is kept with the conversation and reused until the summary and the recent messages reach 80%
again.
"""

from compact.model.policy import Policy

POLICY = Policy(
    name="chat",
    trigger_pct=0.80,
    keep_recent_turns=None,
    keep_recent_messages=6,
    keep_tool_io_pairs=None,
)
