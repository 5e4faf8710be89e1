"""A partition's map and lists are made once for everybody who looks at the same, and anew after each change."""

from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from console.cluster.models import Job
from console.cluster.services import note_cycle
from tests.ui.conftest import House, SignedIn

IN_MEMORY = "django.core.cache.backends.locmem.LocMemCache"


@pytest.fixture(autouse=True)
def kept(settings: Settings) -> Any:
    """As in a real installation; the tests' own settings keep nothing."""
    settings.CACHES = {
        "default": {"BACKEND": IN_MEMORY},
        "template_fragments": {"BACKEND": IN_MEMORY, "LOCATION": "kept parts"},
    }
    caches["template_fragments"].clear()
    yield
    caches["template_fragments"].clear()


def asked(client: Client, address: str, **headers: str) -> tuple[str, int]:
    with CaptureQueriesContext(connection) as captured:
        page = client.get(address, headers=headers).content.decode()
    return page, len(captured)


def main_of(page: str) -> str:
    return page[page.index('id="nodes-head"') : page.index('id="plans-head"')]


def test_a_second_person_gets_the_same_for_fewer_queries(
    house: House, ada: Client, signed_in: SignedIn
) -> None:
    asked(signed_in("vera"), "/my-jobs/")  # what a first request of a process reads is not counted
    first, many = asked(ada, "/partitions/x/")
    second, few = asked(signed_in("vera"), "/partitions/x/")
    assert main_of(first) == main_of(second)
    assert few <= many - 3


def test_a_change_is_seen_at_once(house: House, ada: Client) -> None:
    before, _ = asked(ada, "/partitions/x/")
    job = Job.objects.filter(cluster=house.cluster, partition="x", phase="pending").first()
    assert job is not None
    Job.objects.filter(pk=job.pk).update(name="quite_new")
    assert "quite_new" not in asked(ada, "/partitions/x/")[0], "no cycle has told of it yet"
    note_cycle(house.cluster, fault="", changed=True)
    after, _ = asked(ada, "/partitions/x/")
    assert "quite_new" in after and "quite_new" not in before


def test_addresses_and_languages_are_kept_apart(house: House, ada: Client) -> None:
    page, _ = asked(ada, "/partitions/x/")
    table, _ = asked(ada, "/partitions/x/?map=table")
    chinese, _ = asked(ada, "/partitions/x/", **{"accept-language": "zh-hans"})
    assert len({main_of(page), main_of(table), main_of(chinese)}) == 3
    filtered, _ = asked(ada, "/partitions/x/?q=nobody-has-this")
    assert "No waiting job fits the filter." in filtered
