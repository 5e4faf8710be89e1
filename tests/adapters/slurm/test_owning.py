"""Jobs that keep their nodes for their user (`--exclusive=user`): nobody else gets what is left there."""

import pytest

from scheduler.adapters.slurm.read import Reader
from scheduler.model.jobs import ObservedJob
from scheduler.model.observation import Observation
from tests.adapters.slurm.replay import VERSIONS, Replay, scene

KEPT = "3"
"""It runs on n4 with one CPU of eight."""


def _replay(version: str, *, user: bool) -> Replay:
    """The recorded cluster; job 3 was submitted with --exclusive=user, or was not."""

    def edit(name: str, text: str) -> str:
        if name != "squeue" or not user:
            return text
        lines = text.split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{KEPT}|{KEPT}|N/A|RUNNING|1"))
        plain, told = ("|OK||", "|USER||") if version.startswith(("22.", "24.")) else ("|NO|NO|", "|NO|USER|")
        assert plain in lines[at]
        lines[at] = lines[at].replace(plain, told, 1)
        return "\n".join(lines)

    return Replay(scene=scene(version, "busy"), edit=edit)


def _seen(version: str, *, user: bool) -> Observation:
    return Reader(_replay(version, user=user)).observe()


def _job(seen: Observation) -> ObservedJob:
    return seen.jobs_by_id[KEPT]


@pytest.mark.parametrize("version", VERSIONS)
def test_its_node_counts_as_held_whole(version: str) -> None:
    plain, kept = _seen(version, user=False), _seen(version, user=True)
    total = next(node.total for node in plain.nodes if node.name == "n4")

    assert _job(plain).alloc == {"n4": {"cpu": 1, "mem": 1000}}
    assert _job(kept).alloc == {"n4": total}
    assert not _job(kept).not_understood
    others = {job.id: job.alloc for job in plain.jobs if job.id != KEPT}
    assert {job.id: job.alloc for job in kept.jobs if job.id != KEPT} == others


def test_what_is_remembered_is_what_slurm_says() -> None:
    """The second look makes the same of it, and asks for no job once more."""
    replay = _replay(VERSIONS[0], user=True)
    reader = Reader(replay)
    first = reader.observe()
    asked = replay.asked("job")

    assert _job(reader.observe()).alloc == _job(first).alloc
    assert replay.asked("job") == asked
