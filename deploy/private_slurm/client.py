"""Using a private Slurm: run its commands as any user, submit, wait, clear, fill."""

import os
import shlex
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from deploy.private_slurm import host
from deploy.private_slurm.errors import PrivateSlurmError
from deploy.private_slurm.releases import COMMANDS, Release
from deploy.private_slurm.users import GROUP

COMMAND_S = 180.0
WAIT_S = 180.0
CLEAR_S = 180.0
"""Seconds on a quiet machine, and a minute and more on one that is busy with a dozen others."""
CANCEL_AGAIN_S = 5.0
FIRST_PAUSE_S, PAUSE_S = 0.05, 0.3
"""Between two questions: soon at first. slurmctld starts jobs once a second at best."""
SLEEP = "#!/bin/sh\nexec sleep 86400\n"
_OTHERS_SETTINGS = ("SLURM", "SBATCH", "SALLOC", "SRUN", "SQUEUE", "SINFO", "SCANCEL", "SCONTROL")


class Client(ABC):
    """The commands of one Slurm; its heir says where the configuration and the users' folders are."""

    users: Sequence[str]

    @property
    @abstractmethod
    def conf(self) -> Path:
        """Path of slurm.conf."""

    @property
    @abstractmethod
    def work(self) -> Path:
        """A folder everybody may write in, with one per user."""

    @property
    def release(self) -> Release | None:
        """The release of Slurm that it is of; None for the one that is installed here."""
        return None

    @property
    def env(self) -> dict[str, str]:
        """What a client needs in its environment besides its own."""
        settings = {"SLURM_CONF": str(self.conf)}
        if self.release is None:
            return settings
        path = os.pathsep.join([self.release.search_path, host.search_path()])
        return {**settings, "PATH": path}

    @property
    def exports(self) -> str:
        """The same for a shell: `SLURM_CONF=… PATH=…:$PATH`."""
        settings = [f"SLURM_CONF={self.conf}"]
        if self.release is not None:
            settings.append(f"PATH={self.release.search_path}:$PATH")
        return " ".join(settings)

    def run(
        self,
        argv: Sequence[str],
        user: str | None = None,
        *,
        stdin: str = "",
        timeout_s: float = COMMAND_S,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command against this Slurm, really as `user` (else as we are), in the user's work folder."""
        if (
            not self.conf.exists()
        ):  # a client without its slurm.conf would look for one in the network, for long
            raise PrivateSlurmError(f"there is no {self.conf}: start the private Slurm first")
        done = subprocess.run(
            list(argv),
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=timeout_s,
            env=self._client_env(user),
            cwd=self.work / user if user else self.work,
            user=user,
            group=GROUP if user else None,
            extra_groups=[] if user else None,
            check=False,
        )
        if check and done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise PrivateSlurmError(f"{' '.join(argv)} failed with status {done.returncode}: {said}")
        return done

    def make_commands(self, folder: Path, user: str) -> dict[str, str]:
        """Makes a folder of Slurm's commands that run really as `user`, whoever calls them; returns the environment
        in which they are found first.

        For a process that needs root to start, and whose commands are to have another account's rights. Each takes
        the place of the caller's child, so that a signal to that reaches it.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = self.env.get("PATH") or host.search_path()
        for name in COMMANDS:
            if program := shutil.which(name, path=path):
                change = ["setpriv", f"--reuid={user}", f"--regid={GROUP}", "--init-groups", "--", program]
                command = folder / name
                command.write_text(f'#!/bin/sh\nexec {shlex.join(change)} "$@"\n')
                command.chmod(0o755)
        return {**self.env, "PATH": os.pathsep.join([str(folder), path])}

    def submit(self, user: str, *sbatch_args: str, script: str = SLEEP) -> int:
        """Submits a batch job as `user`, by default one that sleeps for a day; returns its id."""
        done = self.run(["sbatch", "--parsable", *sbatch_args], user, stdin=script)
        return int(done.stdout.strip().split(";")[0])

    def allocate(self, user: str, *salloc_args: str) -> int:
        """A running interactive job without any process; returns its id. Fails when there is no room now."""
        argv = ["salloc", "--no-shell", "--immediate", *salloc_args]
        said = self.run(argv, user).stderr
        return int(said.partition("Granted job allocation ")[2].split()[0])

    def squeue(self, fmt: str, *args: str) -> list[str]:
        """The lines of `squeue`, a line per array task, in a format like "%i %T"."""
        return self.run(["squeue", "--noheader", "-r", "-o", fmt, *args]).stdout.splitlines()

    def states(self) -> dict[str, str]:
        """Job id (array tasks as 41_2) and state of every job that has not ended."""
        return dict(line.split() for line in self.squeue("%i %T"))

    def wait_for_state(self, job: int | str, state: str, timeout_s: float = WAIT_S) -> None:
        """Waits until a job is in a state such as RUNNING; "" means that it has ended."""
        what = f"job {job} to be {state or 'gone'}"
        self.wait_until(lambda: self.states().get(str(job), "") == state, what, timeout_s)

    def wait_until(self, done: Callable[[], bool], what: str, timeout_s: float = WAIT_S) -> None:
        """Waits until `done()`; after `timeout_s` an error that shows the queue."""
        until, pause = time.monotonic() + timeout_s, FIRST_PAUSE_S
        while not done():
            if time.monotonic() > until:
                queue = "\n".join(self.squeue("    %i %u %j %P %T %r %N")) or "    empty"
                raise PrivateSlurmError(f"waited {timeout_s:.0f} s in vain for {what}; the queue:\n{queue}")
            time.sleep(pause)
            pause = min(pause * 1.3, PAUSE_S)

    def clear(self) -> None:
        """Cancels every job, waits until none is left; no reservations, nodes idle, partitions up."""
        self._cancel_all()
        for line in self._reservations():
            # Refused for one that has ended meanwhile; whether none is left is what counts.
            self.run(["scontrol", "delete", line.split()[0]], check=False)
        self.wait_until(lambda: not self._reservations(), "all reservations to be gone", CLEAR_S)
        for name, availability in self._sinfo("%R %a"):
            if availability != "up":
                self.run(["scontrol", "update", f"PartitionName={name}", "State=UP"])
        for node, state in self._sinfo("%N %T"):
            if state.rstrip("~") != "idle":
                # Refused for a node that needs no resuming; whether all are idle is what counts, below.
                self.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"], check=False)
        self.wait_until(self._all_idle, "all nodes to be idle", CLEAR_S)

    def fill(self, count: int, *salloc_args: str, at_once: int = 8, timeout_s: float = 900.0) -> None:
        """Makes `count` running one-CPU jobs without processes, shared out among the users; to measure."""
        salloc = ["salloc", "-Q", "--no-shell", "-n1", "-c1", "--mem=1", *salloc_args]
        for number, user in enumerate(self.users):
            names = "\n".join(f"fill{job}" for job in range(number, count, len(self.users)))
            argv = ["xargs", f"-P{at_once}", "-I{}", *salloc, "--job-name={}"]
            self.run(argv, user, stdin=names, timeout_s=timeout_s)

    def _cancel_all(self) -> None:
        """Again after a while: somebody's submission may have been on its way, or a requeue in the middle."""
        due = 0.0

        def none_is_left() -> bool:
            nonlocal due
            users = set(self.squeue("%u"))
            if users and time.monotonic() >= due:
                for user in users:
                    self.run(["scancel", "--user", user])
                due = time.monotonic() + CANCEL_AGAIN_S
            return not users

        self.wait_until(none_is_left, "all jobs to be gone", CLEAR_S)

    def _reservations(self) -> list[str]:
        shown = self.run(["scontrol", "--oneliner", "show", "reservations"]).stdout.splitlines()
        return [line for line in shown if line.startswith("ReservationName=")]

    def _sinfo(self, fmt: str) -> set[tuple[str, ...]]:
        lines = self.run(["sinfo", "--noheader", "-N", "-o", fmt]).stdout.splitlines()
        return {tuple(line.split()) for line in lines}

    def _all_idle(self) -> bool:
        # `idle~`: a cloud node that nobody has started.
        return {state.rstrip("~") for (state,) in self._sinfo("%T")} == {"idle"}

    def _client_env(self, user: str | None) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_OTHERS_SETTINGS)}
        kept["PATH"] = host.search_path()
        if user:
            kept |= {"USER": user, "LOGNAME": user, "HOME": str(self.work / user)}
        return kept | self.env
