"""What a job gains and loses when it starts again on more nodes, its speed taken as proportional to its nodes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RestartWorth:
    """What a job gains by a restart on more nodes and what that costs it, in seconds until its end."""

    gain_s: int
    cost_s: int

    @property
    def pays(self) -> bool:
        """Whether it ends sooner."""
        return self.gain_s > self.cost_s


def restart_worth(has: int, gets: int, left_s: int, restart_s: int, unsaved_s: int = 0) -> RestartWorth:
    """Of a job on `has` nodes that would take `left_s` more seconds on them, and starts again on `gets`.

    `restart_s`: how long it does nothing. `unsaved_s`: how long it has worked, on `has`, since its checkpoint, which is
    done again on `gets`. The gain is rounded down, the cost up. Raises ValueError where it would not become larger.
    """
    if not 0 < has < gets:
        raise ValueError(f"from {has} to {gets} nodes it does not grow")
    gain = max(0, left_s) * (gets - has) // gets
    return RestartWorth(gain, restart_s + -(-unsaved_s * has // gets))
