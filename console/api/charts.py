"""What the reports of partitions and projects share: whose they are, and how far back they look."""

from dataclasses import asdict
from functools import cached_property
from typing import Any, ClassVar

from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_read
from console.accounts.permissions import Permission
from console.api import fields
from console.api.base import ApiView
from console.cluster.selectors import seen_nodes
from console.core import clock, l10n_format
from console.core.l10n_format import in_a_row
from console.history.minutes import QuotaLine, QuotaStep, read_quota_times, usual_level
from console.history.timeline import SPANS, UNCONFIGURED, USUAL, Timeline, TimelineStep, read_timeline
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.reports.lanes import SCHEMA, BadWindowError, Lanes, LaneWindow, lanes_document, read_lanes
from console.reports.squares import COLOURS, ROOM, SquareSource, squares
from console.reports.tally import DAYS, shadow_tally
from scheduler.model.policy import PartitionPolicy
from scheduler.priority.order import natural

SPAN = OpenApiParameter("span", OpenApiTypes.STR, enum=list(SPANS), description="How far back.")


class PartitionReport(ApiView):
    """A report of one partition: 404 for who may not see that."""

    permission = Permission.PARTITION_VIEW


def days_asked(request: Request, usual: int, most: int) -> int:
    """`days` of the address."""
    text = request.query_params.get("days", str(usual))
    if text not in {str(days) for days in range(1, most + 1)}:
        said = _("Must be a whole number of days from 1 to %(most)s.") % {"most": most}
        raise ValidationError({"days": [said]})
    return int(text)


# --- A partition's last hours or days, as the page draws them.

NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}, "example": {"gpu": 28.5}}


@extend_schema_field(NUMBERS)
class MeansField(serializers.DictField):
    """Resource to amount, on the average."""


class LevelJobsSerializer(serializers.Serializer):
    """Jobs of a level, on the average."""

    level = fields.RankedLevelSerializer()
    jobs = serializers.FloatField()


class TimelineStepSerializer(serializers.Serializer):
    """One step: means of what held, sums of what came to pass. `minutes` of it were looked at; 0: nothing is known."""

    at = serializers.DateTimeField()
    minutes = serializers.IntegerField()
    used = MeansField()
    total = MeansField()
    waiting = LevelJobsSerializer(many=True)
    started = serializers.IntegerField()
    stops = serializers.IntegerField()
    work_lost = fields.WorkSerializer()


class LevelWaitSerializer(serializers.Serializer):
    """How long jobs of a level had waited when they started."""

    level = fields.RankedLevelSerializer()
    jobs = serializers.IntegerField()
    mean_s = serializers.FloatField()


class TimelineSerializer(serializers.Serializer):
    """The steps, the oldest first. `resource` is the one that the page plots; `waits` are over the whole time."""

    span = serializers.ChoiceField(choices=list(SPANS))
    step_s = serializers.IntegerField()
    resource = serializers.CharField()
    steps = TimelineStepSerializer(many=True)
    waits = LevelWaitSerializer(many=True)


class PartitionTimeline(PartitionReport):
    """Utilisation, queue by level, stops and work lost over time."""

    parameters: ClassVar = frozenset({"span"})
    serializer_class = TimelineSerializer

    @extend_schema(parameters=[SPAN], responses=TimelineSerializer)
    def get(self, request: Request, name: str) -> Response:
        """From the record of minutes; the last step is not over yet."""
        span = self.choice_asked("span", SPANS, USUAL)
        partition = self.partition_shown(revision__isnull=False)
        found, policy = read_timeline(partition, span), policy_of(partition)
        waits = [
            {"level": _level(policy, each.level), "jobs": each.jobs, "mean_s": round(each.mean_s, 1)}
            for each in found.waits
        ]
        return Response(
            {
                "span": found.span,
                "step_s": int(SPANS[found.span].step.total_seconds()),
                "resource": found.resource,
                "steps": [_timeline_step(step, found, policy) for step in found.steps],
                "waits": waits,
            }
        )


def _timeline_step(step: TimelineStep, found: Timeline, policy: PartitionPolicy) -> dict[str, Any]:
    seen = [level for level in found.levels if level in step.pending]
    return {
        "at": fields.moment_data(step.at),
        "minutes": step.minutes,
        "used": _means(step.used, step),
        "total": _means(step.total, step),
        "waiting": [{"level": _level(policy, level), "jobs": round(step.mean(level), 3)} for level in seen],
        "started": step.starts,
        "stops": step.stops,
        "work_lost": fields.work_data(step.work_lost),
    }


def _means(sums: dict[str, float], step: TimelineStep) -> dict[str, float]:
    return {name: round(amount / step.minutes, 3) for name, amount in sums.items()}


def _level(policy: PartitionPolicy, level: str) -> dict[str, Any]:
    """Named as the policy in force names it."""
    rank = None if level == UNCONFIGURED else int(level)
    return {"rank": rank, "name": policy.level_name(rank)}


# --- How far the quotas of a level were used over the last hours or days, as the page draws it.


class PeakSerializer(serializers.Serializer):
    """The use that was nearest to its limit, of the limit as it was then. `user` null: by all users together."""

    user = serializers.CharField(allow_null=True)
    used = serializers.IntegerField()
    limit = serializers.IntegerField()


class QuotaStepSerializer(serializers.Serializer):
    """One step: in each minute, the use nearest to the limit. `minutes` of it are known; 0: nothing."""

    at = serializers.DateTimeField()
    minutes = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True, help_text="Used part on the average; 1 is all of it.")
    peak = PeakSerializer(allow_null=True)
    full_minutes = serializers.IntegerField(help_text="Minutes in which somebody had all of it.")


class QuotaUserSerializer(PeakSerializer):
    """A user's part in a limit."""

    full_minutes = serializers.IntegerField(help_text="Minutes in which this user had all of it.")


class QuotaLineSerializer(serializers.Serializer):
    """One limit, as it was last; `together`: of all users, else of each."""

    resource = serializers.CharField(help_text="`jobs`, or what they hold; memory in MB.")
    together = serializers.BooleanField()
    limit = serializers.IntegerField()
    users = QuotaUserSerializer(many=True, help_text="Who was ever among the fullest, the longest first.")
    steps = QuotaStepSerializer(many=True)


class QuotaTimesSerializer(serializers.Serializer):
    """A level's limits over time, the oldest step first; `level` null: the policy has no levels."""

    span = serializers.ChoiceField(choices=list(SPANS))
    step_s = serializers.IntegerField()
    level = fields.RankedLevelSerializer(allow_null=True)
    limits = QuotaLineSerializer(many=True)


class QuotaTimesView(PartitionReport):
    """Quota use over time."""

    parameters: ClassVar = frozenset({"level", "span"})
    serializer_class = QuotaTimesSerializer

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "level", OpenApiTypes.STR, description="By name; the first with a quota unless told."
            ),
            SPAN,
        ],
        responses=QuotaTimesSerializer,
    )
    def get(self, request: Request, name: str) -> Response:
        """From the record of minutes, for who may see the policy; the last step is not over yet."""
        partition = self.partition_shown(revision__isnull=False)
        require_read(request, Permission.POLICY_VIEW, partition)
        policy = policy_of(partition)
        span = self.choice_asked("span", SPANS, USUAL)
        rank = _rank(policy, request.query_params.get("level"))
        answer: dict[str, Any] = {"span": span, "step_s": int(SPANS[span].step.total_seconds())}
        if rank is None:
            return Response(answer | {"level": None, "limits": []})
        lines = read_quota_times(partition, policy, rank, span).lines
        level = {"rank": rank, "name": policy.levels[rank].name}
        return Response(answer | {"level": level, "limits": [_line(line) for line in lines]})


def _rank(policy: PartitionPolicy, level: str | None) -> int | None:
    if level is None:
        return usual_level(policy)
    names = [rule.name for rule in policy.levels]
    if level not in names:
        said = _("No such level; there are: %(levels)s.") % {"levels": in_a_row(names) or _("none")}
        raise ValidationError({"level": [said]})
    return names.index(level)


def _line(line: QuotaLine) -> dict[str, Any]:
    return {
        "resource": line.limit.resource or "jobs",
        "together": line.limit.of_all,
        "limit": line.limit.most,
        "users": []
        if line.limit.of_all
        else [_peak(each.peak, full_minutes=each.full) for each in line.nearest],
        "steps": [_quota_step(step) for step in line.steps],
    }


def _peak(peak: Any, **beside: int) -> dict[str, Any]:
    return {"user": peak.user or None, "used": peak.used, "limit": peak.most, **beside}


def _quota_step(step: QuotaStep) -> dict[str, Any]:
    peak = step.peak
    return {
        "at": fields.moment_data(step.at),
        "minutes": step.minutes,
        "share": None if step.share is None else round(step.share, 4),
        "peak": peak and _peak(peak),
        "full_minutes": step.full,
    }


# --- A partition's lanes, as the chart on its page draws them.

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


class LanesSerializer(fields.DataclassSerializer):
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
class LiveChart(PartitionReport):
    """A chart of what is now; compressed, for it is large and is polled."""

    @cached_property
    def shown(self) -> Partition:
        """The partition of the address; asked for once, and before any tag is compared."""
        return self.partition_shown(revision__isnull=False)

    def weak_tag(self) -> str:
        """The mirror's version, for some seconds: forecasts move without it."""
        while_fresh = int(clock.now().timestamp()) // FRESH_S
        return f'W/"{self.shown.pk}.{self.shown.revision_id}.{self.cluster.version}.{while_fresh}"'


class PartitionLanes(LiveChart):
    """Who ran, runs and is expected on which node; compressed, for it is large and is polled."""

    parameters: ClassVar = frozenset({"from", "to", "rows"})
    serializer_class = LanesSerializer

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


# --- A partition's nodes at a glance, as the squares on its page show them.

SQUARES_SCHEMA = "giveway.squares/1"
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

    schema = serializers.ChoiceField(choices=[SQUARES_SCHEMA])
    partition = serializers.CharField()
    by = serializers.ChoiceField(choices=list(COLOURS))
    now = serializers.IntegerField(help_text="Epoch seconds.")
    observed = serializers.IntegerField(allow_null=True, help_text="When the cluster was last seen.")
    legend = SquareShadeSerializer(many=True)
    nodes = SquareSerializer(many=True)


class PartitionSquares(LiveChart):
    """Every node with its unit and one fact about it; compressed, for it is large."""

    parameters: ClassVar = frozenset({"by"})
    serializer_class = SquaresSerializer

    @extend_schema(parameters=[BY], responses=SquaresSerializer)
    def get(self, request: Request, name: str) -> Response:
        """By free room unless told; nodes by name, numbers as numbers."""
        return Response(_squares_answer(self.shown, self.choice_asked("by", COLOURS, ROOM)))


def _squares_answer(partition: Partition, by: str) -> dict[str, Any]:
    nodes = [node for node in seen_nodes(partition.cluster) if partition.name in node.partitions]
    nodes.sort(key=lambda node: natural(node.name))
    source = SquareSource.of(partition, policy_of(partition))
    scale = source.scale(by, nodes)
    seen = partition.cluster.observed_at
    return {
        "schema": SQUARES_SCHEMA,
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


# --- What enforcing would have done in a partition.

MOST_DAYS = 365


class SumSerializer(serializers.Serializer):
    """Jobs that would have got room, jobs that would have been stopped, and the work lost with them."""

    jobs = serializers.IntegerField()
    stops = serializers.IntegerField()
    shrinks = serializers.IntegerField(help_text="Workers that elastic jobs would have given up; no stops.")
    work_lost = fields.WorkSerializer(source="work")
    work_kept = fields.WorkSerializer(
        source="kept", help_text="Of the workers that stay: lost, had these jobs been stopped."
    )


class DaySerializer(SumSerializer):
    """One day, where this installation is."""

    day = serializers.DateField()


class UserSerializer(SumSerializer):
    """One user of the cluster."""

    user = serializers.CharField()


class TallySerializer(SumSerializer):
    """Each job counts once with its last plan, each run that would have been stopped once."""

    partition = serializers.CharField()
    since = serializers.DateTimeField()
    cut = serializers.BooleanField(help_text="There was more; only the latest plans are counted.")
    days = DaySerializer(many=True)
    beneficiaries = UserSerializer(many=True, help_text="Those with the most stops for them.")
    victims = UserSerializer(many=True, help_text="Those with the most jobs stopped; `jobs` is 0.")


class PartitionTally(PartitionReport):
    """The tally of a partition's plans in shadow."""

    permission = Permission.PLAN_VIEW
    parameters: ClassVar = frozenset({"days"})
    serializer_class = TallySerializer

    @extend_schema(
        parameters=[
            OpenApiParameter("days", OpenApiTypes.INT, description=f"How far back, {DAYS} unless told.")
        ]
    )
    def get(self, request: Request, name: str) -> Response:
        """What enforcing would have done lately: who would have got room, who been stopped, what work lost."""
        partition = self.partition_shown()
        tally = shadow_tally(partition, days_asked(request, DAYS, MOST_DAYS))
        told = {"partition": partition.name, "since": tally.since, "cut": tally.cut, **asdict(tally.total)}
        told["days"] = [{"day": day, **asdict(each)} for day, each in tally.days]
        told["beneficiaries"] = [{"user": user, **asdict(each)} for user, each in tally.by_user]
        told["victims"] = [{"user": user, **asdict(each)} for user, each in tally.by_victim]
        return Response(TallySerializer(told).data)
