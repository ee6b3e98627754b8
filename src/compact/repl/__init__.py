"""The terminal chat: `compact chat`."""
