"""The lines of all sentences of the core, by their codes (see `scheduler.model.sentence`).

A line is a whole sentence, or a part that other lines take in; where one and several are said in different ways there
are two codes. Each line stands in the catalogues of messages. `%(english)s` is the place of words of ours that were
said as text, by an adapter or in a snapshot.
"""

from scheduler.model.sentences_of_comments import OF_COMMENTS

SENTENCES: dict[str, str] = {
    "joined": "%(first)s %(next)s",
    "told": "%(english)s",
    "level.none": "unconfigured",
    # Who, and what it needs (scheduler/preemption/sentences.py)
    "job": "%(job)s (%(user)s, %(level)s)",
    "job.task": "%(job)s (%(user)s, task %(task)s)",
    "job.both": "%(job)s (%(user)s, %(level)s, task %(task)s)",
    "victim": "%(job)s (%(user)s, %(level)s, ran %(time)s)",
    "victim.task": "%(job)s (%(user)s, task %(task)s, ran %(time)s)",
    "victim.both": "%(job)s (%(user)s, %(level)s, task %(task)s, ran %(time)s)",
    "need.unknown": "what is not known",
    "need.unit": "one unit of %(need)s",
    "need.units": "%(n)s units of %(need)s",
    "need.in_all": "%(need)s in all",
    "need.one_node": "%(need)s on one node",
    "need.each_node": "%(need)s on each of %(n)s nodes",
    "need.with": "%(need)s with %(names)s",
    "need.out_of": "%(need)s out of %(nodes)s",
    "need.other_than": "%(need)s other than %(nodes)s",
    "need.alone": "%(need)s for itself alone",
    "free.anywhere": "free now: %(amounts)s",
    "free.anywhere.none": "free now: nothing",
    "free.node": "%(nodes)s has %(amounts)s free",
    "free.node.none": "%(nodes)s has nothing free",
    "free.nodes": "%(nodes)s have %(amounts)s free together",
    "free.nodes.none": "%(nodes)s have nothing free together",
    "free.on": "%(node)s (%(amounts)s)",
    # What is decided
    "start": "%(who)s needs %(need)s; %(free)s.",
    "start.given_up": "Somebody who ranks above %(job)s needs the room that was kept for it.",
    "start.late": "%(why)s Slurm has not started it within two cycles: it is put first in line.",
    "room.coming": "%(who)s needs %(need)s; ending jobs make room on %(nodes)s.",
    "room.promised": "Room for %(who)s is being made on %(nodes)s.",
    "stop": "%(who)s needs %(need)s; %(free)s. Stopping %(victims)s makes room on %(nodes)s.",
    "stop.held": "%(who)s needs %(need)s; %(why)s. Stopping %(victims)s would make room on %(nodes)s; %(free)s.",
    "stop.held.anywhere": "%(who)s needs %(need)s; %(why)s. Stopping %(victims)s would make room; %(free)s.",
    "limit.crashes": (
        "it failed within a minute of its start %(n)s times in an hour: nobody is stopped for it until it "
        "runs well or is submitted anew"
    ),
    "limit.too_soon": "it must wait %(left)s more of %(time)s before others are stopped for it",
    "limit.cool_down": "it was stopped %(time)s ago: nobody is stopped for it for %(left)s yet",
    "limit.comes_back": "some victims would come back above %(job)s",
    "limit.user_hour": "jobs of %(user)s were stopped %(used)s of %(most)s times in this hour",
    "limit.hour": "%(partition)s has had %(used)s of %(most)s stops in this hour",
    "limit.too_many": "%(why)s, and %(n)s more are too many",
    "queue.nothing_lower": "%(who)s needs %(need)s; no lower job runs in %(partition)s.",
    "queue.nothing_lower.bands": "%(who)s needs %(need)s; no job of a lower band runs in %(partition)s.",
    "queue.none_may": "%(who)s needs %(need)s; no lower job may be stopped (%(n)s running).",
    "queue.none_may.often": (
        "%(who)s needs %(need)s; no lower job may be stopped (%(n)s running, %(m)s of users who were stopped "
        "often enough in this hour)."
    ),
    "queue.not_enough": "%(who)s needs %(need)s; not enough room even by stopping %(below)s: %(amounts)s together.",
    "below.one": "the only lower job",
    "below.all": "all %(n)s lower jobs",
    "below.spared": "%(below)s (%(n)s more protected)",
    "below.spared.often": (
        "%(below)s (%(n)s more protected, %(m)s of users who were stopped often enough in this hour)"
    ),
    "never.empty": "%(who)s needs %(need)s; %(partition)s does not have that, even empty.",
    "never.amounts": "%(who)s needs %(need)s; no node of %(partition)s has %(amounts)s: it can never start here.",
    "never.node": "%(who)s needs %(need)s; %(partition)s has no such node: it can never start here.",
    "never.nodes": "%(who)s needs %(need)s; of such nodes %(partition)s has only %(n)s: it can never start here.",
    "blocked.unknown": "%(who)s asks for something unknown.",
    "blocked": "%(who)s may not start yet: %(why)s.",
    "quota.held": "%(who)s is held until a job of its level ends: %(why)s.",
    "quota.refused": "%(who)s is refused: %(why)s.",
    "quota.lowest": "%(job)s counts as unconfigured: %(why)s.",
    "quota.job": "%(user)s may run %(limit)s %(level)s job at a time and runs %(used)s",
    "quota.jobs": "%(user)s may run %(limit)s %(level)s jobs at a time and runs %(used)s",
    "quota.all.alone": "running %(level)s jobs may hold %(limit)s together; it alone asks for %(asked)s",
    "quota.all": "running %(level)s jobs may hold %(limit)s together and hold %(used)s; it asks for %(asked)s",
    "quota.user.alone": "%(user)s's running %(level)s jobs may hold %(limit)s together; it alone asks for %(asked)s",
    "quota.user": (
        "%(user)s's running %(level)s jobs may hold %(limit)s together and hold %(used)s; it asks for %(asked)s"
    ),
    # Parts of jobs (units, elastic)
    "shrink": "%(who)s needs %(need)s; %(free)s. Nobody is stopped: %(losses)s.",
    "shrink.held": "%(who)s needs %(need)s; %(why)s. %(victims)s could shrink for it; %(free)s.",
    "parts": "%(who)s needs %(need)s; %(free)s. To make room, %(losses)s.",
    "loses.all": "%(who)s stops",
    "loses.run": "%(who)s is stopped",
    "loses.units": "%(who)s gives back %(n)s of %(m)s units (%(amounts)s)",
    "loses.workers": "%(who)s gives up %(n)s of %(m)s workers: %(workers)s (%(amounts)s)",
    "loses.nodes": "%(who)s gives up %(nodes)s (%(amounts)s)",
    "loses.nodes.restart": (
        "%(who)s gives up %(nodes)s (%(amounts)s) by a restart and goes on with %(left)s of its nodes"
    ),
    "grows.later": (
        "The elastic job has the %(least)s workers that it needs; %(who)s is one more. It starts when there "
        "is free room, and nobody is stopped for it."
    ),
    "again.rigid": "No job counts as elastic here now; %(job)s would have been taken from one.",
    "spared.shrinking": "it gives up some of its nodes just now",
    "again.minimum": "The elastic job %(group)s has %(n)s other workers left and needs %(least)s.",
    "spared.workers": "its workers are more than may be stopped within an hour",
    "grow.units": "%(who)s holds %(n)s of %(m)s units that it wishes for; free for it: %(nodes)s.",
    "grow.nodes": "%(who)s is on %(n)s of %(m)s nodes that it wishes for; free for it: %(nodes)s.",
    "grow.restart": (
        "It starts again from its checkpoint on %(n)s nodes: that gains %(gain)s of the time it has left, and "
        "the restart costs %(cost)s."
    ),
    "spared.growing": "it is about to start again on more nodes",
    "units.part": "It gets %(n)s of its %(m)s units; the rest goes on waiting.",
    # Predicted starts (reservation)
    "soon": (
        "%(who)s needs %(need)s. It is expected to start by itself in %(left)s (%(moment)s) on %(nodes)s: "
        "nobody is stopped for a wait of up to %(time)s."
    ),
    "soon.one": (
        "%(who)s needs %(need)s. It is expected to start by itself in %(left)s (%(moment)s) on %(nodes)s, "
        "when %(names)s has ended: nobody is stopped for a wait of up to %(time)s."
    ),
    "soon.many": (
        "%(who)s needs %(need)s. It is expected to start by itself in %(left)s (%(moment)s) on %(nodes)s, "
        "when %(names)s have ended: nobody is stopped for a wait of up to %(time)s."
    ),
    "kept": (
        "Nodes are kept for it: it can start on %(nodes)s in %(left)s (%(moment)s). No job below it starts "
        "there before."
    ),
    "kept.one": (
        "Nodes are kept for it: it can start on %(nodes)s in %(left)s (%(moment)s), when %(names)s is "
        "expected to have ended. No job below it starts there before."
    ),
    "kept.many": (
        "Nodes are kept for it: it can start on %(nodes)s in %(left)s (%(moment)s), when %(names)s are "
        "expected to have ended. No job below it starts there before."
    ),
    "next_plan.one": (
        "%(who)s needs %(need)s, and %(nodes)s has room, but another job starts there first: one plan gives a "
        "node to one job. Its turn is in the next plan."
    ),
    "next_plan.many": (
        "%(who)s needs %(need)s, and %(nodes)s have room, but another job starts there first: one plan gives "
        "a node to one job. Its turn is in the next plan."
    ),
    # Equal compute power (balance)
    "even.not_measured": "Not measured: %(nodes)s.",
    "even.nearest": "It is the nearest set: its nodes differ by %(n)s in compute power, %(m)s is allowed.",
    "even": "The nodes differ by %(n)s in compute power, %(m)s is allowed.",
    "even.unit": "The nodes differ by %(n)s in compute power, %(m)s is allowed, all in %(name)s.",
    "even.waited": "It has waited %(time)s; %(most)s is the most that a job waits here for an even set.",
    "even.wanted": "It asks for nodes of equal compute power: %(n)s apart is allowed.",
    "uneven": (
        "%(who)s needs %(need)s of equal compute power. The most equal free nodes differ by %(n)s; %(m)s is "
        "allowed."
    ),
    "uneven.not_measured": (
        "%(who)s needs %(need)s of equal compute power; only %(n)s of the nodes that it may use are measured "
        "(%(name)s)."
    ),
    "uneven.exchange": (
        "%(who)s needs %(need)s of equal compute power, and no free nodes are equal enough. %(victims)s "
        "exchanges %(node)s for %(other)s: then both have equal nodes, and it starts on %(nodes)s."
    ),
    # Why a job may not start (scheduler/reconcile/blocking.py); the codes are Slurm's own words
    "waits.jobhelduser": "it is held by its user",
    "waits.jobheldadmin": "it is held by an administrator",
    "waits.dependency": "it waits for another job",
    "waits.dependencyneversatisfied": "the job that it depends on did not end as it wants",
    "waits.begintime": "its begin time has not come",
    "waits.jobarraytasklimit": "its array runs as many tasks as it may",
    "waits.reservation": "its reservation has not begun or is full",
    "waits.licenses": "it waits for licences",
    "waits.invalidaccount": "its account is not valid",
    "waits.invalidqos": "its QOS is not valid",
    "waits.badconstraints": "no node can ever meet its constraints",
    "waits.partitiondown": "the partition is down",
    "waits.partitioninactive": "the partition is inactive",
    "waits.partitionnodelimit": "it asks for more nodes than the partition allows",
    "waits.partitiontimelimit": "it asks for more time than the partition allows",
    "waits.reqnodenotavail": "a node that it names is down, drained or reserved",
    "waits.cleaning": "its last run is still being cleaned up",
    "waits.raisedsignal": "its last run was ended by a signal",
    "waits.partitionconfig": "its partition cannot give what it asks for",
    "waits.accountnotallowed": "its account may not use the partition",
    "waits.qosnotallowed": "its QOS may not use the partition",
    "waits.maxmemperlimit": "it asks for more memory than a job may have",
    "waits.reservationdeleted": "its reservation was deleted",
    "waits.nodedown": "a node that it needs is down",
    "waits.burstbufferresources": "it waits for a burst buffer",
    "waits.burstbufferstagein": "its files are being copied to the burst buffer",
    "waits.joblaunchfailure": "its last run could not be launched",
    "waits.nonzeroexitcode": "its last run ended with an error",
    "waits.outofmemory": "its last run ran out of memory",
    "waits.deadline": "it cannot end before its deadline",
    "waits.limit_of_account": "a limit of its account is reached (%(name)s)",
    "waits.limit_of_qos": "a limit of its QOS is reached (%(name)s)",
    "waits.held": "it is held",
    "waits.partition": "the partition is %(state)s",
    "waits.for_job": "it waits for another job (%(job)s)",
    "waits.unknown": "what it asks for is not known",
    "waits.says": "Slurm says %(state)s",
    "waits.unplannable": "no room can be made for it: %(why)s",
    "waits.also": "%(why)s, and %(what)s",
    "waits.comes_back": "stopped for %(job)s, comes back when it runs",
    "waits.elsewhere": "room is set aside for it in another partition",
    # Why a job may not be stopped (scheduler/reconcile/blocking.py, immunity.py, protection.py)
    "spared.not_understood": "not everything that Slurm tells of it is understood: %(why)s",
    "spared.deadline": "its deadline leaves no time for another run",
    "spared.suspended": "it is suspended",
    "spared.reservation": "it runs in the reservation %(name)s",
    "spared.het": "it is part of a heterogeneous job",
    "spared.interactive": "it is interactive and cannot be requeued",
    "spared.no_requeue": "it was submitted with --no-requeue",
    "spared.changed": "it was made not requeueable after submission",
    "spared.notice": "%(why)s; it may be cancelled %(time)s after it was first seen so",
    "spared.none": "the partition allows no job to be stopped",
    "spared.once": "it was stopped once, as often as the partition allows",
    "spared.times": "it was stopped %(n)s times, as often as the partition allows",
    "spared.job": "the partition protects the job %(name)s",
    "spared.user": "the partition protects the user %(name)s",
    "spared.account": "the partition protects the account %(name)s",
    "spared.QOS": "the partition protects the QOS %(name)s",
    "spared.job.by": "the partition protects the job %(name)s (by %(pattern)s)",
    "spared.user.by": "the partition protects the user %(name)s (by %(pattern)s)",
    "spared.account.by": "the partition protects the account %(name)s (by %(pattern)s)",
    "spared.QOS.by": "the partition protects the QOS %(name)s (by %(pattern)s)",
    # Where a level comes from (scheduler/priority/derive.py)
    "origin.nothing": "nothing configured",
    "origin.keyword": "keyword %(word)s",
    "origin.denied": "keyword %(words)s is not %(user)s's to use; %(origin)s",
    "origin.denied.many": "keywords %(words)s are not %(user)s's to use; %(origin)s",
    "origin.pattern": "pattern %(pattern)s of %(code)s",
    "origin.override": "override by the partition",
    "origin.override.until": "override by the partition until %(moment)s",
    "origin.ended": "%(origin)s; the override to %(level)s ended %(moment)s",
    "origin.below": "%(code)s: %(sum)s below every level",
    "origin.below.pattern": "%(code)s: %(sum)s below every level (pattern %(pattern)s of %(code)s)",
    "origin.score": "%(code)s: %(sum)s → %(level)s",
    "origin.score.pattern": "%(code)s: %(sum)s → %(level)s (pattern %(pattern)s of %(code)s)",
    # Looking again before a stop (scheduler/reconcile/still.py, eligible.py)
    "again.node": "Node %(node)s no longer takes jobs.",
    "again.room": "Other jobs have taken the room on %(node)s: %(amounts)s would no longer be free.",
    "again.does_not_start": "%(job)s does not start now: %(why)s.",
    "again.moved": "%(job)s waits in the partition %(partition)s no more.",
    "again.barred": "%(job)s may run on %(nodes)s no more.",
    "again.waits_no_more": "%(job)s no longer waits.",
    "again.partition": "%(job)s could not start: the partition is %(state)s.",
    "again.spared": "%(job)s may no longer be stopped: %(why)s.",
    "again.quota": "%(job)s is over quota.",
    "again.rank": "%(job)s no longer ranks below %(other)s.",
    # What is wrong with a document (scheduler/contracts)
    "input.schema": "must be %(expected)s, not %(found)s",
    "input.one_of_two": "must be %(first)s or %(second)s, not %(name)s",
    "input.twice.project": "the project %(name)s stands twice; names must differ",
    "input.twice.partition": "the partition %(name)s stands twice; names must differ",
    "input.twice.pattern": "the pattern %(name)s stands twice; names must differ",
    "input.twice.level": "the level %(name)s stands twice; names must differ",
    "input.twice.keyword": "the keyword %(name)s stands twice; names must differ",
    "input.twice.node": "the node %(name)s stands twice; names must differ",
    "input.twice.job": "the job %(name)s stands twice; names must differ",
    "input.rank": "%(n)s is no level of the partition; it has %(m)s, counted from 0",
    "input.band": "%(rank)s must be below the levels before it; list the highest band first, each level once",
    "input.pattern.empty": "says nothing; give an importance, a level, one_request or elastic_min",
    "input.type.empty": "says nothing; give it a need, elastic_min or balanced",
    "input.elastic_min": "is missing; an elastic task says how many workers it keeps",
    "input.elastic_wish": "must not be below elastic_min (%(n)s)",
    **OF_COMMENTS,
}
