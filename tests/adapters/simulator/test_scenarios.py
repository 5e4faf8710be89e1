"""The named scenarios: the document's examples as they stand in it, and a demo that stays busy for days."""

from collections import Counter
from itertools import pairwise

import pytest

from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import SimJob
from scheduler.adapters.simulator.scenarios import SCENARIOS, UnknownScenarioError, scenario
from scheduler.contracts.config import decode_config
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from scheduler.model.resources import total
from tests.adapters.simulator.builders import NOW, act

HOUR, DAY = 3600, 86_400
NOON = NOW // DAY * DAY + 12 * HOUR


def _gpus_in_use(sim: SimulatedCluster) -> int:
    return total(part for job in sim.state.jobs.values() for part in job.alloc.values()).get("gpu", 0)


def _urgent(sim: SimulatedCluster) -> list[SimJob]:
    return [
        job for job in sim.state.jobs.values() if job.spec.account == "alpha" and "demo" in job.partitions
    ]


def test_an_unknown_scenario_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UnknownScenarioError, match="no scenario 'domo'; there are demo, patent_ten_gpus"):
        scenario("domo")


@pytest.mark.parametrize("name", [name for name, found in SCENARIOS.items() if found.config])
def test_the_priority_file_of_a_scenario_is_valid_and_fits_its_partitions(name: str) -> None:
    sim = SCENARIOS[name].build(NOW)
    config = decode_config(SCENARIOS[name].config)

    assert {entry.policy.name for entry in config.partitions} == set(sim.state.partitions)


def test_paragraph_201_nine_jobs_of_user_a_run_and_then_b_and_c_come() -> None:
    sim = scenario("patent_ten_gpus").build(NOW)
    names = [job.spec.name for job in sorted(sim.state.jobs.values(), key=lambda job: job.start or 0)]
    assert names == ["p0_a", "p1_aa1", "p1_aa2", "p1_aa3", *(f"p2_aaa{n}" for n in (5, 4, 3, 2, 1))]
    assert {job.state for job in sim.state.jobs.values()} == {JobState.RUNNING}
    assert _gpus_in_use(sim) == 9

    sim.advance(20)
    assert _gpus_in_use(sim) == 10
    sim.advance(40)

    pending = [job.spec.name for job in sim.state.in_state(JobState.PENDING)]
    assert pending == ["p1_bb1", "p1_bb2", "p1_bb3", "p0_c"]
    sim.advance(DAY)
    assert len(sim.state.jobs) == 9


def test_paragraph_81_eight_cpus_are_full_and_a_job_for_six_comes() -> None:
    sim = scenario("patent_user_then_task").build(NOW)
    sim.advance(30)

    seen = sim.observe()
    running = {job.name: (job.user, job.alloc["n1"]["cpu"]) for job in seen.jobs if job.start}
    assert running == {"l1_a3": ("ann", 2), "l2_a4": ("ann", 2), "l1_b1": ("bob", 4)}
    assert [(job.name, job.user) for job in seen.jobs if job.state is JobState.PENDING] == [("l1_c1", "cy")]


@pytest.mark.parametrize("seed", [1, 7, 99])
def test_the_demo_is_full_from_the_beginning_and_an_urgent_job_finds_no_room(seed: int) -> None:
    sim = scenario("demo").build(NOW, seed)
    assert sim.now == NOW
    assert _gpus_in_use(sim) >= 28

    sim.advance(20)

    urgent = _urgent(sim)
    assert len(urgent) == 1
    assert urgent[0].state is JobState.PENDING


def test_the_demo_has_jobs_of_every_kind() -> None:
    sim = scenario("demo").build(NOW)
    seen_kinds: Counter[str] = Counter()
    for _ in range(60):
        sim.advance(60)
        for job in sim.state.jobs.values():
            seen_kinds["array"] += bool(job.array_job_id)
            seen_kinds["several nodes"] += len(job.alloc) > 1
            seen_kinds["interactive"] += not job.spec.batch
            seen_kinds["no requeue"] += not job.spec.requeue
            seen_kinds["no project"] += not job.spec.account
            seen_kinds["typed"] += "gpu:a100" in job.spec.request.per_node
            seen_kinds["cpu partition"] += job.partitions == ("cpu",)
            seen_kinds["elastic"] += job.spec.comment.startswith("elastic:")

    assert len(seen_kinds) == 8
    assert 0 not in seen_kinds.values(), seen_kinds
    drained = [node for node in sim.observe().nodes if not node.up]
    assert [(node.name, node.state) for node in drained] == [("g5", "DRAINED")]


def test_people_and_accounts_of_the_demo_are_those_of_its_priority_file() -> None:
    config = decode_config(SCENARIOS["demo"].config)
    projects = {entry.project.slurm_account: entry.project for entry in config.projects}
    sim = scenario("demo").build(NOW)

    for _ in range(30):
        sim.advance(120)
        for job in sim.state.jobs.values():
            if job.spec.account:
                assert job.spec.user in projects[job.spec.account].members
            else:
                assert job.spec.user in {"gus", "hal"}


def test_the_demo_runs_on_without_growing_even_if_nobody_makes_room() -> None:
    sim = scenario("demo").build(NOW)
    most, use = 0, []
    for _ in range(12 * 4):
        sim.advance(HOUR // 4)
        most = max(most, len(sim.state.jobs))
        use.append(_gpus_in_use(sim))

    assert most < 80
    assert sum(use) / len(use) > 0.85 * 32


@pytest.mark.parametrize(
    ("begin", "least", "most"), [(NOON, 45, 120), (NOON + 12 * HOUR, 180, 420)], ids=["day", "night"]
)
def test_urgent_jobs_of_the_demo_come_all_day_and_get_room_when_it_is_made(
    begin: int, least: int, most: int
) -> None:
    """A crude steerer that stops whatever is lowest stands in for Giveway: the demo has always something to show."""
    sim = scenario("demo").build(begin)
    seen: dict[str, int] = {}
    needed = 0
    for _ in range(2 * HOUR):
        sim.advance(1)
        for job in _urgent(sim):
            if job.id not in seen:
                seen[job.id] = sim.now
                needed += job.state is JobState.PENDING
                act(sim, ActionKind.PRIORITISE, job.id, "4000000000")
        if any(job.state is JobState.PENDING for job in _urgent(sim)):
            _stop_one(sim)
        elif sim.now % 10 == 0:
            for job in [job for job in sim.state.in_state(JobState.PENDING) if job.held]:
                act(sim, ActionKind.RELEASE, job.id)

    arrivals = sorted(seen.values())
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    assert arrivals[0] <= begin + 20
    assert least <= min(gaps) and max(gaps) <= most
    assert needed / len(seen) > 0.6
    assert len(_urgent(sim)) <= 4


def _stop_one(sim: SimulatedCluster) -> None:
    if any(sim.state.in_state(JobState.COMPLETING)):
        return
    victims = [
        job
        for job in sim.state.in_state(JobState.RUNNING)
        if job.partitions == ("demo",) and job.spec.account != "alpha" and job.spec.batch and job.spec.requeue
    ]
    if victims:
        act(sim, ActionKind.REQUEUE_HOLD, max(victims, key=lambda job: (job.start or 0, job.id)).id)
