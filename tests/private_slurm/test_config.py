"""The texts of slurm.conf and gres.conf."""

from pathlib import Path

import pytest

from deploy.private_slurm import Partition, PrivateSlurm, PrivateSlurmError, config

LAYOUT = config.Layout(Path("/tmp/here"), Path("/tmp/s/r"))
NAMES = config.Names("dev", "box")
HARDWARE = config.Hardware(cpus=8, gpus=8, mem_mb=16_000, gpu_types=("a100", "v100"))


def test_of_four_nodes_x_and_q_share_none_and_wide_has_all() -> None:
    nodes = {partition.name: partition.nodes for partition in config.default_partitions(4)}

    assert nodes == {"x": (1,), "q": (3, 4), "wide": (1, 2, 3, 4)}


@pytest.mark.parametrize("nodes", [1, 2, 3, 40])
def test_default_partitions_name_only_nodes_there_are(nodes: int) -> None:
    for partition in config.default_partitions(nodes):
        assert set(partition.nodes) <= set(range(1, nodes + 1))
        assert len(set(partition.nodes)) == len(partition.nodes) > 0


def test_the_first_half_of_the_nodes_has_a100_and_the_rest_v100() -> None:
    assert config.default_gpu_types(4) == ("a100", "a100", "v100", "v100")
    assert config.default_gpu_types(1) == ("v100",)


def test_everything_listens_on_loopback_and_each_node_on_its_own_port() -> None:
    settings = config.settings(NAMES, 7000, HARDWARE, LAYOUT)
    text = config.slurm_conf(settings, NAMES, [7001, 7002], HARDWARE, [Partition("x", (1, 2))])

    assert "SlurmctldHost=box(127.0.0.1)" in text
    assert "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny" in text
    assert "NodeName=n1 NodeHostname=box NodeAddr=127.0.0.1 Port=7001 CPUs=8" in text
    assert "NodeName=n2 NodeHostname=box NodeAddr=127.0.0.1 Port=7002 CPUs=8" in text
    assert "Gres=gpu:v100:8 Feature=v100" in text
    assert "PartitionName=x Nodes=n1,n2 " in text


def test_sockets_go_by_the_short_path_and_files_by_the_real_one() -> None:
    settings = config.settings(NAMES, 7000, HARDWARE, LAYOUT)

    assert settings["AuthInfo"] == "socket=/tmp/s/r/munge/socket"
    assert settings["SlurmdSpoolDir"] == "/tmp/s/r/spool/%n"
    assert settings["StateSaveLocation"] == "/tmp/here/state"


def test_a_job_without_mem_cannot_take_the_whole_memory() -> None:
    assert config.settings(NAMES, 7000, HARDWARE, LAYOUT)["DefMemPerCPU"] == "1000"


def test_gpus_are_devices_of_ours_and_none_are_named_where_there_are_none() -> None:
    without = config.Hardware(cpus=8, gpus=0, mem_mb=100, gpu_types=("a100",))

    assert config.gres_conf(HARDWARE, Path("/d")).splitlines() == [
        "AutoDetect=off",
        "NodeName=n1 Name=gpu Type=a100 File=/d/n1/gpu[0-7]",
        "NodeName=n2 Name=gpu Type=v100 File=/d/n2/gpu[0-7]",
    ]
    assert config.gres_conf(without, Path("/d")) == "AutoDetect=off\n"


def test_nodes_and_gres_take_lines_of_their_own() -> None:
    words = (
        {"CPUs": "8", "CoresPerSocket": "4", "ThreadsPerCore": "2", "Gres": "gpu:2,shard:8"},
        {"Gres": ""},
    )
    lines = ("NodeName=n1 Name=gpu File={dev}/n1/gpu[0-1]", "NodeName=n1 Name=shard Count=8")
    hardware = config.Hardware(8, 2, 100, ("a100", "v100"), words, lines)

    text = config.slurm_conf({}, NAMES, [7001, 7002], hardware, [Partition("x", (1, 2))])

    first, second, _ = text.splitlines()
    assert (
        "CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=100 Gres=gpu:2,shard:8"
        in first
    )
    assert "Gres=" not in second
    assert config.gres_conf(hardware, Path("/d")).splitlines() == [
        "AutoDetect=off",
        "NodeName=n1 Name=gpu File=/d/n1/gpu[0-1]",
        "NodeName=n1 Name=shard Count=8",
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"nodes": 0}, "nodes must be at least 1, not 0"),
        ({"cpus": 0}, "cpus must be at least 1, not 0"),
        ({"gpus": -1}, "gpus must be at least 0, not -1"),
        ({"gpu_types": ("a100",)}, "gpu_types: 1 types for 4 nodes"),
        ({"nodes": 1, "node_words": ({}, {})}, "node_words: 2 lines for 1 nodes"),
        ({"partitions": (Partition("p", (5,)),)}, "partition 'p': there is no node n5"),
    ],
)
def test_a_shape_that_cannot_be_is_refused_by_name(wrong: dict, said: str, tmp_path: Path) -> None:
    with pytest.raises(PrivateSlurmError, match=said):
        PrivateSlurm(tmp_path / "new", **wrong)

    assert not (tmp_path / "new").exists()
