"""Partitions start in shadow; policies are checked, revised and never changed in place; all of it is in the log."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from pytest_django.fixtures import DjangoAssertNumQueries

from console.audit.models import AuditEntry
from console.audit.services import SYSTEM
from console.cluster.models import Cluster
from console.core.concurrent_changes import ChangedSinceError
from console.partitions import services
from console.partitions.models import Partition, PolicyRevision
from console.partitions.selectors import partition_document, policy_of
from console.partitions.services import activate_policy, ensure_partition, set_admins
from scheduler.model.kind import KIND_LIMITS, with_kind_limits
from scheduler.model.policy import Enforcement, Mode, PartitionPolicy
from tests import factories
from tests.factories import policy_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return factories.make_cluster()


@pytest.fixture
def partition(cluster: Cluster) -> Partition:
    """Partition x at revision 1, the default policy."""
    return ensure_partition(cluster=cluster, name="x")


def activate(
    partition: Partition, based_on: int | None = 1, reason: str = "Because.", **keys: Any
) -> PolicyRevision:
    return activate_policy(
        actor="dave",
        partition=partition,
        document={**policy_document("x"), **keys},
        reason=reason,
        based_on=based_on,
        request_id="r1",
    )


def fresh(partition: Partition) -> Partition:
    return Partition.objects.select_related("revision").get(pk=partition.pk)


def wrong_fields(error: pytest.ExceptionInfo[ValidationError]) -> list[str]:
    return sorted(error.value.message_dict)


NEW = with_kind_limits(PartitionPolicy(name="x"))


# --- New partitions ---------------------------------------------------------------------------------------


def test_a_new_partition_is_in_shadow_with_kind_limits(partition: Partition) -> None:
    assert policy_of(fresh(partition)) == NEW
    assert {key: getattr(NEW, key) for key in KIND_LIMITS} == KIND_LIMITS
    revision = PolicyRevision.objects.get()
    assert (revision.number, revision.enforcement, revision.author) == (1, Enforcement.SHADOW, SYSTEM)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.partition, entry.policy_revision) == (
        "partition.created", SYSTEM, "x", 1,
    )  # fmt: skip
    assert entry.after == revision.document


def test_a_partition_that_is_there_costs_one_query_and_nothing_else(
    partition: Partition, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    activate(partition, mode="task")
    with django_assert_num_queries(1):
        same = ensure_partition(cluster=partition.cluster, name="x")
        assert policy_of(same).mode is Mode.TASK
    assert AuditEntry.objects.count() == 2


def test_a_row_without_a_policy_gets_its_first(cluster: Cluster) -> None:
    Partition.objects.create(cluster=cluster, name="x")
    assert policy_of(ensure_partition(cluster=cluster, name="x")) == NEW


@pytest.mark.parametrize("name", ["", "x" * 65, "two\nlines", "nul\x00"])
def test_no_partition_has_such_a_name(name: str, cluster: Cluster) -> None:
    with pytest.raises(ValidationError) as error:
        ensure_partition(cluster=cluster, name=name)
    assert wrong_fields(error) == ["name"]
    assert not Partition.objects.exists()


# --- Policies ---------------------------------------------------------------------------------------------


def test_a_changed_policy_is_the_next_revision(partition: Partition) -> None:
    revision = activate(partition, enforcement="enforce")
    assert (revision.number, revision.author, revision.reason) == (2, "dave", "Because.")
    assert revision.enforcement == "enforce"
    assert fresh(partition).revision == revision
    assert policy_of(fresh(partition)).enforcement is Enforcement.ENFORCE
    first = partition.revisions.get(number=1)
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.action, entry.actor, entry.request_id, entry.policy_revision) == (
        "policy.activated", "dave", "r1", 2,
    )  # fmt: skip
    assert (entry.before, entry.after) == (first.document, revision.document)


def test_a_document_is_stored_with_every_key_written_out(partition: Partition) -> None:
    revision = activate_policy(
        actor="dave", partition=partition, document={"name": "x", "mode": "task"}, reason="Short.", based_on=1
    )
    assert revision.document["mode"] == "task"
    assert revision.document["grace_s"] == 30
    assert "admins" not in revision.document


def test_a_policy_of_the_scheduler_is_taken_too(partition: Partition) -> None:
    policy = PartitionPolicy(name="x", mode=Mode.USER)
    revision = activate_policy(
        actor="dave", partition=partition, document=policy, reason="Code.", based_on=None
    )
    assert policy_of(fresh(partition)) == policy
    assert revision.number == 2


def test_the_same_policy_again_makes_no_revision(partition: Partition) -> None:
    second = activate(partition)
    assert activate(partition, based_on=2) == second
    assert activate(partition, based_on=None) == second
    reordered = dict(reversed(policy_document("x").items()))
    again = activate_policy(actor="dave", partition=partition, document=reordered, reason="Same.", based_on=2)
    assert again == second
    assert AuditEntry.objects.filter(action="policy.activated").count() == 1


def test_a_policy_based_on_an_old_revision_is_refused(partition: Partition) -> None:
    activate(partition, mode="task")
    with pytest.raises(ChangedSinceError, match="policy of partition x was changed") as error:
        activate(partition, based_on=1, mode="user")
    assert (error.value.seen, error.value.current) == (1, 2)
    assert policy_of(fresh(partition)).mode is Mode.TASK


@pytest.mark.parametrize(
    ("keys", "field", "message"),
    [
        ({"mode": "fair"}, "mode", '"fair" is not one of user'),
        ({"quotas": {"P9": 1}}, "quotas", 'quotas.P9: "P9" is no level'),
        (
            {"levels": [{"name": "P0", "min_score": -1}]},
            "levels",
            "levels[0].min_score: must not be negative",
        ),
        ({"levels": [{"name": "P" * 41}], "quotas": {}}, "levels", "has 41 characters, at most 40"),
        ({"user_overrides": {"carol": "P7"}}, "user_overrides", 'user_overrides.carol: "P7" is no level'),
        ({"grace_s": 10**9}, "grace_s", "At most 31536000 seconds"),
        ({"exempt_s": 2**62}, "exempt_s", "At most 31536000 seconds"),
        ({"min_wait_s": 31536001}, "min_wait_s", "At most 31536000 seconds"),
        ({"cool_down_s": 31536001}, "cool_down_s", "At most 31536000 seconds"),
        ({"max_stops_per_hour": 10**9 + 1}, "max_stops_per_hour", "At most 1000000000."),
        ({"max_stops_per_user_hour": 2**62}, "max_stops_per_user_hour", "At most 1000000000."),
        ({"max_preemptions_per_job": 2**62}, "max_preemptions_per_job", "At most 1000000000."),
        ({"max_stops_per_hour": -1}, "max_stops_per_hour", "must not be negative"),
        ({"protected_users": ["x" * 201]}, "protected_users", "has 201 characters, at most 200"),
        (
            {"protected_qos": [str(n) for n in range(1001)]},
            "protected_qos",
            "1001 entries are too many, at most 1000",
        ),
        ({"protected_jobs": ["a", "a"]}, "protected_jobs", "stands twice"),
        ({"protected_accounts": [" "]}, "protected_accounts", "must not be empty"),
        (
            {"levels": [{"name": "P0", "keyword": "p0", "keyword_users": ["x" * 201]}]},
            "levels",
            "has 201 characters, at most 200",
        ),
        ({"keyword_denied": "shout"}, "keyword_denied", "is not one of demote, refuse"),
        ({"grace": 30}, "grace", "unknown key; did you mean grace_s?"),
        ({"name": "y"}, "name", "policy of y, not of x"),
        ({"admins": ["dave"]}, "admins", "unknown key"),
        ({"user_overrides": {"nul\x00": "P0"}}, "__all__", "NUL character"),
    ],
)
def test_what_makes_no_policy_is_told_by_key(
    keys: dict[str, Any], field: str, message: str, partition: Partition
) -> None:
    keys = {"user_overrides": {}, "task_overrides": {}, **keys} if "levels" in keys else keys
    with pytest.raises(ValidationError) as error:
        activate(partition, **{"quotas": {}, **keys})
    assert wrong_fields(error) == [field]
    assert message in error.value.message_dict[field][0]
    assert PolicyRevision.objects.count() == 1
    assert AuditEntry.objects.count() == 1


def test_what_is_just_within_the_limits_is_taken(partition: Partition) -> None:
    keys: dict[str, Any] = {
        "min_wait_s": 31536000,
        "max_stops_per_hour": 10**9,
        "protected_jobs": ["x" * 200, *(str(n) for n in range(999))],
    }
    document = activate(partition, **keys).document
    assert {key: document[key] for key in keys} == keys


def test_a_document_that_is_no_object_is_refused(partition: Partition) -> None:
    with pytest.raises(ValidationError, match="must be an object"):
        activate_policy(actor="d", partition=partition, document=[], reason="x", based_on=1)  # type: ignore[arg-type]


def test_people_say_why(partition: Partition) -> None:
    for call in (
        lambda: activate(partition, reason=" ", mode="task"),
        lambda: set_admins(actor="ada", partition=partition, usernames=["dave"], reason=""),
    ):
        with pytest.raises(ValidationError) as error:
            call()
        assert wrong_fields(error) == ["reason"]


@pytest.mark.django_db(transaction=True)
def test_without_its_audit_row_there_is_no_change(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(**_: object) -> None:
        raise IntegrityError("no more room")

    monkeypatch.setattr(services, "record", full_disk)
    with pytest.raises(IntegrityError):
        activate(partition, mode="task")
    with pytest.raises(IntegrityError):
        set_admins(actor="ada", partition=partition, usernames=["dave"], reason="x")
    with pytest.raises(IntegrityError):
        ensure_partition(cluster=partition.cluster, name="y")
    assert policy_of(fresh(partition)) == NEW
    assert not partition.admins.exists()
    assert list(Partition.objects.values_list("name", flat=True)) == ["x"]


def test_policies_of_different_partitions_are_numbered_apart(partition: Partition) -> None:
    other = ensure_partition(cluster=partition.cluster, name="y")
    activate(partition, mode="task")
    revision = activate_policy(
        actor="dave", partition=other, document=policy_document("y"), reason="Its own.", based_on=1
    )
    assert revision.number == 2


# --- Administrators ---------------------------------------------------------------------------------------


def test_administrators_are_named_and_told(partition: Partition) -> None:
    set_admins(actor="ada", partition=partition, usernames=["dave", "erin", "dave"], reason="New.")
    set_admins(
        actor="ada", partition=partition, usernames=["erin", "fay"], reason="Dave left.", request_id="r2"
    )
    assert partition_document(fresh(partition))["admins"] == ["erin", "fay"]
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.action, entry.reason, entry.request_id) == ("partition.admins_changed", "Dave left.", "r2")
    assert (entry.before, entry.after) == ({"admins": ["dave", "erin"]}, {"admins": ["erin", "fay"]})


def test_the_same_administrators_again_write_nothing(partition: Partition) -> None:
    set_admins(actor="ada", partition=partition, usernames=["dave"], reason="New.")
    set_admins(actor="ada", partition=partition, usernames=["dave"], reason="Again.")
    assert AuditEntry.objects.filter(action="partition.admins_changed").count() == 1


@pytest.mark.parametrize("name", ["", "da ve", "nul\x00", "x" * 151])
def test_what_is_no_user_name_is_refused(name: str, partition: Partition) -> None:
    with pytest.raises(ValidationError) as error:
        set_admins(actor="ada", partition=partition, usernames=["dave", name], reason="New.")
    assert wrong_fields(error) == ["admins"]
    assert not partition.admins.exists()
