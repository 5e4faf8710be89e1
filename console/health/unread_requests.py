"""Waiting jobs for which nobody is stopped because of what they ask for (docs/slurm-requests.md), by the word."""

import re
from collections import Counter

from console.cluster.models import Job, JobPhase
from scheduler.model.reasons import Reason
from scheduler.model.sentence import Sentence

OTHER = "other"
_WORD = re.compile(r"[( ]([A-Za-z][\w/:-]*)=")


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
