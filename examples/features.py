"""A feature store: training sets from the past that leak nothing, and the same features to serve.

    python examples/features.py

Features are tables of facts, each with its own key and its own times. A label asks for them as they
held at its time, and as they were known when it was made. What is trained on is frozen, so that the
same rows can be had in a year; what is served is read from the same tables, as of now.
"""

from __future__ import annotations

import tempfile
from datetime import datetime
from typing import Any

import tidelake
from tidelake import Feature

Rows = list[dict[str, Any]]


def set_up(lake: tidelake.Lake) -> None:
    facts = {"key": "customer", "event_time": "ts"}
    lake.create_table("balances", "customer BIGINT, ts TIMESTAMP, balance DOUBLE", **facts)
    lake.create_table("risks", "customer BIGINT, ts TIMESTAMP, score DOUBLE", **facts)


def features(lake: tidelake.Lake) -> dict[str, Feature]:
    """Which columns a model is told, and how old they may be."""
    return {
        "account": Feature(lake.table("balances"), columns=["balance"], tolerance="90 days"),
        "risk": Feature(lake.table("risks"), columns=["score"]),
    }


def training_set(lake: tidelake.Lake, labels: Rows, name: str) -> Rows:
    """For every label the features that held at `at`, as they were known at snapshot `seen`."""
    joined = tidelake.asof_join(
        labels, features(lake), on="customer", left_time="at", known_at="seen", age=True
    )
    return lake.freeze(name, joined, author="trainer").to_arrow().to_pylist()


def serve(lake: tidelake.Lake, customer: int, at: datetime) -> dict[str, Any]:
    """The same features for one customer, as they are known now."""
    asked = [{"customer": customer, "at": at}]
    found = tidelake.asof_join(asked, features(lake), on="customer", left_time="at", age=True)
    return found.to_arrow().to_pylist()[0]


def day(month: int, number: int) -> datetime:
    return datetime(2024, month, number)


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        tidelake.connect(f"sqlite:///{folder}/lake.db", f"{folder}/data") as lake,
    ):
        set_up(lake)
        balances, risks = lake.table("balances"), lake.table("risks")
        balances.put({"customer": 1, "ts": day(1, 10), "balance": 500.0})
        balances.put({"customer": 1, "ts": day(3, 1), "balance": 20.0})
        risks.put({"customer": 1, "ts": day(1, 1), "score": 0.2})
        served = serve(lake, 1, day(3, 15))
        seen = lake.log(1)[0].snapshot_id
        # In May it turns out that the risk had been higher since February.
        risks.put({"customer": 1, "ts": day(2, 1), "score": 0.9})

        label = {"customer": 1, "at": day(3, 15), "seen": seen, "defaulted": True}
        (row,) = training_set(lake, [label], "defaults-2024-05")
        print(f"trained on: balance {row['account_balance']}, risk {row['risk_score']}")
        print(f"served in March: risk {served['risk_score']}")
        print(f"served now: risk {serve(lake, 1, day(3, 15))['risk_score']}")
        assert row["risk_score"] == served["risk_score"]

        balances.delete("customer = 1")
        kept = lake.frozen("defaults-2024-05")
        print(f"a year later: {kept.to_arrow().to_pylist()[0]['account_balance']}")
        print(f"fingerprint: {'as it was' if kept.verify().ok else 'ANOTHER ONE'}")


if __name__ == "__main__":
    main()
