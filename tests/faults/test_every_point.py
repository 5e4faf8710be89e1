"""A death, a pause or a rival at every step of a plan: at most one stop, no plan lost, nobody held for ever.

The long form tells more stories. `GIVEWAY_FAULTS_PAIRS=all` kills at every pair of points, `GIVEWAY_FAULTS_SEED` draws
other ones.
"""

import os
import random

import pytest

from console.core.failpoints import CYCLE
from tests.faults.conftest import LONG, nothing_was_lost
from tests.faults.harness import KILLED, Harness, Told
from tests.faults.worlds import WORLDS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

KILLED_ONCE = "worker killed once, at each point of each story"
SHORT_PAIRS, LONG_PAIRS = 4, 200
SHORT_POINTS = 5


def new_in(harness: Harness, world: str) -> list[str]:
    """The points of a story that no story before it has."""
    names = list(WORLDS)
    before = {point for name in names[: names.index(world)] for point in harness.undisturbed(name)}
    return [point for point in harness.undisturbed(world) if point not in before]


def test_the_stories_reach_every_point(harness: Harness) -> None:
    assert {point for world in WORLDS for point in harness.undisturbed(world)} == set(CYCLE)


@pytest.mark.parametrize("world", WORLDS)
def test_killed_at_each_point_and_started_again(harness: Harness, world: str, long_form: bool) -> None:
    points = harness.undisturbed(world) if long_form else new_in(harness, world)
    told = [
        (f"{world}, killed at {point}, {asleep_s} s away", harness.tell(world, [point], asleep_s))
        for point in points
        for asleep_s in ((3, 40) if long_form and world == "room" else (3,))
    ]
    assert all(story.ends == [KILLED, 0] for _, story in told) or any(story.verdict for _, story in told)
    nothing_was_lost(KILLED_ONCE, told, sum(story.deaths for _, story in told))


@pytest.mark.parametrize(
    "world",
    [
        "array",
        "array_undone",
        "whole",
        "whole_over",
        "elastic",
        "elastic_undone",
        "restart",
        "restart_undone",
        "inplace",
        "regrow",
        "regrow_undone",
        "exchange",
    ],
)
def test_a_plan_for_several_or_by_parts_whose_worker_is_killed(
    harness: Harness, world: str, long_form: bool
) -> None:
    """One plan for several tasks, at each of its own steps: no task is lost, held for ever, or stopped twice."""
    points = acts(harness, world)
    if not long_form:
        around = [point for point in points if point.endswith((".claimed", ".applied"))]
        points = random.Random(seed()).sample(around, min(SHORT_POINTS, len(around)))
    told = [(f"{world}, killed at {point}", harness.tell(world, [point])) for point in points]
    assert all(story.ends == [KILLED, 0] for _, story in told) or any(story.verdict for _, story in told)
    nothing_was_lost(KILLED_ONCE, told, sum(story.deaths for _, story in told))


@pytest.mark.parametrize("part", range(4))
def test_killed_twice(harness: Harness, part: int, long_form: bool) -> None:
    pairs = [
        (world, first, second)
        for world in (("room", "undone") if long_form else ("room",))
        for first in acts(harness, world)
        for second in acts(harness, world)
    ]
    if os.environ.get("GIVEWAY_FAULTS_PAIRS") != "all":
        pairs = random.Random(seed()).sample(pairs, LONG_PAIRS if long_form else SHORT_PAIRS)
    told = [
        (f"{world}, killed at {first}, then at {second}", harness.tell(world, [first, second]))
        for world, first, second in pairs[part::4]
    ]
    nothing_was_lost("worker killed twice, at pairs of points", told, sum(story.deaths for _, story in told))


def seed() -> int:
    """Draws the same points every time, unless it is told otherwise."""
    return int(os.environ.get("GIVEWAY_FAULTS_SEED", "7"))


def acts(harness: Harness, world: str) -> list[str]:
    """The points around the side effects."""
    return [
        point for point in harness.undisturbed(world) if point.startswith(("act.", "cycle.rec", "cycle.ver"))
    ]


@pytest.mark.parametrize("world", ["room", "undone", "quota"] if LONG else ["room"])
def test_paused_until_another_worker_has_done_it_all(harness: Harness, world: str, long_form: bool) -> None:
    """A machine that stood still wakes up with what it had claimed: it must not do it then.

    Inside a transaction it would hold SQLite's lock, so that nobody else could do anything meanwhile, which is safe.
    """
    points = [point for point in harness.undisturbed(world) if not point.endswith("ing")]  # see below
    if not long_form:
        points = [point for point in points if point.endswith(".claimed")]
    told = [(f"{world}, paused at {point}", harness.interrupted(world, point)) for point in points]
    nothing_was_lost("worker paused until its lease ran out, then continued", told, len(told))


@pytest.mark.parametrize("world", WORLDS if LONG else ["room", "undone"])
def test_two_workers_at_once(harness: Harness, world: str, long_form: bool) -> None:
    told: list[tuple[str, Told]] = [
        (f"{world}, {size} workers", harness.crowd(world, size)) for size in ((2, 3) if long_form else (2,))
    ]
    nothing_was_lost("two or three workers at once", told, len(told))


@pytest.mark.parametrize("hours", [-1, 1])
def test_clocks_an_hour_apart(harness: Harness, hours: int, long_form: bool) -> None:
    """The worker's clock against the cluster's: grace, deadlines, limits and releases go by one of them each."""
    told = []
    for world in WORLDS if long_form else ("room", "limits"):
        deaths = [[], *([point] for point in acts(harness, world)[::4])] if long_form else [[]]
        told += [
            (f"{world}, {hours} h, {death}", harness.tell(world, death, skew_s=3600 * hours))
            for death in deaths
        ]
    nothing_was_lost("clocks of worker and cluster an hour apart", told, len(told))
