"""Whether jobs wait for which nobody is stopped because of what they ask for."""

from collections.abc import Iterator

from django.conf import settings

from console.health.doctor.findings import Finding, counted, ok, warn
from console.health.unread_requests import count_by_word

NAME = "requests"


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
