"""Levels to begin with: what is proposed, and on which level every project and its members would stand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from console.core.rows import Rows
from console.core.translate import resay
from console.partitions.documents import level_document, path_steps
from scheduler.contracts.config import decode_policy
from scheduler.contracts.errors import InputError
from scheduler.model.jobs import Level
from scheduler.model.policy import LevelRule, Mode, PartitionPolicy, ProjectFacts
from scheduler.priority.levels import level_of
from scheduler.priority.score import user_score
from scheduler.priority.thresholds import proposed

NAMES = ("P0", "P1", "P2")
MOST_SHOWN = 200
"""Projects in the preview; those with the highest scores come first."""
FEW = 8
"""So many members are named at once; the others on demand."""


@dataclass(frozen=True, slots=True)
class ProjectLevel:
    """A project, its score, and the level that it gives its members."""

    code: str
    score: float
    members: list[str]
    index: Level
    name: str

    @property
    def first(self) -> list[str]:
        """The members that are named at once."""
        return self.members[:FEW]

    @property
    def others(self) -> list[str]:
        """The members that are named on demand."""
        return self.members[FEW:]


@dataclass(frozen=True, slots=True)
class ProjectsOnLevel:
    """How many projects, and how many of their members, stand on a level."""

    index: Level
    name: str
    projects: int
    people: int


@dataclass(frozen=True, slots=True)
class ThresholdPreview:
    """All projects through the thresholds, the highest score first. `left`: how many more there are."""

    projects: list[ProjectLevel] = field(default_factory=list)
    counts: list[ProjectsOnLevel] = field(default_factory=list)
    left: int = 0

    @property
    def filled(self) -> list[ProjectsOnLevel]:
        """The levels on which anybody stands, the unconfigured among them."""
        return [each for each in self.counts if each.projects]

    @property
    def together(self) -> ProjectsOnLevel | None:
        """The one level on which all of several projects stand: nobody would be stopped for anybody."""
        only = self.filled[0] if len(self.filled) == 1 else None
        return only if only and only.projects > 1 else None

    @property
    def nobody(self) -> bool:
        """Whether not one person would have a level."""
        return not any(each.people for each in self.counts if each.index is not None)


def score_of(project: ProjectFacts) -> float:
    """What its members score today."""
    return user_score(project.size, project.grade, project.urgency)


def starting_levels(projects: Sequence[ProjectFacts]) -> list[LevelRule]:
    """Three levels that spread the projects which are there. Nobody may use their keywords until somebody is named."""
    thresholds = proposed([score_of(project) for project in projects], len(NAMES))
    return [
        LevelRule(name, threshold, name.lower(), ())
        for name, threshold in zip(NAMES, thresholds, strict=True)
    ]


def typed_levels(rows: Rows) -> list[LevelRule] | None:
    """The levels that valid rows say; None when they make no sense, the reason being at the field by then."""
    filled = rows.filled
    if not filled:
        return []
    document = {"name": "-", "mode": Mode.USER.value, "levels": [level_document(row) for _i, row in filled]}
    try:
        return list(decode_policy(document).levels)
    except InputError as error:
        match path_steps(error.path):
            case ["levels", index, name, *_rest] if name in rows.form.base_fields:
                rows.forms[filled[int(index)][0]].add_error(name, resay(error.message))
            case _:
                rows.forms[filled[0][0]].add_error(None, resay(error.message))
        return None


def previewed(projects: Sequence[ProjectFacts], levels: Sequence[LevelRule]) -> ThresholdPreview:
    """Where every project's members would stand; overrides, keywords and patterns come on top of it."""
    policy = PartitionPolicy("", levels=tuple(levels))
    found = sorted(
        (_standing(project, policy) for project in projects), key=lambda each: (-each.score, each.code)
    )
    by_level: Counter[Level] = Counter(each.index for each in found)
    people: dict[Level, set[str]] = {}
    for each in found:
        people.setdefault(each.index, set()).update(each.members)
    ranks: list[Level] = [*range(len(levels)), None]
    counts = [
        ProjectsOnLevel(rank, _name(policy, rank), by_level[rank], len(people.get(rank, ())))
        for rank in ranks
        if rank is not None or by_level[rank]
    ]
    return ThresholdPreview(found[:MOST_SHOWN], counts, max(0, len(found) - MOST_SHOWN))


def _standing(project: ProjectFacts, policy: PartitionPolicy) -> ProjectLevel:
    score = score_of(project)
    rank = level_of(score, policy.levels)
    return ProjectLevel(project.code, score, sorted(project.members), rank, _name(policy, rank))


def _name(policy: PartitionPolicy, rank: Level) -> str:
    return policy.level_name(rank) if rank is not None else resay(policy.level_name(rank))
