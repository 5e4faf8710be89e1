"""What came to pass in the made-up week, in memory. Moments are epoch seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from console.steering.deciding import Verdicts
from scheduler.model.jobs import ObservedJob, RunKey
from scheduler.model.plan import Decision


@dataclass(slots=True)
class PlayedRun:
    """One run of a job; `held`: what it held of each node."""

    start: int
    restarts: int
    held: dict[str, dict[str, int]]
    submit: int
    ended: int | None = None


@dataclass(slots=True)
class PlayedJob:
    """A job, as it looked when it began to run the last time. `expected`: when the cluster itself first expected it to
    start, where it had to wait."""

    seen: ObservedJob
    first_submit: int
    runs: list[PlayedRun] = field(default_factory=list)
    expected: int | None = None

    @property
    def partition(self) -> str:
        """Where it ran."""
        return self.seen.partitions[0]

    @property
    def ended(self) -> int | None:
        """When its last run ended; None while it goes on."""
        return self.runs[-1].ended


@dataclass(slots=True)
class PlayedMinute:
    """A partition in one minute, as `PartitionMinute` has it."""

    at: int
    partition: str
    used: dict[str, int] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class PlayedPlan:
    """A plan from its decision to its end. `saved`: when a victim had saved its state, by its run."""

    at: int
    verdicts: Verdicts
    decision: Decision
    stopped_at: int = 0
    gone_at: int = 0
    started_at: int | None = None
    over_at: int = 0
    saved: dict[RunKey, int] = field(default_factory=dict)
    failed: dict[RunKey, int] = field(default_factory=dict)
    """When a victim failed, at once after it had come back; few do."""

    @property
    def victims(self) -> Mapping[RunKey, str]:
        """The runs that were stopped, with their users."""
        jobs = (self.verdicts.jobs[each.job] for each in self.decision.victims)
        return {job.run: job.user for job in jobs}


@dataclass(slots=True)
class PlayedProposal:
    """A plan that a partition in shadow would have carried out, decided at `at`."""

    at: int
    verdicts: Verdicts
    decision: Decision


@dataclass(slots=True)
class PlayedWeek:
    """All of it. `until`: when it ends, and what is true begins. `looks`: whole observations as they are recorded, by
    their moments, with how many jobs there were."""

    begin: int
    until: int
    jobs: dict[str, PlayedJob] = field(default_factory=dict)
    plans: list[PlayedPlan] = field(default_factory=list)
    minutes: list[PlayedMinute] = field(default_factory=list)
    proposals: list[PlayedProposal] = field(default_factory=list)
    looks: dict[int, tuple[int, bytes]] = field(default_factory=dict)

    def close(self) -> None:
        """It is over: what still runs ends with it, and who never ran was never there."""
        self.proposals = [each for each in self.proposals if each.decision.job in self.jobs]
        for job in self.jobs.values():
            for run in job.runs:
                run.ended = run.ended or self.until
