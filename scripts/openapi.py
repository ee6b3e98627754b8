"""Writes docs/openapi.json from the chat server's routes. `--check` only says whether it is up to date."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from compact.server.studio.app import api
from compact.server.studio.settings import StudioSettings

FILE = Path(__file__).parents[1] / "docs/openapi.json"


def generated() -> str:
    document = api(StudioSettings(store="sqlite://")).openapi()
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> int:
    text = generated()
    if "--check" in sys.argv:
        return int(FILE.read_text(encoding="utf-8") != text)
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
