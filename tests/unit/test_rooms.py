"""The import contracts name every room, so that a new one cannot slip past them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "compact"


def contract(name: str) -> dict[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return next(one for one in settings["tool"]["importlinter"]["contracts"] if one["name"] == name)


def rooms() -> set[str]:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return folders | {path.stem for path in PACKAGE.glob("[!_]*.py")}


def test_integrations_may_import_no_room_but_their_own() -> None:
    found = contract("Integrations stand on the public surface alone")
    assert {name.removeprefix("compact.") for name in found["forbidden_modules"]} == rooms() - {
        "integrations"
    }


def test_every_folder_has_its_layer() -> None:
    layers = contract("A room imports only the rooms below it")["layers"]
    named = {room.strip(" ()") for layer in layers for room in layer.split("|")}
    assert rooms() - named == {"functions", "recall"}  # parts of the facade, in files of their own


def test_the_terminal_and_the_server_may_share_only_chat_and_what_is_below() -> None:
    layers = contract("A room imports only the rooms below it")["layers"]
    chat = next(n for n, layer in enumerate(layers) if "(chat)" in layer)
    above = {room.strip(" ()") for layer in layers[:chat] for room in layer.split("|")}
    found = contract("The terminal and the server meet only in the chat room and below")
    forbidden = {name.removeprefix("compact.") for name in found["forbidden_modules"]}
    assert forbidden | {"repl", "server"} == above
