"""What every cycle leads to here: its look at the cluster is recorded."""

from typing import Any

from django.dispatch import receiver

from console.cluster.models import Cluster
from console.history.recording import record_look
from console.steering.signals import observed
from scheduler.model.observation import Observation


@receiver(observed, dispatch_uid="history.observed")
def record(*, cluster: Cluster, observation: Observation, **_: Any) -> None:
    """Under the cycle's lease, so that nobody else records the same minute."""
    record_look(cluster, observation)
