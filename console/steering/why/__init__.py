"""Why a job waits, why it was stopped and for whom, and when it comes back: one answer for page, API and command."""

from console.cluster.models import Cluster
from console.steering.why.answer import About, Answer, Line, Part, Return, Stage, Stop
from console.steering.why.reading import Known, read, rows_of, tasks_of
from console.steering.why.telling import explain

__all__ = [
    "About",
    "Answer",
    "Known",
    "Line",
    "Part",
    "Return",
    "Stage",
    "Stop",
    "explain",
    "read",
    "rows_of",
    "tasks_of",
    "why",
]


def why(cluster: Cluster, job_id: str) -> Answer | None:
    """The answer for a job; None when nothing is known of it."""
    known = read(cluster, job_id)
    return explain(known) if known.anything else None
