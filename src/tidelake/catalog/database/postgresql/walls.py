"""Roles of PostgreSQL that are held to one tenant by row-level security.

Every role is a member of a group of the lake's, which has the grants. Its name tells nothing, for
every role of a server can list all others. Who is in no such group is not held to anything.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping

from tidelake.catalog.database.postgresql import wall_functions, wall_policies
from tidelake.catalog.database.walls import Guest, Questions, Statements
from tidelake.model.names import quote, text_literal

ROLE = re.compile(r"tl_[0-9a-f]{24}")
_RECORDS = "tidelake_tenant_role"
_TABLES = """
SELECT t.relname, array_agg(c.attname::text) FROM pg_class t
JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = current_schema() AND t.relkind = 'r'
  AND t.relname ~ '^(ducklake|tidelake)_' GROUP BY t.relname ORDER BY t.relname
"""
_LIMITS = {
    "idle_in_transaction_session_timeout": "60s",
    "statement_timeout": "10min",
    "lock_timeout": "60s",
}
_CONNECTIONS = 30
_ROUNDS = 4096


class PostgreSQLWalls:
    """See `Walls`."""

    def guest(self, reader: Questions, /) -> Guest | None:
        ((is_role,),) = reader.rows("SELECT session_user ~ '^tl_[0-9a-f]{24}$'")
        if not is_role:
            return None
        rows = reader.rows("SELECT tidelake_tenant_name(), tidelake_access()")
        return Guest(*rows[0])

    def build(self, writer: Statements, kinds: Mapping[str, str], /) -> None:
        home, group, writers = _names(writer)
        for each in (group, writers):
            if not _has_role(writer, each):
                writer.execute(f"CREATE ROLE {quote(each)} NOLOGIN")
        quoted = quote(home), quote(group), quote(writers)
        for statement in wall_functions.statements(*quoted):
            writer.execute(statement)
        writer.execute(f"GRANT USAGE ON SCHEMA {quoted[0]} TO {quoted[1]}, {quoted[2]}")
        for table, columns in writer.rows(_TABLES):
            held = wall_policies.rule(table, columns, kinds.get(table, ""))
            for statement in wall_policies.statements(table, held, *quoted[1:]):
                writer.execute(statement)
        writer.execute(f"GRANT SELECT ON tidelake_own_changes TO {quoted[1]}")
        writer.execute("DROP TRIGGER IF EXISTS tidelake_commit_landed ON ducklake_snapshot")
        writer.execute(
            "CREATE CONSTRAINT TRIGGER tidelake_commit_landed AFTER INSERT ON ducklake_snapshot"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tidelake_commit_landed()"
        )

    def around(self, writer: Statements, table: str, kind: str, /) -> None:
        if not writer.rows("SELECT 1 WHERE to_regproc('tidelake_guest') IS NOT NULL"):
            return
        _, group, writers = _names(writer)
        columns = next(columns for name, columns in writer.rows(_TABLES) if name == table)
        held = wall_policies.rule(table, columns, kind)
        for statement in wall_policies.statements(table, held, quote(group), quote(writers)):
            writer.execute(statement)

    def admit(self, writer: Statements, guest: Guest, password: str, /) -> str:
        _, group, writers = _names(writer)
        known = writer.rows(
            f"SELECT role_name FROM {_RECORDS} WHERE tenant_name = :tenant AND access = :access",
            tenant=guest.tenant,
            access=guest.access,
        )
        role = known[0][0] if known else f"tl_{secrets.token_hex(12)}"
        if not _has_role(writer, role):
            writer.execute(f"CREATE ROLE {quote(role)}")
        if not known:
            writer.execute(
                f"INSERT INTO {_RECORDS} (role_name, tenant_name, access)"
                " VALUES (:role, :tenant, :access)",
                role=role,
                tenant=guest.tenant,
                access=guest.access,
            )
        verifier = text_literal(_scram(password))
        writer.execute(
            f"ALTER ROLE {quote(role)} LOGIN CONNECTION LIMIT {_CONNECTIONS} PASSWORD {verifier}"
        )
        for name, value in _LIMITS.items():
            writer.execute(f"ALTER ROLE {quote(role)} SET {name} = '{value}'")
        writer.execute(f"GRANT {quote(group)} TO {quote(role)}")
        if guest.access != "read":
            writer.execute(f"GRANT {quote(writers)} TO {quote(role)}")
        _join(writer, role)
        return role

    def shut(self, writer: Statements, tenant: str, /) -> None:
        for role in _roles(writer, tenant):
            _join(writer, role)
            writer.execute(f"ALTER ROLE {quote(role)} NOLOGIN")
            writer.rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = :role",
                role=role,
            )

    def remove(self, writer: Statements, tenant: str, /) -> None:
        for role in _roles(writer, tenant):
            writer.execute(f"DROP OWNED BY {quote(role)}")
            writer.execute(f"DROP ROLE {quote(role)}")
        writer.execute(f"DELETE FROM {_RECORDS} WHERE tenant_name = :tenant", tenant=tenant)


def _names(writer: Statements) -> tuple[str, str, str]:
    """The lake's schema, the group of all its tenants, and that of those who write."""
    ((database, home),) = writer.rows("SELECT current_database(), current_schema()")
    mark = hashlib.sha256(f"{database}\0{home}".encode()).hexdigest()[:16]
    return home, f"tl_tenants_{mark}", f"tl_writers_{mark}"


def _has_role(writer: Statements, role: str) -> bool:
    return bool(writer.rows("SELECT 1 FROM pg_roles WHERE rolname = :role", role=role))


def _roles(writer: Statements, tenant: str) -> list[str]:
    rows = writer.rows(
        f"SELECT role_name FROM {_RECORDS} WHERE tenant_name = :tenant", tenant=tenant
    )
    return [row[0] for row in rows if _has_role(writer, row[0])]


def _join(writer: Statements, role: str) -> None:
    """Who may make roles may end the sessions of those that it is a member of."""
    ((is_super,),) = writer.rows("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    if not is_super:
        writer.execute(f"GRANT {quote(role)} TO CURRENT_USER")


def _scram(password: str) -> str:
    """What the server keeps of a password (RFC 5803), so that the password itself is never sent,
    and stands in no log of statements. Requires: it is ASCII."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    server = hmac.digest(salted, b"Server Key", "sha256")
    parts = [base64.b64encode(each).decode() for each in (hashlib.sha256(client).digest(), server)]
    return f"SCRAM-SHA-256${_ROUNDS}:{base64.b64encode(salt).decode()}${':'.join(parts)}"
