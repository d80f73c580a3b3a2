"""A table with the values at which two engines could differ, and conditions on it."""

from pathlib import Path

import tidelake

COLUMNS = """id INTEGER, i INTEGER, b BIGINT, t TINYINT, ub UBIGINT, f DOUBLE, r FLOAT, s VARCHAR,
    z VARCHAR, d DATE, ts TIMESTAMP, tz TIMESTAMPTZ, tm TIME, p DECIMAL(10,2), w DECIMAL(38,10),
    bo BOOLEAN, bl BLOB, u UUID, j JSON, l INTEGER[], st STRUCT(x INTEGER, y VARCHAR),
    m MAP(VARCHAR, INTEGER)"""
MOST = """SELECT k::INTEGER AS id,
    CASE k % 24 WHEN 5 THEN 2147483647 WHEN 6 THEN -2147483648 WHEN 7 THEN NULL
        ELSE k * 7919 % 23 - 11 END,
    CASE k % 19 WHEN 3 THEN 9223372036854775807 WHEN 4 THEN -9223372036854775808
        WHEN 5 THEN NULL WHEN 6 THEN 9007199254740993 ELSE k * 1000003 - 50000000 END,
    CASE WHEN k % 9 = 0 THEN NULL ELSE k % 256 - 128 END,
    CASE k % 7 WHEN 0 THEN NULL WHEN 1 THEN 18446744073709551615 ELSE k END,
    CASE k % 17 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN NULL WHEN 2 THEN -0.0 WHEN 3 THEN 0.0
        WHEN 4 THEN 'inf' WHEN 5 THEN '-inf' WHEN 6 THEN 1e300 WHEN 7 THEN 0.1 WHEN 8 THEN 2.5
        ELSE (k - 50) / 3.0 END,
    CASE k % 13 WHEN 0 THEN 'nan'::FLOAT WHEN 1 THEN NULL WHEN 2 THEN -0.0 WHEN 3 THEN 0.1
        WHEN 4 THEN '-inf' ELSE (k - 30) / 4.0 END,
    CASE k % 12 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'Straße' WHEN 3 THEN 'ÄÖÜ' || k
        WHEN 4 THEN ' 12 ' WHEN 5 THEN k::VARCHAR WHEN 6 THEN '1.5' WHEN 7 THEN 'abc_def%' || k
        WHEN 8 THEN 'a\\b' WHEN 9 THEN 'İstanbul' WHEN 10 THEN E'two\\nlines ${x}'
        ELSE '😀x' || k END,
    CASE WHEN k % 4 = 0 THEN '2024-03-1' || k % 10 ELSE '00' || k END,
    CASE k % 29 WHEN 0 THEN NULL WHEN 1 THEN 'infinity'::DATE ELSE DATE '1500-01-01' +
        (k * 2000)::INTEGER END,
    CASE k % 31 WHEN 0 THEN NULL WHEN 1 THEN '-infinity'::TIMESTAMP
        ELSE TIMESTAMP '1969-12-31 20:00:00' + INTERVAL (k * 3677) SECOND END,
    CASE k % 37 WHEN 0 THEN NULL ELSE TIMESTAMPTZ '2024-03-10 00:00:00+00' +
        INTERVAL (k * 17) MINUTE END,
    CASE k % 5 WHEN 0 THEN NULL ELSE TIME '00:00:01' + INTERVAL (k * 421) SECOND END,
    CASE k % 11 WHEN 0 THEN NULL ELSE (k - 50) * 1.37 END::DECIMAL(10,2),
    CASE k % 11 WHEN 1 THEN NULL ELSE (k - 50) * 1000000.0000000001 END::DECIMAL(38,10),
    CASE k % 3 WHEN 0 THEN NULL ELSE k % 2 = 0 END,
    CASE k % 8 WHEN 0 THEN NULL ELSE encode('b' || k) END,
    CASE k % 8 WHEN 1 THEN NULL ELSE md5(k::VARCHAR)::UUID END,
    CASE k % 8 WHEN 2 THEN NULL ELSE '{"a": ' || k || ', "b": [1, 2, {"c": "x"}]}' END,
    CASE k % 7 WHEN 0 THEN NULL WHEN 1 THEN [] ELSE [k, k + 1, NULL, k * 2] END,
    CASE k % 5 WHEN 0 THEN NULL ELSE {x: k, y: 'v' || k % 3} END,
    CASE k % 6 WHEN 0 THEN NULL ELSE MAP {'a': k, 'b': k % 4} END
    FROM range({start}, {end}) r(k)"""


def fill(folder: Path) -> str:
    """A lake in a folder, with the table `t` in three files, the last with nothing but NULL, and
    some rows deleted. Its address."""
    url = f"sqlite:///{folder}/lake.db"
    with tidelake.connect(url, data_path=f"{folder}/data") as lake:
        lake.create_table("t", COLUMNS)
        lake.set_option("data_inlining_row_limit", 0)
        for start, end in ((0, 90), (90, 200)):
            lake.sql(
                "INSERT INTO t " + MOST.replace("{start}", str(start)).replace("{end}", str(end))
            )
        lake.table("t").append([{"id": number} for number in range(1000, 1010)])
        lake.table("t").delete("id IN (3, 95, 1001)")
    return url


def conditions() -> list[str]:
    """One to a line; a line that ends in the middle of a text goes on."""
    text = (Path(__file__).parent / "conditions.txt").read_text()
    lines = [line for line in text.replace("two\nlines", "two\0lines").splitlines() if line]
    return [line.replace("\0", "\n") for line in lines if not line.startswith("--")]
