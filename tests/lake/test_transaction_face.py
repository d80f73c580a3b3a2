"""A transaction and a lake stand beside each other: what only one of them can do, it alone does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tidelake.errors import Invalid
from tidelake.lake.browsable import Browsable
from tidelake.lake.caretaker import Caretaker
from tidelake.lake.changeable import Changeable
from tidelake.lake.keeper import Keeper
from tidelake.lake.lake import Lake
from tidelake.lake.landlord import Landlord
from tidelake.lake.owner import Owner
from tidelake.lake.publisher import Publisher
from tidelake.lake.transaction import Transaction

REFUSED: dict[str, Callable[[Any], object]] = {
    "across_tenants": lambda tx: tx.across_tenants("t"),
    "audit": lambda tx: tx.audit(),
    "backup": lambda tx: tx.backup("b"),
    "cleanup": lambda tx: tx.cleanup(dry_run=True),
    "compact": lambda tx: tx.compact(),
    "consumer": lambda tx: tx.consumer("c"),
    "consumer_group": lambda tx: tx.consumer_group("c"),
    "create_tenant": lambda tx: tx.create_tenant("acme"),
    "drop_frozen": lambda tx: tx.drop_frozen("d"),
    "drop_tenant": lambda tx: tx.drop_tenant("acme"),
    "erase": lambda tx: tx.erase("t", "n = 1", reason="r"),
    "erasures": lambda tx: tx.erasures(),
    "expire": lambda tx: tx.expire(keep_last=1),
    "finish_erasures": lambda tx: tx.finish_erasures(),
    "freeze": lambda tx: tx.freeze("d", "SELECT 1 AS n"),
    "frozen": lambda tx: tx.frozen(),
    "health": lambda tx: tx.health(),
    "mirror": lambda tx: tx.mirror("t"),
    "mirrored": lambda tx: tx.mirrored("t"),
    "move": lambda tx: tx.move("elsewhere"),
    "recover": lambda tx: tx.recover(),
    "reindex": lambda tx: tx.reindex(),
    "set_option": lambda tx: tx.set_option("data_inlining_row_limit", 5),
    "set_quota": lambda tx: tx.set_quota("acme", tidelake.Quota()),
    "set_retention": lambda tx: tx.set_retention("acme", "7d"),
    "share": lambda tx: tx.share("t"),
    "shares": lambda tx: tx.shares(),
    "sync_mirrors": lambda tx: tx.sync_mirrors(),
    "tag": lambda tx: tx.tag("name"),
    "tenant": lambda tx: tx.tenant("acme"),
    "tenant_login": lambda tx: tx.tenant_login("acme"),
    "tenants": lambda tx: tx.tenants(),
    "transaction": lambda tx: tx.transaction(),
    "unshare": lambda tx: tx.unshare("t"),
    "untag": lambda tx: tx.untag("kept"),
    "verify": lambda tx: tx.verify(),
}
OWN = {"close", "known_at"}
"""What each does in its own way."""


LAKE_ALONE = (Caretaker, Publisher, Landlord, Keeper, Owner)


def public(face: type) -> set[str]:
    own = [each for each in face.__mro__ if each in (face, *LAKE_ALONE)]
    return {name for each in own for name in vars(each) if not name.startswith("_")}


@pytest.fixture
def lake(tmp_path: Path) -> tidelake.Lake:
    lake = tidelake.connect(f"sqlite:///{tmp_path}/lake.db")
    lake.create_table("t", "n INT").append([{"n": 1}])
    lake.tag("kept")
    return lake


def test_every_method_of_a_lake_is_shared_refused_or_its_own() -> None:
    assert public(Lake) - public(Changeable) - public(Browsable) == REFUSED.keys() | OWN
    assert not issubclass(Transaction, Lake)
    assert public(Transaction) >= public(Lake)


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_the_lake_can_do_is_refused_by_name(lake: tidelake.Lake, name: str) -> None:
    before = len(lake.snapshots()), lake.tags(), lake.mirrors()
    with lake.transaction() as tx:
        tx.table("t").append([{"n": 2}])
        with pytest.raises(Invalid) as told:
            REFUSED[name](tx)
        assert told.value.hint
    assert (len(lake.snapshots()) - 1, lake.tags(), lake.mirrors()) == before
    assert lake.table("t").count() == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.compact(),
        lambda t: t.rollup("2024-01-01"),
        lambda t: t.drop_rollups(),
        lambda t: t.recompute_coverage(),
    ],
    ids=["compact", "rollup", "drop_rollups", "recompute_coverage"],
)
def test_so_is_what_a_table_cannot_do_there(
    lake: tidelake.Lake, call: Callable[[Any], object]
) -> None:
    with lake.transaction() as tx, pytest.raises(Invalid, match="transaction"):
        call(tx.table("t"))
