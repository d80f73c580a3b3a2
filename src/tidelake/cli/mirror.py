"""Delta logs beside tables: `mirror` and what can be done with one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import (
    Function,
    Options,
    global_options,
    pass_options,
    signature_options,
)
from tidelake.cli.watch import repeat, watch_option

if TYPE_CHECKING:
    from tidelake.delta.mirror.mirror import DeltaMirror
    from tidelake.delta.values.reports import MirrorDiff
    from tidelake.model.mirror import MirrorStatus


@click.group()
def mirror() -> None:
    """Keep Delta logs beside tables.

    Keep Delta logs beside tables, so that readers of Delta see what the lake has committed.

    \b
    Example:
        tidelake mirror start prices
        tidelake mirror status
        tidelake mirror diff --table prices
    """


def _one(function: Function) -> Function:
    """A table, in its place or as --table."""
    return click.argument("table", required=False, shell_complete=lake_names.tables)(
        _named(function)
    )


_named = click.option(
    "--table", "named", metavar="TABLE", help="The table, if not given as an argument."
)


def _chosen(table: str | None, named: str | None) -> str:
    if (table is None) == (named is None):
        raise click.UsageError("name one table")
    return table or named or ""


@mirror.command()
@_one
@click.option("--history", is_flag=True, help="Make every snapshot a version, not only the newest.")
@signature_options
@global_options
@pass_options
def start(
    options: Options,
    table: str | None,
    named: str | None,
    history: bool,
    author: str | None,
    message: str | None,
) -> None:
    """Publish a table as a Delta table, from now on.

    Publish TABLE as a Delta table beside its files, from now on with every commit. A mirror
    that was stopped goes on in its log.

    \b
    Example:
        tidelake mirror start prices
        tidelake mirror start prices --history
    """
    with options.writable() as lake:
        name = _chosen(table, named)
        found = lake.mirror(name, history=history, author=author, message=message).status
    _show(options, [found])


@mirror.command()
@_one
@watch_option
@global_options
@pass_options
def status(options: Options, table: str | None, named: str | None, watch: float | None) -> None:
    """Show mirrors and how far behind they are.

    Show all mirrors, or that of TABLE: what is published, what stands in the way, and how far
    behind the lake it is.

    \b
    Example:
        tidelake mirror status
        tidelake mirror status prices --json
        tidelake mirror status --watch 5
    """
    one = None if table is None and named is None else _chosen(table, named)
    with options.lake() as lake:
        repeat(
            lambda: _show(options, lake.mirrors() if one is None else [lake.mirrored(one).status]),
            watch,
        )


@mirror.command()
@_one
@global_options
@pass_options
def sync(options: Options, table: str | None, named: str | None) -> None:
    """Publish what has not been published yet.

    Publish what has not been published yet, of all mirrors or of that of TABLE: commits of
    DuckDB, and what a crash has left.

    \b
    Example:
        tidelake mirror sync
    """
    with options.writable() as lake:
        if table is None and named is None:
            found = lake.sync_mirrors()
        else:
            one = lake.mirrored(_chosen(table, named))
            one.sync()
            found = [one.status]
    _show(options, found)


def _do(options: Options, table: str, what: Callable[[DeltaMirror], object]) -> None:
    with options.writable() as lake:
        one = lake.mirrored(table)
        what(one)
        found = one.status
    _show(options, [found])


@mirror.command()
@_one
@global_options
@pass_options
def stop(options: Options, table: str | None, named: str | None) -> None:
    """Publish no more of TABLE. Its log stays as it is.

    \b
    Example:
        tidelake mirror stop prices
    """
    _do(options, _chosen(table, named), lambda one: one.stop())


@mirror.command()
@_one
@global_options
@pass_options
def accept(options: Options, table: str | None, named: str | None) -> None:
    """Do in the lake what others did in the log.

    Do in the lake what somebody else has done in the log of TABLE, and go on from there.

    \b
    Example:
        tidelake mirror accept prices
    """
    _do(options, _chosen(table, named), lambda one: one.accept_foreign())


@mirror.command()
@_one
@global_options
@pass_options
def reject(options: Options, table: str | None, named: str | None) -> None:
    """Take back what others did in the log.

    Take back what somebody else has done in the log of TABLE, with one more version.

    \b
    Example:
        tidelake mirror reject prices
    """
    _do(options, _chosen(table, named), lambda one: one.reject_foreign())


@mirror.command()
@_one
@click.option("--log-dir", metavar="PATH", help="Another place to find the log, such as a copy.")
@click.option(
    "--lag-threshold-seconds",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help="How late the log may be.",
)
@click.option(
    "--max-drift-files",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many files may differ.",
)
@click.option("--format", "form", type=click.Choice(["human", "json"]), default="human")
@click.option("--metrics-format", type=click.Choice(["none", "json", "prometheus"]), default="none")
@click.option("--output", metavar="FILE", help="Write to this file instead of printing.")
@global_options
@click.pass_context
@pass_options
def diff(
    options: Options,
    context: click.Context,
    /,
    table: str | None,
    named: str | None,
    log_dir: str | None,
    lag_threshold_seconds: float,
    max_drift_files: int,
    form: str,
    metrics_format: str,
    output: str | None,
) -> None:
    """Compare a table with its Delta log.

    Compare TABLE with its Delta log as it lies there: versions, protocol, columns, files with
    their sizes, rows and deletes. Ends with 0 if they are the same, 2 if they differ, 3 if the log
    is only late, and 1 if that cannot be told. Changes nothing.

    \b
    Example:
        tidelake mirror diff --table prices
        tidelake mirror diff --table prices --metrics-format prometheus \\
            --output prices.prom
    """
    with options.lake() as lake:
        found = lake.mirrored(_chosen(table, named)).diff(
            log_dir,
            lag_threshold_seconds=lag_threshold_seconds,
            max_drift_files=max_drift_files,
        )
    text = _report(found, "json" if options.as_json else form, metrics_format)
    if output is None:
        render.line(text)
    else:
        Path(output).write_text(text + "\n")
    context.exit(found.exit_code)


def _report(found: MirrorDiff, form: str, metrics: str) -> str:
    """The metrics alone, if they are asked for; else the report."""
    if metrics == "prometheus":
        from tidelake.delta.values.reports import prometheus

        return prometheus(found).rstrip("\n")
    if metrics == "json":
        return json.dumps({"table": found.table, **found.metrics()}, indent=2)
    if form == "json":
        return json.dumps(found.as_dict(), indent=2, ensure_ascii=False)
    return str(found)


def _show(options: Options, found: Sequence[MirrorStatus]) -> None:
    if options.as_json:
        render.document([asdict(each) for each in found])
        return
    names = ("table", "status", "version", "published", "behind", "lag", "reason")
    render.grid(
        names,
        [
            (
                each.table,
                each.status,
                each.version,
                each.published,
                each.behind,
                f"{each.lag_seconds:.1f} s",
                each.reason or "",
            )
            for each in found
        ],
    )
