"""When a job would start that nobody has submitted: asked here, answered by the next look at the queue."""

from typing import ClassVar

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiView
from console.api.changes import reading
from console.api.errors import ConflictError
from console.api.fields import EpochField, ObjectField
from console.api.strict import valid
from console.partitions.selectors import visible_partitions
from console.starts.expecting import MOST_OPEN, TooManyQuestionsError, ask
from console.starts.models import StartQuestion
from scheduler.contracts.requests import decode_request

MOST_LIMIT_S = 366 * 86_400


class StartQuestionSerializer(serializers.ModelSerializer):
    """A question and its answer, which is null until `answered_at`.

    Nine starts in ten are meant to lie between `low` and `high`. All are null in an answer where no start is in sight:
    too few nodes of the partition are large enough, or they are taken for as long as can be seen.
    """

    request = ObjectField()
    p50 = EpochField(help_text="The middle of what is expected.")
    low = EpochField()
    high = EpochField(help_text="Null where the end is open.")
    nodes = serializers.ListField(child=serializers.CharField(), help_text="Where, as it looks now.")

    class Meta:
        model = StartQuestion
        fields: ClassVar = [
            "id",
            "partition",
            "user",
            "account",
            "request",
            "time_limit_s",
            "asked_at",
            "answered_at",
            "p50",
            "low",
            "high",
            "nodes",
            "level",
        ]
        read_only_fields = fields
        extra_kwargs: ClassVar = {
            "user": {"help_text": "As whom it would be submitted: the asker's own user."},
            "level": {"help_text": "The levels that it would have; empty: none is configured."},
        }


class NewStartQuestionSerializer(serializers.Serializer):
    """A job that might be submitted. It is taken to run for its whole time limit."""

    partition = serializers.CharField(max_length=64)
    account = serializers.CharField(max_length=64, default="", allow_blank=True)
    request = ObjectField(
        help_text='As in a snapshot: `{"nodes": 4, "per_node": {"cpu": 8, "gpu": 2}}`, or `{"spread": {"cpu": 8}}`.'
    )
    time_limit_s = serializers.IntegerField(min_value=60, max_value=MOST_LIMIT_S)


class StartQuestionList(ApiView):
    """Questions when a job would start."""

    permission = Permission.JOB_VIEW
    queryset = StartQuestion.objects.all()
    serializer_class = StartQuestionSerializer
    further_errors: ClassVar = {"POST": {409}}

    @extend_schema(request=NewStartQuestionSerializer, responses={201: StartQuestionSerializer})
    def post(self, request: Request) -> Response:
        """Ask for one's own user. The answer is there after some seconds, and for an hour."""
        sent = NewStartQuestionSerializer(data=request.data)
        valid(sent, NewStartQuestionSerializer)
        asked = sent.validated_data
        names = visible_partitions(self.person).filter(cluster=self.cluster).values_list("name", flat=True)
        if asked["partition"] not in names:
            raise ValidationError(
                {"partition": [_("There is no such partition, or it is not yours to see.")]}
            )
        with reading():
            wanted = decode_request(asked["request"], "request")
        try:
            question = ask(
                cluster=self.cluster,
                person=self.person,
                partition=asked["partition"],
                account=asked["account"],
                request=wanted,
                time_limit_s=asked["time_limit_s"],
            )
        except TooManyQuestionsError as error:
            raise ConflictError(
                _("%(n)s of your questions wait for an answer. Ask again in a minute.") % {"n": MOST_OPEN},
                code="too_many",
            ) from error
        return Response(StartQuestionSerializer(question).data, status=status.HTTP_201_CREATED)


class StartQuestionDetail(ApiDetail):
    """One question, to who asked it."""

    permission = Permission.JOB_VIEW
    queryset = StartQuestion.objects.all()
    serializer_class = StartQuestionSerializer

    def get_queryset(self) -> QuerySet[StartQuestion]:
        """The asker's own."""
        return StartQuestion.objects.filter(cluster=self.cluster, asked_by=self.person)
