"""The state of the audit log's chain, and the searches that people keep."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404, QueryDict
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_read
from console.accounts.permissions import Permission
from console.api.base import ApiList, ApiView
from console.api.strict import valid
from console.audit.checks import ChainState, chain_state, check_all
from console.audit.forms import LogFilter
from console.audit.models import ChainCheck, CheckKind, SavedSearch
from console.audit.search import forget_search, keep_search
from console.core.l10n_format import in_a_row


class CheckSerializer(serializers.ModelSerializer):
    """One look at the chain. `last`: rows are good up to this one; `faults`: the first broken row first."""

    kind = serializers.ChoiceField(
        choices=[(kind.value, kind.value) for kind in CheckKind], help_text="`full`, or only `new` rows."
    )
    faults = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = ChainCheck
        fields: ClassVar = ["kind", "by", "begun_at", "finished_at", "last", "anchored", "faults", "notes"]
        read_only_fields = fields


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
    queryset = ChainCheck.objects.all()

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
    queryset = SavedSearch.objects.all()
    serializer_class = SearchSerializer

    def get_queryset(self) -> QuerySet[SavedSearch]:
        """Nobody sees another's."""
        return SavedSearch.objects.filter(owner=self.person).order_by("name", "pk")

    @extend_schema(request=SearchSerializer, responses={201: SearchSerializer})
    def post(self, request: Request) -> Response:
        """Keep a search; the same name again replaces it."""
        sent = SearchSerializer(data=request.data)
        valid(sent, self.serializer_class)
        facts = {"name": sent.validated_data["name"], "query": sent.validated_data.get("query", "")}
        return Response(SearchSerializer(keep_search(self.person, **facts)).data, status=201)


class SearchDetail(ApiView):
    """One of one's own saved searches."""

    permission = Permission.AUDIT_VIEW
    queryset = SavedSearch.objects.all()

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Forget it."""
        if not forget_search(self.person, pk):
            raise Http404
        return Response(status=204)
