"""`manage.py pause`: nobody is stopped from the next cycle on."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from console.steering import pausing
from console.steering.pausing import pause


class Command(BaseCommand):
    """The switch on the pages, for scripts and for when the pages are out of reach."""

    help = "Stop nobody, in a partition or in all, until `manage.py resume`."

    def add_arguments(self, parser: CommandParser) -> None:
        pausing.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = pausing.read(options)
        held = pause(**wanted)
        why = f": {held.reason}" if held.reason else "."
        self.stdout.write(
            f"{pausing.named(wanted['partition'])}: paused by {held.by} since {held.since:%F %T %Z}{why}"
        )
