"""The command line: a skin over the lake. Commands parse, call, render.

A command is in the module of its name (`import`, which Python keeps for itself, in `import_delta`).
What several share is in the modules of options; `program` has what all share, and `render` prints.
"""

from tidelake.cli import (
    append,
    audit,
    changes,
    cleanup,
    compact,
    consumers,
    count,
    coverage,
    delete,
    diff,
    erase,
    expire,
    gaps,
    health,
    history,
    import_delta,
    ingest,
    init,
    log,
    merge,
    mirror,
    move,
    recover,
    rollback,
    rollup,
    scan,
    schema,
    serve,
    show,
    sql,
    tables,
    tag,
    tenants,
    tokens,
    ui,
    undrop,
    verify,
)
from tidelake.cli.program import Program, cli

__all__ = ["main"]

for _command in (
    append.append,
    audit.audit,
    changes.changes,
    cleanup.cleanup,
    compact.compact,
    consumers.consumers,
    count.count,
    coverage.coverage,
    delete.delete,
    diff.diff,
    erase.erase,
    expire.expire,
    gaps.gaps,
    health.health,
    history.history,
    import_delta.import_table,
    ingest.ingest,
    init.init,
    log.log,
    merge.merge,
    mirror.mirror,
    move.move,
    recover.recover,
    rollback.rollback,
    rollup.rollup,
    scan.scan,
    schema.schema,
    serve.serve,
    show.show,
    sql.sql,
    tables.tables,
    tag.tag,
    tenants.tenants,
    tokens.tokens,
    ui.ui,
    undrop.undrop,
    verify.verify,
):
    cli.add_command(_command)

main: Program = cli
"""The console script; also a click group, for those who want to embed it."""
