"""Whether jobs wait for which nobody is stopped because of what they ask for (docs/slurm-requests.md), by the word."""

import re
from collections import Counter
from collections.abc import Iterator

from django.conf import settings

from console.cluster.models import Job, JobPhase
from console.health.doctor.findings import Finding, counted, ok, warn
from scheduler.model.reasons import Reason
from scheduler.model.sentence import Sentence

NAME = "job requests"
OTHER = "other"
_WORD = re.compile(r"[( ]([A-Za-z][\w/:-]*)=")


def check_requests() -> Iterator[Finding]:
    """Each word of Slurm's that is not planned with, and how many waiting jobs it concerns."""
    words = {
        word: count
        for (cluster, word), count in sorted(count_by_word().items())
        if cluster == settings.GIVEWAY_CLUSTER_NAME
    }
    for word, count in words.items():
        yield warn(NAME, counted("doctor.requests.unread", count), n=count, word=word)
    if not words:
        yield ok(NAME, "doctor.requests.read")


def count_by_word() -> Counter[tuple[str, str]]:
    """How many there are, by cluster and word of Slurm's. A job with several words counts with each."""
    found: Counter[tuple[str, str]] = Counter()
    rows = Job.objects.filter(phase=JobPhase.PENDING, reason=Reason.BLOCKED.value)
    for cluster, explain in rows.values_list("cluster__name", "explain"):
        found.update((cluster, word) for word in _words(explain))
    return found


def _words(explain: str) -> set[str]:
    why = explain.params.get("why") if isinstance(explain, Sentence) and explain.code == "blocked" else None
    if isinstance(why, Sentence) and why.code == "waits.also":
        why = why.params["what"]
    if not isinstance(why, Sentence) or why.code != "waits.unplannable":
        return set()
    return set(_WORD.findall(str(why.params["why"]))) or {OTHER}
