"""Which running jobs a partition leaves alone, whoever waits: protected, young, or back from a stop a moment ago."""

from scheduler.model.jobs import SnapshotJob
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import PartitionRules


def why_spared(job: SnapshotJob, ran: int, rules: PartitionRules) -> str:
    """Why nobody may stop a running job (a `Reason`); empty when somebody may. `ran`: seconds since it last started."""
    if not job.preemptable:
        return "protected"
    if ran < rules.exempt_s:
        return "exempt"
    if job.restarts and rests_for(job, ran, rules) > 0:
        return Reason.RESTING.value
    most = rules.max_stops_per_job_hour
    return "" if most is None or job.stopped < most else Reason.JOB_LIMIT.value


def rests_for(job: SnapshotJob, ran: int, rules: PartitionRules) -> int:
    """How many seconds more a job rests that has come back from a stop; 0 or less when it does not."""
    return rules.rest_s - ran if job.restarts and not job.rested else 0
