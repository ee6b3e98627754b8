"""Where a service keeps its data if the user names no place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compact.errors import StoreError


def data_folder(environ: Mapping[str, str]) -> Path:
    """The user's own folder for Compact, readable by the user alone; made if it is not there."""
    home = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME") or Path.home()) / ".local" / "share")
    folder = Path(home) / "compact"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The data folder {folder} cannot be made ({error.strerror}). Nothing was started; name a "
            "database with --store, or a writable folder with XDG_DATA_HOME."
        ) from None
    return folder
