"""A large receiver in its own environment: `make test-otel` runs these tests, `make test` does not."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("PHOENIX_BIN") else ["test_*.py"]
