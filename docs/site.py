"""`python -m docs.site FOLDER`: the pages of the site, as they lie in the repository.

The pages link to one another and to a few files beside them. So the folder has the same layout
as the repository, with these files alone, and every link leads where it does there.
"""

import shutil
import sys
from pathlib import Path

SELDOM = "---\nsearch:\n  boost: 0.3\n---\n\n"
"""Stands before design notes and LAST, which a search should find after all other pages."""
ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
LINKED = ("LICENSE", "examples")
LAST = ("CHANGELOG.md", "docs/benchmarks.md", "docs/format.md")


def gather(folder: Path) -> None:
    """Put all pages and what they link to into a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.py")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=ignored)
    for name in BESIDE:
        shutil.copy(ROOT / name, folder / name)
    for name in LINKED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, folder / name)
    for page in (*folder.glob("docs/design/*.md"), *(folder / name for name in LAST)):
        page.write_text(SELDOM + page.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
