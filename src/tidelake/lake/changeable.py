"""What a lake and a transaction can both do: define, fill and query."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Unpack, overload

from tidelake.errors import NotFound, TidelakeWarning
from tidelake.lake.browsable import Browsable
from tidelake.lake.table import Table
from tidelake.model.change import WriteResult
from tidelake.model.forms import Columns, Data
from tidelake.model.names import TableName
from tidelake.model.reflexes import ARGUMENTS
from tidelake.model.settings import TableSettings
from tidelake.model.terms import CommitTerms, Purpose, Terms

if TYPE_CHECKING:
    from tidelake.session.drafting import DraftSession
    from tidelake.sql.query import Query

Parameters = Sequence[object] | Mapping[str, object] | None

_NOT_WRITTEN = (
    "create_table({name!r}, …) took the columns of the frame, and wrote none of its rows: give"
    " rows=True to write them in the same commit, or rows=False if that is what you mean"
)


def _refuse_values(terms: Mapping[str, object]) -> None:
    """What is no term was meant for a parameter."""
    name = next((each for each in terms if each not in CommitTerms.__annotations__), None)
    if name is not None:
        told = ARGUMENTS.get(name, f"values go into parameters={{{name!r}: …}}")
        raise TypeError(f"sql() takes no {name!r} (hint: {told})")


class Changeable(Browsable):
    """Every call is a commit of its own, on terms that it takes by name (`once`, `expected`,
    `author`, `message`), or part of the transaction that it is called on."""

    def create_schema(
        self, name: str, *, if_not_exists: bool = False, **terms: Unpack[CommitTerms]
    ) -> WriteResult:
        """Create a schema, such as `analytics` in `analytics.prices`. One that is there already is
        an error; with `if_not_exists` it is left as it is."""
        from tidelake.write import definitions, presence

        def create(tx: DraftSession) -> WriteResult:
            done = if_not_exists and presence.has_schema(tx, name)
            return definitions.DONE if done else definitions.create_schema(tx, name)

        return self._write("create_schema", name, terms, create)

    def drop_schema(
        self,
        name: str,
        *,
        cascade: bool = False,
        if_exists: bool = False,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Drop a schema; with `cascade`, also all that is in it. One that is not there is an
        error, unless `if_exists`."""
        from tidelake.write import definitions, presence

        def drop(tx: DraftSession) -> WriteResult:
            done = if_exists and not presence.has_schema(tx, name)
            return definitions.DONE if done else definitions.drop_schema(tx, name, cascade=cascade)

        return self._write("drop_schema", name, terms, drop)

    def create_table(
        self,
        name: str,
        schema: Columns | Data,
        *,
        rows: bool | None = None,
        if_not_exists: bool = False,
        **settings: Unpack[TableSettings],
    ) -> Table:
        """Create a table from a pyarrow, Polars or Spark schema, a dict, a DDL string, or the
        columns of a frame. With `rows=True` the frame's rows are written too, in the same commit.
        Otherwise they are not, and a warning says so, unless `rows` is False.

        `partition_by` takes columns and `year`, `month`, `day`, `hour` or `bucket(n, …)` of them.
        Settings: `key`, `event_time` and `tombstone` for tables of facts in time, `knowledge_time`
        for history from before the lake, `entity`, `bucket` and `overlap` for coverage. If a table
        has this name already, that is an error; with `if_not_exists` that table is returned as it
        is, whatever its columns are.
        """
        from tidelake.lake import columns
        from tidelake.write import creation

        parsed = self.session.namespace.parse(name)
        terms, wish = creation.split(settings)
        data = None
        if rows and not (if_not_exists and self.exists(name)):
            schema, data = columns.columns_in(self, schema)
        unwritten = rows is None and columns.has_rows(schema)
        order = creation.Creation(parsed, columns.as_columns(schema), wish, data, if_not_exists)
        self._write("create_table", parsed, terms, order.run)
        if unwritten:
            warnings.warn(_NOT_WRITTEN.format(name=name), TidelakeWarning, stacklevel=3)
        return self.table(name)

    def append(
        self, name: str, data: Data, *, create: bool = False, **settings: Unpack[TableSettings]
    ) -> WriteResult:
        """Add rows to a table, as `Table.append` does. With `create` a table that is not there is
        created with the columns of the rows and these settings, as `create_table` takes them, in
        the same commit."""
        from tidelake.lake import columns
        from tidelake.write import creation

        terms, wish = creation.split(settings)
        if not create:
            creation.refuse(wish)
        if not create or self.exists(name):
            return self._to_fill(name).append(data, **terms)
        parsed = self.session.namespace.parse(name)
        known, rows = columns.columns_in(self, data)
        order = creation.Creation(parsed, known, wish, rows, appends=True)
        return self._write("append", parsed, terms, order.run)

    def _to_fill(self, name: str) -> Table:
        try:
            return self.table(name)
        except NotFound as error:
            raise NotFound(error.message, hint=f"create=True makes it; {error.hint}") from None

    def create_view(
        self,
        name: str,
        sql: str,
        *,
        columns: Sequence[str] = (),
        replace: bool = False,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """A view in DuckDB's SQL over this lake's tables."""
        from tidelake.sql.query import check_new_view
        from tidelake.write import definitions

        parsed = self.session.namespace.parse(name)
        names = [columns] if isinstance(columns, str) else columns
        return self._write(
            "create_view",
            parsed,
            terms,
            lambda tx: definitions.create_view(
                tx, parsed, sql, columns=names, replaces=replace, check=check_new_view
            ),
        )

    def drop(
        self, name: str, *, if_exists: bool = False, **terms: Unpack[CommitTerms]
    ) -> WriteResult:
        """Drop a table or a view. Its past stays readable. One that is not there is an error,
        unless `if_exists`."""
        from tidelake.write import definitions, presence

        parsed = self.session.namespace.parse(name)
        self.session.namespace.check_own(parsed)

        def drop(tx: DraftSession) -> WriteResult:
            done = if_exists and not presence.has_either(tx, parsed)
            return definitions.DONE if done else definitions.drop(tx, parsed)

        return self._write("drop", parsed, terms, drop)

    def undrop(
        self,
        name: str,
        *,
        as_: str | None = None,
        known_at: int | str | date | None = None,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Bring back a dropped table or view: the last one of this name, or the one that had the
        name at `known_at`. `as_` gives it another name. A table comes with its rows, their ids, its
        settings and its past, as long as its last snapshot is kept.
        """
        from tidelake.sql.query import check_view
        from tidelake.write import definitions
        from tidelake.write.undrop import undrop

        old = self.session.namespace.parse(name)
        new = old if as_ is None else definitions.target_name(old, as_)
        return self._write(
            "undrop", old, terms, lambda tx: undrop(tx, old, new, known_at, check_view)
        )

    def rename(self, name: str, new: str, **terms: Unpack[CommitTerms]) -> WriteResult:
        """Give a table another name, in the same schema or (`schema.name`) in another."""
        from tidelake.write import definitions

        old = self.session.namespace.parse(name)
        target = definitions.target_name(old, new)
        return self._write("rename", old, terms, lambda tx: definitions.rename(tx, old, target))

    @overload
    def sql(
        self,
        query: str,
        parameters: Parameters = None,
        *,
        as_of: str | date | None = None,
        known_at: int | str | date | None = None,
    ) -> Query: ...

    @overload
    def sql(
        self,
        query: str,
        parameters: Parameters = None,
        *,
        as_of: str | date | None = None,
        known_at: int | str | date | None = None,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult: ...

    def sql(
        self,
        query: str,
        parameters: Parameters = None,
        *,
        as_of: str | date | None = None,
        known_at: int | str | date | None = None,
        **terms: Unpack[CommitTerms],
    ) -> object:
        """Run one statement. A SELECT gives a query with the same `to_*` methods as a Scan.

        A table in it may be followed by `FOR VALID_TIME AS OF t`, and by `FOR SYSTEM_TIME AS OF`,
        `TIMESTAMP AS OF`, `VERSION AS OF` or `AT (VERSION => n | TIMESTAMP => t)` with a snapshot
        id, a time or a tag. `as_of` and `known_at` hold for the tables that have no such clause of
        their own. `parameters` are a list for `?` and `$1`, a dict for `$name` (on Spark
        `:name`); one of them may be a list itself, for `IN ?` or `= ANY(?)`.

        INSERT, UPDATE, DELETE, MERGE, CREATE, DROP, ALTER and COMMENT are done at once and give
        a WriteResult; they take the terms of other writes. `CALL compact('t')` and its like give
        what the method of that name gives.

        To a type checker, a call without terms is a query, and a call with one, such as
        `message=`, is a write.
        """
        from tidelake.sql.parameters import Bindings, with_lists
        from tidelake.sql.procedure import is_call
        from tidelake.sql.run import run

        _refuse_values(terms)
        query, beside = with_lists(query, Bindings(parameters, as_of, known_at))
        if is_call(query):
            from tidelake.lake.procedures import call

            return call(self, query, beside, dict(terms))
        return run(self.session, query, beside, Terms.of(terms))

    def _write(
        self,
        doing: str,
        to: str | TableName,
        terms: CommitTerms,
        operation: Callable[[DraftSession], WriteResult],
    ) -> WriteResult:
        from tidelake.session.replay import write

        purpose = Purpose(doing, (str(to),))
        return write(self.session, operation, terms=Terms.of(terms), purpose=purpose)
