"""The command line: a skin over the session. Commands parse, call, render."""

from tidelake.cli import (
    columns,
    compact,
    consumers,
    coverage,
    create,
    facts,
    feed,
    history,
    import_delta,
    look,
    mirror,
    move,
    rollback,
    rollup,
    rows,
    tags,
    undrop,
    upkeep,
    verify,
    write,
)
from tidelake.cli.program import Program, cli

__all__ = ["main"]

for _command in (
    create.init,
    look.tables,
    look.show,
    rows.scan,
    rows.count,
    history.log,
    facts.history,
    coverage.coverage,
    coverage.gaps,
    feed.changes,
    feed.diff,
    tags.tag,
    consumers.consumers,
    rows.sql,
    write.append,
    write.merge,
    write.delete,
    rollback.rollback,
    undrop.undrop,
    columns.schema,
    compact.compact,
    rollup.rollup,
    upkeep.expire,
    upkeep.cleanup,
    move.move,
    verify.verify,
    mirror.mirror,
    mirror.recover,
    import_delta.import_table,
):
    cli.add_command(_command)

main: Program = cli
"""The console script; also a click group, for those who want to embed it."""
