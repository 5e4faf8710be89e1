"""Projects, from which priorities are derived (document 000, ¶64-¶69, ¶182, ¶196)."""

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from console.core import clock
from console.projects.rulebook import Rules, decode_rules
from scheduler.contracts.config import BY_DEADLINE, BY_HAND
from scheduler.model.policy import LONGEST_GROUP_NAME
from scheduler.priority.deadline import Turn, turns, urgency_on
from scheduler.priority.score import user_score

SMALLEST = 0.000001
positive = MinValueValidator(SMALLEST, _("Must be above zero."))
at_least_one = MinValueValidator(1)


class UrgencyBy(models.TextChoices):
    """Where a project's urgency comes from."""

    HAND = BY_HAND, _("By hand")
    DEADLINE = BY_DEADLINE, _("By deadline")


class Project(models.Model):
    """A project: the larger, the better its grade (1 is best) and the more urgent, the higher its members rank."""

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="projects")
    code = models.CharField(
        _("code"),
        max_length=64,
        validators=[
            RegexValidator(
                r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", _("Letters, digits, dot, dash and underscore only.")
            )
        ],
        help_text=_(
            "Short and lasting. Job names that start with the code and an underscore belong to the project."
        ),
    )
    name = models.CharField(_("name"), max_length=200)
    size = models.FloatField(
        _("size"), validators=[positive], help_text=_("How large it is: people, money, any unit you keep.")
    )
    grade = models.FloatField(
        _("grade"), validators=[positive], help_text=_("Its rank: 1 is the most important.")
    )
    urgency = models.FloatField(
        _("urgency"), validators=[positive], help_text=_("How near delivery is: larger is more urgent.")
    )
    urgency_by = models.CharField(
        _("urgency by"), max_length=10, choices=UrgencyBy.choices, default=UrgencyBy.HAND
    )
    deadline = models.DateField(
        _("deadline"), null=True, blank=True, help_text=_("The last day. The urgency rises towards it.")
    )
    slurm_account = models.CharField(
        _("Slurm account"),
        max_length=64,
        blank=True,
        help_text=_("Its members' jobs on this account belong to it."),
    )
    version = models.PositiveIntegerField(default=1)
    """Grows with every change; a form carries it, so that an old tab cannot undo a newer change."""
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["code"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "code"], name="projects_project_code_unique"),
            models.CheckConstraint(
                condition=models.Q(size__gt=0, grade__gt=0, urgency__gt=0),
                name="projects_project_numbers_positive",
            ),
            models.CheckConstraint(
                condition=models.Q(urgency_by=BY_HAND)
                | models.Q(urgency_by=BY_DEADLINE, deadline__isnull=False),
                name="projects_project_deadline_there",
            ),
        ]

    def __str__(self) -> str:
        return self.code

    @cached_property
    def rules(self) -> Rules:
        """The rules in force; a list gives all of its projects the same ones (`selectors.with_rules`)."""
        return rules_in_force()

    @property
    def urgency_now(self) -> float:
        """The urgency that counts today: the one given by hand, or what the deadline makes of it."""
        if self.urgency_by == UrgencyBy.HAND or self.deadline is None:
            return self.urgency
        return urgency_on(self.rules.schedule, self.urgency, self.deadline, clock.today())

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every change that the deadline brings, past and coming; none when the urgency is set by hand."""
        if self.urgency_by == UrgencyBy.HAND or self.deadline is None:
            return ()
        return turns(self.rules.schedule, self.urgency, self.deadline)

    @property
    def next_turn(self) -> Turn | None:
        """When the urgency changes next, and to what."""
        return next((turn for turn in self.turns if turn.day > clock.today()), None)

    @property
    def waiting_request(self) -> "UrgencyRequest | None":
        """What was asked for and is not decided; `visible_projects` has fetched it."""
        return next((each for each in self.requests.all() if each.state == RequestState.WAITING), None)

    @property
    def score(self) -> float:
        """The members' score today: size / grade * urgency (¶182)."""
        return user_score(self.size, self.grade, self.urgency_now)


class MemberRole(models.TextChoices):
    """What somebody is in a project."""

    MEMBER = "member", _("Member")
    MANAGER = "manager", _("Manager")


class Membership(models.Model):
    """A member (a user of the cluster, by name there) or a manager (an account of the console, by name here).

    By name, not by key: a priority file may name people who have not signed in yet.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    username = models.CharField(max_length=150)
    role = models.CharField(max_length=10, choices=MemberRole.choices)

    class Meta:
        ordering = ["username"]
        constraints = [
            models.UniqueConstraint(fields=["project", "username", "role"], name="projects_membership_unique")
        ]
        indexes = [models.Index(fields=["username", "role"])]

    def __str__(self) -> str:
        return f"{self.username} ({self.role})"


class TaskPattern(models.Model):
    """Job names of the project with an importance, or a level, of their own (¶69)."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tasks")
    pattern = models.CharField(_("pattern"), max_length=200, help_text=_("Shell style: alpha_eval*"))
    importance = models.FloatField(_("importance"), default=1.0, validators=[positive])
    level = models.CharField(_("level"), max_length=40, blank=True, help_text=_("Instead of an importance."))
    one_request = models.BooleanField(_("one request"), default=False)
    elastic_min = models.PositiveIntegerField(
        _("keeps workers"), null=True, blank=True, validators=[at_least_one]
    )
    elastic_wish = models.PositiveIntegerField(_("wishes workers"), null=True, blank=True)

    class Meta:
        ordering = ["pattern"]
        constraints = [
            models.UniqueConstraint(fields=["project", "pattern"], name="projects_taskpattern_unique"),
            models.CheckConstraint(
                condition=models.Q(importance__gt=0), name="projects_taskpattern_importance_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.pattern

    def clean(self) -> None:
        """Raises `ValidationError` for what no field alone can tell."""
        if self.one_request and len(self.pattern) > LONGEST_GROUP_NAME:
            longest = {"most": LONGEST_GROUP_NAME}
            raise ValidationError(
                _("At most %(most)d characters, for its jobs are one request named after it.") % longest
            )
        if self.elastic_wish is not None and self.elastic_min is None:
            raise ValidationError(_("Say how many workers an elastic task keeps, too."))
        if (
            self.elastic_wish is not None
            and self.elastic_min is not None
            and self.elastic_wish < self.elastic_min
        ):
            raise ValidationError(_("It cannot wish for fewer workers than it keeps."))


class ProjectRules(models.Model):
    """What the administrators set for all projects of the installation: one row, or none as long as nobody has.

    `document` holds the schedule of urgency and the limits for managers (`console/projects/rulebook.py`).
    """

    document = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(pk=1), name="projects_rules_one_row")]

    def __str__(self) -> str:
        return f"version {self.version}"


def rules_in_force() -> Rules:
    """The rules that the administrators have set, or those of an installation where nobody has."""
    document = ProjectRules.objects.filter(pk=1).values_list("document", flat=True).first()
    return decode_rules(document or {})


class RequestState(models.TextChoices):
    """What became of a request."""

    WAITING = "waiting", _("Waiting")
    APPROVED = "approved", _("Approved")
    REJECTED = "rejected", _("Rejected")
    WITHDRAWN = "withdrawn", _("Withdrawn")


class UrgencyRequest(models.Model):
    """An urgency that a manager wants and an administrator has to allow; the project keeps its own meanwhile."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="requests")
    urgency = models.FloatField(validators=[positive])
    urgency_by = models.CharField(max_length=10, choices=UrgencyBy.choices)
    deadline = models.DateField(null=True)
    state = models.CharField(max_length=10, choices=RequestState.choices, default=RequestState.WAITING)
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField()
    reason = models.TextField()
    decided_by = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True)
    decision_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project"],
                condition=models.Q(state="waiting"),
                name="projects_one_waiting_request",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=RequestState.values), name="projects_request_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"request {self.pk}"


class ProjectProposal(models.Model):
    """A project that a manager would like to have; nothing counts of it until an administrator makes it one."""

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="proposals")
    code = models.CharField(max_length=64)
    document = models.JSONField()
    """What is proposed, as an entry of the priority file."""
    share = models.CharField(max_length=300, blank=True)
    """What it needs of partitions, in words: quotas belong to levels, which others set."""
    became = models.JSONField(null=True)
    """The entry that it was accepted as."""
    state = models.CharField(max_length=10, choices=RequestState.choices, default=RequestState.WAITING)
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField()
    reason = models.TextField()
    decided_by = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True)
    decision_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["asked_by", "state"])]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=RequestState.values), name="projects_proposal_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"proposal {self.pk}"

    @property
    def state_words(self) -> str:
        """A proposal is accepted as a project, where an urgency that is asked for is approved."""
        return str(_("Accepted") if self.state == RequestState.APPROVED else self.get_state_display())
