"""Errors as application/problem+json (RFC 9457): what happened and what to do, no internals."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """A request that gets an error as its response; `code` is for programs, the message for people."""

    def __init__(self, status: int, code: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.retry_after: int | None = more.pop("retry_after", None)
        self.more = more

    @property
    def content(self) -> dict[str, Any]:
        return {
            "type": f"urn:compact:problem:{self.code}",
            "title": title(self.status),
            "status": self.status,
            "detail": str(self),
            "code": self.code,
            **self.more,
        }

    @property
    def body(self) -> bytes:
        return json.dumps(self.content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    @property
    def headers(self) -> dict[str, str]:
        made = {"content-type": MEDIA_TYPE}
        if self.status == 401:
            made["www-authenticate"] = "Bearer"
        if self.retry_after is not None:
            made["retry-after"] = str(self.retry_after)
        return made


def title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
