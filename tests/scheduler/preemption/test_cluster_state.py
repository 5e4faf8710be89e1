"""The planner's copy of the partition: the sums that it keeps are what adding up again gives."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.model.policy import Balance
from scheduler.model.reasons import Reason
from scheduler.model.resources import total
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.balance.exchange import Swap
from scheduler.preemption.balance.method import EvenSetsMethod, EvenSetsRun
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.units.in_pieces import lose
from tests.builders import nodes, running, snapshot
from tests.scheduler.pieces import in_pieces
from tests.scheduler.planning import state_of
from tests.scheduler.strategies import snapshots

thorough = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def sums_hold(made: ClusterState) -> None:
    for place in made.places:
        held = [r.alloc[place.node.name] for r in made.runners if r.may_go and place in r.places]
        assert _some(place.stoppable) == _some(total(held))
    for pair, tally in made.tallies.items():
        those = [r for r in made.runners if (r.first, r.second) == pair and r.may_go]
        assert tally.stoppable == len(those)
        assert _some(tally.held) == _some(total(held for r in those for held in r.alloc.values()))
    assert made.candidates == sum(r.alive and not r.lasting for r in made.runners)


def _some(amounts: dict[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


@thorough
@given(st.one_of(in_pieces(), snapshots()), st.data())
def test_what_may_be_stopped_is_summed_up_whatever_becomes_of_running_jobs(
    partition: Snapshot, data: st.DataObject
) -> None:
    made = state_of(partition)
    sums_hold(made)
    for _ in range(data.draw(st.integers(1, 6))):
        open_to = [r for r in made.runners if r.alive and not r.lasting]
        if not open_to:
            return
        runner = data.draw(st.sampled_from(open_to))
        _change(made, runner, data)
        sums_hold(made)


def _change(made: ClusterState, runner: RunningJob, data: st.DataObject) -> None:
    if not runner.may_go:
        made.allow(runner)
    elif runner.pieces and data.draw(st.integers(0, 3)):
        name = data.draw(st.sampled_from(sorted(runner.pieces.counts)))
        lose(made, runner, {name: data.draw(st.integers(1, runner.pieces.counts[name]))})
    elif data.draw(st.booleans()):
        made.spare(runner, Reason.USER_LIMIT.value)
    else:
        made.stop(runner)


def test_a_job_that_has_moved_is_left_alone_where_it_is_now() -> None:
    jobs = [running("a", "n1", 2), running("b", "n1", 3)]
    cycle = PlanningRun(snapshot(jobs, nodes(2), balance=Balance("cpu", 0.1)), [EvenSetsMethod()])
    made = cycle.cluster_state
    even = cycle.method(EvenSetsRun)
    assert even
    even.exchange.apply(Swap(made.runners[0], made.places[0], made.places[1], {}))
    sums_hold(made)
    assert (made.places[0].stoppable, made.places[1].stoppable) == ({"cpu": 3}, {})
    made.allow(made.runners[0])
    sums_hold(made)
