"""Where a service keeps its data if the user names no place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from compact.errors import StoreError

STUDIO_DATABASE = "studio.db"


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's own folder for Compact on this system; it may not exist yet."""
    if os.name == "nt":
        base = Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    elif environ.get("XDG_DATA_HOME"):
        base = Path(environ["XDG_DATA_HOME"])
    elif (mac := Path.home() / "Library/Application Support").is_dir():
        base = mac
    else:
        base = Path.home() / ".local/share"
    return base / "compact"


def made_data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The same, created if missing, and readable only by the user."""
    folder = data_folder(environ)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The data folder {folder} cannot be made ({error.strerror}). Nothing was started; name a "
            "database with --store, or a writable folder with XDG_DATA_HOME."
        ) from None
    return folder
