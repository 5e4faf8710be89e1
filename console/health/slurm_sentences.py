"""What the doctor says of Slurm and its slurm.conf, by code, as in `sentences.py`."""

SENTENCES: dict[str, str] = {
    # Commands, slurmctld, rights, clocks
    "doctor.slurm.simulated": "The cluster %(name)s is simulated.",
    "doctor.commands.missing": "Not on PATH: %(names)s.",
    "doctor.commands.missing.cure": (
        "Install Slurm's client commands here, and put their folder on the worker's PATH."
    ),
    "doctor.commands.old": "Slurm %(version)s is too old.",
    "doctor.commands.old.cure": "Install Slurm 22.05 or later.",
    "doctor.commands.newer": (
        "The commands are newer (%(version)s) than slurmctld (%(other)s), which does not understand them."
    ),
    "doctor.commands.newer.cure": "Install the commands of slurmctld's release.",
    "doctor.commands.older": "The commands are older (%(version)s) than slurmctld (%(other)s).",
    "doctor.commands.older.cure": (
        "Bring them to the same release at the next occasion; two releases apart is the most that Slurm allows."
    ),
    "doctor.commands.found": "Slurm %(version)s, %(path)s.",
    "doctor.commands.unknown": "Slurm of an unknown version, %(path)s.",
    "doctor.slurm.untried": "Giveway was not tried with Slurm %(version)s, but with %(releases)s.",
    "doctor.slurm.untried.cure": (
        "Look at its plans in shadow for some days before you let it stop jobs (docs/slurm-versions.md)."
    ),
    "doctor.slurm.away": "It cannot be asked: %(why)s.",
    "doctor.slurm.away.cure": (
        "Try `scontrol ping` as the worker's account; see SLURM_CONF, munge and the network."
    ),
    "doctor.slurm.answers": "%(name)s answers for cluster %(cluster)s.",
    "doctor.requests.unlimited": "slurmctld limits no requests of %(who)s.",
    "doctor.requests.enough": (
        "slurmctld lets %(who)s ask %(n)s times a minute (rl_enable), %(burst)s at once: the budget is %(most)s."
    ),
    "doctor.requests.few": (
        "slurmctld lets %(who)s ask only %(n)s times a minute (rl_enable), %(burst)s at once: cycles are rarer, and "
        "plans are carried out more slowly."
    ),
    "doctor.requests.few.cure": (
        "Run the worker as SlurmUser, who is not limited; or raise rl_refill_rate in SlurmctldParameters."
    ),
    "doctor.rights.who": "%(name)s (SlurmUser is %(user)s)",
    "doctor.rights.granted": "slurmctld lets %(who)s change other people's jobs.",
    "doctor.rights.untold": "slurmctld's answer does not tell what %(who)s may do: %(why)s",
    "doctor.rights.untold.nothing": "slurmctld's answer does not tell what %(who)s may do.",
    "doctor.rights.untold.cure": "Try `scontrol hold` on somebody's waiting job, and release it again.",
    "doctor.rights.refused": "slurmctld does not let %(who)s change other people's jobs: %(said)s",
    "doctor.rights.refused.cure": (
        "Run the worker as SlurmUser, or: sacctmgr modify user <it> set adminlevel=operator"
    ),
    "doctor.rights.hidden": (
        "PrivateData=jobs hides other people's jobs from this account: full nodes look empty."
    ),
    "doctor.rights.hidden.cure": "Give the account the operator's rights (above), which see everything.",
    "doctor.clocks.slurmctld": "slurmctld's clock is this machine's.",
    "doctor.clocks.ahead": "slurmctld's clock is %(n)s s ahead of this machine's.",
    "doctor.clocks.ahead.cure": "Let both keep their time by NTP (chrony).",
    "doctor.clocks.behind": "slurmctld's clock is %(n)s s behind this machine's.",
    "doctor.clocks.behind.cure": "Let both keep their time by NTP (chrony).",
    # slurm.conf
    "doctor.slurm.nobody": (
        "Jobs that squeue tells as nobody's: %(n)s. This machine does not know their users by name, so all of them "
        "count as one user without a project."
    ),
    "doctor.slurm.nobody.cure": (
        "Let this machine ask the directory that the cluster's nodes ask for users (getent passwd USER)."
    ),
    "doctor.conf.no_requeue": (
        "JobRequeue=0: only jobs that were submitted with --requeue can be stopped and put back."
    ),
    "doctor.conf.no_requeue.cure": "Set JobRequeue=1 in slurm.conf, and run scontrol reconfigure.",
    "doctor.conf.requeue": "JobRequeue=1: batch jobs can be requeued.",
    "doctor.conf.preempts": (
        "Slurm stops jobs by itself, too (PreemptType=%(kind)s, PreemptMode=%(mode)s): it takes the room that "
        "Giveway makes, and stops whom no plan names."
    ),
    "doctor.conf.preempts.cure": (
        "Set PreemptType=preempt/none, and restart slurmctld; or leave Giveway's partitions in shadow."
    ),
    "doctor.conf.may_preempt": (
        "PreemptType=%(kind)s with PreemptMode=%(mode)s: a partition's or a QOS's own mode switches it on."
    ),
    "doctor.conf.may_preempt.cure": "Set PreemptType=preempt/none, and restart slurmctld.",
    "doctor.conf.only_giveway": "PreemptType=preempt/none: only Giveway stops jobs.",
    "doctor.conf.partitions_preempt": "Partitions with a PreemptMode of their own: %(names)s.",
    "doctor.conf.partitions_preempt.cure": "Set PreemptMode=OFF for the partitions that Giveway steers.",
    "doctor.conf.kill_too_slow": (
        "KillWait=%(n)s s: a job that heeds no SIGTERM keeps its room longer than a plan waits, which is "
        "%(m)s s."
    ),
    "doctor.conf.kill_too_slow.cure": (
        "Set KillWait well below %(m)s, or the partitions' start deadline above it."
    ),
    "doctor.conf.kill_slow": "KillWait=%(n)s s: so long a stopped job may keep its room.",
    "doctor.conf.kill_slow.cure": (
        "Set KillWait=%(most)s or less; for saving their state jobs have Giveway's grace time."
    ),
    "doctor.conf.kill": "KillWait=%(n)s s.",
    "doctor.conf.linear": (
        "SelectType=select/linear: jobs get whole nodes, so whole nodes are cleared for them."
    ),
    "doctor.conf.linear.cure": "Use select/cons_tres unless that is what you want.",
    "doctor.conf.select_unknown": "SelectType=%(kind)s is not known to Giveway.",
    "doctor.conf.select_unknown.cure": "Use select/cons_tres.",
    "doctor.conf.select": "SelectType=%(kind)s.",
    "doctor.conf.priority": (
        "PriorityType=%(kind)s: a job that Giveway has put first and then given up, or stopped and released, "
        "goes to the end of Slurm's line."
    ),
    "doctor.conf.priority.cure": (
        "Set PriorityType=priority/multifactor, which computes their priority anew; it needs no slurmdbd."
    ),
    "doctor.conf.multifactor": "PriorityType=priority/multifactor.",
    "doctor.conf.forgets": (
        "MinJobAge=%(n)s s: a job that its checkpoint signal ended is forgotten before it can be put back."
    ),
    "doctor.conf.forgets.cure": "Set MinJobAge=300, its default.",
    "doctor.conf.may_forget": (
        "MinJobAge=%(n)s s: after a pause of the worker a job that its checkpoint signal ended may be lost."
    ),
    "doctor.conf.may_forget.cure": "Set MinJobAge=300, its default.",
    "doctor.conf.job_age": "MinJobAge=%(n)s s.",
    "doctor.conf.builtin": (
        "SchedulerType=sched/builtin starts jobs strictly in order: one that fits nowhere keeps back all "
        "others."
    ),
    "doctor.conf.builtin.cure": "Set SchedulerType=sched/backfill.",
    "doctor.conf.deferred": (
        "SchedulerParameters=%(names)s: Slurm puts starting jobs off, and with it every plan's end."
    ),
    "doctor.conf.deferred.cure": "Leave that out if urgent jobs are to start at once.",
    "doctor.conf.complete_wait": (
        "CompleteWait=%(n)s s: while a stopped job ends, Slurm starts nobody for up to that long."
    ),
    "doctor.conf.complete_wait.cure": "Set CompleteWait=0.",
    "doctor.conf.at_once": "Nothing puts off the start of a job for which there is room.",
    "doctor.conf.gpus_untold": (
        "AccountingStorageTRES has no gres/gpu: which GPUs a job holds is asked job by job, which is slower."
    ),
    "doctor.conf.gpus_untold.cure": "Add gres/gpu to AccountingStorageTRES, and restart slurmctld.",
    "doctor.conf.full": "%(n)s jobs are in the queue, and MaxJobCount=%(most)s.",
    "doctor.conf.full.cure": "Raise MaxJobCount, and restart slurmctld.",
    "doctor.kept.asked": "Slurm keeps no nodes under our name but those that are asked for.",
    "doctor.kept.stranded": "Slurm keeps nodes for the jobs %(names)s, and nobody here has asked for it.",
    "doctor.kept.stranded.one": "Slurm keeps nodes for job %(names)s, and nobody here has asked for it.",
    "doctor.kept.stranded.cure": (
        "It ends by itself within two minutes, unless another Giveway renews it. At once: "
        "scontrol update JobId=… ReservationName= and scontrol delete ReservationName=giveway_…"
    ),
    "doctor.resizing.once": (
        "Without slurmdbd, Slurm %(version)s takes nodes from a running job only once. After that an elastic "
        "job has to restart to give back more."
    ),
    "doctor.resizing.in_place": "Elastic jobs without GPUs can give back nodes while they run, any number of times.",
    "doctor.resizing.restart": (
        "SchedulerParameters has disable_job_shrink: elastic jobs give back nodes by a restart only."
    ),
    "doctor.resizing.none": (
        "That jobs give back nodes was not tried with Slurm %(version)s: elastic jobs give up tasks of arrays only."
    ),
    "doctor.conf.no_plugin": (
        "GIVEWAY_SUBMIT_RULES is %(path)s, but slurmctld has no job_submit plugin that reads it."
    ),
    "doctor.conf.no_plugin.cure": ("Install job_submit.lua beside slurm.conf, and set JobSubmitPlugins=lua."),
    "doctor.conf.plugin": "JobSubmitPlugins=lua; its rules are written to %(path)s.",
    "doctor.conf.plugin_old": "%(path)s is not the script of this release: what is new in it does not work.",
    "doctor.conf.plugin_old.cure": "Put deploy/slurm/job_submit.lua in its place; slurmctld reads it anew by itself.",
    "doctor.conf.plugin_off": "The job_submit plugin is not in use.",
}
