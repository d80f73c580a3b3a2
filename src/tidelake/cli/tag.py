"""Names for snapshots: `tag`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import (
    Options,
    global_options,
    known_at_option,
    pass_options,
    signature_options,
)
from tidelake.errors import NotFound

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.model.tag import Tag


@click.command()
@click.argument("name", required=False, shell_complete=lake_names.tags)
@click.option("--list", "listing", is_flag=True, help="List all tags, as without NAME.")
@click.option("--delete", is_flag=True, help="Forget the tag; its snapshot may expire then.")
@click.option("--dry-run", is_flag=True, help="With --delete: say what would be forgotten.")
@known_at_option
@signature_options
@global_options
@pass_options
def tag(
    options: Options,
    name: str | None,
    listing: bool,
    delete: bool,
    dry_run: bool,
    known_at: str | None,
    author: str | None,
    message: str | None,
) -> None:
    """Give the newest snapshot, or that of --known-at, a name. It stands wherever a snapshot id
    does, and what is tagged does not expire. Without NAME the tags are listed.

    \b
    Example:
        tidelake tag eod-2024-03-15 --message "after the close"
        tidelake tag before-the-split --known-at 12
        tidelake scan prices --known-at eod-2024-03-15
        tidelake tag --list
        tidelake tag eod-2024-03-15 --delete
    """
    if delete and (known_at or message or listing):
        raise click.UsageError("--delete takes a NAME, and --author")
    if listing and name is not None:
        raise click.UsageError("--list takes no NAME")
    if dry_run and not delete:
        raise click.UsageError("--dry-run goes with --delete")
    if name is None:
        if delete or known_at or author or message:
            raise click.UsageError("it is not said which tag")
        with options.lake() as lake:
            _list_tags(options, lake.tags())
    elif delete:
        _delete_tag(options, name, author, dry_run=dry_run)
    else:
        with options.writable() as lake:
            made = lake.tag(name, known_at, author=author, message=message)
        _show_tag(options, made, f"{made.name}: snapshot {made.snapshot_id}")


def _list_tags(options: Options, tags: list[Tag]) -> None:
    if options.as_json:
        render.document({"tags": [asdict(each) for each in tags]})
        return
    names = ["tag", "snapshot", "made (UTC)", "author", "message"]
    render.grid(names, [_row(each) for each in tags])


def _row(tag: Tag) -> list[str | int]:
    made = f"{tag.created_at:%Y-%m-%d %H:%M:%S}"
    return [tag.name, tag.snapshot_id, made, tag.author or "", tag.message or ""]


def _delete_tag(options: Options, name: str, author: str | None, *, dry_run: bool) -> None:
    if not dry_run:
        with options.writable() as lake:
            gone = lake.untag(name, author=author)
        _show_tag(options, gone, f"forgot {gone.name}, of snapshot {gone.snapshot_id}")
        return
    with options.lake() as lake:
        gone = _find(lake, name)
    _show_tag(options, gone, f"would forget {gone.name}, of snapshot {gone.snapshot_id}")


def _find(lake: Lake, name: str) -> Tag:
    for each in lake.tags():
        if each.name == name:
            return each
    raise NotFound(f"there is no tag {name!r}", hint="tidelake tag --list")


def _show_tag(options: Options, shown: Tag, words: str) -> None:
    if options.as_json:
        render.document(asdict(shown))
    else:
        render.line(words)
