"""Archives under failure: a full disk, a dying writer, a silent, a refusing and a missing server."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from compact.archives.fs import FsArchive
from compact.archives.queue import QueuedArchive
from compact.archives.s3 import S3Archive
from compact.archives.verify import verify
from compact.errors import ArchiveError
from compact.redaction import Redactor
from compact.testing.archives import SUMMARY, TRANSCRIPT, transcript
from support.closed_port import closed_port
from support.s3_server import aws_environment

__all__ = ["aws_environment"]


@pytest.fixture
def short_files() -> Iterator[None]:
    """No file may grow past 64 kB; the system then refuses the write as a full disk would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.spec("S4.14")
def test_no_room_leaves_no_partial_file(tmp_path: Path, short_files: None) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    with pytest.raises(ArchiveError, match=r"no room .* Nothing was compacted"):
        archive.write(transcript("demo", {"content": "x" * 200_000}))
    assert list((archive.root / "demo").iterdir()) == []
    archive.write(transcript())
    assert verify(archive.root) == []


def test_no_room_for_an_event_leaves_whole_lines(tmp_path: Path, short_files: None) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    with pytest.raises(ArchiveError):
        for number in range(100):
            archive.append_event("demo", {"name": "x", "sequence": number, "data": "y" * 1_500})
    assert verify(archive.root) == []
    assert (archive.root / "demo" / "events.jsonl").stat().st_size > 60_000


WRITER = """
    import os, sys
    from compact.archives.fs import FsArchive
    from compact.redaction import Redactor
    from compact.testing.archives import transcript

    # Dies at this system call of the archive, by the signal that nothing can catch.
    def write(root, stop):
        seen = 0

        def deadly(name):
            real = getattr(os, name)
            def call(*args, **kwargs):
                nonlocal seen
                seen += 1
                if seen == stop:
                    os.kill(os.getpid(), 9)
                return real(*args, **kwargs)
            setattr(os, name, call)

        FsArchive(root, redactor=Redactor()).write(transcript("demo", {"content": "old"}))
        for name in ("open", "write", "fsync", "link", "rename", "unlink", "mkdir"):
            deadly(name)
        FsArchive(root, redactor=Redactor()).write(transcript("demo", {"content": "new" * 10}))

    for stop in range(1, 100):
        if (child := os.fork()) == 0:
            write(f"{sys.argv[1]}/run-{stop}", stop)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code)
        if code != -9:
            break
"""


@pytest.mark.spec("S4.14")
def test_killed_at_every_call_the_file_is_wholly_old_or_wholly_new(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    codes = [int(line) for line in done.stdout.split()]
    assert codes == [-signal.SIGKILL] * (len(codes) - 1) + [0], done.stderr
    outcomes = []
    for stop in range(1, len(codes) + 1):
        root = tmp_path / f"run-{stop}"
        content = (root / "demo" / TRANSCRIPT).read_text()
        outcomes.append("newnew" in content)
        # An older summary beside the newer transcript is still one of a pair: the other was set aside.
        assert verify(root) == [], f"killed at call {stop}"
        if outcomes[-1]:
            aside = list((root / "demo").glob("transcript-*.aside-*"))
            assert len(aside) == 1 and '"old"' in aside[0].read_text()
    assert outcomes == sorted(outcomes) and outcomes[0] is False and outcomes[-1] is True
    assert len(outcomes) > 10


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    problems: list[BaseException] = []

    def write(number: int) -> None:
        try:
            FsArchive(root, redactor=Redactor()).write(transcript("demo", {"content": f"writer {number}"}))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    kept = "".join(path.read_text() for path in (root / "demo").glob("transcript-*"))
    assert all(f'"writer {number}"' in kept for number in range(12))
    assert verify(root) == []


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.spec("S4.14")
def test_an_s3_time_out_is_an_archive_error(silent_server: str, aws_environment: None) -> None:
    archive = S3Archive(
        "bucket",
        redactor=Redactor(),
        endpoint_url=silent_server,
        connect_timeout=0.2,
        read_timeout=0.2,
        max_attempts=2,
    )
    with pytest.raises(ArchiveError, match=r"(?i)time.*out.*Nothing was compacted"):
        archive.write(transcript())


def test_an_unreachable_endpoint_is_an_archive_error(aws_environment: None) -> None:
    with closed_port() as port, pytest.raises(ArchiveError, match="Could not connect"):
        S3Archive(
            "bucket", redactor=Redactor(), endpoint_url=f"http://127.0.0.1:{port}", max_attempts=1
        ).write(transcript())


def test_missing_credentials_are_an_archive_error(
    silent_server: str, aws_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ArchiveError, match="credentials"):
        S3Archive("bucket", redactor=Redactor(), endpoint_url=silent_server).write(transcript())


def test_a_time_out_is_queued_when_so_configured(
    silent_server: str, aws_environment: None, tmp_path: Path
) -> None:
    inner = S3Archive(
        "bucket",
        redactor=Redactor(),
        endpoint_url=silent_server,
        connect_timeout=0.2,
        read_timeout=0.2,
        max_attempts=1,
    )
    archive = QueuedArchive(inner, tmp_path / "spool")
    assert archive.write(transcript()).startswith("queued:")
    assert archive.pending() == [f"demo/{TRANSCRIPT}", f"demo/{SUMMARY}"]
    assert verify(tmp_path / "spool") == []


MEASURED = """
    import resource, sys
    from compact.archives.fs import FsArchive
    from compact.redaction import Redactor
    from compact.model.record import Transcript
    from compact.testing.archives import messages_of

    class Endless:
        # Messages made as they are asked for, as a store gives them.
        def __len__(self):
            return 2_000

        def __iter__(self):
            for number in range(2_000):
                yield from messages_of({"role": "tool", "content": f"{number} " + "lorem ipsum " * 8_000})

    FsArchive(sys.argv[1], redactor=Redactor()).write(Transcript("warm", 1, messages_of({"content": "x"})))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    FsArchive(sys.argv[1], redactor=Redactor()).write(Transcript("demo", 1, Endless()))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_transcript_of_200_mb_streams(tmp_path: Path) -> None:
    script = tmp_path / "measured.py"
    script.write_text(textwrap.dedent(MEASURED))
    result = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "archive")], capture_output=True, text=True, check=True
    )
    path = tmp_path / "archive" / "demo" / TRANSCRIPT
    assert path.stat().st_size > 180_000_000
    assert int(result.stdout) < 40_000, "kilobytes of memory grew with the transcript"
    assert verify(path) == []
    os.unlink(path)


FULL = """
    import sys
    from compact.archives.fs import FsArchive
    from compact.archives.verify import verify
    from compact.errors import ArchiveError
    from compact.redaction import Redactor
    from compact.testing.archives import transcript

    archive = FsArchive(sys.argv[1] + "/archive", redactor=Redactor())
    archive.write(transcript())
    try:
        archive.write(transcript("demo", {"content": "x" * 2_000_000}, step=2))
    except ArchiveError as refused:
        assert "No space left" in str(refused), refused
        print(sorted(path.name for path in (archive.root / "demo").iterdir()), verify(archive.root))
"""


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """On a file system of 1 MB, in a mount namespace of its own, which needs no rights on most systems."""
    script = tmp_path / "full.py"
    script.write_text(textwrap.dedent(FULL))
    place = tmp_path / "small"
    place.mkdir()
    mount = f"mount -t tmpfs -o size=1m tmpfs {place}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("this system allows no mount namespace; the limit on file size above stands in")
    command = f"{mount} && exec {sys.executable} {script} {place}"
    result = subprocess.run(
        ["unshare", "-rm", "sh", "-c", command], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == f"{[SUMMARY, TRANSCRIPT]} []"
