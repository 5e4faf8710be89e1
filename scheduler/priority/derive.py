"""From projects, keywords, patterns and overrides to a job's levels (spec 1.2), with the reason in words.

1. The project a job belongs to, among those that have its user as a member: the one of its Slurm account, in
   whatever letters (Slurm makes them small); else the one that its wckey or comment names (the code itself, or a
   token `project=<code>`); else the one whose code and an underscore begin its name (the longest code); else the
   user's only or best project.
2. The user's level: an override of the partition that has not ended, else the project's score through the thresholds.
3. The task's level: an override that has not ended, else a level's keyword that begins the job's name and is its
   user's to use, else a pattern of the project (its own level, or an importance that multiplies the score), else
   the score with importance 1.
4. Nothing of that: unconfigured, below every level (¶70).

Where several patterns fit, the longest wins, then the alphabetically first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler.model.jobs import Level, ObservedJob
from scheduler.model.policy import PartitionPolicy, ProjectFacts, TaskRule
from scheduler.model.sentence import Listed, Moment, Sentence, say
from scheduler.priority.globs import Globs, globs
from scheduler.priority.levels import level_of
from scheduler.priority.score import task_score, user_score
from scheduler.priority.task_patterns import TaskPatterns, specific_first

_TOKENS = re.compile(r"[\s,;|]+")
_NOTHING = say("origin.nothing")


@dataclass(frozen=True, slots=True)
class JobStanding:
    """Where a job stands in a partition, and why. A score is None when the job belongs to no project.

    `pattern`: the one of its project that fits its name.
    """

    project: str = ""
    user_score: float | None = None
    task_score: float | None = None
    user_level: Level = None
    task_level: Level = None
    user_origin: str = _NOTHING
    task_origin: str = _NOTHING
    pattern: TaskRule | None = None


@dataclass(frozen=True, slots=True)
class _Override:
    """A level by hand; `until`: the second from which on it counts no more."""

    level: str
    until: int | None


@dataclass(frozen=True, slots=True)
class _Overrides:
    """A partition's overrides of one kind, in the order in which they are tried."""

    globs: Globs
    values: tuple[_Override, ...]

    def of(self, name: str) -> Iterator[_Override]:
        """Those that fit a name."""
        return (self.values[number] for number in self.globs.fitting(name))


@dataclass(frozen=True, slots=True)
class _Known:
    """A project with what is computed once from it."""

    project: ProjectFacts
    score: float
    patterns: TaskPatterns


@dataclass(frozen=True, slots=True)
class _Keyword:
    """A level's keyword and who may use it; None: everybody."""

    word: str
    rank: int
    users: Globs | None

    def is_for(self, user: str) -> bool:
        """Whether the user may use it."""
        return self.users is None or self.users.first(user) is not None


@dataclass(slots=True)
class Deriver:
    """Derives the levels of many jobs of one partition at one moment: compiles once, answers equal questions once.

    `now` is the moment of the observation; overrides that have ended by then count no more.
    """

    policy: PartitionPolicy
    projects: Sequence[ProjectFacts]
    now: int = 0
    _by_user: dict[str, list[_Known]] = field(init=False)
    _user_overrides: _Overrides = field(init=False)
    _task_overrides: _Overrides = field(init=False)
    _keywords: list[_Keyword] = field(init=False)
    _answers: dict[tuple[str, str, str, str, str], JobStanding] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._by_user = {}
        for project in sorted(self.projects, key=lambda project: project.code):
            known = _known(project)
            for user in project.members:
                self._by_user.setdefault(user, []).append(known)
        for theirs in self._by_user.values():
            theirs.sort(key=lambda known: (-known.score, known.project.code))
        policy = self.policy
        self._user_overrides = _overrides(policy.user_overrides, policy.user_overrides_until)
        self._task_overrides = _overrides(policy.task_overrides, policy.task_overrides_until)
        keywords = (
            _Keyword(rule.keyword, rank, None if rule.keyword_users is None else globs(rule.keyword_users))
            for rank, rule in enumerate(self.policy.levels)
            if rule.keyword
        )
        self._keywords = sorted(keywords, key=lambda keyword: -len(keyword.word))

    def derive(self, job: ObservedJob) -> JobStanding:
        """The standing of one job."""
        key = (job.user, job.account, job.wckey, job.comment, job.name)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._derive(job)
        return answer

    def _derive(self, job: ObservedJob) -> JobStanding:
        known = _project_of(job, self._by_user.get(job.user, ()))
        user_level, user_origin = self._user(job.user, known)
        pattern = known.patterns.of(job.name) if known else None
        level, origin = self._task(job.name, job.user, known, pattern)
        if known is None:
            return JobStanding("", None, None, user_level, level, user_origin, origin)
        project = known.project
        importance = pattern.importance if pattern else 1.0
        score = task_score(project.size, project.grade, project.urgency, importance)
        return JobStanding(project.code, known.score, score, user_level, level, user_origin, origin, pattern)

    def _user(self, user: str, known: _Known | None) -> tuple[Level, str]:
        override, ended = self._override(self._user_overrides, user)
        if override is not None:
            return self._by_hand(override)
        level, origin = (None, _NOTHING) if known is None else self._by_score(known, None)
        return level, _with_ended(origin, ended)

    def _task(
        self, name: str, user: str, known: _Known | None, pattern: TaskRule | None
    ) -> tuple[Level, Sentence]:
        override, ended = self._override(self._task_overrides, name)
        if override is not None:
            return self._by_hand(override)
        level, origin = self._by_keyword(name, user, known, pattern)
        return level, _with_ended(origin, ended)

    def _by_keyword(
        self, name: str, user: str, known: _Known | None, pattern: TaskRule | None
    ) -> tuple[Level, Sentence]:
        denied: list[str] = []
        found: tuple[Level, Sentence] | None = None
        for keyword in self._keywords:
            if begins_with_keyword(name, keyword.word):
                if keyword.is_for(user):
                    found = keyword.rank, say("origin.keyword", word=keyword.word)
                    break
                denied.append(keyword.word)
        level, origin = found or self._without_keyword(known, pattern)
        if not denied:
            return level, origin
        code = "origin.denied" if len(denied) == 1 else "origin.denied.many"
        return level, say(code, words=Listed(denied), user=user[:LONGEST_USER], origin=origin)

    def _without_keyword(self, known: _Known | None, pattern: TaskRule | None) -> tuple[Level, Sentence]:
        """What is left when neither an override nor a keyword says the task's level."""
        if known is None:
            return None, _NOTHING
        if pattern and pattern.level is not None:
            level = self.policy.level_index(pattern.level)
            if level is not None:
                return level, say("origin.pattern", pattern=pattern.pattern, code=known.project.code)
        return self._by_score(known, pattern)

    def _override(self, overrides: _Overrides, name: str) -> tuple[_Override | None, _Override | None]:
        """The override that counts, and, where none does, the first one that has ended."""
        ended = None
        for each in overrides.of(name) if overrides.values else ():
            if each.until is None or self.now < each.until:
                return each, None
            ended = ended or each
        return None, ended

    def _by_hand(self, override: _Override) -> tuple[Level, Sentence]:
        level = self.policy.level_index(override.level)
        if override.until is None:
            return level, say("origin.override")
        return level, say("origin.override.until", moment=Moment(override.until))

    def _by_score(self, known: _Known, pattern: TaskRule | None) -> tuple[Level, Sentence]:
        project = known.project
        factors = f"{project.size:g} ÷ {project.grade:g} × {project.urgency:g}"
        score, given, more = known.score, {"code": project.code}, ""
        if pattern:
            score = task_score(project.size, project.grade, project.urgency, pattern.importance)
            factors += f" × {pattern.importance:g}"
            given["pattern"], more = pattern.pattern, ".pattern"
        level = level_of(score, self.policy.levels)
        given["sum"] = f"{factors} = {score:.6g}"
        if level is None:
            return level, say(f"origin.below{more}", **given)
        return level, say(f"origin.score{more}", **given, level=self.policy.level_name(level))


def _with_ended(origin: Sentence, ended: _Override | None) -> Sentence:
    """The origin, with the override that would count had it not ended."""
    if ended is None or ended.until is None:
        return origin
    return say("origin.ended", origin=origin, level=ended.level, moment=Moment(ended.until))


LONGEST_USER = 64
"""Characters of a user's name in the words; in Slurm it may be anything."""
MOST_ANSWERS = 200_000
"""So many are kept from one moment to the next; then it begins anew."""


def deriver_for(
    policy: PartitionPolicy, projects: Sequence[ProjectFacts], now: int, last: Deriver | None
) -> Deriver:
    """The deriver of the last moment, if all its answers still hold, else a new one.

    They do as long as policy and projects are the same and no override has ended since.
    """
    if (
        last is None
        or last.policy != policy
        or list(last.projects) != list(projects)
        or len(last._answers) > MOST_ANSWERS  # noqa: SLF001 - its own module
        or not last.now <= now
        or any(last.now < end <= now for end in _ends(policy))
    ):
        return Deriver(policy, projects, now)
    last.now = now
    return last


def _ends(policy: PartitionPolicy) -> Iterator[int]:
    yield from policy.user_overrides_until.values()
    yield from policy.task_overrides_until.values()


def derive(
    job: ObservedJob, policy: PartitionPolicy, projects: Sequence[ProjectFacts], now: int = 0
) -> JobStanding:
    """The standing of one job in one partition; for many jobs keep a `Deriver`."""
    return Deriver(policy, projects, now).derive(job)


def begins_with_keyword(name: str, keyword: str) -> bool:
    """Whether a job's name is the keyword, or the keyword and then anything but a letter or digit."""
    return name.startswith(keyword) and not name[len(keyword) : len(keyword) + 1].isalnum()


def _known(project: ProjectFacts) -> _Known:
    score = user_score(project.size, project.grade, project.urgency)
    return _Known(project, score, TaskPatterns(project.tasks))


def _overrides(levels: Mapping[str, str], until: Mapping[str, int]) -> _Overrides:
    patterns = tuple(specific_first(levels))
    values = tuple(_Override(levels[pattern], until.get(pattern)) for pattern in patterns)
    return _Overrides(globs(patterns), values)


def _project_of(job: ObservedJob, theirs: Sequence[_Known]) -> _Known | None:
    """Step 1 above; `theirs` are the user's projects, the highest score first."""
    if len(theirs) <= 1:
        return theirs[0] if theirs else None
    if job.account:
        account = job.account.lower()
        for known in theirs:
            if known.project.slurm_account.lower() == account:
                return known
    for known in theirs:
        if _names(job.wckey.lstrip("*"), known.project.code) or _names(job.comment, known.project.code):
            return known
    named = [known for known in theirs if job.name.startswith(f"{known.project.code}_")]
    return max(named, key=lambda known: len(known.project.code)) if named else theirs[0]


def _names(text: str, code: str) -> bool:
    """Whether a wckey or a comment names the project (Slurm marks a default wckey with a star in front)."""
    return text == code or (f"project={code}" in text and f"project={code}" in _TOKENS.split(text))
