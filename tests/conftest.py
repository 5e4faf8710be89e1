"""What every test may use: real servers, started for the purpose and gone afterwards.

Factories and builders are plain modules (tests/factories.py, tests/builders.py), imported where used.
"""

from hypothesis import HealthCheck, settings

# No test fails because the machine is slow: how long an example may take is pytest's time limit alone. The rest as
# Hypothesis has it: where CI is set, the same examples every time.
_usual = settings.get_profile(settings.get_current_profile_name())
settings.register_profile("any machine", _usual, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

pytest_plugins = [
    "tests.plugins.browser",
    "tests.plugins.private_slurm",
    "tests.plugins.slow_first",
    "tests.plugins.servers",  # before those that import it
    "tests.plugins.database",
]
