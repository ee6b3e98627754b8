"""One ordered stream of events; exporters are projections of it."""
