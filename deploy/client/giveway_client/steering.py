"""The commands of administrators and project managers: plans and the answer to them, projects, the switch."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from giveway_client.errors import GivewayError
from giveway_client.kept import console
from giveway_client.records import Plan, Project, Question, Victim
from giveway_client.show import ago, as_json, duration, shown, table, wrap
from giveway_client.words import ENGLISH, _, coded, in_a_row, used

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
        print(_("No plans."))
        return
    rows = [[_("PLAN"), _("PARTITION"), _("STATE"), _("FOR"), _("USER"), _("STOPS"), _("WHY")]]
    for line in table(rows + [_row(plan) for plan in found], right={0, 5}):
        print(line)


def _row(plan: Plan) -> list[str]:
    cells = [plan.id, plan.partition, coded(plan.state), plan.job_id, plan.user, plan.stops]
    return [shown(cell) for cell in [*cells, plan.outcome or coded(plan.reason)]]


def plan(options: argparse.Namespace) -> None:
    """One plan: its reason, who is stopped, and what is asked about it."""
    giveway = console()
    answer = giveway.get(f"plans/{options.plan}/")
    if options.json:
        as_json(answer.body)
        return
    found = Plan.read(answer.body)
    named = {"id": found.id, "partition": found.partition, "state": coded(found.state)}
    print(wrap(_("Plan %(id)s in %(partition)s: %(state)s") % named + ago(found.created_at, answer.now)))
    print(wrap(found.explain, "  ", "  "))
    for victim in found.victims:
        print(wrap(_victim(victim), "  - ", "    "))
    if found.outcome:
        print(wrap(found.outcome, "  "))
    if found.decided_by:
        decided = {"who": found.decided_by, "reason": found.decision_reason}
        print(wrap(_("Decided by %(who)s: %(reason)s") % decided, "  ", "    "))
    question = giveway.question(options.plan)
    if question.asked:
        _tell_question(found, question)


def _tell_question(found: Plan, question: Question) -> None:
    """What is asked, what has changed, and how to answer."""
    if not question.raw.get("not_now"):
        print(wrap(question.consequence))
    for change in question.raw.get("since_opened", ()):
        print(wrap(change, "  " + _("since it was opened: "), "    "))
    for change in question.changes:
        print(wrap(change, "  ! ", "    "))
    print(f"giveway approve {found.id} --seen {shown(question.seen)} --reason …")


def _victim(victim: Victim) -> str:
    named = {
        "how": coded("worker" if victim.raw.get("worker_of") else victim.how),
        "job": victim.job,
        "name": victim.name or "",
        "user": victim.user or "?",
    }
    if victim.ran_s is None:
        return _("%(how)s %(job)s %(name)s (%(user)s)") % named
    return _("%(how)s %(job)s %(name)s (%(user)s, ran %(ran)s)") % {**named, "ran": duration(victim.ran_s)}


def approve(options: argparse.Namespace) -> None:
    """Have a plan carried out."""
    _decide(options, "approve")


def reject(options: argparse.Namespace) -> None:
    """Turn a plan down."""
    _decide(options, "reject")


QUESTIONS = {
    "approve": lambda: _("Approve plan %(id)s? %(consequence)s"),
    "reject": lambda: _("Reject plan %(id)s? %(consequence)s"),
}


def _decide(options: argparse.Namespace, decision: str) -> None:
    giveway = console()
    seen = options.seen
    if seen is None:
        question = giveway.question(options.plan)
        seen = question.seen
        if not options.yes:
            asked = {"id": options.plan, "consequence": question.consequence}
            _confirm(QUESTIONS[decision]() % asked)
    decided = getattr(giveway, decision)(options.plan, reason=options.reason, seen=seen)
    if options.json:
        as_json(decided.raw)
    else:
        print(wrap(_("Plan %(id)s is %(state)s.") % {"id": decided.id, "state": coded(decided.state)}))


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise GivewayError(
            _("nobody is there to be asked; say --yes, or --seen with the mark that `giveway plan` shows")
        )
    if input(f"{wrap(question)} [y/N] ").strip().lower() not in {"y", "yes"}:
        raise GivewayError(_("nothing was done"))


def projects(options: argparse.Namespace) -> None:
    """The projects that are mine to see; `projects set` changes one."""
    found = list(console().projects())
    if options.json:
        as_json([project.raw for project in found])
        return
    if not found:
        print(_("No projects."))
        return
    rows = [[_("PROJECT"), _("SIZE"), _("GRADE"), _("URGENCY"), _("SCORE"), _("NAME")]]
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
    values = in_a_row([f"{_key(name)} {_value(changed, name)}" for name in settings])
    now = {"code": changed.code, "version": changed.version, "values": values, "score": f"{changed.score:g}"}
    print(wrap(_("%(code)s (version %(version)s): %(values)s; score %(score)s") % now))
    if asked := changed.raw.get("waiting_request"):
        text = _("Urgency %(urgency)s waits for an administrator's approval.")
        print(wrap(text % {"urgency": f"{asked['urgency']:g}"}))


def setting(text: str) -> tuple[str, Any]:
    """`urgency=4` as a key and a value for the API."""
    name, sign, value = text.partition("=")
    if not sign or name not in {*NUMBERS, *NAMES, *TEXTS}:
        known = in_a_row([*NUMBERS, *TEXTS, *NAMES])
        fault = _("%(text)r is no setting; write KEY=VALUE, with one of %(known)s")
        raise GivewayError(fault % {"text": text, "known": known})
    if name in NUMBERS:
        try:
            return name, float(value)
        except ValueError:
            fault = _("%(name)s must be a number, not %(value)r")
            raise GivewayError(fault % {"name": name, "value": value}) from None
    if name in NAMES:
        return name, [each for each in value.split(",") if each]
    return name, None if (name, value) == ("deadline", "none") else value


def _key(name: str) -> str:
    """As it is typed in English; in Chinese in words."""
    return name if used() == ENGLISH else coded(name)


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
        said = {"what": each.partition or _("Everything"), "who": each.by, "reason": each.reason}
        text = (
            _("%(what)s is paused by %(who)s: %(reason)s")
            if each.reason
            else _("%(what)s is paused by %(who)s")
        )
        print(wrap(text % said))


def resume(options: argparse.Namespace) -> None:
    """Lift the pause of a partition, or that of everything."""
    giveway, where = console(), _where(options)
    giveway.resume(where)
    left = giveway.pauses(where)
    if options.json:
        as_json([each.raw for each in left])
        return
    print(_("%(what)s: its pause is lifted.") % {"what": shown(where) if where else _("Everything")})
    for each in left:
        still = {"what": each.partition or _("Everything"), "who": each.by}
        print(wrap(_("%(what)s is still paused by %(who)s.") % still))


def _where(options: argparse.Namespace) -> str | None:
    """The partition, or None for everything: that must be said."""
    if options.all == bool(options.partition):
        raise GivewayError(_("say which partition, or --all"))
    return None if options.all else str(options.partition)
