"""The audit log as a file, over the API."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request

from console.accounts.permissions import Permission
from console.api.audit import AuditFilter
from console.api.base import ApiView
from console.audit.exporting import FORMATS, export
from console.audit.models import AuditEntry
from console.audit.selectors import visible_entries
from console.core.l10n_format import in_a_row

KIND = "kind"
USUAL = "jsonl"


class AnyAnswer(BaseContentNegotiation):
    """`kind` says what comes, not `Accept`; a refusal is JSON all the same."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        """The first one."""
        return renderers[0], renderers[0].media_type

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Nothing is sent here."""
        return parsers[0]


class AuditExport(ApiView):
    """All rows that fit the filter, the oldest first. The export itself becomes a row of the log."""

    permission = Permission.AUDIT_VIEW
    queryset = AuditEntry.objects.all()
    filterset_class: ClassVar[type[FilterSet]] = AuditFilter
    content_negotiation_class = AnyAnswer
    parameters = frozenset({KIND, *AuditFilter.base_filters})

    def get_queryset(self) -> QuerySet[AuditEntry]:
        """As far as they are this account's to read."""
        return visible_entries(self.person)

    @extend_schema(
        parameters=[OpenApiParameter(KIND, enum=list(FORMATS), default=USUAL)],
        filters=True,
        responses={
            (200, "application/x-ndjson"): OpenApiTypes.BYTE,
            (200, "text/csv"): OpenApiTypes.BYTE,
        },
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """The file. JSON Lines has every field as it was hashed; CSV is safe to open as a spreadsheet.

        The filters are those of the list. What is added while the file is read is not in it.
        """
        if request.headers.get("Sec-Fetch-Site") == "cross-site":
            # A link elsewhere must not put an export into the log in the name of whoever follows it.
            raise PermissionDenied(_("Begin the export from the console itself, or with a token."))
        kind = request.query_params.get(KIND, USUAL)
        if kind not in FORMATS:
            raise ValidationError({KIND: [_("Must be one of %(words)s.") % {"words": in_a_row(FORMATS)}]})
        rows = self.filter_queryset(self.get_queryset())
        wanted = {name: value for name, value in request.query_params.items() if value and name != KIND}
        return export(rows, wanted, kind, actor=self.person.username, request_id=self.request_id)
