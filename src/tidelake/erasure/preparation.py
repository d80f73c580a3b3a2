"""Files without the rows that go, written where nobody looks yet, and kept up with what others do
to the table meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from tidelake.erasure.survey import Survey, catalog_matches, survey
from tidelake.erasure.task import PurgeAnswer, purge
from tidelake.errors import TidelakeError
from tidelake.model.change import Purge, PurgedFile
from tidelake.model.file import DataFile
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate
from tidelake.session.progress import Tell
from tidelake.session.session import Session

Rows = dict[str, tuple[tuple[int, int], ...]]


@dataclass
class Preparation:
    """What has been found out and written so far. A data file never changes, so what it holds is
    found out once; what was written for it holds as long as nobody deletes more of it."""

    session: Session
    name: TableName
    where: str | Predicate
    counted: bool
    tell: Tell
    answers: dict[int, PurgeAnswer] = field(default_factory=dict)

    def look(self) -> Survey:
        return survey(self.session, self.name, self.where)

    def missing(self, known: Survey) -> list[DataFile]:
        """Files of which it is not known what they hold, or no longer how they are to be."""
        return [file for file in known.files if not self._is_current(file)]

    def _is_current(self, file: DataFile) -> bool:
        answer = self.answers.get(file.id)
        if answer is None:
            return False
        return answer.made is None or answer.made.before == file

    def work(self, known: Survey) -> None:
        """Find out what is missing. Should that fail, nothing stays that was written."""
        todo = self.missing(known)
        tasks = [known.task(file, counted=self.counted) for file in todo]
        self._discard(self.answers.pop(file.id) for file in todo if file.id in self.answers)
        with self.session.engine.job(f"cannot erase from {self.name}") as job:
            for file, answer in zip(todo, job.run(tasks, purge), strict=True):
                self.answers[answer.file_id] = answer
                self.tell(files=1, bytes=file.bytes)

    def files(self, known: Survey) -> list[PurgeAnswer]:
        """Of those that there are now, the files with such rows."""
        found = (self.answers[file.id] for file in known.files)
        return [answer for answer in found if answer.rows]

    def rows(self, known: Survey) -> Rows:
        return catalog_matches(self.session, known)

    def purge(self, known: Survey) -> Purge:
        made = [answer.made for answer in self.files(known) if answer.made is not None]
        return Purge(tuple(made), self.rows(known))

    def discard(self, but: Collection[PurgedFile] = ()) -> None:
        """Remove what was written, unless it has come into use."""
        used = {each.before.id for each in but}
        self._discard(answer for id_, answer in self.answers.items() if id_ not in used)

    def _discard(self, answers: Iterable[PurgeAnswer]) -> None:
        written = [path for each in answers if each.made for path in each.made.paths]
        try:
            self.session.store.delete(written)
        except TidelakeError:
            return
