"""Patterns of paths."""

from __future__ import annotations

import re

_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_RANGE = re.escape("-")
_GLOB_WORDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def glob_regex(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression: only ** steps over slashes."""
    words = []
    for word in _GLOB.findall(pattern):
        if word.startswith("[") and len(word) > 1:
            inverted = "^" if word[1] == "!" else ""
            inside = word[2 if inverted else 1 : -1]
            words.append(f"[{inverted}{re.escape(inside).replace(_RANGE, '-')}]")
        else:
            words.append(_GLOB_WORDS.get(word) or re.escape(word))
    return re.compile("".join(words), re.DOTALL)
