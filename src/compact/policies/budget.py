"""At 85% summarizes old turns; keeps the last 6 turns and 4 tool steps.

The older part is everything before the texts of the last 6 turns and the last 4 tool steps. The newest task
stays verbatim.
"""

from compact.model.policy import Policy

POLICY = Policy()
