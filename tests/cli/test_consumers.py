"""`consumers`: listed and forgotten."""

import tidelake
from tests.cli.conftest import Tidelake


def test_consumers_are_listed_and_dropped(lake: Tidelake) -> None:
    assert lake.json("consumers") == {"consumers": []}
    with tidelake.connect(lake.url) as opened:
        opened.consumer("billing", since=1).close()
        with opened.consumer("mail") as mail:
            shown = lake("consumers").stdout.splitlines()
            assert shown[2].split() == ["billing", "1", "2"]
            assert shown[3].split()[:4] == ["mail", "NULL", "4", mail.owner]
            assert "is held by" in lake("consumers", "--drop", "mail", ok=False).stderr
    assert [c["lag"] for c in lake.json("consumers")["consumers"]] == [2, 4]
    assert "would forget billing" in lake("consumers", "--drop", "billing", "--dry-run").stdout
    assert len(lake.json("consumers")["consumers"]) == 2
    assert lake("consumers", "--drop", "billing").stdout.startswith("forgot billing")
    assert [c["name"] for c in lake.json("consumers")["consumers"]] == ["mail"]
    assert "no consumer" in lake("consumers", "--drop", "billing", ok=False).stderr
    with tidelake.connect(lake.url) as opened, opened.consumer_group("work") as member:
        member.poll()
        assert "a group of 1" in lake("consumers").stdout
        (work,) = (c for c in lake.json("consumers")["consumers"] if c["name"] == "work")
        assert work["members"] == [member.owner]
        assert {share["owner"] for share in work["tables"]} == {member.owner}
        assert "others take part" in lake("consumers", "--drop", "work", ok=False).stderr
    assert lake("consumers", "--drop", "work").stdout.startswith("forgot work")
    assert "goes with --drop" in lake("consumers", "--dry-run", ok=False).stderr
