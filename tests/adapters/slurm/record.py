"""Records what a real Slurm says, odd jobs included, for the tests beside this file.

`python -m tests.adapters.slurm.record [networks] [system] [24.11] [26.05]` starts a private Slurm of each release and
writes recordings/VERSION/SCENE/*.txt: the answers to every command that the adapter reads with, and `jobs.json`, which
names the jobs of the scene. `answers.json` has what scontrol and scancel say about changes. Run it again on each Slurm
release that is to be supported; with `networks` only the scenes of its topologies are made.
"""

import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deploy.private_slurm import Partition, PrivateSlurm, releases
from scheduler.adapters.slurm.commands import CommandAnswer, CommandRunner
from scheduler.adapters.slurm.queue import ONE_BY_ONE
from scheduler.adapters.slurm.rows import Table

MARK = "gRECORDED"
HERE = Path(__file__).parent / "recordings"
# Everything that the adapter reads of a job called "uneven", with other numbers. A comment holds 1024 bytes.
FORGED = (
    "JobId={id} JobName=uneven UserId=ann(1) Account=(null) QOS=(null) JobState=RUNNING Reason=None Restarts=0 -"
    " ReqNodeList= ExcNodeList= NodeList=n[1-2] NumNodes=2 NumCPUs=5 NumTasks=5 CPUs/Task=1 ReqB:S:C:T=0:0:*:*"
    " Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* JOB_GRES=gpu:16   Nodes=n[1-2] CPU_IDs=0-7 Mem=99999"
    " GRES=gpu:8(IDX:0-7) MinCPUsNode=1 MinMemoryCPU=1M - Contiguous=0 Command="
)
STUBBORN = (
    "#!/bin/bash\ntrap '' TERM\nend=$((SECONDS + 600))\nwhile [ $SECONDS -lt $end ]; do sleep 1; done\n"
)

PARTITIONS = (
    Partition("x", (1, 2, 3, 4), {"Default": "YES", "DefaultTime": "1:00:00"}),
    Partition("y", (3, 4)),
    Partition("whole", (2,), {"OverSubscribe": "EXCLUSIVE"}),
    Partition("shut", (4,), {"State": "DOWN"}),
)
GROWING = {"SchedulerParameters": "permit_job_expansion,batch_sched_delay=0,sched_interval=1,bf_interval=1"}
# What each node is, in the words of slurm.conf: GPUs without and with types, two types on one node, spared memory.
NODES = {
    "n1": "Gres=gpu:8 Feature=old,ib",
    "n2": "Gres=gpu:8 Feature=old,ib",
    "n3": "Gres=gpu:a100:6,gpu:v100:2 Feature=new,ib MemSpecLimit=1000",
    "n4": "Gres=gpu:a100:6,gpu:v100:2 Feature=new,ib MemSpecLimit=1000",
}

SWITCHES = "SwitchName=leaf1 Nodes=n[1-2]\nSwitchName=leaf2 Nodes=n[3-4]\nSwitchName=top Switches=leaf[1-2]\n"
BLOCKS = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n"
FILE = """- topology: net
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: leaf[1-2]
      - switch: leaf1
        nodes: n[1-2]
      - switch: leaf2
        nodes: n[3-4]
- topology: racks
  block:
    block_sizes: [2]
    blocks:
      - block: b1
        nodes: n[1,3]
      - block: b2
        nodes: n[2,4]
- topology: flat
  flat: true
"""
NETWORKS = {
    "tree": ("topology.conf", SWITCHES, {"TopologyPlugin": "topology/tree"}, ()),
    "block": ("topology.conf", BLOCKS, {"TopologyPlugin": "topology/block"}, ()),
    "own": ("topology.yaml", FILE, {}, ("racks", "flat")),
}
"""The file that tells a network, its text, settings, and the topologies that partitions have of their own."""
KNOWN_IN = {"tree": (releases.SYSTEM, "24.11", "26.05"), "block": ("24.11", "26.05"), "own": ("26.05",)}

SHAPES: Mapping[str, Sequence[str]] = {
    "tasks": ("-n", "30", "--mem-per-cpu=50"),
    "tasks_of_cpus": ("-n", "6", "-c", "3"),
    "tasks_mem_per_node": ("-n", "12", "--mem=4000"),
    "one_task": ("-n", "1", "-c", "4", "--mem=2500"),
    "nodes": ("-N", "3", "-n", "10"),
    "node_range": ("-N", "2-3", "-n", "4"),
    "up_to_nodes": ("-N", "1-4", "-n", "8"),
    "one_node": ("-N", "1", "-n", "6"),
    "tasks_per_node": ("-n", "13", "--ntasks-per-node=4"),
    "gres": ("-N", "2", "--gres=gpu:2"),
    "gres_without_count": ("--gres=gpu",),
    "gpus_per_node": ("-N", "2", "--gpus-per-node=v100:1"),
    "gpus": ("--gpus=12",),
    "typed_gpus": ("--gpus=a100:4",),
    "gpus_on_nodes": ("-N", "2", "--gpus=5"),
    "gpus_per_task": ("-n", "3", "--gpus-per-task=2"),
    "gpus_per_socket": ("-N", "1", "--gpus=2", "--gpus-per-socket=1", "--sockets-per-node=2"),
    "cpus_and_mem_per_gpu": ("--gpus=4", "--cpus-per-gpu=2", "--mem-per-gpu=300"),
    "named_nodes": ("-w", "n1,n3", "-n", "6"),
    "more_than_named": ("-N", "3", "-w", "n1"),
    "excluded": ("-N", "2", "-x", "n1,n3"),
    "exclusive": ("--exclusive", "-n", "4"),
    "exclusive_user": ("--exclusive=user", "-n", "2"),
    "all_memory": ("-N", "1", "--mem=0"),
    "and": ("-C", "ib&new"),
    "or": ("-C", "old|new"),
    "counted": ("-N", "2", "-C", "[old*1&new*1]"),
    "preferred": ("--prefer=old",),
    "neighbours": ("-N", "2", "--contiguous"),
    "switches": ("-n", "2", "--switches=1"),
    "mincpus": ("-N", "2", "--mincpus=4"),
    "two_partitions": ("-p", "x,y", "-n", "2", "-c", "2"),
    "whole": ("-p", "whole", "-n", "1"),
    "unlimited": ("-p", "y", "-t", "UNLIMITED", "-n", "1"),
    "long": ("-t", "2-03:04:05", "-n", "1"),
}  # fmt: skip
"""Pending jobs by name, each held so that it stays what it is."""


class OddSlurm(PrivateSlurm):
    """A private Slurm whose nodes are not all alike."""

    def _write_config(self, ports: Sequence[int]) -> None:
        super()._write_config(ports)
        lines = self.conf.read_text().splitlines()
        self.conf.write_text("\n".join(_odd(line) for line in lines) + "\n")
        dev = self.root / "dev"
        typed = "\n".join(
            f"NodeName={node} Name=gpu Type=a100 File={dev}/{node}/gpu[0-5]\n"
            f"NodeName={node} Name=gpu Type=v100 File={dev}/{node}/gpu[6-7]"
            for node in ("n3", "n4")
        )
        plain = "\n".join(f"NodeName={node} Name=gpu File={dev}/{node}/gpu[0-7]" for node in ("n1", "n2"))
        (self.root / "gres.conf").write_text(f"AutoDetect=off\n{plain}\n{typed}\n")


def _odd(line: str) -> str:
    match = re.match(r"NodeName=(n\d) ", line)
    return re.sub(r"Gres=\S+ Feature=\S+", NODES[match[1]], line) if match else line


class Wired(PrivateSlurm):
    """Its network is told in a file."""

    def __init__(self, root: Path, file: str, text: str, **options: Any) -> None:
        super().__init__(root, **options)
        self.wiring = (file, text)

    def _write_config(self, ports: Sequence[int]) -> None:
        super()._write_config(ports)
        file, text = self.wiring
        (self.root / file).write_text(text)


class Recorder:
    """Writes answers into a folder, without the names of this machine."""

    def __init__(self, slurm: PrivateSlurm) -> None:
        self.slurm = slurm
        self.runner = CommandRunner({**os.environ, **slurm.env})
        self.folder = HERE / self.runner.run("squeue", "--version").out.split()[-1]

    def clean(self, text: str) -> str:
        text = text.replace(str(self.slurm.root), "/cluster")
        return re.sub(rf"\b{re.escape(socket.gethostname().split('.')[0])}\b", "host", text)

    def scene(self, name: str, jobs: Mapping[str, str]) -> None:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        for part in ("job", "topology"):
            (folder / part).mkdir(parents=True)
        show = ("--all", "show")
        answers = {
            "config": self.runner.run("scontrol", *show, "config"),
            "nodes": self.runner.run("scontrol", "--oneliner", *show, "nodes"),
            "partitions": self.runner.run("scontrol", "--oneliner", *show, "partitions"),
            "reservations": self.runner.run("scontrol", "--oneliner", *show, "reservations"),
            "nodes_given_out": self.runner.run("scontrol", "--oneliner", "--details", *show, "nodes"),
            "squeue": self.runner.run("squeue", *Table(MARK).arguments),
            "topology": self.runner.run("scontrol", "--oneliner", *show, "topology"),
        }
        for own in set(re.findall(r" Topology=(\S+)", answers["partitions"].out)):
            answers[f"topology/{own}"] = self.runner.run("scontrol", "--oneliner", *show, "topology", own)
        if len(jobs) > ONE_BY_ONE:
            answers["jobs"] = self.runner.run("scontrol", "--oneliner", "--details", *show, "job")
        for record in Table(MARK).records(answers["squeue"].out):
            job_id, raw = record.split("|")[:2]
            asked = job_id if "+" not in job_id else raw
            answers[f"job/{asked}"] = self.runner.run(
                "scontrol", "--oneliner", "--details", *show, "job", asked
            )
        for key, answer in answers.items():
            assert answer.code == 0, answer
            (folder / f"{key}.txt").write_text(self.clean(answer.out))
        (folder / "topology").rmdir() if not any((folder / "topology").iterdir()) else None
        (folder / "jobs.json").write_text(json.dumps(jobs, indent=1) + "\n")

    def answers(self, commands: Sequence[Sequence[str]]) -> None:
        told = [self._answer(command) for command in commands]
        (self.folder / "answers.json").write_text(json.dumps(told, indent=1) + "\n")

    def _answer(self, command: Sequence[str]) -> dict[str, object]:
        answer: CommandAnswer = self.runner.run(*command)
        return {"command": list(command), "code": answer.code, "err": self.clean(answer.err)}


def busy(slurm: PrivateSlurm) -> dict[str, str]:
    """Running jobs of all kinds, one of them malicious, and pending ones of all shapes."""

    def submit(*options: str, user: str = "ann", script: str = "") -> str:
        more = {"script": script} if script else {}
        return str(slurm.submit(user, "--output=/dev/null", *options, **more))

    jobs = {
        "uneven": submit("-J", "uneven", "-N", "2", "-n", "5", "--gres=gpu:2", "-x", "n3,n4"),
        "typed": submit("-J", "typed", "--gpus=a100:3", "-n", "3", "--mem=1536"),
        "single": submit("-J", "single", "-n", "1", "-w", "n4", "--wckey=wk", "-A", "alpha", user="bob"),
        "array": submit("-J", "array", "--array=1-4%2", "-c", "2", "--mem=200"),
        "over_types": submit("-J", "over_types", "--gpus=7", "-w", "n4", "-N", "1"),
        "once": submit("-J", "once", "--no-requeue", "-n", "1"),
        "suspended": submit("-J", "suspended", "-n", "2", "--gres=gpu:1", "-w", "n3"),
    }
    het = slurm.run(
        ["sbatch", "--parsable", "-J", "het", "-n", "1", ":", "-n", "2"], "cy", stdin="#!/bin/sh\nsleep 999\n"
    )
    jobs["het"] = het.stdout.strip()
    # Slurm 24.11 grants nothing at once while an older job waits.
    argv = ["salloc", "--no-shell", "--immediate=10", "-n", "1", "--mem=1", "-J", "interactive"]
    jobs["interactive"] = _granted(slurm.run(argv, "dee").stderr)
    slurm.wait_for_state(jobs["single"], "RUNNING")
    slurm.wait_for_state(jobs["uneven"], "RUNNING")
    forged = FORGED.format(id=jobs["uneven"])
    row = f"{jobs['single']}|1|N/A|RUNNING|1|0|1|1"
    jobs["hostile"] = submit(
        "-J",
        f'a|b "c" $(d) <e>\té\n{row}\nJobId=1 x',
        f"--comment=m|n\n{forged}\n",
        "-A",
        "we|i=rd QOS=x",
        user="eve",
    )
    slurm.wait_for_state(jobs["hostile"], "RUNNING")
    slurm.run(["scontrol", "suspend", jobs["suspended"]])
    jobs["begin"] = submit("-J", "begin", "--begin=now+7200", "-n", "1")
    jobs["depends"] = submit("-J", "depends", f"--dependency=afterok:{jobs['single']}", "-n", "1")
    jobs["shut"] = submit("-J", "shut", "-p", "shut", "-n", "1")
    for name, options in SHAPES.items():
        jobs[name] = submit("-J", name, "--hold", *options)
    slurm.run(["scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=fan broken State=IDLE CPUTot=99"])
    time.sleep(1.5)
    return jobs


def ending(slurm: PrivateSlurm) -> dict[str, str]:
    """Jobs that are on their way out or back into the queue."""

    def submit(name: str, *options: str, script: str = "") -> str:
        more = {"script": script} if script else {}
        return str(slurm.submit("ann", "--output=/dev/null", "-J", name, *options, **more))

    jobs = {
        "cancelled": submit(
            "cancelled", "-N", "2", "-n", "3", "--gres=gpu:2", "-x", "n3,n4", script=STUBBORN
        ),
        "requeued": submit("requeued", "-n", "2", "--gpus=a100:2", script=STUBBORN),
        "held": submit("held", "-n", "1"),
        "delayed": submit("delayed", "-n", "1"),
    }
    for job in jobs.values():
        slurm.wait_for_state(job, "RUNNING")
    time.sleep(1)
    slurm.run(["scontrol", "requeuehold", jobs["held"]])
    slurm.run(["scontrol", "requeue", jobs["delayed"]])
    slurm.wait_for_state(jobs["held"], "PENDING")
    slurm.wait_for_state(jobs["delayed"], "PENDING")
    slurm.wait_until(lambda: "BeginTime" in slurm.squeue("%r", "-j", jobs["delayed"]), "the delay to be told")
    slurm.run(["scancel", jobs["cancelled"]])
    slurm.run(["scontrol", "requeuehold", jobs["requeued"]])
    return jobs


def grown(slurm: PrivateSlurm) -> dict[str, str]:
    """A job that got a second node while it ran (Slurm 22.05 only), and one beside it there."""
    argv = ["salloc", "--no-shell", "--immediate", "-w", "n1", "-n", "2", "-J", "grown"]
    first = _granted(slurm.run(argv, "bob").stderr)
    beside = str(slurm.submit("ann", "--output=/dev/null", "-J", "beside", "-w", "n2", "-n", "1"))
    slurm.wait_for_state(beside, "RUNNING")
    argv = ["salloc", "--no-shell", "--immediate", "-w", "n2", "-n", "3", f"--dependency=expand:{first}"]
    second = _granted(slurm.run(argv, "bob").stderr)
    slurm.run(["scontrol", "update", f"JobId={second}", "NumNodes=0"])
    slurm.wait_for_state(second, "")
    return {"grown": first, "beside": beside}


def _granted(said: str) -> str:
    return re.findall(r"job allocation (\d+)", said)[0]


def changes(jobs: Mapping[str, str]) -> list[list[str]]:
    """Commands that Slurm accepts, refuses, or has nothing to do for; in a busy cluster."""
    hold, running, once = jobs["nodes"], jobs["single"], jobs["once"]
    other, begin, gone = jobs["interactive"], jobs["begin"], "987654"
    component = str(int(jobs["het"]) + 1)
    return [
        ["scontrol", "requeuehold", f"{once},{gone},{other},{hold},{running}"],
        ["scontrol", "requeuehold", f"{running},{jobs['array']}_1"],
        ["scontrol", "requeuehold", f"{jobs['array']}_1"],
        ["scontrol", "requeuehold", component],
        ["scontrol", "update", f"JobId={hold},{begin},{gone}", "Priority=5000"],
        ["scontrol", "update", f"JobId={jobs['uneven']}", "StartTime=2026-01-01T00:00:00"],
        ["scontrol", "hold", f"{begin},{gone}"],
        ["scontrol", "release", f"{begin},{gone}"],
        ["scontrol", "release", begin],
        # Not a pending job: scancel would try again and again for a minute and a half.
        ["scancel", "--batch", "--signal=USR1", gone, jobs["uneven"]],
        ["scancel", "--batch", "--signal=USR1", jobs["uneven"]],
        ["scancel", gone],
    ]


def record(version: str) -> None:
    root = Path(tempfile.mkdtemp(prefix="giveway-record-", dir="/tmp"))
    root.chmod(0o755)
    try:
        with OddSlurm(root, partitions=PARTITIONS, version=version, options=GROWING) as slurm:
            recorder = Recorder(slurm)
            jobs = busy(slurm)
            recorder.scene("busy", jobs)
            recorder.answers(changes(jobs))
            slurm.clear()
            recorder.scene("ending", ending(slurm))
            slurm.clear()
            if version == releases.SYSTEM:
                recorder.scene("grown", grown(slurm))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def record_networks(version: str) -> None:
    """The ways to tell a network that a release knows, each as a scene without jobs."""
    for name, (file, text, options, of_partition) in NETWORKS.items():
        if version not in KNOWN_IN[name]:
            continue
        root = Path(tempfile.mkdtemp(prefix="giveway-record-", dir="/tmp"))
        root.chmod(0o755)
        every = (1, 2, 3, 4)
        partitions = [
            Partition("x", every, {"Default": "YES"}),
            *(Partition(own, every, {"Topology": own}) for own in of_partition),
        ]
        try:
            with Wired(root, file, text, partitions=partitions, version=version, options=options) as slurm:
                Recorder(slurm).scene(name, {})
        finally:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    chosen = [name for name in sys.argv[1:] if name != "networks"]
    for name in chosen or [releases.SYSTEM]:
        if "networks" not in sys.argv:
            record(name)
        record_networks(name)
