"""Stopping jobs of lower levels in a simulation: what it costs, what limits it, and what always holds."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.model.policy import Mode
from scheduler.model.snapshot import PartitionRules
from scheduler.simulate.easy import Starter
from scheduler.simulate.machine import SimulatedTask
from scheduler.simulate.measures import measure
from scheduler.simulate.policy import (
    ElasticRule,
    Everybody,
    MatchedText,
    OneByOne,
    Policy,
    QueueOrder,
    Requeue,
    Runtimes,
    Scheduler,
)
from scheduler.simulate.replay import SimulationOutcome, replay
from scheduler.simulate.room import indexes
from scheduler.simulate.trace import TraceRow
from tests.scheduler.simulate.workloads import BY_GROUP, by_id, on, policy, row, rows, run, starts

LOW_AND_HIGH = [row("low", 0, 1000, 2, group="g2"), row("high", 450, 100, 1, group="g0")]


def preempt(**fields: Any) -> Policy:
    """Jobs of higher levels get room made."""
    return policy(Scheduler.PREEMPT, **fields)


@pytest.mark.parametrize(
    ("checkpoint_s", "restart_s", "end", "lost", "restarting"),
    [
        (None, 0, 1550, 900, 0),  # all of 450 s on two nodes is gone; it starts again at 550
        (None, 30, 1580, 900, 60),
        (0, 30, 1130, 0, 60),  # saved when it was stopped
        (200, 0, 1150, 100, 0),  # saved at 400: 50 s on two nodes are gone
    ],
)
def test_what_a_stop_costs(
    checkpoint_s: int | None, restart_s: int, end: int, lost: int, restarting: int
) -> None:
    """high needs one of low's two nodes at 450, ends at 550, and then low goes on."""
    outcome = run(2, LOW_AND_HIGH, preempt(requeue=Requeue(checkpoint_s, restart_s)))
    tasks = by_id(outcome)
    low, high = tasks["low"], tasks["high"]
    assert (high.first_start, high.finished) == (450, 550)
    assert (low.first_start, low.finished, low.stops, low.waited) == (0, end, 1, 100)
    assert (low.lost, low.restarting, low.idle) == (lost, restarting, 0)
    assert low.occupied == 2000 + lost + restarting
    figures = measure(outcome).everybody
    assert (figures.stops, figures.lost) == (1, {"cpu": lost + restarting})


def test_levels_may_be_known_job_by_job_and_a_spared_job_is_not_stopped() -> None:
    known = OneByOne({"low": 2, "high": 0})
    assert starts(run(2, LOW_AND_HIGH, preempt(user_level=known))) == {"low": 0, "high": 450}
    assert starts(run(2, LOW_AND_HIGH, preempt(user_level=OneByOne({"low": 0, "high": 0}))))["high"] == 1000
    spared = run(2, LOW_AND_HIGH, preempt(user_level=known, spared=frozenset({"low"})))
    assert starts(spared) == {"low": 0, "high": 1000}


def test_who_watches_hears_how_many_have_come_and_may_end_it() -> None:
    heard: list[int] = []
    replay(on(2, LOW_AND_HIGH), preempt(), heard.append)
    assert heard == sorted(heard)
    assert (heard[0], heard[-1]) == (1, 2)

    def stop(_come: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        replay(on(2, LOW_AND_HIGH), preempt(), stop)


def test_room_is_made_at_the_next_cycle() -> None:
    assert starts(run(2, LOW_AND_HIGH, preempt(cycle_s=60)))["high"] == 480


@pytest.mark.parametrize(
    ("rules", "start"),
    [
        ({"exempt_s": 500}, 500),  # low started at 0
        ({"min_wait_s": 60}, 510),
        ({"bands": ((0, 1, 2, None),)}, 1000),
        ({"max_stops_per_hour": 0}, 1000),
    ],
)
def test_the_rules_of_the_partition_hold(rules: dict[str, Any], start: int) -> None:
    """And the planner is asked again when time alone has changed its answer."""
    assert starts(run(2, LOW_AND_HIGH, preempt(rules=rules)))["high"] == start


def test_only_so_many_stops_in_an_hour() -> None:
    """The second stop is refused until the first is an hour old."""
    lows = [row(str(i), 0, 9000, 1, group="g2") for i in (1, 2)]
    highs = [row("a", 10, 5000, 1, group="g0"), row("b", 20, 5000, 1, group="g0")]
    found = starts(run(2, lows + highs, preempt(rules={"max_stops_per_hour": 1})))
    assert (found["a"], found["b"]) == (10, 3610)


LOW_AND_TWO = [
    row("low", 0, 9000, 1, group="g2"), row("a", 100, 50, 1, group="g0"), row("b", 160, 5000, 1, group="g0"),
]  # fmt: skip
"""low is stopped at 100 for a, and runs again from 150 on; then b comes."""


@pytest.mark.parametrize(
    ("rules", "requeue", "start"),
    [
        ({}, Requeue(), 160),
        ({"rest_s": 600}, Requeue(), 750),
        ({"rest_s": 600}, Requeue(0, 0), 750),
        (
            {"rest_s": 600},
            Requeue(100, 30),
            280,
        ),  # its state is saved again 100 s after the 30 s of its restart
        ({"rest_s": 60}, Requeue(100, 30), 210),
        ({"max_stops_per_job_hour": 1}, Requeue(), 3700),
        ({"max_stops_per_job_hour": 2}, Requeue(), 160),
    ],
)
def test_who_was_stopped_is_left_alone_for_a_while(
    rules: dict[str, Any], requeue: Requeue, start: int
) -> None:
    assert starts(run(1, LOW_AND_TWO, preempt(rules=rules, requeue=requeue)))["b"] == start


@pytest.mark.parametrize(("checkpoint_s", "counts"), [(100, 410), (0, 410), (None, 10)])
def test_earlier_runs_count_where_their_work_was_saved(checkpoint_s: int | None, counts: int) -> None:
    """young is stopped after 400 s, and again after 10 s; old goes on, having run longer all the time."""
    jobs = [row("old", 0, 5000, 1, group="g2"), row("young", 100, 5000, 1, group="g2")]
    jobs += [row("a", 500, 50, 1, group="g0"), row("b", 560, 50, 1, group="g0")]
    tasks = by_id(run(2, jobs, preempt(requeue=Requeue(checkpoint_s))))
    assert (tasks["young"].stops, tasks["old"].stops, tasks["young"].ran_s) == (2, 0, counts)


def test_one_cycle_makes_room_for_as_many_as_there_is_room_for() -> None:
    lows = [row(str(i), 0, 9000, 1, group="g2") for i in (1, 2)]
    highs = [row(name, 10, 5000, 1, group="g0") for name in ("a", "b", "c")]
    found = starts(run(2, lows + highs, preempt(cycle_s=60)))
    assert (found["a"], found["b"], found["c"]) == (60, 60, 5060)


def test_a_job_is_stopped_only_so_often() -> None:
    highs = [row(str(i), 100 * i, 10, 2, group="g0") for i in (1, 2, 3)]
    tasks = by_id(run(2, [row("low", 0, 500, 2, group="g2"), *highs], preempt(max_stops_per_job=2)))
    assert tasks["low"].stops == 2
    assert [tasks[str(i)].first_start for i in (1, 2)] == [100, 200]
    assert tasks["3"].first_start == tasks["low"].finished


def test_levels_of_the_second_axis_count_where_the_mode_has_one() -> None:
    """Equal users: the task level decides. Results are told by both."""
    chosen = preempt(
        partition=PartitionRules("x", Mode.USER_THEN_TASK, level_names=("top",)),
        user_level=Everybody(0),
        task_level=BY_GROUP,
    )
    outcome = run(2, LOW_AND_HIGH, chosen)
    assert starts(outcome)["high"] == 450
    assert [title for title, _ in measure(outcome).levels] == ["top / top", "top / L2"]


def test_the_planner_is_asked_only_when_it_could_make_room() -> None:
    """Equal jobs in a long queue: never. One urgent job among them: once."""
    equal = [row(str(i), i, 50, 2, group="g1") for i in range(40)]
    assert run(2, equal, preempt()).plans == 0
    assert run(2, [*equal, row("high", 75, 5, 1, group="g0")], preempt()).plans == 1


# --- What always holds ------------------------------------------------------------------------------------

POLICIES = st.builds(
    lambda scheduler, order, runtimes, requeue, cycle_s, exempt_s, elastic: policy(
        scheduler,
        order=QueueOrder.LEVEL if scheduler is Scheduler.PREEMPT else order,
        runtimes=runtimes,
        requeue=requeue,
        cycle_s=cycle_s,
        rules={"exempt_s": exempt_s},
        elastic=elastic,
    ),
    st.sampled_from([Scheduler.PREEMPT, Scheduler.PREEMPT, Scheduler.EASY, Scheduler.FCFS]),
    st.sampled_from(QueueOrder),
    st.sampled_from(Runtimes),
    st.builds(Requeue, st.sampled_from([None, 0, 3]), st.integers(0, 3)),
    st.sampled_from([1, 7]),
    st.sampled_from([0, 0, 4]),
    st.sampled_from(
        [None, ElasticRule(MatchedText.JOB, ("*",), 0.5), ElasticRule(MatchedText.JOB, ("*",), 0.3, "gpu")]
    ),
)


@settings(max_examples=120, deadline=None)
@given(jobs=rows(per_node={"cpu": 3, "gpu": 2}), chosen=POLICIES)
def test_every_job_ends_once_and_nothing_is_used_twice(jobs: list[TraceRow], chosen: Policy) -> None:
    outcome = run(5, jobs, chosen, {"cpu": 3, "gpu": 2})
    assert {task.work.row.id for task in outcome.tasks} == {each.id for each in jobs}
    for task in outcome.tasks:
        conserved(task, chosen)
    capacity_holds(outcome)


def conserved(task: SimulatedTask, chosen: Policy) -> None:
    """It ended, all of its work was done, and what was held beyond that is accounted for."""
    assert task.finished is not None
    assert task.left == 0
    held = sum((end - since) * pieces for since, end, _, pieces in task.spans)
    assert held == task.occupied == task.total + task.lost + task.restarting + task.idle
    ran = sum(end - since for since, end, _, _ in task.spans)
    assert task.finished - task.work.submit == task.waited + ran
    assert all(task.pieces.least <= pieces <= task.pieces.count for _, _, _, pieces in task.spans)
    if not task.pieces.units:
        assert all(nodes.bit_count() == pieces for _, _, nodes, pieces in task.spans)
    assert task.stops <= chosen.max_stops_per_job
    if not task.stops and not task.shrinks:
        assert task.occupied == task.total


def capacity_holds(outcome: SimulationOutcome) -> None:
    """On no node, at no moment, is more held than there is."""
    changes: list[tuple[int, int, int, str, int]] = []
    for task in outcome.tasks:
        for since, end, nodes, pieces in task.spans:
            for i in indexes(nodes):
                for name, each in task.pieces.amounts.items():
                    amount = each * pieces if task.pieces.units else each
                    changes += [(since, 1, i, name, amount), (end, 0, i, name, -amount)]
    held: Counter[tuple[int, str]] = Counter()
    for _, _, i, name, amount in sorted(changes):
        held[i, name] += amount
        assert 0 <= held[i, name] <= outcome.workload.machines.per_node[name]
    assert not any(held.values())


@settings(max_examples=40, deadline=None)
@given(data=st.data(), jobs=rows(), chosen=POLICIES)
def test_the_order_of_rows_and_the_number_of_the_try_change_nothing(
    data: st.DataObject, jobs: list[TraceRow], chosen: Policy
) -> None:
    mixed = data.draw(st.permutations(jobs))
    assert measure(run(5, jobs, chosen)) == measure(run(5, mixed, chosen))


def test_a_plan_that_gives_nodes_without_room_is_an_error_not_a_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scheduler.simulate.replay._Showing.set_of", lambda *_: 0b100)
    lows = [row(str(i), 0, 1000, 1, group="g2") for i in range(3)]
    with pytest.raises(RuntimeError, match="no room"):
        run(3, [*lows, row("high", 1, 50, 1, group="g0")], preempt())


def test_a_full_pass_and_one_for_arrivals_only_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [row(str(i), 3 * i, 20 + 7 * (i % 5), 1 + i % 4, limit=60) for i in range(80)]
    quick = starts(run(5, jobs, policy()))
    monkeypatch.setattr(Starter, "_stands", lambda *_: False)
    assert quick == starts(run(5, jobs, policy()))


# --- Elastic jobs -----------------------------------------------------------------------------------------

ELASTIC = ElasticRule(MatchedText.NAME, ("low*",), 0.5, "gpu")


def test_an_elastic_job_gives_up_nodes_goes_on_slower_and_gets_them_back() -> None:
    """4000 s of work: 100 s on four nodes, 200 s on two, and 800 s on four are 4 * 1000."""
    low = row("1", 0, 1000, 4, group="g2", name="low")
    outcome = run(4, [low, row("high", 100, 200, 2, group="g0")], preempt(elastic=ELASTIC))
    task = by_id(outcome)["1"]
    assert starts(outcome) == {"1": 0, "high": 100}
    assert [(since, end, pieces) for since, end, _, pieces in task.spans] == [
        (0, 100, 4),
        (100, 300, 2),
        (300, 1100, 4),
    ]
    assert (task.stops, task.shrinks, task.lost, task.waited) == (0, 1, 0, 0)
    assert measure(outcome).everybody.shrinks == 1


def test_an_elastic_job_on_one_node_gives_up_units_there() -> None:
    """Of eight GPUs with two CPUs each high wants three; the least is four. A rest of a second is idle."""
    low = row("1", 0, 100, 1, gpus=8, cpus=16, group="g2", name="low")
    high = row("high", 50, 50, 1, gpus=3, cpus=6, group="g0")
    outcome = run(1, [low, high], preempt(elastic=ELASTIC), {"cpu": 16, "gpu": 8})
    task = by_id(outcome)["1"]
    assert task.spans == [(0, 50, 1, 8), (50, 100, 1, 5), (100, 119, 1, 8)]
    assert (task.occupied, task.idle) == (802, 2)
    assert measure(outcome).everybody.lost == {"cpu": 4, "gpu": 2}


def test_who_cannot_give_enough_is_stopped() -> None:
    jobs = [row("1", 0, 1000, 4, group="g2", name="low"), row("high", 100, 200, 3, group="g0")]
    task = by_id(run(4, jobs, preempt(elastic=ELASTIC)))["1"]
    assert (task.stops, task.shrinks) == (1, 0)


def test_a_shrunk_job_has_its_turn_between_higher_and_lower_ones() -> None:
    """When high ends at 300, two nodes are free: above takes one, low gets one back, below has to wait."""
    jobs = [
        row("1", 0, 1000, 4, group="g2", name="low"),
        row("high", 100, 200, 2, group="g0"),
        row("above", 200, 50, 1, group="g1"),
        row("below", 200, 50, 1),
    ]
    bands = ((0,), (1, 2, None))
    tasks = by_id(run(4, jobs, preempt(elastic=ELASTIC, rules={"bands": bands})))
    changes = [(since, pieces) for since, _, _, pieces in tasks["1"].spans]
    assert changes == [(0, 4), (100, 2), (300, 3), (350, 4)]
    assert tasks["above"].first_start == 300
    assert tasks["below"].first_start == tasks["1"].finished == 1113


def test_a_shrunk_job_does_not_grow_into_what_is_kept_for_a_higher_one() -> None:
    """From 300 on one node is free, from 400 on two: head, which wants two, starts then."""
    jobs = [
        row("1", 0, 1000, 4, group="g2", name="low"),
        row("a", 100, 200, 1, group="g0"),
        row("b", 100, 300, 1, group="g0"),
        row("head", 200, 50, 2, group="g1"),
    ]
    tasks = by_id(run(4, jobs, preempt(elastic=ELASTIC, rules={"bands": ((0,), (1, 2, None))})))
    assert tasks["head"].first_start == 400
    assert [(since, pieces) for since, _, _, pieces in tasks["1"].spans] == [(0, 4), (100, 2), (450, 4)]
