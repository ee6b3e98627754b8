"""The archive in an S3 bucket, through boto3 and its own credential lookup."""

from __future__ import annotations

import contextlib
import json
import tempfile
import threading
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import IO, Any

from compact.archives.base import FileArchive
from compact.archives.lines import TAIL_BYTES
from compact.archives.naming import aside_name
from compact.errors import ArchiveError, ConfigError, MissingExtra
from compact.ports import Redacts

_IN_MEMORY = 8 << 20
_PART = 8 << 20


class S3Archive(FileArchive):
    """Writes below `s3://{bucket}/{prefix}/{session}/`, with the same names as on disk.

    Credentials, region and profile are whatever boto3 finds (environment, files, role); none are accepted
    here. `kms` requests SSE-KMS, with `kms_key_id` or the bucket's default key, and a bucket that does not
    confirm it is an error. S3 cannot append, so each event is an object of its own under `events/`.
    """

    name = "s3"

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        redactor: Redacts,
        kms: bool = False,
        kms_key_id: str | None = None,
        endpoint_url: str | None = None,
        region: str | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        max_attempts: int = 3,
        part_size: int = _PART,
        client: Any = None,
    ) -> None:
        super().__init__(redactor)
        self.bucket = bucket
        self.prefix = _checked_prefix(prefix)
        self._kms = kms or kms_key_id is not None
        self._kms_key_id = kms_key_id
        self._settings = {"endpoint_url": endpoint_url, "region_name": region}
        self._timeouts = (connect_timeout, read_timeout, max_attempts)
        self._part_size = part_size
        self._client_or_none = client
        self._lock = threading.Lock()

    @property
    def target(self) -> str:
        return f"s3:{self._settings['endpoint_url'] or ''}/{self.bucket}/{self.prefix}"

    def put(self, folder: str, name: str, chunks: Iterable[bytes]) -> str:
        key = self._key(folder, name)
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as body, self._reported(key) as client:
            hasher, size = sha256(), 0
            for chunk in chunks:
                hasher.update(chunk)
                size += len(chunk)
                body.write(chunk)
            digest = hasher.hexdigest()
            before = self._head(client, key)
            if before is not None and before["Metadata"].get("sha256") == digest:
                return f"s3://{self.bucket}/{key}"
            if before is not None:
                self._set_aside(client, folder, name, before)
            body.seek(0)
            self._upload(client, key, body, digest)
            self._confirm(self._head(client, key), key, digest, size)
        return f"s3://{self.bucket}/{key}"

    def tail(self, folder: str, name: str) -> bytes | None:
        key = self._key(folder, name)
        with self._reported(key) as client:
            if self._head(client, key) is None:
                return None
            found = client.get_object(Bucket=self.bucket, Key=key, Range=f"bytes=-{TAIL_BYTES}")
            content: bytes = found["Body"].read()
        return content

    def append(self, folder: str, line: bytes) -> None:
        event = json.loads(line)
        sequence = event.get("sequence") if isinstance(event, dict) else None
        number = f"{sequence:08d}-" if isinstance(sequence, int) else ""
        self.put(folder, f"events/{number}{sha256(line).hexdigest()[:16]}.jsonl", [line])

    def read(self, folder: str, name: str) -> bytes:
        """One whole archived file; raises ArchiveError if it does not exist."""
        key = self._key(folder, name)
        with self._reported(key) as client:
            content: bytes = client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return content

    def _key(self, folder: str, name: str) -> str:
        return "/".join(part for part in (self.prefix, folder, name) if part)

    def _encryption(self) -> dict[str, str]:
        if not self._kms:
            return {}
        chosen = {"ServerSideEncryption": "aws:kms"}
        if self._kms_key_id:
            chosen["SSEKMSKeyId"] = self._kms_key_id
        return chosen

    def _upload(self, client: Any, key: str, body: IO[bytes], digest: str) -> None:
        from boto3.s3.transfer import TransferConfig

        config = TransferConfig(
            multipart_threshold=self._part_size, multipart_chunksize=self._part_size, max_concurrency=2
        )
        extra = {"Metadata": {"sha256": digest}, "ContentType": "application/jsonl", **self._encryption()}
        client.upload_fileobj(body, self.bucket, key, ExtraArgs=extra, Config=config)

    def _set_aside(self, client: Any, folder: str, name: str, before: dict[str, Any]) -> None:
        digest = before["Metadata"].get("sha256") or sha256(before["ETag"].encode()).hexdigest()
        client.copy(
            {"Bucket": self.bucket, "Key": self._key(folder, name)},
            self.bucket,
            self._key(folder, aside_name(name, digest)),
            ExtraArgs=self._encryption() or None,
        )

    def _head(self, client: Any, key: str) -> dict[str, Any] | None:
        from botocore.exceptions import ClientError

        try:
            found: dict[str, Any] = client.head_object(Bucket=self.bucket, Key=key)
        except ClientError as problem:
            if problem.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
                return None
            raise
        return found

    def _confirm(self, stored: dict[str, Any] | None, key: str, digest: str, size: int) -> None:
        where = f"s3://{self.bucket}/{key}"
        if stored is None or stored["ContentLength"] != size or stored["Metadata"].get("sha256") != digest:
            what = f"{where} is not what was sent."
            raise ArchiveError(f"{what} Nothing was compacted; try again and check the bucket.", what=what)
        if self._kms and stored.get("ServerSideEncryption") != "aws:kms":
            what = f"{where} was stored without KMS encryption although it is configured."
            advice = "Check the key's policy and that the endpoint supports SSE-KMS."
            raise ArchiveError(f"{what} Nothing was compacted. {advice}", what=what)

    @contextlib.contextmanager
    def _reported(self, key: str) -> Iterator[Any]:
        """The client; errors that boto3 raises inside become ArchiveErrors."""
        client = self._client()
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield client
        except (Boto3Error, BotoCoreError, ClientError, OSError) as problem:
            why = self.redactor.text(str(problem))
            what = f"The archive s3://{self.bucket}/{key} could not be reached: {why}."
            raise ArchiveError(
                f"{what} Nothing was compacted. Check bucket, region, credentials and network, "
                'or set archive.on_failure to "queue".',
                what=what,
            ) from problem

    def _client(self) -> Any:
        with self._lock:
            if self._client_or_none is None:
                self._client_or_none = self._new_client()
            return self._client_or_none

    def _new_client(self) -> Any:
        try:
            import boto3
            from botocore.config import Config
        except ImportError as missing:
            raise MissingExtra("boto3", "s3") from missing
        from botocore.exceptions import BotoCoreError

        connect, read, attempts = self._timeouts
        config = Config(
            connect_timeout=connect,
            read_timeout=read,
            retries={"total_max_attempts": attempts, "mode": "standard"},
            user_agent_extra="compact-archive",
        )
        try:
            # A session of our own: boto3's default one cannot be created safely from several threads.
            return boto3.session.Session().client("s3", config=config, **self._settings)
        except (BotoCoreError, ValueError) as problem:
            what = f"The S3 client for bucket {self.bucket} could not be made: {problem}."
            raise ArchiveError(
                f"{what} Nothing was compacted; check archive.endpoint_url and archive.region.", what=what
            ) from problem


def _checked_prefix(prefix: str) -> str:
    parts = [part for part in prefix.split("/") if part]
    if any(part in (".", "..") or not part.isprintable() for part in parts):
        raise ConfigError(
            "archive.prefix must not hold '.', '..' or control characters. Nothing was started.",
            "archive.prefix",
        )
    return "/".join(parts)
