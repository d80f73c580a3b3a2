"""A table that is to be, with the rows that it may begin with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from tidelake.errors import Invalid
from tidelake.model.change import WriteResult
from tidelake.model.names import TableName
from tidelake.model.settings import TableSettings, known_settings
from tidelake.model.terms import CommitTerms
from tidelake.session.drafting import DraftSession
from tidelake.write import definitions, rows

_TERMS = CommitTerms.__optional_keys__
_LAYOUT = ("partition_by", "sort_by", "comment")


def split(settings: TableSettings) -> tuple[CommitTerms, TableSettings]:
    """The terms of the commit, and what the table is declared as; Invalid for names of neither."""
    given = dict(settings)
    terms = {name: given.pop(name) for name in list(given) if name in _TERMS}
    layout = {name: given.pop(name) for name in _LAYOUT if name in given}
    wish = {**layout, **known_settings(given)}
    return cast(CommitTerms, terms), cast(TableSettings, wish)


def refuse(wish: TableSettings) -> None:
    """For a write that creates no table."""
    if wish:
        raise Invalid(
            f"append takes {', '.join(map(repr, wish))} only for a table that it creates",
            hint="say create=True",
        )


@dataclass(frozen=True, slots=True)
class Creation:
    """`schema` is whatever describes its columns, `wish` what it is declared as. If it is there
    already that is an error, unless it may be `left` as it is, or the rows are for it then too
    (`appends`)."""

    name: TableName
    schema: Any
    wish: TableSettings
    data: Any = None
    left: bool = False
    appends: bool = False

    def run(self, tx: DraftSession) -> WriteResult:
        is_there = (self.left or self.appends) and tx.has_table(self.name)
        if is_there and not self.appends:
            return definitions.DONE
        if not is_there:
            self._create(tx)
        if self.data is None:
            return definitions.DONE
        return replace(rows.append(tx, self.name, self.data), operation=None)

    def _create(self, tx: DraftSession) -> None:
        wish = dict(self.wish)
        definitions.create_table(
            tx,
            self.name,
            self.schema,
            partition_by=cast(Any, wish.pop("partition_by", ())),
            sort_by=cast(Any, wish.pop("sort_by", ())),
            comment=cast(Any, wish.pop("comment", None)),
            settings=wish,
        )
