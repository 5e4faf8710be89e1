"""What the tests of this folder share: one low user, one equal and one urgent, on the real Slurm."""

from typing import Any

import pytest

from tests.e2e.slurm_driver import Driver

LEVELS = [{"name": f"P{n}"} for n in range(4)]
USERS = {"ann": "P3", "bob": "P0", "cy": "P0"}


class Scene:
    """`ann` may be stopped for `cy`; `bob` may not."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    def policy(self, partition: str = "x", **keys: Any) -> None:
        """A partition whose plans are carried out at once, unless said otherwise."""
        self.driver.policy(partition, **{"mode": "user", "levels": LEVELS, "user_overrides": USERS, **keys})

    def scontrol(self, *words: str, user: str | None = None) -> None:
        """What an administrator, or a user, does meanwhile."""
        self.driver.slurm.run(["scontrol", *words], user)


@pytest.fixture
def scene(driver: Driver) -> Scene:
    return Scene(driver)


MARKS = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]
"""All of them need the one private Slurm of their release."""
