"""A service under clients that ask for too much, wait for too long, or change their minds."""

import time
from collections.abc import Callable
from threading import Thread

import adbc_driver_manager
import pyarrow as pa
import pyarrow.flight as fl
import pytest

from tests.web.serving import adbc, address, info_of, rows_of, running
from tidelake.errors import NotFound, Unavailable
from tidelake.testing.place import Place
from tidelake.web.access import Visitor
from tidelake.web.flight import messages
from tidelake.web.limits import Limits, Slots
from tidelake.web.serve import Service

ENDLESS = "SELECT count(*) FROM range(100000) a, range(100000) b WHERE a.range + b.range = -1"
WIDE = "SELECT range AS a, repeat('x', 500) AS b FROM range(200000)"


@pytest.fixture
def place(tmp_path) -> Place:
    return Place.at("sqlite", tmp_path)


class Asking:
    """Somebody who asks the desk itself."""

    visitor = Visitor("anybody", "write")
    request, as_of, known_at = "r-1", None, None


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never came to that")


def busy(service: Service) -> int:
    return service.desk.slots.busy


def test_a_query_is_cancelled_by_whoever_began_it(place):
    with running(place) as service, fl.connect(address(service)) as client:
        info = info_of(client, ENDLESS)
        failed: list[Exception] = []

        def read() -> None:
            try:
                client.do_get(info.endpoints[0].ticket).read_all()
            except Exception as error:
                failed.append(error)

        reading = Thread(target=read)
        reading.start()
        wait_until(lambda: busy(service) == 1)
        asked = messages.new("CancelFlightInfoRequest", info=info.serialize())
        (answer,) = client.do_action(("CancelFlightInfo", asked.SerializeToString()))
        told = messages.parse("CancelFlightInfoResult", answer.body.to_pybytes())
        assert told.status == messages.CANCELLED
        reading.join()
        assert "cancelled" in str(failed[0])
        wait_until(lambda: busy(service) == 0)


def test_a_client_that_hangs_up_is_not_computed_for(place):
    with running(place) as service:
        with adbc(service) as connection:
            cursor = connection.cursor()

            def ask() -> None:
                with pytest.raises(adbc_driver_manager.Error, match="CANCELLED"):
                    cursor.execute(ENDLESS)

            asking = Thread(target=ask)
            asking.start()
            wait_until(lambda: busy(service) == 1)
            cursor.adbc_cancel()
            asking.join()
            cursor.close()
        wait_until(lambda: busy(service) == 0)


@pytest.mark.slow
def test_a_client_that_takes_no_rows_loses_its_query_and_nobody_waits_for_it(place):
    with running(place, Limits(queries=1, stall_s=0.5)) as service:
        slow, other = (fl.connect(address(service)) for _ in range(2))
        reader = slow.do_get(info_of(slow, WIDE).endpoints[0].ticket)
        reader.read_chunk()
        assert other.do_get(info_of(other, "SELECT 7 AS x").endpoints[0].ticket).read_all()
        value = service.metrics.registry.get_sample_value
        assert value("tidelake_flight_stalled_total") == 1
        with pytest.raises(fl.FlightError, match="no rows were taken for too long"):
            reader.read_all()


@pytest.mark.slow
def test_too_many_queries_are_refused(place):
    limits = Limits(queries=1, waiting=1, wait_s=0.3)
    with running(place, limits) as service, fl.connect(address(service)) as client:
        first = client.do_get(info_of(client, WIDE).endpoints[0].ticket)
        first.read_chunk()
        with pytest.raises(fl.FlightUnavailableError, match="1 queries are running"):
            info_of(client, "SELECT 1")
        first.cancel()
        wait_until(lambda: busy(service) == 0)
        assert info_of(client, "SELECT 1").endpoints


def test_a_place_is_given_to_one_who_waits():
    slots = Slots(1, 1, 5.0)
    slots.take()
    got: list[int] = []
    waiting = Thread(target=lambda: (slots.take(), got.append(1)))
    waiting.start()
    wait_until(lambda: slots.waiting == 1)
    with pytest.raises(Unavailable):
        slots.take()
    slots.give_back()
    waiting.join()
    assert (got, slots.busy, slots.waiting) == ([1], 1, 0)


@pytest.mark.slow
def test_a_query_has_its_own_time(place):
    with (
        running(place, seconds=2.0) as service,
        pytest.raises(Exception, match="more than 2 seconds"),
    ):
        rows_of(service, ENDLESS)


@pytest.mark.slow
def test_a_query_has_its_own_memory(place):
    with running(place, memory=128 * 1024**2) as service:
        with pytest.raises(Exception, match="128 MB"):
            rows_of(service, "SELECT length(repeat('x', 3000000000))")
        assert rows_of(service, "SELECT 1 AS x")["x"].to_pylist() == [1]


def test_an_idle_transaction_is_rolled_back(place):
    with running(place, Limits(transaction_s=0.0)) as service:
        lake = service.lakes.whole
        lake.create_table("t", "a BIGINT")
        desk, caller = service.desk, Asking()
        handle = desk.begin(caller)
        with pytest.raises(NotFound, match="no such transaction"):
            desk.update(caller, "INSERT INTO t VALUES (1)", handle, [None])
        assert lake.table("t").count() == 0
        assert lake.create_table("u", "a BIGINT").append([{"a": 1}]).rows == 1


def test_there_are_not_too_many_transactions(place):
    with running(place, Limits(transactions=1)) as service:
        desk, caller = service.desk, Asking()
        handle = desk.begin(caller)
        with pytest.raises(Unavailable, match="1 of a transaction already"):
            desk.begin(caller)
        desk.end(caller, handle, commit=False)
        desk.end(caller, desk.begin(caller), commit=True)


def test_an_ingestion_that_breaks_off_leaves_nothing(place):
    with running(place) as service:
        lake = service.lakes.whole
        lake.create_table("t", "a BIGINT")

        def rows():
            yield pa.record_batch({"a": list(range(1000))})
            raise RuntimeError("the client has lost its data")

        schema = pa.schema({"a": pa.int64()})
        with adbc(service) as connection, connection.cursor() as cursor:
            broken = pa.RecordBatchReader.from_batches(schema, rows())
            with pytest.raises(Exception, match="the client has lost its data"):
                cursor.adbc_ingest("t", broken, mode="append")
        wait_until(lambda: busy(service) == 0)
        assert lake.table("t").count() == 0


def test_memory_for_parameters_is_bounded(place):
    with running(place, Limits(parameter_bytes=1000)) as service:
        service.lakes.whole.create_table("t", "a VARCHAR")
        with (
            adbc(service) as connection,
            connection.cursor() as cursor,
            pytest.raises(Exception, match="more than 1,000 bytes"),
        ):
            cursor.executemany("INSERT INTO t VALUES (?)", [("x" * 2000,)])
