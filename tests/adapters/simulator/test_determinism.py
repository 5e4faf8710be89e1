"""Same seed, same calls: the same observations, byte for byte, in every process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = """
import dataclasses, hashlib, json, sys
from scheduler.adapters.simulator.scenarios import scenario
from scheduler.model.actions import Action, ActionKind

sim = scenario("demo").build(1_700_000_000, int(sys.argv[1]))
digest = hashlib.sha256()
for step in range(200):
    sim.advance(7)
    seen = sim.observe()
    text = json.dumps(dataclasses.asdict(seen), default=sorted)
    digest.update(text.encode())
    running = [job for job in seen.jobs if job.start and "demo" in job.partitions]
    pending = [job for job in seen.jobs if not job.start]
    outcomes = sim.apply(
        [Action(ActionKind.SIGNAL, running[step % len(running)].run, value="USR1"),
         Action(ActionKind.REQUEUE_HOLD, running[step % len(running)].run)]
        + [Action(ActionKind.RELEASE, job.run) for job in pending if job.held]
    )
    digest.update(repr(outcomes).encode())
print(digest.hexdigest())
"""


def _history(seed: int, hash_seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout.strip()


def test_a_history_depends_on_its_seed_and_on_nothing_else() -> None:
    first = _history(7, "1")

    assert len(first) == 64
    assert _history(7, "2") == first
    assert _history(8, "1") != first
