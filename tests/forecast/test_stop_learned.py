"""What is learned of chances of being stopped: hardly worse than the base rate, better where there is more to know."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from scheduler.forecast.starts import sure
from scheduler.forecast.stop_figures import FIGURES, figures_of, node_chances
from scheduler.forecast.stop_learned import BASE, CORRECTED, ETA, LEARNED, StopLearner
from scheduler.forecast.stop_picture import Arrival, RiskPicture, Runner, Waiter
from scheduler.forecast.stop_risk import PastHours

LOW, HIGH = 0, 1
OUTRANKS = {LOW: frozenset[int](), HIGH: frozenset({LOW})}
LONG = sure(10**6)
DRAWS = 100
FEW = 12
"""Squares by which the mixture may be worse than the best that it mixes, where outcomes come many at a time."""


def figures_at(odds: float, **others: float) -> list[float]:
    row = [1.0, odds, max(0.0, odds + 2.2), *[0.0] * (FIGURES - 3)]
    for place, value in others.items():
        row[int(place[1:])] = value
    return row


def told(
    learner: StopLearner, drawn: list[float], base: float, figures: list[list[float]]
) -> tuple[np.ndarray, np.ndarray]:
    experts = learner.experts(base, drawn, np.array(figures))
    return learner.told(experts), experts


def test_at_first_it_is_what_was_drawn() -> None:
    learner = StopLearner()
    drawn = [0.02, 0.3, 0.8]
    odds = [float(np.log(chance / (1 - chance))) for chance in drawn]
    said, experts = told(learner, drawn, 0.0, [figures_at(each) for each in odds])
    assert experts[:, LEARNED] == pytest.approx(drawn)
    assert said == pytest.approx(drawn, rel=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_comes_it_is_hardly_worse_than_the_share_that_was_stopped_before(seed: int) -> None:
    """Chances that have nothing to do with what comes, and figures that have the less."""
    chance, learner = random.Random(seed), StopLearner()
    jobs = stopped = 0
    ours = base = drawn_ = 0.0
    for hour in range(300):
        rate = stopped / jobs if jobs else 0.0
        drawn = [chance.random() for _ in range(10)]
        figures = [
            figures_at(chance.gauss(0, 3), _4=chance.gauss(0, 2), _8=chance.gauss(0, 1)) for _ in drawn
        ]
        said, experts = told(learner, drawn, rate, figures)
        # The times change in the middle: what was learned before is wrong then.
        truth = [chance.random() < (0.03 if hour < 150 else 0.2) for _ in drawn]
        ours += float(((said - truth) ** 2).sum())
        base += float(((experts[:, BASE] - truth) ** 2).sum())
        drawn_ += float(((experts[:, CORRECTED] - truth) ** 2).sum())
        learner.came(np.array(figures), experts, truth)
        jobs, stopped = jobs + len(truth), stopped + sum(truth)
    assert ours < base + FEW
    assert ours < drawn_ / 2, "the drawn chances were no good, and are not heard"
    assert learner.shares[CORRECTED] < np.exp(-ETA)


def test_what_tells_more_is_learned() -> None:
    """Who is stopped is told by a figure alone; the drawn chance is the same for all."""
    chance, learner = random.Random(1), StopLearner()
    late: list[tuple[float, float]] = []
    for hour in range(400):
        figures = [figures_at(-2.2, _12=chance.choice((0.0, 4.0))) for _ in range(10)]
        said, experts = told(learner, [0.1] * 10, 0.1, figures)
        truth = [chance.random() < (0.4 if row[12] else 0.01) for row in figures]
        if hour >= 200:
            late += [(float(((said - truth) ** 2).sum()), float(((experts[:, BASE] - truth) ** 2).sum()))]
        learner.came(np.array(figures), experts, truth)
    ours, base = (sum(each) for each in zip(*late, strict=True))
    assert ours < 0.85 * base
    assert learner.shares[LEARNED] > 0.8


def test_a_larger_drawn_chance_is_never_a_smaller_one() -> None:
    """Not even where the smaller ones came true."""
    chance, learner = random.Random(2), StopLearner()
    for _ in range(200):
        drawn = [chance.random() for _ in range(20)]
        figures = [figures_at(float(np.log(each / (1 - each)))) for each in drawn]
        learner.came(np.array(figures), np.zeros((20, 3)), [chance.random() > each for each in drawn])
    rising = learner.learned(np.array([figures_at(odds) for odds in np.linspace(-6, 6, 50)]))
    assert (np.diff(rising) >= 0).all()


def test_it_is_the_same_whenever_it_is_kept_and_read_again() -> None:
    chance, whole, kept = random.Random(3), StopLearner(), StopLearner()
    for _ in range(20):
        figures = np.array([figures_at(chance.gauss(-2, 1), _3=chance.random()) for _ in range(5)])
        truth = [chance.random() < 0.2 for _ in range(5)]
        for learner in (whole, kept):
            learner.came(figures, learner.experts(0.1, [0.1] * 5, figures), truth)
        kept = StopLearner(json.loads(json.dumps(kept.state)))
    assert kept.state == whole.state
    assert kept.jobs == 100
    assert StopLearner({**whole.state, "version": 0}).state == StopLearner().state, (
        "another version is not read"
    )


def picture(*running: Runner, waiting: tuple[Waiter, ...] = (), nodes: tuple[int, ...] = ()) -> RiskPicture:
    return RiskPicture(running, sum(nodes), waiting, OUTRANKS, nodes=nodes)


def comes(units: int, nodes: int = 1, rank: int = HIGH) -> Arrival:
    return Arrival(100, rank, units, 5000, nodes)


def by_nodes(now: RiskPicture, *hour: Arrival) -> list[float]:
    return [float(each) for each in node_chances(now, [hour], np.ones(1))]


def test_who_wants_a_whole_node_takes_the_one_where_it_costs_least() -> None:
    old, young = Runner(LOW, 1, LONG, 900, 0, ((0, 1),)), Runner(LOW, 1, LONG, 20, 0, ((1, 1),))
    now = picture(old, young, nodes=(7, 7))
    first, second = by_nodes(now, comes(8))
    assert second == pytest.approx(1 - np.exp(-1)), "one such job comes in an hour, on average"
    assert 0 < first < second
    assert max(by_nodes(now, comes(7))) < second, "two nodes have room"
    assert by_nodes(now, comes(1)) == [0, 0], "one unit finds room"


def test_nobody_is_reached_who_is_spared_or_outranks_or_does_not_suffice() -> None:
    here = ((0, 1),)
    spared, higher = Runner(LOW, 1, LONG, 5, None, here), Runner(HIGH, 1, LONG, 5, 0, here)
    assert by_nodes(picture(spared, nodes=(7,)), comes(8)) == [0]
    assert by_nodes(picture(higher, nodes=(7,)), comes(8)) == [0]
    assert by_nodes(picture(Runner(LOW, 1, LONG, 5, 0, here), nodes=(5,)), comes(8)) == [0]
    assert by_nodes(picture(Runner(LOW, 1, LONG, 5, 0, here), nodes=()), comes(8)) == [0], (
        "nodes are not known"
    )


def test_who_is_next_has_less_room_ahead_and_figures_do_not_depend_on_the_scale() -> None:
    one = [Runner(LOW, 4, LONG, 900), Runner(LOW, 4, LONG, 20), Runner(HIGH, 4, LONG, 5)]
    now = RiskPicture(one, 0, (Waiter(HIGH, 4, LONG),), OUTRANKS)
    past = PastHours([(comes(400),)] * 30)
    first = figures_of(now, past, np.array([0.1, 0.4, 0.0]), DRAWS)
    assert first.shape == (3, FIGURES)
    assert first[1, 3] < first[0, 3], "the one that has run least is next"
    larger = replace(now, running=[replace(job, units=400) for job in one], waiting=[Waiter(HIGH, 400, LONG)])
    again = figures_of(larger, PastHours([(comes(40_000),)] * 30), np.array([0.1, 0.4, 0.0]), DRAWS)
    assert again == pytest.approx(first)
    assert figures_of(RiskPicture([], 0, (), OUTRANKS), past, np.zeros(0), DRAWS).shape == (0, FIGURES)
