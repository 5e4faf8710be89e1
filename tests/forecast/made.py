"""Jobs with habits: a few users with programs of their own, whose limits say little."""

import random

from scheduler.forecast.facts import EndedJob, JobFacts

HABITS = {
    "ann": [("train-{n}", 86400, 4, 40000, 0.05), ("test-{n}", 3600, 1, 60, 0.3)],
    "bob": [("sweep", 14400, 1, 900, 0.1), ("sweep", 7200, 2, 3000, 0.1)],
    "eve": [("", 36000, 8, 7000, 0.8)],
}


def jobs(count: int, *, seed: int = 3, gap: float = 400, waits: bool = True) -> list[EndedJob]:
    """So many jobs in the order of submission."""
    chance = random.Random(seed)
    made, now = [], 0
    for number in range(count):
        now += int(chance.expovariate(1 / gap))
        user = chance.choice(sorted(HABITS))
        name, limit, nodes, usual, spread = chance.choice(HABITS[user])
        runtime = min(max(int(usual * chance.lognormvariate(0, spread)), 1), limit)
        facts = JobFacts(user, "lab", name.format(n=number), limit, nodes, 8 * nodes, 0, now)
        start = now + chance.randrange(600) if waits else None
        made.append(EndedJob(f"j{number}", facts, runtime, (start or now) + runtime, start))
    return made
