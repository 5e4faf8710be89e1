"""The audit log: who did what, when and why. Reading only; rows are written by the services themselves."""

from datetime import datetime
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.http import Http404, QueryDict, StreamingHttpResponse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_read
from console.accounts.permissions import Permission
from console.api.base import ApiList, ApiView, ApiViewSet
from console.api.fields import AnyJsonField, DataclassSerializer, MomentFilter, NamesField, RowSerializer
from console.audit.checks import ChainState, chain_state, check_all
from console.audit.exporting import FORMATS, export
from console.audit.forms import LogFilter
from console.audit.models import AuditEntry, ChainCheck, CheckKind, SavedSearch
from console.audit.search import ITSELF, PEOPLE, containing, done_by, forget_search, keep_search
from console.audit.selectors import visible_entries
from console.core.fields import within_time
from console.core.l10n_format import in_a_row
from console.reports.histories import History, HistoryMoment, HistorySpan, job_history, project_history


class AuditSerializer(RowSerializer):
    """One row. `hash` covers the row and `previous_hash`, the hash of the row before it."""

    before = AnyJsonField(read_only=True)
    after = AnyJsonField(read_only=True)

    class Meta:
        model = AuditEntry
        fields: ClassVar = [
            "sequence", "at", "actor", "action", "object_type", "object_id", "object_label", "cluster",
            "partition", "project", "job_id", "before", "after", "reason", "cycle", "plan", "policy_revision",
            "request_id", "previous_hash", "hash",
        ]  # fmt: skip


class AuditFilter(FilterSet):
    """By who, what, when and about what."""

    actor = django_filters.CharFilter(label="Account name, or `giveway` for the system itself.")
    since = MomentFilter(field_name="at", lookup_expr="gte")
    until = MomentFilter(field_name="at", lookup_expr="lt")
    ordering = django_filters.OrderingFilter(fields=["sequence"])
    by = django_filters.ChoiceFilter(
        method="with_whom",
        choices=[(PEOPLE, PEOPLE), (ITSELF, ITSELF)],
        label="What people did, or `giveway` by itself.",
    )
    text = django_filters.CharFilter(method="with_words", label="Words anywhere in the row.")

    class Meta:
        model = AuditEntry
        fields: ClassVar = [
            "actor", "action", "object_type", "object_id", "cluster", "partition", "project", "job_id",
            "cycle", "plan", "request_id", "since", "until", "ordering", "by", "text",
        ]  # fmt: skip

    def with_words(self, rows: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        """As the page looks for them."""
        return rows.filter(containing(value))

    def with_whom(self, rows: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        """As the page has it."""
        return done_by(rows, value)


class AuditEntries(ApiViewSet):
    """The rows that this account may read, the latest first."""

    one = "One row by its number."
    permission = Permission.AUDIT_VIEW
    queryset = AuditEntry.objects.all()
    serializer_class = AuditSerializer
    filterset_class = AuditFilter
    lookup_field = "sequence"

    def get_queryset(self) -> QuerySet[AuditEntry]:
        """Whole log for who reads everything; rows about one's own partitions and projects otherwise."""
        return visible_entries(self.person).order_by("-sequence")


# --- The state of the audit log's chain, and the searches that people keep.


class CheckSerializer(RowSerializer):
    """One look at the chain. `last`: rows are good up to this one; `faults`: the first broken row first."""

    kind = serializers.ChoiceField(
        choices=[(kind.value, kind.value) for kind in CheckKind], help_text="`full`, or only `new` rows."
    )
    faults = NamesField()
    notes = NamesField()

    class Meta:
        model = ChainCheck
        fields: ClassVar = ["kind", "by", "begun_at", "finished_at", "last", "anchored", "faults", "notes"]


class ChainSerializer(serializers.Serializer):
    """What is known of the chain. `late`: nobody has looked for a quarter of an hour."""

    broken = serializers.BooleanField()
    late = serializers.BooleanField()
    latest = CheckSerializer(allow_null=True)
    full = CheckSerializer(allow_null=True)
    under_way = CheckSerializer(allow_null=True)


class ChainView(ApiView):
    """Up to which row the log was found whole, when and by whom."""

    permission = Permission.AUDIT_VIEW

    @extend_schema(responses=ChainSerializer)
    def get(self, request: Request) -> Response:
        """The latest check, the latest one of everything, and one that is under way."""
        return self._answer(chain_state())

    @extend_schema(request=None, responses=ChainSerializer)
    def post(self, request: Request) -> Response:
        """Verify the whole log now, row by row; for those who read all of it."""
        require_read(self.request, Permission.AUDIT_VIEW_ALL)
        check_all(self.person.username)
        return self._answer(chain_state())

    def _answer(self, state: ChainState) -> Response:
        return Response(ChainSerializer(state).data)


class SearchSerializer(serializers.ModelSerializer):
    """A filter under a name. `query` is as in the address of the page `/audit/`."""

    class Meta:
        model = SavedSearch
        fields: ClassVar = ["id", "name", "query"]
        read_only_fields: ClassVar = ["id"]
        validators: ClassVar[list[Any]] = []

    def validate_query(self, query: str) -> str:
        """Known filters only, as the page would keep them."""
        typed = LogFilter(QueryDict(query))
        unknown = set(typed.data) - set(typed.fields)
        if unknown:
            said = _("No such filter: %(names)s.") % {"names": in_a_row(sorted(unknown))}
            raise ValidationError(said)
        if typed.search is None:
            faults = (f"{name}: {' '.join(map(str, errors))}" for name, errors in typed.errors.items())
            raise ValidationError(" ".join(faults))
        return typed.query


class SearchList(ApiList):
    """One's own saved searches, by name."""

    permission = Permission.AUDIT_VIEW
    serializer_class = SearchSerializer

    def get_queryset(self) -> QuerySet[SavedSearch]:
        """Nobody sees another's."""
        return SavedSearch.objects.filter(owner=self.person).order_by("name", "pk")

    @extend_schema(request=SearchSerializer, responses={201: SearchSerializer})
    def post(self, request: Request) -> Response:
        """Keep a search; the same name again replaces it."""
        sent = self.sent(SearchSerializer)
        facts = {"name": sent["name"], "query": sent.get("query", "")}
        return Response(SearchSerializer(keep_search(self.person, **facts)).data, status=201)


class SearchDetail(ApiView):
    """One of one's own saved searches."""

    permission = Permission.AUDIT_VIEW

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Forget it."""
        if not forget_search(self.person, pk):
            raise Http404
        return Response(status=204)


# --- The audit log as a file, over the API.

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
        responses={(200, "application/x-ndjson"): OpenApiTypes.BYTE, (200, "text/csv"): OpenApiTypes.BYTE},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """The file. JSON Lines has every field as it was hashed; CSV is safe to open as a spreadsheet.

        The filters are those of the list. What is added while the file is read is not in it.
        """
        if request.headers.get("Sec-Fetch-Site") == "cross-site":
            # A link elsewhere must not put an export into the log in the name of whoever follows it.
            raise PermissionDenied(_("Begin the export from the console itself, or with a token."))
        kind = self.choice_asked(KIND, FORMATS, USUAL)
        rows = self.filter_queryset(self.get_queryset())
        wanted = {name: value for name, value in request.query_params.items() if value and name != KIND}
        return export(rows, wanted, kind, **self.by)


# --- A job's and a project's whole history: rows of the audit log, plans and checkpoints in one order.

NEWEST, OLDEST = "-at", "at"
PARAMETERS = [
    OpenApiParameter(
        "ordering",
        OpenApiTypes.STR,
        enum=[NEWEST, OLDEST],
        description="`-at`, unless told: the newest first; `at`: the oldest.",
    ),
    OpenApiParameter("since", OpenApiTypes.DATETIME, description="Not before; `newer` of the page before."),
    OpenApiParameter("until", OpenApiTypes.DATETIME, description="Not after; `older` of the page before."),
]
KINDS = [(kind, kind) for kind in ("audit", "plan", "checkpoint")]


class MomentSerializer(DataclassSerializer):
    """One thing that happened, in words. `row` is its number in the audit log."""

    dataclass = HistoryMoment
    only = ("at", "text", "detail", "who", "row", "plan", "job_id")
    kind = serializers.ChoiceField(choices=KINDS)
    differences = NamesField()


class HistorySerializer(serializers.Serializer):
    """A page of it. `older`: `until` of the next page, `newer`: its `since` where the oldest come first; null: this
    is all."""

    moments = MomentSerializer(many=True)
    older = serializers.DateTimeField(allow_null=True)
    newer = serializers.DateTimeField(allow_null=True)


class _HistoryView(ApiView):
    permission = Permission.JOB_VIEW
    parameters = frozenset({"ordering", "since", "until"})

    def stretch(self) -> HistorySpan:
        """The time and the order that are asked for."""
        ordering = self.choice_asked("ordering", (NEWEST, OLDEST), NEWEST)
        return HistorySpan(self._moment("since"), self._moment("until"), oldest_first=ordering == OLDEST)

    def _moment(self, name: str) -> datetime | None:
        text = self.request.query_params.get(name, "")
        try:
            moment = parse_datetime(text)
            moment = within_time(moment) if moment is not None and moment.tzinfo is not None else None
        except ValueError:
            moment = None
        if text and moment is None:
            said = _("Must be a time with its zone: %(example)s.") % {"example": "2026-03-02T12:00:00Z"}
            raise ValidationError({name: [said]})
        return moment

    def answer(self, history: History | None, stretch: HistorySpan) -> Response:
        """The page, or 404 when there is none for this account."""
        if history is None:
            raise Http404
        older, newer = (None, history.further) if stretch.oldest_first else (history.further, None)
        page = {"moments": history.moments, "older": older, "newer": newer}
        return Response(HistorySerializer(page).data)


class JobHistory(_HistoryView):
    """What is kept of a job, also when Slurm has forgotten it."""

    @extend_schema(parameters=PARAMETERS, responses=HistorySerializer)
    def get(self, request: Request, job_id: str, **kwargs: Any) -> Response:
        """Rows of the audit log as far as they are this account's, plans and checkpoints."""
        stretch = self.stretch()
        return self.answer(job_history(self.person, self.cluster, job_id, stretch), stretch)


class ProjectHistory(_HistoryView):
    """Changes of a project, and what became of its jobs."""

    @extend_schema(parameters=PARAMETERS, responses=HistorySerializer)
    def get(self, request: Request, code: str, **kwargs: Any) -> Response:
        """Rows of the audit log as far as they are this account's, plans and checkpoints."""
        stretch = self.stretch()
        return self.answer(project_history(self.person, self.cluster, code, stretch), stretch)
