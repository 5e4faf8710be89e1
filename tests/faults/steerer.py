"""A process that has Django ready and forks a steering process per line of JSON on its input.

Starting `manage.py` costs a second of processor time, and the harness starts some thousand processes. Each fork is a
process of its own, with its own connection to the database, and dies of a real SIGKILL.
"""

import json
import os
import sys
import time
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

MOST_SECONDS = 150
QUIET_CYCLES = 3


def serve() -> None:
    """Read requests until there are no more."""
    import django

    django.setup()
    import console.steering.cycle
    import console.urls  # noqa: F401 - everything is imported before the first fork
    from tests.faults import oracle, worlds  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer = _wait(request["wait"])
        elif request.get("later"):
            answer = {"pid": _fork(request)}
        else:
            answer = _wait(_fork(request))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _wait(pid: int) -> dict[str, Any]:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return {"pid": pid, "stopped": True}
    return {"pid": pid, "status": os.waitstatus_to_exitcode(status)}


def _fork(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        with (Path(request["folder"]) / "log").open("a") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        status = _child(request)
    except BaseException:  # noqa: BLE001 - it ends here, and the log says of what
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _child(request: dict[str, Any]) -> int:
    from django.conf import settings
    from django.db import connections

    from console.core import failpoints

    folder = Path(request["folder"])
    settings.HOME = folder
    connections["default"].settings_dict["NAME"] = str(folder / "giveway.sqlite3")
    if "fault" in request:
        failpoints.arm(request["fault"], str(folder / "points"))
    try:
        return {"build": _build, "steer": _steer, "judge": _judge, "expire": _expire}[request["do"]](request)
    finally:
        connections.close_all()


def _build(request: dict[str, Any]) -> int:
    """The database of a story, its policy in force. The cluster has been seen once.

    The log is anchored, as its task does within a minute: on a slow machine a story is told long after this.
    """
    from console.audit.anchors import write_anchor
    from console.cluster.connect import configured_cluster
    from console.partitions.services import activate_policy, ensure_partition
    from tests.faults.worlds import POLICY, WORLDS

    for world in request["worlds"]:
        document = {**POLICY, **WORLDS[world].policy}
        row = ensure_partition(cluster=configured_cluster(), name=document["name"])
        row.refresh_from_db()
        activate_policy(
            actor="dave",
            partition=row,
            document=document,
            reason="Test.",
            based_on=row.revision.number if row.revision else None,
        )
    write_anchor()
    return 0


def _steer(request: dict[str, Any]) -> int:
    """Cycles, one a second, until all plans are over and nothing more happens. Status 3: that took too long."""
    from console.cluster.connect import configured_cluster
    from console.core import clock
    from console.steering import cycle
    from console.steering.models import OPEN_STATES, Plan
    from tests.faults.worlds import START, Stage

    stage = Stage(Path(request["folder"]), request["world"])
    skew = timedelta(seconds=request.get("skew_s", 0))
    clock.now = lambda: datetime.fromtimestamp(START + stage.clock.seconds, UTC) + skew
    vars(cycle)["connect"] = lambda row: stage.port
    cluster, quiet = configured_cluster(), 0
    for _ in range(request.get("asleep_s", 0)):
        stage.tick()
    seconds = stage.tick()
    while quiet < QUIET_CYCLES:
        if seconds > MOST_SECONDS:
            return 3
        report = cycle.run_cycle(cluster)
        if report is None:  # somebody else's cycle is under way
            time.sleep(0.005)
            seconds = stage.clock.seconds
            continue
        seconds = stage.tick()
        settled = seconds > stage.world.last and not Plan.objects.filter(state__in=OPEN_STATES).exists()
        quiet = quiet + 1 if settled and not report.fault and not report.lines else 0
    return 0


def _expire(request: dict[str, Any]) -> int:
    """As long a time goes by as a lease lasts."""
    from django.db.models import F

    from console.steering.models import CycleLease

    CycleLease.objects.update(expires_at=F("expires_at") - timedelta(hours=1))
    return 0


def _judge(request: dict[str, Any]) -> int:
    from tests.faults.oracle import as_json, judge
    from tests.faults.worlds import Stage

    folder = Path(request["folder"])
    (folder / "verdict").write_text(json.dumps(as_json(judge(Stage(folder, request["world"])))))
    return 0


if __name__ == "__main__":
    serve()
