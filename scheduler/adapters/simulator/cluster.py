"""A deterministic Slurm in memory, behind the `Cluster` port, with its own clock and things that users do.

Nothing happens between two calls of `advance()`: also a scheduling pass that a submission, a cancellation or
an action has made due runs at the beginning of the next one, as slurmctld wakes up a moment after a change.
"""

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence

from scheduler.adapters.simulator import keeping, lifecycle
from scheduler.adapters.simulator.acting import act
from scheduler.adapters.simulator.arrivals import Stream, arrive, next_arrival, open_streams
from scheduler.adapters.simulator.faults import Faults
from scheduler.adapters.simulator.jobs import HeldBy, JobSpec, SimJob
from scheduler.adapters.simulator.looking import look
from scheduler.adapters.simulator.schedule import run_pass
from scheduler.adapters.simulator.state import SimNodeState, SimState
from scheduler.adapters.simulator.submission import submit
from scheduler.model.actions import TOO_LATE, Action, ActionOutcome
from scheduler.model.endings import Ending, EndKind
from scheduler.model.jobs import JobState
from scheduler.model.observation import ClusterInfo, Glance, Observation, Resizing
from scheduler.ports import ClusterUnavailableError, always

VERSION = "1"


class SimulatedCluster:
    """The `Cluster` port over a `ClusterState`; `streams` bring new jobs as its clock goes on."""

    def __init__(self, state: SimState, streams: Mapping[str, Stream] | None = None) -> None:
        self.state = state
        self._streams = dict(streams or {})
        open_streams(state, self._streams)

    # --- the port ---

    def describe(self) -> ClusterInfo:
        """Name, kind and version."""
        self._must_answer()
        facts = {"partitions": str(len(self.state.partitions)), "nodes": str(len(self.state.nodes))}
        ways = frozenset({Resizing.RESTART, Resizing.IN_PLACE})
        return ClusterInfo(self.state.name, "simulator", VERSION, facts, ways)

    def observe(self, *, quick: bool = False) -> Observation:
        """The whole cluster as it is now; the clock stands still."""
        self._must_answer()
        return look(self.state)

    def glance(self) -> Glance:
        """How many jobs have come, and what is changed by anybody. Raises `ClusterUnavailableError`."""
        self._must_answer()
        told = [
            (job.id, job.state.value, job.priority, job.restarts, job.held, job.comment, len(job.alloc))
            for job in self.state.jobs.values()
        ]
        told_nodes = [(node.name, node.state.value) for node in self.state.nodes.values()]
        return Glance(self.state.next_id, (zlib.crc32(repr((told, told_nodes)).encode()),))

    def ended(self, job_ids: Collection[str]) -> Mapping[str, Ending]:
        """What became of jobs; of those that half a table lacks nothing is known. Raises `ClusterUnavailableError`."""
        self._must_answer()
        known = {job_id for job_id in job_ids if job_id not in self.state.faults.hidden_jobs}
        alive = Ending(EndKind.ALIVE)
        return {
            job_id: alive if job_id in self.state.jobs else self.state.endings[job_id]
            for job_id in known
            if job_id in self.state.jobs or job_id in self.state.endings
        }

    def apply(
        self, actions: Sequence[Action], may_act: Callable[[], bool] = always
    ) -> Sequence[ActionOutcome]:
        """Carry out the actions one after the other, all at this moment."""
        if not may_act():
            return [TOO_LATE] * len(actions)
        return [act(self.state, action) for action in actions]

    # --- what users and administrators do ---

    @property
    def now(self) -> int:
        """The cluster's clock, epoch seconds."""
        return self.state.now

    @property
    def faults(self) -> Faults:
        """What goes wrong at present, for tests to script."""
        return self.state.faults

    def submit(self, spec: JobSpec) -> str:
        """Queue a job; returns its id (of an array: without a task). Raises `SubmitError`."""
        return submit(self.state, spec)

    def job(self, job_id: str) -> SimJob:
        """One job with its inner state; KeyError when it has ended."""
        return self.state.jobs[job_id]

    def cancel(self, job_id: str) -> bool:
        """A user cancels a job, or all tasks of an array; False when there is no such job any more."""
        jobs = self._jobs(job_id)
        for job in jobs:
            lifecycle.cancel(self.state, job)
        return bool(jobs)

    def hold_by_user(self, job_id: str) -> None:
        """A user holds his own pending job. On one that is held already this leaves no trace, as in Slurm."""
        for job in self._jobs(job_id):
            if job.state is JobState.PENDING and job.held is HeldBy.NO:
                lifecycle.hold(self.state, job, HeldBy.USER)

    def hold_by_admin(self, job_id: str) -> None:
        """An administrator holds a pending job that is not held."""
        for job in self._jobs(job_id):
            if job.state is JobState.PENDING and job.held is HeldBy.NO:
                lifecycle.hold(self.state, job, HeldBy.ADMIN)

    def begin_by_user(self, job_id: str, moment: int) -> None:
        """A user has his pending job not begin before an epoch second (`scontrol update StartTime=`)."""
        for job in self._jobs(job_id):
            if job.state is JobState.PENDING:
                job.begin, self.state.changed = moment, True

    def release_by_user(self, job_id: str) -> None:
        """A user releases a job that no administrator holds (Slurm counts a requeued one as the user's).

        Unlike `RELEASE` this leaves Slurm's delay after a requeue.
        """
        for job in self._jobs(job_id):
            if job.state is JobState.PENDING and job.held is not HeldBy.ADMIN:
                lifecycle.release(self.state, job, clear_begin=False)

    def set_requeue(self, job_id: str, *, requeue: bool) -> None:
        """A user says whether the cluster may requeue his job (`scontrol update JobId=… Requeue=0`)."""
        for job in self._jobs(job_id):
            lifecycle.set_requeue(self.state, job, requeue=requeue)

    def set_node_state(self, name: str, node_state: SimNodeState, reason: str = "") -> None:
        """Drain a node, bring it back, or let it break down (its jobs are requeued or lost at once)."""
        node = self.state.nodes[name]
        node.state, node.reason = node_state, reason
        self.state.changed = True
        if node_state is SimNodeState.DOWN:
            for job in [job for job in self.state.jobs.values() if name in job.alloc]:
                lifecycle.fail_node(self.state, job)

    def set_partition_state(self, name: str, word: str) -> None:
        """Slurm's word: jobs start in a partition only while it is `UP`."""
        self.state.partitions[name].state = word
        self.state.changed = True

    # --- the clock ---

    def advance(self, seconds: int) -> None:
        """Let time pass: everything that is due happens in its order, up to and including the last second."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds}")
        target = self.state.now + seconds
        while True:
            if self.state.changed:
                run_pass(self.state)
            moment = self._next_event()
            if moment is None or moment > target:
                break
            self.state.now = max(moment, self.state.now)
            self._happen()
        self.state.now = target

    def sleep(self, seconds: int) -> None:
        """The clock jumps and nothing happens meanwhile: what was still to come comes that much later."""
        self.state.now += seconds
        for job in self.state.jobs.values():
            if job.begin > self.state.now - seconds:
                job.begin, job.put_off = job.begin + seconds, job.put_off + (seconds if job.put_off else 0)
            for name in ("ends_at", "limit_at", "checkpoint_at", "free_at"):
                moment = getattr(job, name)
                setattr(job, name, None if moment is None else moment + seconds)
        for stream in self.state.streams.values():
            stream.next_at += seconds

    def _next_event(self) -> int | None:
        moments = [moment for job in self.state.jobs.values() if (moment := job.next_event()) is not None]
        moments += [job.begin for job in self.state.in_state(JobState.PENDING) if job.begin > self.state.now]
        moments += [kept.until for kept in self.state.kept.values() if kept.until > self.state.now]
        arrival = next_arrival(self.state)
        return min(moments if arrival is None else [*moments, arrival], default=None)

    def _happen(self) -> None:
        """What is due now: resources come free, jobs end, checkpoints are finished, new jobs arrive."""
        now = self.state.now
        keeping.end_overdue(self.state)
        for job in list(self.state.jobs.values()):
            if job.state is JobState.COMPLETING and job.free_at is not None and job.free_at <= now:
                lifecycle.finish_completing(self.state, job)
            elif job.state is JobState.RUNNING:
                self._go_on(job)
            elif job.state is JobState.PENDING and job.begin == now:
                self.state.changed = True
        arrive(self.state, self._streams)

    def _go_on(self, job: SimJob) -> None:
        now = self.state.now
        if job.checkpoint_at is not None and job.checkpoint_at <= now:
            lifecycle.checkpoint(self.state, job)
        if job.ends_at is not None and job.ends_at <= now:
            lifecycle.end(self.state, job, ok=not job.spec.fails)
        elif job.limit_at is not None and job.limit_at <= now:
            lifecycle.time_out(self.state, job)

    def _jobs(self, job_id: str) -> list[SimJob]:
        return [job for job in self.state.jobs.values() if job_id in (job.id, job.array_job_id)]

    def _must_answer(self) -> None:
        if self.state.faults.unavailable:
            raise ClusterUnavailableError(self.state.faults.unavailable)
