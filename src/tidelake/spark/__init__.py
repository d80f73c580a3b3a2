"""Tidelake as a part of Spark: a session that suits it, the data source `tidelake`, and the names
of a lake in `spark.sql`.
"""

from tidelake.spark.attachment import Attachment, attach
from tidelake.spark.registration import register
from tidelake.spark.session_settings import session

__all__ = ["Attachment", "attach", "register", "session"]
