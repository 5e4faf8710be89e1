"""Projects, from which priorities are derived (document 000, ¶64-¶69, ¶182, ¶196)."""

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from scheduler.priority.score import user_score

SMALLEST = 0.000001
positive = MinValueValidator(SMALLEST, _("Must be above zero."))


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
        ]

    def __str__(self) -> str:
        return self.code

    @property
    def score(self) -> float:
        """The members' score: size / grade * urgency (¶182)."""
        return user_score(self.size, self.grade, self.urgency)


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
