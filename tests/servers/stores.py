"""Object stores of every kind: SeaweedFS from its wheel, and emulators that `make stores` installs
below the virtual environment (`STORES` names another folder)."""

import hmac
import itertools
import os
import shutil
import sys
import urllib.request
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from email.utils import formatdate
from pathlib import Path
from typing import Any

from tests.servers.process import (
    LOOPBACK,
    ServerProcess,
    accepts_connections,
    free_ports,
    server_folder,
    start_with_retries,
    unavailable,
)
from tests.servers.s3 import S3Server
from tests.servers.store_proxy import GoogleUploads

_FOLDER = Path(os.environ.get("STORES", Path(sys.prefix, "stores")))
_AZURE_ACCOUNT = "devstoreaccount1"
_AZURE_KEY = (  # the one that every Azurite has; it opens nothing else
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


class StoreServer(ABC):
    """A server of an object store, on loopback. `checks_keys`: whether it refuses wrong ones;
    `is_atomic`: whether of many who create an object only one ever does."""

    scheme: str
    checks_keys = True
    is_atomic = True

    def __init__(self, program: Path | str) -> None:
        if shutil.which(program) is None:
            unavailable(f"{type(self).__name__}, which needs {program},", "make stores")
        self._program = str(program)
        self._folder = server_folder(self.scheme)
        self._numbers = itertools.count(1)
        start_with_retries(self.start)

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    @abstractmethod
    def storage_options(self) -> dict[str, Any]:
        """What reaches any bucket of this server."""

    @property
    @abstractmethod
    def wrong_options(self) -> dict[str, Any]:
        """The same with a wrong key."""

    @abstractmethod
    def command(self) -> list[str]:
        """What runs it on its port."""

    @abstractmethod
    def make_bucket(self, name: str) -> None: ...

    def new_place(self) -> str:
        """The URI of an empty bucket."""
        name = f"bucket-{next(self._numbers)}"
        self.make_bucket(name)
        return f"{self.scheme}://{name}"

    def start(self) -> None:
        """On the port that it had before, if it had one."""
        self.port: int = getattr(self, "port", 0) or free_ports(1)[0]
        self._process = ServerProcess(self.command(), log=self._folder / "server.log")
        self._process.wait_until(lambda: accepts_connections(self.port))

    def stop(self) -> None:
        self._process.stop()


class SeaweedFS(StoreServer):
    """The S3 server that the other tests use."""

    scheme = "s3"

    def __init__(self) -> None:
        self._server = S3Server()

    @property
    def storage_options(self) -> dict[str, Any]:
        return self._server.storage_options

    @property
    def wrong_options(self) -> dict[str, Any]:
        return {**self.storage_options, "secret_access_key": "wrong"}

    def command(self) -> list[str]:
        raise NotImplementedError

    def make_bucket(self, name: str) -> None:
        raise NotImplementedError

    def new_place(self) -> str:
        return f"s3://{self._server.new_bucket()}"

    def stop(self) -> None:
        self._server.stop()


class VersityGateway(StoreServer):
    """S3 over a folder."""

    scheme = "s3"
    _key, _secret = "testkey", "testsecret123"

    def __init__(self) -> None:
        super().__init__(_FOLDER / "bin" / "versitygw")

    @property
    def storage_options(self) -> dict[str, Any]:
        return {
            "endpoint": self.endpoint,
            "access_key_id": self._key,
            "secret_access_key": self._secret,
            "region": "us-east-1",
            "allow_http": True,
        }

    @property
    def wrong_options(self) -> dict[str, Any]:
        return {**self.storage_options, "secret_access_key": "wrong"}

    def command(self) -> list[str]:
        data, attributes = self._folder / "data", self._folder / "attributes"
        for folder in (data, attributes):
            folder.mkdir(exist_ok=True)
        return [
            self._program,
            *("--access", self._key, "--secret", self._secret),
            *("--port", f"{LOOPBACK}:{self.port}", "posix", "--sidecar", str(attributes)),
            str(data),
        ]

    def make_bucket(self, name: str) -> None:
        (self._folder / "data" / name).mkdir()


class Moto(StoreServer):
    """S3 in memory, as Python programs test against it. It takes any key."""

    scheme = "s3"
    checks_keys = False
    is_atomic = False

    def __init__(self) -> None:
        super().__init__(_FOLDER / "moto" / "bin" / "moto_server")

    @property
    def storage_options(self) -> dict[str, Any]:
        return {
            "endpoint": self.endpoint,
            "access_key_id": "any",
            "secret_access_key": "any",
            "region": "us-east-1",
            "allow_http": True,
        }

    @property
    def wrong_options(self) -> dict[str, Any]:
        raise NotImplementedError

    def command(self) -> list[str]:
        return [self._program, "-H", LOOPBACK, "-p", str(self.port)]

    def make_bucket(self, name: str) -> None:
        request = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        urllib.request.urlopen(request).close()


class FakeGcs(StoreServer):
    """Google Cloud Storage, with the uploads that it lacks. It takes any key."""

    scheme = "gs"
    checks_keys = False

    def __init__(self) -> None:
        super().__init__(_FOLDER / "bin" / "fake-gcs-server")

    def start(self) -> None:
        super().start()
        self._uploads = GoogleUploads(super().endpoint)

    def stop(self) -> None:
        self._uploads.close()
        super().stop()

    @property
    def storage_options(self) -> dict[str, Any]:
        return {
            "google_base_url": self._uploads.address,
            "google_bearer_token": "any",
            "allow_http": True,
        }

    @property
    def wrong_options(self) -> dict[str, Any]:
        raise NotImplementedError

    def command(self) -> list[str]:
        return [
            self._program,
            *("-scheme", "http", "-host", LOOPBACK, "-port", str(self.port)),
            *("-external-url", self.endpoint, "-public-host", f"{LOOPBACK}:{self.port}"),
            *("-backend", "filesystem", "-filesystem-root", str(self._folder / "data")),
        ]

    def make_bucket(self, name: str) -> None:
        request = urllib.request.Request(
            f"{self.endpoint}/storage/v1/b",
            data=f'{{"name": "{name}"}}'.encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request).close()


class Azurite(StoreServer):
    """Azure's blobs."""

    scheme = "az"

    def __init__(self) -> None:
        super().__init__(_FOLDER / "node_modules" / ".bin" / "azurite-blob")

    @property
    def storage_options(self) -> dict[str, Any]:
        return {
            "azure_storage_account_name": _AZURE_ACCOUNT,
            "azure_storage_account_key": _AZURE_KEY,
            "azure_storage_endpoint": f"{self.endpoint}/{_AZURE_ACCOUNT}",
            "allow_http": True,
        }

    @property
    def wrong_options(self) -> dict[str, Any]:
        return {**self.storage_options, "azure_storage_account_key": "d3Jvbmc="}

    def command(self) -> list[str]:
        return [
            self._program,
            *("--silent", "--skipApiVersionCheck", "--disableTelemetry"),
            *("--location", str(self._folder / "data")),
            *("--blobHost", LOOPBACK, "--blobPort", str(self.port)),
        ]

    def make_bucket(self, name: str) -> None:
        """Obstore makes no containers: this is Azure's own way to sign a request."""
        date = formatdate(usegmt=True)
        headers = {"x-ms-date": date, "x-ms-version": "2021-08-06"}
        said = "\n".join(f"{key}:{value}" for key, value in headers.items())
        where = f"/{_AZURE_ACCOUNT}/{_AZURE_ACCOUNT}/{name}\nrestype:container"
        text = "PUT" + "\n" * 12 + f"{said}\n{where}"
        digest = hmac.digest(b64decode(_AZURE_KEY), text.encode(), "sha256")
        headers["Authorization"] = f"SharedKey {_AZURE_ACCOUNT}:{b64encode(digest).decode()}"
        request = urllib.request.Request(
            f"{self.endpoint}/{_AZURE_ACCOUNT}/{name}?restype=container",
            headers=headers,
            method="PUT",
        )
        urllib.request.urlopen(request).close()


STORES: dict[str, type[StoreServer]] = {
    "seaweedfs": SeaweedFS,
    "versitygw": VersityGateway,
    "moto": Moto,
    "gcs": FakeGcs,
    "azurite": Azurite,
}
