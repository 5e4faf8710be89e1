"""How values that the database keeps in short form are shown: states with icon and tone, and words.

Apps give the same words to differences when they are made ready (`labels`).
"""

from typing import Any

from django.utils.translation import gettext_lazy, pgettext_lazy

STATES: dict[str, tuple[str, str]] = {
    # word -> (icon, tone); the tone only repeats what icon and word say.
    "shadow": ("eye", "calm"),
    "approve": ("user-circle", "warn"),
    "enforce": ("bolt", "strong"),
    "paused": ("player-pause", "warn"),
    "proposed": ("circle-dashed", "calm"),
    "approved": ("check", "calm"),
    "executing": ("player-play", "strong"),
    "verified": ("circle-check", "good"),
    "rejected": ("circle-x", "calm"),
    "expired": ("hourglass", "calm"),
    "undone": ("arrow-back-up", "warn"),
    "failed": ("alert-circle", "bad"),
    "superseded": ("arrow-right", "calm"),
    "planned": ("circle-dashed", "calm"),
    "issued": ("hourglass", "strong"),
    "pending": ("hourglass", "calm"),
    "running": ("player-play", "good"),
    "completing": ("player-stop", "warn"),
    "ended": ("check", "calm"),
    "open": ("hourglass", "strong"),
    "waiting": ("hourglass", "calm"),
    "returned": ("circle-check", "good"),
    "cancelled": ("circle-x", "calm"),
    "spared": ("minus", "calm"),
    "lost": ("alert-triangle", "bad"),
    "closed": ("check", "calm"),
    "ok": ("circle-check", "good"),
    "degraded": ("alert-triangle", "warn"),
    "down": ("alert-triangle", "bad"),
}

NODE_STATES: dict[str, Any] = {
    "idle": pgettext_lazy("node", "idle"),
    "mixed": pgettext_lazy("node", "mixed"),
    "allocated": pgettext_lazy("node", "allocated"),
    "completing": pgettext_lazy("node", "completing"),
    "drain": pgettext_lazy("node", "drained"),
    "drained": pgettext_lazy("node", "drained"),
    "draining": pgettext_lazy("node", "draining"),
    "down": pgettext_lazy("node", "down"),
    "fail": pgettext_lazy("node", "failed"),
    "maint": pgettext_lazy("node", "in maintenance"),
    "reserved": pgettext_lazy("node", "reserved"),
    "planned": pgettext_lazy("node", "planned"),
    "unknown": pgettext_lazy("node", "unknown"),
}
"""Slurm's states of a node; of one that has several (`IDLE+DRAIN`), each by itself."""

WORDS: dict[str, Any] = {
    "user": gettext_lazy("user"),
    "user_then_task": gettext_lazy("user, then task"),
    "task": gettext_lazy("task"),
    "task_then_user": gettext_lazy("task, then user"),
    "shadow": gettext_lazy("Shadow"),
    "approve": gettext_lazy("Approve"),
    "enforce": gettext_lazy("Enforce"),
    "prioritise": gettext_lazy("Put first in line"),
    "place": gettext_lazy("Put in its place in line"),
    "restore_priority": gettext_lazy("Give back its place in line"),
    "signal": gettext_lazy("Send checkpoint signal"),
    "requeue_hold": gettext_lazy("Stop and requeue, held"),
    "allow_requeue": gettext_lazy("Made requeueable again"),
    "recover": gettext_lazy("Put back after its end"),
    "cancel": gettext_lazy("Cancel"),
    "hold": gettext_lazy("Hold"),
    "release": gettext_lazy("Release"),
    "resize": gettext_lazy("Give it another number of nodes"),
    "shrink": gettext_lazy("Take nodes from it while it runs"),
    "keep": gettext_lazy("Keep nodes for it"),
    "let_go": gettext_lazy("Keep no nodes for it any more"),
    "begin": gettext_lazy("Set when it may begin"),
    "start": gettext_lazy("starts"),
    "preempt": gettext_lazy("makes room"),
    "wait": gettext_lazy("waits"),
    "queue": gettext_lazy("queued"),
    "requeue": gettext_lazy("requeued"),
    "other_order": gettext_lazy("The other order of victims"),
    "spare": gettext_lazy("Spare these jobs"),
}
"""Words for values that the database keeps in short form."""
