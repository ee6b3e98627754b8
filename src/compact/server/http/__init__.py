"""Shared by all HTTP services here: one guard, its limits, problem responses, metrics and the socket."""
