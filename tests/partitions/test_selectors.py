"""Reading partitions: who sees them, and the policy in force, decoded once."""

import pytest
from django.contrib.auth.models import AnonymousUser
from pytest_django.fixtures import DjangoAssertNumQueries

from console.accounts.models import Role
from console.partitions.models import Partition
from console.partitions.selectors import (
    decoded,
    partition_document,
    policy_of,
    visible_partitions,
    written_out,
)
from scheduler.contracts.config import encode_policy
from tests import factories
from tests.factories import policy_document

pytestmark = pytest.mark.django_db


def test_everybody_signed_in_sees_every_partition(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    cluster = factories.make_cluster()
    for name in ("y", "x"):
        factories.make_partition(cluster, name)
    vera = factories.make_viewer()
    with django_assert_num_queries(1):
        seen = [(each.name, each.cluster.name, policy_of(each).name) for each in visible_partitions(vera)]
    assert seen == [("x", "dev", "x"), ("y", "dev", "y")]
    assert not visible_partitions(AnonymousUser()).exists()
    assert not visible_partitions(factories.make_user("former", Role.ADMINISTRATOR, is_active=False)).exists()


def test_the_same_document_is_decoded_once() -> None:
    cluster = factories.make_cluster()
    factories.make_partition(cluster, "x")
    first, again = (policy_of(Partition.objects.get()) for _ in range(2))
    assert first is again
    assert decoded(policy_document("x", mode="task")) is not first


def test_a_new_revision_is_seen_at_once() -> None:
    partition = factories.make_partition(factories.make_cluster(), "x")
    before = policy_of(partition)
    partition.revision = factories.make_revision(partition, 2, mode="task")
    assert (before.mode, policy_of(partition).mode) == ("user_then_task", "task")


def test_a_partition_without_a_policy_says_so() -> None:
    bare = Partition.objects.create(cluster=factories.make_cluster(), name="x")
    with pytest.raises(LookupError, match="Partition x has no policy in force"):
        policy_of(bare)


def test_an_entry_of_the_priority_file_has_the_administrators_in_order() -> None:
    partition = factories.make_partition(factories.make_cluster(), "x")
    for name in ("erin", "dave"):
        factories.make_partition_admin(partition, name)
    document = partition_document(partition)
    assert document.pop("admins") == ["dave", "erin"]
    assert document == encode_policy(policy_of(partition))


def test_a_revision_too_old_for_a_key_counts_as_its_default() -> None:
    old = policy_document("x")
    assert "cool_down_s" not in old
    assert written_out(old)["cool_down_s"] == 300
    assert written_out(old) == written_out({**old, "cool_down_s": 300})


def test_a_revision_that_cannot_be_read_any_more_is_shown_as_it_is() -> None:
    for broken in ({"name": "x", "gone": 1}, {}, {"mode": 7}):
        assert written_out(broken) == broken
