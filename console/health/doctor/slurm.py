"""Slurm: are its commands there, does slurmctld answer, what may this account do, is its clock ours."""

import re
from collections.abc import Collection, Iterator

from django.conf import settings

from console.health.doctor.findings import Finding, counted, fail, ok, warn
from scheduler.model.checkup import Checkup
from scheduler.model.observation import Resizing
from scheduler.model.sentence import Listed, say, told

OLDEST = (22, 5)
TRIED = ("22.05", "24.11", "26.05")
"""The releases of docs/slurm-versions.md."""
CLOCK_S = 5
NOBODY = "nobody"
"""So Slurm's commands call every user whose number this machine has no name for (tried on 22.05.8)."""


def check_commands(slurm: Checkup) -> Iterator[Finding]:
    """On PATH, and of a version that slurmctld understands."""
    missing = [name for name, path in slurm.programs.items() if not path]
    if missing:
        yield fail("commands", "doctor.commands.missing", names=Listed(missing))
        return
    client, server = _release(slurm.client), _release(slurm.words.get("SLURM_VERSION", ""))
    if client and client < OLDEST:
        yield fail("commands", "doctor.commands.old", version=slurm.client)
    elif client and server and client > server:
        yield fail(
            "commands", "doctor.commands.newer", version=slurm.client, other=slurm.words["SLURM_VERSION"]
        )
    elif client and server and client < server:
        yield warn(
            "commands", "doctor.commands.older", version=slurm.client, other=slurm.words["SLURM_VERSION"]
        )
    else:
        where = slurm.programs.get("scontrol", "")
        if slurm.client:
            yield ok("commands", "doctor.commands.found", version=slurm.client, path=where)
        else:
            yield ok("commands", "doctor.commands.unknown", path=where)


def check_tried(slurm: Checkup) -> Iterator[Finding]:
    """slurmctld is of a release that Giveway was tried with."""
    version = slurm.words.get("SLURM_VERSION", "")
    if version and not any(version.startswith(f"{release}.") for release in TRIED):
        yield warn("slurmctld", "doctor.slurm.untried", version=version, releases=Listed(TRIED))


def check_answers(slurm: Checkup) -> Iterator[Finding]:
    """slurmctld answers."""
    if slurm.fault:
        yield fail("slurmctld", "doctor.slurm.away", why=told(slurm.fault))
    else:
        host = slurm.words.get("SlurmctldHost[0]", "slurmctld")
        yield ok("slurmctld", "doctor.slurm.answers", name=host, cluster=slurm.words.get("ClusterName", ""))


def check_rights(slurm: Checkup) -> Iterator[Finding]:
    """Stopping other people's jobs takes an operator. Slurm is asked, for slurmdbd's administrators are not in its
    configuration."""
    if not slurm.words:
        return
    owner = slurm.words.get("SlurmUser", "unknown")
    who = say("doctor.rights.who", name=slurm.account, user=owner)
    if slurm.operator:
        yield ok("rights", "doctor.rights.granted", who=who)
    elif slurm.operator is None:
        code = "doctor.rights.untold" if slurm.refusal else "doctor.rights.untold.nothing"
        yield warn("rights", code, who=who, why=told(slurm.refusal))
    else:
        yield fail("rights", "doctor.rights.refused", who=who, said=slurm.refusal)
    hidden = {word.strip() for word in slurm.words.get("PrivateData", "").lower().split(",")}
    if "jobs" in hidden and not slurm.operator:
        yield fail("rights", "doctor.rights.hidden")


def check_rate_limit(slurm: Checkup) -> Iterator[Finding]:
    """What `rl_enable` means for this account. root and SlurmUser are never limited."""
    if not slurm.words:
        return
    if slurm.per_minute:
        budget = int(settings.GIVEWAY_SLURM_REQUESTS_PER_MINUTE)
        code = "doctor.requests.few" if slurm.per_minute < budget else "doctor.requests.enough"
        find = warn if slurm.per_minute < budget else ok
        yield find(
            "requests", code, n=round(slurm.per_minute), burst=slurm.burst, who=slurm.account, most=budget
        )
    else:
        yield ok("requests", "doctor.requests.unlimited", who=slurm.account)


def check_clock(slurm: Checkup) -> Iterator[Finding]:
    """slurmctld's clock is ours, more or less. Giveway counts by slurmctld's, and only warns."""
    if not slurm.words:
        return
    if abs(slurm.skew_s) > CLOCK_S:
        code = "doctor.clocks.ahead" if slurm.skew_s > 0 else "doctor.clocks.behind"
        yield warn("clocks", code, n=abs(slurm.skew_s))
    else:
        yield ok("clocks", "doctor.clocks.slurmctld")


def check_resizing(slurm: Checkup) -> Iterator[Finding]:
    """How elastic jobs of several nodes can give some back. Nothing of it is wrong: tasks of arrays go everywhere."""
    version = slurm.words.get("SLURM_VERSION", "")
    if Resizing.IN_PLACE_ONCE in slurm.resizing:
        yield ok("elastic jobs", "doctor.resizing.once", version=version)
    elif Resizing.IN_PLACE in slurm.resizing:
        yield ok("elastic jobs", "doctor.resizing.in_place")
    elif slurm.resizing:
        yield ok("elastic jobs", "doctor.resizing.restart")
    elif slurm.words:
        yield ok("elastic jobs", "doctor.resizing.none", version=version)


def check_kept(slurm: Checkup, asked: Collection[str]) -> Iterator[Finding]:
    """Whether every reservation under our name is one that is asked for; `asked`: the jobs that nodes are kept for."""
    stranded = [kept.job_id for kept in slurm.kept if kept.job_id not in asked]
    if stranded:
        yield warn("kept nodes", counted("doctor.kept.stranded", len(stranded)), names=Listed(stranded))
    elif slurm.words:
        yield ok("kept nodes", "doctor.kept.asked")


def users_by_name(nobodys: int) -> Iterator[Finding]:
    """Whether this machine knows the users of the cluster's jobs; `nobodys`: jobs of users that it does not know."""
    if nobodys:
        yield warn("commands", "doctor.slurm.nobody", n=nobodys)


def _release(version: str) -> tuple[int, int] | None:
    """`22.05.8` is (22, 5)."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None
