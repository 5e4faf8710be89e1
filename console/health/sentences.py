"""What the doctor says of Giveway itself, by code; of Slurm: `slurm_sentences.py`.

A finding that is not OK has two lines: `CODE` says what is wrong, `CODE.cure` what to do about it. Where one and
several are said differently, `CODE.one` is the line for one; its cure may be that of `CODE`.
"""

SENTENCES: dict[str, str] = {
    # The database
    "doctor.database.answers": "%(name)s answers.",
    "doctor.database.slow": "%(name)s took %(n)s s to answer.",
    "doctor.database.slow.cure": "Look at its load, and at the network between it and us.",
    "doctor.database.migrated": "All migrations are applied.",
    "doctor.database.migrations": "%(n)s migrations are missing, first %(name)s.",
    "doctor.database.migrations.one": "The migration %(name)s is missing.",
    "doctor.database.migrations.cure": "Run: manage.py migrate",
    "doctor.database.journal": "SQLite's journal is '%(mode)s': pages and worker wait for one another.",
    "doctor.database.journal.cure": "Put the file on a local disk; over the network SQLite cannot switch to WAL.",
    "doctor.database.sqlite": "SQLite serves one machine and one writer at a time.",
    "doctor.database.sqlite.cure": "Use PostgreSQL for a cluster that people share: DATABASE_URL=postgres://…",
    "doctor.database.away": "It does not answer: %(said)s",
    "doctor.database.away.cure": (
        "Start it, and see that DATABASE_URL names its host, port, user and password."
    ),
    "doctor.database.refused": "It could not be looked at: %(said)s",
    "doctor.database.refused.cure": (
        "See what is said of the database above; missing migrations are the usual reason."
    ),
    "doctor.database.left_out": "Not looked at: the database does not answer.",
    "doctor.database.left_out.cure": "Mend the database first.",
    # Clocks
    "doctor.clocks.database": "The database's clock is this machine's.",
    "doctor.clocks.database_apart": "The database's clock and this machine's are %(n)s s apart.",
    "doctor.clocks.database_apart.cure": "Let both keep their time by NTP (chrony).",
    "doctor.clocks.worker_ahead": "The worker's clock is %(n)s s ahead of this machine's.",
    "doctor.clocks.worker_ahead.cure": "Let both keep their time by NTP (chrony).",
    # The directory of the sign-in
    "doctor.directory.answers": "%(address)s answers, and has the places where people and groups are searched.",
    "doctor.directory.no_help": "%(address)s is no help: %(why)s",
    "doctor.directory.no_help.cure": (
        "Look at the address, GIVEWAY_LDAP_CA_FILE, GIVEWAY_LDAP_BIND_DN with its password, and the two bases."
    ),
    # Settings
    "doctor.settings.debug": "DEBUG is on: error pages show settings and code.",
    "doctor.settings.debug.cure": "Unset DEBUG.",
    "doctor.settings.trial": "A real cluster is attached under %(name)s, which is for trying Giveway out.",
    "doctor.settings.trial.cure": "Set DJANGO_SETTINGS_MODULE=console.settings.production.",
    "doctor.settings.every_host": "ALLOWED_HOSTS allows every name.",
    "doctor.settings.every_host.cure": "Name the console's own.",
    "doctor.settings.token": "GIVEWAY_METRICS_TOKEN has %(n)s characters.",
    "doctor.settings.token.cure": "Use %(least)s or more.",
    "doctor.settings.django.cure": "See `manage.py check --deploy`.",
    "doctor.settings.deployment": "Django's check for deployment finds nothing.",
    "doctor.settings.checked": "Django's check finds nothing.",
    # Files
    "doctor.files.private": "%(path)s and what is in it are this account's alone.",
    "doctor.files.home": "Others on this machine may enter %(path)s.",
    "doctor.files.home.cure": "Let it have nothing but Giveway's files in it, and run: chmod 700 %(path)s",
    "doctor.files.open": "Others on this machine may read or write %(n)s files of Giveway's, first %(path)s.",
    "doctor.files.open.one": "Others on this machine may read or write %(path)s.",
    "doctor.files.open.cure": (
        "Run as their owner: chmod go= FILE; whoever reads the database knows everything that is in it."
    ),
    # Disk
    "doctor.disk.room": "%(path)s has %(n)s GB of room.",
    "doctor.disk.low": "%(path)s has only %(n)s MB of room.",
    "doctor.disk.low.cure": "Make room before it is full: then nothing can be written down, so that nothing is done.",
    "doctor.disk.full": (
        "%(path)s is full (%(n)s MB of room): no cycle can write down what it does, so that none does anything."
    ),
    "doctor.disk.full.cure": "Make room on that disk; Giveway goes on by itself.",
    "doctor.disk.closed": "This account cannot write in %(path)s.",
    "doctor.disk.closed.cure": (
        "Run the doctor as the worker's account; else give it the folder, and see whether the file system is read-only."
    ),
    # Accounts
    "doctor.accounts.own": "No account has a password that everybody knows.",
    "doctor.accounts.demonstration": (
        "These accounts have the demonstration's password, which everybody knows: %(names)s."
    ),
    "doctor.accounts.demonstration.cure": (
        "Begin with a database of your own (DATABASE_URL, GIVEWAY_HOME), or change their passwords."
    ),
    # Partitions
    "doctor.partitions.gone": "%(name)s has a policy, but the cluster has no such partition.",
    "doctor.partitions.gone.cure": "Look at its name in Slurm.",
    "doctor.partitions.shadow": "In shadow: %(names)s.",
    "doctor.partitions.approve": "In approve: %(names)s.",
    "doctor.partitions.enforce": "In enforce: %(names)s.",
    "doctor.partitions.without": "Without a policy, so nothing is planned there: %(names)s.",
    "doctor.partitions.keywords": (
        "Anybody may have others stopped on %(partition)s by the name of a job: %(names)s."
    ),
    "doctor.partitions.keywords.cure": (
        "Say on its policy's page who may use each of these keywords, or nobody."
    ),
    "doctor.partitions.paused": "%(user)s has paused %(partition)s since %(moment)s: nobody is stopped there.",
    "doctor.partitions.paused.cure": "Lift the pause on its page when its reason is gone.",
    "doctor.partitions.all_paused": (
        "%(user)s has paused the whole cluster since %(moment)s: nobody is stopped there."
    ),
    "doctor.partitions.all_paused.cure": "Lift the pause on its page when its reason is gone.",
    # Immune jobs
    "doctor.immune.little": "Little of what is enforced is held by jobs that cannot be requeued.",
    "doctor.immune.much": (
        "%(n)s of partition %(partition)s is held by %(m)s jobs that cannot be requeued, so nobody stops them; most of "
        "it by %(user)s."
    ),
    "doctor.immune.much.one": (
        "%(n)s of partition %(partition)s is held by one job of %(user)s that cannot be requeued, so nobody stops it."
    ),
    "doctor.immune.much.cure": (
        "The partition's page names them. The policy sets what becomes of such jobs (not_requeueable) and, "
        "with the job_submit plugin, who may submit them (no_requeue_users)."
    ),
    # Requests
    "doctor.requests.read": "No job waits with a request that is not planned for.",
    "doctor.requests.unread": (
        "%(n)s jobs wait with a request that is not planned for, so nobody is stopped for them: %(word)s."
    ),
    "doctor.requests.unread.one": (
        "One job waits with a request that is not planned for, so nobody is stopped for it: %(word)s."
    ),
    "doctor.requests.unread.cure": "Each job's page has all of it; docs/slurm-requests.md says what is planned for.",
    # The broker
    "doctor.broker.embedded": "Embedded: `manage.py worker` runs the workers, each with its timer.",
    "doctor.broker.one_process": "The broker is embedded: a worker and its timer must be one process.",
    "doctor.broker.one_process.cure": (
        "Set REDIS_URL, and run `celery worker` and `celery beat`; or keep to `manage.py worker`."
    ),
    "doctor.broker.refuses": "Redis refuses our password.",
    "doctor.broker.refuses.cure": "Put the right one into REDIS_URL.",
    "doctor.broker.away": "Redis does not answer (%(name)s).",
    "doctor.broker.away.cure": "Start it, and see that REDIS_URL names its host and port.",
    "doctor.broker.old": "Redis %(version)s is too old.",
    "doctor.broker.old.cure": "Install Redis 5.0 or later.",
    "doctor.broker.answers": "Redis %(version)s answers.",
    "doctor.broker.forgets": (
        "Redis may throw messages away when its memory is full (maxmemory-policy %(name)s)."
    ),
    "doctor.broker.forgets.cure": "Set maxmemory-policy noeviction.",
    "doctor.broker.waiting": "%(n)s messages wait in the queue %(queue)s, and nobody takes them.",
    "doctor.broker.waiting.cure": (
        "Start a worker for it: celery -A console worker --queues=%(queue)s --concurrency=1"
    ),
    # The worker
    "doctor.cadence.steady": (
        "Half of the cycles begin %(n)s s apart or less; the longest gap of the hour was %(most)s s."
    ),
    "doctor.cadence.late": "Within the last hour there was no cycle for %(n)s s. Meanwhile ran: %(what)s.",
    "doctor.cadence.late.unknown": (
        "Within the last hour there was no cycle for %(n)s s, and its worker ran nothing else: it or its timer was "
        "away, or the machine stood still."
    ),
    "doctor.cadence.late.start": (
        "Within the last hour there was no cycle for %(n)s s: the worker was started anew meanwhile."
    ),
    "doctor.cadence.late.start.cure": "See its log if nobody meant that.",
    "doctor.cadence.late.cure": (
        "Let a worker of its own serve the queue steer, and nothing else on it; see that the machine is not overloaded."
    ),
    "doctor.requests.used": (
        "%(n)s requests to slurmctld in the last minute (the budget is %(most)s), and %(share)s %% of its time."
    ),
    "doctor.requests.stretched": (
        "Cycles wait for the budget of %(most)s requests a minute: %(n)s of them within ten minutes."
    ),
    "doctor.requests.stretched.cure": (
        "Let jobs ring the bell (docs/job-submit.md), or raise GIVEWAY_SLURM_REQUESTS_PER_MINUTE."
    ),
    "doctor.requests.limited": (
        "slurmctld slows Giveway down: %(n)s commands had to wait within ten minutes. It is asked %(most)s times a "
        "minute at most."
    ),
    "doctor.requests.limited.cure": (
        "Run the worker as SlurmUser, who is not limited; or raise rl_refill_rate in SlurmctldParameters."
    ),
    "doctor.counters.away": "slurmctld's counters cannot be read: %(why)s. The whole queue is read instead.",
    "doctor.counters.away.cure": "Put sdiag, which is one of Slurm's client commands, on the worker's PATH.",
    "doctor.bell.rings": "Submissions ring: a new job is noticed at once, without asking.",
    "doctor.bell.none": (
        "Submissions do not ring: a new job is noticed by slurmctld's counters, within two seconds."
    ),
    "doctor.worker.runs": "The last cycle ended %(n)s s ago.",
    "doctor.worker.never": "No cycle has ever run.",
    "doctor.worker.never.cure": "Start the worker and its timer, and look into their logs.",
    "doctor.worker.late": "The last cycle ended %(n)s s ago.",
    "doctor.worker.late.cure": "Start the worker and its timer, and look into their logs.",
    "doctor.worker.failed": "Nobody is stopped until a cycle has ended well: %(why)s",
    "doctor.worker.failed.cure": (
        "It is a defect: report it with the traceback that stands in the worker's log beside 'cycle failed'."
    ),
    "doctor.worker.blind": "It cannot observe the cluster, so nobody is stopped: %(why)s",
    "doctor.worker.blind.cure": "See what is said of Slurm below.",
    # Forecasts
    "doctor.power.address": (
        "The partition %(partition)s is to be measured, but its nodes do not know where to tell the result."
    ),
    "doctor.power.address.cure": "Set GIVEWAY_NODES_URL to the address under which nodes reach this console.",
    "doctor.power.failed": "Measuring %(node)s failed: %(why)s",
    "doctor.power.failed.cure": "Mend what it says, and ask for the node to be measured on the partition's page.",
    "doctor.power.drain": "%(node)s could not be drained: %(why)s",
    "doctor.power.drain.cure": (
        "Drain it by hand. If Slurm has denied it: it may want AdminLevel=Administrator, or SlurmUser, for that."
    ),
    "doctor.power.jumped": "A measured figure has jumped. %(what)s",
    "doctor.power.jumped.cure": "Have the processor looked at, or leave the incident on the partition's page.",
    "doctor.power.far": (
        "%(node)s, %(resource)s %(device)s, is %(n)s %% slower than the middle of its %(others)s siblings."
    ),
    "doctor.power.far.cure": "Have the processor looked at; drain the node if it stays slow.",
    "doctor.power.even": "All %(n)s measured processors are about as fast as their kind.",
    "doctor.forecasts.nobody": "No job waits so long that its start would have to be forecast.",
    "doctor.forecasts.said": "Starts of waiting jobs were forecast %(n)s s ago.",
    "doctor.forecasts.never": "Jobs wait, and nobody forecasts when they start.",
    "doctor.forecasts.never.cure": (
        "Start a worker for them: celery -A console worker --queues=celery,forecasts --concurrency=1"
    ),
    "doctor.forecasts.late": "Starts of waiting jobs were last forecast %(n)s min ago.",
    "doctor.forecasts.late.cure": (
        "Start a worker for them: celery -A console worker --queues=celery,forecasts --concurrency=1"
    ),
    "doctor.forecasts.accounting": "Slurm's accounting could not be read, so no run time is learned: %(why)s",
    "doctor.forecasts.accounting.cure": "Run sacct as the worker's account, and mend what it says.",
    # Incidents
    "doctor.incidents.none": "Every stopped job is accounted for.",
    "doctor.incidents.open": "%(n)s stopped jobs did not come back: %(names)s.",
    "doctor.incidents.open.one": "The stopped job %(names)s did not come back.",
    "doctor.incidents.open.cure": (
        "Look at each on the page of incidents: why it failed, and whether its user has submitted it again; then "
        "close it."
    ),
    # The audit log
    "doctor.audit.closed": (
        "%(path)s cannot be written by this account, so no anchors of the audit log are kept."
    ),
    "doctor.audit.closed.cure": (
        "Give the account that runs the worker the right to write there, or set GIVEWAY_HOME."
    ),
    "doctor.audit.writable": "Anchors can be written to %(path)s.",
    "doctor.audit.unanchored": "%(n)s rows of the audit log have no anchor, the oldest since %(moment)s.",
    "doctor.audit.unanchored.one": "One row of the audit log has no anchor, since %(moment)s.",
    "doctor.audit.unanchored.cure": (
        "Let the timer run (it writes one every minute), or run: manage.py audit anchor"
    ),
    "doctor.audit.anchored": "Anchors are written to %(path)s.",
    "doctor.audit.emptied": "The audit log is empty, but there are %(what)s.",
    "doctor.audit.emptied.cure": (
        "Somebody has emptied it, or this is another database. See docs/audit.md, and: manage.py audit verify"
    ),
    "doctor.audit.empty": "The audit log is empty.",
    "doctor.audit.never": "The audit log has not been verified yet.",
    "doctor.audit.never.cure": "Start the worker and its timer; it verifies every minute.",
    "doctor.audit.broken": "The audit log is not whole: %(why)s",
    "doctor.audit.broken.cure": (
        "Somebody has changed the database past Giveway. See docs/audit.md, and: manage.py audit verify"
    ),
    "doctor.audit.late": "Nobody has verified the audit log since %(moment)s.",
    "doctor.audit.late.cure": "Start the worker and its timer; it verifies every minute.",
    "doctor.audit.whole": "Verified up to row %(n)s at %(moment)s.",
    # Messages to people
    "doctor.messages.here": "E-mail goes to a mail server on this machine.",
    "doctor.messages.here.cure": ("Set EMAIL_URL if it is another one: smtp+tls://user:password@host:587"),
    "doctor.messages.server": "E-mail goes by %(name)s.",
    "doctor.messages.local": "E-mail goes by the local mail server.",
    "doctor.messages.plain": "The webhook's address is not encrypted.",
    "doctor.messages.plain.cure": "Use https in GIVEWAY_WEBHOOK_URL.",
    "doctor.messages.encrypted": "The webhook's address is encrypted.",
    "doctor.messages.off": "E-mail and webhook are off.",
    # The file for slurmctld's plugin
    "doctor.rules.hidden": (
        "%(path)s is in %(folder)s, which nobody but this account may enter: slurmctld may run under another."
    ),
    "doctor.rules.hidden.cure": (
        "Give the file a folder of its own, and let slurmctld look there (docs/job-submit.md)."
    ),
    "doctor.rules.unchecked": "Submissions are not checked: %(why)s.",
    "doctor.rules.unchecked.cure": (
        "Let the worker's account write in that folder; its log says what hinders it (docs/job-submit.md)."
    ),
    "doctor.rules.up_to_date": "The rules in %(path)s are up to date.",
}
