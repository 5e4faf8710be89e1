"""What is drawn of a job on some lanes."""

from typing import NamedTuple

from console.core.sentence_field import read_sentence
from console.reports.lane_rows import LaneJob
from scheduler.model.jobs import Level

OVER, RUNNING, EXPECTED, PLANNED, KEPT = "over", "running", "expected", "planned", "kept"
FORECAST, LIMIT, STOP, KNOWN = "forecast", "limit", "stop", "known"


class LaneBar(NamedTuple):
    """A job on some lanes, by their places. `end` is null where nothing tells it.

    `kind`: `over`, `running`, `expected` (a start that is forecast), `planned` (a plan makes room there), `kept` (nodes
    are kept for it). `end_by`: what tells the end: `known`, `forecast`, `limit`, `stop`; empty without one. `low`,
    `high`: of what is forecast, where 90 % lie: the start of a job that waits, else the end.
    """

    job: str
    name: str
    user: str
    level: Level
    kind: str
    lanes: tuple[int, ...]
    start: int
    restarts: int
    end: int | None
    end_by: str
    low: int | None
    high: int | None
    why: str
    plan: int | None


def bar_of(job: LaneJob, kind: str, lanes: tuple[int, ...], start: int) -> LaneBar:
    """Without an end."""
    why = str(read_sentence(job.why)) if kind in {EXPECTED, PLANNED, KEPT} else ""
    return LaneBar(
        job.job_id,
        job.name,
        job.user,
        job.level,
        kind,
        lanes,
        start,
        job.restarts,
        None,
        "",
        None,
        None,
        why,
        None,
    )
