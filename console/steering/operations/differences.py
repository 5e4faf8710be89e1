"""What is different between two versions of a request, from their victims, nodes and policy: for people, and to compare
what they cost.

Work is counted as if both were carried out now. A victim of both costs the same in both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.core import clock
from console.core.l10n_format import names
from console.steering.models import Plan, PlanVersion
from console.steering.operations.requests import ApprovalRequest, run_in
from console.steering.ways import only_stops
from console.steering.work import Work, add_work, work_of, work_short
from scheduler.model.plan import How
from scheduler.model.policy import Mode, PartitionPolicy
from scheduler.model.resource_kinds import COUNTED

Run = tuple[str, int, int]


@dataclass
class AskedFor:
    """Whom a version stops, each with what that destroys if it is done now; where the jobs start, by which rules."""

    victims: dict[Run, dict[str, Any]] = field(default_factory=dict)
    losses: dict[Run, Work] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)
    revisions: set[int] = field(default_factory=set)

    def add(self, version: Plan | PlanVersion, now: datetime) -> None:
        """What one plan asks for."""
        at = version.worked_out_at if isinstance(version, Plan) else version.at
        for victim in version.victims:
            run = run_in(victim)
            self.victims[run] = victim
            self.losses[run] = work_of(victim, (now - at).total_seconds())
        self.nodes |= version.placement.keys()
        if version.policy_revision is not None:
            self.revisions.add(version.policy_revision)

    def lost(self, runs: Iterable[Run]) -> Work:
        """What stopping these destroys."""
        total: Work = {}
        for run in runs:
            add_work(total, self.losses[run])
        return total


def asked_for(versions: Iterable[Plan | PlanVersion]) -> AskedFor:
    """What these ask for together."""
    found, now = AskedFor(), clock.now()
    for version in versions:
        found.add(version, now)
    return found


@dataclass(frozen=True, slots=True)
class RequestDifference:
    """From one version to another. `ended`: jobs whose runs were over before they could be stopped."""

    before: AskedFor
    after: AskedFor
    ended: frozenset[str]

    @property
    def more(self) -> list[Run]:
        """Who is stopped in addition, or instead."""
        return [run for run in self.after.victims if run not in self.before.victims]

    @property
    def fewer(self) -> list[Run]:
        """Who is no longer stopped."""
        return [run for run in self.before.victims if run not in self.after.victims]

    @property
    def sentences(self) -> list[str]:
        """In words; empty when nothing of it has changed."""
        return [*self._of_victims(), *self._of_work(), *self._of_room()]

    def costs_more(self, policy: PartitionPolicy) -> bool:
        """Whether the later version stops more jobs, or any of a higher level, or destroys more work of any kind."""
        before, after = self.before.victims, self.after.victims
        if len(after) > len(before) or _cancelled(after.values()) > _cancelled(before.values()):
            return True
        if any(
            now < then for now, then in zip(_highest(after, policy), _highest(before, policy), strict=True)
        ):
            return True
        # Who is in both costs the same; only the others are compared, to the second.
        now, then = self.after.lost(self.more), self.before.lost(self.fewer)
        return any(now.get(name, 0.0) > then.get(name, 0.0) for name in COUNTED)

    def _of_victims(self) -> Iterator[str]:
        over = [run for run in self.fewer if run[0] in self.ended]
        spared = [run for run in self.fewer if run[0] not in self.ended]
        if over:
            text = ngettext("%(jobs)s has ended.", "%(jobs)s have ended.", len(over))
            yield text % {"jobs": _who(over, self.before)}
        more, gone = _who(self.more, self.after), _who(spared, self.before)
        changed = [self.after.victims[run] for run in self.more]
        changed += [self.before.victims[run] for run in spared]
        said = _stopped if only_stops(changed) else _making_room
        if self.more or spared:
            text = said(len(self.more), len(spared), instead=bool(over))
            yield text % {"more": more, "fewer": gone}

    def _of_work(self) -> Iterator[str]:
        if not self.more and not self.fewer:
            return
        before, after = (work_short(each.lost(each.victims)) for each in (self.before, self.after))
        if before != after:
            yield _("Work lost: %(before)s → %(after)s.") % {"before": before, "after": after}

    def _of_room(self) -> Iterator[str]:
        before, after = self.before, self.after
        if before.nodes != after.nodes and before.nodes and after.nodes:
            facts = {"nodes": names(sorted(after.nodes)), "others": names(sorted(before.nodes))}
            yield _("The room is made on %(nodes)s instead of %(others)s.") % facts
        if before.revisions != after.revisions and after.revisions:
            yield _("Policy revision %(new)s is in force.") % {"new": max(after.revisions)}


def since_opened(request: ApprovalRequest) -> RequestDifference | None:
    """What has changed since the request was opened; None when it was never renewed."""
    if all(plan.version == 1 for plan in request.possible):
        return None
    return _difference(request, {pk: rows[0] for pk, rows in request.versions.items() if rows})


def since_read(request: ApprovalRequest, mark: str) -> RequestDifference | None:
    """What has changed since a person looked; None when nothing has, or the mark is of another request."""
    read = request.read(mark)
    if read is None or all(
        plan.pk in read and _number(read[plan.pk]) == plan.version for plan in request.possible
    ):
        return None
    return _difference(request, read)


def _difference(request: ApprovalRequest, before: Mapping[int, Plan | PlanVersion]) -> RequestDifference:
    ended = {
        job
        for pk, version in before.items()
        for row in request.versions[pk]
        if row.number > _number(version)
        for job in row.ended
    }
    return RequestDifference(asked_for(before.values()), asked_for(request.possible), frozenset(ended))


def _stopped(more: int, fewer: int, *, instead: bool) -> str:
    """So many jobs are stopped in addition, so many no longer; `instead`: of some that have ended."""
    if more and fewer:
        return ngettext(
            "%(more)s is stopped instead of %(fewer)s.", "%(more)s are stopped instead of %(fewer)s.", more
        )
    if fewer:
        return ngettext("%(fewer)s is no longer stopped.", "%(fewer)s are no longer stopped.", fewer)
    if instead:
        return ngettext("%(more)s is stopped instead.", "%(more)s are stopped instead.", more)
    return ngettext("%(more)s is stopped as well.", "%(more)s are stopped as well.", more)


def _making_room(more: int, fewer: int, *, instead: bool) -> str:
    """The same where some of them only give something up, and go on."""
    if more and fewer:
        return ngettext(
            "%(more)s makes room instead of %(fewer)s.", "%(more)s make room instead of %(fewer)s.", more
        )
    if fewer:
        return ngettext("%(fewer)s no longer makes room.", "%(fewer)s no longer make room.", fewer)
    if instead:
        return ngettext("%(more)s makes room instead.", "%(more)s make room instead.", more)
    return ngettext("%(more)s makes room as well.", "%(more)s make room as well.", more)


def _number(version: Plan | PlanVersion) -> int:
    return version.version if isinstance(version, Plan) else version.number


def _cancelled(victims: Iterable[dict[str, Any]]) -> int:
    return sum(victim["how"] == How.CANCEL for victim in victims)


def _highest(victims: dict[Run, dict[str, Any]], policy: PartitionPolicy) -> list[int]:
    """The highest level among them on each axis that the mode looks at; what has no level comes last."""
    ranks = {level.name: rank for rank, level in enumerate(policy.levels)}
    axes = {Mode.USER: ["user_level"], Mode.TASK: ["task_level"]}.get(
        policy.mode, ["user_level", "task_level"]
    )
    return [
        min((ranks.get(victim.get(axis, ""), len(ranks)) for victim in victims.values()), default=len(ranks))
        for axis in axes
    ]


def _who(runs: Sequence[Run], version: AskedFor) -> str:
    return names(
        _("%(job)s (%(user)s)") % {"job": run[0], "user": version.victims[run].get("user", "")}
        for run in runs
    )
