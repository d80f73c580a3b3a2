"""What other programs call a command, and the command that does it here."""

from __future__ import annotations

_TOLD = {
    "tidelake tables": "ls list list-tables dir catalog",
    "tidelake show TABLE": "describe desc info stat inspect columns",
    "tidelake schema show TABLE": "dtypes types",
    "tidelake scan TABLE --limit 10": "head cat read print peek less tail sample",
    'tidelake sql "SELECT …"': "query select run exec execute q",
    "tidelake sql, which is a shell without a query": "shell repl console cli",
    'tidelake sql "UPDATE … SET … WHERE …"': "update set",
    'tidelake sql "CREATE TABLE …", or tidelake append TABLE FILES --create': "create"
    " create-table new mk",
    'tidelake sql "CREATE SCHEMA …"': "create-schema namespace",
    'tidelake sql "ALTER TABLE …", or tidelake schema evolve TABLE': "alter evolve add-column",
    "tidelake append TABLE FILES": "insert load write add put-rows copy-from",
    "tidelake merge TABLE FILES --on KEY": "upsert",
    "tidelake delete TABLE --where …": "remove delete-from truncate",
    "tidelake drop NAME": "rm drop-table del",
    "tidelake rename NAME NEW": "mv rename-table",
    "tidelake clone TABLE NAME, or tidelake copy TABLE --to URL": "cp",
    "tidelake export TABLE --to FILE": "dump to-csv to-parquet save download unload",
    "tidelake log": "snapshots versions commits",
    "tidelake tag": "branch tags refs",
    "tidelake rollback TABLE --to …": "revert reset checkout rollback-to restore-table",
    "tidelake compact": "optimize rewrite merge-files",
    "tidelake expire, then tidelake cleanup": "vacuum gc prune clean purge expire-snapshots",
    "tidelake verify": "check fsck validate",
    "tidelake doctor": "status version env ping",
    "tidelake option": "config options settings",
    "tidelake import PATH": "import-delta convert from-delta",
    "tidelake ui": "web browse open",
    "make demo, in a clone of the repository": "demo",
    "tidelake --help": "commands",
}
_OPTIONS = {
    "--json, or tidelake export TABLE --to FILE": "--format --csv --parquet --output"
    " --output-format --out -o -f",
    "--limit 10": "-n --head --rows --top --count",
    '--where "x > 5"': "--filter --condition --predicate -w",
    "--columns a,b": "--select --fields --cols",
    "--known-at N": "--version-as-of --snapshot --at --at-version --timestamp",
    "--as-of TIME": "--at-time --event-time-as-of",
    "--catalog sqlite:///lake.db": "--url --db --database --lake -c",
    "--older-than '7 days'": "--retention --retain --days --hours --older",
    'tidelake sql "SELECT …"': "--query --execute -q -e",
    "tidelake completion bash >> ~/.bashrc": "--install-completion --show-completion",
    "commands ask nothing; --dry-run tells what they would do": "--yes -y --confirm",
}
OPTIONS = {name: told for told, names in _OPTIONS.items() for name in names.split()}
"""What other programs call an option, and what to type here."""
COMMANDS = {name: told for told, names in _TOLD.items() for name in names.split()}
