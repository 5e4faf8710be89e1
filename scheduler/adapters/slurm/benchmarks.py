"""Benchmarks as jobs: `sbatch` with the lowest rank that Slurm has, on one node that must be idle; `scancel`.

They wait a moment only: Slurm itself removes one that could not begin (`--deadline`), whatever becomes of Giveway.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from scheduler.adapters.slurm.allowed import is_job_id
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import SlurmUnavailableError, shortened
from scheduler.model.benchmarks import Benchmark
from scheduler.ports import BenchmarkRefusedError, ClusterUnavailableError

LAST_IN_LINE = 2_000_000_000
_MINUTE = 60


def runner_for(env: Mapping[str, str] | None = None, timeout_s: float = 20.0) -> CommandRunner:
    """What runs Slurm's programs."""
    return CommandRunner(dict(os.environ if env is None else env), timeout_s)


@dataclass(frozen=True, slots=True)
class SlurmBenchmarks:
    """Submits and ends benchmarks."""

    runner: CommandRunner

    def submit(self, benchmark: Benchmark) -> str:
        """As `BenchmarkPort` says."""
        minutes = -(-benchmark.limit_s // _MINUTE)
        last = datetime.now(UTC) + timedelta(seconds=minutes * _MINUTE + benchmark.wait_s)
        options = [f"--gres={benchmark.resource}:{benchmark.amount}"] if benchmark.amount else []
        try:
            answer = self.runner.run_with(
                benchmark.script, "sbatch", "--parsable", f"--job-name={benchmark.name}",
                f"--partition={benchmark.partition}",
                f"--nodelist={benchmark.node}", "--nodes=1", "--ntasks=1", "--exclusive", f"--time={minutes}",
                f"--nice={LAST_IN_LINE}", "--no-requeue", "--output=/dev/null", "--error=/dev/null",
                "--export=PATH=/usr/local/bin:/usr/bin:/bin", f"--deadline={last:%Y-%m-%dT%H:%M:%S}", *options,
            )  # fmt: skip
        except SlurmUnavailableError as error:
            raise ClusterUnavailableError(str(error)) from error
        job_id = answer.out.strip().partition(";")[0]
        if answer.code or not is_job_id(job_id):
            raise BenchmarkRefusedError(shortened(answer.err.strip() or answer.out.strip()))
        return job_id

    def end(self, job_ids: Collection[str]) -> None:
        """As `BenchmarkPort` says."""
        for job_id in job_ids:
            try:
                self.runner.run("scancel", job_id)
            except SlurmUnavailableError as error:
                raise ClusterUnavailableError(str(error)) from error
