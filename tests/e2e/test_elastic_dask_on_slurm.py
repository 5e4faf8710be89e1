"""A Dask computation whose workers are taken and come back: the right result, and no part of it lost."""

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm import SlurmCluster
from scheduler.model.actions import Action, ActionKind
from scheduler.model.jobs import JobState, ObservedJob
from tests.e2e.slurm_driver import Driver

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.e2e,
]

EXAMPLE = Path(__file__).parents[2] / "examples" / "elastic_dask.py"
PARTS, PART_S, AT_FIRST = 120, 0.2, 40
"""So many parts are computed before workers are taken; the others wait for a file, however long a busy machine takes to
have workers taken and back."""
WAITS = f"""    while number >= {AT_FIRST} and not (PLACE / "go-on").exists():
        time.sleep(0.1)
"""
PART = "    time.sleep(PART_S)\n"


def _log(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def _workers(cluster: SlurmCluster, state: JobState) -> list[ObservedJob]:
    jobs = [job for job in cluster.observe().jobs if job.name == "dask-worker"]
    return sorted((job for job in jobs if job.state is state), key=lambda job: job.id)


def _example(slurm: PrivateSlurm) -> tuple[Path, Path, Path]:
    """Its script, its log, and the file that its later parts wait for."""
    log, script, go_on = (slurm.work / name for name in ("dask.out", EXAMPLE.name, "go-on"))
    for old in (log, go_on):
        old.unlink(missing_ok=True)
    text = EXAMPLE.read_text()
    assert text.count(PART) == 1
    script.write_text(text.replace(PART, PART + WAITS))
    return script, log, go_on


def _submit(slurm: PrivateSlurm, script: Path, *options: str, **settings: str) -> str:
    own = {"PARTS": str(PARTS), "PART_S": str(PART_S), "DASK_HOST": "127.0.0.1", **settings}
    told_on = f"--export=ALL,{','.join(f'{name}={value}' for name, value in own.items())}"
    # As root: the Python that has Dask is the one of this test, and others may not be let in where it is.
    wrapped = f"--wrap=exec {sys.executable} {script}"
    told = slurm.run(["sbatch", "--parsable", "-n1", "--output=dask.out", told_on, *options, wrapped]).stdout
    return told.strip()


@pytest.mark.every_release
def test_workers_are_taken_and_come_back_and_no_part_is_lost(clean_slurm: PrivateSlurm) -> None:
    slurm = clean_slurm
    cluster = SlurmCluster(env={**os.environ, **slurm.env})
    script, log, go_on = _example(slurm)
    job = _submit(slurm, script)

    def counts() -> list[int]:
        return [line["workers"] for line in _log(log) if "workers" in line]

    slurm.wait_until(lambda: counts()[-1:] == [4], f"four workers: {log}")
    running = _workers(cluster, JobState.RUNNING)
    assert [each.comment for each in running] == ["elastic:min=2,wish=4"] * 4

    stopped = cluster.apply([Action(ActionKind.REQUEUE_HOLD, each.run) for each in running[2:]])
    assert all(outcome.ok for outcome in stopped)
    slurm.wait_until(lambda: counts()[-1:] == [2], "two workers to be left")
    slurm.wait_until(lambda: len(_workers(cluster, JobState.PENDING)) == 2, "the others to wait")

    held = _workers(cluster, JobState.PENDING)
    assert all(
        outcome.ok for outcome in cluster.apply([Action(ActionKind.RELEASE, each.run) for each in held])
    )
    slurm.wait_until(lambda: counts()[-1:] == [4], "four workers again")
    go_on.touch()
    slurm.wait_for_state(job, "", timeout_s=300)

    _is_whole(_log(log))


def _is_whole(lines: list[dict[str, Any]]) -> None:
    """What the computation's own log says: workers 4, 2, 4, the right result, nothing lost."""
    [submitted] = [line for line in lines if line["what"] == "submitted"]
    [finished] = [line for line in lines if line["what"] == "finished"]
    counts = [line["workers"] for line in lines if "workers" in line]
    assert counts[:8] == [1, 2, 3, 4, 3, 2, 3, 4]
    assert (finished["parts"], finished["lost"]) == (PARTS, [])
    assert math.isclose(finished["pi"], math.pi, abs_tol=1e-9)
    again = {line["worker"] for line in lines if line["what"] == "joined" and line["worker"].endswith(".1")}
    assert len(again) == 2
    assert submitted["parts"] == PARTS
    assert sum(finished["computed_again"].values()) < PARTS / 10


def test_giveway_takes_two_workers_for_two_urgent_jobs_and_gives_them_back(driver: Driver) -> None:
    slurm = driver.slurm
    script, log, go_on = _example(slurm)
    levels = [{"name": "P0"}, {"name": "P1"}]
    driver.policy("x", mode="user", levels=levels, user_overrides={"root": "P1", "cy": "P0"}, rest_s=0)
    # The scheduler is elsewhere: nobody takes it.
    job = _submit(slurm, script, "-p", "q", WORKER_OPTIONS="-p x -n1 -c2")

    def workers() -> int:
        return ([line["workers"] for line in _log(log) if "workers" in line] or [0])[-1]

    slurm.wait_until(lambda: workers() == 4, "four workers")
    urgent = [driver.submit("cy", f"urgent{number}", "-p", "x", "-n1", "-c2") for number in range(2)]
    driver.steer_until_running("urgent0", "urgent1")
    slurm.wait_until(lambda: workers() == 2, "two workers to be left")
    driver.steer_until_settled()

    slurm.run(["scancel", *urgent])
    driver.steer_until(lambda: workers() == 4, "four workers again")
    go_on.touch()
    slurm.wait_for_state(job, "", timeout_s=300)

    _is_whole(_log(log))
