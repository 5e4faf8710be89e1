"""What the console forecasts of jobs on a real Slurm, brought up to date as its timers do, and read over the API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rest_framework.test import APIClient

from console.cluster.models import Cluster
from console.forecasts.forecaster import Forecaster
from console.forecasts.models import FinishedSource, KeptRun
from console.starts.expecting import Expecting
from deploy.private_slurm import PrivateSlurm
from tests.factories import make_administrator

DAY_S = 24 * 3600
PAST = 20


@dataclass
class Foretold:
    """The forecasts of a cluster, as a person asks for them."""

    cluster: Cluster
    _known: Forecaster = field(init=False)
    _client: APIClient = field(default_factory=APIClient)

    def __post_init__(self) -> None:
        self._known = Forecaster(self.cluster)
        self._client.force_login(make_administrator())

    def say(self) -> None:
        """Run times, ends and starts, of what the last cycle saw."""
        self._known.refresh()
        self._known.forecast_jobs()
        Expecting(self.cluster).expect_starts()

    def start_of(self, job_id: str) -> Mapping[str, Any]:
        """What is said of the start of a job that waits; empty where nothing is."""
        answer = self._client.get(f"/api/v1/jobs/{job_id}/start/")
        assert answer.status_code in {200, 404}, answer.content
        return answer.json() if answer.status_code == 200 else {}

    def interval_of(self, job_id: str) -> tuple[float, float, float] | None:
        """From when, about when and until when a job is said to start (epoch seconds); None where it is not."""
        said = self.start_of(job_id)
        if not said.get("high"):
            return None
        low, p50, high = (datetime.fromisoformat(said[name]).timestamp() for name in ("low", "p50", "high"))
        return low, p50, high


def have_run(cluster: Cluster, now: int, seconds: Mapping[tuple[str, str], tuple[int, int | None]]) -> None:
    """By user and name: jobs on one node have always run so long, with this limit. As accounting would have told."""
    rows = []
    for number, ((user, name), (run_s, limit_s)) in enumerate(seconds.items()):
        for day in range(1, PAST + 1):
            submit = now - day * DAY_S - number * 60
            rows.append(
                KeptRun(
                    cluster=cluster, job_id=str(9_000_000 + 100 * number + day), user=user, name=name,
                    partition="wide", submit=submit, start=submit, end=submit + run_s, nodes=1, cpus=1, gpus=8,
                    limit_s=limit_s, source=FinishedSource.ACCOUNTING,
                )
            )  # fmt: skip
    KeptRun.objects.bulk_create(rows)


def started_at(slurm: PrivateSlurm, job_id: str) -> float:
    """When a job that runs began (epoch seconds)."""
    (told,) = slurm.squeue("%S", "-j", job_id)
    return datetime.fromisoformat(told).timestamp()
