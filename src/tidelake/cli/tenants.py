"""Who shares the lake: `tenants`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options

if TYPE_CHECKING:
    from tidelake.tenants.values import TenantState


@click.command()
@click.option("--create", metavar="NAME", help="Make a new tenant.")
@click.option("--drop", metavar="NAME", help="Drop a tenant with all that it has.")
@click.option("--dry-run", is_flag=True, help="With --drop: say what would go.")
@global_options
@pass_options
def tenants(options: Options, create: str | None, drop: str | None, dry_run: bool) -> None:
    """List the tenants: their tables, rows, files and bytes, the most they may have, and what they
    did last.

    \b
    Example:
        tidelake tenants --create acme
        tidelake tenants
        tidelake tenants --drop acme --dry-run
    """
    if dry_run and drop is None:
        raise click.UsageError("--dry-run goes with --drop")
    if create is not None and drop is not None:
        raise click.UsageError("--create and --drop exclude each other")
    if create is not None:
        with options.writable() as lake:
            lake.create_tenant(create).close()
        _told(options, {"created": create}, f"created tenant {create}")
    elif drop is not None:
        with options.lake() if dry_run else options.writable() as lake:
            gone = lake.drop_tenant(drop, dry_run=dry_run)
        verb = "would drop" if dry_run else "dropped"
        _told(
            options,
            asdict(gone),
            f"{verb} tenant {drop}: {len(gone.tables)} tables, {gone.rows:,} rows",
        )
    else:
        with options.lake() as lake:
            _list(options, lake.tenants())


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
