"""A partition's nodes at a glance, as the squares on its page show them."""

from functools import cached_property
from typing import Any, ClassVar

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
from console.api.lanes import FRESH_S
from console.api.reports import PartitionReport
from console.cluster.selectors import seen_nodes
from console.core import clock, l10n_format
from console.core.l10n_format import in_a_row
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.reports.squares import COLOURS, ROOM, SquareSource, squares
from scheduler.priority.order import natural

SCHEMA = "giveway.squares/1"
BY = OpenApiParameter("by", OpenApiTypes.STR, enum=list(COLOURS), description="What squares are shaded by.")
SHADES = ["0", "1", "2", "3", "4", "level", "unconfigured", "elsewhere", "none"]
_UNLIKE = {"sq-none": "none", "sq-elsewhere": "elsewhere", "lv-none": "unconfigured"}


class SquareSerializer(serializers.Serializer):
    """A node."""

    name = serializers.CharField()
    up = serializers.BooleanField(help_text="New jobs may start there.")
    state = serializers.CharField()
    kind = serializers.CharField(help_text="What the node is, in words.")
    unit = serializers.CharField(allow_blank=True, help_text="Its switch or block; empty: none is known.")
    shade = serializers.ChoiceField(
        choices=SHADES,
        help_text="`0`, pale, to `4`, strong; `level`: `value` says which; `elsewhere`: only jobs of other partitions; "
        "`none`: nothing to tell.",
    )
    value = serializers.FloatField(
        allow_null=True,
        help_text="Free amount, place of the level, amount held by immune jobs, seconds, or the end's epoch second.",
    )
    words = serializers.CharField()


class SquareShadeSerializer(serializers.Serializer):
    """What a shade means."""

    shade = serializers.ChoiceField(choices=SHADES)
    words = serializers.CharField(allow_blank=True)


class SquaresSerializer(serializers.Serializer):
    """All nodes of a partition, by one of the ways to shade them."""

    schema = serializers.ChoiceField(choices=[SCHEMA])
    partition = serializers.CharField()
    by = serializers.ChoiceField(choices=list(COLOURS))
    now = serializers.IntegerField(help_text="Epoch seconds.")
    observed = serializers.IntegerField(allow_null=True, help_text="When the cluster was last seen.")
    legend = SquareShadeSerializer(many=True)
    nodes = SquareSerializer(many=True)


@method_decorator(gzip_page, name="dispatch")
class PartitionSquares(PartitionReport):
    """Every node with its unit and one fact about it; compressed, for it is large."""

    permission = Permission.PARTITION_VIEW
    parameters: ClassVar = frozenset({"by"})
    serializer_class = SquaresSerializer

    @cached_property
    def shown(self) -> Partition:
        """The partition of the address; asked for once, and before any tag is compared."""
        return self.partition(self.kwargs["name"], revision__isnull=False)

    def weak_tag(self) -> str:
        """The mirror's version, for some seconds: forecasts move without it."""
        while_fresh = int(clock.now().timestamp()) // FRESH_S
        return f'W/"{self.shown.pk}.{self.shown.revision_id}.{self.cluster.version}.{while_fresh}"'

    @extend_schema(parameters=[BY], responses=SquaresSerializer)
    def get(self, request: Request, name: str) -> Response:
        """By free room unless told; nodes by name, numbers as numbers."""
        by = request.query_params.get("by", ROOM)
        if by not in COLOURS:
            raise ValidationError({"by": [_("Must be one of %(words)s.") % {"words": in_a_row(COLOURS)}]})
        return Response(_answer(self.shown, by))


def _answer(partition: Partition, by: str) -> dict[str, Any]:
    nodes = [node for node in seen_nodes(partition.cluster) if partition.name in node.partitions]
    nodes.sort(key=lambda node: natural(node.name))
    source = SquareSource.of(partition, policy_of(partition))
    scale = source.scale(by, nodes)
    seen = partition.cluster.observed_at
    return {
        "schema": SCHEMA,
        "partition": partition.name,
        "by": by,
        "now": int(source.now),
        "observed": None if seen is None else int(seen.timestamp()),
        "legend": [{"shade": _shade(shade.css), "words": str(shade.label)} for shade in scale.legend],
        "nodes": [
            {
                "name": square.node.name,
                "up": square.node.up,
                "state": square.node.state,
                "kind": _kind(square.node.total),
                "unit": square.node.unit_in(partition.name),
                "shade": _shade(square.said.css),
                "value": square.said.value,
                "words": square.words,
            }
            for square in squares(nodes, scale)
        ],
    }


def _kind(total: Any) -> str:
    return l10n_format.amounts({name: amount for name, amount in total.items() if name != "mem"})


def _shade(css: str) -> str:
    """`sq-3` is 3, `lv-0` a level."""
    return _UNLIKE.get(css) or (css.removeprefix("sq-") if css.startswith("sq-") else "level")
