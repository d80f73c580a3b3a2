"""Who may come in: tokens, each with a role and perhaps a tenant, of which only hashes are kept.

A token is `name.secret`. The secret is 256 random bits, so its hash need not be slow, only salted;
what has been let in once is remembered by a keyed hash, for as long as the tokens are the same.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import re
import secrets
import tomllib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from tidelake.errors import Denied, Invalid, NotFound
from tidelake.model.namespace import checked_role, checked_tenant

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_COST, _BLOCK, _LANES = 4096, 8, 1
_LONGEST = 512
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who asks, and what they may do."""

    name: str
    role: str
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What is kept of a token."""

    name: str
    role: str
    tenant: str | None
    hash: str

    @property
    def visitor(self) -> Visitor:
        return Visitor(self.name, self.role, self.tenant)

    def fits(self, secret: str) -> bool:
        """In a time that says nothing of how much of it is right."""
        _, salt, found = self.hash.split("$")
        return hmac.compare_digest(_hash(secret, b64decode(salt)), b64decode(found))


def new_token(name: str, role: str, tenant: str | None = None) -> tuple[str, TokenRecord]:
    """A token, which nobody can tell again, and what to keep of it."""
    secret, salt = secrets.token_urlsafe(32), secrets.token_bytes(16)
    return f"{_checked_name(name)}.{secret}", TokenRecord(
        name,
        checked_role(role),
        None if tenant is None else checked_tenant(tenant),
        f"scrypt${_text(salt)}${_text(_hash(secret, salt))}",
    )


def _hash(secret: str, salt: bytes) -> bytes:
    return hashlib.scrypt(secret.encode(), salt=salt, n=_COST, r=_BLOCK, p=_LANES, dklen=32)


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Invalid(
            f"{name!r} is no name for a token", hint="use up to 64 letters, digits, - and _"
        )
    return name


_NOBODY = new_token("nobody", "read")[1]
"""It is asked where a name is not known, so that this takes as long."""


class TokenFile:
    """Tokens in a file of TOML that only its owner can read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def records(self) -> dict[str, TokenRecord]:
        try:
            said = tomllib.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            raise NotFound(
                f"there is no file of tokens {self.path}", hint="tidelake tokens add NAME"
            ) from None
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Invalid(
                f"cannot read tokens from {self.path}: {error}",
                hint="correct the file, or make it anew: tidelake tokens add NAME",
            ) from None
        return records_of(said.get("tokens", {}), str(self.path))

    @property
    def version(self) -> object:
        """Another one, once the file has been written anew."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def add(self, record: TokenRecord) -> None:
        known = self.records() if self.path.exists() else {}
        if record.name in known:
            raise Invalid(
                f"there is a token {record.name} already",
                hint=f"tidelake tokens remove {record.name}, or choose another name",
            )
        self._write({**known, record.name: record})

    def remove(self, name: str) -> None:
        known = self.records()
        if name not in known:
            raise NotFound(
                f"there is no token {name}", hint=f"there are: {', '.join(known) or 'none'}"
            )
        self._write({other: record for other, record in known.items() if other != name})

    def _write(self, records: Mapping[str, TokenRecord]) -> None:
        """All of it or nothing, and for nobody else to read."""
        new = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        try:
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as out:
                out.write("\n".join(map(_lines, records.values())))
            new.replace(self.path)
        except OSError as error:
            raise Invalid(
                f"cannot write tokens to {self.path}: {error.strerror}",
                hint="name a file that you may write: --file PATH",
            ) from None


def _lines(record: TokenRecord) -> str:
    tenant = "" if record.tenant is None else f"tenant = {json.dumps(record.tenant)}\n"
    return f'[tokens.{record.name}]\nrole = "{record.role}"\n{tenant}hash = "{record.hash}"\n'


def records_of(said: object, where: str) -> dict[str, TokenRecord]:
    """Tokens as TOML says them: `[tokens.NAME]` with `role`, `hash`, and perhaps `tenant`."""
    if not isinstance(said, dict):
        raise Invalid(f"{where}: tokens are a table of tables", hint="[tokens.NAME]")
    return {name: _record(name, entry, where) for name, entry in said.items()}


def _record(name: str, entry: Any, where: str) -> TokenRecord:
    known = {"role", "hash", "tenant"}
    if not isinstance(entry, dict) or not {"role", "hash"} <= entry.keys() <= known:
        raise Invalid(
            f"{where}: token {name} has role, hash and perhaps tenant",
            hint="have it written by tidelake tokens add",
        )
    found = entry["hash"]
    if not isinstance(found, str) or not re.fullmatch(r"scrypt\$[\w+/=]+\$[\w+/=]+", found):
        raise Invalid(f"{where}: token {name} has no hash of scrypt", hint="tidelake tokens add")
    tenant = entry.get("tenant")
    return TokenRecord(
        _checked_name(name),
        checked_role(entry["role"]),
        None if tenant is None else checked_tenant(tenant),
        found,
    )


class Access:
    """Tells who comes. Without tokens everybody is the same `anybody`; with them, whoever has
    none is Denied. A file of tokens is read again when it has changed."""

    def __init__(
        self,
        anybody: Visitor | None,
        file: TokenFile | None = None,
        written: Mapping[str, TokenRecord] | None = None,
    ) -> None:
        self._anybody, self._file, self._written = anybody, file, dict(written or {})
        self._key = secrets.token_bytes(32)
        self._known: dict[bytes, Visitor] = {}
        self._version: object = None
        self._lock = Lock()
        self._records: dict[str, TokenRecord] = {}
        self._reload()

    @property
    def needs_tokens(self) -> bool:
        return self._file is not None or bool(self._written)

    def visitor(self, token: str | None) -> Visitor:
        if not self.needs_tokens:
            if self._anybody is None:
                raise Denied("nobody may come in: there are no tokens", hint="tidelake tokens add")
            return self._anybody
        if not token:
            raise Denied(
                "this server lets in those who have a token",
                hint="send it as `authorization: Bearer TOKEN`, or as a password",
            )
        return self._checked(token)

    def _checked(self, token: str) -> Visitor:
        self._reload()
        mark = hmac.digest(self._key, token[:_LONGEST].encode(), "sha256")
        if (known := self._known.get(mark)) is not None:
            return known
        name, _, secret = token.partition(".")
        record = self._records.get(name, _NOBODY)
        if len(token) > _LONGEST or not record.fits(secret) or record is _NOBODY:
            raise Denied("this token is not known here", hint="ask the lake's owner for one")
        with self._lock:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[mark] = record.visitor
        return record.visitor

    def _reload(self) -> None:
        version = None if self._file is None else self._file.version
        if self._records and version == self._version:
            return
        with self._lock:
            try:
                found = {} if self._file is None else self._file.records()
            except (NotFound, Invalid):
                if self._version is None:
                    raise
                found = {}  # whoever has broken the file locks everybody out, and nobody in
            self._records = {**self._written, **found}
            self._known.clear()
            self._version = version


def token_of(header: str | None) -> str | None:
    """The token in an `authorization` header: a bearer's, or the password of any user."""
    kind, _, said = (header or "").partition(" ")
    if kind.lower() == "bearer":
        return said.strip()
    if kind.lower() != "basic":
        return None
    try:
        padding = "=" * (-len(said) % 4)  # which some clients leave out
        return b64decode(said + padding, validate=True).decode().partition(":")[2]
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_door(host: str, *, has_tokens: bool, has_tls: bool) -> None:
    """Invalid where strangers could come in, or listen."""
    missing = [
        *([] if has_tokens else ["tokens (tidelake tokens add NAME; --tokens FILE)"]),
        *([] if has_tls else ["TLS (--tls-cert FILE --tls-key FILE)"]),
    ]
    if missing and not is_loopback(host):
        raise Invalid(
            f"{host} can be reached from other machines: that needs {' and '.join(missing)}",
            hint="or serve this machine alone: --host 127.0.0.1",
        )
