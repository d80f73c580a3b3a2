"""`python -m docs.drawings docs/pictures`: the drawings of docs/concepts.md, as SVG."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

INK, BLUE, PALE, GREY, FAINT, ORANGE, GREEN = (
    *("#17324d", "#2b7bba", "#e3f0fb", "#5b6b7a", "#c4d0da"),
    *("#d9541e", "#2e8b6f"),
)


def text(
    x: float,
    y: float,
    words: str,
    *,
    fill: str = INK,
    size: int = 13,
    at: str = "start",
    bold: bool = False,
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{fill}" font-size="{size}" text-anchor="{at}"{weight}>'
        f"{escape(words)}</text>"
    )


def note(x: float, y: float, words: str, *, at: str = "start", fill: str = GREY) -> str:
    return text(x, y, words, fill=fill, size=12, at=at)


def box(x: float, y: float, w: float, h: float, *, fill: str = PALE, edge: str = INK) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="5" fill="{fill}"'
        f' stroke="{edge}"/>'
    )


def named(
    x: float, y: float, w: float, h: float, words: str, below: str = "", *, fill: str = PALE
) -> str:
    middle = y + h / 2 + (0 if below else 5)
    said = text(x + w / 2, middle - (2 if below else 0), words, at="middle", bold=True)
    more = note(x + w / 2, middle + 15, below, at="middle") if below else ""
    return box(x, y, w, h, fill=fill) + said + more


def dot(x: float, y: float, *, fill: str = BLUE, r: float = 6) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" fill="{fill}"/>'


def line(
    *points: tuple[float, float], stroke: str = INK, dashed: bool = False, arrow: bool = False
) -> str:
    path = " L".join(f"{x:g} {y:g}" for x, y in points)
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    end = ' marker-end="url(#tip)"' if arrow else ""
    return f'<path d="M{path}" fill="none" stroke="{stroke}" stroke-width="1.5"{dash}{end}/>'


def drawing(width: int, height: int, title: str, about: str, parts: Iterable[str]) -> str:
    tip = (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7"'
        f' markerHeight="7" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{INK}"/>'
        "</marker></defs>"
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        ' aria-labelledby="t d" font-family="Helvetica, Arial, sans-serif">'
        f'<title id="t">{escape(title)}</title><desc id="d">{escape(about)}</desc>{tip}'
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


def parts_of_a_lake() -> str:
    readers = ("Tidelake", "DuckDB", "Spark", "readers of Delta")
    parts = []
    for number, who in enumerate(readers):
        x = 20 + 170 * number
        parts.append(named(x, 20, 150, 40, who, fill="#ffffff"))
        foot = 200 if number < 3 else 500
        parts.append(line((x + 75, 60), (foot + 20 * number, 118), stroke=GREY, arrow=True))
    parts += [
        named(100, 120, 260, 64, "catalog", "a SQL database: what there is"),
        named(440, 120, 220, 64, "_delta_log", "a copy of it, for mirrored tables"),
        line((360, 152), (438, 152), arrow=True),
        note(399, 144, "publishes", at="middle"),
        box(20, 224, 660, 74, fill="#f4f8fb"),
        text(36, 247, "files", bold=True),
        note(
            80,
            247,
            "Parquet, on a disk or an object store. A file is written once and never changed.",
        ),
    ]
    parts += [box(36 + 64 * n, 258, 50, 28, fill="#cfe3f3", edge=BLUE) for n in range(10)]
    parts += [
        line((230, 184), (230, 222), arrow=True),
        line((550, 184), (550, 222), arrow=True),
        note(238, 207, "names the files of every snapshot"),
    ]
    about = "A catalog names the files of every snapshot. Engines ask it, then read the files."
    return drawing(700, 315, "Catalog, files and engines", about, parts)


def snapshots() -> str:
    steps = ("create", "append", "append", "delete", "rollback", "append")
    parts = [line((40, 90), (660, 90), stroke=FAINT)]
    for number, what in enumerate(steps, start=1):
        x = 60 + 110 * (number - 1)
        fill = ORANGE if what == "rollback" else BLUE
        parts += [
            dot(x, 90, r=11, fill=fill),
            text(x, 94, str(number), fill="#fff", size=12, at="middle"),
        ]
        parts.append(note(x, 122, what, at="middle"))
    parts += [
        line((280, 52), (280, 76), arrow=True),
        named(230, 18, 100, 34, "tag: friday", fill="#fff4e5"),
        '<path d="M498 130 C 470 165, 310 165, 282 132" fill="none" stroke="#d9541e"'
        ' stroke-width="1.5" stroke-dasharray="5 4" marker-end="url(#tip)"/>',
        note(
            390, 172, "5 holds the rows that 3 held; 4 can still be read", at="middle", fill=ORANGE
        ),
        note(660, 70, "now", at="end"),
    ]
    about = "Snapshots in a line. A tag names the third. The fifth is a rollback to the third."
    return drawing(700, 190, "Snapshots, tags and rollback", about, parts)


def rollup() -> str:
    parts = [
        line((40, 160), (660, 160), arrow=True),
        note(660, 182, "event time", at="end"),
        box(60, 36, 250, 100, fill=PALE, edge=BLUE),
        text(185, 58, "rollup as of T0", at="middle", bold=True),
        note(185, 76, "the last fact of every key, kept as a file", at="middle"),
    ]
    parts += [dot(80 + 30 * n, 110, fill=FAINT) for n in range(7)]
    parts += [dot(340 + 50 * n, 110) for n in range(4)]
    parts += [
        dot(100, 150, fill=ORANGE),
        note(112, 154, "a late fact: read by itself", fill=ORANGE),
        line((310, 30), (310, 166), dashed=True),
        text(310, 24, "T0", at="middle", bold=True),
        line((520, 30), (520, 166), dashed=True),
        text(520, 24, "as of T", at="middle", bold=True),
        note(415, 90, "newer facts: read", at="middle", fill=BLUE),
        dot(580, 110, fill=FAINT),
        note(580, 90, "not yet", at="middle"),
    ]
    about = "As of T, a read takes the rollup, newer facts up to T, and late facts."
    return drawing(700, 195, "A rollup", about, parts)


def overlap() -> str:
    def row(y: float, who: str, cells: str, said: str = "") -> list[str]:
        fills = {"o": BLUE, "n": ORANGE, "b": "url(#both)", " ": "#ffffff"}
        found = [text(20, y + 18, who, bold=True)]
        for place, cell in enumerate(cells):
            found.append(box(150 + 44 * place, y, 40, 26, fill=fills[cell], edge=FAINT))
        return [*found, note(520, y + 17, said)]

    both = (
        '<defs><linearGradient id="both" x2="0" y2="1"><stop offset="50%" stop-color="#d9541e"/>'
        '<stop offset="50%" stop-color="#2b7bba"/></linearGradient></defs>'
    )
    parts = [
        both,
        *row(20, "there already", "ooooo   "),
        *row(56, "delivered", "   nnnnn"),
        line((20, 96), (680, 96), stroke=FAINT),
        *row(110, "allow", "ooobbnnn", "both rows, in two minutes"),
        *row(146, "reject", "ooooo   ", "an error; nothing is written"),
        *row(182, "skip", "ooooonnn", "what is there stays"),
        *row(218, "replace", "ooonnnnn", "what was delivered counts"),
    ]
    about = "Five minutes are there, and five are delivered, of which two overlap: four policies."
    return drawing(700, 262, "Overlap policies", about, parts)


def compaction() -> str:
    parts = []
    for place, (title, files) in enumerate((("before", 5), ("after", 1))):
        x = 20 + 350 * place
        parts += [text(x, 28, title, bold=True, size=15), text(x, 62, "snapshots")]
        heads = [x + 120 + 62 * n for n in range(3)]
        for number, head in enumerate(heads, start=7):
            parts += [
                dot(head, 58, r=11),
                text(head, 62, str(number), fill="#fff", size=12, at="middle"),
            ]
        parts.append(text(x, 152, "files"))
        if files == 1:
            parts.append(box(x + 60, 134, 250, 30, fill="#cfe3f3", edge=BLUE))
            parts.append(note(x + 185, 153, "rows, each with its id and snapshot", at="middle"))
            ends = [x + 115 + 70 * n for n in range(3)]
            parts += [
                line((h, 70), (end, 132), stroke=GREY, arrow=True)
                for h, end in zip(heads, ends, strict=True)
            ]
            continue
        for number in range(files):
            left = x + 60 + 52 * number
            parts.append(box(left, 134, 42, 30, fill="#cfe3f3", edge=BLUE))
            seen = [h for n, h in enumerate(heads) if number <= n + 2]
            parts += [line((h, 70), (left + 21, 132), stroke=FAINT) for h in seen]
    parts += [
        line((330, 110), (362, 110), arrow=True),
        note(
            350,
            200,
            "Snapshots 7, 8 and 9 give the rows that they gave before, and verify proves it.",
            at="middle",
        ),
    ]
    about = "Before: five small files. After: one, whose rows say which snapshot they are of."
    return drawing(700, 218, "Compaction", about, parts)


def rectangles() -> str:
    """The history of ACME in docs/bitemporal.md, without its tombstone."""
    pale, deep = "#f4f8fb", "#cfe3f3"

    def cell(x: float, y: float, w: float, h: float, price: str, *, still: bool) -> list[str]:
        fill, words = (deep, "still the answer") if still else (pale, "")
        middle = y + h / 2 + (0 if still else 5)
        found = [box(x, y, w, h, fill=fill, edge=BLUE)]
        found.append(text(x + w / 2, middle, price, at="middle", bold=True))
        return [*found, note(x + w / 2, middle + 16, words, at="middle")] if still else found

    hours, commits = (120, 250, 380, 640), (270, 210, 150, 90, 24)
    parts = [
        line((120, 270), (660, 270), arrow=True),
        line((120, 270), (120, 10), arrow=True),
        note(660, 310, "event time", at="end"),
        note(108, 16, "system time", at="end"),
        *cell(120, 210, 520, 60, "10.0", still=False),
        *cell(120, 150, 260, 60, "10.0", still=False),
        *cell(380, 90, 260, 120, "12.0", still=False),
        *cell(120, 24, 130, 126, "10.0", still=True),
        *cell(250, 24, 130, 126, "11.0", still=True),
        *cell(380, 24, 260, 66, "12.5", still=True),
    ]
    for x, hour in zip(hours, ("09:00", "10:00", "11:00"), strict=False):
        parts.append(note(x, 288, hour, at="middle"))
    said = ("10.0 from 9 on", "12.0 from 11 on", "late: 11.0", "12.5, not 12.0")
    for y, words in zip(commits, said, strict=False):
        parts.append(note(108, y - 4, words, at="end", fill=ORANGE if y < 200 else GREY))
    about = "Event time across, system time up. Each commit divides or ends rectangles below it."
    return drawing(700, 322, "The history of a key", about, parts)


def leak() -> str:
    parts = [
        line((40, 100), (660, 100), arrow=True),
        note(660, 122, "time", at="end"),
        dot(120, 100),
        note(120, 128, "1 March", at="middle"),
        text(120, 78, "score 0.2", at="middle", bold=True),
        note(120, 60, "true and known", at="middle"),
        dot(270, 100, fill=ORANGE),
        note(270, 128, "1 April", at="middle"),
        text(270, 78, "score 0.9", at="middle", bold=True),
        note(270, 60, "true since here", at="middle", fill=ORANGE),
        line((400, 30), (400, 110), dashed=True),
        text(400, 22, "the label", at="middle", bold=True),
        note(400, 128, "10 April", at="middle"),
        dot(560, 100, fill=ORANGE),
        note(560, 78, "known since here", at="middle", fill=ORANGE),
        line((270, 144), (560, 144), stroke=ORANGE),
        note(415, 162, "true, and not known", at="middle", fill=ORANGE),
        text(40, 196, "by time alone: 0.9, which nobody knew", fill=ORANGE),
        text(40, 218, "with known_at: 0.2"),
    ]
    about = "A score that is true since April and known since later leaks into a label between."
    return drawing(700, 234, "A join that leaks", about, parts)


DRAWINGS = {
    "rectangles": rectangles,
    "leak": leak,
    "parts-of-a-lake": parts_of_a_lake,
    "snapshots": snapshots,
    "rollup": rollup,
    "overlap": overlap,
    "compaction": compaction,
}


def main(folder: Path) -> None:
    for name, draw in DRAWINGS.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
