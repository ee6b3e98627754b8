"""What every HTTP service here stands on: one guard, its limits, problem answers, metrics and the socket."""
