"""The built studio in front of an API: the page's files, and the page itself for browsers that ask for HTML.

It comes before the guard: the files hold no data, and a page must load before anyone can give it a token.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Mapping
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import FileResponse, HTMLResponse, Response

from compact.server.http.guard import App, Message, Receive, Send

BUILT = Path(__file__).parents[1] / "static"
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        # The page sets sizes through the DOM, which this allows; style attributes in HTML it does not.
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_ABSENT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Compact</title>
<h1>Compact is running</h1>
<p>The studio is not part of this installation. Build it from the sources, with Node 20 or newer:</p>
<pre>make web</pre>
</html>
"""
_SAFE = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "vary": "accept, accept-encoding",
}
# Names in assets carry a hash of what they hold.
_LASTING = {**_SAFE, "cache-control": "public, max-age=31536000, immutable"}
_FRESH = {**_SAFE, "cache-control": "no-cache"}


class Pages:
    """`is_page` says which paths are pages where HTML is wanted; everything else goes to the API."""

    def __init__(self, api: App, is_page: Callable[[str], bool], root: Path | None = None) -> None:
        self._api = api
        self._is_page = is_page
        self._root = (root or BUILT).resolve()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        answer = self._answer(scope) if scope["type"] == "http" else None
        await (answer or self._api)(scope, receive, send)

    def _answer(self, scope: Message) -> Response | None:
        if scope["method"] not in ("GET", "HEAD"):
            return None
        headers, path = Headers(scope=scope), str(scope["path"])
        if path.startswith("/assets/") or path == "/icon.svg":
            return self._file(path, headers)
        if "text/html" not in headers.get("accept", "") or not self._is_page(path):
            return None
        index = self._root / "index.html"
        if not index.is_file():
            return HTMLResponse(_ABSENT, headers=_FRESH)
        return FileResponse(index, media_type="text/html", headers=_FRESH)

    def _file(self, path: str, headers: Mapping[str, str]) -> Response | None:
        try:
            wanted = (self._root / path.lstrip("/")).resolve()
            if not wanted.is_relative_to(self._root) or not wanted.is_file():
                return None
        except (OSError, ValueError):  # no file can have such a name
            return None
        kind = mimetypes.guess_type(wanted.name)[0] or "application/octet-stream"
        lasting = _LASTING if path.startswith("/assets/") else _FRESH
        packed = wanted.with_name(wanted.name + ".gz")
        if "gzip" in headers.get("accept-encoding", "") and packed.is_file():
            return FileResponse(packed, media_type=kind, headers={**lasting, "content-encoding": "gzip"})
        return FileResponse(wanted, media_type=kind, headers=lasting)
