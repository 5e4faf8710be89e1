"""The commands of administrators and project managers: plans and the answer to them, projects, the switch."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from giveway_client.errors import GivewayError
from giveway_client.kept import console
from giveway_client.records import Plan, Project, Victim
from giveway_client.show import ago, as_json, duration, shown, table, wrap

NUMBERS = ("urgency", "size", "grade")
NAMES = ("members", "managers")
TEXTS = ("name", "slurm_account", "urgency_by", "deadline")


def plans(options: argparse.Namespace) -> None:
    """The latest plans: who was, or would be, stopped for whom."""
    filters = {name: value for name in ("partition", "state") if (value := getattr(options, name))}
    if options.waiting:
        filters |= {"state": "proposed", "enforcement": "approve"}
    found = list(console().plans(most=options.limit, **filters))
    if options.json:
        as_json([plan.raw for plan in found])
        return
    if not found:
        print("No plans.")
        return
    rows = [["PLAN", "PARTITION", "STATE", "FOR", "USER", "STOPS", "WHY"]]
    for line in table(rows + [_row(plan) for plan in found], right={0, 5}):
        print(line)


def _row(plan: Plan) -> list[str]:
    cells = [plan.id, plan.partition, plan.state, plan.job_id, plan.user, len(plan.victims)]
    return [shown(cell) for cell in [*cells, plan.outcome or plan.reason.replace("_", " ")]]


def plan(options: argparse.Namespace) -> None:
    """One plan: its reason, who is stopped, and what is asked about it."""
    giveway = console()
    answer = giveway.get(f"plans/{options.plan}/")
    if options.json:
        as_json(answer.body)
        return
    found = Plan.read(answer.body)
    print(wrap(f"Plan {found.id} in {found.partition}: {found.state}" + ago(found.created_at, answer.now)))
    print(wrap(found.explain, "  ", "  "))
    for victim in found.victims:
        print(wrap(_victim(victim), "  - ", "    "))
    if found.outcome:
        print(wrap(found.outcome, "  "))
    if found.decided_by:
        print(wrap(f"Decided by {found.decided_by}: {found.decision_reason}", "  ", "    "))
    question = giveway.question(options.plan)
    if question.asked:
        if not question.raw.get("not_now"):
            print(wrap(question.consequence))
        for change in question.raw.get("since_opened", ()):
            print(wrap(change, "  since it was opened: ", "    "))
        for change in question.changes:
            print(wrap(change, "  ! ", "    "))
        print(f"giveway approve {found.id} --seen {shown(question.seen)} --reason …")


def _victim(victim: Victim) -> str:
    ran = f", ran {duration(victim.ran_s)}" if victim.ran_s is not None else ""
    return f"{victim.how} {victim.job} {victim.name or ''} ({victim.user or '?'}{ran})"


def approve(options: argparse.Namespace) -> None:
    """Have a plan carried out."""
    _decide(options, "approve")


def reject(options: argparse.Namespace) -> None:
    """Turn a plan down."""
    _decide(options, "reject")


def _decide(options: argparse.Namespace, decision: str) -> None:
    giveway = console()
    seen = options.seen
    if seen is None:
        question = giveway.question(options.plan)
        seen = question.seen
        if not options.yes:
            _confirm(f"{decision.capitalize()} plan {options.plan}? {question.consequence}")
    decided = getattr(giveway, decision)(options.plan, reason=options.reason, seen=seen)
    if options.json:
        as_json(decided.raw)
    else:
        print(wrap(f"Plan {decided.id} is {decided.state}."))


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise GivewayError(
            "nobody is there to be asked; say --yes, or --seen with the mark that `giveway plan` shows"
        )
    if input(f"{wrap(question)} [y/N] ").strip().lower() not in {"y", "yes"}:
        raise GivewayError("nothing was done")


def projects(options: argparse.Namespace) -> None:
    """The projects that are mine to see; `projects set` changes one."""
    found = list(console().projects())
    if options.json:
        as_json([project.raw for project in found])
        return
    if not found:
        print("No projects.")
        return
    rows = [["PROJECT", "SIZE", "GRADE", "URGENCY", "SCORE", "NAME"]]
    for project in found:
        numbers = [f"{each:g}" for each in (project.size, project.grade, project.urgency, project.score)]
        rows.append([shown(cell) for cell in [project.code, *numbers, project.name]])
    for line in table(rows, right={1, 2, 3, 4}):
        print(line)


def set_project(options: argparse.Namespace) -> None:
    """Change a project: urgency=4, members=ann,bob, deadline=none."""
    settings = dict(setting(text) for text in options.settings)
    changed = console().change_project(options.project, reason=options.reason, **settings)
    if options.json:
        as_json(changed.raw)
        return
    values = ", ".join(f"{name} {_value(changed, name)}" for name in settings)
    print(wrap(f"{changed.code} (version {changed.version}): {values}; score {changed.score:g}"))
    if asked := changed.raw.get("waiting_request"):
        print(wrap(f"Urgency {asked['urgency']:g} waits for an administrator's approval."))


def setting(text: str) -> tuple[str, Any]:
    """`urgency=4` as a key and a value for the API."""
    name, sign, value = text.partition("=")
    if not sign or name not in {*NUMBERS, *NAMES, *TEXTS}:
        known = ", ".join([*NUMBERS, *TEXTS, *NAMES])
        raise GivewayError(f"{text!r} is no setting; write KEY=VALUE, with one of {known}")
    if name in NUMBERS:
        try:
            return name, float(value)
        except ValueError:
            raise GivewayError(f"{name} must be a number, not {value!r}") from None
    if name in NAMES:
        return name, [each for each in value.split(",") if each]
    return name, None if (name, value) == ("deadline", "none") else value


def _value(project: Project, name: str) -> str:
    value = project.raw.get(name)
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def pause(options: argparse.Namespace) -> None:
    """Stop nobody in a partition, or anywhere, from the next cycle on."""
    pauses = console().pause(_where(options), reason=options.reason)
    if options.json:
        as_json([each.raw for each in pauses])
        return
    for each in pauses:
        what = each.partition or "Everything"
        why = f": {each.reason}" if each.reason else ""
        print(wrap(f"{what} is paused by {each.by}{why}"))


def resume(options: argparse.Namespace) -> None:
    """Lift the pause of a partition, or that of everything."""
    giveway, where = console(), _where(options)
    giveway.resume(where)
    left = giveway.pauses(where)
    if options.json:
        as_json([each.raw for each in left])
        return
    print(f"{shown(where) if where else 'Everything'}: its pause is lifted.")
    for each in left:
        print(wrap(f"{each.partition or 'Everything'} is still paused by {each.by}."))


def _where(options: argparse.Namespace) -> str | None:
    """The partition, or None for everything: that must be said."""
    if options.all == bool(options.partition):
        raise GivewayError("say which partition, or --all")
    return None if options.all else str(options.partition)
