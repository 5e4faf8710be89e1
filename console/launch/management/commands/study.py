"""`manage.py study`: work off the questions about the last days that wait, train a model if one is due, and end."""

import os
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from console.cluster.connect import configured_cluster
from console.forecasts.learning import learn_if_due
from console.history.studying import work_all_off
from console.launch.children import end_with_parent

NICE = 10
"""Steering and pages go first."""


class Command(BaseCommand):
    """The embedded worker starts it when there is something to study; anybody may, at any time."""

    help = (
        "Work off all studies that wait (docs/what-if.md) and train a model of run times if one is due "
        "(docs/forecasts.md), less urgently than everything else."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--for", type=int, default=0, metavar="PID", help="end when this parent is gone")

    def handle(self, *args: Any, **options: Any) -> None:
        os.nice(NICE)
        parent = options["for"]
        if parent:
            end_with_parent()
            if os.getppid() != parent:  # gone before we could ask to end with it
                return
        self.stdout.write(f"Studies worked off: {work_all_off()}")
        made = learn_if_due(configured_cluster())
        if made is not None:
            self.stdout.write(
                f"Model of run times {made.version}: {'in force' if made.in_force else 'not better'}"
            )
