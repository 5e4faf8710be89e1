"""A job that is to have an even set starts on just these nodes, or waits, as the partition's rule says."""

from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.steering.explanations import why
from console.steering.kinds.begin_time import LATER_S
from console.steering.models import ChosenPlace, KeptPlace
from console.steering.pausing import pause
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, Request
from tests.steering.conftest import Sim

SECONDS = {"n1": 12.0, "n2": 10.0, "n3": 14.0, "n4": 10.2}
"""The first and the third are slow, and the first is what the cluster takes first."""
RULE = {"resource": "cpu", "max_distance": 0.5}
SCRIPT_S = 20
"""So far off the job_submit script sets a begin time."""


@pytest.fixture(autouse=True)
def measured(sim: Sim) -> None:
    for name, seconds in SECONDS.items():
        sim.port.state.nodes[name].power = {"cpu": seconds}


def policy(sim: Sim, **keys: Any) -> None:
    sim.policy("wide", **{"balance": RULE, "protected_users": ["*"], **keys})


def submit(sim: Sim, nodes: int = 2, user: str = "cy", *, by_script: bool = True, **spec: Any) -> str:
    """A job of whole nodes; with the script its begin time is set as it is submitted."""
    request = Request(nodes=nodes, per_node={"cpu": 8})
    begin = sim.port.now + SCRIPT_S if by_script else None
    made = {"partitions": ("wide",), "begin": begin, **spec}
    job = sim.port.submit(JobSpec(f"{user}_even", user, request, **made))
    if by_script and not spec.get("array_tasks"):
        sim.port.job(job).put_off = sim.port.now + SCRIPT_S
    return job


def on(sim: Sim, node: str) -> str:
    """A job that has a whole node."""
    request = Request(nodes=1, per_node={"cpu": 8}, only_nodes=frozenset({node}))
    job = sim.port.submit(JobSpec(f"on_{node}", "bob", request, partitions=("wide",)))
    sim.port.advance(2)
    assert set(sim.port.job(job).alloc) == {node}
    return job


def told(action: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action=action).order_by("id"))


def lines(sim: Sim, job: str) -> str:
    answer = why(sim.cluster, job)
    assert answer is not None
    return " ".join(str(line.text) for part in answer.parts for line in part.lines)


def test_it_starts_on_the_even_nodes_and_not_where_the_cluster_would_start_it(sim: Sim) -> None:
    policy(sim)
    job = submit(sim)
    sim.cycles(3)
    assert set(sim.port.job(job).alloc) == {"n2", "n4"}
    assert (sim.port.job(job).start or 0) < sim.port.now
    row = ChosenPlace.objects.get()
    assert (row.nodes, row.got) == (["n2", "n4"], ["n2", "n4"])
    (placed,) = told("job.placed")
    assert placed.after == {"nodes": ["n2", "n4"], "runs_on": ["n2", "n4"]}
    assert not told("job.placed_elsewhere")
    assert [len(told(action)) for action in ("job.put_off", "job.begins", "nodes.kept")] == [1, 1, 1]
    sim.cycles(2)
    assert not KeptPlace.objects.exists(), "nothing is kept for it any more"
    assert sim.port.observe().kept == ()
    assert "0.2" in lines(sim, job), "its answer says how uneven its nodes are"


def test_without_the_rule_it_starts_where_the_cluster_likes(sim: Sim) -> None:
    """What the others of these tests would see if nothing were done."""
    policy(sim, balance=None)
    job = submit(sim)
    sim.cycles(SCRIPT_S + 2)
    assert set(sim.port.job(job).alloc) == {"n1", "n2"}


def test_it_waits_as_long_as_only_an_uneven_set_is_free_and_says_so(sim: Sim) -> None:
    policy(sim)
    fast = on(sim, "n2")
    job = submit(sim)
    sim.cycles(3 * LATER_S)
    assert sim.state(job) is JobState.PENDING, "n1, n3 and n4 are free all the time"
    said = lines(sim, job)
    assert "equal compute power" in said
    assert "Giveway lets it begin" in said
    assert len(told("job.put_off")) == 1, "renewals are not told"
    sim.port.cancel(fast)
    sim.port.advance(2)
    sim.cycles(4)
    assert set(sim.port.job(job).alloc) == {"n2", "n4"}


def test_with_nearest_it_takes_the_nearest_of_what_is_free(sim: Sim) -> None:
    policy(sim, balance={**RULE, "else": "nearest"})
    on(sim, "n2")
    job = submit(sim)
    sim.cycles(4)
    assert set(sim.port.job(job).alloc) == {"n1", "n4"}
    assert "1.8" in lines(sim, job)


def test_who_has_waited_long_enough_takes_the_nearest(sim: Sim) -> None:
    policy(sim, balance={**RULE, "most_wait_s": 40})
    on(sim, "n2")
    job = submit(sim)
    sim.cycles(20, every_s=2)
    assert sim.state(job) is JobState.PENDING
    sim.cycles(6)
    assert set(sim.port.job(job).alloc) == {"n1", "n4"}
    assert "It has waited 40 s; 40 s is the most" in lines(sim, job)


def test_if_not_even_that_is_there_it_is_put_off_no_longer(sim: Sim) -> None:
    """Three nodes are held: from then on it is the cluster that keeps room for it, as for any other job."""
    policy(sim, balance={**RULE, "most_wait_s": 40})
    *_, last = [on(sim, node) for node in ("n2", "n3", "n4")]
    job = submit(sim)
    sim.cycles(20, every_s=2)
    assert sim.port.job(job).put_off
    sim.cycles(4)
    waits = next(each for each in sim.port.observe().jobs if each.id == job)
    assert (waits.state, waits.to_be_placed) == (JobState.PENDING, False)
    sim.cycles(2 * LATER_S)
    assert len(told("job.given_back")) == 1, "it is not put off again"
    sim.port.cancel(last)
    sim.cycles(4)
    assert set(sim.port.job(job).alloc) == {"n1", "n4"}


def test_it_starts_by_itself_when_no_cycle_comes_any_more(sim: Sim) -> None:
    policy(sim)
    on(sim, "n2")
    job = submit(sim)
    sim.cycles(2 * LATER_S)
    assert sim.state(job) is JobState.PENDING
    sim.port.advance(LATER_S)
    assert sim.state(job) is JobState.RUNNING
    assert sim.port.observe().kept == ()


def test_tasks_of_an_array_start_wherever_there_is_room_and_are_told_so(sim: Sim) -> None:
    policy(sim)
    array = submit(sim, by_script=False, array_tasks=1)
    sim.cycles(3)
    assert set(sim.port.job(f"{array}_0").alloc) == {"n1", "n2"}
    assert not ChosenPlace.objects.exists()
    assert "Slurm chose these nodes: tasks of an array" in lines(sim, f"{array}_0")
    policy(sim, balance=None)
    sim.cycles(1)
    assert "Slurm chose these nodes" not in lines(sim, f"{array}_0"), "nobody is placed there"


@pytest.mark.parametrize("of_an_array", [True, False])
def test_what_waits_for_an_even_set_and_is_not_placed_is_told_so(sim: Sim, of_an_array: bool) -> None:
    """Between two cycles Slurm starts it; a pause keeps others from being placed, too."""
    policy(sim)
    on(sim, "n2")
    pause(actor="dave", cluster=sim.cluster, reason="Test.")
    more: dict[str, Any] = {"array_tasks": 1} if of_an_array else {}
    job = submit(sim, by_script=False, **more)
    sim.cycle()
    task = f"{job}_0" if of_an_array else job
    assert sim.state(task) is JobState.PENDING
    assert "even or not" in lines(sim, task)
    assert ("Tasks of an array" in lines(sim, task)) is of_an_array


@pytest.mark.parametrize("enforcement", ["shadow", "approve"])
def test_where_plans_are_not_enforced_nothing_is_done(sim: Sim, enforcement: str) -> None:
    policy(sim, enforcement=enforcement)
    job = submit(sim)
    sim.cycles(SCRIPT_S + 2)
    assert set(sim.port.job(job).alloc) == {"n1", "n2"}
    assert not ChosenPlace.objects.exists()
    assert sim.port.observe().kept == ()


def test_a_paused_partition_places_nobody(sim: Sim) -> None:
    policy(sim)
    pause(actor="dave", cluster=sim.cluster, reason="Test.")
    job = submit(sim)
    sim.cycles(SCRIPT_S + 2)
    assert set(sim.port.job(job).alloc) == {"n1", "n2"}
    assert not ChosenPlace.objects.exists()


def test_without_the_script_a_job_that_waits_is_placed_all_the_same(sim: Sim) -> None:
    policy(sim)
    full = {node: on(sim, node) for node in SECONDS}
    job = submit(sim, by_script=False)
    sim.cycles(2)
    sim.port.cancel(full["n1"])
    sim.port.advance(2)
    sim.cycle()
    sim.port.cancel(full["n3"])
    sim.port.cancel(full["n2"])
    sim.cycles(5)
    assert sim.state(job) is JobState.PENDING, "n1, n2 and n3 are free"
    sim.port.cancel(full["n4"])
    sim.cycles(6)
    assert set(sim.port.job(job).alloc) == {"n2", "n4"}


def test_a_begin_time_of_the_user_is_left_alone(sim: Sim) -> None:
    policy(sim)
    job = submit(sim, by_script=False, begin=sim.port.now + 40)
    sim.cycles(15, every_s=2)
    assert sim.state(job) is JobState.PENDING
    assert not ChosenPlace.objects.exists()
    sim.cycles(14)
    assert sim.state(job) is JobState.RUNNING


def test_a_job_that_asks_for_one_node_is_given_back_at_once(sim: Sim) -> None:
    policy(sim)
    job = submit(sim, nodes=1)
    sim.cycles(3)
    assert set(sim.port.job(job).alloc) == {"n1"}
    assert len(told("job.given_back")) == 1
    assert not ChosenPlace.objects.exists()


def test_only_who_asks_where_the_rule_says_so(sim: Sim) -> None:
    policy(sim, balance={**RULE, "applies_to": "asked"})
    plain, asks = submit(sim), submit(sim, comment="balanced")
    sim.cycles(4)
    assert set(sim.port.job(plain).alloc) == {"n1", "n2"}
    assert sim.state(asks) is JobState.PENDING, "n3 and n4 are too uneven"


def test_two_at_once_get_two_even_sets(sim: Sim) -> None:
    sim.port.state.nodes["n3"].power = {"cpu": 12.1}
    policy(sim)
    jobs = [submit(sim), submit(sim)]
    sim.cycles(4)
    assert sorted(sorted(sim.port.job(job).alloc) for job in jobs) == [["n1", "n3"], ["n2", "n4"]]


def test_others_make_room_for_it_and_it_starts_there(sim: Sim) -> None:
    policy(sim, protected_users=[])
    low = {node: on(sim, node) for node in SECONDS}
    job = submit(sim)
    sim.cycles(10)
    assert set(sim.port.job(job).alloc) == {"n2", "n4"}
    assert sim.state(low["n1"]) is JobState.RUNNING
    assert sim.state(low["n3"]) is JobState.RUNNING


def test_when_it_starts_elsewhere_all_the_same_that_is_told(sim: Sim) -> None:
    """Its nodes were kept, and one broke down as it was to begin."""
    policy(sim)
    job = submit(sim)
    sim.cycle()
    assert ChosenPlace.objects.get().nodes == ["n2", "n4"]
    sim.port.job(job).begin = 0
    sim.port.state.kept.clear()
    sim.port.state.changed = True
    sim.port.advance(1)
    sim.cycle()
    (row,) = told("job.placed_elsewhere")
    assert row.after == {"nodes": ["n2", "n4"], "runs_on": ["n1", "n2"]}
    assert "n2 and n4" in lines(sim, job)


@pytest.mark.parametrize("effect", [FaultEffect.REFUSE, FaultEffect.LOSE_ANSWER])
@pytest.mark.parametrize("kind", [ActionKind.KEEP, ActionKind.BEGIN])
def test_what_was_in_vain_is_tried_again(sim: Sim, kind: ActionKind, effect: FaultEffect) -> None:
    policy(sim)
    job = submit(sim)
    sim.port.faults.actions.append(ActionFault(effect, kind=kind, times=1))
    sim.cycles(8)
    assert set(sim.port.job(job).alloc) == {"n2", "n4"}


def test_it_begins_without_kept_nodes_where_the_cluster_keeps_none(sim: Sim) -> None:
    """Somebody else's reservation is in the way: it does not wait for ever."""
    policy(sim)
    job = submit(sim)
    sim.port.faults.actions.append(ActionFault(FaultEffect.REFUSE, kind=ActionKind.KEEP))
    sim.cycles(15)
    assert sim.state(job) is JobState.PENDING
    sim.cycles(15)
    assert set(sim.port.job(job).alloc) == {"n1", "n2"}
    (row,) = told("job.placed_elsewhere")
    assert row.after == {"nodes": ["n2", "n4"], "runs_on": ["n1", "n2"]}


def test_a_job_that_comes_back_is_no_longer_told_as_placed(sim: Sim) -> None:
    policy(sim)
    job = submit(sim)
    sim.cycles(4)
    assert ChosenPlace.objects.exists()
    sim.port.cancel(job)
    sim.port.advance(2)
    sim.cycle()
    assert not ChosenPlace.objects.exists()
