"""Keeping nodes for a job that waits: short reservations of our own, one per job, that end by themselves.

What was tried on 22.05.8, 24.11.5 and 26.05.5 (docs/methods/reservation.md tells it whole):

- `IGNORE_JOBS`: nodes may be kept on which others still run; these go on.
- `FLEX`: the job may start before the end of the reservation and run on beyond it, and may also use other nodes; those
  of the reservation are tried first. Without it slurmctld ends the job with the reservation.
- `NO_HOLD_JOBS_AFTER`: a job that still waits when the reservation ends waits on like any other. Without it slurmctld
  holds the job for good.
- A reservation is not deleted while a job is in it, waiting or running: the job is taken out first. A running one may
  be, and goes on.
- A job that runs is not put into one: what is kept for its next run is in its user's name, and the job joins once it
  waits.
- One that has ended stays in the list for up to half a minute, and until then none that shares a node is made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from scheduler.adapters.slurm.allowed import KEPT_FOR
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind, is_for_next, kept_of

FLAGS = "Flags=IGNORE_JOBS,FLEX,NO_HOLD_JOBS_AFTER"
DONE = ActionOutcome(OutcomeKind.DONE)
ALREADY = ActionOutcome(OutcomeKind.ALREADY)

Call = Callable[..., dict[str, ActionOutcome]]
"""One command for jobs, with an outcome for each (`write.Writer`)."""


@dataclass(frozen=True, slots=True)
class Keeper:
    """Carries out one group of such actions, job by job."""

    call: Call

    def carry_out(self, actions: Sequence[Action], seen: Mapping[str, QueueRow]) -> dict[str, ActionOutcome]:
        """One outcome per job; `seen`: each as it is now, as far as it is there. Raises nothing."""
        if actions[0].kind is ActionKind.KEEP:
            return {a.run.job_id: self._keep(a, seen[a.run.job_id]) for a in actions}
        return {a.run.job_id: self._let_go(a.run.job_id, seen.get(a.run.job_id)) for a in actions}

    def _keep(self, action: Action, row: QueueRow) -> ActionOutcome:
        job, name = row.id, KEPT_FOR + row.id
        until, nodes = kept_of(action.value)
        what = (f"Nodes={','.join(nodes)}", f"EndTime={datetime.fromtimestamp(until, UTC):%FT%T}")
        renew = (job, "update", f"ReservationName={name}", *what)
        create = (
            *(job, "create", "reservation", f"ReservationName={name}", what[0], "StartTime=now", what[1]),
            *(f"Users={row.user}", FLAGS),
        )
        inside = row.reservation == name
        made = self._one(*(renew if inside else create))
        if not made.ok:
            # It has ended meanwhile; or it is there and the job was taken out of it, which is told like any overlap.
            again = self._one(*(create if inside else renew))
            inside = inside and not again.ok
            made = again if again.ok else made
        if not made.ok or inside or is_for_next(action.value):
            return made
        joined = self._one(job, "update", f"JobId={job}", f"ReservationName={name}")
        if not joined.ok:
            # Nodes that are kept for nobody would only stand idle.
            self._one(job, "delete", f"ReservationName={name}")
        return joined

    def _let_go(self, job: str, row: QueueRow | None) -> ActionOutcome:
        name = KEPT_FOR + job
        if row is not None and row.reservation == name:
            left = self._one(job, "update", f"JobId={job}", "ReservationName=")
            if left.kind is OutcomeKind.UNKNOWN:
                return left
        deleted = self._one(job, "delete", f"ReservationName={name}")
        return ALREADY if deleted.kind is OutcomeKind.GONE else deleted

    def _one(self, job: str, *arguments: str) -> ActionOutcome:
        return self.call("scontrol", [job], *arguments)[job]
