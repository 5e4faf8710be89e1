"""Which jobs a page is asked for, by its address: search, user, project, level, state, node, partition."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.cluster.models import Job, JobPhase

UNCONFIGURED = "none"
LONGEST = 100
FIELDS = ("q", "user", "project", "level", "phase", "node", "partition")
"""The parameters, as they stand in the address."""

STATES: dict[str, tuple[Promise | str, Q]] = {
    **{value: (label, Q(phase=value)) for value, label in JobPhase.choices},
    "held": (_("Held"), Q(phase=JobPhase.PENDING, held=True)),
    "plan": (_("Part of an open plan"), Q(plan__isnull=False)),
    "protected": (_("Protected"), ~Q(protected="")),
    "stopped": (_("Stopped before"), Q(preemptions__gt=0)),
}
"""`phase=` in the address: where a job is, and what else people look for."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are wanted; both lists of a page share it."""

    text: str = ""
    level: str = ""
    user: str = ""
    project: str = ""
    phase: str = ""
    node: str = ""
    partition: str = ""

    @classmethod
    def read(cls, query: QueryDict) -> "JobFilter":
        """From the address; what makes no sense is left out."""

        def typed(name: str) -> str:
            return query.get(name, "").replace("\x00", "").strip()[:LONGEST]

        level, phase = typed("level"), typed("phase")
        return cls(
            text=typed("q"),
            level=level if (level.isdecimal() and len(level) < 5) or level == UNCONFIGURED else "",
            user=typed("user"),
            project=typed("project"),
            phase=phase if phase in STATES else "",
            node=typed("node"),
            partition=typed("partition"),
        )

    def apply(self, jobs: QuerySet[Job], axis: str) -> QuerySet[Job]:
        """The jobs that pass; `axis` is the level that `level` means."""
        if self.text:
            jobs = jobs.filter(
                Q(job_id__startswith=self.text)
                | Q(name__icontains=self.text)
                | Q(user__icontains=self.text)
                | Q(project__iexact=self.text)
            )
        exact = {"user": self.user, "project": self.project, "partition": self.partition}
        jobs = jobs.filter(**{name: value for name, value in exact.items() if value})
        if self.phase:
            jobs = jobs.filter(STATES[self.phase][1])
        if self.node:
            jobs = jobs.filter(alloc__has_key=self.node)
        if self.level == UNCONFIGURED:
            return jobs.filter(**{f"{axis}__isnull": True})
        return jobs.filter(**{axis: int(self.level)}) if self.level else jobs

    @property
    def active(self) -> bool:
        """Whether anything is left out."""
        return self != JobFilter()

    @property
    def further(self) -> list[str]:
        """What is asked for beyond the search, the level and the state."""
        return [value for value in (self.user, self.project, self.node, self.partition) if value]


def kept_parameters(query: QueryDict, *names: str) -> list[tuple[str, str]]:
    """The parameters of the address that a poll is to carry along, as hidden fields."""
    wanted = (*FIELDS, *names)
    return [(name, value) for name in wanted for value in query.getlist(name) if value]
