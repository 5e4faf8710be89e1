"""A look at the Slurm installation itself: programs, versions, configuration, clock, and what this account may do.

Nothing is changed. What the account may do is asked by changing nothing of a reservation that does not exist: slurmctld
looks at the rights before it looks for the reservation, and they are the same ones that stopping other people's jobs
takes (operator: root, SlurmUser, or AdminLevel=Operator in slurmdbd). A hold on a job that does not exist would not do:
there it looks for the job first (seen on 22.05.8).
"""

import os
import pwd
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace

from scheduler.adapters.slurm import config as configs
from scheduler.adapters.slurm import reservations, resizing, values
from scheduler.adapters.slurm.commands import CommandRunner, clean_environment
from scheduler.adapters.slurm.errors import (
    SlurmUnavailableError,
    not_understood,
    shortened,
)
from scheduler.adapters.slurm.nodes import records
from scheduler.adapters.slurm.requests import own_limit
from scheduler.model.checkup import Checkup
from scheduler.model.observation import KeptNodes

PROGRAMS = ("squeue", "scontrol", "scancel")
NOBODY = "ReservationName=giveway-doctor"
"""A reservation that does not exist."""
_VERSION = re.compile(r"\d+\.\d+[\w.-]*")
_NOT_THERE = "reservation is invalid"
_NOT_ALLOWED = ("invalid user id", "access/permission denied")


def look(
    env: Mapping[str, str] | None = None, timeout_s: float = 20.0, runner: CommandRunner | None = None
) -> Checkup:
    """Ask everything there is to ask; never raises for what Slurm answers."""
    runner = runner or CommandRunner(dict(os.environ if env is None else env), timeout_s)
    path = clean_environment(runner.env)["PATH"]
    found = Checkup(_account(), {name: shutil.which(name, path=path) or "" for name in PROGRAMS})
    if not all(found.programs.values()):
        return replace(found, fault="Slurm's commands are not all there")
    try:
        found = replace(found, client=_client(runner))
        found = _configuration(runner, found)
        found = replace(found, partitions=_partitions(runner), kept=_kept(runner))
        return _rights(runner, found)
    except SlurmUnavailableError as error:
        return replace(found, fault=str(error))
    except Exception as error:  # noqa: BLE001 - an answer that no decoder had foreseen
        return replace(found, fault=str(not_understood("Slurm's answer", error)))


def _account() -> str:
    uid = os.geteuid()
    try:
        return f"{pwd.getpwuid(uid).pw_name}({uid})"
    except KeyError:
        return f"({uid})"


def _client(runner: CommandRunner) -> str:
    match = _VERSION.search(runner.run("squeue", "--version").out)
    return match[0] if match else ""


def _configuration(runner: CommandRunner, found: Checkup) -> Checkup:
    before = time.time()
    out = runner.ask("scontrol", "--all", "show", "config")
    asked = (before, time.time())
    try:
        taken = values.moment(configs.taken_word(out))
        config = configs.decode(out, asked, taken)
    except ValueError as error:
        raise SlurmUnavailableError(f"scontrol's configuration does not decode: {error}") from error
    limit = own_limit(config.facts or {})
    runner.limit = limit
    return replace(
        found,
        words=configs.words_of(out),
        skew_s=config.skew_s,
        resizing=resizing.ways(config),
        burst=limit.burst,
        per_minute=limit.per_minute,
    )


def _partitions(runner: CommandRunner) -> dict[str, dict[str, str]]:
    out = runner.ask("scontrol", "--oneliner", "--all", "show", "partitions")
    try:
        fields = [dict(re.findall(r"(\w+)=(\S*)", record)) for record in records(out, "PartitionName")]
    except ValueError as error:
        raise SlurmUnavailableError(f"scontrol's partitions do not decode: {error}") from error
    return {one["PartitionName"]: one for one in fields}


def _kept(runner: CommandRunner) -> tuple[KeptNodes, ...]:
    """What is kept under our name now; one that has ended is none."""
    now = int(time.time())
    out = runner.ask("scontrol", "--oneliner", "--all", "show", "reservations")
    try:
        told = records(out, "ReservationName")
    except ValueError as error:
        raise SlurmUnavailableError(f"scontrol's reservations do not decode: {error}") from error
    return reservations.kept_by_us([reservations.decode(record) for record in told], (), now)


def _rights(runner: CommandRunner, found: Checkup) -> Checkup:
    said = shortened(runner.run("scontrol", "update", NOBODY).err)
    lowered = said.lower()
    if _NOT_THERE in lowered:
        return replace(found, operator=True)
    allowed = False if any(words in lowered for words in _NOT_ALLOWED) else None
    return replace(found, operator=allowed, refusal=said)
