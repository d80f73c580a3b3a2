"""Texts that would break SQL they are pasted into."""

EVIL = [
    "it's",
    "'; DROP TABLE t; --",
    "' OR 1 = 1 --",
    'back\\slash \\\' and "double" and `tick`',
    "{braces} {{twice}} {0} %s $1 $name :name ?",
    "line\nbreak\ttab",
    "ünïcødé 🌊 日本",
    "$$dollar$$ /* comment */ -- ",
    "",
]
