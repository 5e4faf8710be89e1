"""`manage.py steer --once`: cycles in the foreground, for scripts, tests and debugging without any worker."""

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.cluster.connect import configured_cluster
from console.steering.cycle import run_cycle


class Command(BaseCommand):
    """Observe, decide, record, act; one line per decision on stdout."""

    help = "Run one whole cycle in the foreground (or one after the other, without --once)."
    # They load every page and the whole API: twice the time of a cycle. `manage.py check`, the console and the worker
    # make them.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="one cycle, then end")

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        try:
            while not self.cycle(once) and not once:
                time.sleep(settings.GIVEWAY_CYCLE_S)
        except KeyboardInterrupt:
            return

    def cycle(self, once: bool) -> bool:
        """One cycle; true when there is no sense in going on.

        A cluster that cannot be observed, and a cycle that failed, are exit status 1.
        """
        report = run_cycle(configured_cluster())
        if report is None:
            if once:
                raise CommandError("Another cycle of this cluster is under way; try again.", returncode=1)
            return False
        for line in report.lines:
            self.stdout.write(line)
        if report.has_failed and once:
            raise CommandError(
                f"{report.fault}. Nobody is stopped until a cycle has ended well.", returncode=1
            )
        if report.fault and once:
            raise CommandError(
                f"The cluster cannot be observed, so nothing was done: {report.fault}", returncode=1
            )
        if not report.lines and not report.fault:
            self.stdout.write("nothing is waiting")
        return False
