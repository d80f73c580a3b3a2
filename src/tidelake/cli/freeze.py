"""Data sets that stay: `freeze`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import render
from tidelake.cli.program import (
    Options,
    global_options,
    known_at_option,
    pass_options,
    signature_options,
)
from tidelake.cli.render import result

if TYPE_CHECKING:
    from tidelake.datasets.data_set import DataSet


@click.command()
@click.argument("name", required=False)
@click.argument("query", required=False)
@click.option("--as-of", metavar="TIME", help="Event time for the tables that have one.")
@known_at_option
@click.option("--export", metavar="FOLDER", help="Write the set NAME as Parquet files.")
@click.option("--verify", is_flag=True, help="Read the set NAME and compare its fingerprint.")
@click.option("--drop", is_flag=True, help="End the set NAME.")
@signature_options
@global_options
@pass_options
def freeze(options: Options, /, name: str | None, query: str | None, **given: Any) -> None:
    """Keep the rows of QUERY for ever, as the data set NAME. Without QUERY, tell what NAME is;
    without NAME, list all data sets.

    \b
    Example:
        tidelake freeze training-2024-03 "FROM prices" --as-of 2024-03-31 \\
            --known-at 12
        tidelake freeze
        tidelake freeze training-2024-03 --verify
        tidelake freeze training-2024-03 --export s3://bucket/training
        tidelake freeze training-2024-03 --drop
    """
    _check(name, query, given)
    if name is None:
        with options.lake() as lake:
            _list(options, lake.frozen())
    elif query is not None:
        terms = {key: given[key] for key in ("as_of", "known_at", "author", "message")}
        with options.writable() as lake:
            _show(options, lake.freeze(name, query, **terms))
    elif given["drop"]:
        with options.writable() as lake:
            done = lake.drop_frozen(name, author=given["author"], message=given["message"])
        result.show(done, options.as_json)
    else:
        with options.lake() as lake:
            _read(options, lake.frozen(name), given)


def _check(name: str | None, query: str | None, given: dict[str, Any]) -> None:
    wanted = [key for key in ("export", "verify", "drop") if given[key]]
    if len(wanted) + (query is not None) > 1:
        raise click.UsageError("QUERY, --export, --verify and --drop exclude each other")
    if wanted and name is None:
        raise click.UsageError(f"--{wanted[0]} goes with NAME")
    if query is None and (given["as_of"] or given["known_at"]):
        raise click.UsageError("--as-of and --known-at go with QUERY")
    if query is None and not given["drop"] and (given["author"] or given["message"]):
        raise click.UsageError("--author and --message go with QUERY, or with --drop")


def _read(options: Options, found: DataSet, given: dict[str, Any]) -> None:
    if given["export"]:
        done = found.export(given["export"])
        _told(options, asdict(done), str(done))
    elif given["verify"]:
        report = found.verify()
        words = "unchanged" if report.ok else "\n".join(map(str, report.problems))
        _told(options, report.as_dict(), f"{found.name}: {words}")
        if not report.ok:
            raise click.exceptions.Exit(1)
    else:
        _show(options, found)


def _show(options: Options, found: DataSet) -> None:
    _told(options, asdict(found.facts), str(found.facts))


def _list(options: Options, found: list[DataSet]) -> None:
    facts = [each.facts for each in found]
    if options.as_json:
        render.document({"data_sets": [asdict(each) for each in facts]})
        return
    names = ["data set", "rows", "as of", "known at", "made (UTC)", "fingerprint", "query"]
    rows = [
        [
            each.name,
            each.rows,
            each.as_of or "",
            each.known_at,
            f"{each.made_at:%Y-%m-%d %H:%M:%S}",
            each.fingerprint[:12],
            each.query,
        ]
        for each in facts
    ]
    render.grid(names, rows)


def _told(options: Options, document: dict[str, object], line: str) -> None:
    if options.as_json:
        render.document(document)
    else:
        render.line(line)
