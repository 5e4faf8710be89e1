"""Whatever Slurm prints, an observation comes of it, or it is refused as a whole: nothing else is ever raised."""

import json
import random
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.adapters.slurm.commands import CommandAnswer
from scheduler.adapters.slurm.errors import SlurmUnavailableError
from scheduler.adapters.slurm.read import Reader
from scheduler.contracts.observation import decode_observation, encode_observation
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from scheduler.reconcile.build import PartitionNotObservedError, snapshot_for
from scheduler.reconcile.decide import decide
from tests.adapters.slurm.replay import RECORDINGS, Replay, Scene
from tests.builders import policy

SCENES = sorted(path for path in RECORDINGS.glob("*/*") if path.is_dir())
TEXTS = (
    "squeue",
    "job",
    "jobs",
    "nodes",
    "nodes_given_out",
    "partitions",
    "reservations",
    "config",
    "licenses",
    "topology",
)
RESERVED = (
    "ReservationName=soon StartTime=2026-11-21T21:21:00 EndTime=2036-11-21T22:21:00 Duration=01:00:00 "
    "Nodes=n[1,3-4] NodeCnt=3 CoreCnt=24 Flags=SPEC_NODES Users=ann Licenses=(null) State=INACTIVE\n"
)
LICENSED = "LicenseName=matlab Total=3 Used=1 Free=2 Reserved=0 Remote=no\n"
ODD_WORDS = (
    "", "0", "-1", "N/A", "(null)", "Unknown", "None", "99999999999999999999", "1-2-3", "n[1-", "n[1-99999999]", "²",
    "1:2", "gpu:", "cpu=", "=", "|", ",", "a=b,c", "INVALID", "inf", "2026-13-40T99:99:99", "\x00", "\n", "é" * 50,
)  # fmt: skip
# What stands between the fields of each text: of squeue's Slurm's own and the users' part.
_BETWEEN = re.compile(r"(\||gRECORDED\.| |=|,)")


@dataclass(slots=True)
class Garbler:
    """Changes a few places of the texts that are asked for: fields dropped, doubled, swapped, cut, or made another."""

    chance: random.Random
    wanted: frozenset[str]
    often: float
    done: list[str] = field(default_factory=list)

    def __call__(self, name: str, text: str) -> str:
        kind = name.partition("/")[0]
        if kind not in self.wanted:
            return text
        lines = text.splitlines(keepends=True)
        changed = [self._line(line) if self.chance.random() < self.often else line for line in lines]
        return "".join(changed)

    def _line(self, line: str) -> str:
        end = "\n" if line.endswith("\n") else ""
        parts = _BETWEEN.split(line.removesuffix("\n"))
        for _ in range(self.chance.randint(1, 3)):
            at, other = self.chance.randrange(len(parts)), self.chance.randrange(len(parts))
            match self.chance.randrange(6):
                case 0:
                    del parts[at : at + 2]
                case 1:
                    parts[at:at] = parts[other : other + 2]
                case 2:
                    parts[at], parts[other] = parts[other], parts[at]
                case 3:
                    parts[at] = self.chance.choice(ODD_WORDS)
                case 4:
                    parts[at] = parts[at][: self.chance.randint(0, len(parts[at]))]
                case _:
                    parts = parts[: at + 1]
            parts = parts or [""]
        return "".join(parts) + end


def _replay(scene: Scene, garbler: Garbler) -> Replay:
    replay = Replay(scene=scene)

    def edit(name: str, text: str) -> str:
        if name == "reservations":
            text = RESERVED
        if name == "jobs" or name.startswith("job/"):
            text = text.replace("Licenses=(null)", "Licenses=matlab:1", 3)
        return garbler(name, text)

    replay.edit = edit
    replay.failing["licenses"] = CommandAnswer(edit("licenses", LICENSED), "", 0)
    return replay


@pytest.mark.parametrize("folder", SCENES, ids=lambda path: f"{path.parent.name}-{path.name}")
@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32),
    wanted=st.frozensets(st.sampled_from(TEXTS), min_size=1),
    often=st.sampled_from((0.05, 0.3, 1.0)),
)
def test_garbled_answers_make_an_observation_or_are_refused_as_a_whole(
    folder: Path, seed: int, wanted: frozenset[str], often: float
) -> None:
    garbler = Garbler(random.Random(seed), wanted, often)
    reader = Reader(_replay(Scene(folder), garbler))
    for _ in range(2):  # the second time with what was remembered
        try:
            seen = reader.observe()
        except SlurmUnavailableError:
            continue
        assert decode_observation(json.loads(encode_observation(seen))) == replace(
            seen, boots={}
        )  # by which nothing is planned
        for job in seen.jobs:
            assert job.state is not JobState.PENDING or not job.alloc
            assert min((n for share in job.alloc.values() for n in share.values()), default=0) >= 0
        for node in seen.nodes:
            assert all(0 <= n <= node.total[name] for name, n in node.held_elsewhere.items())
        if not seen.degraded:
            _decide(seen)


def _decide(seen: Observation) -> None:
    """Nothing that was read makes the planner fail, and nobody is a victim of whom not all is understood."""
    odd = {job.id for job in seen.jobs if job.not_understood}
    for name in ("x", "y"):
        try:
            built = snapshot_for(seen, policy(name=name), [], preemptions={})
        except PartitionNotObservedError:
            continue
        plan = decide(built.snapshot)
        assert odd.isdisjoint(victim.job for decision in plan.decisions for victim in decision.victims)


def test_recordings_as_they_are_have_nothing_that_is_not_understood() -> None:
    for folder in SCENES:
        seen = Reader(Replay(scene=Scene(folder))).observe()
        odd = {job.name: job.not_understood for job in seen.jobs if job.not_understood}

        assert seen.faults == ()
        assert odd == ({"grown": "its share of n2 is not told"} if folder.name == "grown" else {})
        assert not any("understood" in job.unplannable for job in seen.jobs)
