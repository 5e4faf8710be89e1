"""What pages write without further ado: that the doctor is asked, and that a step is put off."""

from console.cluster.models import Cluster
from console.core import clock
from console.setup.models import Examination, PutOff


def ask(cluster: Cluster) -> None:
    """Have the worker examine the installation."""
    Examination.objects.update_or_create(cluster=cluster, defaults={"asked_at": clock.now()})


def put_off(step: str, by: str) -> None:
    """Leave a step for later, or take it up again."""
    row, made = PutOff.objects.get_or_create(step=step, defaults={"by": by})
    if not made:
        row.delete()
