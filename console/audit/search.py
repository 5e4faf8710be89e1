"""Which rows of the log are wanted, and a page of them: bounded work, however long the log has become."""

import json
import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, Q, QuerySet

from console.accounts.models import User
from console.audit.models import SYSTEM_ACTOR, AuditEntry, SavedSearch
from console.core.limits import no_room

PAGE_SIZE = 50
LOOK_THROUGH = 20_000
"""No index helps to find words inside rows: a page looks through this many rows, and says how far it came."""
LONGEST_STEM = 120
_EQUAL = {
    "actor": "actor",
    "action": "action",
    "object_type": "object_type",
    "object_id": "object_id",
    "partition": "partition",
    "project": "project",
    "job": "job_id",
    "plan": "plan",
    "request": "request_id",
}
"""Names in the address, and the columns that must equal them; each has an index."""
PEOPLE, ITSELF = "people", "giveway"
"""By whom: people, or the system itself."""
FEW = ("object_id", "job_id", "plan", "request_id")
"""Columns of which one value has few rows: words among them are looked for in all of them."""


@dataclass(frozen=True, slots=True)
class AuditSearch:
    """What is asked of the log. Empty: everything."""

    since: datetime | None = None
    until: datetime | None = None
    actor: str = ""
    action: str = ""
    object_type: str = ""
    object_id: str = ""
    partition: str = ""
    project: str = ""
    job: str = ""
    plan: int | None = None
    request: str = ""
    text: str = ""
    by: str = ""

    @property
    def facts(self) -> dict[str, Any]:
        """What is asked, by name; nothing that is not."""
        asked = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in asked.items() if value not in (None, "")}

    @property
    def as_json(self) -> dict[str, Any]:
        """The same for the log itself and for file names."""
        return {
            name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
            for name, value in self.facts.items()
        }

    def rows(self, visible: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """Those of the `visible` rows that are wanted."""
        columns = {column: getattr(self, name) for name, column in _EQUAL.items() if name in self.facts}
        if self.since:
            columns["at__gte"] = self.since
        if self.until:
            columns["at__lte"] = self.until
        rows = done_by(visible.filter(**columns), self.by)
        return rows.filter(containing(self.text)) if self.text else rows

    @property
    def looks_through_all(self) -> bool:
        """Whether words, or what people did, have to be looked for among rows that no index narrows down."""
        narrowed = any(column in FEW and name in self.facts for name, column in _EQUAL.items())
        return bool(self.text or (self.by == PEOPLE and not self.actor)) and not narrowed


def done_by(rows: QuerySet[AuditEntry], whom: str) -> QuerySet[AuditEntry]:
    """Those of `people`, or those of `giveway` itself; anything else: all."""
    if whom == PEOPLE:
        return rows.exclude(actor=SYSTEM_ACTOR)
    return rows.filter(actor=SYSTEM_ACTOR) if whom == ITSELF else rows


def containing(text: str) -> Q:
    """Rows that say this anywhere: object, actor, reason, what was there before and after."""
    words = Q()
    for column in ("object_label", "object_id", "actor", "reason", "job_id"):
        words |= Q(**{f"{column}__icontains": text})
    # SQLite keeps JSON as it was written, with everything that is not ASCII escaped.
    for form in {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}:
        words |= Q(before__icontains=form) | Q(after__icontains=form)
    return words


@dataclass(frozen=True, slots=True)
class Page:
    """Rows, the newest first. `older`: the number before which the next page begins.

    `looked_from` and `looked_to` are set when the page gave up looking through rows before the log's end.
    """

    entries: list[AuditEntry]
    older: int | None
    looked_from: int | None = None
    looked_to: int | None = None


def read_page(visible: QuerySet[AuditEntry], wanted: AuditSearch, before: int | None) -> Page:
    """The rows before row number `before` (None: the newest), `PAGE_SIZE` at most.

    With a time range the order is that of time, so that the index that finds the range gives the order too.
    """
    rows = wanted.rows(visible)
    if wanted.looks_through_all:
        return _look_through(rows, before)
    if wanted.since or wanted.until:
        rows = _before_in_time(rows.order_by("-at", "-sequence"), before)
    elif before is not None:
        rows = rows.filter(sequence__lt=before)
    found = list(rows[: PAGE_SIZE + 1])
    return Page(found[:PAGE_SIZE], _older(found))


def _older(found: list[AuditEntry]) -> int | None:
    return found[PAGE_SIZE - 1].sequence if len(found) > PAGE_SIZE else None


def _before_in_time(rows: QuerySet[AuditEntry], before: int | None) -> QuerySet[AuditEntry]:
    if before is None:
        return rows
    place = AuditEntry.objects.filter(sequence=before).values_list("at", flat=True).first()
    if place is None:
        return rows.filter(sequence__lt=before)
    return rows.filter(at__lte=place).exclude(at=place, sequence__gte=before)


def _look_through(rows: QuerySet[AuditEntry], before: int | None) -> Page:
    last = AuditEntry.objects.aggregate(last=Max("sequence"))["last"] or 0
    top = min(before - 1, last) if before is not None else last
    low = max(top - LOOK_THROUGH + 1, 1)
    found = list(rows.filter(sequence__lte=top, sequence__gte=low).order_by("-sequence")[: PAGE_SIZE + 1])
    if len(found) > PAGE_SIZE or low == 1:
        return Page(found[:PAGE_SIZE], _older(found))
    return Page(found, low, looked_from=top, looked_to=low)


def place_in_log(text: str) -> int | None:
    """`?before=` as a row's number; None for what is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def file_stem(wanted: dict[str, Any], at: datetime) -> str:
    """A file's name that tells the filter and the time: `audit-partition-x-since-2026-03-01-20260302T120000Z`."""
    parts = [f"{name}-{value}" for name, value in wanted.items()]
    words = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(["audit", *parts]))[:LONGEST_STEM].rstrip("-._")
    return f"{words}-{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def keep_search(owner: User, *, name: str, query: str) -> SavedSearch:
    """Keep a search; the same name again replaces it. `ValidationError` when there are too many."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        own = SavedSearch.objects.filter(owner=owner)
        full = no_room("searches", own.count())
        if full and not own.filter(name=name).exists():
            raise ValidationError({"name": full})
        SavedSearch(owner=owner, name=name, query=query).clean_fields(exclude=["owner"])
        search, _made = own.update_or_create(name=name, defaults={"owner": owner, "query": query})
    return search


def forget_search(owner: User, pk: int) -> bool:
    """Remove one's own search; False when there is none."""
    return SavedSearch.objects.filter(owner=owner, pk=pk).delete()[0] > 0
