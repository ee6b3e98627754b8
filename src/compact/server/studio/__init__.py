"""The chat server behind the studio: sessions over HTTP, replies as a stream, the context kept right."""
