"""At 85 % of the window, everything older than the texts of the last 6 turns and the last 4 tool steps
becomes one assistant message between what is pinned and what is recent. The newest task stays verbatim."""

from compact.model.policy import Policy

POLICY = Policy()
