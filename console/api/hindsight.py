"""What the last month would have been with a partition's policy: asking, the answer that is kept, and a file of it."""

from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_read, require_write
from console.accounts.permissions import Permission
from console.api.audit_export import AnyAnswer
from console.api.base import ApiView
from console.api.changes import changing, reading
from console.api.errors import ConflictError
from console.api.policies import OfPartition, PolicyDocumentField
from console.api.strict import valid
from console.api.studies import Studies, WholeStudySerializer
from console.history.changes import policy_change
from console.history.hindsight.asking import (
    SPANS,
    USUAL,
    ask_hindsight,
    days_known,
    newest_done,
)
from console.history.hindsight.wording import as_csv
from console.history.models import StudyKind
from console.history.what_if import NotNowError
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from scheduler.contracts.config import decode_policy
from scheduler.model.policy import PartitionPolicy


class KeptHindsightSerializer(serializers.Serializer):
    """How far back finished jobs are known, and the last answer about the policy in force; null until there is one."""

    days_known = serializers.IntegerField()
    study = WholeStudySerializer(allow_null=True)


class AskHindsightSerializer(serializers.Serializer):
    """`days` of finished jobs, with the policy in force or a whole other one."""

    days = serializers.IntegerField(default=USUAL, min_value=1, max_value=max(SPANS))
    policy = PolicyDocumentField(required=False)


class PartitionHindsight(OfPartition):
    """Finished jobs of a partition, simulated without Giveway and with a policy."""

    serializer_class = KeptHindsightSerializer
    further_errors: ClassVar = {"POST": {409}}

    def get(self, request: Request, name: str) -> Response:
        """The last answer about the policy in force."""
        partition = self.with_policy()
        found = {"days_known": days_known(partition), "study": newest_done(partition)}
        return Response(KeptHindsightSerializer(found).data)

    @extend_schema(request=AskHindsightSerializer, responses={201: WholeStudySerializer})
    def post(self, request: Request, name: str) -> Response:
        """Ask; a worker simulates. Whoever may change the policy may ask; the same open question is not put twice."""
        partition = self.with_policy()
        require_write(request, Permission.POLICY_CHANGE, partition)
        sent = AskHindsightSerializer(data=request.data)
        valid(sent, WholeStudySerializer)
        try:
            study = ask_hindsight(
                actor=self.person.username,
                partition=partition,
                policy=self._policy(partition, sent.validated_data.get("policy")),
                days=sent.validated_data["days"],
                request_id=self.request_id,
            )
        except NotNowError as error:
            raise ConflictError(str(error), code="not_now") from error
        return Response(WholeStudySerializer(study).data, status=status.HTTP_201_CREATED)

    def with_policy(self) -> Partition:
        """The partition, which has a policy."""
        partition = self.partition
        if partition.revision is None:
            raise Http404
        return partition

    def _policy(self, partition: Partition, sent: dict[str, Any] | None) -> PartitionPolicy:
        if sent is None:
            return policy_of(partition)
        with reading("policy"):
            policy = decode_policy({"name": partition.name, **sent})
        with changing("policy"):
            return policy_change(partition, policy).policies[partition.name]


class StudyFile(Studies, ApiView):
    """The answer about finished jobs as a file: a line for all, each level and each project."""

    content_negotiation_class = AnyAnswer

    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.BYTE})
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Waits in seconds, work in hours by resource; safe to open as a spreadsheet."""
        done = self.get_queryset().filter(kind=StudyKind.HINDSIGHT, result__isnull=False)
        study = get_object_or_404(done, pk=pk)
        require_read(request, Permission.STUDY_VIEW, study)
        return HttpResponse(
            as_csv(study.result or {}),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="giveway-study-{study.pk}.csv"'},
        )
