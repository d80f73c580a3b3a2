"""The command line: a skin over the session. Commands parse, call, render."""

from tidelake.cli import (
    append,
    compact,
    consumers,
    coverage,
    diff,
    expire,
    facts,
    import_delta,
    init,
    log,
    mirror,
    move,
    rollback,
    rollup,
    row_options,
    schema,
    show,
    tag,
    undrop,
    verify,
)
from tidelake.cli.program import Program, cli

__all__ = ["main"]

for _command in (
    init.init,
    show.tables,
    show.show,
    row_options.scan,
    row_options.count,
    log.log,
    facts.history,
    coverage.coverage,
    coverage.gaps,
    diff.changes,
    diff.diff,
    tag.tag,
    consumers.consumers,
    row_options.sql,
    append.append,
    append.merge,
    append.delete,
    rollback.rollback,
    undrop.undrop,
    schema.schema,
    compact.compact,
    rollup.rollup,
    expire.expire,
    expire.cleanup,
    move.move,
    verify.verify,
    mirror.mirror,
    mirror.recover,
    import_delta.import_table,
):
    cli.add_command(_command)

main: Program = cli
"""The console script; also a click group, for those who want to embed it."""
