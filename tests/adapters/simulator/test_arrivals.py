"""Streams of arriving jobs: when they come, what chance depends on, and what does not stop them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

from scheduler.adapters.simulator.arrivals import Stream
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.state import SimState
from tests.adapters.simulator.builders import NOW, cluster, job


def _one_each_time(rng: Random, state: SimState, count: int) -> Sequence[JobSpec]:
    return [replace(job(1, name=f"{count}"), comment=str(rng.random()), partitions=("x",))]


def _with(streams: Mapping[str, Stream], seed: int = 0) -> SimulatedCluster:
    state = cluster().state
    state.seed = seed
    return SimulatedCluster(state, streams)


def _submitted(sim: SimulatedCluster) -> list[int]:
    return [found.submit - NOW for found in sim.state.jobs.values()]


def test_jobs_arrive_after_the_given_gaps_and_no_more() -> None:
    sim = _with({"fixed": Stream(_one_each_time, gaps=(5, 10, 100))})

    sim.advance(10_000)

    assert _submitted(sim) == [5, 15, 115]
    assert [found.spec.name for found in sim.state.jobs.values()] == ["0", "1", "2"]


def test_jobs_go_on_arriving_at_random_between_two_bounds() -> None:
    sim = _with({"random": Stream(_one_each_time, gaps=(3,), then=(20, 40))})

    sim.advance(3600)

    times = _submitted(sim)
    gaps = {later - earlier for earlier, later in pairwise(times)}
    assert times[0] == 3
    assert min(gaps) >= 20
    assert max(gaps) <= 40
    assert len(gaps) > 5


def test_chance_depends_on_the_seed_and_on_the_stream_alone() -> None:
    both = {name: Stream(_one_each_time, then=(10, 60)) for name in ("a", "b")}

    def history(streams: Mapping[str, Stream], seed: int) -> list[tuple[int, str]]:
        sim = _with(streams, seed)
        sim.advance(600)
        return [(found.submit, found.comment) for found in sim.state.jobs.values()]

    alone = history({"a": both["a"]}, 1)
    assert history({"a": both["a"]}, 1) == alone
    assert history({"a": both["a"]}, 2) != alone
    assert set(alone) < set(history(both, 1))


def test_a_closed_partition_turns_arrivals_away_without_stopping_the_stream() -> None:
    sim = _with({"fixed": Stream(_one_each_time, gaps=(5, 10, 100))})
    sim.set_partition_state("x", "DRAIN")
    sim.advance(10)
    sim.set_partition_state("x", "UP")
    sim.advance(10)

    assert _submitted(sim) == [15]


def test_while_the_cluster_sleeps_nobody_arrives() -> None:
    sim = _with({"fixed": Stream(_one_each_time, gaps=(5, 10))})
    sim.advance(2)
    sim.sleep(1000)

    sim.advance(2)
    assert _submitted(sim) == []
    sim.advance(100)
    assert _submitted(sim) == [1005, 1015]
