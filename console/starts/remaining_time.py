"""How long running jobs still run, as forecasts and limits say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from console.cluster.models import Cluster, JobPhase
from console.core import clock
from console.forecasts.models import JobForecast
from console.starts.correlated_jobs import CorrelatedJobs
from scheduler.forecast.facts import Forecast
from scheduler.forecast.starts import sure

ENDING_S = 30
"""What is completing, or stops for somebody, is gone by then."""
UNKNOWN_S = 86_400
"""Of a job without a limit and without a forecast."""
UNLIMITED_S = 365 * 86_400
"""What Slurm counts on where a job has no limit."""
P10, P90 = 0.221, 0.779
"""Where the 10th and 90th hundredths lie between the 5th, the middle and the 95th of a normal distribution."""


class Lasting(Protocol):
    """What is asked of a job that runs or will."""

    @property
    def job_id(self) -> str: ...
    @property
    def phase(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def time_limit_s(self) -> int | None: ...


class SaidOfRun(NamedTuple):
    """What is needed here of a `JobForecast`: there are thousands, so no more than this and no model.

    `inner` and `end_inner` are for those who draw; others need not read them.
    """

    p10: float
    p50: float
    p90: float
    low: float
    high: float
    end_low: int | None = None
    end_p50: int | None = None
    end_high: int | None = None
    inner: Sequence[float] = ()
    end_inner: Sequence[int] = ()

    @property
    def whole(self) -> Forecast:
        return Forecast(*self[:5], tuple(self.inner))


@dataclass(frozen=True, slots=True)
class RunsLeft:
    """`now`: the cluster's clock. `forecasts`: by job. `leaving`: jobs that stop for somebody.

    `alike`: who runs longer or shorter than forecast together; nobody, unless whoever asks has read it.
    """

    now: int
    forecasts: Mapping[str, SaidOfRun]
    leaving: frozenset[str] = frozenset()
    alike: CorrelatedJobs = field(default_factory=CorrelatedJobs)

    def of(self, job: Lasting) -> Forecast:
        if job.job_id in self.leaving or job.phase == JobPhase.COMPLETING:
            return sure(ENDING_S)
        said = self.forecasts.get(job.job_id)
        most = None if job.time_limit_s is None else max(1, job.start + job.time_limit_s - self.now)
        if said is None or said.end_p50 is None or said.end_low is None or said.end_high is None:
            return sure(most or UNKNOWN_S)
        low, p50, high = (max(1, end - self.now) for end in (said.end_low, said.end_p50, said.end_high))
        inner = tuple(float(max(1, end - self.now)) for end in said.end_inner)
        left = Forecast(low + P10 * (p50 - low), p50, p50 + P90 * (high - p50), low, high, inner)
        return left.at_most(most)

    def whole(self, job: Lasting) -> Forecast:
        said = self.forecasts.get(job.job_id)
        return said.whole.at_most(job.time_limit_s) if said else sure(job.time_limit_s or UNKNOWN_S)

    def planned_left(self, job: Lasting, *, managed: bool) -> float:
        """For how long the scheduler counts on a running job: by its limit; where Giveway places, by its p90."""
        if managed or job.job_id in self.leaving or job.phase == JobPhase.COMPLETING:
            return self.of(job).p90
        if job.time_limit_s is None:
            return UNLIMITED_S
        return max(1, job.start + job.time_limit_s - self.now)

    def planned_whole(self, job: Lasting, *, managed: bool) -> float:
        """The same of one that waits."""
        return self.whole(job).p90 if managed else job.time_limit_s or UNLIMITED_S


def read_remaining_times(cluster: Cluster, leaving: frozenset[str] = frozenset()) -> RunsLeft:
    """Of a cluster's jobs, now; `leaving`: jobs that stop for somebody. One query."""
    rows = JobForecast.objects.filter(cluster=cluster, ended_at=None).order_by("submit")
    told = rows.values_list("job_id", *SaidOfRun._fields)
    forecasts = {str(job_id): SaidOfRun(*said) for job_id, *said in told}
    return RunsLeft(int(clock.now().timestamp()), forecasts, leaving)
