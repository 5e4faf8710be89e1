"""The console on a simulated cluster, as in the tests of steering."""

from tests.steering.conftest import sim

__all__ = ["sim"]
