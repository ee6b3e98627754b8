"""A large receiver in an environment of its own: `make test-otel` names it, `make test` leaves it alone."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("PHOENIX_BIN") else ["test_*.py"]
