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
from giveway_client.words import _, coded, in_a_row

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
        raise GivewayError(_("say --draft, or KEY=VALUE of the policy"))
    giveway = console()
    settings = dict(_policy_setting(text) for text in options.settings)
    entry = giveway.policy_entry(options.partition, draft=options.draft, **settings)
    _ask(giveway, options, partitions=[entry])


def _policy_setting(text: str) -> tuple[str, Any]:
    """`mode=task`, `quotas={"P0": 2}`: what is no JSON is text."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        fault = _("%(text)r is no setting; write KEY=VALUE, with a key of the policy")
        raise GivewayError(fault % {"text": text})
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
                far = _("%(done)s of %(total)s looks") % {"done": found.done, "total": found.total or "?"}
                print(f"\r{far}", end="", file=sys.stderr)
    except KeyboardInterrupt:
        print("\n" + _("It goes on; see: giveway study %(id)s") % {"id": found.id}, file=sys.stderr)
        raise
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return found


def _tell_now(answer: dict[str, Any]) -> None:
    changed = [each for each in answer["partitions"] if any(each[kind] for kind in KINDS)]
    if not changed and not answer["left"]:
        print(_("Nothing changes for the jobs that are there now."))
    for each in changed:
        mode = {"partition": shown(each["partition"]), "mode": coded(shown(each["enforcement"]))}
        print(_("%(partition)s (%(mode)s)") % mode)
        for sentence in each["sentences"]:
            print(wrap(sentence, "  - ", "    "))
        for stop in each["stopped"]:
            victim, other = stop["victim"], stop["beneficiary"]
            named = {"job": victim["job"], "name": victim["name"], "user": victim["user"]}
            said = {"how": coded(stop["how"]), "other": other["job"], "whose": other["user"], **named}
            text = _("%(how)s %(job)s %(name)s (%(user)s) for %(other)s (%(whose)s)")
            print(wrap(text % said, "    ", "      "))
    for name in answer["left"]:
        text = _("There was no time for %(name)s; what would change there is not known.")
        print(wrap(text % {"name": name}))


def _tell_study(found: Study, *, as_document: bool) -> None:
    if as_document:
        as_json(found.raw)
    elif found.result is None:
        far = {"id": found.id, "state": coded(found.state), "done": found.done, "total": found.total}
        text = _("Study %(id)s: %(state)s. %(fault)s")
        if found.total:
            text = _("Study %(id)s: %(state)s, %(done)s of %(total)s looks. %(fault)s")
        print(wrap((text % {**far, "fault": found.fault}).rstrip()))
    elif not found.result["partitions"]:
        print(_("The change touches no partition."))
    else:
        print("\n".join(_past(found.result)))
    if found.state in {"failed", "cancelled"}:
        raise GivewayError(_("study %(id)s is %(state)s") % {"id": found.id, "state": coded(found.state)})


def _past(past: dict[str, Any]) -> Iterator[str]:
    said = {"partitions": in_a_row(past["partitions"]), "used": past["used"], "looks": past["looks"]}
    since, until = (past[key][:16].replace("T", " ") for key in ("since", "until"))
    text = _("%(partitions)s: %(used)s of %(looks)s recorded looks, %(since)s to %(until)s UTC")
    yield wrap(text % {**said, "since": since, "until": until})
    stops = [_row(sums, sums["day"]) for sums in past["days"]] + [_row(past, _("together"))]
    head = [_("DAY"), _("STOPPED"), _("AS NOW"), _("CHANGED"), _("GET ROOM")]
    yield from table([head, *stops], right={1, 2, 3, 4})
    waits = {side: {w["level"]["name"]: w["hours"] for w in past[side]["waited"]} for side in SIDES}
    levels = sorted(
        ((w["level"]["rank"] is None, w["level"]["rank"] or 0, w["level"]["name"]))
        for side in SIDES
        for w in past[side]["waited"]
    )
    names = list(dict.fromkeys(name for *_, name in levels))
    rows = [[shown(name), *(f"{waits[side].get(name, 0):.3g}" for side in SIDES)] for name in names]
    if rows:
        yield from table([[_("HOURS WAITED"), _("AS NOW"), _("CHANGED")], *rows], right={1, 2})


def _row(sums: dict[str, Any], name: str) -> list[str]:
    stops = [sums[side]["stops"] for side in ("done", *SIDES)]
    return [shown(name), *map(str, stops), str(sums["changed"]["jobs"])]
