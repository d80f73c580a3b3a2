"""Tidelake as a part of Spark: a session that suits it, the data source `tidelake`, and the names
of a lake in `spark.sql`.
"""

from tidelake.model.extras import require

require("spark", "tidelake.spark", "pyspark")

from tidelake.spark.attachment import Attachment, attach  # noqa: E402
from tidelake.spark.registration import register  # noqa: E402
from tidelake.spark.session_settings import session  # noqa: E402

__all__ = ["Attachment", "attach", "register", "session"]
