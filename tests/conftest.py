"""What every test may use: real servers, started for the purpose and gone afterwards.

Factories and builders are plain modules (tests/factories.py, tests/builders.py), imported where used.
"""

pytest_plugins = [
    "tests.plugins.browser",
    "tests.plugins.slow_world",
    "tests.plugins.loaded",
    "tests.plugins.nightly",
    "tests.plugins.open_reads",
    "tests.plugins.private_slurm",
    "tests.plugins.properties",
    "tests.plugins.sharing_out",
    "tests.plugins.servers",  # before those that import it
    "tests.plugins.database",
]
