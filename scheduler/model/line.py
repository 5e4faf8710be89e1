"""A job's place in the scheduler's line, as the port tells it: at the front, where Giveway puts it, or its own.

A place is told as a priority on Slurm's scale, the higher the sooner. Only this module and adapters know its numbers.
"""

LOWEST = 2
"""A priority this low may be cut off: priority/multifactor gives no less than 1, priority/basic no less than 2."""


_HIGHEST = 4_294_967_293
"""The highest priority that scontrol takes. Slurm's priority/basic counts down from 4294901760: all of ours stay
above that."""
LEVELS = 20
NUMBERS = 160
"""How many levels on each axis, and numbers of one rank, keep apart at the front; others share a place."""
LAST_OF_FRONT = _HIGHEST - LEVELS * LEVELS * NUMBERS
"""The last place at the front: behind every `front()`, before every job that stands at its own place."""


def front(levels: tuple[int | None, int | None], number: int) -> int:
    """The place at the front for a job of these levels, the more important axis first; of one rank by `number`.

    None is no level: it goes last.
    """
    first, second = (LEVELS - 1 if level is None else min(level, LEVELS - 1) for level in levels)
    return _HIGHEST - (first * LEVELS + second) * NUMBERS - number % NUMBERS


def is_front(priority: int) -> bool:
    """Whether a job of this priority stands at the front, and not at its own place."""
    return priority >= LAST_OF_FRONT


def unniced(priority: int, nice: int) -> int:
    """The priority without its nice. Of a job with nothing to its name Slurm says 1 where it is 0."""
    return (priority if priority > 1 else 0) + nice
