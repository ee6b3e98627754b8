"""One file a framework that Compact plugs into."""
