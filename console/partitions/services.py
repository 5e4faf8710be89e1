"""Partitions, their policies and their administrators: one transaction with the row in the audit log."""

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from console.audit.services import SYSTEM, Context, Subject, reason_of, record
from console.cluster.models import Cluster
from console.core.concurrent_changes import ChangedSinceError
from console.core.limits import POLICY, beyond, no_room, pattern_fault, refuse_beyond
from console.core.translate import resay
from console.partitions.models import Partition, PartitionAdmin, PolicyRevision
from console.partitions.selectors import missed_revisions, policy_in_force
from scheduler.contracts.config import decode_policy, encode_policy
from scheduler.contracts.errors import InputError
from scheduler.model.kind import with_kind_limits
from scheduler.model.policy import SETTINGS, PartitionPolicy
from scheduler.model.policy_setting import SettingKind

LONGEST_S = 365 * 24 * 3600
LONGEST_LEVEL = 40
MOST_TIMES = 10**9
SECONDS = [key for key, each in SETTINGS.items() if each.kind is SettingKind.SECONDS]
NUMBERS = [
    key
    for key, each in SETTINGS.items()
    if each.kind in {SettingKind.TIMES, SettingKind.LIMIT, SettingKind.LIMIT_FROM_1}
]
RESOURCE = re.compile(r"[A-Za-z][\w:./-]{0,63}", re.ASCII)


def ensure_partition(*, cluster: Cluster, name: str) -> Partition:
    """The partition called `name`; a new one starts in shadow, with kind limits, as revision 1.

    Raises `ValidationError` for a name that no partition can have.
    """
    _check_name(name)
    found = Partition.objects.select_related("cluster", "revision").filter(cluster=cluster, name=name).first()
    if found is not None and found.revision is not None:
        return found
    with transaction.atomic():
        make_partition(cluster, name)
        partition = _locked(cluster, name)
        if partition.revision is None:
            policy = with_kind_limits(PartitionPolicy(name=name))
            revision = _put_in_force(partition, policy, 1, SYSTEM, "")
            record(
                actor=SYSTEM,
                action="partition.created",
                subject=subject_of(partition),
                after=revision.document,
                context=Context(policy_revision=revision.number),
            )
    return partition


def make_partition(cluster: Cluster, name: str) -> None:
    """The bare row, if there is none yet, without a policy: for `ensure_partition` and for who must lock it first."""
    _check_name(name)
    Partition(cluster=cluster, name=name).clean_fields(exclude=["cluster", "revision"])
    rows = Partition.objects.filter(cluster=cluster)
    full = no_room("partitions", rows.count())
    if full and not rows.filter(name=name).exists():
        raise ValidationError({"name": full})
    rows.get_or_create(cluster=cluster, name=name)


def activate_policy(  # noqa: PLR0913 - a change has this many facts, and each is named at the call
    *,
    actor: str,
    partition: Partition,
    document: dict[str, Any] | PartitionPolicy,
    reason: str,
    based_on: int | None,
    request_id: str = "",
    source: str = "",
) -> PolicyRevision:
    """Put a policy in force as the partition's next revision; the same policy again makes none.

    `document` is the partition's entry of the priority file without `admins`. `based_on` is the revision that the
    caller had read; `ChangedSinceError` when another one is in force by now, None does not ask. `source` says in words
    which draft or revision it was made from. Raises
    `ValidationError` by key of the document, `reason` among them.
    """
    reason = reason_of(actor, reason)
    policy = checked(document, partition)
    with transaction.atomic():
        partition = _locked(partition.cluster, partition.name)
        current = policy_in_force(partition)
        if based_on is not None and based_on != current.number:
            what = _("policy of partition %(name)s") % {"name": partition.name}
            missed = missed_revisions(partition, based_on)
            raise ChangedSinceError(what, seen=based_on, current=current.number, missed=missed)
        if encode_policy(policy) == encode_policy(decode_policy(current.document)):
            return current
        revision = _put_in_force(partition, policy, current.number + 1, actor, reason, source)
        record(
            actor=actor,
            action="policy.activated",
            subject=subject_of(partition, source),
            before=current.document,
            after=revision.document,
            reason=reason,
            context=Context(request_id=request_id, policy_revision=revision.number),
        )
    return revision


def set_admins(
    *, actor: str, partition: Partition, usernames: Iterable[str], reason: str, request_id: str = ""
) -> Partition:
    """Name who administers a partition; the same people again: nothing is written."""
    reason = reason_of(actor, reason)
    wanted = sorted(set(usernames))
    if too_many := beyond("admins", len(wanted)):
        raise ValidationError({"admins": too_many})
    for name in wanted:
        if not name or not name.isprintable() or any(char.isspace() for char in name) or len(name) > 150:
            raise ValidationError({"admins": _("“%(name)s” is no user name.") % {"name": name[:150]}})
    with transaction.atomic():
        partition = _locked(partition.cluster, partition.name)
        present = sorted(partition.admins.values_list("username", flat=True))
        if wanted == present:
            return partition
        partition.admins.exclude(username__in=wanted).delete()
        new = [PartitionAdmin(partition=partition, username=name) for name in wanted if name not in present]
        PartitionAdmin.objects.bulk_create(new)
        record(
            actor=actor,
            action="partition.admins_changed",
            subject=subject_of(partition),
            before={"admins": present},
            after={"admins": wanted},
            reason=reason,
            context=Context(request_id=request_id),
        )
    return partition


def checked(document: dict[str, Any] | PartitionPolicy, partition: Partition) -> PartitionPolicy:
    """The policy, checked as the priority file's entries are. Raises `ValidationError` by key of the document."""
    if isinstance(document, PartitionPolicy):
        document = encode_policy(document)
    refuse_beyond(document, POLICY)
    try:
        policy = decode_policy(document)
    except InputError as error:
        path = error.path.removeprefix("$").lstrip(".")
        field = path.replace("[", ".").split(".")[0] or "__all__"
        fault = resay(error.message)
        message = fault if path == field else str(InputError(path, fault))
        raise ValidationError({field: message}) from None
    _check_limits(policy)
    if policy.name != partition.name:
        raise ValidationError(
            {
                "name": _("This is the policy of %(other)s, not of %(name)s.")
                % {"other": policy.name, "name": partition.name}
            }
        )
    return policy


def _check_name(name: str) -> None:
    """PostgreSQL refuses some characters even in a question."""
    if not name.isprintable():
        raise ValidationError({"name": _("Must not hold invisible characters.")})


def _check_limits(policy: PartitionPolicy) -> None:
    """What the database and the clock can hold; a document that passes is stored and carried out as it is."""
    for field in SECONDS:
        if getattr(policy, field) > LONGEST_S:
            raise ValidationError(
                {field: _("At most %(most)d seconds, which is a year.") % {"most": LONGEST_S}}
            )
    balance = policy.balance
    if (
        balance is not None
        and max(balance.max_distance, balance.swap_below_s, balance.most_wait_s) > MOST_TIMES
    ):
        raise ValidationError({"balance": _("At most %(most)d.") % {"most": MOST_TIMES}})
    for field in NUMBERS:
        if (getattr(policy, field) or 0) > MOST_TIMES:
            raise ValidationError({field: _("At most %(most)d.") % {"most": MOST_TIMES}})
    _check_quotas(policy)
    _check_names(policy)
    if "\\u0000" in json.dumps(encode_policy(policy)):
        raise ValidationError({"__all__": _("A name in it holds a NUL character; remove it.")})


def _check_names(policy: PartitionPolicy) -> None:
    """Names of levels, keywords and patterns."""
    for rule in policy.levels:
        _check_patterns("levels", rule.keyword_users or ())
        if fault := beyond("level", len(rule.name), rule.name) or beyond(
            "keyword", len(rule.keyword or ""), rule.keyword or ""
        ):
            raise ValidationError({"levels": fault})
    for field in ("user_overrides", "task_overrides"):
        _check_patterns(field, getattr(policy, field))
    _check_patterns("task_types", [row.pattern for row in policy.task_types])
    for field in ("protected_jobs", "protected_users", "protected_accounts", "protected_qos"):
        _check_patterns(field, getattr(policy, field))


def _check_quotas(policy: PartitionPolicy) -> None:
    """The matrix of quotas shows every limit as a column, and takes numbers up to this back."""
    if any(most > MOST_TIMES for most in policy.quotas.values()):
        raise ValidationError({"quotas": _("At most %(most)d.") % {"most": MOST_TIMES}})
    for field in ("quota_amounts", "quota_totals"):
        limits = [each for by_resource in getattr(policy, field).values() for each in by_resource.items()]
        if any(most > MOST_TIMES for _name, most in limits):
            raise ValidationError({field: _("At most %(most)d.") % {"most": MOST_TIMES}})
        if too_many := beyond("resources", len({name for name, _most in limits})):
            raise ValidationError({field: too_many})
        for name, _most in limits:
            if not RESOURCE.fullmatch(name):
                raise ValidationError(
                    {field: _("“%(name)s” is no resource.") % {"name": name[:LONGEST_LEVEL]}}
                )


def _check_patterns(field: str, patterns: Collection[str]) -> None:
    """Each job is compared with each of them in every cycle."""
    name = "overrides" if field.endswith("_overrides") or field == "task_types" else "listed"
    if fault := beyond(name, len(patterns)) or next(filter(None, map(pattern_fault, patterns)), ""):
        raise ValidationError({field: fault})


def _locked(cluster: Cluster, name: str) -> Partition:
    """The partition as it is, ours until the transaction ends."""
    # No join: after waiting for the lock, PostgreSQL would join the new revision's number with what it saw before.
    partition = Partition.objects.select_for_update().get(cluster=cluster, name=name)
    partition.cluster = cluster
    return partition


def _put_in_force(
    partition: Partition, policy: PartitionPolicy, number: int, author: str, reason: str, source: str = ""
) -> PolicyRevision:
    partition.revision = PolicyRevision.objects.create(
        partition=partition,
        number=number,
        document=encode_policy(policy),
        enforcement=policy.enforcement,
        author=author,
        reason=reason,
        source=source,
    )
    partition.save(update_fields=["revision"])
    return partition.revision


def subject_of(partition: Partition, about: str = "") -> Subject:
    """A partition as the audit log names it; `about` says more precisely what was changed."""
    return Subject(
        type="partition",
        id=partition.name,
        label=f"{partition.name}: {about}" if about else partition.name,
        cluster=partition.cluster.name,
        partition=partition.name,
    )
