"""Jobs that are kept from one snapshot to the next: every snapshot is what it would be without them."""

import random
from dataclasses import replace

from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.policy import NotRequeueable, PartitionPolicy
from scheduler.priority.derive import Deriver, deriver_for
from scheduler.reconcile.build import KnownJobs, snapshot_for
from tests.builders import NOW, node, observation, observed, one_node, policy, project

PROJECTS = [project("alpha", ("ann", "bob"))]
POLICIES = [
    policy(),
    policy(not_requeueable=NotRequeueable.CANCEL, cancel_notice_s=3),
    policy(not_requeueable=NotRequeueable.CANCEL, cancel_notice_s=3, protected_users=("bob",)),
]


def some_job(chance: random.Random, number: int) -> ObservedJob:
    job = observed(str(number), name=f"p{chance.randrange(3)}_x", user=chance.choice(("ann", "bob", "cy")))
    if chance.random() < 0.5:
        eligible = NOW + chance.randrange(8) if chance.random() < 0.5 else None
        return replace(job, request=one_node(), eligible=eligible, held=chance.random() < 0.2)
    requeue = chance.random() < 0.6
    return replace(
        job,
        state=chance.choice((JobState.RUNNING, JobState.RUNNING, JobState.COMPLETING)),
        start=NOW - 60,
        request=None,
        alloc={f"n{chance.randrange(3)}": {"cpu": 1}},
        requeue=requeue,
        no_requeue_since=None if requeue else NOW + chance.randrange(3),
        partitions=(chance.choice(("x", "x", "x", "y")),),
    )


def changed(chance: random.Random, jobs: dict[int, ObservedJob]) -> None:
    """Some jobs are others now, some are told anew and the same, some are gone, some have come."""
    for number in chance.sample(range(12), 4):
        match chance.randrange(3):
            case 0:
                jobs[number] = some_job(chance, number)
            case 1:
                jobs.pop(number, None)
            case _ if number in jobs:
                jobs[number] = replace(jobs[number])


def test_every_snapshot_of_a_random_history_is_what_it_would_be_alone() -> None:
    again = 0
    for seed in range(60):
        chance, known, last = random.Random(seed), KnownJobs(), None
        jobs = {number: some_job(chance, number) for number in range(12)}
        rules, now = POLICIES[seed % 3], NOW
        stops: dict[str, int] = {}
        before: set[int] = set()
        for _ in range(12):
            rules, now, stops = next_moment(chance, rules, now, stops)
            places = [node(f"n{i}") for i in range(3 if chance.random() < 0.9 else 2)]
            seen = replace(observation(list(jobs.values()), places), taken_at=now)
            last = deriver_for(rules, PROJECTS, now, last)
            kept = snapshot_for(seen, rules, PROJECTS, preemptions=stops, deriver=last, known=known)
            alone = snapshot_for(
                seen, rules, PROJECTS, preemptions=stops, deriver=Deriver(rules, PROJECTS, now)
            )
            assert kept == alone
            again += sum(id(job) in before for job in kept.snapshot.jobs)
            before = {id(job) for job in kept.snapshot.jobs}
            changed(chance, jobs)
    assert again > 500, "most jobs are not made again"


def next_moment(
    chance: random.Random, rules: PartitionPolicy, now: int, stops: dict[str, int]
) -> tuple[PartitionPolicy, int, dict[str, int]]:
    """A second later, or now and then earlier; sometimes with another policy, or one more stop."""
    if chance.random() < 0.1:
        rules = chance.choice(POLICIES)
    if chance.random() < 0.2:
        stops = {**stops, str(chance.randrange(12)): chance.randrange(4)}
    return rules, now + chance.choice((0, 1, 1, 2, -3)), stops
