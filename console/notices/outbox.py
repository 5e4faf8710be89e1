"""What is still to be sent, one way or the other: claimed before it is sent, sent at least once, given up in the end.

A claim puts the next try into the future in the same statement that counts this one. So a process that dies while it
sends neither loses what it had claimed (it comes up again) nor sends it for ever (the tries are counted), and two that
run at once never send the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Q

from console.core import clock
from console.core.bulk_update import delete_rows
from console.notices.models import Notice

log = structlog.get_logger(__name__)

MOST_ATTEMPTS = 8
FIRST_WAIT = timedelta(minutes=1)
TOO_OLD = timedelta(days=1)
"""What could not be sent for so long is news no more."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way of telling: `mail` or `hook`, as the fields of a notice begin."""

    name: str

    def claim(self, now: datetime, limit: int, *, user: str | None = None) -> list[Notice]:
        """Notices whose time has come (of one person, if `user` is given), now ours to send; the oldest first."""
        with transaction.atomic():
            due = Notice.objects.select_for_update(skip_locked=True).filter(**{f"{self.name}_due__lte": now})
            due = due if user is None else due.filter(user=user)
            rows = list(due.order_by("id")[:limit])
            spent = [
                row for row in rows if self.attempts(row) >= MOST_ATTEMPTS or now - row.made_at > TOO_OLD
            ]
            self.give_up(spent, "tried too often, or for too long")
            mine = [row for row in rows if row not in spent]
            for attempts in {self.attempts(row) for row in mine}:
                ids = [row.pk for row in mine if self.attempts(row) == attempts]
                self._set(ids, due=now + FIRST_WAIT * 2**attempts, attempts=attempts + 1)
            for row in mine:
                setattr(row, f"{self.name}_attempts", self.attempts(row) + 1)
        return mine

    def next_user(self, now: datetime) -> str | None:
        """Whose notices have waited for the longest; None when nothing is due."""
        due = Notice.objects.filter(**{f"{self.name}_due__lte": now})
        return due.order_by(f"{self.name}_due", "id").values_list("user", flat=True).first()

    def sent(self, notices: Sequence[Notice]) -> None:
        """They are told."""
        self._set([notice.pk for notice in notices], due=None, at=clock.now())

    def failed(self, notices: Sequence[Notice], why: str) -> None:
        """They were not told. The claim has set the next try already, if there is one."""
        last = [notice for notice in notices if self.attempts(notice) >= MOST_ATTEMPTS]
        self.give_up(last, why)
        if len(last) < len(notices):
            log.warning(
                "notices not sent, will be tried again", by=self.name, count=len(notices) - len(last), why=why
            )

    def give_up(self, notices: Sequence[Notice], why: str) -> None:
        """Try no more, and say so."""
        if notices:
            ids = [notice.pk for notice in notices]
            self._set(ids, due=None)
            log.error("notices given up", by=self.name, notices=ids, why=why)

    def attempts(self, notice: Notice) -> int:
        """How often sending it was begun."""
        count: int = getattr(notice, f"{self.name}_attempts")
        return count

    def _set(self, ids: Sequence[int], **values: object) -> None:
        changes = {f"{self.name}_{field}": value for field, value in values.items()}
        Notice.objects.filter(pk__in=ids).update(**changes)


MAIL = Way("mail")
HOOK = Way("hook")


def forget_old_notices(older_than: timedelta) -> int:
    """Delete notices made longer ago than this that are no longer to be sent; returns how many."""
    old = Notice.objects.filter(made_at__lt=clock.now() - older_than)
    return delete_rows(old.filter(Q(mail_due=None) & Q(hook_due=None)))
