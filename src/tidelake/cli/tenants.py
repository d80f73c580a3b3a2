"""Who shares the lake: `tenants`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from tidelake.cli import render
from tidelake.cli.program import Options, author_option, global_options, pass_options
from tidelake.drawing.amounts import quantity
from tidelake.errors import NotFound

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.tenants.values import TenantState

_LIMITS = ("bytes", "files", "rows_per_commit", "snapshots")


@click.command()
@click.option("--create", metavar="NAME", help="Make a new tenant.")
@click.option("--drop", metavar="NAME", help="Drop a tenant with all that it has.")
@click.option("--dry-run", is_flag=True, help="With --drop: say what would be dropped.")
@click.option("--set", "changed", metavar="NAME", help="Change the settings of a tenant.")
@click.option(
    "--quota",
    "quotas",
    metavar="WHAT=N",
    multiple=True,
    help="With --set: the most bytes, files, rows_per_commit or snapshots; without N no limit.",
)
@click.option("--retention", metavar="SPAN", help="With --set: how long its past is kept at least.")
@author_option
@global_options
@pass_options
def tenants(
    options: Options,
    /,
    create: str | None,
    drop: str | None,
    dry_run: bool,
    changed: str | None,
    quotas: tuple[str, ...],
    retention: str | None,
    author: str | None,
) -> None:
    """List, make, limit and drop tenants.

    List the tenants: their tables, rows, files and bytes, the most they may have, and what they
    did last.

    \b
    Example:
        tidelake tenants --create acme
        tidelake tenants --set acme --quota bytes=1000000000 \\
            --quota snapshots= --retention 30d
        tidelake tenants
        tidelake tenants --drop acme --dry-run
    """
    if dry_run and drop is None:
        raise click.UsageError("--dry-run goes with --drop")
    if sum(each is not None for each in (create, drop, changed)) > 1:
        raise click.UsageError("--create, --drop and --set exclude each other")
    if (changed is None) != (not quotas and retention is None):
        raise click.UsageError("--set NAME goes with --quota or --retention")
    if changed is not None:
        _set(options, changed, quotas, retention, author)
    elif create is not None:
        with options.writable() as lake:
            lake.create_tenant(create, author=author).close()
        _told(options, {"created": create}, f"created tenant {create}")
    elif drop is not None:
        with options.lake() if dry_run else options.writable() as lake:
            gone = lake.drop_tenant(drop, dry_run=dry_run, author=author)
        verb = "would drop" if dry_run else "dropped"
        _told(
            options,
            asdict(gone),
            f"{verb} tenant {drop}: {quantity(len(gone.tables), 'table')},"
            f" {quantity(gone.rows, 'row')}",
        )
    else:
        with options.lake() as lake:
            _list(options, lake.tenants())


def _set(
    options: Options,
    name: str,
    quotas: tuple[str, ...],
    retention: str | None,
    author: str | None,
) -> None:
    with options.writable() as lake:
        state = _find(lake, name)
        if quotas:
            quota = replace(state.quota, **dict(map(_limit, quotas)))
            lake.set_quota(name, quota, author=author)
        if retention is not None:
            lake.set_retention(name, retention or None, author=author)
        state = _find(lake, name)
    limits = ", ".join(f"{what} {most:,}" for what, most in asdict(state.quota).items() if most)
    kept = state.retention or "as the lake's"
    line = f"tenant {name}: at most {limits or 'what it likes'}; its past is kept {kept}"
    _told(options, asdict(state), line)


def _find(lake: Lake, name: str) -> TenantState:
    for each in lake.tenants():
        if each.name == name:
            return each
    raise NotFound(f"there is no tenant {name}", hint="tidelake tenants")


def _limit(text: str) -> tuple[str, int | None]:
    what, mark, most = text.partition("=")
    if what not in _LIMITS or not mark or not (most == "" or most.isdecimal()):
        raise click.UsageError(f"--quota {text} is not one of {', '.join(_LIMITS)}, = and a number")
    return what, int(most) if most else None


def _told(options: Options, document: dict[str, object], line: str) -> None:
    if options.as_json:
        render.document(document)
    else:
        render.line(line)


def _list(options: Options, found: list[TenantState]) -> None:
    if options.as_json:
        render.document({"tenants": [asdict(each) for each in found]})
        return
    names = ["tenant", "tables", "rows", "files", "bytes", "of bytes", "snapshots", "last commit"]
    render.grid(names, [_row(each) for each in found])


def _row(state: TenantState) -> list[str | int | None]:
    last = f"{state.last_commit:%Y-%m-%d %H:%M:%S}" if state.last_commit else ""
    size = [state.files, state.bytes, state.quota.bytes]
    return [state.name, state.tables, state.rows, *size, state.snapshots, last]
