"""Errors in the language of whoever gets them: hints that name Python's methods name commands, or
statements of SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import overload

_NAME = r"\(f?['\"]?([^'\"(),]*)['\"]?[^()]*\)"
_RULES: tuple[tuple[str, str, str], ...] = (
    # A call of Python's, the command that does it, and the statement.
    (r"lake\.untag" + _NAME, r"tidelake tag \1 --delete", r"CALL untag('\1')"),
    (r"lake\.undrop" + _NAME, r"tidelake undrop \1", r"CALL undrop('\1')"),
    (r"lake\.drop_frozen" + _NAME, r"tidelake freeze \1 --drop", r"tidelake freeze \1 --drop"),
    (r"lake\.mirrored\([^()]*\)\.diff\(\)", "tidelake mirror diff", "tidelake mirror diff"),
    (
        r"lake\.mirror\('([^']*[^\w.'][^']*)'\)",
        r"tidelake mirror start '\1'",
        r"tidelake mirror start '\1'",
    ),
    (r"lake\.mirror" + _NAME, r"tidelake mirror start \1", r"tidelake mirror start \1"),
    (r"lake\.mirrors\(\)", "tidelake mirror status", "tidelake mirror status"),
    (r"lake\.sync_mirrors\(\)", "tidelake mirror sync", "CALL sync_mirrors()"),
    (r"lake\.create_schema" + _NAME, r"tidelake sql 'CREATE SCHEMA \1'", r"CREATE SCHEMA \1"),
    (r"lake\.cleanup\('([^']+)'\)", r"tidelake cleanup --older-than '\1'", r"CALL cleanup('\1')"),
    (r"lake\.verify\(deep=True\)", "tidelake verify --deep", "CALL verify(deep => true)"),
    (
        r"lake\.verify\(fingerprint=True\)",
        "tidelake verify --fingerprint",
        "CALL verify(fingerprint => true)",
    ),
    (r"lake\.finish_erasures\(\)", "tidelake erase --finish", "tidelake erase --finish"),
    (r"lake\.backup\([^()]*\)", "tidelake backup PATH", "tidelake backup PATH"),
    (r"lake\.shares\(\)", "tidelake share", "tidelake share"),
    (r"lake\.tenants\(\)", "tidelake tenants", "tidelake tenants"),
    (r"lake\.consumer_group\([^()]*\)", "lake.consumer_group(…) in Python", "a consumer in Python"),
    (r"lake\.tables\(\)", "tidelake tables", "SHOW TABLES"),
    (r"lake\.views\(\)", "tidelake tables", "FROM tables()"),
    (r"t\.schema\b", "tidelake schema show TABLE", "DESCRIBE t"),
    (
        r"with lake\.transaction\([^()]*\)(?: as tx: tx\.sql\([^()]*\))?",
        "a transaction in Python: with lake.transaction",
        "a transaction in Python: with lake.transaction",
    ),
    (r"lake\.transaction\([^()]*\)", "a transaction in Python", "a transaction in Python"),
    (
        r"\bmerge\((?:df, )?on=\"?(\w+|…)\"?\)",
        r"tidelake merge TABLE FILES --on \1",
        r"MERGE INTO t USING … ON t.\1 = …",
    ),
    (
        r"\bexpire\(older_than=\"([^\"]+)\"\)",
        r"tidelake expire --older-than '\1'",
        r"CALL expire('\1')",
    ),
    (
        r"\bexpire\(keep_last=(\d+)\)",
        r"tidelake expire --keep-last \1",
        r"CALL expire(keep_last => \1)",
    ),
    (r"\bevolve\([^()]*\)", "tidelake schema evolve TABLE …", "ALTER TABLE t …"),
    (r"lake\.log\(\)", "tidelake log", "FROM snapshots()"),
    (r"t\.snapshots\(\)", "tidelake log TABLE", "FROM snapshots('t')"),
    (r"lake\.(compact|expire|cleanup|verify)\([^()]*\)", r"tidelake \1", r"CALL \1()"),
    (r"t\.compact\(\)", "tidelake compact TABLE", "CALL compact('t')"),
    (
        r"""t\.set_event_time\(['"](\w+)['"], key=\[?['"](\w+)['"]\]?[^()]*\)""",
        r"tidelake declare TABLE --event-time \1 --key \2",
        r"CALL set_event_time('t', '\1', key => '\2')",
    ),
    (
        r"t\.set_event_time\(None\)",
        "tidelake declare TABLE --no-event-time",
        "CALL set_event_time('t', NULL)",
    ),
    (
        r"t\.set_coverage\(None\)",
        "tidelake declare TABLE --no-coverage",
        "CALL set_coverage('t', NULL)",
    ),
    (
        r"t\.set_coverage\([^()]*\)",
        "tidelake declare TABLE --bucket …",
        "CALL set_coverage('t', bucket => …)",
    ),
    (
        r"t\.set_calendar\(None\)",
        "tidelake calendar TABLE --drop",
        "CALL set_calendar('t', NULL)",
    ),
    (
        r"t\.set_calendar\(\"weekdays\"\)(?:, or a Calendar)?",
        "tidelake calendar TABLE --weekdays, or another of its options",
        "CALL set_calendar('t', 'weekdays')",
    ),
    (r"t\.wait_complete\([^()]*\)", "tidelake wait TABLE", "tidelake wait TABLE"),
    (
        r"t\.set_sorting\([^()]*\)",
        "tidelake declare TABLE --sort-by …",
        "ALTER TABLE t SET SORTED BY (…)",
    ),
    (
        r"t\.rollup\(every=\"(\w+)\"(?:, keep=(\d+))?\)",
        r"tidelake rollup TABLE --every \1",
        r"CALL rollup('t', every => '\1')",
    ),
    (
        r"t\.rollup\(as_of=\"([^\"]+)\"\)",
        r"tidelake rollup TABLE --as-of \1",
        r"CALL rollup('t', '\1')",
    ),
    (r"t\.rollups\(\)", "tidelake rollup TABLE --list", "tidelake rollup TABLE --list"),
    (
        r"t\.rollback\([^()]*\)",
        "tidelake rollback TABLE --to …",
        "CALL rollback('t', …)",
    ),
    (r"t\.diff\(a, b\)", "tidelake diff A B TABLE", "FROM diff('t', a, b)"),
    (r"t\.changes\(since\)", "tidelake changes TABLE --since …", "FROM changes('t', …)"),
    (r"t\.missing\([^()]*\)", "tidelake gaps TABLE", "FROM missing('t')"),
    (
        r"t\.recompute_coverage\(\)",
        "tidelake sql \"CALL recompute_coverage('TABLE')\"",
        "CALL recompute_coverage('t')",
    ),
    (r"t\.delete\((.+)\)", r"tidelake delete TABLE --where \1", r"DELETE FROM t WHERE \1"),
    (r"t\.append\([^()]*\)", "tidelake append TABLE FILES", "INSERT INTO t …"),
    (r"lake\.sql\(\"SELECT \* FROM ([^\"]+)\"\)", r"tidelake sql 'FROM \1'", r"FROM \1"),
    (r"lake\.sql\([^()]*\)", "tidelake sql", "a statement"),
    (r"lake\.table\([^()]*\)", "its name", "its name"),
    (r", or connect without (?:create=False|read_only=True)", "", ""),
    (r"\bsync\(\)", "tidelake mirror sync", "CALL sync_mirrors()"),
    (r"override_data_path=True", "--override-data-path", "--override-data-path"),
    (r"data_path=(['\"])([^'\"]+)\1", r"--data-path \2", r"--data-path \2"),
    (r"known_at=…", "--known-at …", "known_at => …"),
    (r"force=True", "--force", "force => true"),
    (r"older_than=['\"]([^'\"]+)['\"]", r"--older-than '\1'", r"older_than => '\1'"),
    (r"known_at\(…\)", "--known-at …", "AT (VERSION => …)"),
    (r"pass one to connect\(\)", "say --catalog sqlite:///lake.db", "say --catalog"),
    (r"\bfinish_erasures\(\)", "tidelake erase --finish", "tidelake erase --finish"),
    (r"create=True makes it", "--create makes it", "CREATE TABLE makes it"),
    (r"\baccept_foreign\(\)", "tidelake mirror accept", "tidelake mirror accept"),
    (r"\breject_foreign\(\)", "tidelake mirror reject", "tidelake mirror reject"),
    (r"\brecover\(from_delta=\[…\]\)", "--from …", "tidelake recover --from …"),
    (r"\bimport_delta\(…, places=\[…\]\)", "--place …", "tidelake import --place …"),
    (r"data_sets=\[…\]", "--data-set …", "tidelake erase --data-set …"),
    (r"\bas_=\"([^\"]+)\"", r"--as \1", r"as_ => '\1'"),
    (r"t\.scan\(where=…\)", "tidelake scan TABLE --where …", "SELECT … FROM t WHERE …"),
    (
        r"t\.as_of\((?:\"([^\"]+)\"|…)\)\.changes_of_belief\(since=…\)",
        "tidelake diff TABLE --late --as-of … --since …",
        "FROM changes_of_belief('t', …)",
    ),
)
_OPTIONS = (
    *("where", "reason", "columns", "entity", "overlap", "bucket", "resume", "mode", "message"),
    *("new_columns", "bad_records", "changed", "share_data_path", "replace", "tombstone", "on"),
)
"""Arguments of Python that are options of a command by the same name."""
_ARGUMENT = re.compile(rf"\b({'|'.join(_OPTIONS)})=(True\b|\[…\]|…|\"[^\"]*\"|\[\"\w+\"\])")
_COMMANDS = [(re.compile(python), command) for python, command, _ in _RULES]
_STATEMENTS = [(re.compile(python), statement) for python, _, statement in _RULES]
_NAMED = re.compile(r"^([a-z]+(?:_[a-z]+)*)=(?=['\"\[\d(-])")
_PLACES = {"known_at", "as_of", "since", "until", "start", "end", "older_than", "moment", "to"}
"""Arguments of Python that commands take by their place, or under other names."""
_CARET = re.compile(r"^\s*(?:\^|LINE \d+:.*)\s*$")


@overload
def in_commands(hint: str) -> str: ...


@overload
def in_commands(hint: str | None) -> str | None: ...


def in_commands(hint: str | None) -> str | None:
    """For those who type commands."""
    return hint and _ARGUMENT.sub(_option, _told(hint, _COMMANDS))


def as_option(message: str, typed: Sequence[str]) -> str:
    """A message that begins with an argument of Python begins with the option that was typed; with
    the value alone if it was typed without an option."""
    found = _NAMED.match(message)
    if found is None:
        return message
    option = f"--{found[1].replace('_', '-')}"
    if any(each.partition("=")[0] == option for each in typed):
        return f"{option} {message[found.end() :]}"
    return message[found.end() :] if found[1] in _PLACES else message


def _option(found: re.Match[str]) -> str:
    name, value = found.groups()
    said = value.strip('[]"')
    told = "" if said == "True" else f" '{said}'" if " " in said else f" {said}"
    return f"--{name.replace('_', '-')}{told}"


def in_sql(hint: str | None) -> str | None:
    """For those who type statements."""
    return hint and _told(hint, _STATEMENTS)


def in_one_line(message: str) -> str:
    """DuckDB draws where something is wrong; a line has no place for that."""
    return " ".join(line.strip() for line in message.splitlines() if not _CARET.match(line))


def _told(hint: str, rules: list[tuple[re.Pattern[str], str]]) -> str:
    for python, instead in rules:
        hint = python.sub(instead, hint)
    return hint
