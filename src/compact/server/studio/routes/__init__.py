"""The paths of the API, by subject."""
