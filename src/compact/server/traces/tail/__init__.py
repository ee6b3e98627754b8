"""Implements `compact traces --tail`: a client for the stream, and ways to show it."""
