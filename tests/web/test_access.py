"""Who may come in, and what they may do then."""

import logging
import stat
from base64 import b64encode
from io import StringIO

import adbc_driver_manager
import pytest
from starlette.testclient import TestClient

from tests.web.serving import adbc, rows_of, running
from tidelake.errors import Denied, Invalid, NotFound
from tidelake.testing.place import Place
from tidelake.web.access import Access, TokenFile, Visitor, new_token, records_of, token_of
from tidelake.web.flight.statements import Shelf
from tidelake.web.logs import LOG, write_logs
from tidelake.web.settings import ServeSettings


@pytest.fixture
def place(tmp_path) -> Place:
    return Place.at("sqlite", tmp_path)


@pytest.fixture
def tokens(tmp_path) -> TokenFile:
    return TokenFile(tmp_path / "tokens.toml")


def added(tokens: TokenFile, name: str, role: str, tenant: str | None = None) -> str:
    text, record = new_token(name, role, tenant)
    tokens.add(record)
    return text


def test_a_file_of_tokens_tells_nobody_what_they_are(tokens):
    text = added(tokens, "ann", "write")
    secret = text.partition(".")[2]
    assert secret not in tokens.path.read_text()
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600
    assert added(tokens, "bob", "read") != text
    assert [each.role for each in tokens.records().values()] == ["write", "read"]
    with pytest.raises(Invalid, match="there is a token ann already"):
        added(tokens, "ann", "read")


def test_only_a_whole_token_lets_in(tokens):
    text = added(tokens, "ann", "write")
    access = Access(None, tokens)
    assert access.visitor(text) == access.visitor(text) == Visitor("ann", "write")
    wrong = [None, "", "ann", "ann.", text[:-1], text + "x", "bob." + text[4:], ".", "x" * 5000]
    for each in [*wrong, text.upper(), text.replace("ann", "Ann"), "nobody." + text[4:]]:
        with pytest.raises(Denied):
            access.visitor(each)


def test_a_token_that_was_removed_lets_nobody_in_from_then_on(tokens):
    text, other = added(tokens, "ann", "write"), added(tokens, "bob", "read")
    access = Access(None, tokens)
    assert access.visitor(text).name == "ann"
    tokens.remove("ann")
    with pytest.raises(Denied):
        access.visitor(text)
    assert access.visitor(other).name == "bob"
    tokens.path.write_text("nonsense = ")
    with pytest.raises(Denied):
        access.visitor(other)
    with pytest.raises(NotFound):
        TokenFile(tokens.path.with_name("none.toml")).remove("ann")


@pytest.mark.parametrize(
    "said",
    [
        [],
        {"ann": "x"},
        {"ann": {"role": "read"}},
        {"ann": {"role": "owner", "hash": "scrypt$YQ==$YQ=="}},
        {"ann": {"role": "read", "hash": "plain"}},
        {"a b": {"role": "read", "hash": "scrypt$YQ==$YQ=="}},
        {"ann": {"role": "read", "hash": "scrypt$YQ==$YQ==", "tenant": "../x"}},
    ],
)
def test_records_that_are_none(said):
    with pytest.raises(Invalid):
        records_of(said, "tokens.toml")


def test_where_strangers_come_tokens_and_tls_are_needed(tmp_path, tokens):
    for host in ("0.0.0.0", "::", "192.168.1.7", "lake.example.com", ""):
        for said in (
            {},
            {"tokens_file": str(tokens.path)},
            {"tls_cert": "c.pem", "tls_key": "k.pem"},
        ):
            with pytest.raises(Invalid, match=r"needs (tokens|TLS)"):
                ServeSettings(host=host, **said)
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        assert ServeSettings(host=host).host == host
    with pytest.raises(Invalid, match="a certificate and its key"):
        ServeSettings(tls_cert="c.pem")


def test_settings_come_from_the_file_and_the_command(tmp_path):
    said = {"port": 9000, "tokens_file": "t.toml", "hosts": ["lake.local"]}
    found = ServeSettings.of(said, tmp_path, {"port": None, "role": "read"})
    assert (found.port, found.role, found.hosts) == (9000, "read", ("lake.local",))
    assert found.tokens_file == str(tmp_path / "t.toml")
    for wrong in ({"prot": 1}, {"port": "x"}, {"port": True}, {"log_sql": 1}):
        with pytest.raises(Invalid, match=r"\[serve\]"):
            ServeSettings.of(wrong, None, {})


def test_a_role_is_kept_to_and_a_tenant_sees_its_own(place, tokens):
    names = {
        "reader": added(tokens, "reader", "read"),
        "writer": added(tokens, "writer", "write"),
        "acme": added(tokens, "acme", "write", "acme"),
        "guest": added(tokens, "guest", "read", "acme"),
        "gone": added(tokens, "gone", "read", "bolt"),
    }
    with running(place, tokens_file=str(tokens.path)) as service:
        lake = service.lakes.whole
        lake.create_table("t", "a BIGINT").append([{"a": 1}])
        lake.create_tenant("acme").create_table("t", "a BIGINT").append([{"a": 2}])
        for who, rows in {"reader": [1], "writer": [1], "acme": [2], "guest": [2]}.items():
            assert rows_of(service, "SELECT a FROM t", names[who])["a"].to_pylist() == rows
        for who in ("reader", "guest"):
            with pytest.raises(adbc_driver_manager.Error, match="not enough to write"):
                rows_of(service, "INSERT INTO t VALUES (9)", names[who])
        rows_of(service, "INSERT INTO t VALUES (3)", names["acme"])
        rows_of(service, "INSERT INTO t VALUES (4)", names["writer"])
        assert sorted(lake.table("acme.t").to_arrow()["a"].to_pylist()) == [2, 3]
        assert sorted(lake.table("t").to_arrow()["a"].to_pylist()) == [1, 4]
        with pytest.raises(adbc_driver_manager.Error, match="no tenant 'bolt'"):
            rows_of(service, "SELECT 1", names["gone"])
        with adbc(service, names["acme"]) as connection:
            assert "main" in str(connection.adbc_get_objects(depth="db_schemas").read_all())
            with pytest.raises(adbc_driver_manager.Error, match="no table"):
                connection.cursor().execute("SELECT * FROM lake.main.acme")
        _check_page(service, names)


def _check_page(service, names) -> None:
    http = TestClient(service.asgi(), base_url="http://127.0.0.1:8080")
    assert http.get("/metrics").status_code == 401
    assert "Basic" in http.get("/").headers["www-authenticate"]
    assert http.get("/health").status_code == 200
    assert http.get("/metrics", auth=("x", names["reader"])).status_code == 200
    assert http.get("/metrics", auth=("x", names["guest"])).status_code == 403
    assert http.get("/", headers={"authorization": "Bearer nobody.x"}).status_code == 401


def test_what_maintains_the_lake_needs_the_role(place):
    with running(place) as service:
        for role, may in {"read": 0, "write": 1, "maintain": 2}.items():
            lake = service.lakes.of(Visitor("x", role))
            for level, call in (
                (1, lambda lake=lake: lake.tag("t", 0)),
                (1, lambda lake=lake, role=role: lake.create_schema(f"s{role}")),
                (2, lake.compact),
                (2, lambda lake=lake: lake.expire(older_than="9 days", dry_run=True)),
                (2, lambda lake=lake: lake.set_option("data_inlining_row_limit", 10)),
                (2, lambda lake=lake: lake.sql("CALL cleanup(dry_run => true)")),
            ):
                if may >= level:
                    call()
                else:
                    with pytest.raises(Denied, match="not enough to"):
                        call()


def test_handles_are_of_no_use_to_others():
    gone: list[str] = []
    shelf: Shelf[str] = Shelf("thing", 2, 60, let_go=gone.append)
    ann, bob = Visitor("ann", "write"), Visitor("bob", "write")
    handle = shelf.put(ann, "hers")
    assert shelf.get(ann, handle) == "hers"
    for ask in (shelf.get, shelf.take):
        with pytest.raises(NotFound, match="knows no such thing"):
            ask(bob, handle)
    shelf.put(bob, "his")
    shelf.put(bob, "his other")
    assert gone == ["hers"]
    with pytest.raises(NotFound):
        shelf.get(ann, handle)
    assert sorted(shelf.clear()) == ["his", "his other"]


def test_headers_that_carry_tokens():
    basic = b64encode(b"ann:secret:more").decode()
    assert token_of(f"Basic {basic}") == token_of(f"basic {basic.rstrip('=')}") == "secret:more"
    assert token_of("Bearer  x.y ") == "x.y"
    for wrong in (None, "", "Basic", "Basic !!", "Digest x", "Basic /w=="):
        assert not token_of(wrong)


def test_logs_are_json_and_tell_no_secrets(place, tokens):
    text = added(tokens, "ann", "write")
    kept = LOG.handlers, LOG.level, LOG.propagate
    out = StringIO()
    write_logs(out)
    try:
        with running(place, tokens_file=str(tokens.path)) as service:
            rows_of(service, "SELECT 'my value' AS x", text, headers={"x_request_id": "r-1"})
            http = TestClient(service.asgi(), base_url="http://127.0.0.1:8080")
            http.get("/metrics", headers={"x-request-id": "a b\t{"}, auth=("x", text))
            assert http.get("/health", headers={"x-request-id": "r-2"}).headers["x-request-id"] == (
                "r-2"
            )
    finally:
        LOG.handlers, LOG.level, LOG.propagate = kept
    assert LOG.level != logging.INFO
    said = out.getvalue()
    assert '"request": "r-1"' in said
    assert '"visitor": "ann"' in said
    assert "a b" not in said
    assert "my value" not in said
    assert text.partition(".")[2] not in said
