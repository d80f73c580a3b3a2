"""Nothing that may be a password is in what an address looks like in messages."""

import itertools
import random
import traceback

import pytest

import tidelake
from tidelake.catalog.database.address import parse_url
from tidelake.errors import TidelakeError
from tidelake.lake.address import Address
from tidelake.model.address import mask_secrets, without_secrets

SECRET = "S3cr3tMarker"

PLAIN = [
    ("postgresql://ann:pw@db.example:5432/lake", "postgresql://ann:***@db.example:5432/lake"),
    ("postgresql://ann@db.example/lake", "postgresql://ann@db.example/lake"),
    ("postgresql://postgres:pw@h/lake", "postgresql://postgres:***@h/lake"),
    ("mysql+pymysql://mysql:pw@h/lake", "mysql+pymysql://mysql:***@h/lake"),
    ("postgres:pw@h/lake", "postgres::***@h/lake"),
    ("postgresql://db.example:5432/lake", "postgresql://db.example:5432/lake"),
    ("mysql://h/db?user=u&password=pw", "mysql://h/db?user=u&password=***"),
    ("mysql://h/db?charset=utf8&ssl_key=x", "mysql://h/db?charset=utf8&ssl_key=***"),
    ("postgresql://u:p@ss@h/db", "postgresql://u:***@h/db"),
    ("postgresql://u:pw/db", "postgresql://u:***"),
    ("sqlite:///lake=1.db", "sqlite:///lake=***"),
    ("sqlite:///C:/lake.db", "sqlite:///C:/lake.db"),
    ("lake.db", "lake.db"),
    ("s3://bucket/prefix", "s3://bucket/prefix"),
    ("s3://key:secret@bucket/prefix", "s3://key:***@bucket/prefix"),
    (
        "ducklake:postgres:dbname=a password=b host=c",
        "ducklake:postgres:dbname=a password=*** host=c",
    ),
]


@pytest.mark.parametrize(("address", "shown"), PLAIN)
def test_what_is_harmless_is_shown(address, shown):
    assert mask_secrets(address) == shown


SCHEMES = [
    *("postgresql://", "POSTGRESQL://", "postgres:/", "postgresql:", "postgresql:///"),
    *("mysql+mysqldb://", "mssql://", " postgresql://", "\tmysql://", "pq://", "", "sqlite://"),
    *("ducklake:postgres:postgresql://", "ducklake:", "DuckLake:mysql:mysql://", "duckdb://"),
]
PASSWORDS = [
    SECRET,
    *(f"a/{SECRET}", f"{SECRET}@x", f"a b{SECRET}", f"\t{SECRET}", f"{SECRET}?x", f"#{SECRET}"),
    *(f"%41{SECRET}%40", f"a:{SECRET}", f"a={SECRET}", f"[{SECRET}", f"é{SECRET}", f"'{SECRET}"),
    *(f"a&{SECRET}", f"a\n{SECRET}", f"a\\{SECRET}", f'"{SECRET} "'),
]
PLACES = ["@127.0.0.1:1/db", "@127.0.0.1:notaport/db", "@h", "@/db?host=/tmp", "@[::1/db", "@"]
QUERIES = [
    *("postgresql://127.0.0.1:1/db?user=u&password={}", "mysql://127.0.0.1:1/db?PASSWORD={}"),
    *("mysql://h?passwd={}", "postgresql://u@127.0.0.1:1/db?sslpassword={}&sslmode=bogus"),
    *("postgresql://127.0.0.1:1/db?pass%77ord={}", "ducklake:postgres:password={}"),
    *("ducklake:postgres:dbname=x host=127.0.0.1 port=1 password = {}", "host=h password={}"),
    *("ducklake:mysql:passwd='{}' host=127.0.0.1 port=1 db=x", "ducklake:postgres:password='{}"),
    *('ducklake:postgres:password="{}', "postgresql:/h/db?password={}", "?token={}"),
]
QUERY_PASSWORDS = [SECRET, f"a{SECRET}", f"{SECRET}%20x", f"é{SECRET}", f"{SECRET}=="]


def addresses():
    for scheme, password, place in itertools.product(SCHEMES, PASSWORDS, PLACES):
        yield f"{scheme}u:{password}{place}"
    for query, password in itertools.product(QUERIES, QUERY_PASSWORDS):
        yield query.format(password)


def test_no_password_is_shown_wherever_it_stands():
    leaks = [address for address in addresses() if SECRET in mask_secrets(address)]
    assert leaks == []


def test_no_password_is_shown_when_an_address_is_read():
    leaks = []
    for address in addresses():
        try:
            found = parse_url(address)
        except TidelakeError as error:
            said = "".join(traceback.format_exception(error))
        else:
            said = "" if found.path else f"{found} {found!r}"
        if SECRET in said:
            leaks.append((address, said))
    assert leaks == []


def test_no_password_is_shown_when_a_catalog_cannot_be_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = random.Random(7).sample(sorted(addresses()), 40)
    for address in [*chosen, *(query.format(SECRET) for query in QUERIES)]:
        try:
            tidelake.connect(address, data_path="d", read_only=True)
        except TidelakeError as error:
            chain, shown = error, str(error)
            while chain := chain.__cause__ or (
                None if chain.__suppress_context__ else chain.__context__
            ):
                shown += str(chain)
            assert SECRET not in shown or "there is no catalog at" in shown, address


def test_what_a_driver_quotes_is_hidden():
    address = f"postgresql://u:a%20{SECRET}@h/db"
    said = f'missing "=" after "a {SECRET}" in connection info string'
    assert SECRET not in without_secrets(said, address)


def test_settings_do_not_show_what_they_hold():
    shown = repr(Address(f"pq://u:{SECRET}@h", f"s3://k:{SECRET}@b", {"secret": SECRET}))
    assert SECRET not in shown


def test_blanks_around_an_address_do_not_matter():
    assert parse_url(" postgresql://u@h/db\n") == parse_url("postgresql://u@h/db")


def test_of_a_very_long_text_it_is_known_soon_enough() -> None:
    for text in ("x" * 300_000, "x" * 300_000 + ":5432/lake", "x " * 150_000):
        assert mask_secrets(text) == text
