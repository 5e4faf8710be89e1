"""What came of what was tried: answers to questions, and what would make a waiting job start sooner."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from console.accounts.models import User
from console.cluster.models import Cluster
from console.core import clock
from console.starts.alternative_requests import Alternative
from console.starts.models import StartQuestion
from console.starts.queue_replay import QueueReplay
from scheduler.contracts.requests import encode_request
from scheduler.forecast.starts import StartForecast
from scheduler.model.jobs import Request

MOST_OPEN = 20
"""So many questions of one account wait for their answer at a time."""
LEAST_GAIN, LEAST_GAIN_S = 0.1, 120
"""By so much of the wait, and by so many seconds, something has to make a start sooner to be told."""


class TooManyQuestionsError(Exception):
    """An account asks more than is answered."""


def ask(
    *, cluster: Cluster, person: User, partition: str, account: str, request: Request, time_limit_s: int
) -> StartQuestion:
    """Have it asked at the next look, as who the account is on the cluster. Raises `TooManyQuestionsError`."""
    if StartQuestion.objects.filter(asked_by=person, answered_at=None).count() >= MOST_OPEN:
        raise TooManyQuestionsError
    return StartQuestion.objects.create(
        cluster=cluster, asked_by=person, partition=partition, user=person.slurm_user, account=account,
        request=encode_request(request), time_limit_s=time_limit_s,
    )  # fmt: skip


def open_questions(cluster: Cluster) -> list[StartQuestion]:
    """Those that wait for their answer."""
    return list(StartQuestion.objects.filter(cluster=cluster, answered_at=None))


def answer(play: QueueReplay, tried: Iterable[StartForecast], now: int) -> None:
    """Write the answers down; `tried`: those of the questions that fit anywhere, in their order."""
    said = iter(tried)
    for asked in play.asked:
        question = asked.question
        question.answered_at, question.level = clock.now(), asked.level
        if asked.want is not None:
            found = next(said)
            question.p50, question.low, question.high = (
                None if value is None else now + int(value) for value in (found.p50, found.low, found.high)
            )
            question.nodes = [play.names[node] for node in found.nodes]
        question.save()


def collect_sooner_starts(
    changes: Sequence[Alternative], tried: Sequence[StartForecast]
) -> Mapping[int, list[tuple[Alternative, float]]]:
    """By number of the waiting job: what was tried of it, and in how many seconds it would start then."""
    found: dict[int, list[tuple[Alternative, float]]] = {}
    for change, said in zip(changes, tried, strict=True):
        if said.p50 is not None:
            found.setdefault(change.number, []).append((change, said.p50))
    return found


def worth_telling(
    tried: Iterable[tuple[Alternative, float]], p50: int | None, now: int
) -> list[dict[str, Any]]:
    """What makes the start notably sooner than `p50` (epoch seconds; None: it is not in sight), the best first."""
    wait = None if p50 is None else p50 - now
    told = []
    for change, seconds in sorted(tried, key=lambda pair: pair[1]):
        if wait is None or wait - seconds >= max(LEAST_GAIN_S, LEAST_GAIN * wait):
            what = {"nodes": change.nodes} if change.nodes else {"limit_s": change.limit_s}
            told.append(what | {"p50": now + int(seconds)})
    return told
