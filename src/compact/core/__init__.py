"""Pure functions: they read values and return values; counters and templates are passed in as arguments."""
