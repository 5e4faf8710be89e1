"""Streams of arriving jobs: seeded, and with a state of two numbers so that they can be stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.state import SimState, StreamState
from scheduler.adapters.simulator.submission import accepts, submit

NEVER = 2**62
MORNING_H, EVENING_H = 6, 22


@dataclass(frozen=True, slots=True)
class Stream:
    """Jobs that arrive by themselves.

    `gaps`: seconds before the first arrival, between it and the second, and so on; then, for ever, a random
    number between the two of `then` (None: no more), by night (22 to 6 h UTC) of `night`, where it is given. `make`
    says what arrives the nth time (n counts from 0).
    """

    make: Callable[[Random, SimState, int], Sequence[JobSpec]]
    gaps: tuple[int, ...] = ()
    then: tuple[int, int] | None = None
    night: tuple[int, int] | None = None

    def gap(self, rng: Random, count: int, now: int) -> int:
        """Seconds from one arrival to the next, at least 1; `NEVER` after the last."""
        if count < len(self.gaps):
            return max(1, self.gaps[count])
        between = self.night if self.night and is_night(now) else self.then
        return NEVER if between is None else max(1, rng.randint(*between))


def is_night(now: int) -> bool:
    """Whether the simulated people sleep: 22 to 6 h UTC."""
    return not MORNING_H <= now // 3600 % 24 < EVENING_H


def open_streams(state: SimState, streams: Mapping[str, Stream]) -> None:
    """Set the first arrival of streams that the state does not know yet."""
    for name, stream in streams.items():
        if name not in state.streams:
            state.streams[name] = StreamState(0, state.now + stream.gap(_rng(state, name, 0), 0, state.now))


def next_arrival(state: SimState) -> int | None:
    """When the next jobs arrive."""
    return min((stream.next_at for stream in state.streams.values() if stream.next_at < NEVER), default=None)


def arrive(state: SimState, streams: Mapping[str, Stream]) -> None:
    """Submit what is due now."""
    for name, stream in streams.items():
        own = state.streams[name]
        if own.next_at > state.now:
            continue
        rng = _rng(state, name, own.count)
        for spec in stream.make(rng, state, own.count):
            if accepts(state, spec):
                submit(state, spec)
        own.count += 1
        own.next_at = state.now + stream.gap(rng, own.count, state.now)


def _rng(state: SimState, name: str, count: int) -> Random:
    # A generator of its own for each arrival: nothing but the count has to be stored.
    return Random(f"{state.seed}/{name}/{count}")  # noqa: S311 (nothing secret here)
