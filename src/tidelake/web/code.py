"""The same answer from a program, in SQL, in a shell and on Spark: what "copy as" copies."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from tidelake.model.names import quote
from tidelake.web.state import State, moment_of


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of code. `language` is what people call it."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Where:
    """How a lake is opened; its address has no password in it."""

    url: str


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _moment_sql(moment: int | str) -> str:
    return str(moment) if isinstance(moment, int) else _literal(moment)


def clauses(as_of: str, known_at: str) -> str:
    """Both clocks, as SQL says them after a table."""
    known = moment_of(known_at)
    told = [] if not as_of else [f"FOR VALID_TIME AS OF TIMESTAMPTZ {_literal(as_of)}"]
    told += [] if known is None else [f"FOR SYSTEM_TIME AS OF {_moment_sql(known)}"]
    return "".join(f" {each}" for each in told)


def select_sql(state: State, order: Sequence[str] = (), limit: int | None = None) -> str:
    """The rows of the table at the point of both clocks."""
    lines = [f"SELECT * FROM {state.table}{clauses(state.as_of, state.known_at)}"]
    lines += [f"WHERE ({state.where}\n)"] if state.where else []
    lines += [f"ORDER BY {', '.join(order)}"] if order else []
    lines += [f"LIMIT {limit}"] if limit is not None else []
    return "\n".join(lines)


def _python(lake: Where, *lines: str) -> Snippet:
    opened = f"import tidelake\n\nlake = tidelake.connect({lake.url!r})"
    return Snippet("Python", "\n".join([opened, *lines]))


def _shell(lake: Where, *words: str) -> Snippet:
    return Snippet("CLI", " ".join(["tidelake", "--catalog", shlex.quote(lake.url), *words]))


def _options(state: State) -> list[str]:
    """Both clocks and the condition, as the shell takes them."""
    given = {"--as-of": state.as_of, "--known-at": state.known_at, "--where": state.where}
    return [word for name, text in given.items() if text for word in (name, shlex.quote(text))]


def _spark(lake: Where, table: str, options: dict[str, str], then: str = "") -> Snippet:
    told = {"catalog": lake.url, **{name: text for name, text in options.items() if text}}
    lines = "".join(f'\n    .option("{name}", {json.dumps(text)})' for name, text in told.items())
    load = f"\n    .load({json.dumps(table)})"
    return Snippet(
        "Spark",
        f'frame = (\n    spark.read.format("tidelake"){lines}{load}{then}\n)\nframe.show()',
    )


def _given(**values: object) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items() if value)


def scan(lake: Where, state: State) -> list[Snippet]:
    """The rows of a table at a point of both clocks."""
    known = moment_of(state.known_at)
    given = _given(where=state.where, as_of=state.as_of, known_at=known)
    then = f"\n    .where({json.dumps(state.where)})" if state.where else ""
    return [
        _python(lake, f"lake.table({state.table!r}).scan({given}).to_pandas()"),
        Snippet("SQL", select_sql(state)),
        _shell(lake, "scan", shlex.quote(state.table), *_options(state)),
        _spark(lake, state.table, {"as_of": state.as_of, "known_at": state.known_at}, then),
    ]


def history_of_key(lake: Where, state: State, key: dict[str, object]) -> list[Snippet]:
    """All that was ever answered about a key."""
    given = next(iter(key.values())) if len(key) == 1 else key
    call = f"lake.table({state.table!r}).history({given!r})"
    words = [str(given)] if len(key) == 1 else [f"{name}={value}" for name, value in key.items()]
    struct = ", ".join(f"{quote(name)}: {_value(value)}" for name, value in key.items())
    named = _value(given) if len(key) == 1 else f"{{{struct}}}"
    sql = f"SELECT * FROM history({_literal(state.table)}, key => {named})"
    return [
        _python(lake, f"{call}.to_pandas()"),
        Snippet("SQL", sql),
        _shell(lake, "history", shlex.quote(state.table), *map(shlex.quote, words)),
        Snippet("Spark", _opened_on_spark(lake, f"{call}.to_spark().show()")),
    ]


def _value(value: object) -> str:
    return str(value) if isinstance(value, int | float) else _literal(str(value))


def _opened_on_spark(lake: Where, line: str) -> str:
    opened = f'lake = tidelake.connect({lake.url!r}, engine="spark", spark=spark)'
    return f"import tidelake\n\n{opened}\n{line}"


def comparison_sql(state: State, key: Sequence[str], columns: Sequence[str], time: str) -> str:
    """The keys whose answer differs between two points. A fact is late that held at the first
    point already, and was not known then."""
    old = state.table + clauses(state.from_as_of, state.from_known_at)
    new = state.table + clauses(state.as_of, state.known_at)
    others = [each for each in columns if each not in key]
    first, time = quote(key[0]), quote(time)
    pairs = [(f"a.{quote(each)}", f"b.{quote(each)}") for each in others]
    differs = " OR ".join(f"{a} IS DISTINCT FROM {b}" for a, b in pairs) or "false"
    change = (
        f"CASE WHEN a.{first} IS NULL THEN 'appeared' WHEN b.{first} IS NULL THEN 'vanished'"
        " ELSE 'changed' END AS change"
    )
    late = (
        f"coalesce(b.{time} <= TIMESTAMPTZ {_literal(state.from_as_of)}, false) AS late"
        if state.from_as_of
        else "false AS late"
    )
    keys = {each: f"coalesce(a.{quote(each)}, b.{quote(each)})" for each in key}
    shown = [f"{both} AS {quote(each)}" for each, both in keys.items()]
    for each, (a, b) in zip(others, pairs, strict=True):
        shown += [f"{a} AS {quote(each + '_before')}", f"{b} AS {quote(each + '_after')}"]
    on = " AND ".join(f"a.{quote(each)} = b.{quote(each)}" for each in key)
    return (
        f"SELECT {change}, {late},\n       {', '.join(shown)}\n"
        f"FROM {old} AS a\nFULL JOIN {new} AS b\n  ON {on}\n"
        f"WHERE a.{first} IS NULL OR b.{first} IS NULL OR {differs}\n"
        f"ORDER BY {', '.join(keys.values())}"
    )


def log(lake: Where, state: State) -> list[Snippet]:
    """What every snapshot did."""
    of = _literal(state.table) if state.table else ""
    on = f"lake.table({state.table!r})" if state.table else "lake"
    named = [shlex.quote(state.table)] if state.table else []
    return [
        _python(lake, f"for entry in {on}.log(limit=50):", "    print(entry)"),
        Snippet("SQL", f"SELECT * FROM snapshots({of})\nORDER BY snapshot_id DESC LIMIT 50"),
        _shell(lake, "log", *named, "--limit", "50"),
        Snippet("Spark", _opened_on_spark(lake, f"{on}.log(limit=50)")),
    ]


def diff(lake: Where, state: State) -> list[Snippet]:
    """What differs between two snapshots."""
    a, b = moment_of(state.a), moment_of(state.b)
    on = f"lake.table({state.table!r})" if state.table else "lake"
    ends = ", ".join(repr(each) for each in (a, b) if each is not None)
    words = [shlex.quote(str(each)) for each in (a, b) if each is not None]
    named = [shlex.quote(state.table)] if state.table else []
    return [
        _python(lake, f"print({on}.diff({ends}))"),
        Snippet("SQL", _diff_sql(state.table, a, b)),
        _shell(lake, "diff", *words, *named),
        Snippet("Spark", _opened_on_spark(lake, f"print({on}.diff({ends}))")),
    ]


def _diff_sql(table: str, a: int | str | None, b: int | str | None) -> str:
    """Of the whole lake, what the snapshots in between did."""
    if not table:
        return f"SELECT * FROM snapshots()\nWHERE snapshot_id > {_moment_sql(a or 0)}"
    ends = ", ".join(_moment_sql(each) for each in (a, b) if each is not None)
    return f"SELECT * FROM diff({_literal(table)}, {ends})"


def files(lake: Where, state: State) -> list[Snippet]:
    """Which files a condition leaves."""
    known = moment_of(state.known_at)
    given = _given(where=state.where, known_at=known)
    call = f"lake.table({state.table!r}).scan({given})"
    return [
        _python(lake, f"print({call}.explain())"),
        Snippet("SQL", f"EXPLAIN {select_sql(state)}" if state.where else _files_sql(state)),
        _shell(lake, "scan", shlex.quote(state.table), "--explain", *_options(state)),
        Snippet("Spark", _opened_on_spark(lake, f"print({call}.explain())")),
    ]


def _files_sql(state: State) -> str:
    known = moment_of(state.known_at)
    at = "" if known is None else f", known_at => {_moment_sql(known)}"
    return f"SELECT * FROM table_files({_literal(state.table)}{at})"


def coverage(lake: Where, state: State, calendar: str = "") -> list[Snippet]:
    """Which buckets are covered; `calendar` is Python's word for the calendar."""
    known = moment_of(state.known_at)
    given = _given(entity=state.entity, start=state.start, end=state.end, known_at=known)
    expected = f"calendar={calendar}" if calendar else ""
    call = f"lake.table({state.table!r}).coverage({', '.join(filter(None, (given, expected)))})"
    told = {"entity": state.entity, "start": state.start, "end": state.end}
    words = [
        word for name, text in told.items() if text for word in (f"--{name}", shlex.quote(text))
    ]
    words += ["--known-at", shlex.quote(state.known_at)] if state.known_at else []
    if state.calendar:
        weekdays = state.calendar == "weekdays"
        words += ["--weekdays"] if weekdays else ["--sessions", shlex.quote(state.calendar)]
    told["calendar"] = state.calendar
    arguments = [_literal(state.table)]
    arguments += [f"{name} => {_literal(text)}" for name, text in told.items() if text]
    arguments += [] if known is None else [f"known_at => {_moment_sql(known)}"]
    return [
        _python(lake, f"print({call})"),
        Snippet("SQL", f"SELECT * FROM coverage({', '.join(arguments)})"),
        _shell(lake, "coverage", shlex.quote(state.table), *words),
        Snippet("Spark", _opened_on_spark(lake, f"print({call})")),
    ]


def query(lake: Where, state: State) -> list[Snippet]:
    """What the editor asks."""
    known = moment_of(state.known_at)
    given = _given(as_of=state.as_of, known_at=known)
    text = json.dumps(state.sql, ensure_ascii=False)
    if "\n" in state.sql and '"""' not in state.sql and "\\" not in state.sql:
        text = f'"""\n{state.sql}\n"""'
    call = f"lake.sql({text}{', ' + given if given else ''})"
    clocks = [
        word
        for name, value in (("--as-of", state.as_of), ("--known-at", state.known_at))
        if value
        for word in (name, shlex.quote(value))
    ]
    return [
        _python(lake, f"{call}.to_pandas()"),
        Snippet("SQL", state.sql),
        _shell(lake, "sql", shlex.quote(state.sql), *clocks),
        Snippet("Spark", _opened_on_spark(lake, f"{call}.to_spark().show()")),
    ]
