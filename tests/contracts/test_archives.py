"""The archive contract, on memory, on disk and on a real S3 server over HTTP."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from compact.archives.fs import FsArchive
from compact.archives.memory import MemoryFileArchive
from compact.archives.s3 import S3Archive
from compact.redaction import Redactor
from compact.testing.archives import HOSTILE_IDS, SUMMARY, TRANSCRIPT, ArchiveContract, transcript
from support.s3_server import BUCKET, S3Server, aws_environment, moto, seaweed

__all__ = ["aws_environment", "moto", "seaweed"]


class TestMemory(ArchiveContract):
    def make_archive(self) -> MemoryFileArchive:
        return MemoryFileArchive(Redactor())

    def read(self, archive: MemoryFileArchive, folder: str, name: str) -> bytes:
        return archive.files[f"{folder}/{name}"]

    def names(self, archive: MemoryFileArchive, folder: str) -> set[str]:
        return {path.removeprefix(f"{folder}/") for path in archive.files if path.startswith(f"{folder}/")}


class TestDisk(ArchiveContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.root = tmp_path / "archive"

    def make_archive(self) -> FsArchive:
        return FsArchive(self.root, redactor=Redactor())

    def read(self, archive: FsArchive, folder: str, name: str) -> bytes:
        return (archive.root / folder / name).read_bytes()

    def names(self, archive: FsArchive, folder: str) -> set[str]:
        return {path.name for path in (archive.root / folder).iterdir()}


@cache
def archives_client(endpoint: str) -> Any:
    """The client that an archive makes for itself, once: boto3 reads all of S3's interface for each."""
    return S3Archive(BUCKET, redactor=Redactor(), endpoint_url=endpoint)._client()


class TestS3(ArchiveContract):
    kms: str | None = None

    bucket = BUCKET

    @pytest.fixture(autouse=True)
    def _place(self, seaweed: S3Server, request: pytest.FixtureRequest) -> Iterator[None]:
        """A prefix of its own for each test; each bucket would cost the server a set of volumes."""
        self.server, self.client = seaweed, archives_client(seaweed.endpoint)
        self.prefix = f"team/{sha256(request.node.nodeid.encode()).hexdigest()[:16]}"
        yield

    def make_archive(self) -> S3Archive:
        return S3Archive(
            self.bucket,
            self.prefix,
            redactor=Redactor(),
            client=self.client,
            kms_key_id=self.kms,
            part_size=5 << 20,
        )

    def read(self, archive: S3Archive, folder: str, name: str) -> bytes:
        body: bytes = self.client.get_object(Bucket=self.bucket, Key=f"{self.prefix}/{folder}/{name}")[
            "Body"
        ].read()
        return body

    def names(self, archive: S3Archive, folder: str) -> set[str]:
        prefix = f"{self.prefix}/{folder}/"
        listed = self.client.list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return {item["Key"].removeprefix(prefix) for item in listed.get("Contents", [])}

    def events(self, archive: S3Archive, folder: str) -> Sequence[bytes]:
        names = sorted(name for name in self.names(archive, folder) if name.startswith("events/"))
        return [self.read(archive, folder, name) for name in names]

    def test_every_key_lies_under_the_prefix(self) -> None:
        archive = self.make_archive()
        for session_id in HOSTILE_IDS:
            location = archive.write(transcript(session_id))
            assert location.startswith(f"s3://{self.bucket}/{self.prefix}/")
        listed = self.client.list_objects_v2(Bucket=self.bucket, Prefix=self.prefix)["Contents"]
        assert len(listed) == 2 * len(HOSTILE_IDS)
        assert all(item["Key"].count("/") == 3 for item in listed)


class TestS3WithKms(TestS3):
    kms = "compact-test-key"

    def test_objects_are_encrypted_with_that_key_also_when_set_aside(self) -> None:
        archive = self.make_archive()
        marker = "LEGIBLE-ON-DISK"
        archive.write(transcript("demo", {"content": marker * 50}))
        archive.write(transcript("demo", {"content": marker * 51}))
        names = self.names(archive, "demo")
        assert len(names) >= 3
        for name in names:
            head: dict[str, Any] = self.client.head_object(
                Bucket=self.bucket, Key=f"{self.prefix}/demo/{name}"
            )
            assert head["ServerSideEncryption"] == "aws:kms"
            assert head["SSEKMSKeyId"] == self.kms
        assert marker not in readable(self.server.data)
        self.kms = None
        self.make_archive().write(transcript("plain", {"content": marker * 50}))
        assert marker in readable(self.server.data)
        assert json.loads(self.read(archive, "demo", SUMMARY))["step"] == 1


def readable(folder: Path) -> str:
    """All that can be read off the server's disk, compressed pieces included."""
    found = []
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        found.append(content)
        for start in [match.start() for match in re.finditer(b"\\x1f\\x8b\\x08", content)]:
            with contextlib.suppress(zlib.error):
                found.append(zlib.decompressobj(31).decompress(content[start:]))
    return b"".join(found).decode("latin-1")


def test_kms_headers_are_on_the_wire(moto: S3Server) -> None:
    client = moto.client()
    archive = S3Archive(BUCKET, redactor=Redactor(), kms=True, endpoint_url=moto.endpoint)
    sent: list[dict[str, str]] = []
    archive._client().meta.events.register(
        "before-send.s3.PutObject",
        lambda request, **_: sent.append({k.lower(): v for k, v in request.headers.items()}),
    )
    archive.write(transcript())
    assert len(sent) == 2
    for headers in sent:
        assert headers["x-amz-server-side-encryption"] in (b"aws:kms", "aws:kms")
        assert "x-amz-server-side-encryption-aws-kms-key-id" not in headers
        assert "x-amz-meta-sha256" in headers
    head = client.head_object(Bucket=BUCKET, Key=f"demo/{TRANSCRIPT}")
    assert head["ServerSideEncryption"] == "aws:kms"
    client.close()
