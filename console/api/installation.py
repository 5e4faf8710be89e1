"""The first minutes over the API: what the doctor and Slurm's accounting told, and invitations."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.models import Role
from console.accounts.permissions import Permission
from console.api import fields
from console.api.base import ApiView, ApiViewSet, changing
from console.api.partitions import PolicyDocumentSerializer
from console.core.diff import KeyDifference
from console.core.l10n_format import in_a_row
from console.health.doctor.findings import Finding
from console.partitions.models import Partition
from console.partitions.priority_file import allowed_to, export_config, import_config, require_import
from console.projects.models import Project, UrgencyBy
from console.setup import selectors
from console.setup.inviting import Guest, SpentError, invite, mail_invitation, withdraw
from console.setup.models import Invitation
from console.setup.services import request_examination

MOST_DAYS = 30
NO_PROMOTION = (
    "A token invites viewers only: whoever finds one must not become an administrator. Use the page."
)


class FindingSerializer(fields.DataclassSerializer):
    """One check, as `manage.py doctor --json` prints it."""

    dataclass = Finding
    level = serializers.ChoiceField(choices=[("OK", "OK"), ("WARN", "WARN"), ("FAIL", "FAIL")])


class SlurmAccountSerializer(serializers.Serializer):
    """A Slurm account that no project stands for: a body for `projects/` once it has its numbers."""

    name = serializers.CharField()
    below = serializers.CharField(source="parent", help_text="The account above it; empty: none.")
    users = fields.NamesField()
    jobs = serializers.IntegerField(help_text="Of the last week.")


class SetupSerializer(serializers.Serializer):
    """How far the set-up is. `waits`: somebody has asked for an examination, and the worker has not come to it."""

    done = serializers.DictField(child=serializers.BooleanField(), help_text="By step.")
    lacks = fields.NamesField(help_text="What is missing until anybody has a level, in sentences.")
    waits = serializers.BooleanField()
    examined_at = serializers.DateTimeField(allow_null=True)
    findings = FindingSerializer(many=True)
    accounting = serializers.BooleanField(help_text="Whether Slurm keeps accounting here.")
    accounting_fault = serializers.CharField(allow_blank=True)
    unknown_accounts = SlurmAccountSerializer(many=True)
    partitions_without_levels = fields.NamesField()


class SetupView(ApiView):
    """What the pages of the first minutes show; administrators only."""

    permission = Permission.INSTALLATION_SET_UP
    serializer_class = SetupSerializer

    def get(self, request: Request) -> Response:
        """Steps, the doctor's findings, and the Slurm accounts that no project stands for."""
        return self._answer()

    @extend_schema(operation_id="setup_examine", request=None, responses=SetupSerializer)
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


class InvitationSerializer(fields.RowSerializer):
    """An open invitation, without its link."""

    role = serializers.ChoiceField(choices=Role.choices)

    class Meta:
        model = Invitation
        fields: ClassVar = ["id", "username", "role", "email", "invited_by", "created_at", "expires_at"]


class NewInvitationSerializer(InvitationSerializer):
    """`link` is shown this once; `mailed` is null where there is no address or e-mail is off."""

    link = serializers.CharField(read_only=True)
    mailed = serializers.BooleanField(allow_null=True, read_only=True)

    class Meta(InvitationSerializer.Meta):
        fields: ClassVar = ["link", "mailed", *InvitationSerializer.Meta.fields]


class GuestSerializer(serializers.Serializer):
    """Who is invited, and as what. `partitions` to administer, `projects` to manage, by name and code."""

    username = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(choices=Role.choices, default=Role.VIEWER)
    email = serializers.EmailField(required=False, allow_blank=True, default="")
    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS, default=7)
    partitions = serializers.ListField(child=serializers.CharField(max_length=64), default=list)
    projects = serializers.ListField(child=serializers.CharField(max_length=64), default=list)
    reason = fields.ReasonSerializerField()


class Invitations(ApiViewSet):
    """Invitations."""

    one = "One invitation."
    permission = Permission.INSTALLATION_SET_UP
    queryset = Invitation.objects.all()
    serializer_class = InvitationSerializer
    ending = frozenset({"reason"})

    def get_queryset(self) -> QuerySet[Invitation]:
        """Those that can still be used, the newest first."""
        return selectors.open_invitations()

    @extend_schema(request=GuestSerializer, responses={201: NewInvitationSerializer})
    def create(self, request: Request) -> Response:
        """Invite somebody. The link stands in this answer only. Roles above viewer take a browser's session."""
        values = self.sent(GuestSerializer)
        reason = values.pop("reason")
        if request.auth is not None and values["role"] != Role.VIEWER:
            raise PermissionDenied(NO_PROMOTION)
        partitions = Partition.objects.filter(cluster=self.cluster, revision__isnull=False)
        values["partitions"] = _named("partitions", partitions, "name", values["partitions"])
        projects = Project.objects.filter(cluster=self.cluster)
        values["projects"] = _named("projects", projects, "code", values["projects"])
        row, key = invite(guest=Guest(**values), reason=reason, **self.by)
        link = request.build_absolute_uri(f"/invitation/?key={key}")
        told = {**InvitationSerializer(row).data, "link": link, "mailed": mail_invitation(row, link)}
        return Response(told, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, parameters=[fields.ReasonSerializer], responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Take it back; its link counts no more."""
        sent = self.sent(fields.ReasonSerializer, query=True)
        try:
            withdraw(invitation=pk, **sent, **self.by)
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


# --- The priority file: export it, see what an import would change, import it.


class FileTaskSerializer(serializers.Serializer):
    """Job names with an importance or a level."""

    pattern = serializers.CharField()
    importance = serializers.FloatField(required=False)
    level = serializers.CharField(required=False, allow_null=True)
    one_request = serializers.BooleanField(required=False)
    elastic_min = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    elastic_wish = serializers.IntegerField(required=False, allow_null=True, min_value=1)


class FileProjectSerializer(serializers.Serializer):
    """A project's entry."""

    code = serializers.CharField()
    name = serializers.CharField(required=False, allow_blank=True)
    size = serializers.FloatField()
    grade = serializers.FloatField()
    urgency = serializers.FloatField()
    urgency_by = serializers.ChoiceField(choices=UrgencyBy.choices, required=False)
    deadline = serializers.DateField(required=False, allow_null=True)
    slurm_account = serializers.CharField(required=False, allow_blank=True)
    managers = fields.NamesField(required=False)
    members = fields.NamesField(required=False)
    tasks = FileTaskSerializer(many=True, required=False)


class FilePartitionSerializer(PolicyDocumentSerializer):
    """A partition's entry: its policy and who administers it."""

    name = serializers.CharField()
    admins = fields.NamesField(required=False)


class PriorityFileSerializer(serializers.Serializer):
    """The priority file (contract B). For the OpenAPI document: what is in a file is checked by its own reader."""

    schema = serializers.CharField(help_text="`giveway.config/1`")
    cluster = serializers.CharField()
    projects = FileProjectSerializer(many=True)
    partitions = FilePartitionSerializer(many=True)


@extend_schema_field(PriorityFileSerializer)
class PriorityFileField(fields.ObjectField):
    """A priority file."""


class ImportSerializer(serializers.Serializer):
    """A priority file to import, all or nothing. A dry run changes nothing and finds the same faults."""

    config = PriorityFileField()
    dry_run = serializers.BooleanField(default=False)
    reason = fields.ReasonSerializerField()


class DifferenceSerializer(fields.DataclassSerializer):
    """One key that differs."""

    dataclass = KeyDifference
    told: ClassVar = {"path": "`projects.alpha.urgency`"}
    text = serializers.CharField(source="__str__", help_text="The same in one line, for people.")


class ImportResultSerializer(serializers.Serializer):
    """What an import changed, or would change; what the file does not name is left as it is."""

    dry_run = serializers.BooleanField()
    differences = DifferenceSerializer(many=True)
    projects_left = fields.NamesField()
    partitions_left = fields.NamesField()


class ConfigView(ApiView):
    """The priority file of this cluster."""

    serializer_class = PriorityFileSerializer
    further_errors: ClassVar = {"GET": {404}}
    body_limit = "file"

    def known_parameters(self, request: Request) -> frozenset[str]:
        """Only an export is of one partition."""
        return frozenset({"partition"}) if request.method in {"GET", "HEAD"} else frozenset()

    @extend_schema(
        operation_id="config_export",
        parameters=[
            OpenApiParameter("partition", description="Only this partition's entry, without projects.")
        ],
    )
    def get(self, request: Request) -> Response:
        """The priority file as it is now. Importing it again changes nothing."""
        partition = None
        if (name := request.query_params.get("partition")) is not None:
            partition = get_object_or_404(self.partitions(), name=name)
        if not self.person.has_perm(Permission.CONFIG_EXPORT, partition):
            raise Http404
        return Response(export_config(self.cluster, partition))

    @extend_schema(
        operation_id="config_import", request=ImportSerializer, responses={200: ImportResultSerializer}
    )
    def post(self, request: Request) -> Response:
        """Import a priority file, or see with `dry_run` what importing it would change.

        Who administers partitions, and not the installation, imports those, with their administrators as they are.
        """
        require_import(request)
        values = self.sent(ImportSerializer)
        with changing("config"):
            result = import_config(
                cluster=self.cluster,
                document=values["config"],
                reason=values["reason"],
                dry_run=values["dry_run"],
                **self.by,
                allowed=allowed_to(self.person),
            )
        return Response(ImportResultSerializer(result).data)
