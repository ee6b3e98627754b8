"""Defects in the log: with their traceback, redacted, since an error's words may quote what was said."""

from __future__ import annotations

import logging
import traceback

from compact.config import CompactConfig
from compact.wiring.adapters import redactor_for

_log = logging.getLogger("compact")


def log_defect(what: str, error: BaseException, config: CompactConfig) -> None:
    trace = "".join(traceback.format_exception(error))
    # What failed may be a URL with a session id in it.
    _log.error("%s", redactor_for(config).text(f"{what}\n{trace}"))
