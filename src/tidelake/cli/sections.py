"""Commands by what they are for, as `--help` lists them."""

SECTIONS = {
    "Begin": ("init", "doctor", "completion"),
    "Read": ("tables", "show", "schema", "scan", "count", "sql", "export"),
    "Write": ("append", "ingest", "put", "end", "merge", "delete"),
    "Tables": ("declare", "option", "view", "rename", "drop", "undrop"),
    "History": ("log", "history", "diff", "changes", "tag", "rollback", "consumers"),
    "Coverage": ("coverage", "gaps", "wait", "calendar"),
    "Copies": ("clone", "copy", "freeze", "backup", "restore", "move"),
    "Delta": ("mirror", "import", "recover"),
    "Upkeep": ("health", "verify", "compact", "rollup", "expire", "cleanup", "erase", "audit"),
    "Service": ("ui", "serve", "tokens", "tenants", "share"),
}
