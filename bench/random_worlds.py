"""Random worlds on a real Slurm: does an urgent job run in the room that is made, and was each victim needed?

    .venv/bin/python -m bench.random_worlds --worlds 24 --slurm 24.11 --seed 7

Each world is a partition with nodes of its own: sockets, cores, threads, GPUs (plain, of types, with shards or MPS)
and words of the partition are random. It is filled with low jobs, then one urgent job asks for something random. The
plan is made from what the adapter sees. Then

- the plan stops somebody: with the last one left Slurm must not start the job (else he was needless), with all of them
  gone it must (else they were stopped in vain);
- there is room: Slurm must start it by itself;
- nothing helps: with all low jobs gone it must still wait (else room was missed). Of requests that block only this is
  looked at, that nobody is stopped.

Worlds of a batch run side by side in one slurmctld. The seed is printed: the same one makes the same worlds.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.private_slurm import Partition, PrivateSlurm
from scheduler.adapters.slurm import SlurmCluster
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import LevelRule, Mode, PartitionPolicy
from scheduler.model.reasons import Reason
from scheduler.preemption.planner import plan
from scheduler.reconcile.build import snapshot_for

SETTLE_S = 4.0
"""Slurm looks at its queue once a second: who has not started by then does not."""
START_S = 20.0
LOW, URGENT = "ann", "cy"
POPULATION = 10
OUTCOMES = (
    "runs after the plan",
    "room was free",
    "nothing helps",
    "blocked",
    "IN VAIN",
    "NEEDLESS",
    "MISSED",
    "ROOM UNTRUE",
)


@dataclass
class World:
    """One partition: its nodes' words, the lines of gres.conf, and what is asked for."""

    number: int
    words: list[dict[str, str]]
    gres: list[str]
    options: dict[str, str]
    low: list[list[str]]
    urgent: list[str]
    jobs: list[int] = field(default_factory=list)
    job: int = 0
    decision: Decision | None = None
    outcome: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        return f"w{self.number}"

    def __str__(self) -> str:
        return f"{self.name} {self.words} {self.options} low {self.low} urgent {self.urgent}: {self.outcome} {self.why}"


def world(chance: random.Random, number: int, first_node: int) -> World:
    """A random one; `first_node`: the number of its first node."""
    count = chance.choice((1, 1, 2))
    sockets, cores, threads = chance.choice((1, 2)), chance.choice((2, 4)), chance.choice((1, 1, 2))
    kind = chance.choice(("none", "none", "gpu", "types", "shard", "mps", "npu"))
    cpus = sockets * cores * threads
    words, gres = [], []
    for node in range(first_node, first_node + count):
        dev = f"{{dev}}/n{node}/gpu"
        told = {
            "none": ("", ()),
            "gpu": ("gpu:4", (f"Name=gpu File={dev}[0-3]",)),
            "types": (
                "gpu:a:2,gpu:1g.5gb:2",
                (f"Name=gpu Type=a File={dev}[0-1]", f"Name=gpu Type=1g.5gb File={dev}[2-3]"),
            ),
            "shard": ("gpu:2,shard:8", (f"Name=gpu File={dev}[0-1]", "Name=shard Count=8")),
            "mps": ("gpu:2,mps:200", (f"Name=gpu File={dev}[0-1]", "Name=mps Count=200")),
            "npu": ("npu:8", ("Name=npu Count=8",)),
        }[kind]
        words.append({
            "CPUs": str(cpus), "SocketsPerBoard": str(sockets), "CoresPerSocket": str(cores),
            "ThreadsPerCore": str(threads), "Gres": told[0], "Feature": "f1", "RealMemory": "8000",
        })  # fmt: skip
        gres += [f"NodeName=n{node} {line}" for line in told[1]]
    options = {"MaxCPUsPerNode": str(cpus // 2)} if chance.random() < 0.2 else {}
    asks = {
        "none": [""], "gpu": ["", "--gres=gpu:1", "--gres=gpu:2", "--gpus=3"],
        "types": ["", "--gres=gpu:1", "--gres=gpu:1g.5gb:1", "--gres=gpu:a:1"],
        "shard": ["", "--gres=gpu:1", "--gres=shard:1", "--gres=shard:3", "--gres=gpu:2"],
        "mps": ["--gres=gpu:1", "--gres=mps:40", "--gres=mps:70"], "npu": ["--gres=npu:3", "--gres=npu:5"],
    }[kind]  # fmt: skip
    shapes = [
        "-N1 -n1",
        "-N1 -n2",
        "-n2",
        "-n3",
        "-N1 -n1 -c2",
        "-N1 -n1 --exclusive",
        "-N1 -n2 --ntasks-per-core=1",
    ]
    plain = [
        "", "", "", "--hint=nomultithread", "--threads-per-core=1", "-C f1", "--mem=0", "--mem=5000",
        "--mem-per-cpu=1500", "--mincpus=3", "--use-min-nodes", f"-N{count}", "-O", "-w " + f"n{first_node}",
    ]  # fmt: skip
    odd = [
        "--ntasks-per-socket=1", "--hint=memory_bound", "--sockets-per-node=2", "--contiguous", "--spread-job",
        "--gres-flags=enforce-binding", "--cores-per-socket=2",
    ]  # fmt: skip

    def request(*more: Sequence[str]) -> list[str]:
        shape = chance.choice(shapes)
        every = [shape, *(chance.choice(each) for each in (asks, *more))]
        memory = [] if any("--mem" in each for each in every) else ["--mem-per-cpu=100"]
        return " ".join([*every, *memory]).split()

    low = [request() for _ in range(POPULATION)]
    return World(number, words, gres, options, low, request(plain, odd if chance.random() < 0.15 else plain))


def run_batch(worlds: Sequence[World], release: str | None) -> None:
    """All of these in one slurmctld."""
    words = [each for one in worlds for each in one.words]
    first, partitions = 1, []
    for one in worlds:
        partitions.append(Partition(one.name, tuple(range(first, first + len(one.words))), one.options))
        first += len(one.words)
    with tempfile.TemporaryDirectory(prefix="worlds-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        with PrivateSlurm(
            Path(folder) / "slurm", version=release, nodes=len(words), gpus=4, partitions=partitions, node_words=words,
            gres_lines=[line for one in worlds for line in one.gres], options={"GresTypes": "gpu,shard,mps,npu"},
        ) as slurm:  # fmt: skip
            _Batch(slurm, worlds).run()


@dataclass
class _Batch:
    slurm: PrivateSlurm
    worlds: Sequence[World]

    def run(self) -> None:
        self._fill()
        for one in self.worlds:
            one.job = self._submit(URGENT, one, one.urgent)
        for one in self.worlds:
            if not one.job:
                one.outcome = "refused"
        time.sleep(SETTLE_S)
        cluster = SlurmCluster(env={**os.environ, **self.slurm.env})
        seen = cluster.observe()
        for one in self.worlds:
            if one.job:
                self._decide(one, seen)
        self._carry_out([one for one in self.worlds if one.decision and not one.outcome])

    def _fill(self) -> None:
        """Low jobs, as many as start; the others go."""
        for one in self.worlds:
            one.jobs = [job for asked in one.low if (job := self._submit(LOW, one, asked))]
        time.sleep(SETTLE_S * 2)
        states = self.slurm.states()
        waiting = [job for one in self.worlds for job in one.jobs if states.get(str(job)) != "RUNNING"]
        if waiting:
            self.slurm.run(["scancel", *map(str, waiting)])
        for one in self.worlds:
            one.jobs = [job for job in one.jobs if job not in waiting]

    def _submit(self, user: str, one: World, asked: Iterable[str]) -> int:
        argv = ["sbatch", "--parsable", "-p", one.name, "--output=/dev/null", *asked]
        done = self.slurm.run(argv, user, stdin="#!/bin/sh\nexec sleep 3000\n", check=False)
        return int(done.stdout.split(";")[0]) if done.returncode == 0 else 0

    def _decide(self, one: World, seen: Observation) -> None:
        job = seen.jobs_by_id.get(str(one.job))
        if job is None or job.state is not JobState.PENDING:
            one.outcome = "room was free"
            return
        policy = PartitionPolicy(
            name=one.name, mode=Mode.USER, levels=tuple(LevelRule(f"P{n}") for n in range(4)),
            user_overrides={URGENT: "P0", LOW: "P3"},
        )  # fmt: skip
        made = plan(snapshot_for(seen, policy, [], preemptions={}).snapshot)
        one.decision = next(each for each in made.decisions if each.job == str(one.job))
        one.why = str(one.decision.explain)[:200]
        if one.decision.reason is Reason.BLOCKED:
            one.outcome = "blocked"

    def _carry_out(self, worlds: Sequence[World]) -> None:
        """In the rounds that all worlds have in common: all victims but one, then that one."""
        victims = {
            one.number: [victim.job for victim in (one.decision.victims if one.decision else ())]
            for one in worlds
        }
        kinds = {one.number: one.decision.action for one in worlds if one.decision}
        for one in worlds:
            self.slurm.run(["scontrol", "update", f"JobId={one.job}", "Priority=4000000000"], check=False)
        self._stop([job for jobs in victims.values() for job in jobs[:-1]])
        helpless = [one for one in worlds if kinds[one.number] is DecisionKind.QUEUE]
        self._stop([str(job) for one in helpless for job in one.jobs])
        time.sleep(SETTLE_S)
        states = self.slurm.states()
        for one in worlds:
            started = states.get(str(one.job)) == "RUNNING"
            if one in helpless:
                one.outcome = "MISSED" if started else "nothing helps"
            elif victims[one.number] and started:
                one.outcome = "NEEDLESS"
        left = [one for one in worlds if not one.outcome]
        self._stop([victims[one.number][-1] for one in left if victims[one.number]])
        until = time.monotonic() + START_S
        while time.monotonic() < until and any(self._waits(one) for one in left):
            time.sleep(1.0)
        for one in left:
            stopped = bool(victims[one.number])
            good, bad = ("runs after the plan", "IN VAIN") if stopped else ("room was free", "ROOM UNTRUE")
            one.outcome = bad if self._waits(one) else good

    def _waits(self, one: World) -> bool:
        return self.slurm.states().get(str(one.job)) == "PENDING"

    def _stop(self, jobs: Sequence[str]) -> None:
        if jobs:
            self.slurm.run(["scontrol", "requeuehold", ",".join(jobs)], check=False)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--worlds", type=int, default=24)
    parser.add_argument("--batch", type=int, default=8, help="worlds in one slurmctld")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--slurm", help="a release such as 24.11 (default: the one that is installed)")
    parser.add_argument(
        "--verbose", action="store_true", help="tell of each world, not only of those that went wrong"
    )
    args = parser.parse_args(argv)
    chance, worlds = random.Random(args.seed), list[World]()
    for begin in range(0, args.worlds, args.batch):
        batch, node = list[World](), 1
        for number in range(begin, min(begin + args.batch, args.worlds)):
            batch.append(world(chance, number, node))
            node += len(batch[-1].words)
        run_batch(batch, args.slurm)
        worlds += batch
    _print(worlds, args.seed, verbose=args.verbose)
    return any(one.outcome == "IN VAIN" for one in worlds)


def _print(worlds: Sequence[World], seed: int, *, verbose: bool) -> None:
    counts: Mapping[str, int] = Counter(one.outcome for one in worlds)
    for one in worlds:
        if verbose or one.outcome.isupper():
            sys.stdout.write(f"{one}\n")
    sys.stdout.write(f"seed {seed}, {len(worlds)} worlds: ")
    sys.stdout.write(
        ", ".join(f"{counts[name]} {name}" for name in (*OUTCOMES, "refused") if counts.get(name)) + "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
