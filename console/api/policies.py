"""A partition's policy: the one in force, changing it, and its earlier revisions."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList, ApiView
from console.api.changes import ReasonSerializerField, VersionField, changing, reading
from console.api.fields import OPEN_OBJECT, ObjectField
from console.api.policy_document import PolicyDocumentSerializer
from console.api.strict import valid
from console.core.concurrent_changes import MissedChanges
from console.core.limits import POLICY
from console.partitions.models import Partition, PolicyRevision
from console.partitions.selectors import missed_revisions, visible_partitions
from console.partitions.services import activate_policy
from scheduler.contracts.config import decode_policy


@extend_schema_field(PolicyDocumentSerializer)
class PolicyDocumentField(ObjectField):
    """A policy as the priority file has it."""

    bounds = POLICY


class RevisionSerializer(serializers.ModelSerializer):
    """Who put it in force, when and why."""

    revision = serializers.IntegerField(source="number", read_only=True)

    class Meta:
        model = PolicyRevision
        fields: ClassVar = ["revision", "enforcement", "author", "reason", "created_at"]
        read_only_fields = fields


class PolicySerializer(RevisionSerializer):
    """A revision with the policy itself."""

    policy = PolicyDocumentField(source="document", read_only=True)

    class Meta(RevisionSerializer.Meta):
        fields: ClassVar = [*RevisionSerializer.Meta.fields, "policy"]
        read_only_fields = fields


class BasedOnSerializer(serializers.Serializer):
    """`based_on` is the revision that you have read: a newer one is not overwritten."""

    based_on = VersionField()
    reason = ReasonSerializerField()


class PolicyChangeSerializer(BasedOnSerializer):
    """A policy to put in force. `based_on` is the revision that you have read: a newer one is not overwritten."""

    policy = PolicyDocumentField()


@extend_schema_field(OPEN_OBJECT)
class SomeKeysField(ObjectField):
    """Some keys of a policy."""

    bounds = POLICY


class PolicyPatchSerializer(BasedOnSerializer):
    """The same with only the keys that are to change; each key given replaces the whole of its value."""

    policy = SomeKeysField(help_text="Any keys of a policy (see `PolicyDocument`).")


class OfPartition(ApiView):
    """What hangs on a partition's policy: 404 for who may not see that."""

    queryset: QuerySet[Any] = PolicyRevision.objects.all()

    @property
    def partition(self) -> Partition:
        """The partition of the address, if this account may see its policy."""
        partitions = visible_partitions(self.person).filter(cluster=self.cluster).select_related("revision")
        partition = get_object_or_404(partitions, name=self.kwargs["name"])
        if not self.person.has_perm(Permission.POLICY_VIEW, partition):
            raise Http404
        return partition


class PolicyView(OfPartition):
    """The policy in force."""

    serializer_class = PolicySerializer
    further_errors: ClassVar = {"PUT": {409}, "PATCH": {409}}
    version_key = "revision"
    checks_first = True

    def changes_since(self, version: int) -> MissedChanges | None:
        """What differs between that revision and the one in force."""
        return missed_revisions(self.partition, version)

    @extend_schema(operation_id="partitions_policy_retrieve")
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
        partition = self.partition
        require_write(self.request, Permission.POLICY_CHANGE, partition)
        sent = form(data=self.request.data)
        valid(sent, self.serializer_class)
        if under is None:
            under = partition.revision.document if partition.revision else {}
        with reading("policy"):
            document = decode_policy({**under, **sent.validated_data["policy"]})
        with changing("policy"):
            revision = activate_policy(
                actor=self.person.username,
                partition=partition,
                document=document,
                reason=sent.validated_data["reason"],
                based_on=sent.validated_data["based_on"],
                request_id=self.request_id,
            )
        return self._answer(revision)

    def _answer(self, revision: PolicyRevision | None) -> Response:
        if revision is None:
            raise Http404
        return Response(self.get_serializer(revision).data)


class RevisionList(OfPartition, ApiList):
    """The revisions of a partition's policy, the latest first."""

    serializer_class = RevisionSerializer

    def get_queryset(self) -> QuerySet[PolicyRevision]:
        """Without the documents: they may be long."""
        return self.partition.revisions.order_by("-number").defer("document")


class RevisionDetail(OfPartition, ApiDetail):
    """One revision with its policy."""

    serializer_class = PolicySerializer
    lookup_field = "number"

    def get_queryset(self) -> QuerySet[PolicyRevision]:
        """The revisions of this partition."""
        return self.partition.revisions.all()
