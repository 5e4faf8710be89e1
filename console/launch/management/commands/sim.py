"""`manage.py sim …`: be a user of the simulated cluster, as `sbatch` and `scancel` would on a real one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.cluster.connect import configured_cluster, connect
from console.core.installation import is_simulated
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.stored import StoredSimulator
from scheduler.adapters.simulator.submission import SubmitError
from scheduler.model.jobs import Request


class Command(BaseCommand):
    """Submit and cancel jobs, or begin the scenario anew; only where the cluster is the simulator."""

    help = "Submit or cancel a job on the simulated cluster, or begin its scenario anew."

    def add_arguments(self, parser: CommandParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True)
        submit = commands.add_parser("submit", help="queue a job; prints its id")
        submit.add_argument("--user", required=True)
        submit.add_argument("--name", required=True, help="for example p0_eval")
        submit.add_argument("--account", default="")
        submit.add_argument("--partition", default="", help="default: the cluster's first")
        submit.add_argument("--nodes", type=int, default=1)
        submit.add_argument("--gpu", type=int, default=0, help="per node")
        submit.add_argument("--cpu", type=int, default=1, help="per node")
        submit.add_argument("--time", type=int, default=600, help="seconds of work")
        cancel = commands.add_parser("cancel", help="end a job")
        cancel.add_argument("job")
        commands.add_parser("reset", help="begin the scenario anew")

    def handle(self, *args: Any, command: str, **options: Any) -> None:
        if not is_simulated():
            raise CommandError("The attached cluster is a real Slurm: use sbatch and scancel.")
        port = connect(configured_cluster())
        if not isinstance(port, StoredSimulator):
            raise CommandError("The attached cluster is not the stored simulator.")
        getattr(self, f"_{command}")(port, options)

    def _submit(self, port: StoredSimulator, options: dict[str, Any]) -> None:
        per_node = {name: options[name] for name in ("cpu", "gpu") if options[name]}
        spec = JobSpec(
            name=options["name"],
            user=options["user"],
            account=options["account"],
            request=Request(nodes=options["nodes"], per_node=per_node),
            partitions=(options["partition"],) if options["partition"] else (),
            run_time_s=options["time"],
        )
        try:
            self.stdout.write(port.submit(spec))
        except SubmitError as error:
            raise CommandError(str(error)) from None

    def _cancel(self, port: StoredSimulator, options: dict[str, Any]) -> None:
        if not port.cancel(options["job"]):
            raise CommandError(f"There is no job {options['job']}.")

    def _reset(self, port: StoredSimulator, options: dict[str, Any]) -> None:
        port.reset()
        self.stdout.write("The scenario begins anew.")
