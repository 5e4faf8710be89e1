"""The first minutes over the API: what the doctor and Slurm's accounting told, and invitations."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.models import Role
from console.accounts.permissions import Permission
from console.api.base import ApiDetail, ApiList, ApiView
from console.api.changes import ReasonSerializerField
from console.api.dataclasses import DataclassSerializer
from console.api.strict import valid
from console.core.l10n_format import in_a_row
from console.health.doctor.findings import Finding
from console.partitions.models import Partition
from console.projects.models import Project
from console.setup import selectors
from console.setup.inviting import Guest, SpentError, invite, mail_invitation, withdraw
from console.setup.models import Examination, Invitation
from console.setup.services import request_examination

MOST_DAYS = 30
NO_PROMOTION = (
    "A token invites viewers only: whoever finds one must not become an administrator. Use the page."
)


class FindingSerializer(DataclassSerializer):
    """One check, as `manage.py doctor --json` prints it."""

    dataclass = Finding
    level = serializers.ChoiceField(choices=[("OK", "OK"), ("WARN", "WARN"), ("FAIL", "FAIL")])


class SlurmAccountSerializer(serializers.Serializer):
    """A Slurm account that no project stands for: a body for `projects/` once it has its numbers."""

    name = serializers.CharField()
    below = serializers.CharField(source="parent", help_text="The account above it; empty: none.")
    users = serializers.ListField(child=serializers.CharField())
    jobs = serializers.IntegerField(help_text="Of the last week.")


class SetupSerializer(serializers.Serializer):
    """How far the set-up is. `waits`: somebody has asked for an examination, and the worker has not come to it."""

    done = serializers.DictField(child=serializers.BooleanField(), help_text="By step.")
    lacks = serializers.ListField(
        child=serializers.CharField(), help_text="What is missing until anybody has a level, in sentences."
    )
    waits = serializers.BooleanField()
    examined_at = serializers.DateTimeField(allow_null=True)
    findings = FindingSerializer(many=True)
    accounting = serializers.BooleanField(help_text="Whether Slurm keeps accounting here.")
    accounting_fault = serializers.CharField(allow_blank=True)
    unknown_accounts = SlurmAccountSerializer(many=True)
    partitions_without_levels = serializers.ListField(child=serializers.CharField())


class SetupView(ApiView):
    """What the pages of the first minutes show; administrators only."""

    permission = Permission.INSTALLATION_SET_UP
    queryset = Examination.objects.all()
    serializer_class = SetupSerializer

    @extend_schema(operation_id="setup_retrieve")
    def get(self, request: Request) -> Response:
        """Steps, the doctor's findings, and the Slurm accounts that no project stands for."""
        return self._answer()

    @extend_schema(request=None, responses=SetupSerializer, operation_id="setup_examine")
    def post(self, request: Request) -> Response:
        """Have the worker examine the installation and ask Slurm's accounting; it answers within seconds."""
        request_examination(self.cluster)
        return self._answer()

    def _answer(self) -> Response:
        found, told = selectors.examination(self.cluster), selectors.accounting(self.cluster)
        steps = selectors.steps(self.cluster)
        return Response(
            SetupSerializer(
                {
                    "done": {step.key: step.done for step in steps},
                    "lacks": [lack.what for step in steps if step.key == "import" for lack in step.lacks],
                    "waits": found is None or found.waits,
                    "examined_at": found.examined_at if found else None,
                    "findings": found.told if found else [],
                    "accounting": told.kept,
                    "accounting_fault": told.fault,
                    "unknown_accounts": selectors.unknown_accounts(self.cluster, told),
                    "partitions_without_levels": [row.name for row in selectors.without_levels(self.cluster)],
                }
            ).data
        )


class InvitationSerializer(serializers.ModelSerializer):
    """An open invitation, without its link."""

    role = serializers.ChoiceField(choices=Role.choices)

    class Meta:
        model = Invitation
        fields: ClassVar = ["id", "username", "role", "email", "invited_by", "created_at", "expires_at"]
        read_only_fields = fields


class NewInvitationSerializer(InvitationSerializer):
    """`link` is shown this once; `mailed` is null where there is no address or e-mail is off."""

    link = serializers.CharField(read_only=True)
    mailed = serializers.BooleanField(allow_null=True, read_only=True)

    class Meta(InvitationSerializer.Meta):
        fields: ClassVar = ["link", "mailed", *InvitationSerializer.Meta.fields]
        read_only_fields = fields


class GuestSerializer(serializers.Serializer):
    """Who is invited, and as what. `partitions` to administer, `projects` to manage, by name and code."""

    username = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(choices=Role.choices, default=Role.VIEWER)
    email = serializers.EmailField(required=False, allow_blank=True, default="")
    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS, default=7)
    partitions = serializers.ListField(child=serializers.CharField(max_length=64), default=list)
    projects = serializers.ListField(child=serializers.CharField(max_length=64), default=list)
    reason = ReasonSerializerField()


class WithdrawalSerializer(serializers.Serializer):
    """The query parameters of a withdrawal: it has no body."""

    reason = ReasonSerializerField()


class OpenInvitations:
    """Those that can still be used; for administrators."""

    permission = Permission.INSTALLATION_SET_UP
    queryset = Invitation.objects.all()
    serializer_class = InvitationSerializer

    def get_queryset(self) -> QuerySet[Invitation]:
        """The newest first."""
        return selectors.open_invitations()


class InvitationList(OpenInvitations, ApiList):
    """Invitations."""

    @extend_schema(request=GuestSerializer, responses={201: NewInvitationSerializer})
    def post(self, request: Request) -> Response:
        """Invite somebody. The link stands in this answer only. Roles above viewer take a browser's session."""
        sent = GuestSerializer(data=request.data)
        valid(sent, self.serializer_class)
        values: dict[str, Any] = dict(sent.validated_data)
        reason = values.pop("reason")
        if request.auth is not None and values["role"] != Role.VIEWER:
            raise PermissionDenied(NO_PROMOTION)
        partitions = Partition.objects.filter(cluster=self.cluster, revision__isnull=False)
        values["partitions"] = _named("partitions", partitions, "name", values["partitions"])
        projects = Project.objects.filter(cluster=self.cluster)
        values["projects"] = _named("projects", projects, "code", values["projects"])
        try:
            row, key = invite(
                actor=self.person.username, guest=Guest(**values), reason=reason, request_id=self.request_id
            )
        except DjangoValidationError as error:
            raise ValidationError(error.message_dict) from None
        link = request.build_absolute_uri(f"/invitation/?key={key}")
        told = {**InvitationSerializer(row).data, "link": link, "mailed": mail_invitation(row, link)}
        return Response(told, status=status.HTTP_201_CREATED)


class InvitationDetail(OpenInvitations, ApiDetail):
    """One invitation."""

    def known_parameters(self, request: Request) -> frozenset[str]:
        """A withdrawal carries its reason in the address."""
        return frozenset({"reason"}) if request.method == "DELETE" else frozenset()

    @extend_schema(request=None, parameters=[WithdrawalSerializer], responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Take it back; its link counts no more."""
        sent = WithdrawalSerializer(data=request.query_params)
        valid(sent, self.serializer_class)
        try:
            withdraw(
                actor=self.person.username,
                invitation=pk,
                reason=sent.validated_data["reason"],
                request_id=self.request_id,
            )
        except SpentError:
            raise Http404(_("This invitation was used or has ended already.")) from None
        return Response(status=status.HTTP_204_NO_CONTENT)


def _named(field: str, rows: QuerySet[Any], label: str, names: list[str]) -> tuple[Any, ...]:
    """The rows of these names. Raises `ValidationError` for those that there are not."""
    found = {getattr(row, label): row for row in rows.filter(**{f"{label}__in": names})}
    if missing := sorted(set(names) - found.keys()):
        said = _("There is no %(names)s here.") % {"names": in_a_row(missing)}
        raise ValidationError({field: [said]})
    return tuple(found.values())
