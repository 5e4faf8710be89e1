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


LIMITS = (900, 3600, 4 * 3600, 12 * 3600, 86400)


def workload(count: int, seed: int) -> list[EndedJob]:
    """Jobs as Lublin and Feitelson's model has them: sizes of powers of two, run times of two kinds (gamma of their
    logarithms), by night fewer. Users come and go, stay with a program for a while, and one run in ten fails at once.
    """
    chance = random.Random(seed)
    programs = [_program(chance) for _ in range(60)]
    made: list[EndedJob] = []
    now, user = 0, 0
    for number in range(count):
        asleep = 4 if (now // 3600) % 24 < 8 else 1
        now += int(chance.expovariate(1 / 200)) * asleep
        if chance.random() < 0.2:
            user = min(int(chance.expovariate(1 / 4)), 11) + 8 * number // count
        program = user * 3 + (now // 40_000) % 3
        nodes, usual, spread, limit = programs[program]
        runtime = (
            chance.randrange(5, 40) if chance.random() < 0.1 else usual * chance.lognormvariate(0, spread)
        )
        facts = JobFacts(f"u{user}", "", "", limit, nodes, 16 * nodes, None, now)
        start = now + chance.choice((0, 0, 0, chance.randrange(1, 1800)))
        length = min(max(int(runtime), 1), limit)
        made.append(EndedJob(f"{number}", facts, length, start + length, start))
    return made


def _program(chance: random.Random) -> tuple[int, float, float, int]:
    """Nodes, usual run time, spread of its logarithm, and the limit that is asked for."""
    logarithm = chance.gammavariate(4.2, 0.94) if chance.random() < 0.4 else chance.gammavariate(312, 0.03)
    usual = min(2.718**logarithm, 60_000.0)
    fitting = [limit for limit in LIMITS if limit >= usual]
    return 2 ** chance.randrange(7), usual, chance.choice((0.05, 0.3, 0.9)), chance.choice(fitting)
