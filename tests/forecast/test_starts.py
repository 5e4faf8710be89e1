"""Starts of waiting jobs: against a plain, slow oracle, and what must hold of every answer."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.forecast.draws import TimeLine, drawn
from scheduler.forecast.facts import Forecast
from scheduler.forecast.starts import (
    Queue,
    RunningShare,
    TriedStart,
    WaitingRequest,
    forecast_starts,
    forecast_with_trials,
    sure,
)

SECONDS = TimeLine(np.arange(400.0))
WIDE = Forecast(400, 1000, 3000, 200, 6000)


def request(name: str, nodes: int = 1, gpus: int = 1, run_s: float = 10, **fields: object) -> WaitingRequest:
    return WaitingRequest(name, nodes, (gpus,), sure(run_s), **fields)  # type: ignore[arg-type]


def starts(queue: Queue) -> list[float | None]:
    return [each.p50 for each in forecast_starts(queue, draws=3, line=SECONDS)]


def oracle(queue: Queue) -> list[float | None]:
    """Second by second, node by node, one job after the other."""
    room = np.zeros((len(queue.free), 4000), int)
    for node, (free,) in enumerate(queue.free):
        room[node] = free
    for job in queue.running:
        for node in job.nodes:
            room[node, int(job.left.p50) :] += job.holds[0]
    found: list[float | None] = []
    for asked in queue.waiting:
        start = None
        for at in range(399):
            span = slice(at, at + int(asked.run.p50))
            fitting = [
                node
                for node in range(len(room))
                if (asked.among is None or node in asked.among) and room[node, span].min() >= asked.wants[0]
            ]
            if len(fitting) >= asked.nodes:
                tight = sorted(fitting, key=lambda node: (room[node, at], node))[: asked.nodes]
                for node in tight:
                    room[node, span] -= asked.wants[0]
                start = float(at)
                break
        found.append(start)
    return found


@st.composite
def queues(draw: st.DrawFn) -> Queue:
    count = draw(st.integers(1, 4))
    free = [[draw(st.integers(0, 4))] for _ in range(count)]
    running = []
    for _ in range(draw(st.integers(0, 5))):
        node = draw(st.integers(0, count - 1))
        running.append(RunningShare((node,), (draw(st.integers(1, 3)),), sure(draw(st.integers(1, 60)))))
    waiting = [
        WaitingRequest(
            str(number),
            draw(st.integers(1, count)),
            (draw(st.integers(1, 4)),),
            sure(draw(st.integers(1, 30))),
            draw(st.none() | st.frozensets(st.integers(0, count - 1), min_size=1)),
        )
        for number in range(draw(st.integers(1, 6)))
    ]
    return Queue([tuple(each) for each in free], running, waiting)


@settings(max_examples=150, deadline=None)
@given(queues())
def test_small_queues_start_as_a_plain_search_says(queue: Queue) -> None:
    assert starts(queue) == oracle(queue)


def test_the_first_is_not_delayed_and_short_jobs_pass_where_they_end_in_time() -> None:
    running = [RunningShare((0,), (4,), sure(50))]
    free = [(0,), (4,)]
    queue = Queue(
        free, running, [request("wide", 2, 4), request("long", 1, 4, 60), request("short", 1, 4, 50)]
    )
    assert starts(queue) == [50, 60, 0]


def test_kept_nodes_are_for_their_job_and_for_those_who_end_in_time() -> None:
    running = [RunningShare((0,), (1,), sure(30))]
    waiting = [request("small", run_s=40), request("brief", run_s=20), request("great", 2)]
    queue = Queue([(0,), (1,)], running, waiting, {"great": frozenset({0, 1})})
    assert starts(queue) == [40, 0, 30]


def test_a_job_stays_on_one_node_to_its_end() -> None:
    """At each moment some node has room: first one, then the other."""
    running = [RunningShare((1,), (1,), sure(10))]
    later = request("later", among=frozenset({0}), after_s=10, run_s=50)
    assert starts(Queue([(1,), (0,)], running, [later, request("whole", run_s=20)])) == [10, 10]


def test_nobody_starts_who_never_fits_or_before_his_time() -> None:
    queue = Queue([(2,)], [], [request("large", gpus=3), request("two", nodes=2), request("at", after_s=70)])
    assert starts(queue) == [None, None, 70]


def test_the_interval_follows_what_is_not_known_and_names_nodes() -> None:
    queue = Queue([(0,), (1,)], [RunningShare((0,), (1,), WIDE)], [request("a"), request("b", 2, run_s=500)])
    here, later = forecast_starts(queue, draws=40)
    assert (here.low, here.p50, here.high, here.nodes) == (0, 0, 0, (1,))
    assert later.low is not None and later.p50 is not None and later.high is not None
    assert 120 < later.low < 500 < later.p50 < 1500 < later.high < 8000
    assert sorted(later.nodes) == [0, 1]
    assert forecast_starts(queue, draws=40) == [here, later]
    assert forecast_starts(queue, draws=40, seed=1) != [here, later]


def test_draws_keep_what_the_forecast_promises() -> None:
    values = np.sort(drawn([WIDE], 1000, np.random.default_rng(0))[0])
    assert np.quantile(values, [0.05, 0.1, 0.5, 0.9, 0.95]).tolist() == [
        pytest.approx(value, rel=0.02) for value in (200, 400, 1000, 3000, 6000)
    ]


def test_time_is_neither_won_nor_lost_between_moments() -> None:
    line, chance = TimeLine(), np.random.default_rng(0).random(20_000)
    placed = line.moments[line.place(np.full(20_000, 40_000.0), chance)]
    assert abs(placed.mean() - 40_000) < 60


def tried(queue: Queue, *trials: TriedStart) -> list[float | None]:
    waiting, found = forecast_with_trials(queue, trials, draws=3, line=SECONDS)
    assert [each.p50 for each in waiting] == starts(queue), "nobody is delayed by what is only tried"
    return [each.p50 for each in found]


def test_what_is_tried_starts_as_it_would_at_its_place_in_line() -> None:
    # One node of four: half is free at 10, all at 30. Two wait, each for all of it, for 10 s.
    queue = Queue(
        [(0,)], [RunningShare((0,), (2,), sure(10)), RunningShare((0,), (2,), sure(30))],
        [request("1", gpus=4), request("2", gpus=4)],
    )  # fmt: skip
    assert starts(queue) == [30, 40]
    behind, first, short = (TriedStart(request("", gpus=4), 2), TriedStart(request("", gpus=4), 0),
                            TriedStart(request("", gpus=2, run_s=20), 2))  # fmt: skip
    assert tried(queue, behind, first, short) == [50, 30, 10]
    assert tried(queue, TriedStart(request("", gpus=2, run_s=21), 2)) == [50], (
        "it would delay those before it"
    )


def test_instead_of_a_job_it_runs_as_long_but_no_longer_than_it_may() -> None:
    queue = Queue(
        [(0,)], [RunningShare((0,), (1,), sure(10)), RunningShare((0,), (1,), sure(60))],
        [request("1", gpus=2), request("2", run_s=55)],
    )  # fmt: skip
    assert starts(queue) == [60, 70]
    smaller = TriedStart(request("2", run_s=50), 1, instead_of=1)
    assert tried(queue, smaller, TriedStart(request("2", run_s=60), 1, instead_of=1)) == [10, 70]


def test_a_queue_in_which_nobody_waits_can_be_asked() -> None:
    queue = Queue([(0,)], [RunningShare((0,), (2,), sure(10))], [])
    assert tried(queue, TriedStart(request("", gpus=2), 0), TriedStart(request("", gpus=3), 0)) == [10, None]


@given(queues())
@settings(deadline=None)
def test_behind_all_it_starts_as_if_it_waited_there(queue: Queue) -> None:
    last = request("last", run_s=7)
    longer = replace(queue, waiting=[*queue.waiting, last])
    assert tried(queue, TriedStart(last, len(queue.waiting))) == starts(longer)[-1:]


def test_what_ends_in_seconds_is_not_said_to_end_in_a_minute() -> None:
    left = Forecast(5, 7, 10, 4, 12)
    queue = Queue(((0,),), [RunningShare((0,), (1,), left)], [request("j")])
    (said,) = forecast_starts(queue)
    assert (said.low, said.p50, said.high) == (5, 5, 20)
