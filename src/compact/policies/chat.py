"""At 80 % of the window, all but the last 6 messages become a summary that is kept with the conversation
and reused until summary plus recent messages reach 80 % again."""

from compact.model.policy import Policy

POLICY = Policy(
    name="chat",
    trigger_pct=0.80,
    keep_recent_turns=None,
    keep_recent_messages=6,
    keep_tool_io_pairs=None,
)
