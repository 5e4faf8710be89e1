"""Why a job waits or was stopped, for its owner: the answer that the job's page shows, for programs."""

from typing import Any, ClassVar

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.dataclasses import DataclassSerializer
from console.cluster.models import Job
from console.core import clock
from console.steering.explanations import Stage, tasks_of, why
from console.steering.explanations.answer import AnsweredStop, AnswerLine, AnswerPart, Return

STAGES = [(stage.value, stage.value) for stage in Stage]
TASKS_NAMED = 5


class WhyLineSerializer(DataclassSerializer):
    """A sentence, and the moment that it speaks of, if any."""

    dataclass = AnswerLine


class WhyPartSerializer(DataclassSerializer):
    """One question's answer."""

    dataclass = AnswerPart
    only = ("about", "headline", "plan")
    told: ClassVar = {
        "plan": "The plan that it speaks of.",
    }
    lines = WhyLineSerializer(many=True)


class WhyStopSerializer(DataclassSerializer):
    """One stop of the job, to make room for another."""

    dataclass = AnsweredStop
    told: ClassVar = {
        "job_id": "For which job.",
        "user": "Whose that is.",
        "at": "When it was done; null: not yet, or never.",
        "stage": "How far the job is on its way back.",
        "saved": "What the job says that it saved.",
    }


class WhyReturnSerializer(DataclassSerializer):
    """When a stopped job comes back."""

    dataclass = Return


class WhySerializer(serializers.Serializer):
    """The answer. `lines` are all sentences after the headline as plain text; `parts` are the same in their order."""

    job_id = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    user = serializers.CharField(allow_blank=True)
    partitions = serializers.ListField(child=serializers.CharField())
    state = serializers.CharField(
        help_text="`pending`, `held`, `running`, `completing`, `ended`, or `forgotten` by the cluster."
    )
    headline = serializers.CharField()
    lines = serializers.SerializerMethodField()
    parts = WhyPartSerializer(many=True)
    plan = serializers.IntegerField(allow_null=True, help_text="The plan that matters now.")
    stopped_by = WhyStopSerializer(many=True, help_text="The latest first.")
    comes_back = WhyReturnSerializer(allow_null=True, help_text="After the latest stop; null: never stopped.")
    stops = serializers.IntegerField(help_text="How often it was stopped so far.")
    most_stops = serializers.IntegerField(allow_null=True, help_text="Then it is protected.")

    def get_lines(self, answer: Any) -> list[str]:
        """Sentences with their moments in words."""
        lines: list[str] = answer.lines(clock.now())
        return lines


class JobWhy(ApiView):
    """Why a job waits, why it was stopped, for whom and by which rule, and when it comes back."""

    permission = Permission.JOB_VIEW
    queryset = Job.objects.all()
    serializer_class = WhySerializer

    @extend_schema(responses=WhySerializer, operation_id="jobs_why_retrieve")
    def get(self, request: Request, job_id: str) -> Response:
        """The answer for one job or one task of an array (`41_2`), also when the cluster has forgotten it."""
        answer = why(self.cluster, job_id)
        if answer is None:
            tasks = tasks_of(self.cluster, job_id)
            if tasks:
                some = ", ".join(tasks[:TASKS_NAMED])
                text = _("%(job)s is a job array; ask about one of its tasks: %(some)s.")
                raise Http404(text % {"job": job_id, "some": some})
            raise Http404(_("Giveway knows no such job."))
        return Response(self.get_serializer(answer).data)
