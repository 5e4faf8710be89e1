"""Jobs of several nodes, and running jobs that hold several."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from hypothesis import given, settings

from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Mode
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from tests.builders import HOUR, node, nodes, on_nodes, one_node, pending, running, snapshot
from tests.scheduler import naive
from tests.scheduler.planning import decide, decisions, stopped
from tests.scheduler.preemption.test_properties import Cost, cost, harm, job_of
from tests.scheduler.strategies import crowded

QUEUE, PREEMPT = DecisionKind.QUEUE, DecisionKind.PREEMPT


def two_on(*names: str, cpu: int = 4) -> dict[str, dict[str, int]]:
    return {name: {"cpu": cpu} for name in names}


def test_the_cheapest_nodes_are_taken_and_free_ones_first() -> None:
    jobs = [
        running("dear", "n1", 8, user=2),
        running("cheap", "n2", 8, user=3, ran=60),
        running("cheaper", "n3", 8, ran=60),
    ]
    decision = decide(*jobs, pending(request=on_nodes(3, 8), user=0), nodes=nodes(4))
    assert stopped(decision) == ["cheap", "cheaper"]
    assert decision.nodes == ("n2", "n3", "n4")


def test_as_many_different_nodes_as_asked_or_none() -> None:
    jobs = [running("a", "n1", 8, user=3), running("b", "n2", 8, user=0)]
    decision = decide(*jobs, pending(request=on_nodes(2, 4), user=0), nodes=nodes(2))
    assert decision.action is QUEUE
    assert not decision.victims


def test_one_node_twice_as_large_is_not_two_nodes() -> None:
    decision = decide(pending(request=on_nodes(2, 4), user=0), nodes=[node("n1", 16)])
    assert decision.action is QUEUE


def test_each_node_makes_room_by_its_own_cheapest_victims() -> None:
    jobs = [
        running("a1", "n1", 4, user=3, ran=60),
        running("a2", "n1", 4, user=3, ran=600),
        running("b1", "n2", 4, user=3, ran=700),
        running("b2", "n2", 4, user=2, ran=60),
    ]
    decision = decide(*jobs, pending(request=on_nodes(2, 4), user=0), nodes=nodes(2))
    assert stopped(decision) == ["a1", "b1"]


class TestVictimsOnSeveralNodes:
    def test_one_job_that_frees_both_nodes_is_better_than_two_that_free_one_each(self) -> None:
        jobs = [
            running("both", two_on("n1", "n2"), user=3, ran=900),
            running("left", "n1", 4, user=3, ran=600),
            running("right", "n2", 4, user=3, ran=600),
        ]
        decision = decide(*jobs, pending(request=on_nodes(2, 4), user=0), nodes=nodes(2))
        assert stopped(decision) == ["both"]

    def test_two_short_jobs_are_better_than_one_long_one_on_both(self) -> None:
        jobs = [
            running("both", two_on("n1", "n2"), user=3, ran=9 * HOUR),
            running("left", "n1", 4, user=3, ran=60),
            running("right", "n2", 4, user=3, ran=60),
        ]
        decision = decide(*jobs, pending(request=on_nodes(2, 4), user=0), nodes=nodes(2))
        assert stopped(decision) == ["left", "right"]

    def test_a_shared_victim_beats_cheaper_nodes_that_share_none(self) -> None:
        """Node by node n3 and n4 are cheaper (50 min each), but stopping `both` (1 h) frees n1 and n2 at once."""
        jobs = [
            running("both", two_on("n1", "n2", cpu=8), user=3, ran=HOUR),
            running("c", "n3", 8, user=3, ran=3000),
            running("d", "n4", 8, user=3, ran=3000),
        ]
        decision = decide(*jobs, pending(request=on_nodes(2, 8), user=0), nodes=nodes(4))
        assert stopped(decision) == ["both"]

    def test_a_wide_victim_of_a_higher_class_is_not_taken_where_lower_ones_suffice(self) -> None:
        jobs = [
            running("both", two_on("n1", "n2", cpu=8), user=2, ran=1),
            running("c", "n3", 8, user=3, ran=9 * HOUR),
            running("d", "n4", 8, user=3, ran=9 * HOUR),
        ]
        decision = decide(*jobs, pending(request=on_nodes(2, 8), user=0), nodes=nodes(4))
        assert stopped(decision) == ["c", "d"]

    def test_a_victim_that_a_wide_one_makes_needless_is_given_back(self) -> None:
        """n1 alone is cheapest by stopping `small`; once `wide` goes for n2 and n3, n1 gets room from it too."""
        jobs = [
            running("small", "n1", 4, user=3, ran=10),
            running("wide", two_on("n1", "n2", "n3"), user=3, ran=600),
            running("k2", "n2", 4, user=0),
            running("k3", "n3", 4, user=0),
        ]
        decision = decide(*jobs, pending(request=on_nodes(3, 4), user=0), nodes=nodes(3))
        assert stopped(decision) == ["wide"]

    def test_it_is_given_back_also_where_better_looking_wide_jobs_are_tried_first(self) -> None:
        """The decoys cost less per node, but make no room; so nobody begins with `wide`."""
        decoys = [running(f"d{i}", two_on("n3", "n4", cpu=1), user=3, ran=1) for i in range(3)]
        decoys += [running("d3", two_on("n5", "n6", cpu=1), user=3, ran=1)]
        jobs = [
            *decoys,
            *(running(f"k{i}", f"n{i}", 5, user=0) for i in (3, 4)),
            *(running(f"k{i}", f"n{i}", 7, user=0) for i in (5, 6)),
            running("cheap", "n1", 4, user=3, ran=10),
            running("wide", two_on("n1", "n2"), user=3, ran=600),
            running("k2", "n2", 4, user=0),
        ]
        decision = decide(*jobs, pending(request=on_nodes(2, 4), user=0), nodes=nodes(6))
        assert stopped(decision) == ["wide"]

    def test_for_one_node_a_wide_victim_costs_all_of_itself(self) -> None:
        jobs = [
            running("wide", two_on("n1", "n2", cpu=8), user=3, ran=600),
            running("narrow", "n3", 8, user=3, ran=500),
        ]
        decision = decide(*jobs, pending(request=one_node(8), user=0), nodes=nodes(3))
        assert stopped(decision) == ["narrow"]

    def test_what_a_wide_victim_frees_elsewhere_is_there_for_the_next_job(self) -> None:
        wide = running("wide", two_on("n1", "n2", cpu=8), user=3)
        made = plan_of([wide, pending("1", one_node(8), user=0, waited=9), pending("2", one_node(8), user=0)])
        assert [d.action for d in made] == [PREEMPT, DecisionKind.START]
        assert [stopped(d) for d in made] == [["wide"], []]

    def test_nodes_of_its_own_are_as_many_as_asked_and_nobody_is_left_on_them(self) -> None:
        """`parts` loses its unit on n1 to `first`: stopping it empties n1 no more, though it looks cheapest."""
        jobs = [
            running("parts", two_on("n1", "n2"), user=3, ran=60, unit={"cpu": 4}),
            running("wide", two_on("n2", "n4"), user=3),
            running("dear", "n3", 8, user=2),
            running("kept", "n4", 4, user=0),
            pending("first", one_node(4, only_nodes=frozenset({"n1"})), user=0),
            pending("own", on_nodes(2, 4, exclusive=True), user=1),
        ]
        made = decisions(jobs, [node("n1", 4), *nodes(4)[1:]], units=True)
        assert made["first"].nodes == ("n1",)
        assert made["own"].nodes == ("n2", "n3")
        assert stopped(made["own"]) == ["dear", "parts", "wide"]

    def test_a_job_on_nodes_that_are_not_asked_for_helps_nobody(self) -> None:
        jobs = [running("wide", two_on("n2", "n3", cpu=8), user=3), running("k", "n1", 8, user=0)]
        limited = on_nodes(2, 8, only_nodes=frozenset({"n1", "n2"}))
        assert decide(*jobs, pending(request=limited, user=0), nodes=nodes(3)).action is QUEUE


def plan_of(jobs: list[SnapshotJob]) -> list[Decision]:
    return list(plan(snapshot(jobs, nodes(2))).decisions)


def test_more_candidates_than_the_second_attempt_looks_at_still_make_a_sound_plan() -> None:
    """Three hundred jobs, every tenth on two nodes: room, nobody needless, nobody too high."""
    places = nodes(100)
    jobs = [
        running(str(i), f"n{i % 100 + 1}", 2, user=1 + i % 3, ran=60 * (i % 37 + 1)) for i in range(300)
    ] + [running(f"w{i}", two_on(f"n{i + 1}", f"n{i + 51}", cpu=2), user=2, ran=500 + i) for i in range(50)]
    decision = decide(*jobs, pending(request=on_nodes(40, 6), user=0), nodes=places)
    assert decision.action is PREEMPT
    world = naive.World(snapshot(jobs, places))
    victims = set(stopped(decision))
    assert world.fits(on_nodes(40, 6), victims)
    for victim in victims:
        assert not world.fits(on_nodes(40, 6), victims - {victim})
    low = {job.id for job in jobs if job.user_level == 3}
    low_and_middle = {job.id for job in jobs if job.user_level != 1}
    assert not world.fits(on_nodes(40, 6), low)
    assert world.fits(on_nodes(40, 6), low_and_middle)
    assert victims <= low_and_middle


@settings(max_examples=150, deadline=None)
@given(crowded(spanning=False, most_pending=1))
def test_without_wide_jobs_the_nodes_that_cost_least_together_are_taken(made: Snapshot) -> None:
    """Against every choice of nodes: no job holds two nodes, so each node has its own price."""
    (job,) = (job for job in made.jobs if job.state is JobState.PENDING)
    count = min(2, len(made.nodes))
    request = (
        Request(nodes=count, per_node=job.request.per_node or job.request.spread) if job.request else None
    )
    assert request is not None
    again = Snapshot(
        made.now,
        made.partition,
        made.nodes,
        tuple(other if other is not job else _asking(job, request) for other in made.jobs),
    )
    (decision,) = plan(again).decisions
    if decision.action is not PREEMPT:
        return
    urgent = job_of(again, job.id)
    world = naive.World(again)
    prices = {place.name: _price(world, urgent, place.name) for place in again.nodes}
    possible = [
        sum_of(chosen)
        for chosen in combinations([price for price in prices.values() if price is not None], count)
    ]
    victims = [job_of(again, victim) for victim in stopped(decision)]
    assert cost(again, urgent, victims) == min(possible)


def _asking(job: SnapshotJob, request: Request) -> SnapshotJob:
    return replace(job, request=request)


def _price(world: naive.World, job: SnapshotJob, name: str) -> Cost | None:
    """The cost of room on one node: the first to go there, then given back from the most valuable."""
    made = world.snapshot
    request = (
        Request(nodes=1, per_node=job.request.per_node, only_nodes=frozenset({name})) if job.request else None
    )
    assert request is not None
    order = sorted(
        (other for other in naive.stoppable(made, job) if name in other.alloc),
        key=lambda other: (
            *naive.class_of(made.partition, job, other),
            harm(made, other),
            int(other.id),
        ),
    )
    if not world.fits(request, [other.id for other in order]):
        return None
    kept = list(order)
    for other in reversed(order):
        rest = [each for each in kept if each is not other]
        if world.fits(request, [each.id for each in rest]):
            kept = rest
    return cost(made, job, kept)


def sum_of(costs: Sequence[Cost]) -> Cost:
    """Costs of different nodes together."""
    together: dict[tuple[int, int], tuple[int, int]] = {}
    for each in costs:
        for own_class, lost, count in each:
            before = together.get(own_class, (0, 0))
            together[own_class] = (before[0] + lost, before[1] + count)
    return [(own_class, *together[own_class]) for own_class in sorted(together, reverse=True)]


def test_modes_work_alike_on_several_nodes() -> None:
    jobs = [
        running("first", "n1", 8, user=3, task=0),
        running("second", "n2", 8, user=1, task=3),
        running("high", "n3", 8, user=0, task=3),
    ]
    urgent = pending(request=on_nodes(2, 4), user=1, task=1)
    assert stopped(decide(*jobs, urgent, nodes=nodes(3), mode=Mode.USER_THEN_TASK)) == ["first", "second"]
    assert stopped(decide(*jobs, urgent, nodes=nodes(3), mode=Mode.USER)) == []
    assert stopped(decide(*jobs, urgent, nodes=nodes(3), mode=Mode.TASK)) == ["high", "second"]
