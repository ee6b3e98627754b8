"""What `compact traces --tail` does: a client of the stream, and ways to show it."""
