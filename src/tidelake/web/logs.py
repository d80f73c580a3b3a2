"""Logs as JSON, a line for each request, with its id. No tokens, and no SQL unless it is asked
for: values in it are people's data."""

from __future__ import annotations

import json
import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import IO, Any
from uuid import uuid4

LOG = logging.getLogger("tidelake.web")
LOG.addHandler(logging.NullHandler())

REQUEST: ContextVar[str | None] = ContextVar("tidelake_request", default=None)
"""The id of the request that is worked on."""

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def request_id(given: str | None) -> str:
    """The one that a client gave, if it is one that can stand in a log, or a new one."""
    return given if given and _ID.fullmatch(given) else uuid4().hex


class JsonFormatter(logging.Formatter):
    """One line of JSON; what was given as `extra={"facts": {…}}` is part of it."""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if (request := REQUEST.get()) is not None:
            said["request"] = request
        said |= getattr(record, "facts", {})
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False, default=str)


def write_logs(stream: IO[str] | None = None, level: int = logging.INFO) -> None:
    """Send what the service logs to a stream, standard error if none is given."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    LOG.handlers = [handler]
    LOG.setLevel(level)
    LOG.propagate = False


def tell(message: str, **facts: Any) -> None:
    """Log what has happened."""
    LOG.info(message, extra={"facts": facts})
