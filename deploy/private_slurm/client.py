"""Using a private Slurm from tests and demonstrations: run its commands as any user, submit, wait, clear, fill."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from . import host
from .errors import PrivateSlurmError

COMMAND_S = 30.0
CLEAR_S = 30.0
SLEEP = "#!/bin/sh\nexec sleep 100000\n"


class Client:
    """The commands of one Slurm. Its heir says where the configuration and the users' folders are."""

    users: Sequence[str]

    @property
    def conf(self) -> Path:
        raise NotImplementedError

    @property
    def work(self) -> Path:
        raise NotImplementedError

    @property
    def env(self) -> dict[str, str]:
        """What a client needs in its environment besides its own."""
        return {"SLURM_CONF": str(self.conf), "SBATCH_OUTPUT": str(self.work / "%u" / "%x-%j.out")}

    def run(
        self,
        argv: Sequence[str],
        user: str | None = None,
        *,
        stdin: str = "",
        timeout_s: float = COMMAND_S,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command against this Slurm, really as `user` (default: as we are), from the user's work folder."""
        done = subprocess.run(
            list(argv),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=self._client_env(user),
            cwd=self.work / user if user else self.work,
            user=user,
            group="users" if user else None,
            extra_groups=[] if user else None,
            check=False,
        )
        if check and done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise PrivateSlurmError(f"{' '.join(argv)} failed with status {done.returncode}: {said}")
        return done

    def submit(self, user: str, *sbatch_args: str, script: str = SLEEP) -> int:
        """Submits a batch job as `user` and returns its id. Without `script` it sleeps for a day."""
        done = self.run(["sbatch", "--parsable", *sbatch_args], user, stdin=script)
        return int(done.stdout.strip().split(";")[0])

    def squeue(self, fmt: str, *args: str) -> list[str]:
        """The lines of `squeue` in a format."""
        return self.run(["squeue", "--noheader", "-r", "-o", fmt, *args]).stdout.splitlines()

    def states(self) -> dict[str, str]:
        """Job id (array tasks as 41_2) and state of every job that has not ended."""
        return dict((line.split("|")[0], line.split("|")[1]) for line in self.squeue("%i|%T"))

    def wait_for_state(self, job: int | str, state: str, timeout_s: float = 20.0) -> None:
        """Waits until a job is in a state, e.g. RUNNING; a missing job counts as ended, state "" ."""
        self.wait_until(lambda: self.states().get(str(job), "") == state, f"job {job} to be {state or 'gone'}", timeout_s)

    def wait_until(self, done: Callable[[], bool], what: str, timeout_s: float = 20.0) -> None:
        until = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > until:
                queue = "\n".join(self.squeue("    %i %u %j %P %T %r %N"))
                raise PrivateSlurmError(f"waited {timeout_s:.0f} s in vain for {what}; the queue is\n{queue or '    empty'}")
            time.sleep(0.05)

    def clear(self) -> None:
        """Cancels every job, waits until none is left, and puts every node and partition back to work."""
        for user in {line for line in self.squeue("%u")}:
            self.run(["scancel", "--user", user])
        self.wait_until(lambda: not self.squeue("%i"), "all jobs to be gone", CLEAR_S)
        for line in self.run(["sinfo", "--noheader", "-N", "-o", "%N %T"]).stdout.splitlines():
            node, state = line.split()
            if state != "idle":
                self._wake(node)
        self.wait_until(self._all_idle, "all nodes to be idle", CLEAR_S)

    def _wake(self, node: str) -> None:
        # "resume" is refused for a node that has become idle meanwhile or is not drained or down; waiting decides.
        self.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"], check=False)

    def _all_idle(self) -> bool:
        return set(self.run(["sinfo", "--noheader", "-N", "-o", "%T"]).stdout.split()) == {"idle"}

    def fill(self, count: int, *salloc_args: str, at_once: int = 8, timeout_s: float = 600.0) -> None:
        """Makes `count` running one-CPU jobs without processes, shared out among the users; for measurements."""
        salloc = ["salloc", "-Q", "--no-shell", "-n1", "-c1", "--mem=1", *salloc_args]
        shares = [count // len(self.users) + (number < count % len(self.users)) for number in range(len(self.users))]
        for user, share in zip(self.users, shares, strict=True):
            names = "\n".join(f"fill{number}" for number in range(share))
            argv = ["xargs", f"-P{at_once}", "-I{}", *salloc, "--job-name={}"]
            self.run(argv, user, stdin=names, timeout_s=timeout_s)

    def _client_env(self, user: str | None) -> dict[str, str]:
        own: Mapping[str, str] = os.environ
        clean = {key: value for key, value in own.items() if not key.startswith(("SLURM", "SBATCH", "SALLOC", "SQUEUE"))}
        clean["PATH"] = host.search_path()
        if user:
            clean |= {"USER": user, "LOGNAME": user, "HOME": str(self.work / user)}
        return clean | self.env
