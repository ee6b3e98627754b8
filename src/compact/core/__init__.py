"""Pure functions: they read values and return values; counting and templates come in as arguments."""
