"""`giveway what-if`: what a change would do, now or over the last days, before anybody makes it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from giveway_client.client import Giveway
from giveway_client.errors import GivewayError
from giveway_client.kept import console
from giveway_client.records import Study
from giveway_client.show import as_json, shown, table, wrap
from giveway_client.steering import setting

SIDES = ("present", "changed")
KINDS = ("users", "tasks", "stopped", "spared", "started", "kept_waiting")
PAUSE_S = 1.0
"""Between two looks at a study."""


def project(options: argparse.Namespace) -> None:
    """What another size, grade, urgency or membership of a project would do. Nothing is saved."""
    giveway = console()
    settings = dict(setting(text) for text in options.settings)
    _ask(giveway, options, projects=[giveway.project_entry(options.project, **settings)])


def policy(options: argparse.Namespace) -> None:
    """What a draft of a partition's policy, or other values of the one in force, would do. Nothing is saved."""
    if not (options.draft or options.settings):
        raise GivewayError("say --draft, or KEY=VALUE of the policy")
    giveway = console()
    settings = dict(_policy_setting(text) for text in options.settings)
    entry = giveway.policy_entry(options.partition, draft=options.draft, **settings)
    _ask(giveway, options, partitions=[entry])


def _policy_setting(text: str) -> tuple[str, Any]:
    """`mode=task`, `quotas={"P0": 2}`: what is no JSON is text."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise GivewayError(f"{text!r} is no setting; write KEY=VALUE, with a key of the policy")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _ask(giveway: Giveway, options: argparse.Namespace, **change: Any) -> None:
    if options.days is None:
        answer = giveway.what_if(**change)
        if options.json:
            as_json(answer)
        else:
            _tell_now(answer)
        return
    study = giveway.ask_study(days=options.days, **change)
    if not options.no_wait:
        study = _wait(giveway, study)
    _tell_study(study, as_document=options.json)


def study(options: argparse.Namespace) -> None:
    """A question about the last days that was asked before: how far it is, or its answer."""
    giveway = console()
    found = giveway.cancel_study(options.study) if options.cancel else giveway.study(options.study)
    _tell_study(found, as_document=options.json)


def _wait(giveway: Giveway, found: Study) -> Study:
    """Until it is over. Who is interrupted finds it again."""
    try:
        while found.open:
            time.sleep(PAUSE_S)
            found = giveway.study(found.id)
            if sys.stderr.isatty():
                print(f"\r{found.done} of {found.total or '?'} looks", end="", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"\nIt goes on; see: giveway study {found.id}", file=sys.stderr)
        raise
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return found


def _tell_now(answer: dict[str, Any]) -> None:
    changed = [each for each in answer["partitions"] if any(each[kind] for kind in KINDS)]
    if not changed and not answer["left"]:
        print("Nothing changes for the jobs that are there now.")
    for each in changed:
        print(f"{shown(each['partition'])} ({shown(each['enforcement'])})")
        for sentence in each["sentences"]:
            print(wrap(sentence, "  - ", "    "))
        for stop in each["stopped"]:
            victim, other = stop["victim"], stop["beneficiary"]
            what = f"{victim['job']} {victim['name']} ({victim['user']}) for {other['job']} ({other['user']})"
            print(wrap(f"{stop['how']} {what}", "    ", "      "))
    for name in answer["left"]:
        print(wrap(f"There was no time for {name}; what would change there is not known."))


def _tell_study(found: Study, *, as_document: bool) -> None:
    if as_document:
        as_json(found.raw)
    elif found.result is None:
        done = f", {found.done} of {found.total} looks" if found.total else ""
        print(wrap(f"Study {found.id}: {found.state}{done}. {found.fault}".rstrip()))
    elif not found.result["partitions"]:
        print("The change touches no partition.")
    else:
        print("\n".join(_past(found.result)))
    if found.state in {"failed", "cancelled"}:
        raise GivewayError(f"study {found.id} is {found.state}")


def _past(past: dict[str, Any]) -> Iterator[str]:
    yield wrap(
        f"{', '.join(past['partitions'])}: {past['used']} of {past['looks']} recorded looks,"
        f" {past['since'][:16]} to {past['until'][:16]}"
    )
    stops = [_row(sums, sums["day"]) for sums in past["days"]] + [_row(past, "together")]
    yield from table([["DAY", "STOPPED", "AS NOW", "CHANGED", "GET ROOM"], *stops], right={1, 2, 3, 4})
    waits = {side: {w["level"]["name"]: w["hours"] for w in past[side]["waited"]} for side in SIDES}
    levels = sorted(
        ((w["level"]["rank"] is None, w["level"]["rank"] or 0, w["level"]["name"]))
        for side in SIDES
        for w in past[side]["waited"]
    )
    names = list(dict.fromkeys(name for *_, name in levels))
    rows = [[shown(name), *(f"{waits[side].get(name, 0):.3g}" for side in SIDES)] for name in names]
    if rows:
        yield from table([["HOURS WAITED", "AS NOW", "CHANGED"], *rows], right={1, 2})


def _row(sums: dict[str, Any], name: str) -> list[str]:
    stops = [sums[side]["stops"] for side in ("done", *SIDES)]
    return [shown(name), *map(str, stops), str(sums["changed"]["jobs"])]
