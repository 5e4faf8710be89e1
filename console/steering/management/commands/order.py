"""`manage.py order reset`: everybody is back where Slurm itself would have them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.cluster.connect import configured_cluster, connect
from console.steering import lease as leases
from console.steering.facts import partition_policies
from console.steering.kinds.nice import reset
from console.steering.lease import LeaseLostError
from scheduler.model.policy import Enforcement, LineOrder
from scheduler.ports import ClusterUnavailableError


class Command(BaseCommand):
    """Before Giveway is uninstalled. While it runs, `order: slurm` or a pause does the same."""

    help = "`reset`: give every waiting job back its own nice, so that Slurm's line is Slurm's again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=["reset"])

    def handle(self, *args: Any, **options: Any) -> None:
        cluster = configured_cluster()
        lease = leases.take(cluster)
        if lease is None:
            raise CommandError("A cycle is under way; try again.", returncode=1)
        try:
            with lease.keep_alive():
                done = reset(cluster, connect(cluster), lease)
        except ClusterUnavailableError as error:
            raise CommandError(f"The cluster cannot be observed: {error}", returncode=1) from error
        except LeaseLostError as error:
            raise CommandError(str(error), returncode=1) from error
        finally:
            lease.release()
        self.stdout.write(f"{done.given_back} jobs have their own nice again.")
        for words in done.left:
            self.stdout.write(words)
        again = sorted(
            name
            for name, facts in partition_policies(cluster).items()
            if facts.policy.enforcement is Enforcement.ENFORCE
            and facts.policy.order is LineOrder.LEVELS
            and not facts.paused
        )
        if again:
            self.stdout.write(
                f"The next cycle puts the line of {', '.join(again)} in order again; end it, or pause."
            )
        if done.left:
            raise CommandError("Not all of them; try again.", returncode=1)
