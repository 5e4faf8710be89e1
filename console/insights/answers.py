"""What Insights answers: rows of numbers for each question, the same for the page, the API and the files."""

from dataclasses import dataclass, field

from console.insights.periods import Period
from console.steering.selectors import Work


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a time was seen: `days` of it with data, `hours` in which a partition at least was looked at."""

    days: int = 0
    of_days: int = 0
    hours: float = 0.0


@dataclass(frozen=True, slots=True)
class LevelWaits:
    """How long jobs of a level had waited when they started. Times are None for fewer than `LEAST_STARTS` jobs."""

    partition: str
    rank: int | None
    level: str
    jobs: int
    median_s: float | None
    p90_s: float | None
    jobs_before: int
    median_before_s: float | None
    p90_before_s: float | None


@dataclass(frozen=True, slots=True)
class CauseOfLoss:
    """Stops of one cause, the work lost with them and what checkpoints saved."""

    cause: str
    stops: int = 0
    lost: Work = field(default_factory=dict)
    saved: Work = field(default_factory=dict)
    stops_before: int = 0
    lost_before: Work = field(default_factory=dict)
    saved_before: Work = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProjectBalance:
    """`jobs` that had got room have ended and ran `room`; `made`: stops of others for the project; `suffered`: of its
    own jobs, by which `lost` is lost and `saved` was saved. `project` is empty where none is known."""

    project: str
    jobs: int = 0
    room: Work = field(default_factory=dict)
    made: int = 0
    suffered: int = 0
    lost: Work = field(default_factory=dict)
    saved: Work = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProjectUnevenness:
    """What runs of a project on several measured processors held, in hours of the resource, and what of it they waited
    for the slowest one. `project` is empty where none is known."""

    project: str
    resource: str
    runs: int
    hours_held: float
    hours_lost: float
    runs_before: int
    hours_held_before: float
    hours_lost_before: float


@dataclass(frozen=True, slots=True)
class StopRate:
    """Stops per 1,000 job-hours. `bound`: what the limit by the hour of the policy in force allows; None: there is
    none, or it is not this account's to see."""

    partition: str
    stops: int
    job_hours: float
    rate: float | None
    bound: float | None
    stops_before: int
    job_hours_before: float
    rate_before: float | None


@dataclass(frozen=True, slots=True)
class ForecastNearness:
    """`of`: `run_times`, where `near` is the mean of min(p, t) / max(p, t), or `starts`, where it is the share within
    ten minutes. `within`: the share in the range, 0.9 is meant. None for fewer than `LEAST_FORECASTS` jobs."""

    of: str
    jobs: int
    near: float | None
    within: float | None
    jobs_before: int
    near_before: float | None
    within_before: float | None


@dataclass(frozen=True, slots=True)
class Insights:
    """All answers about a time. `comparable`: of both times enough was seen, and about as much."""

    period: Period
    seen: Coverage
    seen_before: Coverage
    comparable: bool
    waits: list[LevelWaits]
    work: list[CauseOfLoss]
    projects: list[ProjectBalance]
    stops: list[StopRate]
    forecasts: list[ForecastNearness]
    unevenness: list[ProjectUnevenness]
    sees_projects: bool = True


QUESTIONS = ("waits", "work", "projects", "stops", "forecasts", "unevenness")
"""The names of the answers, in the order of the page."""
