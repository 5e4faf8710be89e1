"""The priority file: export it, see what an import would change, import it."""

from typing import Any, ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.changes import ReasonSerializerField, changing
from console.api.dataclasses import DataclassSerializer
from console.api.fields import ObjectField
from console.api.policy_document import PolicyDocumentSerializer
from console.api.strict import valid
from console.core.diff import KeyDifference
from console.partitions.models import Partition
from console.partitions.priority_file import allowed_to, export_config, import_config, require_import
from console.partitions.selectors import visible_partitions
from console.projects.models import UrgencyBy


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
    managers = serializers.ListField(child=serializers.CharField(), required=False)
    members = serializers.ListField(child=serializers.CharField(), required=False)
    tasks = FileTaskSerializer(many=True, required=False)


class FilePartitionSerializer(PolicyDocumentSerializer):
    """A partition's entry: its policy and who administers it."""

    name = serializers.CharField()
    admins = serializers.ListField(child=serializers.CharField(), required=False)


class PriorityFileSerializer(serializers.Serializer):
    """The priority file (contract B). For the OpenAPI document: what is in a file is checked by its own reader."""

    schema = serializers.CharField(help_text="`giveway.config/1`")
    cluster = serializers.CharField()
    projects = FileProjectSerializer(many=True)
    partitions = FilePartitionSerializer(many=True)


@extend_schema_field(PriorityFileSerializer)
class PriorityFileField(ObjectField):
    """A priority file."""


class ImportSerializer(serializers.Serializer):
    """A priority file to import, all or nothing. A dry run changes nothing and finds the same faults."""

    config = PriorityFileField()
    dry_run = serializers.BooleanField(default=False)
    reason = ReasonSerializerField()


class DifferenceSerializer(DataclassSerializer):
    """One key that differs."""

    dataclass = KeyDifference
    told: ClassVar = {
        "path": "`projects.alpha.urgency`",
    }
    text = serializers.CharField(source="__str__", help_text="The same in one line, for people.")


class ImportResultSerializer(serializers.Serializer):
    """What an import changed, or would change; what the file does not name is left as it is."""

    dry_run = serializers.BooleanField()
    differences = DifferenceSerializer(many=True)
    projects_left = serializers.ListField(child=serializers.CharField())
    partitions_left = serializers.ListField(child=serializers.CharField())


class ConfigView(ApiView):
    """The priority file of this cluster."""

    queryset = Partition.objects.none()
    serializer_class = PriorityFileSerializer
    further_errors: ClassVar = {"GET": {404}}
    body_limit = "file"

    def known_parameters(self, request: Request) -> frozenset[str]:
        """Only an export is of one partition."""
        return frozenset({"partition"}) if request.method in {"GET", "HEAD"} else frozenset()

    @extend_schema(
        parameters=[
            OpenApiParameter("partition", description="Only this partition's entry, without projects.")
        ],
        operation_id="config_export",
    )
    def get(self, request: Request) -> Response:
        """The priority file as it is now. Importing it again changes nothing."""
        partition = None
        if (name := request.query_params.get("partition")) is not None:
            partition = get_object_or_404(visible_partitions(self.person), cluster=self.cluster, name=name)
        if not self.person.has_perm(Permission.CONFIG_EXPORT, partition):
            raise Http404
        return Response(export_config(self.cluster, partition))

    @extend_schema(
        request=ImportSerializer, responses={200: ImportResultSerializer}, operation_id="config_import"
    )
    def post(self, request: Request) -> Response:
        """Import a priority file, or see with `dry_run` what importing it would change.

        Who administers partitions, and not the installation, imports those, with their administrators as they are.
        """
        require_import(request)
        sent = ImportSerializer(data=request.data)
        valid(sent, self.serializer_class)
        values: dict[str, Any] = sent.validated_data
        with changing("config"):
            result = import_config(
                actor=self.person.username,
                cluster=self.cluster,
                document=values["config"],
                reason=values["reason"],
                dry_run=values["dry_run"],
                request_id=self.request_id,
                allowed=allowed_to(self.person),
            )
        return Response(ImportResultSerializer(result).data)
