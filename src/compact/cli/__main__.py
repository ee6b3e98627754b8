"""`python -m compact.cli`, for when the command is not on the path."""

from __future__ import annotations

from compact.cli import main

raise SystemExit(main())
