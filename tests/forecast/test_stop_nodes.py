"""The hour node by node: who finds no room on one node stops somebody, however much is free on others."""

import hashlib
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.stop_hour import made, placed
from scheduler.forecast.starts import sure
from scheduler.forecast.stop_hour import Arrival, HourStart, RiskPicture, Runner, StopHour, Waiter
from scheduler.forecast.stop_risk import MOST_ON_NODES, PastHours, stop_chances

LOW, MIDDLE, HIGH = 0, 1, 2
OUTRANKS = {LOW: frozenset[int](), MIDDLE: frozenset({LOW}), HIGH: frozenset({LOW, MIDDLE})}
LONG = 10**6


def on(
    *places: tuple[int, int], rank: int = LOW, left: int = LONG, ran_s: int = 0, safe_s: int | None = 0
) -> Runner:
    """A running job, by the nodes and the units that it holds there."""
    return Runner(rank, sum(units for _, units in places), sure(left), ran_s, safe_s, places)


def comes(units: int, nodes: int = 1, at_s: int = 10, rank: int = HIGH, lasts_s: int = LONG) -> Arrival:
    return Arrival(at_s, rank, units, lasts_s, nodes)


def stopped(nodes: list[int], *running: Runner, coming: tuple[Arrival, ...], **keys: object) -> list[int]:
    """Who is stopped in an hour that is known in full; `nodes`: what is free on each."""
    now = RiskPicture(running, sum(nodes), **{"waiting": (), "outranks": OUTRANKS, "nodes": nodes, **keys})  # type: ignore[arg-type]
    lefts, lasts = ([int(job.p50) for job in jobs] for jobs in (
        [job.left for job in now.running], [job.lasts for job in now.waiting]))  # fmt: skip
    return sorted(StopHour(HourStart(now), lefts, lasts, coming).stopped())


def test_what_is_free_on_many_nodes_is_no_room_for_who_wants_one_of_them() -> None:
    running = [on((node, 7), ran_s=100 - node) for node in range(8)]
    assert stopped([1] * 8, *running, coming=(comes(8),)) == [7], (
        "eight are free, and the cheapest node is made empty"
    )
    assert stopped([1] * 8, *running, coming=(comes(8, nodes=8),)) == []
    assert stopped([1] * 8, *running, coming=(comes(1),)) == []


def test_the_cheapest_node_is_where_the_most_valuable_victim_is_worth_least() -> None:
    mixed = [on((0, 4)), on((0, 4), rank=MIDDLE), on((1, 8), ran_s=9000)]
    assert stopped([0, 0], *mixed, coming=(comes(8),)) == [2]
    assert stopped([0, 0], *mixed, coming=(comes(4),)) == [0], "half a node can be had from the first"


def test_nodes_are_taken_until_there_are_enough_and_nobody_is_stopped_where_there_are_too_few() -> None:
    running = [on((0, 4)), on((1, 4), ran_s=5), on((2, 4), rank=HIGH)]
    assert stopped([0, 0, 0], *running, coming=(comes(8, nodes=2),)) == [0, 1]
    assert stopped([0, 0, 0], *running, coming=(comes(12, nodes=3),)) == []
    assert stopped([0, 0, 4], *running[:2], coming=(comes(8, nodes=2),)) == [0], "a free node costs nothing"


def test_a_job_on_several_nodes_gives_room_on_all_of_them() -> None:
    running = [on((0, 4), (1, 4)), on((2, 4), ran_s=900), on((3, 4), ran_s=999)]
    assert stopped([0] * 4, *running, coming=(comes(8, nodes=2),)) == [0]


def test_who_has_become_needless_on_the_way_to_many_nodes_is_not_stopped() -> None:
    running = [on((0, 4)), on((1, 4), (2, 4), (3, 4), ran_s=50)]
    assert stopped([0] * 4, *running, coming=(comes(12, nodes=3),)) == [1], "three nodes come at once"
    assert stopped([0] * 4, *running, coming=(comes(16, nodes=4),)) == [0, 1]


def test_who_comes_takes_the_tightest_room_and_who_is_stopped_takes_what_is_left() -> None:
    running = [on((0, 6)), on((1, 4), ran_s=500)]
    coming = (comes(2, rank=LOW), comes(8, at_s=20))
    # The low one went to the first node; both on it have run less than the one on the second.
    assert stopped([2, 4], *running, coming=coming) == [1]
    assert stopped([2, 4], *running, coming=(coming[1],)) == [0]


def test_who_ends_leaves_room_and_who_waits_is_placed_first() -> None:
    running = [on((0, 8), left=100), on((1, 8), ran_s=50)]
    assert stopped([0, 0], *running, coming=(comes(8, at_s=200),)) == []
    waits = (Waiter(HIGH, 8, sure(LONG)),)
    assert stopped([0, 0], *running, coming=(comes(8, at_s=200),), waiting=waits) == [0, 1]


@pytest.mark.parametrize(
    ("seed", "count", "digest"),
    [
        (0, 54, "6468ca63677c"),
        (1, 50, "8ece4105fa79"),
        (3, 47, "fd8909cde0f4"),
        (7, 35, "d5132bd980f9"),
        (10, 57, "b3bef5220054"),
        (19, 58, "979f51e228cc"),
        (27, 48, "6cd340f41a5b"),
        (35, 60, "9519da4e9a9b"),
    ],
)
def test_who_is_stopped_on_made_nodes_is_who_was_when_it_was_written_down(
    seed: int, count: int, digest: str
) -> None:
    """Of an earlier form, in which the hour on nodes was another class than the hour in one pool."""
    picture, past = placed(*made(150, 40, seed))
    chance = random.Random(seed)
    nodes = len(picture.nodes)
    if seed % 3 == 1:
        picture = replace(picture, nodes=[chance.choice((0, 0, 0, 1, 2)) for _ in picture.nodes])
    if seed % 4 == 3:
        apart = [tuple((node, 1) for node in chance.sample(range(nodes), min(nodes, job.units)))
                 if chance.random() < 0.2 else job.on for job in picture.running]  # fmt: skip
        running = [replace(job, on=on) for job, on in zip(picture.running, apart, strict=True)]
        picture = replace(picture, running=running)
    lefts = [chance.randrange(1, 9000) for _ in picture.running]
    lasts = [chance.randrange(1, 9000) for _ in picture.waiting]
    start = HourStart(picture)
    for _ in range(2):  # one draw leaves nothing behind for the next
        found = sorted(StopHour(start, lefts, lasts, past.hours[seed]).stopped())
        assert (len(found), hashlib.sha256(str(found).encode()).hexdigest()[:12]) == (count, digest)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_on_nodes_of_one_unit_the_hour_is_that_of_one_pool(seed: int) -> None:
    """Jobs hold many nodes there, and who comes wants many."""
    chance = random.Random(seed)
    picture, past = made(chance.choice((5, 40)), chance.choice((0, 12)), seed)
    alike = [replace(job, ran_s=job.ran_s // 30_000) for job in picture.running]
    picture = replace(picture, running=alike, free=chance.choice((0, 0, 5)))
    lefts = [chance.randrange(1, 9000) for _ in picture.running]
    lasts = [chance.randrange(1, 9000) for _ in picture.waiting]
    coming = past.hours[seed % 100]
    pool = StopHour(HourStart(picture), lefts, lasts, coming).stopped()
    running, first = [], picture.free
    for job in picture.running:
        running.append(replace(job, on=tuple((first + unit, 1) for unit in range(job.units))))
        first += job.units
    spread = replace(
        picture,
        running=running,
        waiting=[replace(job, nodes=job.units) for job in picture.waiting],
        nodes=[1] * picture.free + [0] * (first - picture.free),
    )
    coming = [replace(each, nodes=each.units) for each in coming]
    assert StopHour(HourStart(spread), lefts, lasts, coming).stopped() == pool


def test_chances_are_drawn_on_the_nodes_where_these_are_known_and_jobs_are_few() -> None:
    past = PastHours([(comes(8, at_s=1800),)] * 500)
    running = [on((node, 7)) for node in range(8)]
    now = RiskPicture(running, 8, (), OUTRANKS, nodes=[1] * 8)
    somebody = 1 - (2 / 3) ** 3
    assert stop_chances(now, past, draws=500)[0] == pytest.approx(somebody, abs=0.06)
    assert stop_chances(replace(now, nodes=()), past, draws=500).max() == pytest.approx(
        (1 / 3) ** 2 * 7 / 3, abs=0.06
    )
    many = [on((node % 8, 0)) for node in range(MOST_ON_NODES)]
    crowd = replace(now, running=[*running, *many])
    assert stop_chances(crowd, past, draws=40)[0] < somebody / 2, "in one pool, which costs less"
