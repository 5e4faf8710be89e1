"""Why a job waits, why it was stopped and for whom, and when it comes back: one answer for page, API and command.

May import: `decisions`, `exchanging`, `models`, `operations`.
"""

from console.cluster.models import Cluster
from console.steering.explanations.answer import (
    About,
    AnsweredStop,
    AnswerLine,
    AnswerPart,
    JobAnswer,
    Known,
    Return,
    Stage,
)
from console.steering.explanations.build import explain, read, rows_of, tasks_of

__all__ = [
    "About",
    "AnswerLine",
    "AnswerPart",
    "AnsweredStop",
    "JobAnswer",
    "Known",
    "Return",
    "Stage",
    "explain",
    "read",
    "rows_of",
    "tasks_of",
    "why",
]


def why(cluster: Cluster, job_id: str) -> JobAnswer | None:
    """The answer for a job; None when nothing is known of it."""
    known = read(cluster, job_id)
    return explain(known) if known.anything else None
