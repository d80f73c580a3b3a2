"""The calendars that a table keeps: one for all of its entities, and others for some of them.

They are a tag of the table, so that they are versioned with it, and every snapshot has its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelake.coverage.values.calendar import Calendar
from tidelake.coverage.values.calendar_json import calendar_from, calendar_json
from tidelake.coverage.values.series import Entity, Series
from tidelake.errors import Corrupt, Invalid
from tidelake.model.settings import PREFIX

TAG = f"{PREFIX}calendar"
LARGEST = 1 << 18
"""Characters that the calendars of a table may take: they are read with all else that is declared
of it."""


@dataclass(frozen=True, slots=True)
class Calendars:
    """`default` holds for all entities but those that have one of their `own`; None: nobody has
    said when rows are expected. False if there is no calendar at all."""

    default: Calendar | None = None
    own: Mapping[Entity, Calendar] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.default is not None or bool(self.own)

    def of(self, entity: Entity) -> Calendar | None:
        """The one that holds for an entity."""
        return self.own.get(entity, self.default)

    def changed(self, calendar: Calendar | None, entities: Collection[Entity] | None) -> Calendars:
        """With another for some entities, or for all; None takes it away, from all also those of
        single entities."""
        if entities is None:
            return Calendars() if calendar is None else Calendars(calendar, self.own)
        own = {entity: each for entity, each in self.own.items() if entity not in entities}
        if calendar is not None:
            own |= dict.fromkeys(entities, calendar)
        return Calendars(self.default, own)

    def check_fit(self, series: Series) -> None:
        for each in self._each():
            each.check_fits(series)

    def _each(self) -> Iterator[Calendar]:
        if self.default is not None:
            yield self.default
        yield from self.own.values()

    def text(self, series: Series) -> str:
        """As the tag has it. Entities with one calendar share it."""
        shared: dict[str, list[Any]] = {}
        for entity, calendar in sorted(self.own.items(), key=lambda item: series.rank(item[0])):
            said = json.dumps(calendar_json(calendar), separators=(",", ":"))
            shared.setdefault(said, []).append(json.loads(series.text(entity)))
        document: dict[str, Any] = {}
        if self.default is not None:
            document["default"] = calendar_json(self.default)
        if shared:
            document["own"] = [
                {"calendar": json.loads(said), "entities": listed}
                for said, listed in shared.items()
            ]
        found = json.dumps(document, separators=(",", ":"))
        if len(found) > LARGEST:
            raise Invalid(
                f"the calendars of the table take {len(found):,} characters, more than {LARGEST:,}",
                hint="give rules (sessions, an exchange) rather than lists, or fewer of them",
            )
        return found

    @staticmethod
    def of_tags(tags: Mapping[str, str], series: Series) -> Calendars:
        """What the tags of a table say; Corrupt if nobody can read it."""
        text = tags.get(TAG)
        if text is None:
            return Calendars()
        try:
            document = json.loads(text)
            said = document.get("default")
            own = {
                series.entity_of(json.dumps(entity, separators=(",", ":"))): calendar
                for each in document.get("own", ())
                for calendar in [calendar_from(each["calendar"])]
                for entity in each["entities"]
            }
            return Calendars(None if said is None else calendar_from(said), own)
        except Invalid:  # a time zone that is not known here
            raise
        except (AttributeError, KeyError, TypeError, ValueError, Corrupt) as error:
            raise Corrupt(
                f"the tag {TAG} of the table cannot be read: {error}",
                hint="take it away with t.set_calendar(None), and declare the calendars again",
            ) from None
