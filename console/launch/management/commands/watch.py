"""`manage.py watch`: wake the workers for new jobs, beside Celery's own worker and beat (larger installations)."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console.cluster.connect import configured_cluster, connect_anew
from console.launch.watching import Watcher
from console.steering.tasks import steer


class Command(BaseCommand):
    """Glances at the queue until it is ended."""

    help = "Look out for new jobs between two cycles and have a cycle run at once (see GIVEWAY_WATCH_S)."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.GIVEWAY_WATCH_S:
            raise CommandError("GIVEWAY_WATCH_S is 0: nothing is to be watched.")
        Watcher(connect_anew(configured_cluster()), steer.delay, settings.GIVEWAY_WATCH_S).run()
