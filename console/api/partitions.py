"""A partition's entry of the priority file, for the OpenAPI document: the fields are the policy's own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import django_filters
from django.db.models import Count, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django_filters.rest_framework import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api import fields
from console.api.base import ApiList, ApiView, ApiViewSet, changing, reading
from console.cluster.models import ClusterPartition, Job, JobPhase
from console.core.concurrent_changes import MissedChanges
from console.core.diff import KeyDifference
from console.core.limits import POLICY
from console.partitions import drafts as service
from console.partitions.comparing import IN_FORCE, ComparedVersion, in_words, side
from console.partitions.models import Partition, PolicyDraft, PolicyRevision
from console.partitions.quotas import Use, all_uses, own_uses
from console.partitions.selectors import missed_revisions, policy_of
from console.partitions.services import activate_policy
from console.reports.immune import NOBODY, WHY, immune_parts
from scheduler.contracts.config import decode_policy
from scheduler.model.policy import (
    SETTINGS,
    AppliesTo,
    Enforcement,
    LevelRule,
    Mode,
    Otherwise,
    PartitionPolicy,
)
from scheduler.model.task_types import ShrinkHow

TOLD: Mapping[str, str] = {
    **{key: each.told for key, each in SETTINGS.items() if each.told},
    "balance": "Who gets nodes of equal compute power; null: only who asks, and nobody waits for it.",
    "name": "The partition.",
    "quotas": "Level to running jobs per user.",
    "quota_amounts": "Level to what each user's running jobs may hold together, by resource; memory in MB.",
    "quota_totals": "Level to what all users' running jobs may hold together.",
    "user_overrides": "User to level.",
    "task_overrides": "Pattern of job names to level.",
    "user_overrides_until": "When the override of a user ends; the others do not end by themselves.",
    "task_overrides_until": "The same for patterns of job names.",
    "bands": "Lists of ranks, highest band first; null: every level is its own band.",
    "cancel_if_not_requeueable": (
        "Older: true stands for `not_requeueable: cancel` without a notice. Never sent."
    ),
}


class LevelSerializer(fields.DataclassSerializer):
    """One level; the first in the list is the highest."""

    dataclass = LevelRule
    must = ("name",)
    keyword_users = fields.NamesField(
        required=False,
        help_text="Users who may use the keyword, shell style; an empty list: nobody; left out: everybody.",
    )


class TaskTypeSerializer(serializers.Serializer):
    """What a kind of task needs where its request leaves it out. The first row that fits a job's name counts."""

    pattern = serializers.CharField(help_text="Shell style, of job names.")
    cpus = serializers.IntegerField(required=False, help_text="For each node.")
    gpus = serializers.IntegerField(required=False, help_text="For each node.")
    memory_mb = serializers.IntegerField(required=False, help_text="For each node.")
    time_s = serializers.IntegerField(required=False, help_text="The time limit.")
    elastic_min = serializers.IntegerField(
        required=False, help_text="Such a task is elastic and goes on with so many workers."
    )
    elastic_wish = serializers.IntegerField(required=False, help_text="It would like to have so many.")
    elastic_how = serializers.ChoiceField(
        [each.value for each in ShrinkHow], required=False, help_text="In which way it gives them up."
    )
    balanced = serializers.BooleanField(
        required=False, help_text="It gets processors of equal compute power."
    )


class BalanceSerializer(serializers.Serializer):
    """The rule for sets of equal compute power."""

    resource = serializers.CharField(help_text="Which power counts.")
    max_distance = serializers.FloatField(help_text="Between the largest and the smallest power of a set.")
    applies_to = serializers.ChoiceField(
        [each.value for each in AppliesTo],
        required=False,
        help_text="Every job that asks for several processors, or those that ask for an even set.",
    )
    swap_below_s = serializers.IntegerField(
        required=False, help_text="Only jobs that have run for less exchange a node; 0: none."
    )
    most_wait_s = serializers.IntegerField(
        required=False,
        help_text="So long after its submission a job takes the nearest set; 0: it waits as long as it takes.",
    )

    def get_fields(self) -> dict[str, Any]:
        """With `else`, which no attribute can be called."""
        told = "What a job does where no set is even."
        choices = [each.value for each in Otherwise]
        return super().get_fields() | {
            "else": serializers.ChoiceField(choices, required=False, help_text=told)
        }


class PolicyDocumentSerializer(fields.DataclassSerializer):
    """A partition's entry of the priority file (contract B), without `admins`. For the OpenAPI document only:
    values are checked where the priority file's are, by the service."""

    dataclass = PartitionPolicy
    must = ("mode",)
    told: ClassVar = TOLD
    levels = LevelSerializer(many=True, required=False)
    task_types = TaskTypeSerializer(many=True, required=False)
    balance = BalanceSerializer(required=False, allow_null=True, help_text=TOLD["balance"])
    checkpoint_signal = serializers.CharField(required=False, allow_blank=True)
    user_overrides_until = serializers.DictField(
        child=serializers.DateTimeField(), required=False, help_text=TOLD["user_overrides_until"]
    )
    task_overrides_until = serializers.DictField(
        child=serializers.DateTimeField(), required=False, help_text=TOLD["task_overrides_until"]
    )
    cancel_if_not_requeueable = serializers.BooleanField(
        required=False, help_text=TOLD["cancel_if_not_requeueable"]
    )


# --- A partition's policy: the one in force, changing it, and its earlier revisions.


@extend_schema_field(PolicyDocumentSerializer)
class PolicyDocumentField(fields.ObjectField):
    """A policy as the priority file has it."""

    bounds = POLICY


class RevisionSerializer(fields.RowSerializer):
    """Who put it in force, when and why."""

    revision = serializers.IntegerField(source="number", read_only=True)

    class Meta:
        model = PolicyRevision
        fields: ClassVar = ["revision", "enforcement", "author", "reason", "created_at"]


class PolicySerializer(RevisionSerializer):
    """A revision with the policy itself."""

    policy = PolicyDocumentField(source="document", read_only=True)

    class Meta(RevisionSerializer.Meta):
        fields: ClassVar = [*RevisionSerializer.Meta.fields, "policy"]


class BasedOnSerializer(serializers.Serializer):
    """`based_on` is the revision that you have read: a newer one is not overwritten."""

    based_on = fields.VersionField()
    reason = fields.ReasonSerializerField()


class PolicyChangeSerializer(BasedOnSerializer):
    """A policy to put in force. `based_on` is the revision that you have read: a newer one is not overwritten."""

    policy = PolicyDocumentField()


@extend_schema_field(fields.OPEN_OBJECT)
class SomeKeysField(fields.ObjectField):
    """Some keys of a policy."""

    bounds = POLICY


class PolicyPatchSerializer(BasedOnSerializer):
    """The same with only the keys that are to change; each key given replaces the whole of its value."""

    policy = SomeKeysField(help_text="Any keys of a policy (see `PolicyDocument`).")


class OfPartition(ApiView):
    """What hangs on a partition's policy: 404 for who may not see that."""

    @property
    def partition(self) -> Partition:
        """The partition of the address, if this account may see its policy."""
        partition = get_object_or_404(self.partitions().select_related("revision"), name=self.kwargs["name"])
        if not self.person.has_perm(Permission.POLICY_VIEW, partition):
            raise Http404
        return partition

    def changed(
        self, form: type[serializers.Serializer], read: type[Any] | None = None, *, query: bool = False
    ) -> tuple[Partition, dict[str, Any]]:
        """The partition, and what was sent: 403 before a word about what is wrong in it."""
        partition = self.partition
        require_write(self.request, Permission.POLICY_CHANGE, partition)
        return partition, self.sent(form, read, query=query)


class PolicyView(OfPartition):
    """The policy in force."""

    serializer_class = PolicySerializer
    version_key = "revision"
    checks_first = True

    def changes_since(self, version: int) -> MissedChanges | None:
        """What differs between that revision and the one in force."""
        return missed_revisions(self.partition, version)

    def get(self, request: Request, name: str) -> Response:
        """The policy in force, with who put it there and why."""
        return self._answer(self.partition.revision)

    @extend_schema(request=PolicyChangeSerializer)
    def put(self, request: Request, name: str) -> Response:
        """Put a whole policy in force; keys left out take their defaults. The same again makes no new revision."""
        return self._activate(PolicyChangeSerializer, {"name": name})

    @extend_schema(request=PolicyPatchSerializer)
    def patch(self, request: Request, name: str) -> Response:
        """Change some keys of the policy in force."""
        return self._activate(PolicyPatchSerializer, None)

    def _activate(self, form: type[BasedOnSerializer], under: dict[str, Any] | None) -> Response:
        """Lay what was sent over `under` (None: over the policy in force) and put the result in force."""
        partition, sent = self.changed(form)
        if under is None:
            under = partition.revision.document if partition.revision else {}
        with reading("policy"):
            document = decode_policy({**under, **sent["policy"]})
        with changing("policy"):
            revision = activate_policy(
                partition=partition,
                document=document,
                reason=sent["reason"],
                based_on=sent["based_on"],
                **self.by,
            )
        return self._answer(revision)

    def _answer(self, revision: PolicyRevision | None) -> Response:
        if revision is None:
            raise Http404
        return Response(self.get_serializer(revision).data)


class Revisions(OfPartition, ApiViewSet):
    """The revisions of a partition's policy, the latest first."""

    one = "One revision with its policy."
    serializer_class = RevisionSerializer
    whole = PolicySerializer
    lookup_field = "number"

    def get_queryset(self) -> QuerySet[PolicyRevision]:
        """Without the documents in the list: they may be long."""
        rows = self.partition.revisions.all()
        return rows.order_by("-number").defer("document") if self.action == "list" else rows

    @extend_schema(request=BasedOnSerializer, responses={200: PolicySerializer})
    @action(detail=True, methods=["post"])
    def rollback(self, request: Request, name: str, number: int) -> Response:
        """Put an earlier revision in force again, as the next revision."""
        self.get_object()
        partition, sent = self.changed(BasedOnSerializer, PolicySerializer)
        with changing():
            revision = service.roll_back(partition=partition, number=number, **sent, **self.by)
        return Response(self.get_serializer(revision).data)


# --- Drafts of a partition's policy, putting one in force, going back to an earlier revision, comparing any two.


class DraftSerializer(fields.RowSerializer):
    """A policy that is not in force. `based_on` is the revision that it was begun from."""

    authors = fields.NamesField(read_only=True)

    class Meta:
        model = PolicyDraft
        fields: ClassVar = [
            "id", "name", "based_on", "version", "authors", "reason", "created_at", "changed_at",
        ]  # fmt: skip


class WholeDraftSerializer(DraftSerializer):
    """A draft with the policy itself."""

    policy = PolicyDocumentField(source="document", read_only=True)

    class Meta(DraftSerializer.Meta):
        fields: ClassVar = [*DraftSerializer.Meta.fields, "policy"]


class NewDraftSerializer(serializers.Serializer):
    """A draft to keep beside the policy in force."""

    name = serializers.CharField(max_length=service.LONGEST_NAME)
    policy = PolicyDocumentField()
    reason = fields.ReasonSerializerField()


class DraftChangeSerializer(NewDraftSerializer):
    """The whole of a draft. `version` is the one that you have read: a newer one is not overwritten."""

    version = fields.VersionField()


class DraftRemovalSerializer(serializers.Serializer):
    """`version` is the one that you have read."""

    version = fields.VersionField()
    reason = fields.ReasonSerializerField()


class DraftActivationSerializer(BasedOnSerializer):
    """`version` of the draft and `based_on`, the revision in force, as you have read both."""

    version = fields.VersionField()


class KeyDifferenceSerializer(fields.DataclassSerializer):
    """One key that differs."""

    dataclass = KeyDifference


class ComparisonSerializer(serializers.Serializer):
    """What differs between two states of a policy, key by key."""

    differences = KeyDifferenceSerializer(many=True)


class Drafts(OfPartition, ApiViewSet):
    """The drafts of a partition's policy."""

    one = "One draft with its policy."
    queryset = PolicyDraft.objects.all()
    serializer_class = DraftSerializer
    whole = WholeDraftSerializer
    ending = frozenset({"version", "reason"})

    def get_queryset(self) -> QuerySet[PolicyDraft]:
        """Without the documents in the list: they may be long."""
        rows = self.partition.drafts.all()
        return rows.order_by("name").defer("document") if self.action == "list" else rows

    @extend_schema(request=NewDraftSerializer, responses={201: WholeDraftSerializer})
    def create(self, request: Request, name: str) -> Response:
        """Keep a policy as a draft; nothing is in force."""
        partition, sent = self.changed(NewDraftSerializer)
        with _saving():
            content = _content(name, sent)
            draft = service.create_draft(
                partition=partition, content=content, reason=sent["reason"], **self.by
            )
        return Response(self.get_serializer(draft).data, status=201)

    @extend_schema(request=DraftChangeSerializer)
    def update(self, request: Request, name: str, pk: int) -> Response:
        """Save the whole of a draft again."""
        draft = self.get_object()
        _, sent = self.changed(DraftChangeSerializer)
        told = {"version": sent["version"], "reason": sent["reason"], **self.by}
        with _saving():
            draft = service.change_draft(draft=draft, content=_content(name, sent), **told)
        return Response(self.get_serializer(draft).data)

    @extend_schema(parameters=fields.VERSION_AND_REASON, responses={204: None})
    def destroy(self, request: Request, name: str, pk: int) -> Response:
        """Throw a draft away."""
        draft = self.get_object()
        _, sent = self.changed(DraftRemovalSerializer, query=True)
        with changing():
            service.delete_draft(draft=draft, **sent, **self.by)
        return Response(status=204)

    @extend_schema(request=DraftActivationSerializer, responses={200: PolicySerializer})
    @action(detail=True, methods=["post"])
    def activate(self, request: Request, name: str, pk: int) -> Response:
        """Put a draft in force as the next revision; the draft is gone then."""
        draft = self.get_object()
        _, sent = self.changed(DraftActivationSerializer, PolicySerializer)
        with changing():
            revision = service.activate_draft(draft=draft, **sent, **self.by)
        return Response(PolicySerializer(revision, context=self.get_serializer_context()).data)


_SIDE = "`force`, a revision's number, or `draft-` and a draft's id; left out: `force`."


class PolicyComparison(OfPartition):
    """Any two states of a policy beside each other."""

    parameters: ClassVar = frozenset({"from", "to"})
    serializer_class = ComparisonSerializer

    @extend_schema(
        operation_id="partitions_compare",
        parameters=[
            OpenApiParameter("from", str, description=_SIDE),
            OpenApiParameter("to", str, description=_SIDE),
        ],
    )
    def get(self, request: Request, name: str) -> Response:
        """What differs between two of the revisions and drafts."""
        partition = self.partition
        found = in_words(self._side(partition, "from"), self._side(partition, "to"))
        return Response(ComparisonSerializer({"differences": found}).data)

    def _side(self, partition: Partition, parameter: str) -> ComparedVersion:
        found = side(partition, self.request.query_params.get(parameter) or IN_FORCE)
        if found is None:
            raise Http404
        return found


@contextmanager
def _saving() -> Iterator[None]:
    """The service's errors as the API's: faults of the policy under `policy`, the draft's name as `name`."""
    try:
        with changing("policy"):
            yield
    except ValidationError as error:
        detail = error.detail
        inside = detail.get("policy") if isinstance(detail, dict) else None
        if isinstance(inside, dict) and "draft_name" in inside:
            raise ValidationError({"name": inside["draft_name"]}) from error
        raise


def _content(partition: str, sent: dict[str, Any]) -> service.Content:
    return service.Content(sent["name"], decode_policy({"name": partition, **sent["policy"]}))


# --- How much of a partition's quotas is used. The limits themselves are a part of its policy, and changed there.


class QuotaUseSerializer(serializers.Serializer):
    """How much of one limit is used. `user` null: by all users together."""

    user = serializers.CharField(allow_null=True)
    level = serializers.CharField()
    rank = serializers.IntegerField(help_text="0 is the highest level.")
    resource = serializers.CharField(help_text="`jobs`, or what they hold; memory in MB.")
    used = serializers.IntegerField()
    limit = serializers.IntegerField()
    full = serializers.BooleanField()


class QuotaUseList(ApiList):
    """Who uses how much of which limit now."""

    permission = Permission.PARTITION_VIEW
    parameters: ClassVar = frozenset({"user"})
    serializer_class = QuotaUseSerializer

    @extend_schema(
        parameters=[OpenApiParameter("user", OpenApiTypes.STR, description="Exactly this user's.")],
        responses=QuotaUseSerializer(many=True),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The fullest first. Who may not see the policy gets the limits that hold for their own jobs."""
        partition = self.partition_shown(revision__isnull=False)
        return self.paged([quota_row(use) for use in self._uses(partition)])

    def _uses(self, partition: Partition) -> list[Use]:
        user = self.request.query_params.get("user")
        if self.person.has_perm(Permission.POLICY_VIEW, partition):
            uses = all_uses(partition, policy_of(partition))
        else:
            uses = own_uses(partition, policy_of(partition), self.person.slurm_user)
        return [use for use in uses if user is None or use.user == user]


def quota_row(use: Use) -> dict[str, Any]:
    """How much of a limit is used, for `QuotaUseSerializer`."""
    limit = use.limit
    return {
        "user": use.user or None,
        "level": limit.level,
        "rank": limit.rank,
        "resource": limit.resource or "jobs",
        "used": use.used,
        "limit": limit.most,
        "full": use.full,
    }


# --- Partitions that Giveway steers, with what is observed of them and, for who may see it, their policy.

SHOWN_PHASES = (JobPhase.PENDING, JobPhase.RUNNING, JobPhase.COMPLETING)


class JobCountsSerializer(serializers.Serializer):
    """How many jobs are where."""

    pending = serializers.IntegerField()
    running = serializers.IntegerField()
    completing = serializers.IntegerField()


class PartitionSerializer(fields.RowSerializer):
    """`state` is Slurm's own word, empty while the partition is not observed."""

    state = serializers.SerializerMethodField()
    mode = serializers.SerializerMethodField()
    enforcement = serializers.CharField(
        source="revision.enforcement", read_only=True, allow_null=True, default=None
    )
    revision = serializers.IntegerField(
        source="revision.number", read_only=True, allow_null=True, default=None
    )
    jobs = serializers.SerializerMethodField()

    class Meta:
        model = Partition
        fields: ClassVar = ["name", "state", "mode", "enforcement", "revision", "jobs"]

    def get_state(self, partition: Partition) -> str:
        """As last observed."""
        return self.context["states"].get(partition.name, "")

    @extend_schema_field(serializers.ChoiceField(choices=[(m.value, m.value) for m in Mode], allow_null=True))
    def get_mode(self, partition: Partition) -> str | None:
        """The mode in force."""
        return partition.revision.document.get("mode") if partition.revision else None

    @extend_schema_field(JobCountsSerializer)
    def get_jobs(self, partition: Partition) -> dict[str, int]:
        """Jobs by phase."""
        counts = self.context["counts"]
        return {str(phase): counts.get((partition.name, phase), 0) for phase in SHOWN_PHASES}


class ImmuneUserSerializer(serializers.Serializer):
    """One user's immune jobs."""

    user = serializers.CharField()
    jobs = fields.NamesField(help_text="Their ids, the oldest first.")
    why = serializers.ListField(child=serializers.ChoiceField(choices=list(WHY)))
    amounts = fields.AmountsSerializerField()
    since = fields.EpochField()


class ImmuneSerializer(serializers.Serializer):
    """What running jobs hold that nobody stops, because Slurm does not requeue them."""

    jobs = serializers.IntegerField()
    amounts = fields.AmountsSerializerField()
    shares = serializers.DictField(
        child=serializers.FloatField(), help_text="Of each resource of the partition, from 0 to 1."
    )
    users = ImmuneUserSerializer(many=True, help_text="Who holds the largest part first.")


class PartitionDetailSerializer(PartitionSerializer):
    """The same with what of it is immune, and with the policy in force, null for who may not see it."""

    immune = serializers.SerializerMethodField()
    policy = serializers.SerializerMethodField()

    class Meta(PartitionSerializer.Meta):
        fields: ClassVar = [*PartitionSerializer.Meta.fields, "immune", "policy"]

    @extend_schema_field(ImmuneSerializer)
    def get_immune(self, partition: Partition) -> dict[str, Any]:
        """As last observed."""
        found = immune_parts(partition.cluster, [partition.name]).get(partition.name, NOBODY)
        told = {"jobs": found.count, "amounts": found.amounts, "shares": found.shares}
        users = [
            {
                "jobs": list(each.jobs),
                **{key: getattr(each, key) for key in ("user", "why", "amounts", "since")},
            }
            for each in found.users
        ]
        return dict(ImmuneSerializer(told | {"users": users}).data)

    @extend_schema_field(PolicySerializer(allow_null=True))
    def get_policy(self, partition: Partition) -> dict[str, Any] | None:
        """The policy, if this account may see it."""
        person = self.context["request"].user
        if partition.revision is None or not person.has_perm(Permission.POLICY_VIEW, partition):
            return None
        return dict(PolicySerializer(partition.revision, context=self.context).data)


class PartitionFilter(FilterSet):
    """By name and by what its plans lead to."""

    name = django_filters.CharFilter()
    enforcement = django_filters.ChoiceFilter(
        field_name="revision__enforcement", choices=[(each.value, each.value) for each in Enforcement]
    )
    ordering = django_filters.OrderingFilter(fields=["name"])


class Partitions(ApiViewSet):
    """Partitions by name."""

    one = "One partition."
    permission = Permission.PARTITION_VIEW
    queryset = Partition.objects.all()
    serializer_class = PartitionSerializer
    whole = PartitionDetailSerializer
    filterset_class = PartitionFilter
    lookup_field = "name"
    lookup_value_converter = "name"

    def get_queryset(self) -> QuerySet[Partition]:
        """The partitions that this account may see."""
        return self.partitions().select_related("revision")

    def get_serializer_context(self) -> dict[str, Any]:
        """What is observed, asked once for all partitions."""
        context = dict(super().get_serializer_context())
        if getattr(self, "swagger_fake_view", False):
            return context
        jobs = Job.objects.filter(cluster=self.cluster, phase__in=SHOWN_PHASES)
        counted = jobs.values_list("partition", "phase").annotate(number=Count("pk")).order_by()
        observed = ClusterPartition.objects.filter(cluster=self.cluster)
        return context | {
            "counts": {(partition, phase): number for partition, phase, number in counted},
            "states": dict(observed.values_list("name", "state")),
        }
