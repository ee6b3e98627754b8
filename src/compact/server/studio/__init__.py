"""The chat server behind the studio: sessions over HTTP, streamed replies, context management."""
