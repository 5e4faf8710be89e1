"""The command that tells when a job starts: one that waits, or one that is not submitted yet."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Mapping
from typing import Any

from giveway_client.client import Giveway
from giveway_client.errors import GivewayError
from giveway_client.kept import console
from giveway_client.records import moment
from giveway_client.show import ago, as_json, duration, shown, then, wrap
from giveway_client.transport import Answer
from giveway_client.words import _, in_a_row

PATIENCE_S = 45.0
"""So long an answer is waited for; the console looks at its queue about every ten seconds."""
PAUSE_S = 1.0
NEEDED = ("partition", "time")
ASKED = ("nodes", "cpus", "gpus", "mem")
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


def when(options: argparse.Namespace) -> None:
    """When a job is expected to start, how sure that is, and what would make it sooner."""
    told = _of_one_that_waits(options) if options.job else _of_one_not_submitted(options)
    if options.json:
        as_json(told.body)
        return
    said = told.body
    job = {"job": shown(options.job)}
    middle, low, high = (moment(said[key]) for key in ("p50", "low", "high"))
    if middle is None or low is None:
        print((_("%(job)s: no start is in sight.") if options.job else _("It: no start is in sight.")) % job)
        return
    starts = _("%(job)s starts %(when)s") if options.job else _("It would start %(when)s")
    print(starts % {**job, "when": then(middle, told.now)})
    until = then(high, told.now) if high else _("a time that is not in sight")
    sure = _("90 %% sure: between %(low)s and %(high)s") % {"low": then(low, told.now), "high": until}
    print(wrap(sure, "  - ", "    "))
    for line in _lines(said, told):
        print(wrap(line, "  - ", "    "))


def _lines(said: Mapping[str, Any], told: Answer) -> list[str]:
    lines = []
    if said.get("after"):
        lines.append(_("It waits for the end of %(jobs)s") % {"jobs": in_a_row(said["after"])})
    for change in said.get("sooner", ()):
        at = moment(change["p50"])
        if at and "nodes" in change:
            less = {"n": change["nodes"], "when": then(at, told.now)}
            lines.append(_("With %(n)s nodes: %(when)s") % less)
        elif at:
            less = {"limit": duration(change["limit_s"]), "when": then(at, told.now)}
            lines.append(_("With a limit of %(limit)s: %(when)s") % less)
    if said.get("level"):
        lines.append(_("As %(user)s, at level %(level)s") % {"user": said["user"], "level": said["level"]})
    made = moment(said.get("made_at") or said.get("answered_at"))
    return [*lines, _("Worked out%(ago)s") % {"ago": ago(made, told.now)}]


def _of_one_that_waits(options: argparse.Namespace) -> Answer:
    given = [f"--{name}" for name in (*NEEDED, *ASKED, "account") if getattr(options, name)]
    if given:
        text = _("%(options)s: of a job that waits these are known. Leave out one or the other.")
        raise GivewayError(text % {"options": in_a_row(given)})
    return console().start(options.job)


def _of_one_not_submitted(options: argparse.Namespace) -> Answer:
    missing = [f"--{name}" for name in NEEDED if not getattr(options, name)]
    if missing:
        both = _("%(first)s and %(second)s") % {"first": missing[0], "second": missing[-1]}
        text = _("Give a JOBID, or %(options)s too for a job not submitted yet.")
        raise GivewayError(text % {"options": both if len(missing) > 1 else missing[0]})
    asked = console()
    question = asked.ask_start(
        options.partition, request_of(options), seconds_of(options.time), account=options.account
    )
    return _answer(asked, question["id"])


def _answer(asked: Giveway, question: int) -> Answer:
    until = time.monotonic() + PATIENCE_S
    while True:
        told = asked.start_answer(question)
        if told.body["answered_at"]:
            return told
        if time.monotonic() > until:
            text = _(
                "The console has not answered within %(seconds)s s. Its worker for forecasts may not run."
            )
            raise GivewayError(text % {"seconds": f"{PATIENCE_S:.0f}"})
        time.sleep(PAUSE_S)


def request_of(options: argparse.Namespace) -> dict[str, Any]:
    """The request of the options as the API takes it. Raises `GivewayError`."""
    for name in ASKED:
        if (value := getattr(options, name)) is not None and value < 1:
            text = _("--%(name)s: %(value)s is not a number from 1 on.")
            raise GivewayError(text % {"name": name, "value": value})
    nodes, mem = options.nodes, options.mem
    if nodes is None:
        if mem is not None:
            raise GivewayError(_("--mem: memory is by node; give --nodes too."))
        return {"spread": {"cpu": options.cpus or 1} | ({"gpu": options.gpus} if options.gpus else {})}
    each = {"cpu": -(-(options.cpus or nodes) // nodes)}
    if options.gpus:
        each["gpu"] = -(-options.gpus // nodes)
    if mem is not None:
        each["mem"] = mem
    return {"nodes": nodes, "per_node": each}


def seconds_of(text: str) -> int:
    """A time limit as sbatch takes it: 90, 90:30 (minutes, seconds), 2:00:00, 1-12, 1-12:30, 1-12:30:00."""
    found = _TIME.fullmatch(text)
    if not found:
        said = _("--time: %(text)s is no time. Write it as for sbatch: 90, 2:00:00, 1-12.")
        raise GivewayError(said % {"text": shown(text)})
    days, *parts = (None if part is None else int(part) for part in found.groups())
    numbers = [part for part in parts if part is not None]
    if days is not None:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    elif len(numbers) == 1:
        hours, minutes, seconds = 0, numbers[0], 0
    else:
        hours, minutes, seconds = (0, 0, *numbers)[-3:]
    return ((days or 0) * 24 + hours) * 3600 + minutes * 60 + seconds
