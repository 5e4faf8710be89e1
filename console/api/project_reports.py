"""Where a project's people and job names stand, and what became of its jobs."""

from dataclasses import asdict
from typing import Any, ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.dataclasses import DataclassSerializer
from console.api.reports import days_asked
from console.api.work import WorkSerializer, work_data
from console.projects.models import Project
from console.projects.selectors import visible_projects
from console.reports.levels import MemberLevel, PartitionStanding, PatternLevel, project_levels
from console.reports.project_work import DAYS, MOST_DAYS, ProjectStops, ProjectWaits, project_work


class MemberLevelSerializer(DataclassSerializer):
    """A member's level, 0 the highest, null unconfigured; where it came from, and the jobs that are there."""

    dataclass = MemberLevel


class PatternLevelSerializer(DataclassSerializer):
    """The task level of a job whose name fits a pattern; `sample` is the name that was asked about."""

    dataclass = PatternLevel


class StandingSerializer(DataclassSerializer):
    """The levels in one partition."""

    dataclass = PartitionStanding
    members = MemberLevelSerializer(many=True)
    patterns = PatternLevelSerializer(many=True)


class StandingsSerializer(serializers.Serializer):
    """The levels in each partition."""

    partitions = StandingSerializer(many=True)


class WaitsSerializer(DataclassSerializer):
    """How long jobs waited, from submission on."""

    dataclass = ProjectWaits


class StoppedSerializer(serializers.Serializer):
    """Runs that were stopped, the work lost with them, and what checkpoints kept."""

    runs = serializers.IntegerField()
    work_lost = WorkSerializer()
    work_kept = WorkSerializer()


class ProjectWorkSerializer(serializers.Serializer):
    """What a project ran, waited, lost and gained. `helped`: jobs that started because others were stopped."""

    since = serializers.DateTimeField()
    ran = WorkSerializer()
    ran_jobs = serializers.IntegerField()
    started = WaitsSerializer()
    waiting = WaitsSerializer()
    stopped = StoppedSerializer()
    helped = serializers.IntegerField()
    others_stopped = StoppedSerializer()


class OfProject(ApiView):
    """What hangs on a project: 404 for who may not see that."""

    permission = Permission.PROJECT_VIEW
    queryset = Project.objects.all()

    def project(self, code: str) -> Project:
        """The project of the address, if this account may see it."""
        return get_object_or_404(visible_projects(self.person).filter(cluster=self.cluster), code=code)


class ProjectLevels(OfProject):
    """A project's levels."""

    serializer_class = StandingsSerializer

    @extend_schema(operation_id="projects_levels_retrieve")
    def get(self, request: Request, code: str) -> Response:
        """The levels of its members and task patterns in each partition, as the next cycle will find them."""
        return Response({"partitions": [asdict(each) for each in project_levels(self.project(code))]})


class ProjectWorkView(OfProject):
    """A project's work."""

    serializer_class = ProjectWorkSerializer
    parameters: ClassVar = frozenset({"days"})

    @extend_schema(
        parameters=[
            OpenApiParameter("days", OpenApiTypes.INT, description=f"How far back, 1 to {MOST_DAYS}.")
        ],
        operation_id="projects_work_retrieve",
    )
    def get(self, request: Request, code: str) -> Response:
        """What it ran, waited, lost by being stopped and gained in the last days."""
        found = project_work(self.project(code), days_asked(request, DAYS, MOST_DAYS))
        return Response(
            {
                "since": serializers.DateTimeField().to_representation(found.since),
                "ran": work_data(found.ran),
                "ran_jobs": found.ran_jobs,
                "started": asdict(found.started),
                "waiting": asdict(found.waiting),
                "stopped": _stopped(found.stopped),
                "helped": found.helped,
                "others_stopped": _stopped(found.others),
            }
        )


def _stopped(each: ProjectStops) -> dict[str, Any]:
    return {"runs": each.runs, "work_lost": work_data(each.lost), "work_kept": work_data(each.kept)}
