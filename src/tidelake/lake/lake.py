"""The lake: look around, change it, pin it to a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from tidelake.catalog import audit
from tidelake.catalog.read import tags
from tidelake.lake.keeper import Keeper
from tidelake.model.closable import Closable
from tidelake.model.tag import Tag, checked_name
from tidelake.model.terms import Purpose, Terms
from tidelake.session import leases
from tidelake.session.reads import SNAPSHOT

if TYPE_CHECKING:
    from tidelake.delta.mirror.mirror import DeltaMirror
    from tidelake.delta.values.reports import RecoverResult
    from tidelake.lake.transaction import Transaction
    from tidelake.model.mirror import MirrorStatus
    from tidelake.model.relocation import MoveResult
    from tidelake.model.sandbox import Sandbox
    from tidelake.session.formats import TableMirror
    from tidelake.tenants.values import Quota, TenantDrop, TenantLogin, TenantState
    from tidelake.upkeep.values import CleanupResult, CompactResult, ExpireResult
    from tidelake.upkeep.values_health import Health, HealthLimits
    from tidelake.verify.values import VerifyReport


class Lake(Keeper, Closable):
    """A lake, at its newest state or (after `known_at`) pinned to a snapshot.

    Safe to share between threads for reading. Close it with `close()` or `with`.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, in this process or another, open the lake again."""
        return type(self), (self.session,)

    def set_option(
        self,
        name: str,
        value: object,
        *,
        table: str | None = None,
        schema: str | None = None,
        author: str | None = None,
    ) -> None:
        """Set one of DuckLake's options for the lake, a schema or a table, such as
        `data_inlining_row_limit` or `target_file_size`. `tidelake.mirror` is `delta` where new
        tables are to be mirrored. This makes no snapshot."""
        from tidelake.write.options import set_option

        self.session.namespace.check_owner("set_option")
        of = None if table is None else self.session.namespace.parse(table)
        set_option(self.session, name, value, table=of, schema=schema, author=author)

    def transaction(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        isolation: str = SNAPSHOT,
        once: str | None = None,
        expected: int | str | datetime | None = None,
    ) -> Transaction:
        """Several writes in one snapshot, all or nothing. Use it in a `with`, which commits at the
        end; else end it with `commit()` or `rollback()`.

        Its reads see one snapshot. With `isolation="serializable"` its commit is a Conflict if
        somebody else has changed what it has read.

        Of all transactions with the same token `once` the first is committed; `is_done` tells
        whether it has been. With `expected`, a snapshot id, a time or a tag, the commit is a
        Conflict if a table that is written to has changed since.
        """
        from tidelake.lake.transaction import Transaction
        from tidelake.session.drafting import DraftSession
        from tidelake.session.guard import Guard

        self.session.check_writable()
        terms = Terms.of({"author": author, "message": message, "once": once, "expected": expected})
        guard = Guard.of(self.session, terms, Purpose())
        tx = DraftSession(self.session, terms=terms, guard=guard, isolation=isolation)
        return Transaction(tx, type(self))

    def known_at(self, moment: int | str | datetime) -> Self:
        """The whole lake as it was known at a snapshot id, a time (UTC if it has no zone), or a
        tag."""
        return type(self)(self.session.known_at(self._snapshot(moment)))

    def tag(
        self,
        name: str,
        known_at: int | str | datetime | None = None,
        *,
        author: str | None = None,
        message: str | None = None,
    ) -> Tag:
        """Name a snapshot, the newest unless another is given. A tag stands wherever `known_at`
        does, and what is tagged does not expire."""
        self.session.namespace.check_whole("tag")
        self.session.namespace.check_role("write")
        wanted = checked_name(name)
        self.session.check_not_closed()
        with self.session.database.writing() as writer:
            at = self.session.at(writer) if known_at is None else known_at
            snapshot = self.session.resolve(writer, at)
            known = tags.find(writer, wanted)
            audit.ensure(writer)
            made = tags.put(writer, wanted, snapshot.snapshot_id, author, message)
            if known is None:
                audit.put(writer, tags.audit_record("tag", made))
            return made

    def untag(self, name: str, *, author: str | None = None) -> Tag:
        """Forget a tag; its snapshot may expire then. Gives what it was. `author` is for the
        audit."""
        self.session.namespace.check_whole("untag")
        self.session.namespace.check_role("write")
        self.session.check_not_closed()
        with self.session.database.writing() as writer:
            audit.ensure(writer)
            gone = tags.remove(writer, name)
            audit.put(
                writer, tags.audit_record("untag", replace(gone, author=author, message=None))
            )
            return gone

    @overload
    def mirror(
        self, name: str, kind: Literal["delta"] = "delta", *, history: bool = False
    ) -> DeltaMirror: ...

    @overload
    def mirror(self, name: str, kind: str, *, history: bool = False) -> TableMirror: ...

    def mirror(self, name: str, kind: str = "delta", *, history: bool = False) -> TableMirror:
        """Publish a table as a Delta table beside its files, from now on with every commit: as it
        is now, or with `history` as it was at every snapshot. A mirror that is there already, or
        was stopped, goes on in its log."""
        self.session.namespace.check_role("maintain")
        self.session.namespace.check_own(self.session.namespace.parse(name))
        found = self.session.mirror_format(kind)
        return found.mirror(self.session, self.session.namespace.parse(name), history=history)

    @overload
    def mirrored(self, name: str, kind: Literal["delta"] = "delta") -> DeltaMirror: ...

    @overload
    def mirrored(self, name: str, kind: str) -> TableMirror: ...

    def mirrored(self, name: str, kind: str = "delta") -> TableMirror:
        """The mirror of a table that has one."""
        return self.session.mirror_format(kind).mirrored(
            self.session, self.session.namespace.parse(name)
        )

    def sync_mirrors(self) -> list[MirrorStatus]:
        """Publish of all mirrors what has not been published yet, as commits of DuckDB are not."""
        self.session.namespace.check_owner("sync_mirrors")
        self.session.check_writable()
        for each in self.session.formats:
            each.sync_all(self.session)
        return self.mirrors()

    def recover(
        self,
        from_delta: str | Sequence[str] | None = None,
        *,
        history: bool = True,
        dry_run: bool = False,
    ) -> RecoverResult:
        """Have the mirrored tables of a lost lake again, from their Delta logs below the data path
        or these places. Requires: this lake is new. They come back with the snapshots that their
        logs tell of, each under its id and with its time; without `history` only as they were
        published last. They are mirrored again in the same logs."""
        from tidelake.delta.recovery.run import recover

        self.session.namespace.check_owner("recover")
        places = [from_delta] if isinstance(from_delta, str) else from_delta
        return recover(self.session, places, history=history, dry_run=dry_run)

    def compact(
        self, *, dry_run: bool = False, author: str | None = None, message: str | None = None
    ) -> CompactResult:
        """Compact every table, as `Table.compact` does."""
        from tidelake.upkeep.compact import compact_all

        self.session.namespace.check_role("maintain")
        if not dry_run:
            self.session.check_writable()
        with self.session.reading() as reader:
            found = self.session.view.names(reader, self.session.at(reader), "table")
        names = [name for _, name in found]
        terms = Terms(author=author, message=message)
        return compact_all(self.session, names, dry_run=dry_run, terms=terms)

    def expire(
        self,
        older_than: str | datetime | timedelta | None = None,
        keep_last: int | None = None,
        *,
        dry_run: bool = False,
        force: bool = False,
        author: str | None = None,
    ) -> ExpireResult:
        """Forget snapshots, and all that no other snapshot sees: those committed before a moment
        (`older_than`, also as a span such as "7 days") that are not among the last `keep_last`.

        The newest stays, and so does what is tagged. Where a consumer still needs one of them,
        Conflict is raised, unless with `force`; and where a tenant is promised it. Told nothing,
        it goes by what tenants are promised and the lake's option `expire_older_than`. The files
        are scheduled for `cleanup`.
        """
        from tidelake.tenants.retention import expiry_moment
        from tidelake.upkeep.expire import expire

        self.session.namespace.check_owner("expire")
        if not dry_run:
            self.session.check_writable()
        if older_than is None and keep_last is None:
            older_than = expiry_moment(self.session)
        return expire(
            self.session,
            older_than=older_than,
            keep_last=keep_last,
            dry_run=dry_run,
            force=force,
            author=author,
        )

    def move(self, data_path: str | Path, *, force: bool = False) -> MoveResult:
        """Write down that the lake's files are at another place now. Move or copy them there first:
        only the catalog changes. All files must be there, unless `force` says that it does not
        matter. Nobody else should have the lake open."""
        from tidelake.lake.move import move

        self.session.namespace.check_owner("move")
        return move(self.session, data_path, force=force)

    def cleanup(
        self,
        older_than: str | datetime | timedelta | None = None,
        *,
        orphans: bool = True,
        dry_run: bool = False,
        author: str | None = None,
    ) -> CleanupResult:
        """Remove files that no snapshot needs since a moment (`older_than`, also as a span; without
        it the lake's option `delete_older_than`, 2 days), and `orphans` as old: files under the
        data path that DuckDB or Tidelake wrote and no snapshot ever had. Only the lake's own files
        are deleted: those that were registered or imported stay, unless they were handed over
        with `take_over`, and so does what lies outside the data path or is another lake's.

        The span protects those who are still reading or writing them: it must be longer than
        the longest read, and the longest transaction.
        """
        from tidelake.upkeep.cleanup import cleanup

        self.session.namespace.check_owner("cleanup")
        if not dry_run:
            self.session.check_writable()
        return cleanup(
            self.session, older_than=older_than, orphans=orphans, dry_run=dry_run, author=author
        )

    def health(self, limits: HealthLimits | None = None) -> Health:
        """What is worth a look, and what to do about it: small files, deleted rows, snapshots that
        can expire, files that wait for cleanup, rollups that are of no use, consumers and mirrors
        that fall behind, coverage under its threshold."""
        from tidelake.upkeep.health import health

        return health(self.session, limits)

    def verify(
        self,
        *,
        deep: bool = False,
        fingerprint: bool = False,
        tables: Sequence[str] | None = None,
    ) -> VerifyReport:
        """Check that the lake is whole: the catalog against itself, and every file's place, size
        and footer against the catalog. `deep` reads all rows too. With `fingerprint` a hash of
        every past state is kept, and compared with those kept before. Nothing is mended: each
        problem says how to."""
        from tidelake.verify.verify import verify

        self.session.namespace.check_whole("verify")
        if fingerprint:
            self.session.namespace.check_role("maintain")
        return verify(self.session, deep=deep, fingerprint=fingerprint, tables=tables)

    @overload
    def create_tenant(self, name: str, quota: Quota | None = None) -> Self: ...

    @overload
    def create_tenant(
        self, name: str, quota: Quota | None = None, *, database_role: Literal[True]
    ) -> TenantLogin: ...

    def create_tenant(
        self, name: str, quota: Quota | None = None, *, database_role: bool = False
    ) -> Self | TenantLogin:
        """A new tenant: schemas and a folder of its own, which it cannot see beyond. `quota` is
        the most that it may have. Gives the lake as it sees it; with `database_role` a login to
        the catalog's database, PostgreSQL, as `tenant_login` does."""
        from tidelake.tenants import database_role as roles
        from tidelake.tenants.manage import create_tenant

        self.session.namespace.check_owner("create_tenant")
        self.session.check_writable()
        if not database_role:
            create_tenant(self.session, name, quota)
            return self.tenant(name)
        roles.raise_walls(self.session)
        create_tenant(self.session, name, quota)
        return roles.admit(self.session, name, "write")

    def tenant_login(self, name: str, role: str = "write") -> TenantLogin:
        """A role of the catalog's database, PostgreSQL, that sees the rows of one tenant and
        nothing else, to `read`, to `write`, or to `maintain` too: `connect(login.url)` opens its
        lake. A role that is there gets another password."""
        from tidelake.tenants import database_role, manage

        self.session.namespace.check_whole("tenant_login")
        self.session.check_writable()
        found = manage.find_tenant(self.session, name)
        database_role.raise_walls(self.session)
        return database_role.admit(self.session, found.name, role)

    def tenant(
        self,
        name: str,
        role: str = "write",
        *,
        sandbox: Sandbox | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> Self:
        """The lake as a tenant sees it, to `read`, to `write`, or to `maintain` too: it can name
        its own schemas and nothing else. Its SQL is in a sandbox, with these limits. With
        `storage_options` of its own, the object store holds it to its folder too."""
        from tidelake.tenants.manage import open_tenant

        self.session.namespace.check_whole("tenant")
        return type(self)(open_tenant(self.session, name, role, sandbox, storage_options))

    def tenants(self) -> list[TenantState]:
        """All tenants, by name, with what they have."""
        from tidelake.tenants.manage import tenants

        self.session.namespace.check_whole("tenants")
        return tenants(self.session)

    def set_quota(self, name: str, quota: Quota) -> None:
        """The most that a tenant may have from now on."""
        from tidelake.tenants.manage import set_quota

        self.session.namespace.check_owner("set_quota")
        self.session.check_writable()
        set_quota(self.session, name, quota)

    def drop_tenant(self, name: str, *, dry_run: bool = False) -> TenantDrop:
        """Drop a tenant with all that it has, in one commit; `dry_run` tells what that is. Its
        past goes when it expires."""
        from tidelake.tenants.manage import drop_tenant

        self.session.namespace.check_owner("drop_tenant")
        if not dry_run:
            self.session.check_writable()
        return drop_tenant(self.session, name, dry_run=dry_run)

    def reindex(self) -> None:
        """Bring up to date what makes planning fast: indexes, and summaries of many files at once.

        Nothing depends on it but speed. Worth a call for a lake that DuckDB made, or after it
        has added thousands of files.
        """
        from tidelake.upkeep.reindex import reindex

        self.session.namespace.check_owner("reindex")
        reindex(self.session)

    def close(self) -> None:
        """Give the catalog connections back. Pinned lakes and tables made from it close too, and
        so do its tenants'; of a tenant's lake, only what it has for itself."""
        if not self.session.namespace.is_whole and not self.session.is_guest:
            self.session.local.close()
            return
        leases.settle(self.data_path)
        self.session.close()

    def __repr__(self) -> str:
        pinned = "" if self.session.pinned is None else f" known at {self.session.pinned}"
        return f"<Lake {self.url}{pinned}>"
