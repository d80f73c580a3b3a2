"""Who gets past the guard, and what a browser may load."""

import pytest

from tests.web.conftest import Browser
from tidelake.web.guard import MOST_BYTES


def test_pages_forbid_scripts_of_others_and_frames(browser):
    answer = browser.client.get("/")
    headers = answer.headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe-inline" not in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"


def test_the_token_is_a_cookie_for_this_site_alone(market):
    cookie = Browser(market).client.get("/").headers["set-cookie"]
    assert "SameSite=Strict" in cookie
    assert "HttpOnly" in cookie


@pytest.mark.parametrize("token", [None, "", "x" * 43])
def test_nothing_is_done_without_the_token(browser, token):
    browser.get("/")
    headers = {} if token is None else {"x-csrf-token": token}
    answer = browser.client.post("/sql/run", json={"sql": "SELECT 1"}, headers=headers)
    assert answer.status_code == 403


@pytest.mark.slow
def test_another_page_cannot_use_the_token(browser):
    headers = {"x-csrf-token": browser.token, "origin": "https://elsewhere.example"}
    answer = browser.client.post("/sql/run", json={"sql": "SELECT 1"}, headers=headers)
    assert answer.status_code == 403
    headers["origin"] = "http://127.0.0.1"
    assert browser.client.post("/sql/run", json={"sql": "SELECT 1"}, headers=headers).is_success


@pytest.mark.parametrize("host", ["rebound.example", "127.0.0.1.rebound.example:80", ""])
def test_a_name_that_leads_here_is_not_answered(browser, host):
    assert browser.client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:9", "[::1]:8080"])
def test_this_machine_is_answered(browser, host):
    assert browser.client.get("/sql", headers={"host": host}).is_success


def test_a_request_has_a_most(browser):
    headers = {"x-csrf-token": browser.token}
    body = {"sql": "x" * MOST_BYTES}
    assert browser.client.post("/sql/run", json=body, headers=headers).status_code == 413
    assert browser.get("/sql", 400, sql="x" * 30_000)


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc"])
def test_nothing_but_what_is_the_pages_is_given_away(browser, path):
    assert browser.client.get(path).status_code == 404


@pytest.mark.slow
def test_names_are_text_wherever_they_stand(place, lake):
    odd = '"<img src=x onerror=alert(1)>"'
    lake.create_table(odd, 'k VARCHAR, ts TIMESTAMP, "<i>" VARCHAR', key="k", event_time="ts")
    row = {"k": "<b>", "ts": "2024-01-01", "<i>": "</td><script>"}
    lake.table(odd).append([row], message="<script>x</script>")
    browser = Browser(lake)
    name = lake.tables()[0]
    for html in (
        browser.get("/"),
        browser.get("/clocks", table=name, where='"<script>'),
        browser.get("/clocks/answer", table=name, as_of="2024-02-01"),
        browser.get("/history", table=name),
        browser.get("/files", table=name),
        browser.get("/sql", sql="</textarea><script>"),
    ):
        assert "<script>" not in html
        assert "<img" not in html
        assert "<b></td>" not in html


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/remedy", {"operation": "compact", "dry_run": False}),
        ("/remedy", {"operation": "expire", "older_than": "1 day", "dry_run": False}),
        ("/history/rollback", {"table": "prices", "to": "7", "dry_run": False}),
    ],
)
def test_a_page_that_only_looks_changes_nothing(browser, path, body):
    before = len(browser.lake.snapshots())
    said = browser.post(path, 403, **body).json()["error"]
    assert "--write" in said["hint"]
    assert len(browser.lake.snapshots()) == before


@pytest.mark.slow
def test_a_tenant_sees_its_own(place, lake):
    lake.create_table("secret", "x INTEGER").append([{"x": 1}])
    acme = lake.create_tenant("acme")
    acme.create_table("own", "x INTEGER").append([{"x": 7}], message="of acme")
    browser = Browser(lake.tenant("acme", "read"))
    views = ("", "signals", "history", "files", "clocks", "coverage", "sql", "activity")
    for view in (f"/{each}" for each in views):
        assert "secret" not in browser.get(view)
    assert "main.own" in browser.get("/")
    assert [line.get("rows") for line in browser.run("SELECT x FROM own")][1] == [[7]]
    assert "error" in browser.run("SELECT x FROM secret")[-1]
