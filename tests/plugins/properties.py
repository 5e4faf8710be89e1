"""Property tests try other examples every day, and the same ones all day long: their seed is the date (UTC).

It stands in pytest's header; `GIVEWAY_SEED=20261130 make test` tries the examples of that day again, on any machine.
Any other number will do too. Hypothesis' own `--hypothesis-seed` goes first.
"""

import os
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, settings

VARIABLE = "GIVEWAY_SEED"

# No test fails because the machine is slow: how long an example may take is pytest's time limit alone. The rest as
# Hypothesis has it, but that it would try the same examples for ever where CI is set.
_usual = settings.get_profile(settings.get_current_profile_name())
settings.register_profile(
    "any machine", _usual, deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # pytest-xdist hands its options on to its workers: they have the same seed, also after midnight.
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = _seed()


def pytest_report_header(config: pytest.Config) -> str:
    seed = config.option.hypothesis_seed
    return f"property tests: seed {seed} ({VARIABLE}={seed} tries the same examples again)"


def _seed() -> str:
    given = os.environ.get(VARIABLE, "")
    if not given:
        return f"{datetime.now(UTC):%Y%m%d}"
    if not (given.isascii() and given.isdigit()):
        raise pytest.UsageError(f"{VARIABLE} must be a whole number, not {given[:40]!r}")
    return given
