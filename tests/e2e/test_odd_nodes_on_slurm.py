"""Nodes that are not of the plain kind: what Slurm knows of them, the plan knows (docs/slurm-requests.md)."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from pytest_django import Settings

from deploy.private_slurm import Partition, PrivateSlurm
from scheduler.model.reasons import Reason
from tests.e2e.slurm_driver import Driver, attached
from tests.e2e.test_slurm_as_it_is.conftest import LEVELS, MARKS, USERS
from tests.plugins.private_slurm import new_root

pytestmark = MARKS

ONE = ("-N", "1", "-n", "1", "--mem=10")
NODE_WORDS = (
    {"Gres": "gpu:2,shard:8"},
    {"Gres": "gpu:1,mps:100"},
    {"Gres": "gpu:1,mps:100"},
    {"Gres": "npu:8,tok:x:8"},
    {"CoresPerSocket": "4", "ThreadsPerCore": "2", "Gres": ""},
    {"Gres": "", "Feature": "plain"},
    {"Gres": "gpu:ampere:2,gpu:1g.10gb:4"},
    {"SocketsPerBoard": "2", "CoresPerSocket": "4", "Gres": "gpu:2"},
    {"Gres": ""},
)
GRES = (
    "NodeName=n1 Name=gpu File={dev}/n1/gpu[0-1]",
    "NodeName=n1 Name=shard Count=8",
    "NodeName=n[2-3] Name=mps Count=100",
    "NodeName=n2 Name=gpu File={dev}/n2/gpu0",
    "NodeName=n3 Name=gpu File={dev}/n3/gpu0",
    "NodeName=n4 Name=npu Count=8",
    "NodeName=n4 Name=tok Type=x Count=8",
    "NodeName=n7 Name=gpu Type=ampere File={dev}/n7/gpu[0-1]",
    "NodeName=n7 Name=gpu Type=1g.10gb File={dev}/n7/gpu[2-5]",
    "NodeName=n8 Name=gpu File={dev}/n8/gpu0 Cores=0-3",
    "NodeName=n8 Name=gpu File={dev}/n8/gpu1 Cores=4-7",
)
PARTITIONS = (
    Partition("shards", (1,)),
    Partition("mps", (2, 3)),
    Partition("counted", (4,)),
    Partition("threads", (5,)),
    Partition("part", (6,), {"MaxCPUsPerNode": "4"}),
    Partition("other", (6,), {"MaxCPUsPerNode": "4"}),
    Partition("mig", (7,)),
    Partition("bound", (8,)),
    Partition("half", (9,), {"MaxCPUsPerNode": "4"}),
)


@pytest.fixture(scope="session")
def odd_slurm_of() -> Iterator[Callable[[str], PrivateSlurm]]:
    """One of each release, started when first asked for."""
    running: dict[str, PrivateSlurm] = {}
    with ExitStack() as stack:

        def of(release: str) -> PrivateSlurm:
            if release not in running:
                slurm = PrivateSlurm(
                    new_root(), version=release, remove_root=True, nodes=9, gpus=6, partitions=PARTITIONS,
                    node_words=NODE_WORDS, gres_lines=GRES, options={"GresTypes": "gpu,shard,mps,npu,tok"},
                )  # fmt: skip
                running[release] = stack.enter_context(slurm)
            return running[release]

        yield of


@pytest.fixture
def driver(
    db: None,
    odd_slurm_of: Callable[[str], PrivateSlurm],
    slurm_release: str,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Driver]:
    slurm = odd_slurm_of(slurm_release)
    slurm.clear()
    with attached(slurm, settings, monkeypatch) as driver:
        yield driver


def _policy(driver: Driver, partition: str, **keys: Any) -> None:
    driver.policy(partition, mode="user", levels=LEVELS, user_overrides=USERS, **keys)


def _waits(driver: Driver, name: str, reason: Reason) -> None:
    """It waits, for this reason, and nobody is stopped."""
    driver.steer_quietly(3)
    assert (driver.reason(name), driver.stopped()) == (reason.value, set())
    assert driver.states()[name] == "PENDING"


def test_a_gpu_whose_shards_are_held_is_not_free(driver: Driver, slurm_release: str) -> None:
    """Two jobs of four shards: one on each card. 22.05 gives out a GPU all the same."""
    _policy(driver, "shards")
    for name in ("older", "younger"):
        driver.running("ann", name, "-p", "shards", *ONE, "--gres=shard:4")
    driver.submit("cy", "urgent", "-p", "shards", *ONE, "--gres=gpu:1")

    driver.steer_until_running("urgent")

    assert len(driver.stopped()) == (0 if slurm_release == "system" else 1)


def test_shards_that_are_all_of_one_card_leave_the_other_one_free(driver: Driver) -> None:
    _policy(driver, "shards")
    for name in ("older", "younger"):
        driver.running("ann", name, "-p", "shards", *ONE, "--gres=shard:2")
    driver.submit("cy", "urgent", "-p", "shards", *ONE, "--gres=gpu:1")

    driver.steer_until_running("urgent")

    assert driver.stopped() == set()


def test_shards_left_on_two_cards_are_no_room_for_a_job(driver: Driver) -> None:
    """One shard is left on each card: a job of two needs one of those who hold three."""
    _policy(driver, "shards")
    for name in ("older", "younger"):
        driver.running("ann", name, "-p", "shards", *ONE, "--gres=shard:3")
    driver.submit("cy", "urgent", "-p", "shards", *ONE, "--gres=shard:2")

    driver.steer_until_running("urgent")

    assert len(driver.stopped()) == 1


def test_a_share_of_a_gpu_fits_beside_another(driver: Driver) -> None:
    _policy(driver, "mps")
    driver.running("ann", "share", "-p", "mps", *ONE, "-w", "n2", "--gres=mps:60")
    driver.running("ann", "whole", "-p", "mps", *ONE, "-w", "n3", "--gres=gpu:1")
    driver.submit("cy", "beside", "-p", "mps", *ONE, "--gres=mps:40")

    driver.steer_until_running("beside")
    assert driver.stopped() == set()

    driver.submit("cy", "more", "-p", "mps", *ONE, "--gres=mps:50")
    driver.steer_until_running("more")
    assert len(driver.stopped()) == 1


def test_what_is_only_counted_is_seen_as_much_as_it_is(driver: Driver) -> None:
    """`npu(CNT:5)` is five."""
    _policy(driver, "counted")
    driver.running("ann", "low", "-p", "counted", *ONE, "--gres=npu:5")
    driver.running("ann", "typed", "-p", "counted", *ONE, "--gres=tok:x:6")
    driver.submit("cy", "urgent", "-p", "counted", *ONE, "--gres=npu:4")
    driver.steer_until_running("urgent")
    assert driver.stopped() == {"low"}

    driver.submit("cy", "next", "-p", "counted", *ONE, "--gres=tok:3")
    driver.steer_until_running("next")
    assert driver.stopped() == {"low", "typed"}


@pytest.mark.parametrize("asked", ["--hint=nomultithread", "--threads-per-core=1", "--ntasks-per-core=1"])
def test_one_thread_of_each_core(driver: Driver, asked: str) -> None:
    """Two tasks take two cores of two threads each: one of the two jobs is enough."""
    _policy(driver, "threads")
    for name in ("older", "younger"):
        driver.running("ann", name, "-p", "threads", "-N1", "-n2", "--mem=10", "--hint=nomultithread")
    driver.submit("cy", "urgent", "-p", "threads", "-N1", "-n2", "--mem=10", asked)

    driver.steer_until_running("urgent")

    assert len(driver.stopped()) == 1


def test_all_cores_for_one_thread_each(driver: Driver) -> None:
    _policy(driver, "threads")
    driver.running("ann", "low", "-p", "threads", "-N1", "-n4", "--mem=10")
    driver.submit("cy", "urgent", "-p", "threads", "-N1", "-n4", "--mem=10", "--hint=nomultithread")

    driver.steer_until_running("urgent")

    assert driver.stopped() == {"low"}


def test_a_partition_that_may_use_a_part_of_the_node(driver: Driver, slurm_release: str) -> None:
    """Four of eight CPUs are free, and none of them for this partition; nobody of the other one is its victim."""
    _policy(driver, "part")
    driver.running("ann", "low", "-p", "part", "-N1", "-n4", "--mem=10")
    if slurm_release == "24.11":
        # There the other partition's jobs do not start beside it; with nodes that are shared it blocks.
        driver.submit("cy", "urgent", "-p", "part", "-N1", "-n2", "--mem=10")
        _waits(driver, "urgent", Reason.BLOCKED)
        return
    driver.running("ann", "elsewhere", "-p", "other", "-N1", "-n2", "--mem=10")
    driver.submit("cy", "urgent", "-p", "part", "-N1", "-n2", "--mem=10")

    driver.steer_until_running("urgent")

    assert driver.stopped() == {"low"}


def test_tasks_anywhere_in_a_partition_that_may_use_a_part_of_the_node(driver: Driver) -> None:
    _policy(driver, "half")
    for name in ("older", "younger"):
        driver.running("ann", name, "-p", "half", "-n2", "--mem-per-cpu=10")
    driver.submit("cy", "urgent", "-p", "half", "-n2", "--mem-per-cpu=10")

    driver.steer_until_running("urgent")

    assert len(driver.stopped()) == 1


def test_slices_whose_type_begins_with_a_digit(driver: Driver, slurm_release: str) -> None:
    """Later releases take `gpu:1g.10gb` for one of them, 22.05 wants a count."""
    slice_of = "--gres=gpu:1g.10gb" if slurm_release != "system" else "--gres=gpu:1g.10gb:1"
    _policy(driver, "mig")
    driver.running("ann", "whole", "-p", "mig", *ONE, "--gres=gpu:ampere:2")
    for name in ("s1", "s2", "s3", "s4"):
        driver.running("ann", name, "-p", "mig", *ONE, slice_of)
    driver.submit("cy", "urgent", "-p", "mig", *ONE, slice_of)
    driver.steer_until_running("urgent")
    assert len(driver.stopped()) == 1

    driver.submit("cy", "two", "-p", "mig", *ONE, "--gpus=1g.10gb:2")
    driver.steer_until_running("two")
    assert len(driver.stopped()) == 3
    assert "whole" not in driver.stopped()


def test_nobody_is_stopped_for_who_wants_a_gpu_and_cores_of_one_socket(driver: Driver) -> None:
    _policy(driver, "bound")
    driver.running("ann", "low", "-p", "bound", "-N1", "-n8", "--mem=10")
    driver.submit(
        "cy",
        "urgent",
        "-p",
        "bound",
        "-N1",
        "-n2",
        "--mem=10",
        "--gres=gpu:1",
        "--gres-flags=enforce-binding",
    )
    _waits(driver, "urgent", Reason.BLOCKED)


@pytest.mark.parametrize(
    "asked",
    [
        "--ntasks-per-socket=1",
        "--sockets-per-node=1",
        "--hint=memory_bound",
        "--contiguous",
        "--spread-job",
    ],
)
def test_nobody_is_stopped_for_words_that_are_not_modelled(driver: Driver, asked: str) -> None:
    _policy(driver, "bound")
    driver.running("ann", "low", "-p", "bound", "-N1", "-n8", "--mem=10")
    driver.submit("cy", "urgent", "-p", "bound", "-N1", "-n2", "--mem=10", asked)
    _waits(driver, "urgent", Reason.BLOCKED)
