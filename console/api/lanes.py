"""A partition's lanes, as the chart on its page draws them."""

from functools import cached_property
from typing import ClassVar

from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.permissions import Permission
from console.api.dataclasses import DataclassSerializer
from console.api.reports import PartitionReport
from console.core import clock
from console.partitions.models import Partition
from console.reports.lanes import SCHEMA, BadWindowError, Lanes, LaneWindow, lanes_document, read_lanes

FRESH_S = 5
"""An answer is good for so long, and no longer than nothing has changed."""
LONGEST_EPOCH = 12
MOST_ROWS = 1000
ASKED = [
    OpenApiParameter("from", OpenApiTypes.INT64, description="Epoch seconds; half an hour ago unless told."),
    OpenApiParameter("to", OpenApiTypes.INT64, description="Epoch seconds; in half an hour unless told."),
    OpenApiParameter(
        "rows",
        OpenApiTypes.INT64,
        description="Of more than 64 nodes only what is on those in the chart's first so many rows.",
    ),
]


class LaneSerializer(serializers.Serializer):
    """A node; those of one `group` stand together, and in it those of one `unit`."""

    name = serializers.CharField()
    up = serializers.BooleanField(help_text="New jobs may start there.")
    state = serializers.CharField()
    group = serializers.CharField(help_text="What the node is, in words.")
    unit = serializers.CharField(allow_blank=True, help_text="Its switch or block; empty: none is known.")


class LaneBarSerializer(serializers.Serializer):
    """A job on some lanes."""

    job = serializers.CharField()
    name = serializers.CharField()
    user = serializers.CharField()
    level = serializers.IntegerField(allow_null=True, help_text="Its place in `levels`; null: unconfigured.")
    kind = serializers.ChoiceField(
        choices=["over", "running", "expected", "planned", "kept"],
        help_text="`expected`: a start that is forecast; `planned`: a plan makes room; `kept`: nodes kept for it.",
    )
    lanes = serializers.ListField(child=serializers.IntegerField(), help_text="Their places in `lanes`.")
    start = serializers.IntegerField()
    restarts = serializers.IntegerField(help_text="With job and start it tells the run.")
    end = serializers.IntegerField(allow_null=True, help_text="Null where nothing tells it.")
    end_by = serializers.CharField(
        allow_blank=True,
        help_text="What tells the end: `known`, `forecast`, `limit`, `stop`; empty: nothing.",
    )
    low = serializers.IntegerField(allow_null=True, help_text="Where 90 % lie: of a start, else of an end.")
    high = serializers.IntegerField(allow_null=True)
    why = serializers.CharField(allow_blank=True, help_text="Of one that waits: what is said of it.")
    plan = serializers.IntegerField(allow_null=True, help_text="The plan that makes room for it.")


class LaneStopSerializer(serializers.Serializer):
    """A run that a plan cut, or is about to cut."""

    at = serializers.IntegerField()
    job = serializers.CharField()
    start = serializers.IntegerField()
    restarts = serializers.IntegerField()
    how = serializers.CharField()
    done = serializers.BooleanField()
    plan = serializers.IntegerField()
    served = serializers.CharField(help_text="The job for which it made room.")
    served_user = serializers.CharField()


class LaneSaveSerializer(serializers.Serializer):
    """A run that said that its state is saved."""

    at = serializers.IntegerField()
    job = serializers.CharField()
    start = serializers.IntegerField()
    restarts = serializers.IntegerField()
    what = serializers.CharField(allow_blank=True)
    plan = serializers.IntegerField()


class LanesSerializer(DataclassSerializer):
    """All that the chart draws. Moments are epoch seconds."""

    dataclass = Lanes
    only = ("levels", "left_out", "unplaced", "of_lanes")
    told: ClassVar = {
        "levels": "Names, the highest first.",
        "left_out": "Runs beyond the bound; the latest are kept.",
        "unplaced": "Jobs that are expected within the time, but not known where.",
        "of_lanes": "Bars and marks are of the first so many lanes only, by `rows`; null: of all.",
    }
    schema = serializers.ChoiceField(choices=[SCHEMA])
    partition = serializers.CharField()
    now = serializers.IntegerField()
    observed = serializers.IntegerField(allow_null=True, help_text="When the cluster was last seen.")
    start = serializers.IntegerField(help_text="`from`, as it was used.")
    end = serializers.IntegerField(help_text="`to`, as it was used.")
    lanes = LaneSerializer(many=True)
    bars = LaneBarSerializer(many=True)
    stops = LaneStopSerializer(many=True)
    checkpoints = LaneSaveSerializer(many=True)


@method_decorator(gzip_page, name="dispatch")
class PartitionLanes(PartitionReport):
    """Who ran, runs and is expected on which node; compressed, for it is large and is polled."""

    permission = Permission.PARTITION_VIEW
    parameters: ClassVar = frozenset({"from", "to", "rows"})
    serializer_class = LanesSerializer

    @cached_property
    def shown(self) -> Partition:
        """The partition of the address; asked for once, and before any tag is compared."""
        return self.partition(self.kwargs["name"], revision__isnull=False)

    def weak_tag(self) -> str:
        """The mirror's version, for some seconds: forecasts move without it."""
        while_fresh = int(clock.now().timestamp()) // FRESH_S
        return f'W/"{self.shown.pk}.{self.shown.revision_id}.{self.cluster.version}.{while_fresh}"'

    @extend_schema(parameters=ASKED, responses=LanesSerializer)
    def get(self, request: Request, name: str) -> Response:
        """From half an hour ago to in half an hour unless told, at most eight days."""
        # Without the serializer, which describes it: there are thousands of bars.
        found = read_lanes(self.shown, window_asked(request), _rows(request))
        return Response(lanes_document(self.shown, found))


def window_asked(request: Request) -> LaneWindow:
    """`from` and `to` of the address."""
    try:
        return LaneWindow.usual(_moment(request, "from"), _moment(request, "to"))
    except BadWindowError as error:
        raise ValidationError({error.key: [str(error)]}) from error


def _rows(request: Request) -> int | None:
    text = request.query_params.get("rows")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < len(str(MOST_ROWS)) and int(text)):
        said = _("Must be a whole number, at least 1 and less than %(most)s.") % {"most": MOST_ROWS}
        raise ValidationError({"rows": [said]})
    return int(text)


def _moment(request: Request, key: str) -> int | None:
    text = request.query_params.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_EPOCH):
        raise BadWindowError(key, _("Must be epoch seconds, a whole number."))
    return int(text)
