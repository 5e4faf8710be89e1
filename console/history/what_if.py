"""What would a change do now? The last look at the cluster, decided as it is and as it would be, compared.

Nothing is saved, and the cluster is not asked: what was seen at most a minute ago is in the record. What is under way,
refused, rejected or paused is heeded on both sides as the next cycle would heed it.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from console.cluster.models import Cluster
from console.history.changes import HypotheticalChange
from console.history.models import LatestObservation
from console.history.recording import unpacked
from console.steering.backoff import foresee
from console.steering.deciding import Verdicts, decide_all, open_plans
from console.steering.facts import Facts, gather, partition_policies
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from scheduler.reconcile.compare import Comparison, DecidedSide, compare

BUDGET_S = 8.0
"""After so long no further partition is begun. A plan for 11,000 jobs takes about a second."""
MOST_JOBS = 40_000
PATIENCE_S = 5.0
"""How long somebody waits for another person's answer to be computed: they share one processor with all pages."""

_one_at_a_time = threading.Lock()


class NotNowError(Exception):
    """It cannot be said now, for a reason in words."""


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """What would change, partition by partition. `at`: when the facts were seen. `left`: partitions for which there was
    no time; `jobs`: how many jobs the facts have."""

    at: datetime
    jobs: int
    partitions: tuple[Comparison, ...]
    left: tuple[str, ...] = ()

    @property
    def touched(self) -> list[Comparison]:
        """The partitions in which something changes."""
        return [each for each in self.partitions if not each.nothing]


def what_if(cluster: Cluster, change: HypotheticalChange) -> WhatIfAnswer:
    """What a change would do now. Raises `NotNowError`."""
    with alone():
        until = time.monotonic() + BUDGET_S
        look = latest_look(cluster)
        observation = unpacked(bytes(look.body))
        facts = gather(cluster, open_plans(cluster), partition_policies(cluster))
        facts = replace(facts, foresight=foresee(cluster, change.policies_beside(facts.policies)))
        compared: list[Comparison] = []
        left: list[str] = []
        for group in neighbourhoods(observation, touched(observation, facts, change)):
            if time.monotonic() < until:
                compared += _compare(observation, facts, change, group)
            else:
                left += sorted(group)
        compared.sort(key=lambda each: each.partition)
        return WhatIfAnswer(look.at, look.jobs, tuple(compared), tuple(left))


@contextmanager
def alone() -> Iterator[None]:
    """One answer at a time in this process. Raises `NotNowError`."""
    if not _one_at_a_time.acquire(timeout=PATIENCE_S):
        raise NotNowError(_("The console is computing another such answer. Ask again in a moment."))
    try:
        yield
    finally:
        _one_at_a_time.release()


def latest_look(cluster: Cluster) -> LatestObservation:
    """The last look at the cluster. Raises `NotNowError`."""
    look = LatestObservation.objects.filter(cluster=cluster).first()
    if look is None:
        raise NotNowError(_("The cluster has not been seen yet. It can be said after the first cycle."))
    if look.jobs > MOST_JOBS:
        raise NotNowError(
            _("With more than %(most)d jobs this takes too long for a page.") % {"most": MOST_JOBS}
        )
    return look


def touched(observation: Observation, facts: Facts, change: HypotheticalChange) -> frozenset[str]:
    """The partitions that a change is about: those whose policy differs, and those with jobs of people of projects that
    differ."""
    policies = {
        name
        for name, policy in change.policies.items()
        if name in facts.partitions and facts.partitions[name].policy != policy
    }
    before = {project.code: project for project in facts.projects}
    people: set[str] = set()
    for code, project in change.projects.items():
        if before.get(code) != project:
            people |= project.members | (before[code].members if code in before else frozenset())
    theirs = {name for job in observation.jobs if job.user in people for name in job.partitions}
    return frozenset(policies | theirs)


def neighbourhoods(observation: Observation, names: frozenset[str]) -> list[frozenset[str]]:
    """The partitions `names` with those that they share nodes or waiting jobs with: each group is decided together."""
    groups: dict[str, set[str]] = {partition.name: {partition.name} for partition in observation.partitions}

    def join(together: list[str]) -> None:
        known = [name for name in together if name in groups]
        merged = set().union(*(groups[name] for name in known))
        for name in merged:
            groups[name] = merged

    homes: dict[str, list[str]] = {}
    for partition in observation.partitions:
        for node in partition.nodes:
            homes.setdefault(node, []).append(partition.name)
    several = {tuple(job.partitions) for job in observation.jobs if job.state is JobState.PENDING}
    for together in {*map(tuple, homes.values()), *several}:
        join(list(together))
    wanted = {frozenset(groups[name]) for name in names if name in groups}
    return sorted(wanted, key=sorted)


def _compare(
    observation: Observation, facts: Facts, change: HypotheticalChange, group: frozenset[str]
) -> Iterator[Comparison]:
    before = decided(observation, facts, HypotheticalChange(), group)
    after = decided(observation, facts, change, group)
    for name, verdicts in before.items():
        yield compare(side_of(verdicts), side_of(after[name]))


def decided(
    observation: Observation, facts: Facts, change: HypotheticalChange, group: frozenset[str]
) -> dict[str, Verdicts]:
    """The partitions of a group, decided as the next cycle would with this change."""
    partitions = {
        name: replace(each, policy=change.policies.get(name, each.policy))
        for name, each in facts.partitions.items()
        if name in group
    }
    changed = replace(facts, partitions=partitions, projects=change.changed(facts.projects))
    return {verdicts.facts.row.name: verdicts for verdicts in decide_all(observation, changed)}


def side_of(verdicts: Verdicts) -> DecidedSide:
    """A partition's verdicts as one side of a comparison."""
    return DecidedSide(verdicts.facts.policy, verdicts.snapshot, verdicts.standings, verdicts.decisions)
