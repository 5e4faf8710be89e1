"""Starts of waiting jobs: against a plain, slow oracle, and what must hold of every answer."""

from dataclasses import dataclass, replace
from math import inf

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
    _said,
    forecast_starts,
    forecast_with_trials,
    sure,
)

SECONDS = TimeLine(np.arange(300.0))
WIDE = Forecast(400, 1000, 3000, 200, 6000)


def request(name: str, nodes: int = 1, gpus: int = 1, run_s: float = 10, **fields: object) -> WaitingRequest:
    return WaitingRequest(name, nodes, (gpus,), sure(run_s), **fields)  # type: ignore[arg-type]


def starts(queue: Queue) -> list[float | None]:
    return [each.p50 for each in forecast_starts(queue, draws=1, line=SECONDS)]


@dataclass
class Held:
    """What runs, as the oracle knows it: when it ends, and when the scheduler counts on that."""

    nodes: tuple[int, ...]
    gpus: int
    end: float
    planned: float


class Oracle:
    """Second by second, node by node, one job after the other, without any memory but of who runs."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.held = [
            Held(
                job.nodes,
                job.holds[0],
                job.left.p50,
                job.left.p50 if job.planned_s is None else job.planned_s,
            )
            for job in queue.running
        ]
        gone = [[held for held in self.held if node in held.nodes] for node in range(len(queue.free))]
        self.size = [
            free + sum(held.gpus for held in all_) for (free,), all_ in zip(queue.free, gone, strict=True)
        ]
        kept = [job for job in queue.waiting if job.id in queue.kept]
        self.line = [*kept, *(job for job in queue.waiting if job.id not in queue.kept)]
        self.started: dict[str, float] = {}

    def starts(self) -> list[float | None]:
        for now in range(299):
            self.held = [held for held in self.held if held.end > now]
            self.look(now)
        return [self.started.get(job.id) for job in self.queue.waiting]

    def look(self, now: int) -> None:
        kept_from = [inf] * len(self.size)
        kept_to = [0.0] * len(self.size)
        lines: set[object] = set()
        for job in self.line:
            if job.id in self.started or job.after_s > now:
                continue
            among = self.queue.kept.get(job.id, job.among)
            planned = job.run.p50 if job.planned_s is None else job.planned_s
            may = [n for n in range(len(self.size)) if (among is None or n in among)]
            free = [n for n in may if self.free(n, now) >= job.wants[0] and kept_from[n] >= now + planned]
            if len(free) >= job.nodes:
                nodes = sorted(free, key=lambda n: (self.free(n, now), n))[: job.nodes]
                self.started[job.id] = float(now)
                self.held.append(Held(tuple(nodes), job.wants[0], now + job.run.p50, now + planned))
            elif (line := job.id if job.id in self.queue.kept else ("line", job.line)) not in lines:
                at = {n: max(self.fits_at(n, job.wants[0], now), kept_to[n]) for n in may}
                first = sorted((t, n) for n, t in at.items() if t < inf)
                if len(first) < job.nodes:
                    continue
                begins = max(float(now), first[job.nodes - 1][0])
                lines.add(line)
                for _, n in [each for each in first if each[0] <= first[job.nodes - 1][0]][-job.nodes :]:
                    kept_from[n], kept_to[n] = min(kept_from[n], begins), begins + planned

    def free(self, node: int, at: float, *, counted_on: bool = False) -> int:
        ends = [(held.planned if counted_on else held.end, held) for held in self.held if node in held.nodes]
        return self.size[node] - sum(held.gpus for end, held in ends if end > at)

    def fits_at(self, node: int, gpus: int, now: int) -> float:
        if self.free(node, now) >= gpus:
            return 0
        ends = sorted(held.planned for held in self.held if node in held.nodes)
        return next((end for end in ends if self.free(node, end, counted_on=True) >= gpus), inf)


def oracle(queue: Queue) -> list[float | None]:
    return Oracle(queue).starts()


@st.composite
def queues(draw: st.DrawFn) -> Queue:
    count = draw(st.integers(1, 4))
    free = [[draw(st.integers(0, 4))] for _ in range(count)]
    running = []
    for _ in range(draw(st.integers(0, 5))):
        nodes = draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=2))
        left = draw(st.integers(1, 60))
        planned = draw(st.none() | st.integers(left, 90))
        running.append(RunningShare(tuple(sorted(nodes)), (draw(st.integers(1, 3)),), sure(left), planned))
    waiting = [request_drawn(draw, str(number), count) for number in range(draw(st.integers(1, 6)))]
    kept = {}
    if draw(st.booleans()):
        nodes = draw(st.sets(st.integers(0, count - 1), min_size=waiting[-1].nodes))
        kept[waiting[-1].id] = frozenset(nodes)
    return Queue([tuple(each) for each in free], running, waiting, kept)


def request_drawn(draw: st.DrawFn, name: str, count: int) -> WaitingRequest:
    run = draw(st.integers(1, 30))
    return WaitingRequest(
        name,
        draw(st.integers(1, count)),
        (draw(st.integers(1, 4)),),
        sure(run),
        draw(st.none() | st.frozensets(st.integers(0, count - 1), min_size=1)),
        draw(st.sampled_from((0.0, 0.0, 5.0))),
        draw(st.none() | st.integers(run, 60)),
        draw(st.sampled_from(("a", "b"))),
    )


@settings(max_examples=80, deadline=None)
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


def test_who_is_to_begin_later_stands_in_nobodys_way() -> None:
    later = request("later", after_s=10, run_s=50)
    assert starts(Queue([(1,)], [], [later, request("whole", run_s=20)])) == [20, 0]


def test_who_may_pass_is_decided_by_limits_and_not_by_how_long_it_runs() -> None:
    """Half the node is free. The first waits for all of it; the next ends in time, but its limit does not say so."""
    running = [RunningShare((0,), (2,), sure(20), planned_s=40)]
    great = request("great", gpus=4, planned_s=99)
    for limit, expected in ((41, 30), (40, 0)):
        asked = request("small", gpus=2, run_s=5, planned_s=limit)
        assert starts(Queue([(2,)], running, [great, asked])) == [20, expected], limit


def test_the_first_of_each_line_holds_a_reservation() -> None:
    running = [RunningShare((0,), (1,), sure(30))]
    waiting = [
        request("great", 2, 4, line="a", among=frozenset({2})), request("wide", 2, line="b"),
        request("long", run_s=40, line="b"), request("short", run_s=30, line="b"),
    ]  # fmt: skip
    assert starts(Queue([(0,), (1,), (0,)], running, waiting)) == [None, 30, 40, 0]


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


@pytest.mark.parametrize(("waiting", "draws"), [(1, 96), (40, 72), (100, 48)])
def test_the_shorter_the_queue_the_more_draws_are_played(waiting: int, draws: int) -> None:
    queue = Queue([(1,)] * waiting, [], [request(str(number)) for number in range(waiting)])
    assert len(forecast_starts(queue)[0].draws) == draws


def test_draws_keep_what_the_forecast_promises() -> None:
    values = np.sort(drawn([WIDE], 1000, np.random.default_rng(0))[0])
    assert np.quantile(values, [0.05, 0.1, 0.5, 0.9, 0.95]).tolist() == [
        pytest.approx(value, rel=0.02) for value in (200, 400, 1000, 3000, 6000)
    ]


def test_draws_keep_two_habits_apart_and_how_many_run_into_the_limit() -> None:
    """Half run for a minute, of the others nearly all to the limit of an hour: hardly any for a quarter of an hour."""
    inner = (60.0, 60.0, 61.0, 64.0, 3500.0, 3600.0, 3600.0)
    habits = Forecast(60, 61, 3600, 58, 3600, inner)
    values = drawn([habits, replace(habits, inner=())], 1000, np.random.default_rng(0)).clip(max=3600)
    known, plain = (np.mean((row > 120) & (row < 3000)) for row in values)
    assert known < 0.1 < 0.3 < plain
    assert np.mean(values[0] == 3600) == pytest.approx(0.3, abs=0.02)
    assert np.mean(values[0] <= 64) == pytest.approx(0.5, abs=0.02)


@given(st.lists(st.floats(1, 1e6), min_size=5, max_size=5).map(sorted), st.floats(1, 1e6))
def test_a_limit_cuts_every_part_of_a_forecast(marks: list[float], most: float) -> None:
    low, p10, p50, p90, high = marks
    cut = Forecast(p10, p50, p90, low, high, (p10, p50, p90)).at_most(most)
    values = (cut.low, cut.p10, cut.p50, cut.p90, cut.high)
    assert values == tuple(min(mark, most) for mark in marks)
    assert cut.inner == values[1:4]


def test_time_is_neither_won_nor_lost_between_moments() -> None:
    line, chance = TimeLine(), np.random.default_rng(0).random(20_000)
    placed = line.moments[line.place(np.full(20_000, 40_000.0), chance)]
    assert abs(placed.mean() - 40_000) < 60


def tried(queue: Queue, *trials: TriedStart) -> list[float | None]:
    waiting, found = forecast_with_trials(queue, trials, draws=1, line=SECONDS)
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
@settings(max_examples=40, deadline=None)
def test_behind_all_of_one_line_it_starts_as_if_it_waited_there(queue: Queue) -> None:
    last = request("last", run_s=7)
    one_line = [replace(job, line="", after_s=0) for job in queue.waiting]
    queue = replace(queue, waiting=one_line, kept={})
    longer = replace(queue, waiting=[*queue.waiting, last])
    assert tried(queue, TriedStart(last, len(queue.waiting))) == starts(longer)[-1:]


def test_what_ends_in_seconds_is_not_said_to_end_in_a_minute() -> None:
    left = Forecast(5, 7, 10, 4, 12)
    queue = Queue(((0,),), [RunningShare((0,), (1,), left)], [request("j")])
    (said,) = forecast_starts(queue)
    assert (said.low, said.p50, said.high) == (5, 5, 20)


def test_who_came_on_past_days_may_come_again_and_pass() -> None:
    """Half the node is free. Each day a short job came a second after this moment: one passes the great one again."""
    running = [RunningShare((0,), (2,), sure(20), planned_s=100)]
    waiting = [
        request("great", gpus=4, planned_s=99),
        request("next", gpus=2, run_s=5, planned_s=200, among=frozenset({0})),
    ]
    came = [(day * 86_400 - 1.0, request("", gpus=2, run_s=60, planned_s=90)) for day in (3, 2, 1)]
    queue = Queue([(2,)], running, waiting)
    assert starts(queue) == [20, 30]
    again = replace(queue, past=[(3 * 86_400.0, request("", gpus=9)), *came])
    assert starts(again) == [61, 71], "it comes at 1 and runs for a minute"
    assert starts(replace(queue, past=came[2:])) == [20, 30], "not yet a whole day is known"


def test_what_is_tried_changes_nothing_of_who_comes() -> None:
    chance = np.random.default_rng(3)
    ago = sorted(chance.uniform(0, 20 * 86_400, 400).tolist(), reverse=True)
    came = [
        (each, request("", gpus=2, run_s=float(chance.uniform(60, 20_000)), planned_s=100)) for each in ago
    ]
    running = [RunningShare((0,), (2,), WIDE, planned_s=20_000)]
    queue = Queue([(2,)], running, [request("great", gpus=4), request("b", gpus=2)], past=came)
    trials = [TriedStart(replace(request("", gpus=3), run=WIDE), 1)] * 3
    assert forecast_with_trials(queue, trials, draws=20)[0] == forecast_starts(queue, draws=20)


TWO_SIDED = Forecast(600, 660, 20_000, 540, 30_000)
"""Half of its draws are within some minutes of each other, the rest within many hours."""


def test_the_middle_stays_with_the_likelier_of_two_outcomes() -> None:
    queue = Queue([(0,)], [RunningShare((0,), (1,), TWO_SIDED, 1e5)], [request("1")])
    (said,) = forecast_starts(queue)
    draws = sorted(said.draws)
    assert said.p50 is not None and 540 <= said.p50 <= 720
    assert said.p50 in draws, "a start that was played"
    median = draws[(len(draws) - 1) // 2 + 1]
    near = [sum(abs(draw - each) <= 600 for draw in draws) for each in (said.p50, median)]
    assert near[0] >= near[1]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(1, 1e6), min_size=5, max_size=5).map(sorted), st.integers(1, 48))
def test_the_middle_is_within_the_interval(marks: list[float], draws: int) -> None:
    low, p10, p50, p90, high = marks
    left = Forecast(p10, p50, p90, low, high)
    queue = Queue(
        [(0,), (0,)], [RunningShare((n,), (1,), left, 2e6) for n in (0, 1)], [request("1", nodes=2)]
    )
    (said,) = forecast_starts(queue, draws=draws)
    assert said.p50 is not None and said.low is not None
    assert said.low <= said.p50 <= (inf if said.high is None else said.high)


@pytest.mark.parametrize("end_s", [10_000, 41_234, 100_000])
def test_of_a_short_queue_what_is_known_is_told_to_some_minutes(end_s: float) -> None:
    queue = Queue([(0,)], [RunningShare((0,), (1,), sure(end_s), 2 * end_s)], [request("1")])
    (said,) = forecast_starts(queue)
    assert said.low == pytest.approx(end_s, abs=600)
    assert said.p50 == pytest.approx(end_s, abs=600)
    assert said.high == pytest.approx(end_s, abs=600)


def test_the_line_of_time_is_finer_the_shorter_the_queue() -> None:
    lengths = [len(TimeLine.for_jobs(jobs)) for jobs in (1, 50, 100, 200, 300, 3000)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == lengths[1] > 4 * lengths[-2] and lengths[-2] == lengths[-1] == len(TimeLine())


def test_told_are_the_nodes_of_most_draws_near_the_middle() -> None:
    told = _said("1", np.array([300.0, 490.0, 500.0, 500.0, 500.0]), [(3,), (3,), (1,), (1,), (1,)])
    assert (told.p50, told.nodes) == (490.0, (1,)), "where the draw in the middle had the third node"
