"""Pools of units are kept up to date, and a trial of losses leaves nothing behind."""

from collections import Counter

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scheduler.model.snapshot import Snapshot
from scheduler.preemption.candidates import Candidates
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.rooms import Rooms
from scheduler.preemption.shapes import Shape, Shapes
from scheduler.preemption.spread import Pool
from scheduler.preemption.units.pool import UnitPool
from tests.scheduler.pieces import ELASTIC_NODES, ELASTIC_UNITS, UNITS, WHOLE, in_pieces, whole
from tests.scheduler.planning import change, state_of


def state_and_shape(snapshot: Snapshot) -> tuple[ClusterState, Shape]:
    """The planner's own copy, and what the first pending job asks for."""
    cluster_state = state_of(snapshot)
    return cluster_state, Shapes(cluster_state).of(next(job.request for job in snapshot.jobs if job.request))


@settings(max_examples=80, deadline=None)
@given(in_pieces(kinds=(WHOLE, UNITS, UNITS, ELASTIC_UNITS, ELASTIC_NODES), shapes=("units",)), st.data())
def test_after_any_changes_a_pool_holds_what_a_first_look_finds(
    snapshot: Snapshot, data: st.DataObject
) -> None:
    cluster_state, shape = state_and_shape(snapshot)
    unit, candidates = dict(shape.wants), Candidates(cluster_state)
    kept = UnitPool(cluster_state, candidates, shape, Rooms(cluster_state, shape))
    for _ in range(data.draw(st.integers(1, 5))):
        change(cluster_state, data)
        first = Pool(cluster_state, candidates, shape, Rooms(cluster_state, shape))
        for coming in (False, True):
            each = first.each(coming=coming)
            assert kept.each(coming=coming) == each
            assert kept.units(coming=coming) == sum(whole(part, unit) for _, part in each)
        assert +Counter(kept.now()) == +Counter(first.now())
        assert +Counter(kept.soon()) == +Counter(first.soon())


@settings(max_examples=80, deadline=None)
@given(in_pieces(most_pending=1, kinds=(WHOLE, UNITS, ELASTIC_UNITS), shapes=("units",)), st.data())
def test_what_a_loss_alone_would_change_is_what_it_changes(snapshot: Snapshot, data: st.DataObject) -> None:
    cluster_state, shape = state_and_shape(snapshot)
    trial = UnitPool(cluster_state, Candidates(cluster_state), shape, Rooms(cluster_state, shape)).trial(
        shape
    )
    held = [
        (runner, place, 1) for runner in cluster_state.runners if runner.pieces for place in runner.places
    ]
    assume(held)
    before = data.draw(st.sampled_from(held), label="lost before")
    trial.pieces(*before)
    missing, after = trial.missing(), trial.missing_after(held)
    for (runner, place, count), rest in zip(held, after, strict=True):
        trial.pieces(runner, place, count)
        assert trial.missing() == rest
        trial.pieces(runner, place, -count)
        assert trial.missing() == missing
