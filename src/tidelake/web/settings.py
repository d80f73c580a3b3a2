"""How a service is to run: what the command line says, and the part `[serve]` of tidelake.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tidelake.errors import Invalid, NotFound
from tidelake.model.namespace import checked_role
from tidelake.model.sandbox import Sandbox
from tidelake.web.access import Access, TokenFile, TokenRecord, Visitor, check_door, records_of
from tidelake.web.limits import Limits

_ROWS = 2**62
"""Results are streams, and may be as long as a table."""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """`tokens_file` and `tokens` say who may come in; without any, everybody who reaches the
    address has the `role`. `memory` and `seconds` are those of one query."""

    host: str = "127.0.0.1"
    port: int = 8080
    flight_port: int = 8815
    role: str = "write"
    tokens_file: str | None = None
    tokens: Mapping[str, TokenRecord] = field(default_factory=dict)
    tls_cert: str | None = None
    tls_key: str | None = None
    hosts: tuple[str, ...] = ()
    queries: int = 8
    memory: int = 1024**3
    seconds: float = 60.0
    cache: int = 256 * 1024**2
    grace: float = 10.0
    log_sql: bool = False

    def __post_init__(self) -> None:
        checked_role(self.role)
        if (self.tls_cert is None) != (self.tls_key is None):
            raise Invalid("TLS needs a certificate and its key", hint="--tls-cert and --tls-key")
        has_tokens = self.tokens_file is not None or bool(self.tokens)
        check_door(self.host, has_tokens=has_tokens, has_tls=self.tls_cert is not None)

    @staticmethod
    def of(said: Mapping[str, Any], folder: Path | None, given: Mapping[str, Any]) -> ServeSettings:
        """What a file says, its paths beginning at its folder, and over it what is given."""
        known = {each.name: each for each in fields(ServeSettings)}
        values: dict[str, Any] = {}
        for name, value in said.items():
            if name not in known:
                raise Invalid(
                    f"[serve] has an unknown key {name!r}", hint=f"there are: {', '.join(known)}"
                )
            values[name] = _checked(name, value, folder)
        values |= {name: value for name, value in given.items() if value is not None}
        return ServeSettings(**values)

    @property
    def sandbox(self) -> Sandbox:
        return Sandbox(memory=self.memory, seconds=self.seconds, rows=_ROWS)

    @property
    def limits(self) -> Limits:
        return replace(Limits(), queries=self.queries, cache_bytes=self.cache)

    @property
    def tls(self) -> tuple[bytes, bytes] | None:
        if self.tls_cert is None or self.tls_key is None:
            return None
        return _bytes(self.tls_cert), _bytes(self.tls_key)

    def access(self) -> Access:
        file = None if self.tokens_file is None else TokenFile(self.tokens_file)
        return Access(Visitor("anybody", self.role), file, self.tokens)


_PATHS = ("tokens_file", "tls_cert", "tls_key")
_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("host", "role", *_PATHS), str),
    **dict.fromkeys(("port", "flight_port", "queries", "memory", "cache"), int),
    **dict.fromkeys(("seconds", "grace"), (int, float)),
    "log_sql": bool,
    "hosts": list,
    "tokens": dict,
}


def _checked(name: str, value: Any, folder: Path | None) -> Any:
    kind: Any = _KINDS[name]
    is_bool = isinstance(value, bool)
    if not isinstance(value, kind) or (is_bool and name != "log_sql"):
        raise Invalid(f"[serve] {name} = {value!r} is not what it takes", hint="correct the file")
    if name == "tokens":
        return records_of(value, "[serve]")
    if name == "hosts":
        return tuple(map(str, value))
    return str(Path(folder or ".", Path(value).expanduser())) if name in _PATHS else value


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NotFound(
            f"cannot read {path}: {error.strerror}", hint="--tls-cert, --tls-key"
        ) from None
