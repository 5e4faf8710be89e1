"""Drafts of a partition's policy, putting one in force, going back to an earlier revision, comparing any two."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList
from console.api.changes import ReasonSerializerField, VersionField, changing
from console.api.dataclasses import DataclassSerializer
from console.api.policies import BasedOnSerializer, OfPartition, PolicyDocumentField, PolicySerializer
from console.api.strict import valid
from console.core.diff import KeyDifference
from console.partitions import drafts as service
from console.partitions.comparing import IN_FORCE, ComparedVersion, in_words, side
from console.partitions.models import Partition, PolicyDraft, PolicyRevision
from scheduler.contracts.config import decode_policy


class DraftSerializer(serializers.ModelSerializer):
    """A policy that is not in force. `based_on` is the revision that it was begun from."""

    authors = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = PolicyDraft
        fields: ClassVar = [
            "id",
            "name",
            "based_on",
            "version",
            "authors",
            "reason",
            "created_at",
            "changed_at",
        ]
        read_only_fields = fields


class WholeDraftSerializer(DraftSerializer):
    """A draft with the policy itself."""

    policy = PolicyDocumentField(source="document", read_only=True)

    class Meta(DraftSerializer.Meta):
        fields: ClassVar = [*DraftSerializer.Meta.fields, "policy"]
        read_only_fields = fields


class NewDraftSerializer(serializers.Serializer):
    """A draft to keep beside the policy in force."""

    name = serializers.CharField(max_length=service.LONGEST_NAME)
    policy = PolicyDocumentField()
    reason = ReasonSerializerField()


class DraftChangeSerializer(NewDraftSerializer):
    """The whole of a draft. `version` is the one that you have read: a newer one is not overwritten."""

    version = VersionField()


class DraftRemovalSerializer(serializers.Serializer):
    """`version` is the one that you have read."""

    version = VersionField()
    reason = ReasonSerializerField()


class DraftActivationSerializer(BasedOnSerializer):
    """`version` of the draft and `based_on`, the revision in force, as you have read both."""

    version = VersionField()


class KeyDifferenceSerializer(DataclassSerializer):
    """One key that differs."""

    dataclass = KeyDifference


class ComparisonSerializer(serializers.Serializer):
    """What differs between two states of a policy, key by key."""

    differences = KeyDifferenceSerializer(many=True)


class Changing(OfPartition):
    """What only those who may change the policy may do."""

    def sent(
        self, form: type[serializers.Serializer], *, query: bool = False
    ) -> tuple[Partition, dict[str, Any]]:
        """The partition, and what was sent: 403 before a word about what is wrong in it. A deletion has no body."""
        partition = self.partition
        require_write(self.request, Permission.POLICY_CHANGE, partition)
        body = form(data=self.request.query_params if query else self.request.data)
        valid(body, self.serializer_class)
        return partition, body.validated_data

    def by(self, sent: dict[str, Any]) -> dict[str, Any]:
        """Who changes it, why, in which request."""
        return {"actor": self.person.username, "reason": sent["reason"], "request_id": self.request_id}


class DraftList(Changing, ApiList):
    """The drafts of a partition's policy."""

    queryset = PolicyDraft.objects.all()
    serializer_class = DraftSerializer

    def get_queryset(self) -> QuerySet[PolicyDraft]:
        """Without the documents: they may be long."""
        return self.partition.drafts.order_by("name").defer("document")

    @extend_schema(request=NewDraftSerializer, responses={201: WholeDraftSerializer})
    def post(self, request: Request, name: str) -> Response:
        """Keep a policy as a draft; nothing is in force."""
        partition, sent = self.sent(NewDraftSerializer)
        with _saving():
            draft = service.create_draft(partition=partition, content=_content(name, sent), **self.by(sent))
        return Response(WholeDraftSerializer(draft).data, status=201)


class DraftDetail(Changing, ApiDetail):
    """One draft with its policy."""

    queryset = PolicyDraft.objects.all()
    serializer_class = WholeDraftSerializer
    further_errors: ClassVar = {"PUT": {409}, "DELETE": {409}}

    def get_queryset(self) -> QuerySet[PolicyDraft]:
        """The drafts of this partition."""
        return self.partition.drafts.all()

    @extend_schema(request=DraftChangeSerializer)
    def put(self, request: Request, name: str, pk: int) -> Response:
        """Save the whole of a draft again."""
        draft = self.get_object()
        _, sent = self.sent(DraftChangeSerializer)
        with _saving():
            draft = service.change_draft(
                draft=draft, content=_content(name, sent), version=sent["version"], **self.by(sent)
            )
        return Response(self.get_serializer(draft).data)

    def known_parameters(self, request: Request) -> frozenset[str]:
        """A deletion says there what others say in their body."""
        return frozenset({"version", "reason"}) if request.method == "DELETE" else frozenset()

    @extend_schema(
        parameters=[
            OpenApiParameter("version", int, required=True, description="The version that you have read."),
            OpenApiParameter("reason", str, required=True, description="Why; it stands in the audit log."),
        ],
        responses={204: None},
    )
    def delete(self, request: Request, name: str, pk: int) -> Response:
        """Throw a draft away."""
        draft = self.get_object()
        _, sent = self.sent(DraftRemovalSerializer, query=True)
        with changing():
            service.delete_draft(draft=draft, version=sent["version"], **self.by(sent))
        return Response(status=204)


class DraftActivation(Changing):
    """Putting a draft in force."""

    queryset = PolicyDraft.objects.all()
    serializer_class = PolicySerializer
    further_errors: ClassVar = {"POST": {409}}

    @extend_schema(request=DraftActivationSerializer, responses={200: PolicySerializer})
    def post(self, request: Request, name: str, pk: int) -> Response:
        """Put a draft in force as the next revision; the draft is gone then."""
        draft = get_object_or_404(self.partition.drafts, pk=pk)
        _, sent = self.sent(DraftActivationSerializer)
        with changing():
            revision = service.activate_draft(
                draft=draft, version=sent["version"], based_on=sent["based_on"], **self.by(sent)
            )
        return Response(self.get_serializer(revision).data)


class RevisionRollback(Changing):
    """Going back to an earlier revision."""

    queryset = PolicyRevision.objects.all()
    serializer_class = PolicySerializer
    further_errors: ClassVar = {"POST": {409}}

    @extend_schema(request=BasedOnSerializer, responses={200: PolicySerializer})
    def post(self, request: Request, name: str, number: int) -> Response:
        """Put an earlier revision in force again, as the next revision."""
        get_object_or_404(self.partition.revisions, number=number)
        partition, sent = self.sent(BasedOnSerializer)
        with changing():
            revision = service.roll_back(
                partition=partition, number=number, based_on=sent["based_on"], **self.by(sent)
            )
        return Response(self.get_serializer(revision).data)


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
        rows = [
            {"path": each.path, "change": each.change.value, "before": each.before, "after": each.after}
            for each in found
        ]
        return Response({"differences": rows})

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
