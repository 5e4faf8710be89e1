"""The console on a simulated cluster, as in tests of steering, or with a house full of rows, as in those of pages."""

from dataclasses import dataclass

import pytest

from tests.steering.conftest import sim
from tests.ui.conftest import house, house_of_the_module, signed_in

__all__ = ["house", "house_of_the_module", "signed_in", "sim"]


@dataclass
class Clocks:
    """Of the process, which tell it when something is due again: both stand still. `costs`: what is measured takes so
    many seconds of a processor."""

    now: float = 1000.0
    costs: float = 0.0
    spent: float = 0.0

    def spend(self) -> float:
        self.spent += self.costs
        return self.spent


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    found = Clocks()
    monkeypatch.setattr("console.core.duty_cycle.time.monotonic", lambda: found.now)
    monkeypatch.setattr("console.core.duty_cycle.time.thread_time", found.spend)
    return found
