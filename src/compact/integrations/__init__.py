"""One file for each framework that Compact plugs into."""
