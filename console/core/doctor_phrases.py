"""The same as `phrases.py` of the doctor: what it finds, what it advises, and what hinders it.

Its own modules (`console/health/doctor`) are read by `tests/health/test_doctor_phrases.py`: a finding without a line
here, and a line that no finding is made from, fail there.
"""

from typing import Any

from django.utils.translation import gettext_noop as _
from django.utils.translation import pgettext_lazy

FINDINGS: tuple[str, ...] = (
    # The database
    _("%(name)s took %(n)s s to answer."),
    _("Look at its load, and at the network between it and us."),
    _("%(name)s answers."),
    _("All migrations are applied."),
    _("%(n)s migrations are missing, first %(name)s."),
    _("Run: manage.py migrate"),
    _("SQLite's journal is '%(mode)s': pages and worker wait for one another."),
    _("Put the file on a local disk; over the network SQLite cannot switch to WAL."),
    _("SQLite serves one machine and one writer at a time."),
    _("Use PostgreSQL for a cluster that people share: DATABASE_URL=postgres://…"),
    _("It does not answer: %(said)s"),
    _("Start it, and see that DATABASE_URL names its host, port, user and password."),
    _("It could not be looked at: %(said)s"),
    _("See what is said of the database above; missing migrations are the usual reason."),
    _("Not looked at: the database does not answer."),
    _("Mend the database first."),
    # Immune jobs
    _("Little of what is enforced is held by jobs that cannot be requeued."),
    _(
        "%(n)s of partition %(partition)s is held by %(m)s jobs that cannot be requeued, so nobody stops them; most of "
        "it by %(user)s."
    ),
    _(
        "See who on the partition's page. The policy says what becomes of such jobs (not_requeueable), and who may "
        "submit them (no_requeue_users, where the job_submit plugin is installed)."
    ),
    # Clocks
    _("The database's clock is this machine's."),
    _("The database's clock and this machine's are %(n)s s apart."),
    _("The worker's clock is %(n)s s ahead of this machine's."),
    _("slurmctld's clock is this machine's."),
    _("slurmctld's clock is %(n)s s ahead of this machine's."),
    _("slurmctld's clock is %(n)s s behind this machine's."),
    _("Let both keep their time by NTP (chrony)."),
    # The directory of the sign-in
    _("%(address)s answers, and has the places where people and groups are searched."),
    _("%(address)s is no help: %(why)s"),
    _(
        "Look at the address, GIVEWAY_LDAP_CA_FILE, GIVEWAY_LDAP_BIND_DN with its password, and the two bases."
    ),
    # Settings
    _("DEBUG is on: error pages show settings and code."),
    _("Unset DEBUG."),
    _("A real cluster is attached under %(name)s, which is for trying Giveway out."),
    _("Set DJANGO_SETTINGS_MODULE=console.settings.production."),
    _("ALLOWED_HOSTS allows every name."),
    _("Name the console's own."),
    _("GIVEWAY_METRICS_TOKEN has %(n)s characters."),
    _("Use %(n)s or more."),
    _("See `manage.py check --deploy`."),
    _("Django's check for deployment finds nothing."),
    _("Django's check finds nothing."),
    # Files
    _("Others on this machine may enter %(path)s."),
    _("Let it have nothing but Giveway's files in it, and run: chmod 700 %(path)s"),
    _("Others on this machine may read or write %(n)s files of Giveway's, first %(path)s."),
    _("Run as their owner: chmod go= FILE; whoever reads the database knows everything that is in it."),
    _("%(path)s and what is in it are this account's alone."),
    # Accounts
    _("These accounts have the demonstration's password, which everybody knows: %(names)s."),
    _("Begin with a database of your own (DATABASE_URL, GIVEWAY_HOME), or change their passwords."),
    _("No account has a password that everybody knows."),
    # Partitions
    _("%(name)s has a policy, but the cluster has no such partition."),
    _("Look at its name in Slurm."),
    _("In %(enforcement)s: %(names)s."),
    _("Without a policy, so nothing is planned there: %(names)s."),
    _("Anybody may have others stopped on %(partition)s by the name of a job: %(names)s."),
    _("Say on its policy's page who may use each of these keywords, or nobody."),
    _("%(user)s has paused %(partition)s since %(moment)s: nobody is stopped there."),
    _("%(user)s has paused the whole cluster since %(moment)s: nobody is stopped there."),
    _("Lift the pause on its page when its reason is gone."),
    # The broker
    _("The broker is embedded: worker and timer must be one process."),
    _("Set REDIS_URL, and run `celery worker` and `celery beat`; or keep to `manage.py worker`."),
    _("Embedded: `manage.py worker` is worker and timer in one process."),
    _("Redis refuses our password."),
    _("Put the right one into REDIS_URL."),
    _("Redis does not answer (%(name)s)."),
    _("Start it, and see that REDIS_URL names its host and port."),
    _("Redis %(version)s is too old."),
    _("Install Redis 5.0 or later."),
    _("Redis %(version)s answers."),
    _("Redis may throw messages away when its memory is full (maxmemory-policy %(name)s)."),
    _("Set maxmemory-policy noeviction."),
    _("%(n)s messages wait, and nobody takes them."),
    _("Start a worker: celery -A console worker --queues=celery,steer --concurrency=1"),
    # The worker
    _("No cycle has ever run."),
    _("The last cycle ended %(n)s s ago."),
    _("Start the worker and its timer, and look into their logs."),
    _("It cannot observe the cluster, so nobody is stopped: %(why)s"),
    _("See what is said of Slurm below."),
    _("Nobody is stopped until a cycle has ended well: %(why)s"),
    _("It is a defect: report it with the traceback that stands in the worker's log beside 'cycle failed'."),
    # Incidents
    _("Every stopped job is accounted for."),
    _("%(n)s stopped jobs did not come back: %(names)s."),
    _(
        "Look at each on the page of incidents: why it failed, and whether its user has submitted it again; then "
        "close it."
    ),
    # The audit log
    _("%(path)s cannot be written by this account, so no anchors of the audit log are kept."),
    _("Give the account that runs the worker the right to write there, or set GIVEWAY_HOME."),
    _("Anchors can be written to %(path)s."),
    _("The audit log is empty, but there are %(what)s."),
    _("Somebody has emptied it, or this is another database. See docs/audit.md, and: manage.py audit verify"),
    _("%(n)s rows of the audit log have no anchor, the oldest since %(moment)s."),
    _("Let the timer run (it writes one every minute), or run: manage.py audit anchor"),
    _("Anchors are written to %(path)s."),
    _("The audit log is empty."),
    _("The audit log has not been verified yet."),
    _("The audit log is not whole: %(why)s"),
    _("Somebody has changed the database past Giveway. See docs/audit.md, and: manage.py audit verify"),
    _("Nobody has verified the audit log since %(moment)s."),
    _("Start the worker and its timer; it verifies every minute."),
    _("Verified up to row %(n)s at %(moment)s."),
    # Messages to people
    _("E-mail goes to a mail server on this machine."),
    _("Set EMAIL_URL if it is another one: smtp+tls://user:password@host:587"),
    _("E-mail goes by %(name)s."),
    _("E-mail goes by the local mail server."),
    _("The webhook's address is not encrypted."),
    _("Use https in GIVEWAY_WEBHOOK_URL."),
    _("The webhook's address is encrypted."),
    _("E-mail and webhook are off."),
    # The file for slurmctld's plugin
    _("Submissions are not checked: %(why)s."),
    _("Let the worker's account write in that folder; its log says what hinders it (docs/job-submit.md)."),
    _("The rules in %(path)s are up to date."),
    # Slurm: its commands, slurmctld, rights
    _("The cluster %(name)s is simulated."),
    _("Not on PATH: %(names)s."),
    _("Install Slurm's client commands here, and put their folder on the worker's PATH."),
    _("Slurm %(version)s is too old."),
    _("Install Slurm 22.05 or later."),
    _("The commands are newer (%(version)s) than slurmctld (%(other)s), which does not understand them."),
    _("Install the commands of slurmctld's release."),
    _("The commands are older (%(version)s) than slurmctld (%(other)s)."),
    _(
        "Bring them to the same release at the next occasion; two releases apart is the most that Slurm allows."
    ),
    _("Slurm %(version)s, %(path)s."),
    _("Slurm of an unknown version, %(path)s."),
    _("Giveway was not tried with Slurm %(version)s, but with %(releases)s."),
    _("Look at its plans in shadow for some days before you let it stop jobs (docs/slurm-versions.md)."),
    _("It cannot be asked: %(why)s."),
    _("Try `scontrol ping` as the worker's account; see SLURM_CONF, munge and the network."),
    _("%(name)s answers for cluster %(cluster)s."),
    _("slurmctld lets %(who)s change other people's jobs."),
    _("slurmctld does not let %(who)s change other people's jobs: %(said)s"),
    _("Run the worker as SlurmUser, or: sacctmgr modify user <it> set adminlevel=operator"),
    _("slurmctld's answer does not tell what %(who)s may do: %(why)s"),
    _("Try `scontrol hold` on somebody's waiting job, and release it again."),
    _("PrivateData=jobs hides other people's jobs from this account: full nodes look empty."),
    _("Give the account the operator's rights (above), which see everything."),
    # slurm.conf
    _("JobRequeue=0: only jobs that were submitted with --requeue can be stopped and put back."),
    _("Set JobRequeue=1 in slurm.conf, and run scontrol reconfigure."),
    _("JobRequeue=1: batch jobs can be requeued."),
    _(
        "Slurm stops jobs by itself, too (PreemptType=%(kind)s, PreemptMode=%(mode)s): it takes the room that "
        "Giveway makes, and stops whom no plan names."
    ),
    _("Set PreemptType=preempt/none, and restart slurmctld; or leave Giveway's partitions in shadow."),
    _("PreemptType=%(kind)s with PreemptMode=%(mode)s: a partition's or a QOS's own mode switches it on."),
    _("Set PreemptType=preempt/none, and restart slurmctld."),
    _("PreemptType=preempt/none: only Giveway stops jobs."),
    _("Partitions with a PreemptMode of their own: %(names)s."),
    _("Set PreemptMode=OFF for the partitions that Giveway steers."),
    _(
        "KillWait=%(n)s s: a job that heeds no SIGTERM keeps its room longer than a plan waits, which is "
        "%(m)s s."
    ),
    _("Set KillWait well below %(n)s, or the partitions' start deadline above it."),
    _("KillWait=%(n)s s: so long a stopped job may keep its room."),
    _("Set KillWait=%(n)s or less; for saving their state jobs have Giveway's grace time."),
    _("KillWait=%(n)s s."),
    _("SelectType=select/linear: jobs get whole nodes, so whole nodes are cleared for them."),
    _("Use select/cons_tres unless that is what you want."),
    _("SelectType=%(kind)s is not known to Giveway."),
    _("Use select/cons_tres."),
    _("SelectType=%(kind)s."),
    _(
        "PriorityType=%(kind)s: a job that was first in line for a plan that was then undone, and a victim "
        "that is released, go to the end of Slurm's line."
    ),
    _("Set PriorityType=priority/multifactor, which computes their priority anew; it needs no slurmdbd."),
    _("PriorityType=priority/multifactor."),
    _("MinJobAge=%(n)s s: a job that its checkpoint signal ended is forgotten before it can be put back."),
    _("MinJobAge=%(n)s s: after a pause of the worker a job that its checkpoint signal ended may be lost."),
    _("Set MinJobAge=300, its default."),
    _("MinJobAge=%(n)s s."),
    _(
        "SchedulerType=sched/builtin starts jobs strictly in order: one that fits nowhere keeps back all "
        "others."
    ),
    _("Set SchedulerType=sched/backfill."),
    _("SchedulerParameters=%(names)s: Slurm puts starting jobs off, and with it every plan's end."),
    _("Leave that out if urgent jobs are to start at once."),
    _("CompleteWait=%(n)s s: while a stopped job ends, Slurm starts nobody for up to that long."),
    _("Set CompleteWait=0."),
    _("Nothing puts off the start of a job for which there is room."),
    _("AccountingStorageTRES has no gres/gpu: which GPUs a job holds is asked job by job, which is slower."),
    _("Add gres/gpu to AccountingStorageTRES, and restart slurmctld."),
    _("%(n)s jobs are in the queue, and MaxJobCount=%(most)s."),
    _("Raise MaxJobCount, and restart slurmctld."),
    _("%(path)s is in %(folder)s, which nobody but this account may enter: slurmctld may run under another."),
    _("Give the file a folder of its own, and let slurmctld look there (docs/job-submit.md)."),
    _("GIVEWAY_SUBMIT_RULES is %(path)s, but slurmctld has no job_submit plugin that reads it."),
    _("Install job_submit.lua beside slurm.conf, and set JobSubmitPlugins=lua."),
    _("JobSubmitPlugins=lua; its rules are written to %(path)s."),
    _("The job_submit plugin is not in use."),
)

HINDRANCES: tuple[str, ...] = (
    # Why Slurm cannot be asked (scheduler/adapters/slurm)
    _("Slurm's commands are not all there"),
    _("%(name)s is not on the PATH of this process"),
    _("SLURM_CONF names %(path)s, which is not there"),
    _("%(name)s cannot be run: %(said)s"),
    _("%(name)s did not answer within %(n)s s"),
    _("%(name)s answered with more than %(n)s bytes"),
    _("%(name)s failed: %(why)s"),
    _("it gave no reason"),
    _("%(name)s does not decode: %(said)s"),
    _("squeue tells of the same job twice"),
    _("%(n)s lines of sacctmgr's answer could not be read"),
    # Who is asked about
    _("%(name)s (SlurmUser is %(user)s)"),
    # Why the plugin's file is of no use (console/steering/recording/submit_rules.py)
    _("%(path)s cannot be read: %(said)s"),
    _("%(path)s is not whole"),
    _("%(path)s cannot be read by every account; slurmctld may run under another one"),
    _("%(path)s was written %(n)s s ago; no cycle has brought it up to date since"),
)

CHECKS: dict[str, Any] = {
    "accounts": pgettext_lazy("what the doctor looks at", "accounts"),
    "audit": pgettext_lazy("what the doctor looks at", "audit"),
    "broker": pgettext_lazy("what the doctor looks at", "broker"),
    "clocks": pgettext_lazy("what the doctor looks at", "clocks"),
    "commands": pgettext_lazy("what the doctor looks at", "commands"),
    "database": pgettext_lazy("what the doctor looks at", "database"),
    "directory": pgettext_lazy("what the doctor looks at", "directory"),
    "files": pgettext_lazy("what the doctor looks at", "files"),
    "immune jobs": pgettext_lazy("what the doctor looks at", "immune jobs"),
    "incidents": pgettext_lazy("what the doctor looks at", "incidents"),
    "messages": pgettext_lazy("what the doctor looks at", "messages"),
    "partitions": pgettext_lazy("what the doctor looks at", "partitions"),
    "rights": pgettext_lazy("what the doctor looks at", "rights"),
    "settings": pgettext_lazy("what the doctor looks at", "settings"),
    "worker": pgettext_lazy("what the doctor looks at", "worker"),
}
"""The names of the checks; those that are Slurm's own words (`slurmctld`) stand as they are."""
