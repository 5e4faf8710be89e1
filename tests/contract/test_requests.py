"""Contract: what a pending job asks for, and what it then gets on each node."""

from dataclasses import replace

import pytest

from scheduler.model.jobs import ObservedJob, Request
from scheduler.model.resources import total
from tests.contract.harness import CPUS, GPU_TYPE, NODES, Harness, Work, fill, find, start, wait_pending


@pytest.fixture
def full(harness: Harness) -> dict[str, ObservedJob]:
    """Every node is full."""
    return fill(harness, *NODES)


def _request(harness: Harness, work: Work) -> Request:
    request = wait_pending(harness, work).request
    assert request is not None
    return request


@pytest.mark.usefixtures("full")
def test_a_request_for_one_node(harness: Harness) -> None:
    request = _request(harness, Work(cpus=3, mem_mb=600))

    assert request.nodes == 1
    assert request.per_node == {"cpu": 3, "mem": 600}
    assert request.spread == {}
    assert not request.exclusive


@pytest.mark.usefixtures("full")
def test_a_request_for_several_nodes_is_the_same_on_each(harness: Harness) -> None:
    request = _request(harness, Work(nodes=3, cpus=2, mem_mb=400, gpus={"gpu": 2}))

    assert request.nodes == 3
    assert request.per_node == {"cpu": 2, "mem": 400, "gpu": 2}


@pytest.mark.usefixtures("full")
def test_a_request_for_a_type_of_gpu_stands_under_both_names(harness: Harness) -> None:
    request = _request(harness, Work(gpus={"gpu:v100": 4}))

    assert request.per_node["gpu"] == 4
    assert request.per_node["gpu:v100"] == 4
    assert "gpu:a100" not in request.per_node


@pytest.mark.usefixtures("full")
def test_a_request_for_processors_anywhere_is_a_spread(harness: Harness) -> None:
    request = _request(harness, Work(tasks=6))

    assert (request.nodes, request.per_node) == (0, {})
    assert request.spread["cpu"] == 6


@pytest.mark.usefixtures("full")
def test_limits_of_place_are_part_of_a_request(harness: Harness) -> None:
    assert _request(harness, Work(features=("a100",))).features == {"a100"}
    assert _request(harness, Work(only_nodes=("n2",))).only_nodes == {"n2"}
    assert _request(harness, Work(not_nodes=("n1", "n3"))).not_nodes == {"n1", "n3"}
    assert _request(harness, Work(exclusive=True)).exclusive


def test_gpus_are_granted_with_their_type_on_each_node(harness: Harness) -> None:
    job = start(harness, Work(partitions=("q",), nodes=2, cpus=2, mem_mb=300, gpus={"gpu": 3}))

    share = {"cpu": 2, "mem": 300, "gpu": 3, "gpu:v100": 3}
    assert job.alloc == {"n3": share, "n4": share}


def test_jobs_get_the_type_of_gpu_they_ask_for(harness: Harness) -> None:
    jobs = [start(harness, Work(gpus={f"gpu:{kind}": 1})) for kind in ("v100", "a100")]

    assert {GPU_TYPE[node] for node in jobs[0].alloc} == {"v100"}
    assert {GPU_TYPE[node] for node in jobs[1].alloc} == {"a100"}


def test_processors_anywhere_may_be_uneven_and_add_up(harness: Harness) -> None:
    start(harness, Work(cpus=5, only_nodes=("n1",)))
    job = start(harness, Work(tasks=22))

    assert total(job.alloc.values())["cpu"] == 22
    assert len(job.alloc) >= 3
    assert all(part["cpu"] <= CPUS - (5 if node == "n1" else 0) for node, part in job.alloc.items())


def test_features_and_named_nodes_decide_where_jobs_run(harness: Harness) -> None:
    assert {GPU_TYPE[node] for node in start(harness, Work(features=("v100",))).alloc} == {"v100"}
    assert set(start(harness, Work(only_nodes=("n2",))).alloc) == {"n2"}
    assert set(start(harness, Work(nodes=2, not_nodes=("n1", "n3"))).alloc) == {"n2", "n4"}


def test_an_exclusive_job_holds_the_whole_node_and_waits_for_an_empty_one(harness: Harness) -> None:
    other = start(harness, Work(partitions=("x",)))
    waiting = wait_pending(harness, Work(partitions=("x",), exclusive=True))
    assert waiting.request is not None
    assert waiting.request.exclusive

    harness.cancel(other.id)

    seen = harness.wait_until(lambda seen: bool(find(seen, waiting.id).alloc), "the exclusive job running")
    part = find(seen, waiting.id).alloc["n1"]
    assert (part["cpu"], part["gpu"], part["gpu:a100"]) == (CPUS, 8, 8)


def test_allocations_of_many_jobs_stay_apart(harness: Harness) -> None:
    work = Work(cpus=1, gpus={"gpu": 1}, partitions=("q",))
    jobs = [start(harness, replace(work, user=user, name=f"{user}-1")) for user in ("ann", "bob", "cy")]
    seen = harness.cluster.observe()

    assert {job.id: find(seen, job.id).alloc for job in jobs} == {job.id: job.alloc for job in jobs}
    assert total(part for job in seen.jobs for part in job.alloc.values())["gpu:v100"] == 3
