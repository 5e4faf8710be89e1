"""Nodes: which are up, and what they have."""

import pytest

from scheduler.adapters.slurm import nodes
from scheduler.adapters.slurm.config import Config

LINE = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=4  CPUAlloc=3 CPUEfctv=14 CPUTot=16 CPULoad=0.12 AvailableFeatures=a,b"
    " ActiveFeatures=a Gres=gpu:a100:4(S:0-1) NodeAddr=127.0.0.1 NodeHostName=h Port=1 Version=22.05.8"
    " OS=Linux 6.1 #1 SMP @0  RealMemory=16000 AllocMem=701 FreeMem=23634 Sockets=2 Boards=1 CoreSpecCount=1"
    " MemSpecLimit=512 State=MIXED ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=x,y "
)  # fmt: skip


@pytest.mark.parametrize(
    "state",
    [
        "IDLE",
        "MIXED",
        "ALLOCATED",
        "MIXED+PLANNED",
        "IDLE+PLANNED",
        "IDLE+CLOUD",
        "MIXED+COMPLETING",
        "ALLOCATED+COMPLETING",
        "IDLE+POWERING_UP",
        # Slurm powers it up for a job that waits, which is CONFIGURING meanwhile.
        "IDLE+CLOUD+POWERED_DOWN",
        "IDLE+POWERED_DOWN",
        "IDLE+DYNAMIC_NORM",
    ],
)
def test_nodes_that_take_new_jobs(state: str) -> None:
    assert nodes.up(state)


@pytest.mark.parametrize(
    "state",
    [
        "DOWN",
        "DOWN*",
        "IDLE*",
        "MIXED*",
        "ALLOCATED*+DRAIN",
        "IDLE+DRAIN",
        "MIXED+DRAIN",
        "IDLE+DRAINING",
        "MIXED+FAIL",
        "IDLE+MAINT",
        "IDLE+MAINTENANCE",
        "IDLE+RESERVED",
        "IDLE+NOT_RESPONDING",
        "IDLE+POWERING_DOWN",
        "IDLE+POWER_DOWN",
        "DOWN+CLOUD+POWERED_DOWN",
        "IDLE+REBOOT_ISSUED",
        # It is rebooted as soon as nobody is on it.
        "IDLE+REBOOT_REQUESTED",
        "MIXED+REBOOT_REQUESTED",
        "FUTURE",
        "UNKNOWN",
        "ERROR",
        "IDLE+INVALID_REG",
        "SOMETHING_NEW",
    ],
)
def test_nodes_that_take_none(state: str) -> None:
    assert not nodes.up(state)


def test_what_the_system_keeps_for_itself_is_not_counted() -> None:
    node, layout = nodes.decode_node(LINE, Config("c"))

    assert node.total == {"cpu": 14, "mem": 15_488, "gpu": 4, "gpu:a100": 4}
    assert node.features == {"a"}
    assert layout.threads == 2


def test_what_of_a_node_is_no_amount() -> None:
    record = LINE.replace("ActiveFeatures=a", "ActiveFeatures=a RestrictedCoresPerGPU=1(0,4)").replace(
        "AvailableFeatures=a", "AvailableFeatures=a,mig"
    )
    _, layout = nodes.decode_node(record, Config("c"))

    assert (layout.restricted, layout.changeable) == (True, frozenset({"b", "mig"}))


def test_what_a_partition_says_of_how_its_jobs_are_placed() -> None:
    limits = "MaxNodes=2 MinNodes=1 MaxCPUsPerNode=4 MaxCPUsPerSocket=2 MaxMemPerNode=4000"
    record = f"PartitionName=x Nodes=n1 {limits} State=UP"

    assert nodes.decode_partition(record)[0].cpus_per_node == 4
    told = nodes.limits(record)
    assert (told.min_nodes, told.max_nodes, told.mem_per_node) == (1, 2, 4000)
    assert told.odd == ("its partition limits the CPUs of a socket (MaxCPUsPerSocket=2)",)
    plain = "MaxNodes=UNLIMITED MinNodes=0 MaxCPUsPerNode=UNLIMITED JobDefaults=(null)"
    assert nodes.limits(f"PartitionName=x {plain} State=UP") == nodes.PartitionLimits()
    assert nodes.limits("PartitionName=x MaxNodes=some").odd


def test_an_older_slurm_has_no_word_for_effective_cpus() -> None:
    node, _ = nodes.decode_node(LINE.replace("CPUEfctv=14 ", ""), Config("c"))

    assert node.total["cpu"] == 16


def test_free_texts_at_the_end_are_not_facts() -> None:
    node, _ = nodes.decode_node(
        f"{LINE}Comment=State=DOWN RealMemory=1\nReason=x\nState=DOWN [root@now]", Config("c")
    )

    assert node.up
    assert node.total["mem"] == 15_488
    assert node.state_reason == "x State=DOWN [root@now]"


def test_a_line_break_in_a_reason_makes_no_new_node() -> None:
    out = f"{LINE}Reason=one\ntwo\n{LINE.replace('n1', 'n2')}\n"

    assert [nodes.name_of(record) for record in nodes.records(out, "NodeName")] == ["n1", "n2"]


@pytest.mark.parametrize("out", ["garbage\n", LINE, "slurm error\n" + LINE + "\n"])
def test_a_table_that_is_not_whole_is_an_error(out: str) -> None:
    with pytest.raises(ValueError, match="cut off"):
        nodes.records(out, "NodeName")


def test_no_nodes_are_no_records() -> None:
    assert nodes.records("No nodes in the system\n", "NodeName") == []
    assert nodes.records("", "NodeName") == []


def test_partitions_of_whole_nodes_are_known() -> None:
    line = "PartitionName=x Nodes=n[1-2] OverSubscribe={} State=UP TRES=cpu=1"

    assert nodes.decode_partition(line.format("EXCLUSIVE"))[1]
    assert not nodes.decode_partition(line.format("NO"))[1]
    partition, *_ = nodes.decode_partition("PartitionName=empty Nodes=(null) State=INACTIVE")
    assert (partition.nodes, partition.state) == ((), "INACTIVE")


@pytest.mark.parametrize(
    ("words", "exclusive"),
    [
        ("OverSubscribe=EXCLUSIVE", True),
        ("OverSubscribe=NO", False),
        ("OverSubscribe=FORCE:4", False),
        ("ExclusiveUser=NO OverSubscribe=NO", False),
        ("ExclusiveUser=YES OverSubscribe=NO", True),
        # Slurm 26.05
        ("OverSubscribe=NO Exclusive=NO", False),
        ("OverSubscribe=NO Exclusive=NODE", True),
        ("OverSubscribe=NO Exclusive=USER", True),
    ],
)
def test_whether_a_partition_gives_whole_nodes(words: str, *, exclusive: bool) -> None:
    partition, whole, _ = nodes.decode_partition(f"PartitionName=x Nodes=n[1-2] {words} State=UP")

    assert (partition.nodes, whole) == (("n1", "n2"), exclusive)


@pytest.mark.parametrize(
    ("words", "shared"), [("NO", False), ("FORCE:1", False), ("YES:4", False), ("FORCE:4", True)]
)
def test_whether_a_partition_has_all_jobs_share_cpus(words: str, *, shared: bool) -> None:
    assert nodes.shares_cpus(f"PartitionName=x Nodes=n[1-2] OverSubscribe={words} State=UP") is shared


def test_whether_jobs_of_a_partition_share_cpus_if_they_want_to() -> None:
    assert nodes.shares_cpus("PartitionName=x OverSubscribe=YES:4 State=UP", "YES")
    assert not nodes.shares_cpus("PartitionName=x OverSubscribe=FORCE:4 State=UP", "YES")


def test_a_node_that_does_not_decode_keeps_its_name_state_and_partitions() -> None:
    node = nodes.odd_node(LINE.replace("CPUEfctv=14", "CPUEfctv=some"), ValueError("'some' is no number"))

    assert (node.name, node.up, node.state, node.total) == ("n1", False, "MIXED", {})
    assert node.partitions == ("x", "y")
    assert node.state_reason == "node n1 does not decode: 'some' is no number"


@pytest.mark.parametrize(
    ("words", "boots"),
    [
        ("BootTime=2026-11-22T17:11:57 SlurmdStartTime=2026-11-23T00:00:00", {"n1": 1795367517}),
        ("BootTime=None SlurmdStartTime=None", {}),
        ("BootTime=soon", {}),
    ],
)
def test_when_a_node_was_booted(words: str, boots: dict[str, int]) -> None:
    assert nodes.boot_of("n1", f"NodeName=n1 {words} Reason=x BootTime=2020-01-01T00:00:00\n") == boots
