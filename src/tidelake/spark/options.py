"""What the data source is told: every option by name, read once, refused by name if it is wrong.

Spark gives options as text and does not care for upper case; here underscores do not matter either,
so that `as_of` and `asOf`, `merge_schema` and `mergeSchema` are the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from tidelake.errors import Invalid
from tidelake.model.names import TableName

EARLIEST = "earliest"
_STORAGE = "storage."
_OF_SPARK = frozenset(
    {
        *("checkpointlocation", "queryname", "paths", "outputmode", "serialization.format"),
        *("owner", "provider", "location", "external", "is_managed_location", "comment"),
        *("collation", "transient_lastddltime"),
    }
)
"""What Spark adds by itself, for streams and for tables of its own catalog."""
OF_TABLE = "option."
"""Tables of Spark's own catalog have their options twice, once so."""
_ADDRESS = ("catalog", "data_path", "lake", "vault")
_READ = ("columns", "where", "as_of", "known_at", "changes_since")
_STREAM = (
    "starting_at",
    "changes",
    "skip_changes",
    "max_snapshots_per_trigger",
    "max_files_per_trigger",
    "max_rows_per_trigger",
)
_WRITE = (
    *("merge_schema", "overwrite_where", "merge_on", "query_id"),
    *("once", "expected", "author", "message"),
)
_KNOWN = ("path", "table", *_ADDRESS, *_READ, *_STREAM, *_WRITE)
_BY_KEY = {name.replace("_", ""): name for name in _KNOWN}


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What was said, by the names that are listed above, and what of it is for the store."""

    given: Mapping[str, str]
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    checkpoint: str | None = None

    @staticmethod
    def of(options: Mapping[str, str]) -> SourceOptions:
        """Invalid if there is an option that nobody knows."""
        given: dict[str, str] = {}
        storage: dict[str, str] = {}
        for key, value in options.items():
            word = key.lower().removeprefix(OF_TABLE)
            if word.startswith(_STORAGE):
                storage[word.removeprefix(_STORAGE)] = value
            elif word not in _OF_SPARK:
                given[_known(word)] = value
        checkpoint = {key.lower(): value for key, value in options.items()}
        return SourceOptions(given, storage, checkpoint.get("checkpointlocation"))

    @property
    def names_a_table(self) -> bool:
        return self.text("table") is not None or self.text("path") is not None

    @property
    def table(self) -> TableName:
        """The table, which `load("ns.table")` and `save("ns.table")` name as a path. Where Spark
        takes that for a place of files, as for tables of its own catalog, option `table` does."""
        named = self.text("table") or self.text("path")
        if named is None or "/" in named:
            raise Invalid(
                "no table was named",
                hint='load("ns.table") or save("ns.table"), or option table',
            )
        return TableName.parse(named)

    def text(self, name: str) -> str | None:
        """An option that has been given, and not as nothing."""
        value = self.given.get(name)
        return None if value is None or not value.strip() else value.strip()

    def flag(self, name: str) -> bool:
        said = (self.text(name) or "false").lower()
        if said not in ("true", "false"):
            raise Invalid(f"option {name}: {said!r} is neither true nor false", hint="say true")
        return said == "true"

    def number(self, name: str) -> int | None:
        said = self.text(name)
        if said is None:
            return None
        if not said.isdecimal() or int(said) < 1:
            raise Invalid(f"option {name}: {said!r} is no number above 0", hint="say 100")
        return int(said)

    def moment(self, name: str) -> int | str | None:
        """A snapshot id, a time or a tag."""
        said = self.text(name)
        return int(said) if said is not None and said.isdecimal() else said

    def names(self, name: str) -> list[str] | None:
        """Columns: `a, b`, or as JSON if a name has a comma in it."""
        said = self.text(name)
        if said is None:
            return None
        if said.startswith("["):
            return _listed(name, said)
        return [part.strip() for part in said.split(",") if part.strip()]

    def refuse(self, names: tuple[str, ...], where: str) -> None:
        """Raise Invalid for options that mean nothing here."""
        for name in names:
            if self.text(name) is not None:
                raise Invalid(f"option {name} means nothing {where}", hint="leave it out")

    def check_read(self) -> None:
        """Raise Invalid for what is not for reading a table."""
        self.refuse((*_WRITE, *_STREAM), "when a table is read")
        if self.text("changes_since") is not None and self.text("as_of") is not None:
            raise Invalid("changes have no as_of", hint="leave as_of or changes_since out")

    def check_stream(self) -> None:
        """Raise Invalid for what is not for reading a stream."""
        self.refuse((*_WRITE, "as_of", "known_at", "changes_since"), "when a stream is read")

    def check_write(self) -> None:
        """Raise Invalid for what is not for writing rows."""
        self.refuse((*_READ, *_STREAM), "when rows are written")


def _known(key: str) -> str:
    name = _BY_KEY.get(key.lower().replace("_", ""))
    if name is None:
        near = get_close_matches(key.lower(), _KNOWN, 1)
        meant = f"do you mean {near[0]}? " if near else ""
        listed = ", ".join(name for name in _KNOWN if name not in ("path", "lake", "vault"))
        raise Invalid(
            f"there is no option {key!r}",
            hint=f"{meant}there are: {listed}, and {_STORAGE}… for the object store",
        )
    return name


def _listed(name: str, said: str) -> list[str]:
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise Invalid(f"option {name}: {said!r} is no list of names", hint='say a, b or ["a", "b"]')
    return found
