"""`manage.py resume`: lift a pause."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from console.steering import pausing
from console.steering.pausing import resume


class Command(BaseCommand):
    """The switch on the pages, for scripts and for when the pages are out of reach."""

    help = "Lift the pause of a partition, or the one of all partitions."

    def add_arguments(self, parser: CommandParser) -> None:
        pausing.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = pausing.read(options)
        what = pausing.named(wanted["partition"])
        self.stdout.write(f"{what}: resumed." if resume(**wanted) else f"{what}: nothing was paused.")
