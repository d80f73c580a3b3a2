"""Functions in the database that say what is a tenant's own. Policies ask them.

They run with the rights of the lake's owner, and tell each role of its own tenant alone: by
`session_user`, which no SET ROLE changes. All of them look names up in the lake's schema.
"""

from __future__ import annotations

_HEAD = """
CREATE OR REPLACE FUNCTION {home}.{name} RETURNS {gives}
LANGUAGE {language} {kind} SECURITY DEFINER SET search_path = {home}, pg_temp AS $body${body}$body$
"""
_LARGEST_STEP = 1_000_000
"""So many ids may one commit of a tenant take."""

_SQL: dict[str, tuple[str, str]] = {
    # Direct members of the group are guests; whoever made the group is its administrator.
    "tidelake_guest()": (
        "boolean",
        """
        SELECT EXISTS (SELECT FROM pg_auth_members m
            JOIN pg_roles r ON r.oid = m.member JOIN pg_roles g ON g.oid = m.roleid
            WHERE r.rolname = session_user AND NOT m.admin_option
              AND g.rolname = '{group}')
        """,
    ),
    "tidelake_tenant_name()": (
        "text",
        "SELECT tenant_name FROM tidelake_tenant_role WHERE role_name = session_user",
    ),
    "tidelake_access()": (
        "text",
        "SELECT access FROM tidelake_tenant_role WHERE role_name = session_user",
    ),
    "tidelake_own_name(name text)": (
        "boolean",
        """
        SELECT coalesce(lower(name COLLATE "C") = t
            OR starts_with(lower(name COLLATE "C"), t || '__'), false)
        FROM tidelake_tenant_name() t
        """,
    ),
    # The snapshot that this transaction has made, and the one before it: ids between their
    # counters are this transaction's.
    "tidelake_new_ids()": (
        "bigint[]",
        """
        SELECT array(SELECT generate_series(b.next_catalog_id, a.next_catalog_id - 1)
            FROM (SELECT * FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1) h
            JOIN ducklake_snapshot a ON a.snapshot_id = h.snapshot_id
                AND a.xmin = pg_current_xact_id_if_assigned()::xid
            JOIN ducklake_snapshot b ON b.snapshot_id = h.snapshot_id - 1)
        """,
    ),
    "tidelake_own_schemas()": (
        "bigint[]",
        """
        SELECT array(SELECT s.schema_id FROM ducklake_schema s, tidelake_tenant_name() t
            WHERE lower(s.schema_name COLLATE "C") = t
               OR starts_with(lower(s.schema_name COLLATE "C"), t || '__'))
        """,
    ),
    # Whose schema a table is in last, that is whose it is.
    "tidelake_own_tables()": (
        "bigint[]",
        """
        SELECT array(SELECT DISTINCT t.table_id FROM ducklake_table t, tidelake_own_schemas() own
            WHERE t.schema_id = ANY (own) AND NOT EXISTS (SELECT FROM ducklake_table o
                WHERE o.table_id = t.table_id AND o.begin_snapshot > t.begin_snapshot
                  AND NOT o.schema_id = ANY (own))) || tidelake_new_ids()
        """,
    ),
    "tidelake_own_objects()": (
        "bigint[]",
        """
        SELECT tidelake_own_schemas() || tidelake_own_tables()
            || array(SELECT view_id FROM ducklake_view
                WHERE schema_id = ANY (tidelake_own_schemas()))
        """,
    ),
    "tidelake_own_mappings()": (
        "bigint[]",
        """
        SELECT array(SELECT m.mapping_id FROM ducklake_column_mapping m, tidelake_own_tables() own
            WHERE m.table_id = ANY (own) AND NOT EXISTS (SELECT FROM ducklake_column_mapping o
                WHERE o.mapping_id = m.mapping_id AND NOT o.table_id = ANY (own)))
        """,
    ),
    "tidelake_folder()": (
        "text",
        "SELECT 'tenants/' || tidelake_tenant_name() || '/'",
    ),
    # Requires: relative ones begin at a folder that is the tenant's own.
    "tidelake_own_path(path text, is_relative boolean)": (
        "boolean",
        r"""
        SELECT coalesce(path !~ '(^|[/\\])[.][.]([/\\]|$)' AND CASE
            WHEN is_relative THEN path !~ '^[/\\]' AND path !~ '^[A-Za-z][A-Za-z0-9+.-]*:'
            ELSE starts_with(path, (SELECT value FROM ducklake_metadata
                WHERE key = 'data_path' AND scope IS NULL) || tidelake_folder()) END, false)
        """,
    ),
    "tidelake_own_lake_path(path text, is_relative boolean)": (
        "boolean",
        """
        SELECT tidelake_own_path(path, is_relative)
            AND (NOT is_relative OR starts_with(path, tidelake_folder()))
        """,
    ),
    # Those who ask of others' tables hear nothing: whose an id is could be found out so.
    "tidelake_own_table(id bigint)": (
        "boolean",
        """
        SELECT EXISTS (SELECT FROM ducklake_table t JOIN ducklake_schema s USING (schema_id)
                WHERE t.table_id = id AND tidelake_own_name(s.schema_name))
            OR id = ANY (tidelake_new_ids())
        """,
    ),
    # An id that others' tables do not have, and nobody's will get.
    "tidelake_own_file(file_id bigint, of_table bigint)": (
        "boolean",
        """
        SELECT tidelake_own_table(of_table) AND (file_id IS NULL
            OR (file_id < (SELECT max(next_file_id) FROM ducklake_snapshot)
            AND NOT EXISTS (SELECT FROM ducklake_data_file f
                WHERE f.data_file_id = file_id AND f.table_id <> of_table)
            AND NOT EXISTS (SELECT FROM ducklake_delete_file f
                WHERE f.delete_file_id = file_id AND f.table_id <> of_table)
            AND NOT EXISTS (SELECT FROM ducklake_column_mapping m
                WHERE m.mapping_id = file_id AND m.table_id <> of_table)))
        """,
    ),
    "tidelake_own_schedule(file_id bigint)": (
        "boolean",
        """
        SELECT NOT EXISTS (SELECT FROM ducklake_data_file f
                WHERE f.data_file_id = file_id AND NOT f.table_id = ANY (tidelake_own_tables()))
            AND NOT EXISTS (SELECT FROM ducklake_delete_file f
                WHERE f.delete_file_id = file_id AND NOT f.table_id = ANY (tidelake_own_tables()))
            AND NOT EXISTS (SELECT FROM ducklake_files_scheduled_for_deletion s
                WHERE s.data_file_id = file_id
                  AND NOT tidelake_own_lake_path(s.path, s.path_is_relative))
        """,
    ),
    "tidelake_own_part(part_id bigint, of_table bigint)": (
        "boolean",
        """
        SELECT tidelake_own_table(of_table) AND (part_id IS NULL
            OR (part_id < (SELECT max(next_catalog_id) FROM ducklake_snapshot)
            AND NOT EXISTS (SELECT FROM ducklake_partition_info p
                WHERE p.partition_id = part_id AND p.table_id <> of_table)
            AND NOT EXISTS (SELECT FROM ducklake_sort_info s
                WHERE s.sort_id = part_id AND s.table_id <> of_table)))
        """,
    ),
    "tidelake_next_snapshot(id bigint, at timestamptz, version bigint, things bigint,"
    " files bigint)": (
        "boolean",
        f"""
        SELECT id = h.snapshot_id + 1 AND NOT h.xmin = pg_current_xact_id()::xid
            AND version BETWEEN h.schema_version AND h.schema_version + 1
            AND things BETWEEN h.next_catalog_id AND h.next_catalog_id + {_LARGEST_STEP}
            AND files BETWEEN h.next_file_id AND h.next_file_id + {_LARGEST_STEP}
            AND at BETWEEN h.snapshot_time
                AND greatest(h.snapshot_time, clock_timestamp() + interval '1 second')
        FROM (SELECT *, xmin FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1) h
        """,
    ),
    "tidelake_is_new_snapshot(id bigint)": (
        "boolean",
        """
        SELECT EXISTS (SELECT FROM ducklake_snapshot s WHERE s.snapshot_id = id
            AND s.xmin = pg_current_xact_id()::xid)
        """,
    ),
    # Of DuckLake's words about a commit those that are about some objects, or name a tenant's.
    "tidelake_words_of(said text, objects bigint[], tenant text)": (
        "text",
        r"""
        SELECT coalesce(string_agg(w[1], ',' ORDER BY place), '')
        FROM regexp_matches(said, '((?:"(?:[^"]|"")*"|[^",])+)', 'g') WITH ORDINALITY x (w, place)
        WHERE CASE WHEN w[1] ~ '^[A-Za-z_]+:[0-9]{{1,18}}$'
            THEN split_part(w[1], ':', 2)::bigint = ANY (objects)
            ELSE coalesce(substring(lower(w[1] COLLATE "C")
                from '^created_[a-z_]+:"([^"]*)"'), '') ~ ('^' || tenant || '(__|$)') END
        """,
    ),
    "tidelake_own_words(said text)": (
        "boolean",
        """
        SELECT coalesce(said, '') = tidelake_words_of(coalesce(said, ''),
            tidelake_own_objects(), tidelake_tenant_name())
        """,
    ),
}

_OPEN = r"""
DECLARE
    id text := coalesce(
        substring(name from '^ducklake_inlined_data_([0-9]{{1,18}})_[0-9]{{1,18}}$'),
        substring(name from '^ducklake_inlined_delete_([0-9]{{1,18}})$'));
BEGIN
    IF id IS NULL OR NOT id::bigint = ANY (tidelake_own_tables()) OR NOT EXISTS (
        SELECT FROM pg_class WHERE relnamespace = '{home}'::regnamespace AND relname = name
            AND NOT relrowsecurity)
    THEN
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tidelake_tenant_all ON %I USING ((SELECT NOT tidelake_guest())'
        ' OR (SELECT %s = ANY (tidelake_own_tables())))', name, id);
    EXECUTE format('GRANT SELECT ON %I TO {group}', name);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %I TO {writers}', name);
END
"""
"""Somebody who knows nothing of tenants may have made the table."""

_INLINE = r"""
DECLARE
    one constant text := '(?:"(?:[^"]|"")+"|row_id|file_id|begin_snapshot|end_snapshot) (?:BOOLEAN'
        '|SMALLINT|INTEGER|BIGINT|REAL|DOUBLE PRECISION|TIME|TIMETZ|INTERVAL|UUID|BYTEA|VARCHAR'
        '|DECIMAL[(][0-9]+,[ ]*[0-9]+[)])';
    found text[];
BEGIN
    found := regexp_match(statement, '^CREATE TABLE "(ducklake_inlined_(?:data_([0-9]{{1,18}})'
        '_[0-9]{{1,18}}|delete_([0-9]{{1,18}})))" [(]' || one || '(?:, ' || one || ')*[)]$');
    IF found IS NULL OR tidelake_access() NOT IN ('write', 'maintain')
        OR NOT coalesce(found[2], found[3])::bigint = ANY (tidelake_own_tables())
    THEN
        RAISE insufficient_privilege USING MESSAGE = 'a tenant makes no such table';
    END IF;
    EXECUTE statement;
    PERFORM tidelake_open_inlined(found[1]);
END
"""

_LANDED = """
DECLARE
    held json;
    used record;
BEGIN
    IF NOT tidelake_guest() THEN
        RETURN NULL;
    END IF;
    IF NOT EXISTS (SELECT FROM ducklake_snapshot_changes WHERE snapshot_id = NEW.snapshot_id) THEN
        RAISE insufficient_privilege USING MESSAGE = 'a commit says what it has done';
    END IF;
    SELECT quota::json INTO held FROM tidelake_tenant WHERE tenant_name = tidelake_tenant_name();
    SELECT coalesce(sum(size), 0) AS bytes, count(*) AS files INTO used FROM (
        SELECT file_size_bytes AS size FROM ducklake_data_file
            WHERE table_id = ANY (tidelake_own_tables())
        UNION ALL SELECT file_size_bytes FROM ducklake_delete_file
            WHERE table_id = ANY (tidelake_own_tables())) every_file;
    IF held IS NULL OR used.bytes > (held->>'bytes')::numeric
        OR used.files > (held->>'files')::numeric
    THEN
        RAISE insufficient_privilege USING MESSAGE = 'that is more than the quota';
    END IF;
    RETURN NULL;
END
"""

_HOLDERS = """
    SELECT count(*) FILTER (WHERE pg_terminate_backend(a.pid)) FROM pg_stat_activity a
    JOIN tidelake_tenant_role r ON r.role_name = a.usename
    WHERE a.datname = current_database() AND a.xact_start < clock_timestamp() - interval '60 s'
      AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND (
        l.locktype = 'advisory' OR l.mode IN ('ShareLock', 'ShareRowExclusiveLock',
            'ExclusiveLock', 'AccessExclusiveLock', 'RowExclusiveLock')))
"""
"""A tenant that stands in everybody's way: no commit takes a minute."""

OWN_CHANGES = """
CREATE OR REPLACE VIEW {home}.tidelake_own_changes WITH (security_barrier) AS
SELECT c.snapshot_id, own.words AS changes_made,
    CASE WHEN own.words = c.changes_made THEN c.author END AS author,
    CASE WHEN own.words = c.changes_made THEN c.commit_message END AS commit_message,
    CASE WHEN own.words = c.changes_made THEN c.commit_extra_info END AS commit_extra_info
FROM {home}.ducklake_snapshot_changes c CROSS JOIN LATERAL (SELECT {home}.tidelake_words_of(
    coalesce(c.changes_made, ''), (SELECT {home}.tidelake_own_objects()),
    (SELECT {home}.tidelake_tenant_name())) AS words) own
"""
"""What commits did, as far as it concerns the tenant; of those of others, nothing but that they
are there."""


def statements(home: str, group: str, writers: str) -> list[str]:
    """Make the functions, the trigger and the view. All names are quoted."""
    names = {"home": home, "group": group.strip('"'), "writers": writers}
    made = [
        _function(name, gives, body.format(**names), names, ("sql", "STABLE"))
        for name, (gives, body) in _SQL.items()
    ]
    code = ("plpgsql", "VOLATILE")
    spelled = {**names, "group": group}
    opened, inline = _OPEN.format(**spelled), _INLINE.format(**spelled)
    made.append(_function("tidelake_open_inlined(name text)", "void", opened, names, code))
    made.append(_function("tidelake_make_inlined(statement text)", "void", inline, names, code))
    made.append(_function("tidelake_commit_landed()", "trigger", _LANDED, names, code))
    made.append(_function("tidelake_end_holders()", "bigint", _HOLDERS, names, ("sql", "VOLATILE")))
    made.append(OWN_CHANGES.format(**names))
    return made


def _function(
    name: str, gives: str, body: str, names: dict[str, str], spoken: tuple[str, str]
) -> str:
    language, kind = spoken
    return _HEAD.format(name=name, gives=gives, body=body, language=language, kind=kind, **names)
