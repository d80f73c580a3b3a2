"""Where a Delta table lies: its log, and the folder that the log's paths begin at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidelake.delta.log.names import LOG
from tidelake.delta.log.read import LogListing, list_log
from tidelake.errors import Invalid
from tidelake.session.session import Session
from tidelake.store.files import is_local, local_path


@dataclass(frozen=True, slots=True)
class LogLocation:
    """`path` is the table's folder with its log in it, unless one of them lies elsewhere:
    `log_dir` is the log's folder or the one that it is in, `table_location` where the files are."""

    path: str
    log_dir: str | None = None
    table_location: str | None = None

    @property
    def root(self) -> str:
        return folder_uri(self.path if self.table_location is None else self.table_location)

    def listing(self, session: Session) -> LogListing:
        """What the log has; NotFound if there is none."""
        own = folder_uri(self.path if self.log_dir is None else self.log_dir)
        folder = own if own.endswith(f"/{LOG}") else f"{own}{LOG}"
        return list_log(session.local.store, self.root, folder)


def folder_uri(path: str) -> str:
    """A folder as stores spell it, with a slash at its end."""
    if not path or not isinstance(path, str | Path):
        raise Invalid(f"{path!r} is no place", hint="give the folder that _delta_log is in")
    if is_local(str(path)):
        return f"{Path(local_path(str(path))).absolute()}/".replace("//", "/")
    return str(path).rstrip("/") + "/"
