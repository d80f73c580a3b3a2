"""The command line: a skin over the lake. Commands parse, call, render.

A command is in the module of its name (`import`, which Python keeps for itself, in `import_delta`).
It is loaded when it is called: nobody waits for the others. What several share is in the modules
of options; `program` has what all share, and `render` prints.
"""

from importlib import import_module

from tidelake.cli.program import Commands, Program, cli

__all__ = ["main"]

cli.commands = Commands(
    {
        "append": lambda: import_module("tidelake.cli.append").append,
        "audit": lambda: import_module("tidelake.cli.audit").audit,
        "backup": lambda: import_module("tidelake.cli.backup").backup,
        "calendar": lambda: import_module("tidelake.cli.calendar").calendar,
        "changes": lambda: import_module("tidelake.cli.changes").changes,
        "cleanup": lambda: import_module("tidelake.cli.cleanup").cleanup,
        "clone": lambda: import_module("tidelake.cli.clone").clone,
        "compact": lambda: import_module("tidelake.cli.compact").compact,
        "completion": lambda: import_module("tidelake.cli.completion").completion,
        "consumers": lambda: import_module("tidelake.cli.consumers").consumers,
        "copy": lambda: import_module("tidelake.cli.copy").copy,
        "count": lambda: import_module("tidelake.cli.count").count,
        "coverage": lambda: import_module("tidelake.cli.coverage").coverage,
        "declare": lambda: import_module("tidelake.cli.declare").declare,
        "delete": lambda: import_module("tidelake.cli.delete").delete,
        "diff": lambda: import_module("tidelake.cli.diff").diff,
        "doctor": lambda: import_module("tidelake.cli.doctor").doctor,
        "drop": lambda: import_module("tidelake.cli.drop").drop,
        "end": lambda: import_module("tidelake.cli.end").end,
        "erase": lambda: import_module("tidelake.cli.erase").erase,
        "expire": lambda: import_module("tidelake.cli.expire").expire,
        "export": lambda: import_module("tidelake.cli.export").export,
        "freeze": lambda: import_module("tidelake.cli.freeze").freeze,
        "gaps": lambda: import_module("tidelake.cli.gaps").gaps,
        "health": lambda: import_module("tidelake.cli.health").health,
        "history": lambda: import_module("tidelake.cli.history").history,
        "import": lambda: import_module("tidelake.cli.import_delta").import_table,
        "ingest": lambda: import_module("tidelake.cli.ingest").ingest,
        "init": lambda: import_module("tidelake.cli.init").init,
        "log": lambda: import_module("tidelake.cli.log").log,
        "merge": lambda: import_module("tidelake.cli.merge").merge,
        "mirror": lambda: import_module("tidelake.cli.mirror").mirror,
        "move": lambda: import_module("tidelake.cli.move").move,
        "option": lambda: import_module("tidelake.cli.option").option,
        "put": lambda: import_module("tidelake.cli.put").put,
        "recover": lambda: import_module("tidelake.cli.recover").recover,
        "rename": lambda: import_module("tidelake.cli.rename").rename,
        "restore": lambda: import_module("tidelake.cli.restore").restore,
        "rollback": lambda: import_module("tidelake.cli.rollback").rollback,
        "rollup": lambda: import_module("tidelake.cli.rollup").rollup,
        "scan": lambda: import_module("tidelake.cli.scan").scan,
        "schema": lambda: import_module("tidelake.cli.schema").schema,
        "serve": lambda: import_module("tidelake.cli.serve").serve,
        "share": lambda: import_module("tidelake.cli.share").share,
        "show": lambda: import_module("tidelake.cli.show").show,
        "sql": lambda: import_module("tidelake.cli.sql").sql,
        "tables": lambda: import_module("tidelake.cli.tables").tables,
        "tag": lambda: import_module("tidelake.cli.tag").tag,
        "tenants": lambda: import_module("tidelake.cli.tenants").tenants,
        "tokens": lambda: import_module("tidelake.cli.tokens").tokens,
        "ui": lambda: import_module("tidelake.cli.ui").ui,
        "undrop": lambda: import_module("tidelake.cli.undrop").undrop,
        "verify": lambda: import_module("tidelake.cli.verify").verify,
        "view": lambda: import_module("tidelake.cli.view").view,
        "wait": lambda: import_module("tidelake.cli.wait").wait,
    }
)

main: Program = cli
"""The console script; also a click group, for those who want to embed it."""
