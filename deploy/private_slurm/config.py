"""The configuration files of a private Slurm, as text. No I/O here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.private_slurm.errors import PrivateSlurmError


@dataclass(frozen=True)
class Partition:
    """A partition and the numbers of its nodes (1 is n1); `options` go to slurm.conf as they are."""

    name: str
    nodes: tuple[int, ...]
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """Where things are. `short` is the root by a path short enough for Unix sockets (108 bytes)."""

    root: Path
    short: Path

    @property
    def conf(self) -> Path:
        return self.root / "slurm.conf"

    @property
    def logs(self) -> Path:
        return self.root / "log"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def munge_socket(self) -> Path:
        return self.short / "munge" / "socket"


@dataclass(frozen=True)
class Hardware:
    """What every node has; memory in MB; one GPU type per node.

    `node_words`: of n1…, further words of the node's line in slurm.conf, or others than ours. `gres_lines`: the lines
    of gres.conf in place of ours, in which `{dev}` is the folder with a folder of device files for each node.
    """

    cpus: int
    gpus: int
    mem_mb: int
    gpu_types: tuple[str, ...]
    node_words: tuple[Mapping[str, str], ...] = ()
    gres_lines: tuple[str, ...] | None = None

    def words(self, number: int) -> Mapping[str, str]:
        """The words of one node's line that are not ours."""
        return self.node_words[number - 1] if number <= len(self.node_words) else {}

    def has_daemon(self, number: int) -> bool:
        """Whether the node has a slurmd from the beginning."""
        return self.words(number).get("State") not in NO_DAEMON


NO_DAEMON = ("CLOUD", "FUTURE")
"""States of nodes that nobody has started yet."""


@dataclass(frozen=True)
class Names:
    """The cluster's name, and the short name of the host that plays all nodes."""

    cluster: str
    host: str


def check(hardware: Hardware, nodes: int, partitions: Sequence[Partition]) -> None:
    """Raises `PrivateSlurmError` for a cluster that cannot be."""
    for name, value, least in (("nodes", nodes, 1), ("cpus", hardware.cpus, 1), ("gpus", hardware.gpus, 0)):
        if value < least:
            raise PrivateSlurmError(f"{name} must be at least {least}, not {value}")
    if len(hardware.gpu_types) != nodes:
        raise PrivateSlurmError(f"gpu_types: {len(hardware.gpu_types)} types for {nodes} nodes")
    if len(hardware.node_words) > nodes:
        raise PrivateSlurmError(f"node_words: {len(hardware.node_words)} lines for {nodes} nodes")
    for partition in partitions:
        for number in partition.nodes:
            if not 1 <= number <= nodes:
                raise PrivateSlurmError(f"partition {partition.name!r}: there is no node n{number}")


def default_partitions(nodes: int) -> tuple[Partition, ...]:
    """`x`: the first node; `q`: the last two; `wide`: all. Of four nodes, x and q share none."""
    return (
        Partition("x", (1,)),
        Partition("q", tuple(range(max(1, nodes - 1), nodes + 1))),
        Partition("wide", tuple(range(1, nodes + 1)), {"Default": "YES"}),
    )


def default_gpu_types(nodes: int) -> tuple[str, ...]:
    """a100 on the first half of the nodes, v100 on the rest."""
    return tuple("a100" if number * 2 <= nodes else "v100" for number in range(1, nodes + 1))


def slurm_conf(
    settings: Mapping[str, str],
    names: Names,
    ports: Sequence[int],
    hardware: Hardware,
    partitions: Sequence[Partition],
) -> str:
    """The text of slurm.conf; one port per node."""
    lines = [f"{key}={value}" for key, value in settings.items()]
    for number, port in enumerate(ports, start=1):
        lines.append(_node_line(number, names.host, port, hardware))
    lines += [_partition_line(partition) for partition in partitions]
    return "\n".join(lines) + "\n"


def gres_conf(hardware: Hardware, devices: Path) -> str:
    """The text of gres.conf: GPUs are character devices of ours; nothing is detected."""
    lines = ["AutoDetect=off"]
    if hardware.gres_lines is not None:
        lines += [line.replace("{dev}", str(devices)) for line in hardware.gres_lines]
    elif hardware.gpus:
        for number, gpu_type in enumerate(hardware.gpu_types, start=1):
            files = devices / f"n{number}" / f"gpu[0-{hardware.gpus - 1}]"
            lines.append(f"NodeName=n{number} Name=gpu Type={gpu_type} File={files}")
    return "\n".join(lines) + "\n"


def settings(names: Names, port: int, hardware: Hardware, layout: Layout) -> dict[str, str]:
    """The settings of slurm.conf but nodes and partitions. Everything listens on loopback only."""
    # Half of a CPU's share of memory: jobs without --mem shall run out of CPUs before they run out of memory.
    def_mem = max(1, hardware.mem_mb // (2 * hardware.cpus))
    return {
        "ClusterName": names.cluster,
        "SlurmctldHost": f"{names.host}(127.0.0.1)",
        "SlurmctldPort": str(port),
        # Without these two the daemons would listen on every address of the machine.
        "CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny",
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={layout.munge_socket}",
        **_places(layout),
        **_what_one_machine_can_do(),
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "GresTypes": "gpu",
        "DefMemPerCPU": str(def_mem),
        **_scheduling(),
        "MaxJobCount": "50000",
        "MaxArraySize": "20001",
        "SlurmctldTimeout": "60",
        # slurmctld asks after nodes three times within it; one that has missed a message is soon back.
        "SlurmdTimeout": "60",
        "InactiveLimit": "0",
    }


def _places(layout: Layout) -> dict[str, str]:
    return {
        "StateSaveLocation": str(layout.root / "state"),
        # Sockets of job steps are made in here.
        "SlurmdSpoolDir": str(layout.short / "spool" / "%n"),
        "SlurmctldPidFile": str(layout.root / "slurmctld.pid"),
        "SlurmdPidFile": str(layout.root / "slurmd-%n.pid"),
        "SlurmctldLogFile": str(layout.logs / "slurmctld.log"),
        "SlurmdLogFile": str(layout.logs / "slurmd-%n.log"),
        "SlurmctldDebug": "info",
        "SlurmdDebug": "info",
    }


def _what_one_machine_can_do() -> dict[str, str]:
    return {
        # One machine plays several nodes: let a node claim more than there is.
        "SlurmdParameters": "config_overrides",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        # AccountingStorageTRES=gres/gpu would be refused without slurmdbd.
        "AccountingStorageType": "accounting_storage/none",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "MailProg": "/bin/true",
        "PropagateResourceLimits": "NONE",
        "TreeWidth": "64",
    }


def _scheduling() -> dict[str, str]:
    return {
        # Without slurmdbd every job then has priority 1, so an update to four thousand million puts one above
        # all others; priority/basic counts down from 4,294,901,760 and would put it below.
        "PriorityType": "priority/multifactor",
        "PreemptType": "preempt/none",
        "JobRequeue": "1",
        "KillWait": "4",
        "ReturnToService": "2",
        "SchedulerType": "sched/backfill",
        # Low latency; slurmctld looks at new jobs once a second at best, whatever is written here.
        "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1",
    }


def _node_line(number: int, host: str, port: int, hardware: Hardware) -> str:
    gpu_type = hardware.gpu_types[number - 1]
    words = {
        "NodeHostname": host,
        "NodeAddr": "127.0.0.1",
        "Port": str(port),
        "CPUs": str(hardware.cpus),
        "Boards": "1",
        "SocketsPerBoard": "1",
        "CoresPerSocket": str(hardware.cpus),
        "ThreadsPerCore": "1",
        "RealMemory": str(hardware.mem_mb),
        **({"Gres": f"gpu:{gpu_type}:{hardware.gpus}", "Feature": gpu_type} if hardware.gpus else {}),
        "State": "UNKNOWN",
        **hardware.words(number),
    }
    return f"NodeName=n{number} " + " ".join(f"{key}={value}" for key, value in words.items() if value)


def _partition_line(partition: Partition) -> str:
    nodes = ",".join(f"n{number}" for number in partition.nodes)
    options = {"Default": "NO", "MaxTime": "INFINITE", "State": "UP", **partition.options}
    return f"PartitionName={partition.name} Nodes={nodes} " + " ".join(f"{k}={v}" for k, v in options.items())
