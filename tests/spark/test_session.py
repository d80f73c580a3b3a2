"""The session that suits a lake."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tidelake.errors import Invalid


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_that_is_there_gets_the_settings(spark: Any) -> None:
    found = tidelake.spark.session()
    assert found.conf.get("spark.sql.parquet.fieldId.read.enabled") == "true"
    assert found.conf.get("spark.sql.session.timeZone") == "UTC"
    with pytest.raises(Exception, match="there is no option"):
        found.read.format("tidelake").option("nonsense", "1").load("t")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"time_zone": "Mars/Phobos"}, "no time zone"),
        ({"time_zone": ""}, "no time zone"),
        ({"remote": "sc://127.0.0.1:1", "master": "local[1]"}, "not both"),
        ({"remote": "sc://127.0.0.1:1", "s3": True}, "packages that it was started with"),
    ],
)
def test_nonsense_is_refused_before_a_session_is_made(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        tidelake.spark.session(**wrong)


LOCAL = """
import pyarrow, sys, tidelake
config = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
config["spark.ui.enabled"] = "false"
spark = tidelake.spark.session(config=config, **eval(sys.argv[1]))
def where(batches):
    import sys
    for batch in batches:
        yield pyarrow.record_batch([[sys.executable]], ["python"])
print(spark.range(1).mapInArrow(where, "python STRING").first()[0] == sys.executable)
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("where", [{"master": "local[1]"}, {}])
def test_tasks_run_with_the_python_of_the_program(where: dict[str, str], tmp_path: Path) -> None:
    """Also where it is not the first one in the path."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYSPARK_PYTHON", "VIRTUAL_ENV")}
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    env["PATH"] = f"{tmp_path}{os.pathsep}{env['PATH']}"
    program = [sys.executable, "-W", "ignore", "-c", LOCAL, repr(where)]
    done = subprocess.run(program, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True"], done.stderr


PROGRAM = """
import sys, tidelake
spark = tidelake.spark.session(remote=sys.argv[1], config={"spark.sql.shuffle.partitions": 3})
assert spark.conf.get("spark.sql.parquet.fieldId.read.enabled") == "true"
assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
try:
    spark.read.format("tidelake").option("nonsense", "1").load("t").schema
except Exception as error:
    print(error)
"""


@pytest.mark.spark
@pytest.mark.slow
def test_a_session_on_a_connect_server(spark_connect_server: Any, spark: Any) -> None:
    with pytest.raises(Invalid, match="stop the classic session"):
        tidelake.spark.session(remote=spark_connect_server.url)
    program = [sys.executable, "-W", "ignore", "-c", PROGRAM, spark_connect_server.url]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert "tidelake.errors.Invalid: there is no option 'nonsense'" in done.stdout, done.stderr
