"""The shell around the pure core: remembers sessions, drives flows, calls ports."""
