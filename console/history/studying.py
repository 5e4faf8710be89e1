"""Working studies off. Whoever holds a study says so at every look; one whose holder is silent is taken up anew.

A study belongs to the `holder` that claimed it last, by compare-and-set: a message that comes twice, or a worker that
comes back from a long sleep, changes nothing. Cancelling takes the study from its holder.
"""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db.models import F, Q
from django.utils.translation import gettext_noop

from console.core import clock
from console.history.answering import encode_past
from console.history.hindsight.asking import forget_same
from console.history.hindsight.running import hindsight
from console.history.models import OPEN_STUDIES, Study, StudyKind, StudyState
from console.history.past import over_days
from console.history.studies import change_of
from console.history.what_if import NotNowError

log = structlog.get_logger(__name__)

SILENT = timedelta(minutes=2)
"""Whoever has not said a word for so long is taken for dead. A look takes seconds."""
MOST_TRIES = 3
SENT_AGAIN = timedelta(minutes=1)
"""A message that was lost is sent again after so long."""
LOST = gettext_noop("The worker was lost three times while it worked on this; see its log.")
BROKEN = gettext_noop("An error in Giveway ended it; the worker's log has it.")


class LostError(Exception):
    """The study is somebody else's, or nobody's, by now."""


def due(send: Callable[[int], object]) -> int:
    """Send what waits, or was left by a dead worker, to the worker; give up what kills it. How many were sent."""
    if not Study.objects.filter(state__in=OPEN_STUDIES).exists():
        return 0
    now = clock.now()
    left = Study.objects.filter(state=StudyState.RUNNING, beat_at__lt=now - SILENT)
    left.filter(tries__gte=MOST_TRIES).update(
        state=StudyState.FAILED, fault=LOST, holder="", ended_at=now, version=F("version") + 1
    )
    left.update(state=StudyState.QUEUED, holder="", sent_at=None, version=F("version") + 1)
    unsent = Q(sent_at__isnull=True) | Q(sent_at__lt=now - SENT_AGAIN)
    waiting = list(
        Study.objects.filter(unsent, state=StudyState.QUEUED).order_by("pk").values_list("pk", flat=True)
    )
    for pk in waiting:
        send(pk)
        Study.objects.filter(pk=pk, state=StudyState.QUEUED).update(sent_at=now)
    return len(waiting)


def work_off(pk: int) -> bool:
    """Work a study off, if it waits; whether it did."""
    holder = uuid.uuid4().hex
    if not _claim(pk, holder):
        return False
    study = Study.objects.select_related("cluster").get(pk=pk)

    def tell(done: int, total: int) -> None:
        _keep(pk, holder, done=done, total=total, beat_at=clock.now())

    try:
        _keep(pk, holder, **_ended(StudyState.DONE), result=_result(study, tell))
        forget_same(study)
    except LostError:
        log.info("a study was cancelled, or taken over", study=pk)
    except NotNowError as error:
        _end_badly(pk, holder, str(error))
    except Exception:
        _end_badly(pk, holder, BROKEN)
        raise
    return True


def _result(study: Study, tell: Callable[[int, int], None]) -> dict[str, Any]:
    change, budget_s = change_of(study), settings.GIVEWAY_STUDY_S
    if study.kind == StudyKind.HINDSIGHT:
        policy = change.policies[study.partition]
        return hindsight(study.cluster, policy, study.days, budget_s=budget_s, tell=tell)
    return encode_past(over_days(study.cluster, change, study.days, budget_s=budget_s, tell=tell))


def work_all_off() -> int:
    """Every study that waits, one after the other; how many there were."""
    done = 0
    while pk := _next():
        done += work_off(pk)
    return done


def _next() -> int | None:
    waiting = Study.objects.filter(state=StudyState.QUEUED).order_by("pk")
    return waiting.values_list("pk", flat=True).first()


def _claim(pk: int, holder: str) -> bool:
    now = clock.now()
    return bool(
        Study.objects.filter(pk=pk, state=StudyState.QUEUED).update(
            state=StudyState.RUNNING,
            holder=holder,
            begun_at=now,
            beat_at=now,
            tries=F("tries") + 1,
            version=F("version") + 1,
        )
    )


def _ended(state: StudyState) -> dict[str, object]:
    return {"state": state, "ended_at": clock.now()}


def _keep(pk: int, holder: str, **values: object) -> None:
    """Write to a study that is held. Raises `LostError` when it is not."""
    mine = Study.objects.filter(pk=pk, state=StudyState.RUNNING, holder=holder)
    if not mine.update(version=F("version") + 1, **values):
        raise LostError(pk)


def _end_badly(pk: int, holder: str, fault: str) -> None:
    try:
        _keep(pk, holder, **_ended(StudyState.FAILED), fault=fault)
    except LostError:
        log.info("a study that failed was cancelled, or taken over", study=pk)
