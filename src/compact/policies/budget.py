"""At 85 % the older part becomes one summary between pinned and recent messages.

The older part is everything before the texts of the last 6 turns and the last 4 tool steps. The newest task
stays verbatim.
"""

from compact.model.policy import Policy

POLICY = Policy()
