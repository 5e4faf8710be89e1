"""Slurm: are its commands there, does slurmctld answer, what may this account do, is its clock ours."""

import re
from collections.abc import Iterator

from console.health.doctor.findings import Finding, fail, ok, warn
from scheduler.model.checkup import Checkup

OLDEST = (22, 5)
TRIED = ("22.05", "24.11", "26.05")
"""The releases of docs/slurm-versions.md."""
CLOCK_S = 5


def check_commands(slurm: Checkup) -> Iterator[Finding]:
    """On PATH, and of a version that slurmctld understands."""
    missing = [name for name, path in slurm.programs.items() if not path]
    if missing:
        yield fail(
            "commands",
            f"Not on PATH: {', '.join(missing)}.",
            "Install Slurm's client commands here, and put their folder on the worker's PATH.",
        )
        return
    client, server = _release(slurm.client), _release(slurm.words.get("SLURM_VERSION", ""))
    if client and client < OLDEST:
        yield fail("commands", f"Slurm {slurm.client} is too old.", "Install Slurm 22.05 or later.")
    elif client and server and client > server:
        yield fail(
            "commands",
            f"The commands are newer ({slurm.client}) than slurmctld ({slurm.words['SLURM_VERSION']}), "
            "which does not understand them.",
            "Install the commands of slurmctld's release.",
        )
    elif client and server and client < server:
        yield warn(
            "commands",
            f"The commands are older ({slurm.client}) than slurmctld ({slurm.words['SLURM_VERSION']}).",
            "Bring them to the same release at the next occasion; two releases apart is the most that Slurm allows.",
        )
    else:
        where = slurm.programs.get("scontrol", "")
        found = (
            f"Slurm {slurm.client}, {where}." if slurm.client else f"Slurm of an unknown version, {where}."
        )
        yield ok("commands", found)


def check_tried(slurm: Checkup) -> Iterator[Finding]:
    """slurmctld is of a release that Giveway was tried with."""
    version = slurm.words.get("SLURM_VERSION", "")
    if version and not any(version.startswith(f"{release}.") for release in TRIED):
        yield warn(
            "slurmctld",
            f"Giveway was not tried with Slurm {version}, but with {', '.join(TRIED)}.",
            "Look at its plans in shadow for some days before you let it stop jobs (docs/slurm-versions.md).",
        )


def check_answers(slurm: Checkup) -> Iterator[Finding]:
    """slurmctld answers."""
    if slurm.fault:
        yield fail(
            "slurmctld",
            f"It cannot be asked: {slurm.fault}.",
            "Try `scontrol ping` as the worker's account; see SLURM_CONF, munge and the network.",
        )
    else:
        host = slurm.words.get("SlurmctldHost[0]", "slurmctld")
        yield ok("slurmctld", f"{host} answers for cluster {slurm.words.get('ClusterName', '')}.")


def check_rights(slurm: Checkup) -> Iterator[Finding]:
    """Stopping other people's jobs takes an operator. Slurm is asked, for slurmdbd's administrators are not in its
    configuration."""
    if not slurm.words:
        return
    owner = slurm.words.get("SlurmUser", "unknown")
    who = f"{slurm.account} (SlurmUser is {owner})"
    if slurm.operator:
        yield ok("rights", f"slurmctld lets {who} change other people's jobs.")
    elif slurm.operator is None:
        yield warn(
            "rights",
            f"slurmctld's answer does not tell what {who} may do: {slurm.refusal or 'nothing'}",
            "Try `scontrol hold` on somebody's waiting job, and release it again.",
        )
    else:
        yield fail(
            "rights",
            f"slurmctld does not let {who} change other people's jobs: {slurm.refusal}",
            "Run the worker as SlurmUser, or: sacctmgr modify user <it> set adminlevel=operator",
        )
    hidden = {word.strip() for word in slurm.words.get("PrivateData", "").lower().split(",")}
    if "jobs" in hidden and not slurm.operator:
        yield fail(
            "rights",
            "PrivateData=jobs hides other people's jobs from this account: full nodes look empty.",
            "Give the account the operator's rights (above), which see everything.",
        )


def check_clock(slurm: Checkup) -> Iterator[Finding]:
    """slurmctld's clock is ours, more or less. Giveway counts by slurmctld's, and only warns."""
    if not slurm.words:
        return
    if abs(slurm.skew_s) > CLOCK_S:
        apart = (
            f"slurmctld's clock is {slurm.skew_s} s ahead of this machine's."
            if slurm.skew_s > 0
            else f"slurmctld's clock is {-slurm.skew_s} s behind this machine's."
        )
        yield warn(
            "clocks",
            apart,
            "Let both keep their time by NTP (chrony).",
        )
    else:
        yield ok("clocks", "slurmctld's clock is this machine's.")


def _release(version: str) -> tuple[int, int] | None:
    """`22.05.8` is (22, 5)."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None
