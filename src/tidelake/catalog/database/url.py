"""Where a catalog is, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from tidelake.model.address import mask_secrets


@dataclass(frozen=True, slots=True)
class CatalogUrl:
    """A catalog's address. Embedded kinds have a `path`, servers a `url` without secrets hidden,
    which is for drivers alone: messages show the address as text."""

    kind: str
    path: Path | None = None
    url: str | None = field(default=None, repr=False)
    schema: str | None = None

    @property
    def is_embedded(self) -> bool:
        return self.path is not None

    @property
    def place(self) -> str:
        """Where it is, without a word of who may come in."""
        if self.path is not None:
            return f"{self.kind}:///{self.path}"
        parts = urlsplit(self.url or "")
        host = (parts.netloc or "").rpartition("@")[2]
        schema = f"?schema={self.schema}" if self.schema else ""
        return f"{self.kind}://{host}{parts.path}{schema}"

    @property
    def whole(self) -> str:
        """As `connect` takes it, secrets included: for whoever opens the lake elsewhere."""
        if self.path is not None:
            return f"{self.kind}:///{quote(str(self.path))}"
        url = self.url or ""
        sign = "&" if "?" in url else "?"
        return f"{url}{sign}schema={quote(self.schema, safe='')}" if self.schema else url

    def __str__(self) -> str:
        """For messages: the password is left out."""
        if self.path is not None:
            return f"{self.kind}:///{self.path}"
        return mask_secrets(self.url or "")
