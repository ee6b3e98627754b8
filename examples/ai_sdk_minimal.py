"""An AI SDK agent with Compact (`ai_sdk_minimal.mjs`), with all that it needs. Runs offline after `make web`.

python examples/ai_sdk_minimal.py
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from compact import CompactConfig
from compact.server.studio.running import serving
from compact.server.studio.settings import StudioSettings

from model_server import WINDOW, model_server

HERE = Path(__file__).parent
WEB = HERE.parent / "web"


def main() -> None:
    with tempfile.TemporaryDirectory() as made, model_server() as model:
        build = [WEB / "node_modules/.bin/tsc", "-p", WEB / "packages/compact", "--outDir", f"{made}/package"]
        subprocess.run(build, check=True)
        # Where Node looks for what the package itself imports.
        (Path(made) / "node_modules").symlink_to(WEB / "node_modules")
        (Path(made) / "package.json").write_text('{"type": "module"}')
        config = CompactConfig(max_context_tokens=WINDOW, archive={"adapter": "none"})
        with serving(StudioSettings(store=f"sqlite:///{made}/compact.db", port=0, config=config)) as compact:
            package = {"COMPACT_PACKAGE": f"{made}/package/index.js"}
            command = ["node", HERE / "ai_sdk_minimal.mjs", model, compact]
            subprocess.run(command, env={**os.environ, **package}, check=True)


if __name__ == "__main__":
    main()
