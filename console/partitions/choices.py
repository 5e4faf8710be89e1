"""What the form of a policy offers to choose from, in words."""

from django.utils.translation import gettext_lazy as _

from scheduler.model.policy import (
    AppliesTo,
    Dispatch,
    Enforcement,
    GiveBack,
    KeywordDenied,
    LineOrder,
    Mode,
    NotRequeueable,
    Otherwise,
    OverQuota,
    Partial,
    VictimOrder,
)

MODES = (
    (Mode.USER, _("User: only jobs of lower users make room")),
    (Mode.USER_THEN_TASK, _("User, then task: then also lower tasks of equal users")),
    (Mode.TASK, _("Task: only jobs of lower task level make room")),
    (Mode.TASK_THEN_USER, _("Task, then user: then also equal tasks of lower users")),
)
ENFORCEMENTS = (
    (Enforcement.SHADOW, _("Shadow: plans are made, shown and recorded; nothing is touched")),
    (Enforcement.APPROVE, _("Approve: a plan waits until an administrator accepts it")),
    (Enforcement.ENFORCE, _("Enforce: plans are carried out at once; running jobs are stopped")),
)
OVER_QUOTA = (
    (OverQuota.LOWEST, _("counts as unconfigured: free room only, first to make room")),
    (OverQuota.HOLD, _("is held until its user is under quota again")),
    (OverQuota.REJECT, _("is refused at submission where the plugin is installed, else held")),
)
KEYWORD_DENIED = (
    (KeywordDenied.DEMOTE, _("is accepted; the keyword counts for nothing")),
    (KeywordDenied.REFUSE, _("is refused at submission where the plugin is installed, else accepted")),
)
NOT_REQUEUEABLE = (
    (NotRequeueable.LEAVE, _("is left alone")),
    (NotRequeueable.REQUEUE, _("is made requeueable again if it was submitted so, else left alone")),
    (NotRequeueable.CANCEL, _("may be cancelled after a notice (its work is lost)")),
)
VICTIM_ORDERS = (
    (VictimOrder.SHORTEST_RUNTIME, _("the one that has run for the shortest time")),
    (
        VictimOrder.LEAST_LOST_WORK,
        _("the one that loses the least work (time × share of the scarcest resource)"),
    ),
)
ORDERS = (
    (
        LineOrder.LEVELS,
        _("higher levels first, inside a level by Slurm's own priority (where plans are enforced)"),
    ),
    (LineOrder.SLURM, _("by Slurm's own priority, whatever the level")),
)
DISPATCH = (
    (Dispatch.SLURM, _("starts wherever Slurm finds room for it")),
    (
        Dispatch.MANAGED,
        _("has the earliest nodes kept for it, if it is the first (where plans are enforced)"),
    ),
)
ON, OFF = "true", "false"
UNITS = ((ON, _("gives up single units")), (OFF, _("is stopped whole")))
ELASTIC = ((ON, _("gives up workers before anybody is stopped")), (OFF, _("is treated like any other job")))
PARTIAL = (
    (Partial.SPARE, _("gets only free room; nobody is stopped for a part of it")),
    (Partial.TAKE, _("gets as many units as can be had; others are stopped for them")),
)
GIVE_BACK = (
    (GiveBack.UNITS, _("the highest first, each as many units as fit")),
    (GiveBack.WHOLE, _("first those who can keep all they had, then units")),
)
APPLIES_TO = (
    (AppliesTo.ALL, _("every job that asks for several processors")),
    (AppliesTo.ASKED, _("jobs that ask for one (balanced), and those whose type says so")),
)
OTHERWISE = (
    (Otherwise.WAIT, _("the job waits")),
    (Otherwise.NEAREST, _("the job takes the nearest set, and its page says how uneven it is")),
)
