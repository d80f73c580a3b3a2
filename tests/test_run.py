"""How the tests themselves are run."""

import pytest


@pytest.mark.xdist_group("a group")
def test_processes_know_of_groups(request: pytest.FixtureRequest, worker_id: str) -> None:
    """Else each process would start a Spark of its own, and nobody would notice but the clock."""
    if worker_id == "master":
        pytest.skip("there is one process only")
    assert request.node.nodeid.endswith("@a group")
