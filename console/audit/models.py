"""The audit log: rows are only ever added, each carries the hash of the one before it.

Besides the code, database triggers refuse UPDATE and DELETE (`console.audit.triggers`). Labels are stored
as text so that a row stays readable when what it speaks of is gone. There are no foreign keys on purpose.
"""

import re

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from console.audit.registry import ACTIONS
from console.core.diff import KeyChange
from console.core.l10n_format import is_english, set_in_type, with_aside
from console.core.sentence_field import SentencesField
from console.core.translate import resay
from scheduler.model.sentence import Sentence, from_json

_WITH_ASIDE = frozenset({"job", "project"})
_NAMED = re.compile(r"(\S+) \((.+)\)")
"""Labels of jobs and projects: `20152 (finn)`, `alpha (Alpha: the assistant)`."""
SYSTEM_ACTOR = "giveway"
"""Who did what the system does by itself; no account may have this name."""


class AuditEntry(models.Model):
    """One thing that was decided or done, written by `console.audit.services.record` alone.

    `id` equals `sequence`.
    """

    sequence = models.PositiveBigIntegerField(unique=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    """A person's account name, `shell:<name>` for somebody at the shell, `giveway` for the system itself."""
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=40)
    object_id = models.CharField(max_length=100)
    object_label = models.CharField(max_length=300)
    cluster = models.CharField(max_length=64, blank=True)
    partition = models.CharField(max_length=64, blank=True)
    project = models.CharField(max_length=64, blank=True)
    job_id = models.CharField(max_length=40, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    reason = models.TextField(blank=True)
    said = models.JSONField(null=True)
    """`object_label` and `reason` with their codes and parameters, where they are sentences of ours; their English
    stands in these fields. None: neither is, or the row is of before sentences were data."""
    cycle = models.PositiveBigIntegerField(null=True)
    plan = models.PositiveBigIntegerField(null=True)
    policy_revision = models.PositiveIntegerField(null=True)
    request_id = models.CharField(max_length=32, blank=True)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["-sequence"]
        indexes = [
            models.Index(fields=["at", "sequence"]),
            models.Index(fields=["actor", "sequence"]),
            models.Index(fields=["action", "sequence"]),
            models.Index(fields=["partition", "sequence"]),
            models.Index(fields=["project", "sequence"]),
            models.Index(fields=["job_id", "sequence"]),
            models.Index(fields=["object_type", "object_id", "sequence"]),
            models.Index(fields=["plan", "sequence"]),
            models.Index(fields=["request_id", "sequence"]),
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.at:%F %T} {self.actor} {self.action} {self.object_label}"

    @property
    def label(self) -> str:
        """What kind of row this is, for lists: `Project changed`."""
        action = ACTIONS.get(self.action)
        return str(action.label) if action else self.action

    @property
    def sentence(self) -> str:
        """What happened, in one plain sentence. Names in it are data: escape it like any text."""
        action = ACTIONS.get(self.action)
        if action is None:  # written by another version of Giveway
            return f"{self.actor}: {self.action} {self.object_label}"
        told = {"object_label": self.told_label, "reason": self.told_reason}
        return set_in_type(str(action.sentence).format_map({**vars(self), **told}))

    @property
    def whole_change(self) -> KeyChange | None:
        """Whether what the row is about has come or gone as a whole: then its fields did not each change."""
        if self.action == "config.imported" or (self.before is None) == (self.after is None):
            return None
        return KeyChange.ADDED if self.before is None else KeyChange.REMOVED

    @property
    def told_label(self) -> str:
        """What the row is about, as its reader understands it; names stand as they are."""
        told = self._told("object_label") or resay(self.object_label)
        named = _NAMED.fullmatch(told) if self.object_type in _WITH_ASIDE and not is_english() else None
        return with_aside(*named.groups()) if named else told

    @property
    def told_reason(self) -> str:
        """The reason as its reader understands it: what a person wrote stands as it was written."""
        ours = self.actor == SYSTEM_ACTOR or self.object_type == "log"
        return self._told("reason") or (resay(self.reason) if ours else self.reason)

    def _told(self, field: str) -> str:
        """A field that is kept as a sentence, in the reader's language; empty for others, and for those who read
        English: the words that were hashed with the row are theirs."""
        sentence = from_json((self.said or {}).get(field))
        return resay(sentence) if isinstance(sentence, Sentence) and not is_english() else ""


class AuditHead(models.Model):
    """The last row's number and hash: one row, locked while the log is appended to, so that it has no fork.

    `anchored` is the number of the last row that was written down outside the database.
    """

    sequence = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64)
    anchored = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"head {self.sequence}"


class CheckKind(models.TextChoices):
    """How far back a check of the chain begins."""

    FULL = "full", _("the whole log")
    NEW = "new", _("the rows added since")


class ChainCheck(models.Model):
    """One look at the chain: up to which row, by whom, what was wrong.

    A full one of the system's goes on in portions and is `finished_at` None meanwhile; one of new rows is carried on
    for a day. What is kept here proves nothing to who mistrusts the database's owner: `manage.py audit verify` does.
    """

    kind = models.CharField(max_length=4, choices=CheckKind.choices)
    by = models.CharField(max_length=150)
    begun_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    last = models.PositiveBigIntegerField(default=0)
    """Rows are good up to this one, whose hash is `last_hash`."""
    last_hash = models.CharField(max_length=64)
    anchored = models.PositiveBigIntegerField(default=0)
    faults = SentencesField(default=list)
    notes = SentencesField(default=list)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["-finished_at"])]

    def __str__(self) -> str:
        return f"{self.kind} check up to row {self.last}"


class SavedSearch(models.Model):
    """A filter of the log that somebody keeps under a name. Its address can be sent to a colleague."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_searches"
    )
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000, blank=True)
    """The filter as it stands in the page's address, without the place in the log."""

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="audit_one_search_per_name")]

    def __str__(self) -> str:
        return self.name
