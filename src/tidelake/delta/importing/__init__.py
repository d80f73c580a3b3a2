"""Delta tables brought into a lake: `look` at the log, `walk` along it, `run` the import."""
