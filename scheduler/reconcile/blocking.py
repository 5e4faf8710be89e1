"""Why a pending job cannot start whatever room there is, and why a running one may not be stopped: in
words."""

from scheduler.model.jobs import ObservedJob
from scheduler.model.policy import NotRequeueable, PartitionPolicy
from scheduler.model.sentence import say, told
from scheduler.reconcile.immunity import immunity, in_words
from scheduler.reconcile.protection import protecting_rule

_WAITS_FOR_ROOM = frozenset({"", "none", "resources", "priority"})
_SAYS_RESOURCES = (
    # Nodes are down, drained or kept for others. Which ones, the planner sees for itself.
    "nodes required for job",
    # From 26.05 on: there is room, but not within one unit of the network.
    "no suitable topology unit found",
    "insufficient resources in topology unit",
    "weight-based selection could not satisfy request within topology unit",
)
"""How the texts begin that Slurm may say in place of `Resources`."""
_STARTING = frozenset({"", "UP", "DRAIN"})
"""States of a partition in which queued jobs start; a state that is not known here is none of them."""

_REASONS = {
    word: say(f"waits.{word}")
    for word in (
        "jobhelduser",
        "jobheldadmin",
        "dependency",
        "dependencyneversatisfied",
        "begintime",
        "jobarraytasklimit",
        "reservation",
        "licenses",
        "invalidaccount",
        "invalidqos",
        "badconstraints",
        "partitiondown",
        "partitioninactive",
        "partitionnodelimit",
        "partitiontimelimit",
        "reqnodenotavail",
        "cleaning",
        "raisedsignal",
        "partitionconfig",
        "accountnotallowed",
        "qosnotallowed",
        "maxmemperlimit",
        "reservationdeleted",
        "nodedown",
        "burstbufferresources",
        "burstbufferstagein",
        "joblaunchfailure",
        "nonzeroexitcode",
        "outofmemory",
        "deadline",
    )
}
"""By Slurm's words in small letters."""
_LIMITS = {"assoc": "waits.limit_of_account", "qos": "waits.limit_of_qos"}
"""How Slurm's some eighty words for a limit that is reached begin; which one it is stands beside it."""
_HELD = say("waits.held")
TO_COME_BACK_S = 3600
"""So long a stopped job can wait for its room before its deadline has to leave it time for a whole run."""


def starts_jobs(partition_state: str) -> bool:
    """Whether queued jobs start in a partition in this state."""
    return partition_state.upper() in _STARTING


def why_blocked(job: ObservedJob, partition_state: str, now: int) -> str:
    """What a pending job waits for other than room; empty when room is all that it lacks.

    Slurm's own reason is believed unless it says "no room" or "others first": a reason that is not known
    here blocks too, since nobody must be stopped for a job that would not start. Slurm may say a text instead of the
    reason's code: then the code counts, if it is told.
    """
    if job.held:
        held = _REASONS.get(_word(job.slurm_reason), _HELD) if _is_hold(job) else _HELD
        return say("waits.also", why=held, what=_unplannable(job)) if job.unplannable else held
    if not starts_jobs(partition_state):
        return say("waits.partition", state=partition_state.upper()[:40])
    if job.dependency:
        return say("waits.for_job", job=job.dependency[:80])
    if job.eligible is not None and job.eligible > now and not job.to_be_placed:
        return _REASONS["begintime"]
    if job.unplannable:
        return _unplannable(job)
    if job.request is None:
        return say("waits.unknown")
    word = _word(job.reason_code or job.slurm_reason)
    text = job.slurm_reason.strip().strip("()").replace("_", " ").lower()
    is_ours = job.to_be_placed and word == "begintime"  # Until it is placed, which is what is planned.
    if is_ours or word in _WAITS_FOR_ROOM or (not job.reason_code and text.startswith(_SAYS_RESOURCES)):
        return ""
    return _REASONS.get(word) or _other(word, job.slurm_reason[:80])


def _other(word: str, said: str) -> str:
    limit = next((code for begin, code in _LIMITS.items() if word.startswith(begin)), None)
    return say(limit, name=said) if limit else say("waits.says", state=said)


def is_at_a_limit(job: ObservedJob) -> bool:
    """Whether Slurm says of a waiting job that a limit of its account or QOS is reached. A limit of what is held it
    looks at only once there is room."""
    return _word(job.reason_code or job.slurm_reason).startswith(tuple(_LIMITS))


def _unplannable(job: ObservedJob) -> str:
    at_the_limit = _REASONS["jobarraytasklimit"]
    if job.unplannable == at_the_limit:
        return at_the_limit
    return say("waits.unplannable", why=told(job.unplannable[:120]))


def why_protected(job: ObservedJob, policy: PartitionPolicy, preemptions: int, now: int) -> str:
    """Why a running job may not be stopped; empty when it may."""
    other = why_protected_anyway(job, policy, preemptions)
    if not other and no_time_left(job, now) and policy.not_requeueable is not NotRequeueable.CANCEL:
        return say("spared.deadline")
    why = None if other else immunity(job, policy, now)
    return in_words(why, policy) if why else other


def no_time_left(job: ObservedJob, now: int) -> bool:
    """Whether a job that is stopped now would soon have no time for another run: Slurm ends it at its deadline, and
    does not begin a run that could not be over by then."""
    return job.deadline is not None and now + TO_COME_BACK_S + (job.time_limit_s or 0) > job.deadline


def why_protected_anyway(job: ObservedJob, policy: PartitionPolicy, preemptions: int) -> str:
    """Why a running job may not be stopped, requeueable or not; empty when it may."""
    if job.not_understood:
        return say("spared.not_understood", why=told(job.not_understood[:120]))
    if job.slurm_state.upper().startswith("SUSPENDED"):
        return say("spared.suspended")
    if job.reservation:
        return say("spared.reservation", name=job.reservation[:60])
    rule = protecting_rule(job, policy)
    if rule:
        return rule
    if preemptions >= policy.max_preemptions_per_job:
        return _often(preemptions)
    return ""


def _is_hold(job: ObservedJob) -> bool:
    return _word(job.slurm_reason).startswith("jobheld")


def _word(reason: str) -> str:
    """Slurm's reason without what may follow it: `ReqNodeNotAvail, UnavailableNodes:n1`, `RaisedSignal:10(…)`."""
    word = reason.strip().strip("()").partition(",")[0].partition(":")[0].lower()
    return "" if word == "null" else word


def _often(times: int) -> str:
    if not times:
        return say("spared.none")
    return say("spared.once") if times == 1 else say("spared.times", n=times)
