"""The configuration files of a private Slurm, as text. No I/O here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Partition:
    """A partition and the numbers of its nodes (1 = n1); `options` go to slurm.conf as they are."""

    name: str
    nodes: tuple[int, ...]
    options: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Layout:
    """Where things are. `short` leads to the same folder by a path short enough for Unix sockets (108 bytes)."""

    root: Path
    short: Path

    @property
    def conf(self) -> Path:
        return self.root / "slurm.conf"

    @property
    def munge(self) -> Path:
        return self.root / "munge"

    @property
    def logs(self) -> Path:
        return self.root / "log"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def munge_socket(self) -> Path:
        return self.short / "munge" / "socket"

    def device(self, node: str, index: int) -> Path:
        return self.root / "dev" / node / f"gpu{index}"


@dataclass(frozen=True)
class Hardware:
    """What every node has; memory in MB; one GPU type per node, empty for untyped."""

    cpus: int
    gpus: int
    mem_mb: int
    gpu_types: tuple[str, ...]


def default_partitions(nodes: int) -> tuple[Partition, ...]:
    """`x`: the first node; `q`: the last two; `wide`: all. With four nodes x and q share none, wide shares all."""
    return (
        Partition("x", (1,)),
        Partition("q", tuple(range(max(1, nodes - 1), nodes + 1))),
        Partition("wide", tuple(range(1, nodes + 1)), {"Default": "YES"}),
    )


def default_gpu_types(nodes: int) -> tuple[str, ...]:
    """a100 on the first half of the nodes, v100 on the rest."""
    return tuple("a100" if number * 2 <= nodes else "v100" for number in range(1, nodes + 1))


def slurm_conf(
    name: str,
    host: str,
    ports: Sequence[int],
    hardware: Hardware,
    partitions: Sequence[Partition],
    layout: Layout,
) -> str:
    """The text of slurm.conf: `ports[0]` is slurmctld's, one more per node. Everything listens on loopback."""
    settings = _settings(name, host, ports[0], hardware, layout)
    lines = [f"{key}={value}" for key, value in settings.items()]
    for number, port in enumerate(ports[1:], start=1):
        lines.append(_node_line(number, host, port, hardware))
    for partition in partitions:
        lines.append(_partition_line(partition))
    return "\n".join(lines) + "\n"


def gres_conf(hardware: Hardware, layout: Layout) -> str:
    """The text of gres.conf: GPUs are character devices of ours, nothing is detected."""
    lines = ["AutoDetect=off"]
    if hardware.gpus:
        for number, gpu_type in enumerate(hardware.gpu_types, start=1):
            typed = f" Type={gpu_type}" if gpu_type else ""
            files = layout.root / "dev" / f"n{number}" / f"gpu[0-{hardware.gpus - 1}]"
            lines.append(f"NodeName=n{number} Name=gpu{typed} File={files}")
    return "\n".join(lines) + "\n"


def _settings(name: str, host: str, port: int, hardware: Hardware, layout: Layout) -> dict[str, str]:
    # Half of a CPU's share of memory, so that jobs without --mem never run out of memory before they run out of CPUs.
    def_mem = max(1, hardware.mem_mb // (2 * hardware.cpus))
    return {
        "ClusterName": name,
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": str(port),
        "SlurmUser": "root",
        "SlurmdUser": "root",
        # Without these two, daemons would listen on every address of the machine.
        "CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={layout.munge_socket}",
        "StateSaveLocation": str(layout.root / "state"),
        "SlurmdSpoolDir": str(layout.short / "spool" / "%n"),
        "SlurmctldPidFile": str(layout.root / "slurmctld.pid"),
        "SlurmdPidFile": str(layout.root / "slurmd-%n.pid"),
        "SlurmctldLogFile": str(layout.logs / "slurmctld.log"),
        "SlurmdLogFile": str(layout.logs / "slurmd-%n.log"),
        "SlurmctldDebug": "info",
        "SlurmdDebug": "info",
        # One machine plays several nodes: let a node claim more than there is.
        "SlurmdParameters": "config_overrides",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "MailProg": "/bin/true",
        "GresTypes": "gpu",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "DefMemPerCPU": str(def_mem),
        # Small priorities by age, so that an update to four thousand million is above everything; priority/basic
        # counts down from 4,294,901,760 and would put it below.
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": "1000",
        "PreemptType": "preempt/none",
        "JobRequeue": "1",
        "KillWait": "2",
        "ReturnToService": "2",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "batch_sched_delay=0,sched_interval=2,sched_min_interval=0,bf_interval=2",
        "PropagateResourceLimits": "NONE",
        "MaxJobCount": "50000",
        "MaxArraySize": "20001",
        "TreeWidth": "64",
        "SlurmctldTimeout": "60",
        "SlurmdTimeout": "60",
        "InactiveLimit": "0",
    }


def _node_line(number: int, host: str, port: int, hardware: Hardware) -> str:
    gres = ""
    if hardware.gpus:
        gpu_type = hardware.gpu_types[number - 1]
        gres = f" Gres=gpu:{gpu_type}:{hardware.gpus}" if gpu_type else f" Gres=gpu:{hardware.gpus}"
    feature = f" Feature={hardware.gpu_types[number - 1]}" if gres and hardware.gpu_types[number - 1] else ""
    return (
        f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={hardware.cpus} Boards=1"
        f" SocketsPerBoard=1 CoresPerSocket={hardware.cpus} ThreadsPerCore=1 RealMemory={hardware.mem_mb}{gres}{feature}"
        " State=UNKNOWN"
    )


def _partition_line(partition: Partition) -> str:
    nodes = ",".join(f"n{number}" for number in partition.nodes)
    options = {"Default": "NO", "MaxTime": "INFINITE", "State": "UP", **(partition.options or {})}
    return f"PartitionName={partition.name} Nodes={nodes} " + " ".join(f"{k}={v}" for k, v in options.items())
