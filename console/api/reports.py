"""What the reports of partitions and projects share: whose they are, and how far back they look."""

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from console.api.base import ApiView
from console.core.l10n_format import in_a_row
from console.history.spans import SPANS, USUAL
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions

SPAN = OpenApiParameter("span", OpenApiTypes.STR, enum=list(SPANS), description="How far back.")


class PartitionReport(ApiView):
    """A report of one partition: 404 for who may not see that."""

    queryset: QuerySet[Partition] = Partition.objects.all()

    def partition(self, name: str, **only: object) -> Partition:
        """The partition of the address, if this account may see it."""
        return get_object_or_404(
            visible_partitions(self.person).filter(cluster=self.cluster, **only), name=name
        )


def days_asked(request: Request, usual: int, most: int) -> int:
    """`days` of the address."""
    text = request.query_params.get("days", str(usual))
    if text not in {str(days) for days in range(1, most + 1)}:
        said = _("Must be a whole number of days from 1 to %(most)s.") % {"most": most}
        raise ValidationError({"days": [said]})
    return int(text)


def span_asked(request: Request) -> str:
    """`span` of the address."""
    span: str = request.query_params.get("span", USUAL)
    if span not in SPANS:
        raise ValidationError({"span": [_("Must be one of %(words)s.") % {"words": in_a_row(SPANS)}]})
    return span
