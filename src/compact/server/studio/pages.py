"""The built studio, from this package or a folder; where there is none, a page that says how to build it."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response

from compact.server.http.problems import Problem
from compact.server.studio.settings import StudioSettings

BUILT = Path(__file__).parents[1] / "static"
_ABSENT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Compact</title>
<h1>Compact is running</h1>
<p>The API is at <code>/api</code>, its description at <code>/api/openapi.json</code>.</p>
<p>The studio is not part of this installation. Build it from the sources:</p>
<pre>cd web
npm ci
npm run build
cp -r dist ../src/compact/server/static</pre>
</html>
"""
_LASTING = {"cache-control": "public, max-age=31536000, immutable"}
_FRESH = {"cache-control": "no-cache"}


def add(app: FastAPI, settings: StudioSettings) -> None:
    root = (settings.static or BUILT).resolve()

    @app.get("/{path:path}", include_in_schema=False)
    async def page(path: str) -> Response:
        """A file of the studio; any other path that is a page's is answered with the page itself."""
        if path.startswith("api/"):
            raise Problem(404, "not-found", "There is no such path.")
        index = root / "index.html"
        if not index.is_file():
            if path:
                raise Problem(404, "not-found", "There is no such path.")
            return HTMLResponse(_ABSENT, headers=_FRESH)
        wanted = (root / path).resolve()
        if path and wanted.is_relative_to(root) and wanted.is_file():
            kind = mimetypes.guess_type(wanted.name)[0] or "application/octet-stream"
            # Names in assets carry a hash of what they hold.
            headers = _LASTING if path.startswith("assets/") else _FRESH
            return FileResponse(wanted, media_type=kind, headers=headers)
        if "." in path.rpartition("/")[2]:
            raise Problem(404, "not-found", "There is no such file.")
        return FileResponse(index, media_type="text/html", headers=_FRESH)
