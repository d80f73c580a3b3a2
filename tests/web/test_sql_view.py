"""SQL of the page: the rows of the library, in a sandbox, that can be cancelled."""

import io
import json
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ALL = "SELECT symbol, ts, price FROM prices ORDER BY ALL"


def test_rows_come_as_lines(browser):
    first, *middle, last = browser.run(ALL)
    assert [name for name, _ in first["columns"]] == ["symbol", "ts", "price"]
    rows = [row for line in middle for row in line["rows"]]
    wanted = browser.lake.sql(ALL).to_arrow()
    assert [row[0] for row in rows] == wanted["symbol"].to_pylist()
    assert [row[2] for row in rows] == wanted["price"].to_pylist()
    assert last["done"] == wanted.num_rows


def test_both_clocks_are_controls(browser):
    sql = "SELECT symbol, price FROM prices ORDER BY symbol"
    told = browser.run(sql, as_of="2024-03-04T12:00:00Z", known_at="20")
    wanted = browser.lake.sql(sql, as_of="2024-03-04T12:00:00Z", known_at=20).to_arrow()
    assert told[1]["rows"] == [list(row.values()) for row in wanted.to_pylist()]


def test_a_grid_has_a_most_and_says_so(browser):
    told = browser.run(ALL, limit=10)
    assert told[-1]["done"] == 10
    assert any(line.get("more") for line in told)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM prices",
        "CREATE TABLE t (x INTEGER)",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM nope",
        "SELEC 1",
        "SELECT 1; DELETE FROM prices",
        "SELECT 1) LIMIT 1; --",
    ],
)
def test_what_is_no_query_of_the_lake_is_refused(browser, sql):
    before = len(browser.lake.snapshots())
    assert browser.run(sql)[-1]["error"]["message"]
    assert len(browser.lake.snapshots()) == before


def test_a_query_can_be_cancelled(browser):
    token = browser.token
    found = []

    def ask():
        body = {"sql": "SELECT sum(a.range * b.range) FROM range(4000000) a, range(4000000) b"}
        headers = {"x-csrf-token": token}
        answer = browser.client.post("/sql/run", json={**body, "name": "long"}, headers=headers)
        found.append(answer.text)

    asking = threading.Thread(target=ask)
    asking.start()
    while not browser.post("/sql/cancel", name="long").json()["cancelled"]:
        time.sleep(0.05)
    asking.join(60)
    assert "cancelled" in json.loads(found[0].splitlines()[-1])["error"]["message"]
    assert browser.run("SELECT 1")[-1]["done"] == 1


def test_names_are_there_to_be_completed(browser):
    told = browser.json("/sql/names")
    assert told["tables"] == browser.lake.tables()
    assert told["columns"]["main.ratings"] == [
        ["symbol", "VARCHAR"],
        ["since", "TIMESTAMP"],
        ["grade", "VARCHAR"],
    ]


def test_a_plan_says_what_is_read(browser):
    told = browser.post("/sql/plan", sql=ALL, as_of="2024-03-04").json()["tables"]
    plan = browser.lake.table("prices").scan(as_of="2024-03-04").explain()
    assert [each["table"] for each in told] == ["main.prices"]
    assert told[0]["files"] == plan.files
    assert told[0]["as_of"] == plan.as_of


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_rows_go_into_files(browser, kind):
    form = {"sql": ALL, "format": kind, "csrf": browser.token}
    answer = browser.client.post("/sql/export", data=form)
    assert answer.is_success
    assert "attachment" in answer.headers["content-disposition"]
    wanted = browser.lake.sql(ALL).to_arrow()
    if kind == "csv":
        lines = answer.text.splitlines()
        assert lines[0] == "symbol,ts,price"
        assert len(lines) == wanted.num_rows + 1
        return
    read = {"parquet": pq.read_table, "arrow": lambda f: pa.ipc.open_stream(f).read_all()}[kind]
    assert read(io.BytesIO(answer.content)).to_pylist() == wanted.to_pylist()


def test_a_file_of_no_query_is_told_before_it_begins(browser):
    form = {"sql": "SELECT nope FROM prices", "format": "csv", "csrf": browser.token}
    answer = browser.client.post("/sql/export", data=form, headers={"accept": "text/html"})
    assert answer.status_code == 400
    assert "nope" in answer.text
