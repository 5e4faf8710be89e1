"""The cluster's own record of what happens to its jobs, kept beside its file when somebody asks for it."""

import json
from pathlib import Path

from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.stored import StoredSimulator
from scheduler.model.actions import Action, ActionKind
from scheduler.model.jobs import Request


def test_what_happens_is_written_down_with_the_run_it_happened_to(tmp_path: Path) -> None:
    now = 1_700_000_000.0
    port = StoredSimulator(tmp_path / "sim.json", "empty", clock=lambda: now)
    port.record_path.touch()
    job = port.submit(JobSpec("work", "ann", Request(nodes=1, per_node={"cpu": 1})))
    now += 2
    run = next(seen.run for seen in port.observe().jobs)

    for _ in range(2):  # the second one finds that run over and touches nothing
        port.apply([Action(ActionKind.REQUEUE_HOLD, run)])
    now += 2
    port.apply([Action(ActionKind.RELEASE, run)])

    lines = [json.loads(line) for line in port.record_path.read_text().splitlines()]
    assert [(line["what"], line["job"], line["restarts"]) for line in lines] == [
        ("started", job, 0),
        ("stopped", job, 0),
        ("held", job, 1),
        ("released", job, 1),
    ]
    assert lines[1]["start"] == run.start


def test_no_record_is_kept_unless_somebody_asks_for_it(tmp_path: Path) -> None:
    port = StoredSimulator(tmp_path / "sim.json", "empty")
    port.submit(JobSpec("work", "ann", Request(nodes=1, per_node={"cpu": 1})))
    port.observe()
    assert not port.record_path.exists()
