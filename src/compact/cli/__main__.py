"""`python -m compact.cli`, for when the command is not on the path."""

from __future__ import annotations

from compact.cli.app import main

raise SystemExit(main())
