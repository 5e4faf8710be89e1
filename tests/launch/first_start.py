"""A first start of the demonstration, of which the tests here are."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from django.test import override_settings

from console.audit.models import AuditEntry
from console.cluster.connect import forget_adapters
from console.cluster.models import Job, JobRun
from console.core import clock
from console.forecasts.models import KeptRun
from console.history.models import PartitionMinute
from console.launch.demo import SET_UP_BEFORE, seed
from console.steering.models import Plan
from scheduler.adapters.simulator import demo_week

EVENING = datetime(2026, 11, 25, 19, 30, tzinfo=UTC)
"""Of a Wednesday."""


@contextmanager
def first_start() -> Iterator[None]:
    """As `manage.py run` finds it then, in an own `HOME`, but that a day is made up and not a week."""
    with goes_on():
        seed(SET_UP_BEFORE)
        yield


@contextmanager
def goes_on() -> Iterator[None]:
    """The same evening, on the cluster that `HOME` has."""
    forget_adapters()
    with (
        pytest.MonkeyPatch.context() as patch,
        override_settings(GIVEWAY_SCENARIO="demo"),
        clock.set_to(EVENING),
    ):
        patch.setattr(demo_week, "DAYS", 1)
        yield
    forget_adapters()


def counts() -> list[int]:
    """How many rows there are of what a past consists of."""
    return [model.objects.count() for model in (Plan, Job, JobRun, PartitionMinute, AuditEntry, KeptRun)]
