"""Projects that managers propose: proposed, accepted (perhaps changed), rejected, withdrawn; each step is audited.

A proposal is a wish and no more: no cycle reads it, and it names nobody to anything. What it becomes is made by whoever
accepts it, who may create projects anyway. How many a person may have open is bounded, and how many in a day.
"""

from collections.abc import Iterator
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.accounts.models import User
from console.audit.services import Context, Subject, reason_of, record
from console.cluster.models import Cluster
from console.core import clock
from console.core.l10n_format import names
from console.core.limits import no_room
from console.projects.changing import AlreadyDecidedError, ceiling
from console.projects.models import (
    MemberRole,
    Membership,
    Project,
    ProjectProposal,
    RequestState,
    rules_in_force,
)
from console.projects.selectors import visible_projects, with_rules
from console.projects.services import By, ProjectData, as_wanted, create_project, data_of, validate
from scheduler.contracts.config import ConfigProject, decode_project, encode_project
from scheduler.model.policy import ProjectFacts

DAY = timedelta(days=1)


def propose(*, person: User, cluster: Cluster, data: ProjectData, share: str, by: By) -> ProjectProposal:
    """A new proposal. Raises `ValidationError` by field, `reason` and `share` among them, as a new project does."""
    reason = reason_of(by.actor, by.reason)
    share = share.strip()
    validate(as_wanted(Project(cluster=cluster), data), data)
    if not share.isprintable():
        raise ValidationError({"share": _("Must not hold line breaks or other invisible characters.")})
    if visible_projects(person).filter(cluster=cluster, code=data.code).exists():
        # One that is not theirs to see is not told of: codes cannot be guessed. Whoever decides is.
        raise ValidationError({"code": _("There is a project %(code)s already.") % {"code": data.code}})
    with transaction.atomic():
        User.objects.select_for_update().get(pk=person.pk)  # two at once are counted one after the other
        _refuse_too_many(person, cluster, data.code)
        proposal = ProjectProposal.objects.create(
            cluster=cluster,
            code=data.code,
            document=entry_of(data),
            share=share,
            asked_by=person.username,
            asked_at=clock.now(),
            reason=reason,
        )
        _tell("proposed", proposal, by, None, proposal.document)
    return proposal


def _refuse_too_many(person: User, cluster: Cluster, code: str) -> None:
    own = ProjectProposal.objects.filter(asked_by=person.username)
    waiting = own.filter(state=RequestState.WAITING)
    if waiting.filter(cluster=cluster, code=code).exists():
        raise ValidationError({"code": _("You have proposed %(code)s already; it waits.") % {"code": code}})
    full = no_room("proposals", waiting.count()) or no_room(
        "proposals_a_day", own.filter(asked_at__gt=clock.now() - DAY).count()
    )
    if full:
        raise ValidationError({"code": full})


def accept(*, proposal: ProjectProposal, data: ProjectData, by: By) -> Project:
    """Make it a project, as it is or changed. Raises `AlreadyDecidedError`, and what making one raises."""
    with transaction.atomic():
        current = _locked(proposal)
        project = create_project(
            actor=by.actor, cluster=current.cluster, data=data, reason=by.reason, request_id=by.request_id
        )
        current.became = entry_of(data)
        changed = current.became != current.document
        before = current.document if changed else None
        _end(current, RequestState.APPROVED, by)
        _tell("approved", current, by, before, current.became)
    return project


def turn_down(*, proposal: ProjectProposal, by: By) -> ProjectProposal:
    """Refuse it, with a reason. Raises `AlreadyDecidedError`."""
    return _ended(proposal, RequestState.REJECTED, by)


def take_back(*, proposal: ProjectProposal, by: By) -> ProjectProposal:
    """Withdraw it. Raises `AlreadyDecidedError`."""
    return _ended(proposal, RequestState.WITHDRAWN, by)


def _ended(proposal: ProjectProposal, state: RequestState, by: By) -> ProjectProposal:
    reason_of(by.actor, by.reason)
    with transaction.atomic():
        current = _locked(proposal)
        _end(current, state, by)
        _tell(str(state.value), current, by, None, current.document)
    return current


def _locked(proposal: ProjectProposal) -> ProjectProposal:
    rows = ProjectProposal.objects.select_for_update(of=("self",)).select_related("cluster")
    current = rows.get(pk=proposal.pk)
    if current.state != RequestState.WAITING:
        raise AlreadyDecidedError(current)
    return current


def _end(proposal: ProjectProposal, state: RequestState, by: By) -> None:
    proposal.state, proposal.decided_by, proposal.decided_at = state, by.actor, clock.now()
    proposal.decision_reason = by.reason.strip()
    proposal.save(update_fields=["became", "state", "decided_by", "decided_at", "decision_reason"])


def entry_of(data: ProjectData) -> dict[str, object]:
    """A project that is not there yet, as an entry of the priority file."""
    core = ProjectFacts(
        code=data.code,
        size=data.size,
        grade=data.grade,
        urgency=data.urgency,
        slurm_account=data.slurm_account,
        members=frozenset(data.members),
        tasks=tuple(task.rule for task in data.tasks),
    )
    managers = tuple(sorted(data.managers))
    return encode_project(ConfigProject(core, data.name, managers, str(data.urgency_by), data.deadline))


def proposed_data(proposal: ProjectProposal) -> ProjectData:
    """What is proposed, as the services take it."""
    return data_of(decode_project(proposal.document))


def _tell(what: str, proposal: ProjectProposal, by: By, before: object, after: object) -> None:
    """Until it is one, a row is not one of a project: codes that others propose are in nobody's history."""
    entry = proposal.became or proposal.document
    record(
        actor=by.actor,
        action=f"project_proposal.{what}",
        subject=Subject(
            type="project_proposal",
            id=str(proposal.pk),
            label=f"{entry['code']} ({entry['name']})",
            cluster=proposal.cluster.name,
            project=entry["code"] if what == "approved" else "",
        ),
        before=before,
        after=after,
        reason=by.reason,
        context=Context(request_id=by.request_id),
    )


NAMED = 5


def points_of(proposal: ProjectProposal, data: ProjectData) -> list[str]:
    """The points, a sentence each; none for a project like the others. A fixed number of queries."""
    others = with_rules(Project.objects.filter(cluster=proposal.cluster_id).only(*_READ))
    return [*_of_place(proposal, data, others), *_of_people(proposal, data), *_of_patterns(data)]


_READ = ("code", "size", "grade", "urgency", "urgency_by", "deadline", "slurm_account", "cluster")


def _of_place(proposal: ProjectProposal, data: ProjectData, others: list[Project]) -> Iterator[str]:
    if any(each.code == data.code for each in others):
        yield _("There is a project %(code)s already: another code has to be given.") % {"code": data.code}
    twins = [
        each.code for each in others if each.code != data.code and each.code.lower() == data.code.lower()
    ]
    if twins:
        yield _("Its code differs from that of %(projects)s in capitals only.") % {
            "projects": names(twins[:NAMED])
        }
    score = as_wanted(Project(cluster=proposal.cluster), data).score
    highest = max(others, key=lambda each: each.score, default=None)
    if highest is not None and score > highest.score:
        facts = {"score": f"{score:g}", "most": f"{highest.score:g}", "code": highest.code}
        yield (
            _("Its score of %(score)s would be the highest of all; now that is %(code)s with %(most)s.")
            % facts
        )
    account = data.slurm_account.lower()
    sharing = sorted(each.code for each in others if account and each.slurm_account.lower() == account)
    if sharing:
        facts = {"account": data.slurm_account, "projects": names(sharing[:NAMED])}
        yield _("The Slurm account %(account)s is that of %(projects)s already.") % facts
    rules = rules_in_force()
    limit, most = rules.limits.urgency_limit, ceiling(data, rules.schedule)
    if limit is not None and most > limit:
        facts = {"most": f"{most:g}", "limit": f"{limit:g}"}
        yield _("Its urgency comes to %(most)s; managers may set %(limit)s by themselves.") % facts


def _of_people(proposal: ProjectProposal, data: ProjectData) -> Iterator[str]:
    further = sorted(set(data.managers) - {proposal.asked_by})
    if further:
        text = _("It names further managers: %(names)s.")
        yield text % {"names": names(further[:NAMED])}
        known = User.objects.filter(username__in=further[:NAMED_AT_ONCE]).values_list("username", flat=True)
        strangers = sorted(set(further[:NAMED_AT_ONCE]) - set(known))
        if strangers:
            yield _("Nobody here has an account of this name yet: %(names)s.") % {
                "names": names(strangers[:NAMED])
            }
    if not User.objects.filter(username=proposal.asked_by, is_active=True).exists():
        yield _("%(who)s has no account here any more, or one that is switched off.") % {
            "who": proposal.asked_by
        }
    rows = Membership.objects.filter(
        project__cluster=proposal.cluster_id,
        role=MemberRole.MEMBER,
        username__in=data.members[:NAMED_AT_ONCE],
    )
    elsewhere = sorted(set(rows.values_list("username", flat=True)))
    if elsewhere:
        text = ngettext(
            "%(n)d of its members is in another project, too: %(names)s.",
            "%(n)d of its members are in other projects, too: %(names)s.",
            len(elsewhere),
        )
        yield text % {"n": len(elsewhere), "names": names(elsewhere[:NAMED])}


NAMED_AT_ONCE = 500
"""More names in one question are too many for SQLite."""


def _of_patterns(data: ProjectData) -> Iterator[str]:
    own = sorted(task.pattern for task in data.tasks if task.level)
    if own:
        yield _("It gives job names a level of their own: %(names)s.") % {"names": names(own[:NAMED])}
