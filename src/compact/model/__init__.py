"""Frozen values that all rooms share: messages, policy, plan, record, outcome, event."""
