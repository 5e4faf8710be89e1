"""What somebody who decides on a proposed project should have seen: what would reach further than it looks."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.accounts.models import User
from console.core.l10n_format import names
from console.projects.limits import ceiling
from console.projects.models import MemberRole, Membership, Project, ProjectProposal, rules_in_force
from console.projects.selectors import with_rules
from console.projects.services import ProjectData, as_wanted

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
