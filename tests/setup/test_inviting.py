"""One name, one invitation: another takes the place of the first, and of all that came with it."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.exceptions import ValidationError

from console.audit.models import AuditEntry
from console.partitions.models import Partition
from console.projects.models import MemberRole, Membership, Project
from console.setup import inviting
from console.setup.inviting import Guest, SpentError, accept, end_invitations, find, invite, withdraw
from console.setup.models import Invitation
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db
BY: dict[str, Any] = {"actor": "ada", "reason": "for the test"}


@pytest.fixture
def places() -> tuple[Partition, Project]:
    cluster = factories.make_cluster()
    return factories.make_partition(cluster), factories.make_project(cluster)


def rights() -> tuple[list[str], list[str]]:
    """Who administers the partition, and who manages the project."""
    managers = Membership.objects.filter(role=MemberRole.MANAGER).values_list("username", flat=True)
    return [admin.username for admin in Partition.objects.get().admins.all()], list(managers)


def test_a_second_invitation_takes_the_place_of_the_first(places: tuple[Partition, Project]) -> None:
    partition, project = places
    _, lost = invite(guest=Guest("erin", partitions=(partition,), projects=(project,)), **BY)
    assert rights() == (["erin"], ["erin"])
    row, key = invite(guest=Guest("Erin", projects=(project,)), **BY)
    assert rights() == ([], ["Erin"])
    with pytest.raises(SpentError):
        find(lost)
    assert find(key) == row and row.projects == [["dev", "alpha"]]
    told = AuditEntry.objects.filter(action="account.invitation_withdrawn").get()
    assert (told.actor, told.object_id, told.reason) == ("ada", "erin", inviting.REPLACED)
    withdraw(invitation=row.pk, **BY)
    assert rights() == ([], [])


def test_one_that_has_ended_and_was_not_taken_back_yet_gives_way(places: tuple[Partition, Project]) -> None:
    partition, _ = places
    with time_machine.travel(NOW, tick=False) as time:
        invite(guest=Guest("erin", days=1, partitions=(partition,)), **BY)
        time.shift(timedelta(days=2))
        _, key = invite(guest=Guest("erin"), **BY)
        assert rights() == ([], []) and end_invitations() == 0
        assert accept(key=key, password="quite a long one").username == "erin"
        assert rights() == ([], [])


def test_of_two_at_the_same_moment_one_is_refused(
    places: tuple[Partition, Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither sees the other's: the database decides."""
    invite(guest=Guest("erin"), **BY)
    monkeypatch.setattr(inviting, "_replace", lambda *_: None)
    with pytest.raises(ValidationError, match="Somebody else has just invited this name"):
        invite(guest=Guest("ERIN"), **BY)
    assert Invitation.objects.count() == 1
