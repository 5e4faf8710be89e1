"""Checkpoints: a job tells that it has saved its state, with a token of its own or through its user's account."""

from typing import Any, ClassVar

from django.db import transaction
from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotAuthenticated, ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.api.base import ApiView
from console.api.strict import valid
from console.api.throttles import AddressThrottle
from console.cluster.models import Job, JobPhase
from console.steering.checkpoints import BadTokenError, acknowledge, asked_of, make_token, read_token
from console.steering.models import Checkpoint, Via
from console.steering.past import LONGEST_SAVED


class NotAskedError(APIException):
    """The job was not asked to save its state, so there is nothing to acknowledge."""

    status_code = 409
    default_code = "no_checkpoint_asked"


class JobEndedError(APIException):
    """The job is over: there will be nothing to acknowledge."""

    status_code = 409
    default_code = "job_ended"


class CheckpointTokenSerializer(serializers.Serializer):
    """Hand it to the job; it is good for nothing but acknowledging this job's checkpoints."""

    token = serializers.CharField(read_only=True)
    job_id = serializers.CharField(read_only=True)
    expires_at = serializers.DateTimeField(read_only=True)


class AcknowledgementSerializer(serializers.Serializer):
    """Who tells it: the job by its token, or its user, signed in, by the job's id."""

    token = serializers.CharField(max_length=2000, required=False)
    job_id = serializers.CharField(
        max_length=40,
        required=False,
        help_text="Needed without a token; with one it must be the token's job.",
    )
    saved = serializers.CharField(
        max_length=LONGEST_SAVED,
        required=False,
        allow_blank=True,
        default="",
        help_text="What was saved, in the job's own words: `epoch=10`.",
    )


class CheckpointSerializer(serializers.ModelSerializer):
    """A checkpoint that a job was asked for. The first acknowledgement counts; later ones change nothing."""

    class Meta:
        model = Checkpoint
        fields: ClassVar = ["job_id", "plan", "asked_at", "acknowledged_at", "via", "saved"]
        read_only_fields = fields


class PerJobThrottle(AddressThrottle):
    """So many tries per job of a genuine token, else per account or address: jobs of one node share its address."""

    def get_ident(self, request: Request) -> str:
        """The token's job, or where the request comes from."""
        token = request.data.get("token") if isinstance(request.data, dict) else None
        try:
            return f"job-{read_token(token).job}" if isinstance(token, str) else super().get_ident(request)
        except BadTokenError:
            return str(super().get_ident(request))


class CheckpointTokenView(ApiView):
    """A job's checkpoint token."""

    permission = Permission.JOB_VIEW
    queryset = Job.objects.all()
    serializer_class = CheckpointTokenSerializer
    further_errors: ClassVar = {"POST": {409}}

    @extend_schema(request=None, responses={200: CheckpointTokenSerializer})
    def post(self, request: Request, job_id: str) -> Response:
        """Make a token for a job of one's own. It ends by itself after thirty days; earlier ones stay good."""
        job = _job(self.cluster.pk, job_id)
        if job is None:
            raise Http404
        require_write(request, Permission.CHECKPOINT_TELL, job)
        if job.phase == JobPhase.ENDED:
            raise JobEndedError(f"Job {job_id} has ended.")
        token, until = make_token(job)
        made = {"token": token, "job_id": job.job_id, "expires_at": until}
        return Response(self.get_serializer(made).data)


class CheckpointView(ApiView):
    """Acknowledging a checkpoint."""

    queryset = Checkpoint.objects.all()
    serializer_class = CheckpointSerializer
    permission_classes: ClassVar[Any] = [AllowAny]
    throttle_classes: ClassVar[Any] = [PerJobThrottle]
    throttle_scope = "checkpoint"
    further_errors: ClassVar = {"POST": {404, 409, 429}}

    @extend_schema(request=AcknowledgementSerializer, responses={200: CheckpointSerializer})
    def post(self, request: Request) -> Response:
        """Tell that the job has saved its state; when all who were asked have, they are stopped at once."""
        sent = AcknowledgementSerializer(data=request.data)
        valid(sent, self.serializer_class)
        data = sent.validated_data
        job_id, actor = self._by_token(data) if "token" in data else self._by_account(data)
        with transaction.atomic():
            asked = asked_of(self.cluster, job_id)
            if asked is None:
                raise NotAskedError(f"No checkpoint is asked of job {job_id}.")
            told = acknowledge(asked, data["saved"], via=Via.API, actor=actor, request_id=self.request_id)
        if not told:
            asked.refresh_from_db()
        return Response(self.get_serializer(asked).data)

    def _by_token(self, data: dict[str, Any]) -> tuple[str, str]:
        """The token's job and its user."""
        try:
            says = read_token(data["token"])
        except BadTokenError as error:
            raise ValidationError({"token": [str(error)]}) from error
        if data.get("job_id", says.job) != says.job:
            text = _("This is the token of job %(job)s, not of %(other)s.")
            raise ValidationError({"token": [text % {"job": says.job, "other": data["job_id"]}]})
        job = _job(self.cluster.pk, says.job)
        if job is None:
            raise NotAskedError(_("No checkpoint is asked of job %(job)s.") % {"job": says.job})
        if not says.is_of(job):
            text = _("This token is of an earlier job with the id %(job)s.")
            raise ValidationError({"token": [text % {"job": says.job}]})
        return says.job, says.user

    def _by_account(self, data: dict[str, Any]) -> tuple[str, str]:
        """A job of the signed-in account, and the account."""
        if not self.request.user.is_authenticated:
            raise NotAuthenticated
        if "job_id" not in data:
            raise ValidationError({"job_id": [_("Say which job, or send its token.")]})
        job = _job(self.cluster.pk, data["job_id"])
        if job is None:
            raise Http404
        require_write(self.request, Permission.CHECKPOINT_TELL, job)
        return job.job_id, self.person.username


def _job(cluster: int, job_id: str) -> Job | None:
    """The job in the mirror, its row that was written last when it is in several partitions."""
    jobs = Job.objects.filter(cluster=cluster, job_id=job_id).select_related("cluster")
    return jobs.order_by("-restarts", "-submit", "partition").first()
