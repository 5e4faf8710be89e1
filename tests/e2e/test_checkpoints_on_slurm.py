"""On a real Slurm: jobs save when they are asked, are stopped at once, and go on from there; undone plans, too."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from console.cluster.models import Job
from console.core import failpoints
from console.steering.checkpoints import make_token
from console.steering.models import Checkpoint, Plan, PlannedAction
from scheduler.model.line import LAST_OF_FRONT
from tests.e2e.slurm_driver import READY, Driver

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

EXAMPLES = Path(__file__).parents[2] / "examples"
LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
OVERRIDES = {"ann": "P3", "cy": "P0"}
WHOLE = ("-p", "x", "-N", "1", "-n", "1", "-c", "8")
EPOCHS, EPOCH_S = 300, 0.3
"""The first run does not come to its end while it is waited for, however busy the machine is."""
QUICKLY = {
    "checkpoint.sh": ("run=${SLURM_RESTART_COUNT:-0}\n", '[ "$run" = 0 ] || epoch_s=0.02\n'),
    "checkpoint.py": (
        'RUN = int(os.environ.get("SLURM_RESTART_COUNT") or 0)\n',
        "EPOCH_S /= 1 + 14 * RUN\n",
    ),
}
"""After which line of an example another one makes its second run quick."""
GRACE_S = 600


@pytest.mark.parametrize("example", ["checkpoint.sh", "checkpoint.py"])
def test_after_a_preemption_the_example_goes_on_from_the_epoch_it_had_reached(
    driver: Driver, example: str
) -> None:
    driver.policy("x", mode="user", levels=LEVELS, grace_s=GRACE_S, user_overrides=OVERRIDES)
    low = _train(driver, example, "--comment=project=alpha")
    driver.submit("cy", "urgent", *WHOLE)

    driver.steer_until_running("urgent")
    driver.steer_until_settled()
    _assert_stopped_early()
    asked = Checkpoint.objects.get()
    assert (asked.job_id, asked.via) == (low, "comment")
    assert re.fullmatch(r"epoch=[1-9]\d*,run=0", asked.saved)
    plan = Plan.objects.get()
    words = f"giveway: plan {plan.pk} stopped this job to make room for {driver.ids['urgent']} (cy)"
    assert f"AdminComment={words}, which runs" in driver.slurm.run(["scontrol", "show", "job", low]).stdout
    assert driver.slurm.squeue("%k", "-j", low) == [f"project=alpha ckpt:{asked.saved}"]

    driver.cancel("urgent")
    driver.steer_until(lambda: _finished(driver, low), "the training is finished")
    _assert_every_epoch_once(driver, low)
    asked.refresh_from_db()
    assert asked.resumed_restarts == 1


@pytest.mark.parametrize("example", ["checkpoint.sh", "checkpoint.py"])
def test_the_example_acknowledges_over_the_api_with_its_own_token(driver: Driver, example: str) -> None:
    driver.policy("x", mode="user", levels=LEVELS, grace_s=GRACE_S, user_overrides=OVERRIDES)
    token = driver.slurm.work / "ann" / "checkpoint-token"
    with _console() as (url, calls):
        low = _train(driver, example, settings=f"GIVEWAY_URL={url},GIVEWAY_TOKEN_FILE={token}")
        driver.steer()
        token.write_text(make_token(Job.objects.get(job_id=low))[0])
        token.chmod(0o644)
        driver.submit("cy", "urgent", *WHOLE)

        def told() -> bool:
            _pass_on(calls)
            return driver.states()["urgent"] == "RUNNING"

        driver.steer_until(told, "the urgent job runs")

    _assert_stopped_early()
    asked = Checkpoint.objects.get()
    assert (asked.job_id, asked.via) == (low, "api")
    assert asked.saved.startswith("epoch=")
    assert AuditEntry.objects.get(action="checkpoint.acknowledged").actor == "ann"
    assert driver.slurm.squeue("%k", "-j", low) == ["(null)"]
    driver.cancel("urgent")
    driver.steer_until(lambda: _finished(driver, low), "the training is finished")
    _assert_every_epoch_once(driver, low)


def test_two_victims_are_waited_for_and_stopped_together(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them answers only when the other has answered, and a few cycles have seen it."""
    come_to: list[str] = []
    monkeypatch.setattr(failpoints, "at_point", come_to.append)
    driver.policy("x", mode="user", levels=LEVELS, grace_s=GRACE_S, user_overrides=OVERRIDES)
    half = ("-p", "x", "-N", "1", "-n", "1", "-c", "4")
    now = driver.slurm.work / "ann" / "answer-now"
    now.unlink(missing_ok=True)
    answer = 'scontrol update JobId=$SLURM_JOB_ID Comment="ckpt:epoch=1"'
    for name, first in (("quick", ""), ("slow", f"until [ -e {now} ]; do sleep 0.1; done; ")):
        script = f"#!/bin/bash\ntrap '{first}{answer}' USR1\n{READY}while :; do sleep 600 & wait $!; done\n"
        driver.running("ann", name, *half, script=script)
    driver.submit("cy", "urgent", *WHOLE)

    told = Checkpoint.objects.exclude(acknowledged_at=None)
    driver.steer_until(told.exists, "the quick one answers")
    driver.steer_quietly()
    assert [row.job_id for row in told.all()] == [driver.ids["quick"]]
    assert not come_to.count("act.requeue_hold.claimed"), "the other is waited for"
    now.touch()
    driver.steer_until_running("urgent")

    slow = Checkpoint.objects.get(job_id=driver.ids["slow"])
    assert slow.acknowledged_at
    stopped = sorted(
        stop.issued_at for stop in PlannedAction.objects.filter(kind="requeue_hold") if stop.issued_at
    )
    assert len(stopped) == 2
    assert slow.acknowledged_at <= stopped[0]
    assert come_to.count("act.requeue_hold.applied") == 1, "one call for both"
    _assert_stopped_early()


def test_a_beneficiary_that_its_user_holds_in_the_grace_has_nobody_stopped(driver: Driver) -> None:
    driver.policy("x", mode="user", levels=LEVELS, grace_s=8, user_overrides=OVERRIDES)
    driver.running("ann", "low", *WHOLE)
    driver.submit("cy", "urgent", *WHOLE)
    driver.steer_until(lambda: PlannedAction.objects.filter(kind="signal").exists(), "a plan is made")
    driver.slurm.run(["scontrol", "hold", driver.ids["urgent"]], "cy")

    driver.steer_until_settled()

    assert Plan.objects.get().state == "undone"
    assert "held" in Plan.objects.get().outcome
    assert driver.stopped() == set()


def test_the_victim_of_a_plan_that_is_undone_runs_before_the_flood_that_waited(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beneficiary misses its deadline because the partition goes down; a requeued job is the youngest in line."""
    driver.policy("x", mode="user", levels=LEVELS, start_deadline_s=4, user_overrides=OVERRIDES)
    driver.running("ann", "low", *WHOLE)
    flood = [f"flood{n}" for n in range(12)]
    for name in flood:
        driver.submit("dee", name, "-p", "x", "-N", "1", "-n", "1", "-c", "1")
    driver.submit("cy", "urgent", *WHOLE, "--time=5")

    def at(name: str) -> None:
        if name == "act.requeue_hold.claimed":
            driver.slurm.run(["scontrol", "update", "PartitionName=x", "State=DOWN"])

    monkeypatch.setattr(failpoints, "at_point", at)
    driver.steer_until(_is_back_in_line, "the victim is first in line")
    driver.slurm.run(["scontrol", "update", "PartitionName=x", "State=UP"])
    driver.steer_until(lambda: driver.states()["low"] != "PENDING", "the victim runs")
    driver.steer_until_settled()

    states = driver.states()
    assert states["low"] == "RUNNING"
    assert {states[name] for name in (*flood, "urgent")} == {"PENDING"}
    plan = Plan.objects.get()
    assert (plan.state, "deadline" in plan.outcome) == ("undone", True)
    assert driver.restarts()["low"] == 1


def _is_back_in_line() -> bool:
    release = PlannedAction.objects.filter(kind="release", state="verified").first()
    return release is not None and release.value == str(LAST_OF_FRONT)


def _train(driver: Driver, example: str, *args: str, settings: str = "") -> str:
    """The example runs, and has finished its first epochs. Its second run has shorter ones."""
    script = (EXAMPLES / example).read_text()
    after, quickly = QUICKLY[example]
    assert script.count(after) == 1
    script = script.replace(after, after + quickly)
    export = f"--export=ALL,EPOCHS={EPOCHS},EPOCH_S={EPOCH_S}{',' if settings else ''}{settings}"
    low = driver.running("ann", "low", *WHOLE, export, *args, script=script)
    driver.slurm.wait_until(lambda: "epoch 2 done" in _output(driver, low), "the first epochs")
    return low


def _output(driver: Driver, job: str) -> str:
    path = driver.slurm.work / "ann" / f"slurm-{job}.out"
    return path.read_text() if path.exists() else ""


def _finished(driver: Driver, job: str) -> bool:
    return "finished" in _output(driver, job).splitlines()


def _assert_every_epoch_once(driver: Driver, job: str) -> None:
    """By what the job itself printed: two runs, no epoch twice, none left out."""
    said = _output(driver, job)
    assert [int(n) for n in re.findall(r"^epoch (\d+) done$", said, re.MULTILINE)] == list(
        range(1, EPOCHS + 1)
    )
    first, second = re.findall(r"^run (\d) begins after epoch (\d+)$", said, re.MULTILINE)
    assert first == ("0", "0")
    assert second[0] == "1" and 2 <= int(second[1]) < EPOCHS
    saved = re.fullmatch(r"epoch=(\d+),run=0", Checkpoint.objects.get().saved)
    assert saved and int(saved[1]) <= int(second[1])


def _assert_stopped_early() -> None:
    signal = PlannedAction.objects.filter(kind="signal").order_by("issued_at")[0]
    stop = PlannedAction.objects.filter(kind="requeue_hold").order_by("issued_at")[0]
    assert signal.issued_at and stop.issued_at
    assert (stop.issued_at - signal.issued_at).total_seconds() < GRACE_S / 2


@contextmanager
def _console() -> Iterator[tuple[str, "Queue[dict[str, Any]]"]]:
    """What the job takes for the console: it keeps the calls, so that they are answered in the test's transaction."""
    calls: Queue[dict[str, Any]] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            calls.put({"path": self.path, "type": self.headers["Content-Type"], "body": json.loads(body)})
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Nothing to say."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", calls
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _pass_on(calls: "Queue[dict[str, Any]]") -> None:
    """Put the calls that have come to the real API."""
    while True:
        try:
            call = calls.get_nowait()
        except Empty:
            return
        response = APIClient().post(call["path"], call["body"], content_type=None, format="json")
        assert (call["type"], response.status_code) == ("application/json", 200), response.content
