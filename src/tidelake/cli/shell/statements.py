"""Where one statement ends and the next begins."""

from __future__ import annotations

from tidelake.syntax.tokens import tokens

_OPEN_QUOTES = ("'", '"')


def split(text: str) -> tuple[list[str], str]:
    """The statements that a `;` ends, without it, and what is left; both may be empty. Nothing
    ends inside of quotes, comments, or a text between dollars."""
    found, begin = [], 0
    for token in tokens(text):
        if token.kind == "sign" and token.text in _OPEN_QUOTES:
            break  # a quote that nothing closes
        if token.kind == "sign" and token.text == ";":
            found.append(text[begin : token.start])
            begin = token.end + 1
    rest = text[begin:]
    return [each.strip() for each in found if tokens(each)], rest.strip() if tokens(rest) else ""


def script(text: str) -> list[str]:
    """All statements of a text; the last needs no `;`."""
    found, rest = split(text)
    return [*found, rest] if rest else found


def command_within(text: str) -> tuple[str, str] | None:
    """A command on the last line of a statement that is not ended, after what goes before it; None
    if there is none, as inside of quotes."""
    before, _, last = text.rpartition("\n")
    if not last.lstrip().startswith("\\") or not split(before)[1]:
        return None
    is_open = any(token.kind == "sign" and token.text in _OPEN_QUOTES for token in tokens(before))
    return None if is_open else (before, last.strip())


def is_complete(text: str) -> bool:
    """Whether nothing is missing at the end: it is empty, a command, or ends with its `;`."""
    if not text.strip() or text.lstrip().startswith("\\"):
        return True
    return not split(text)[1] or command_within(text) is not None
