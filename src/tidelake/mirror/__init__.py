"""Delta: a lake's tables published as Delta logs, and Delta tables brought into a lake."""
