"""What Giveway may do to a cluster, one change at a time, and what came of it."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from scheduler.model.jobs import RunKey
from scheduler.model.sentence import say


class ActionKind(StrEnum):
    """The only changes Giveway makes.

    PRIORITISE: put a pending job first in Slurm's own order (`value` = priority).
    RESTORE_PRIORITY: let Slurm compute a pending job's priority again.
    PLACE: give a pending job that is not held this nice (`value`): Slurm takes it off the priority that it computes.
    SIGNAL: send the checkpoint signal (`value` = its name, with `TO_STEPS` or `TO_ALL` behind it where the job says
    so) to the batch script of a running job.
    REQUEUE_HOLD: stop a running job and put it back into the queue, held (`value` = `FIRST_ALLOW`: one that has become
    not requeueable is made requeueable right before; `value` = `NOT_HELD`: it is not held, and starts again by itself
    after the cluster's own delay should nobody come any more).
    RECOVER: put back into the queue, held, a job whose script the checkpoint signal (`value`) has ended; or (`value` =
    `REQUEUED`) one whose requeue was answered and forgotten, so that the run has ended by being stopped.
    CANCEL: end a running job that cannot be requeued.
    ALLOW_REQUEUE: make a job requeueable again (Slurm's Requeue=1).
    HOLD: hold a pending job. RELEASE: let a held pending job start at once when there is room
    (also clears Slurm's own delay after a requeue); with a `value`, at that priority from the first moment. Slurm stops
    computing then; with `~` before the number it goes on, because the priority is reached by nice. Only what is ours is
    taken back: a hold of the job's user, or after a stop an administrator's, stays (REFUSED, `LEFT_HELD`), and so does
    a begin time that somebody has set.
    RESIZE: give a job that waits held after a requeue another number of nodes (`value`), with as many tasks and CPUs on
    each as before.
    SHRINK: let a running job go on with these of its nodes only (`value`: their names, a comma between two); what it
    holds on the others comes free. Its first node stays. Never for a job that holds GPUs or other generic resources.
    KEEP: give nodes to nobody but this pending job until a moment (`value`: `keep_value`). Who runs there goes on, and
    so does the job, should it have started and the moment pass. Asked for again with another moment or other nodes, it
    is these from then on. It ends by itself: nothing has to be taken back by a Giveway that is not there any more.
    With `for_next` in its value it is for a job that runs: its next run will be kept for, and it is not given the nodes
    yet; asked for again without it once the job waits, it is.
    LET_GO: nothing is kept for this job any more, whatever has become of it.
    BEGIN: a pending job may start from this epoch second on (`value`), and not before; a moment that is past: at once.
    While it has not come the job waits to be placed (`ObservedJob.to_be_placed`). It comes by itself: nothing has to be
    taken back by a Giveway that is not there any more. A begin time that its user has set is refused.
    """

    PRIORITISE = "prioritise"
    RESTORE_PRIORITY = "restore_priority"
    PLACE = "place"
    SIGNAL = "signal"
    REQUEUE_HOLD = "requeue_hold"
    RECOVER = "recover"
    CANCEL = "cancel"
    ALLOW_REQUEUE = "allow_requeue"
    HOLD = "hold"
    RELEASE = "release"
    RESIZE = "resize"
    SHRINK = "shrink"
    KEEP = "keep"
    LET_GO = "let_go"
    BEGIN = "begin"


BY_NICE = "~"
MOST_NICE = 2_147_483_645
"""As far as Slurm takes it, to both sides."""

DRAIN_MARK = "giveway: "
"""So begins the reason of a node that Giveway has drained."""

FIRST_ALLOW = "allow"
NOT_HELD = "not_held"
TO_STEPS, TO_ALL = ":steps", ":all"
"""Behind a signal's name: it goes to the steps of the job, or to them and the script."""
TO_WHO_SAVES = ":who_saves"
"""Behind a signal's name as long as it is not sent: whether, and to whom, is decided then, by what the job says."""
REQUEUED = "requeued"
NOT_REQUEUEABLE = "presently disabled"
"""In the words in which a requeue of a job that is not requeueable is refused; no other refusal has them."""
HELD_BY_USER = say("release.held_by_user")
HELD_BY_ADMIN = say("release.held_by_admin")
LEFT_HELD = frozenset({HELD_BY_USER, HELD_BY_ADMIN})
"""Why a RELEASE is refused: somebody else holds the job."""
STOPPING = frozenset({ActionKind.SIGNAL, ActionKind.REQUEUE_HOLD, ActionKind.CANCEL})
"""Actions aimed at one run of a job: they must never hit a later run of the same job id."""
RESIZING = frozenset({ActionKind.RESIZE, ActionKind.SHRINK})
"""Actions that change how many nodes a job has; `ClusterInfo.resizing` says which of them a cluster carries out."""


FOR_NEXT = "next"


def keep_value(until: int, nodes: Collection[str], *, for_next: bool = False) -> str:
    """The value of a KEEP: the epoch second at which it ends, the nodes, and whether it is for the next run of a job
    that still runs."""
    return f"{until} {','.join(sorted(nodes))}{f' {FOR_NEXT}' if for_next else ''}"


def is_for_next(value: str) -> bool:
    """Whether a KEEP is for the next run of a job that still runs."""
    return value.endswith(f" {FOR_NEXT}")


def kept_of(value: str) -> tuple[int, tuple[str, ...]]:
    """The moment and the nodes of a KEEP. Raises ValueError for a value that has not both."""
    until, _, nodes = value.removesuffix(f" {FOR_NEXT}").partition(" ")
    if not (until.isascii() and until.isdecimal() and nodes):
        raise ValueError("it does not say until when, and which nodes")
    return int(until), tuple(nodes.split(","))


@dataclass(frozen=True, slots=True)
class Action:
    """One change to one job. For a running job, `run` names the run that may be hit and no other.

    `comment`: left with the job for people, where administrators leave theirs (Slurm's AdminComment); the job's own
    comment is its user's.
    """

    kind: ActionKind
    run: RunKey
    value: str = ""
    comment: str = ""
    of_stop: bool = False
    """Of a RELEASE: it takes back a stop, and no HOLD. Then an administrator's hold is not ours."""


class OutcomeKind(StrEnum):
    """What came of an action."""

    DONE = "done"
    ALREADY = "already"
    """The wished state was there already: a success."""
    GONE = "gone"
    """The job, or that run of it, is no longer there."""
    REFUSED = "refused"
    """The cluster said no, for good; `detail` has its words."""
    UNKNOWN = "unknown"
    """No answer (time-out, connection): look before trying again."""


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """What came of an action; `detail` is the cluster's own words, shortened, safe to store."""

    kind: OutcomeKind
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether the wished state holds."""
        return self.kind in {OutcomeKind.DONE, OutcomeKind.ALREADY}


TOO_LATE = ActionOutcome(OutcomeKind.UNKNOWN, "not sent: it took too long to come to it")
