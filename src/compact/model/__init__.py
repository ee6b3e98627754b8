"""Frozen values that every room shares: messages, policy, plan, record, outcome, event."""
