"""Projects that managers propose, and what became of them."""

from dataclasses import replace
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList, ApiView
from console.api.changes import ReasonSerializerField, changing
from console.api.errors import ConflictError
from console.api.project_fields import ProjectFieldsSerializer, ProjectKeysSerializer, settings_from
from console.api.strict import valid
from console.projects.changing import AlreadyDecidedError
from console.projects.models import ProjectProposal, RequestState
from console.projects.proposals import accept, propose, proposed_data, take_back, turn_down
from console.projects.selectors import visible_proposals
from console.projects.services import By, ProjectData

ACCEPT, REJECT, WITHDRAW = "accept", "reject", "withdraw"


class ProposedProjectSerializer(ProjectFieldsSerializer):
    """A project as the priority file has it."""


class ProposalSerializer(serializers.ModelSerializer):
    """A project that a manager proposes, and what became of it."""

    project = ProposedProjectSerializer(source="document", help_text="What is proposed.")
    became = ProposedProjectSerializer(allow_null=True, help_text="What it was accepted as.")
    state = serializers.ChoiceField(choices=RequestState.choices)

    class Meta:
        model = ProjectProposal
        fields: ClassVar = [
            "id", "code", "project", "share", "became", "state", "asked_by", "asked_at", "reason", "decided_by",
            "decided_at", "decision_reason",
        ]  # fmt: skip
        read_only_fields = fields


class NewProposalSerializer(ProjectFieldsSerializer):
    """The project that one would like to have, and why."""

    share = serializers.CharField(
        max_length=300,
        allow_blank=True,
        default="",
        help_text="Of which partitions it needs how much, in words.",
    )
    reason = ReasonSerializerField()


class ProposalChangeSerializer(ProjectKeysSerializer):
    """The keys that are to be other than proposed; a list given replaces the whole list."""


class ProposalDecisionSerializer(serializers.Serializer):
    """An administrator accepts, perhaps changed, or rejects; whoever proposed it withdraws."""

    decision = serializers.ChoiceField(choices=[ACCEPT, REJECT, WITHDRAW])
    changes = ProposalChangeSerializer(required=False, help_text="Only with `accept`.")
    reason = ReasonSerializerField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Changes go with `accept`, and with nothing else."""
        if attrs["decision"] != ACCEPT and "changes" in attrs:
            raise serializers.ValidationError({"changes": _("Go with accept, and only with it.")})
        return attrs


class ProposalFilter(FilterSet):
    """By state, code and who proposed it."""

    state = django_filters.ChoiceFilter(choices=RequestState.choices)
    code = django_filters.CharFilter()
    asked_by = django_filters.CharFilter()


class ProjectProposals:
    """What list, detail and decision share."""

    permission = Permission.PROJECT_VIEW
    queryset = ProjectProposal.objects.all()
    serializer_class: Any = ProposalSerializer
    person: Any
    cluster: Any

    def get_queryset(self) -> QuerySet[ProjectProposal]:
        """The own proposals, or all for who sees all projects, the newest first."""
        return visible_proposals(self.person).filter(cluster=self.cluster).order_by("-id")


class ProposalList(ProjectProposals, ApiList):
    """Proposals, the newest first."""

    filterset_class = ProposalFilter

    @extend_schema(request=NewProposalSerializer, responses={201: ProposalSerializer})
    def post(self, request: Request) -> Response:
        """Propose a project, for an administrator to accept or reject."""
        require_write(request, Permission.PROJECT_PROPOSE)
        sent = NewProposalSerializer(data=request.data)
        valid(sent, self.serializer_class)
        values = sent.validated_data
        with changing():
            made = propose(
                person=self.person,
                cluster=self.cluster,
                data=ProjectData(**settings_from(values)),
                share=values["share"],
                by=By(self.person.username, values["reason"], self.request_id),
            )
        return Response(self.get_serializer(made).data, status=status.HTTP_201_CREATED)


class ProposalDetail(ProjectProposals, ApiDetail):
    """One proposal."""


class ProposalDecision(ProjectProposals, ApiView):
    """The decision on a proposal."""

    further_errors: ClassVar = {"POST": {409}}

    @extend_schema(request=ProposalDecisionSerializer, responses={200: ProposalSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Accept, perhaps changed, reject or withdraw. One that does not wait any more is a conflict (409)."""
        found = self.get_object()
        # Who may do nothing here is told so before what is wrong with the body.
        if found.asked_by != self.person.username:
            require_write(request, Permission.REQUEST_DECIDE)
        sent = ProposalDecisionSerializer(data=request.data)
        valid(sent, self.serializer_class)
        try:
            with changing():
                self._decide(found, sent.validated_data)
        except AlreadyDecidedError as error:
            raise ConflictError(str(error)) from error
        found.refresh_from_db()
        return Response(ProposalSerializer(found).data)

    def _decide(self, found: ProjectProposal, sent: dict[str, Any]) -> None:
        by = By(self.person.username, sent["reason"], self.request_id)
        if sent["decision"] == WITHDRAW:
            take_back(proposal=found, by=by)
            return
        require_write(self.request, Permission.REQUEST_DECIDE)
        if sent["decision"] == REJECT:
            turn_down(proposal=found, by=by)
            return
        require_write(self.request, Permission.PROJECT_CREATE)
        changes = settings_from(sent.get("changes", {}))
        accept(proposal=found, data=replace(proposed_data(found), **changes), by=by)
