"""`python -m compact`, for where the command is not on the path."""

from __future__ import annotations

if __name__ == "__main__":
    from compact.cli import main

    raise SystemExit(main())
