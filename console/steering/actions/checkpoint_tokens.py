"""The token that a job acknowledges its checkpoints with: signed, for this job only, good for nothing else.

It names the cluster, the job, its user, and its submission as it was when the token was made. Slurm gives a job id
again some day, and a requeued job a new submit time: a job that has been restarted since must not be older.
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.core import signing
from django.utils.translation import gettext as _

from console.cluster.models import Job
from console.core import clock

SALT = "giveway.checkpoint-token/1"
LIFETIME = timedelta(days=30)


class BadTokenError(Exception):
    """The token is none of ours, has run out, or is another job's. The message is for people."""


@dataclass(frozen=True, slots=True)
class JobToken:
    """What a token says."""

    cluster: str
    job: str
    user: str
    submit: int
    restarts: int

    def is_of(self, job: Job) -> bool:
        """Whether `job` (in the mirror) is the job that the token was made for."""
        same = (self.cluster, self.job, self.user) == (job.cluster.name, job.job_id, job.user)
        if self.restarts == job.restarts == 0:
            return same and self.submit == job.submit
        return same and self.submit <= job.submit and self.restarts <= job.restarts


def make_token(job: Job) -> tuple[str, datetime]:
    """A token for the job, and when it runs out."""
    says = JobToken(job.cluster.name, job.job_id, job.user, job.submit, job.restarts)
    return signing.dumps(asdict(says), salt=SALT), clock.now() + LIFETIME


def read_token(token: str) -> JobToken:
    """What the token says. Raises `BadTokenError`."""
    try:
        return JobToken(**signing.loads(token, salt=SALT, max_age=LIFETIME))
    except signing.SignatureExpired as error:
        raise BadTokenError(_("This token has run out; get a new one.")) from error
    except (signing.BadSignature, TypeError) as error:
        raise BadTokenError(_("This is no checkpoint token of this console.")) from error
