"""The answer about the last days as JSON, as a study keeps it, and back."""

from datetime import date, datetime
from typing import Any

from console.history.past import Day, PastStudy, StudySum
from scheduler.reconcile.compare import NamedLevel


def encode_past(past: PastStudy) -> dict[str, Any]:
    return {
        "partitions": list(past.partitions),
        "since": past.since.isoformat(),
        "until": past.until.isoformat(),
        "used": past.used,
        "looks": past.looks,
        "cut": past.cut,
        "days_asked": past.days_asked,
        "days": [[day.isoformat(), _encode_day(sums)] for day, sums in past.days],
        "total": _encode_day(past.total),
    }


def decode_past(kept: dict[str, Any]) -> PastStudy:
    return PastStudy(
        partitions=tuple(kept["partitions"]),
        since=datetime.fromisoformat(kept["since"]),
        until=datetime.fromisoformat(kept["until"]),
        used=kept["used"],
        looks=kept["looks"],
        days=[(date.fromisoformat(day), _decode_day(sums)) for day, sums in kept["days"]],
        total=_decode_day(kept["total"]),
        cut=kept["cut"],
        days_asked=kept.get("days_asked", 0),
    )


def _encode_day(day: Day) -> dict[str, Any]:
    return {name: _encode_sum(getattr(day, name)) for name in ("done", "present", "changed")}


def _decode_day(kept: dict[str, Any]) -> Day:
    return Day(**{name: _decode_sum(kept[name]) for name in ("done", "present", "changed")})


def _encode_sum(sums: StudySum) -> dict[str, Any]:
    waited = [[level.rank, level.name, seconds] for level, seconds in sums.waited.items()]
    return {"stops": sums.stops, "work": sums.work, "jobs": sums.jobs, "waited": waited}


def _decode_sum(kept: dict[str, Any]) -> StudySum:
    waited = {NamedLevel(rank, name): seconds for rank, name, seconds in kept["waited"]}
    return StudySum(stops=kept["stops"], work=dict(kept["work"]), jobs=kept["jobs"], waited=waited)
