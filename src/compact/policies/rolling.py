"""After 6 turns folds older ones into a rolling summary.

The summary is a system message after the custom instructions. With a summary, 4 turns stay, and 2 more may
follow before it folds back to 4.
"""

from compact.model.policy import Placement, Policy

POLICY = Policy(
    name="rolling",
    trigger_pct=1.0,
    fold_on_turns=True,
    keep_recent_turns=6,
    keep_recent_turns_with_summary=4,
    count_new_message=False,
    keep_tool_io_pairs=None,
    strategy="rolling",
    placement=Placement.SYSTEM,
    summary_min_chars=200,
    on_summary_failure="keep",
    long_message_pct=0.25,
)
