"""Sentences that are kept in English: what the core says of its decisions, what became of plans and steps.

Each line is what the code makes with names and numbers in place of the placeholders. Pages recognise a kept sentence by
its line and say it in the reader's language (`console/core/resaying.py`, which also knows what a placeholder may hold).
A new sentence of the core is a line here; without it, pages show the English, marked as such.
"""

from django.utils.translation import gettext_noop as _

PHRASES: tuple[str, ...] = (
    # What the planner says of a job (scheduler/preemption)
    _("%(who)s needs %(need)s; %(free)s."),
    _("%(why)s Slurm has not started it within two cycles, so it is put first in its line."),
    _("%(who)s needs %(need)s. Jobs that are ending already make room for it on %(nodes)s."),
    _("Room for %(who)s is being made on %(nodes)s."),
    _("%(who)s needs %(need)s; %(free)s. Stopping %(victims)s makes room on %(nodes)s."),
    _("%(who)s needs %(need)s; %(free)s. Stopping %(victims)s would make room on %(nodes)s, but %(why)s."),
    _("%(who)s needs %(need)s; %(free)s. Stopping %(victims)s would make room, but %(why)s."),
    _("it has to wait %(left)s more: others are stopped only for a job that has waited %(time)s"),
    _("it was stopped itself %(time)s ago: others are not stopped for it for %(left)s yet"),
    _(
        "it ended badly within a minute of its start %(n)s times in an hour: others are stopped for it again once "
        "it has run well, or is submitted anew"
    ),
    _("some of them would come back ranked above %(job)s"),
    _("jobs of %(user)s were stopped %(used)s of %(most)s times in this hour"),
    _("%(partition)s has had %(used)s of %(most)s stops in this hour"),
    _("%(why)s, and %(n)s more would be too many"),
    _("%(who)s needs %(need)s; nothing of lower rank runs in %(partition)s."),
    _("%(who)s needs %(need)s; none of the %(n)s lower jobs that run may be stopped."),
    _(
        "%(who)s needs %(need)s; none of the %(n)s lower jobs that run may be stopped, %(m)s of them because "
        "their users' jobs were stopped often enough in this hour."
    ),
    _("%(who)s needs %(need)s. Stopping %(below)s, %(amounts)s together, would not make enough room."),
    _("the only lower job"),
    _("all %(n)s lower jobs"),
    _("%(below)s (%(n)s more may not be stopped)"),
    _(
        "%(below)s (%(n)s more may not be stopped, %(m)s of them because their users' jobs were stopped "
        "often enough in this hour)"
    ),
    _("%(who)s needs %(need)s; %(partition)s does not have that, even when it is empty."),
    _("%(who)s needs %(need)s; no node of %(partition)s has %(amounts)s: it can never start here."),
    _("%(who)s needs %(need)s; %(partition)s has no such node: it can never start here."),
    _("%(who)s needs %(need)s; of such nodes %(partition)s has only %(n)s: it can never start here."),
    _("%(who)s may not start yet: %(why)s."),
    _("%(who)s is held until a job of its level ends: %(why)s."),
    _("%(who)s is refused: %(why)s."),
    _("%(job)s counts as unconfigured: %(why)s."),
    _("%(who)s asks for something unknown."),
    _("%(user)s may have %(limit)s %(level)s job running at a time and has %(used)s"),
    _("%(user)s may have %(limit)s %(level)s jobs running at a time and has %(used)s"),
    _("all running %(level)s jobs may hold %(limit)s together, and it alone asks for %(asked)s"),
    _("all running %(level)s jobs may hold %(limit)s together and hold %(used)s; it asks for %(asked)s"),
    _("%(user)s's running %(level)s jobs may hold %(limit)s together, and it alone asks for %(asked)s"),
    _(
        "%(user)s's running %(level)s jobs may hold %(limit)s together and hold %(used)s; it asks for %(asked)s"
    ),
    _("%(need)s in all"),
    _("%(need)s on one node"),
    _("%(need)s on each of %(n)s nodes"),
    _("%(need)s with %(names)s"),
    _("%(need)s out of %(nodes)s"),
    _("%(need)s other than %(nodes)s"),
    _("%(need)s for itself alone"),
    _("%(n)s nodes of %(need)s"),
    _("free now: nothing"),
    _("%(nodes)s has nothing free"),
    _("%(nodes)s have nothing free together"),
    _("free now: %(amounts)s"),
    _("%(nodes)s has %(amounts)s free"),
    _("%(nodes)s have %(amounts)s free together"),
    _("%(job)s (%(user)s, %(level)s, task %(task)s, ran %(time)s)"),
    _("%(job)s (%(user)s, task %(task)s, ran %(time)s)"),
    _("%(job)s (%(user)s, %(level)s, ran %(time)s)"),
    _("%(job)s (%(user)s, %(level)s, task %(task)s)"),
    _("%(job)s (%(user)s, %(level)s)"),
    _("%(job)s (%(user)s, task %(task)s)"),
    _("%(who)s needs %(need)s; %(free)s. Nobody is stopped: %(losses)s."),
    _("%(who)s needs %(need)s; %(free)s. To make room, %(losses)s."),
    _("%(who)s needs %(need)s; %(free)s. %(victims)s could shrink for it, but %(why)s."),
    _("%(who)s stops"),
    _("%(who)s is stopped"),
    _("%(who)s gives back %(n)s of %(m)s units (%(amounts)s)"),
    _("%(who)s gives up %(nodes)s (%(amounts)s)"),
    _("%(who)s holds %(n)s of the %(m)s units that it wishes for; free for it: %(nodes)s."),
    _("%(who)s is on %(n)s of the %(m)s nodes that it wishes for; free for it: %(nodes)s."),
    _("It gets %(n)s of its %(m)s units; the rest goes on waiting."),
    _("one unit of %(need)s"),
    _("%(n)s units of %(need)s"),
    _(
        "%(who)s needs %(need)s. It can start on %(nodes)s at %(moment)s (in %(left)s). That is within "
        "%(time)s: nobody is stopped for it."
    ),
    _(
        "%(who)s needs %(need)s. It can start on %(nodes)s at %(moment)s (in %(left)s), when %(names)s is "
        "expected to have ended. That is within %(time)s: nobody is stopped for it."
    ),
    _(
        "%(who)s needs %(need)s. It can start on %(nodes)s at %(moment)s (in %(left)s), when %(names)s are "
        "expected to have ended. That is within %(time)s: nobody is stopped for it."
    ),
    _(
        "It can start on %(nodes)s at %(moment)s (in %(left)s). Until then nobody below it gets anything there."
    ),
    _(
        "It can start on %(nodes)s at %(moment)s (in %(left)s), when %(names)s is expected to have ended. "
        "Until then nobody below it gets anything there."
    ),
    _(
        "It can start on %(nodes)s at %(moment)s (in %(left)s), when %(names)s are expected to have ended. "
        "Until then nobody below it gets anything there."
    ),
    _(
        "%(who)s needs %(need)s. %(nodes)s has room for it beside a job that starts there in this plan; one "
        "job a plan gets a node, so it is its turn in the next one."
    ),
    _(
        "%(who)s needs %(need)s. %(nodes)s have room for it beside a job that starts there in this plan; one "
        "job a plan gets a node, so it is its turn in the next one."
    ),
    _("Not measured: %(nodes)s."),
    _("It is the nearest set: the nodes differ by %(n)s in compute power, %(m)s is allowed."),
    _("The nodes differ by %(n)s in compute power, %(m)s is allowed."),
    _("The nodes differ by %(n)s in compute power, %(m)s is allowed, all in %(name)s."),
    _("It asks for nodes of equal compute power: %(n)s apart is allowed."),
    _(
        "%(who)s needs %(need)s of equal compute power; there is room, but the nearest set differs by %(n)s, "
        "%(m)s is allowed."
    ),
    _(
        "%(who)s needs %(need)s of equal compute power; only %(n)s of the nodes that it may use have been "
        "measured (%(name)s)."
    ),
    _(
        "%(who)s needs %(need)s of equal compute power; what is free is too uneven. %(victims)s exchanges "
        "%(node)s for %(other)s, so that both have even sets; it starts on %(nodes)s."
    ),
    # Why a job may not start, or may not be stopped (scheduler/reconcile)
    _("it is held by its user"),
    _("it is held by an administrator"),
    _("it is held"),
    _("it waits for another job"),
    _("it waits for another job (%(job)s)"),
    _("the job that it depends on did not end as it wants"),
    _("its begin time has not come"),
    _("its array runs as many tasks at a time as it may"),
    _("its reservation has not begun or is full"),
    _("it waits for licences"),
    _("its account is not valid"),
    _("its QOS is not valid"),
    _("no node can ever meet its constraints"),
    _("the partition is down"),
    _("the partition is inactive"),
    _("the partition is %(state)s"),
    _("it asks for more nodes than the partition allows"),
    _("it asks for more time than the partition allows"),
    _("a node that it names is down, drained or reserved"),
    _("its last run is still being cleaned up"),
    _("no room can be made for it, because %(why)s"),
    _("what it asks for is not known"),
    _("Slurm says %(state)s"),
    # What the reading of Slurm did not understand (scheduler/adapters/slurm, scheduler/reconcile/blocking.py)
    _("%(why)s, and no room can be made for it, because %(what)s"),
    _("not everything that Slurm tells of it is understood: %(why)s"),
    _("it changed while it was being read"),
    _("its share of %(node)s is not told"),
    _("its nodes are not told"),
    _("it runs but has no start time"),
    _("its state %(state)s is not known"),
    _("its %(name)s is not told"),
    _("its %(name)s is not understood"),
    _("its memory %(name)s is not understood"),
    _("its memory is told per resource, but not of which"),
    _("its licences %(name)s are not understood"),
    _("the nodes of the reservation %(name)s are not understood"),
    _("its last run was ended by a signal"),
    _("node %(name)s does not decode: %(what)s"),
    _("it is suspended"),
    _("it is part of a heterogeneous job"),
    _("it runs in the reservation %(name)s"),
    _("it is interactive and cannot be requeued"),
    _("it was submitted with --no-requeue"),
    _("it was made not requeueable after it was submitted"),
    _("%(why)s; it may be cancelled %(time)s after it was first seen so"),
    _("the partition allows no job to be stopped"),
    _("it was stopped once already, as often as the partition allows"),
    _("it was stopped %(n)s times already, as often as the partition allows"),
    _("the partition protects the job %(name)s"),
    _("the partition protects the user %(name)s"),
    _("the partition protects the account %(name)s"),
    _("the partition protects the QOS %(name)s"),
    _("the partition protects the job %(name)s (by %(pattern)s)"),
    _("the partition protects the user %(name)s (by %(pattern)s)"),
    _("the partition protects the account %(name)s (by %(pattern)s)"),
    _("the partition protects the QOS %(name)s (by %(pattern)s)"),
    _("stopped for %(job)s, comes back when it runs"),
    _("room is set aside for it in another partition"),
    _("Slurm refused to stop it"),
    _("spared to see who else could make room"),
    _("%(job)s no longer waits."),
    _("%(job)s could not start: the partition is %(state)s."),
    _("%(job)s may no longer be stopped: %(why)s."),
    _("%(job)s is over quota."),
    _("%(job)s no longer ranks below %(other)s."),
    _("%(job)s does not start now: %(why)s."),
    _("Node %(node)s no longer takes jobs."),
    _("Other jobs have taken the room on %(node)s: %(amounts)s would no longer be free."),
    _("%(job)s cannot lose a part"),
    # Where a level comes from (scheduler/priority)
    _("keyword %(word)s"),
    _("keyword %(word)s is not %(user)s's to use; %(origin)s"),
    _("pattern %(pattern)s of %(code)s"),
    _("override by the partition"),
    _("override by the partition until %(moment)s"),
    _("%(origin)s; the override to %(level)s ended %(moment)s"),
    _("%(code)s: %(sum)s below every level"),
    _("%(code)s: %(sum)s below every level (pattern %(pattern)s of %(other)s)"),
    _("%(code)s: %(sum)s → %(level)s"),
    _("%(code)s: %(sum)s → %(level)s (pattern %(pattern)s of %(other)s)"),
    # What became of plans and their steps (console/steering)
    _("%(who)s paused all partitions"),
    _("%(who)s paused all partitions: %(said)s"),
    _("%(who)s paused the partition %(partition)s"),
    _("%(who)s paused the partition %(partition)s: %(said)s"),
    _("%(who)s paused the partition %(partition)s: three cycles in a row failed, the last in %(what)s"),
    _("three cycles in a row failed, the last in %(what)s"),
    _("The cycle failed in %(what)s"),
    _("%(partition)s could not be decided on; the cycle failed in %(what)s"),
    _("Giveway could not decide on the jobs of %(partition)s; until it can, nobody is stopped there."),
    _("plan %(plan)s was undone a moment ago; it is not tried again at once"),
    _(
        "plan %(plan)s was undone: it had not started by the deadline; the next try is in %(left)s at the earliest"
    ),
    _(
        "%(who)s rejected plan %(plan)s: %(said)s. The same jobs are not asked for again in the next %(time)s."
    ),
    _("%(user)s is no longer over quota."),
    _("Nobody may be stopped: %(why)s."),
    _("The partition no longer carries out its plans."),
    _("The partition no longer enforces its plans."),
    _("The partition's enforcement has changed; a newer plan takes its place."),
    _("The policy has changed; a newer plan takes its place."),
    _("The facts have changed; a newer plan takes its place."),
    _("%(why)s A newer plan takes its place."),
    _("%(job)s no longer runs."),
    _("%(job)s is protected now, or ranks differently."),
    _("The room on %(node)s is not what it was."),
    _("%(job)s need not be stopped any more."),
    _("%(job)s is no longer in the queue."),
    _("It is no longer in the queue."),
    _("%(job)s left the queue and was not seen running."),
    _("%(job)s had not started by the deadline."),
    _("%(job)s started elsewhere, on %(nodes)s."),
    _("%(job)s was stopped all the same."),
    _("%(job)s is still held by this plan; it is let go."),
    _("%(job)s runs already."),
    _("%(job)s runs."),
    _("It took effect after all."),
    _("It ended in its grace time."),
    _("It was never stopped."),
    _("It ended in its grace time and was not put back into the queue."),
    # What became of a plan's victims
    _("%(job)s waits."),
    _("%(names)s wait."),
    _("%(names)s came back."),
    _("%(job)s was not stopped."),
    _("%(names)s were not stopped."),
    _("%(job)s was cancelled."),
    _("%(names)s were cancelled."),
    _("%(job)s was ended by its owner."),
    _("%(names)s were ended by their owners."),
    _("%(job)s was lost."),
    _("%(names)s were lost."),
    _("It waits in the queue."),
    _("It waits, held by somebody else."),
    _("It came back."),
    _("It was not stopped."),
    _("It had ended before."),
    _("It completed."),
    _("It was cancelled."),
    _("It was cancelled by %(user)s."),
    _("It was cancelled: it cannot be requeued."),
    _("It reached its time limit."),
    _("It is gone, and nobody can tell what became of it."),
    _("It ended (%(state)s) and was not put back into the queue."),
    _("It came back and ended within a minute (%(state)s)."),
    _("Slurm could not start it again, and holds it (%(state)s)."),
    _("The job was seen again."),
    _("%(n)s stopped jobs did not come back within an hour: %(names)s"),
    _("incident %(n)s of %(job)s (%(user)s)"),
    _("It has left its place at the head of the line."),
    _("Not seen to work after %(n)s attempts."),
    _("prioritise of %(job)s did not work: %(why)s"),
    _("signal of %(job)s did not work: %(why)s"),
    _("requeue_hold of %(job)s did not work: %(why)s"),
    _("cancel of %(job)s did not work: %(why)s"),
    _("prioritise of %(job)s was refused: %(why)s"),
    _("signal of %(job)s was refused: %(why)s"),
    _("requeue_hold of %(job)s was refused: %(why)s"),
    _("cancel of %(job)s was refused: %(why)s"),
    _("no reason given"),
    _("done"),
    _("already"),
    _("gone"),
    _("unknown"),
    _("refused"),
    _("failed"),
    # What the audit log's rows are about
    _("plan %(plan)s for %(job)s (%(user)s)"),
    _("prioritise %(job)s (%(user)s)"),
    _("restore_priority %(job)s (%(user)s)"),
    _("signal %(job)s (%(user)s)"),
    _("requeue_hold %(job)s (%(user)s)"),
    _("recover %(job)s (%(user)s)"),
    _("cancel %(job)s (%(user)s)"),
    _("hold %(job)s (%(user)s)"),
    _("release %(job)s (%(user)s)"),
    _("study %(n)s: %(names)s"),
    _("cluster %(name)s"),
    _("all partitions of %(name)s"),
    _("partition %(name)s"),
    _("%(partition)s: draft %(name)s"),
    _("%(partition)s: back to revision %(n)s"),
    _("%(n)s row of the log"),
    _("%(n)s rows of the log"),
    _("audit log"),
)
