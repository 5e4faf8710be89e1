"""How long, and how large, everything may get that a person sets: one table, for pages, API and priority file alike.

`docs/limits.md` is this table for readers; a test compares the two. A number is set by the environment
(`GIVEWAY_MOST_MEMBERS=10000`), but for those that the columns of the database fix.
"""

from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound: how much unless the environment says otherwise, of what, and what is said to who goes beyond it.

    `said` has a place for the bound (`most`) and one for what was sent (`n`); the fix stands in it.
    """

    default: int
    of: str
    said: Any = ""
    fixed: bool = False


LIMITS: Mapping[str, Bound] = {
    "body": Bound(2 * MB, "bytes of a request to the API"),
    "file": Bound(10 * MB, "bytes of a priority file, imported over the API or at the shell, and of a form"),
    "page_file": Bound(2 * MB, "bytes of a priority file that is uploaded on its page"),
    "file_rows": Bound(
        200_000,
        "rows of a priority file: projects, people, patterns, levels, overrides together",
        _("The file has %(n)d rows, at most %(most)d are imported at once: divide it into several files."),
    ),
    "file_changes": Bound(
        2_000,
        "projects and partitions that one import makes or changes: nobody else writes meanwhile",
        _("%(n)d projects and partitions would change, at most %(most)d do at once: divide the file."),
    ),
    "projects": Bound(
        20_000,
        "projects of a cluster",
        _("There are %(n)d projects, at most %(most)d are kept: delete one that is over."),
    ),
    "proposals": Bound(
        3,
        "projects that one person proposes and that wait for a decision",
        _(
            "%(n)d of your proposals wait already, at most %(most)d do: withdraw one, or wait for its decision."
        ),
    ),
    "proposals_a_day": Bound(
        10,
        "projects that one person proposes within a day",
        _("You have proposed %(n)d projects within a day, at most %(most)d: go on tomorrow."),
    ),
    "partitions": Bound(
        1_000,
        "partitions of a cluster that have a policy",
        _("There are %(n)d partitions, at most %(most)d are kept: look at the names in the file."),
    ),
    "members": Bound(
        5_000,
        "members of a project",
        _("%(n)d members are too many, at most %(most)d: divide them between several projects."),
    ),
    "managers": Bound(
        100, "managers of a project", _("%(n)d managers are too many, at most %(most)d: name fewer.")
    ),
    "admins": Bound(
        100,
        "administrators of a partition",
        _("%(n)d administrators are too many, at most %(most)d: name fewer."),
    ),
    "patterns": Bound(
        200,
        "patterns of job names of a project",
        _("%(n)d patterns are too many, at most %(most)d: let one pattern fit several names."),
    ),
    "size": Bound(
        10**9,
        "the size of a project",
        _("A size of %(n).15g is too large, at most %(most)d: count in a larger unit."),
    ),
    "grade": Bound(
        10**6,
        "the grade of a project",
        _("A grade of %(n).15g is too large, at most %(most)d: 1 is the best."),
    ),
    "urgency": Bound(
        1_000,
        "the urgency of a project, and of a step of the schedule",
        _("An urgency of %(n).15g is too large, at most %(most)d: size and grade say the rest."),
    ),
    "importance": Bound(
        1_000,
        "the importance of a pattern",
        _("An importance of %(n).15g is too large, at most %(most)d: it multiplies the score."),
    ),
    "wildcards": Bound(
        8,
        "wildcards (`*`, `?`, `[…]`) in a pattern",
        _("%(text)s: %(n)d wildcards are too many, at most %(most)d: spell out more of the name."),
    ),
    "levels": Bound(
        50, "levels of a partition", _("%(n)d levels are too many, at most %(most)d: join some of them.")
    ),
    "bands": Bound(
        51, "bands of a partition", _("%(n)d bands are too many, at most %(most)d: join some of them.")
    ),
    "overrides": Bound(
        200,
        "overrides of users, and again of job names, in a partition",
        _("%(n)d overrides are too many, at most %(most)d: let one pattern fit several names."),
    ),
    "listed": Bound(
        1_000,
        "names or patterns in a list of a policy: who may use a keyword or `--no-requeue`, what is protected",
        _("%(n)d entries are too many, at most %(most)d: let one pattern fit several names."),
    ),
    "resources": Bound(
        50, "different resources that quotas limit", _("At most %(most)d different resources, not %(n)d.")
    ),
    "steps": Bound(50, "steps of the schedule of urgency", _("At most %(most)d steps, not %(n)d.")),
    "drafts": Bound(
        50, "drafts of a partition's policy", _("There are %(n)d drafts, at most %(most)d: delete one.")
    ),
    "tokens": Bound(
        30,
        "API tokens of an account",
        _("You have %(n)d tokens, at most %(most)d: revoke one that is not needed."),
    ),
    "searches": Bound(
        50,
        "saved searches of an account",
        _("You keep %(n)d searches already, at most %(most)d: remove one first."),
    ),
    "studies": Bound(
        3,
        "studies of an account that are not done",
        _("You have %(n)d studies that are not done, at most %(most)d: wait for one, or cancel one."),
    ),
    "invitations": Bound(
        200,
        "open invitations",
        _("There are %(n)d open invitations, at most %(most)d: withdraw one that is not needed."),
    ),
    "repetitions": Bound(
        5_000,
        "`Idempotency-Key`s of an account within a day",
        _("%(n)d keys within a day are too many, at most %(most)d: send the request without one."),
    ),
    "pattern": Bound(
        200,
        "characters of a pattern",
        _("“%(text)s…” has %(n)d characters, at most %(most)d: shorten it with a *."),
        fixed=True,
    ),
    "reason": Bound(
        1_000,
        "characters of a reason",
        _("The reason has %(n)d characters, at most %(most)d: say it more shortly."),
        fixed=True,
    ),
    "user_name": Bound(150, "characters of a user name", fixed=True),
    "project_name": Bound(200, "characters of a project's name", fixed=True),
    "code": Bound(64, "characters of a project's code, a Slurm account, a partition's name", fixed=True),
    "level": Bound(
        40,
        "characters of a level's name",
        _("“%(text)s…” has %(n)d characters, at most %(most)d: choose a shorter name."),
        fixed=True,
    ),
    "keyword": Bound(
        60,
        "characters of a level's keyword",
        _("“%(text)s…” has %(n)d characters, at most %(most)d: choose a shorter keyword."),
        fixed=True,
    ),
    "draft_name": Bound(80, "characters of a draft's name", fixed=True),
    "token_name": Bound(60, "characters of a token's or a saved search's name", fixed=True),
}

POLICY = {
    "levels": "levels",
    "bands": "bands",
    "quotas": "levels",
    "quota_amounts": "levels",
    "quota_totals": "levels",
    "user_overrides": "overrides",
    "task_overrides": "overrides",
    "user_overrides_until": "overrides",
    "task_overrides_until": "overrides",
    "protected_jobs": "listed",
    "protected_users": "listed",
    "protected_accounts": "listed",
    "protected_qos": "listed",
    "no_requeue_users": "listed",
    "task_types": "overrides",
    "admins": "admins",
}
"""Keys of a partition's entry in the priority file that hold lists, and the bound of each."""
PROJECT = {"members": "members", "managers": "managers", "tasks": "patterns"}
"""The same of a project's entry."""
_CHARACTERS = 20


def variable(name: str) -> str:
    """The name of the environment variable that sets a bound."""
    return f"GIVEWAY_MOST_{name.upper()}"


def most(name: str) -> int:
    """How much there may be."""
    limit = LIMITS[name]
    found: int = limit.default if limit.fixed else settings.GIVEWAY_LIMITS[name]
    return found


def beyond(name: str, count: float, text: str = "") -> str:
    """What to say to who goes beyond a bound; empty within it."""
    limit = most(name)
    if count <= limit:
        return ""
    return str(LIMITS[name].said) % {"n": count, "most": limit, "text": text[:_CHARACTERS]}


def no_room(name: str, there: int) -> str:
    """The same where one more is to be made of what there is so many of already."""
    limit = most(name)
    return str(LIMITS[name].said) % {"n": there, "most": limit} if there >= limit else ""


def beyond_in(entry: Any, keys: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Key and fault of each list that is too long in an entry of the priority file, as it was sent.

    Asked before anything is read from it: a list a hundred times too long costs no more than its length.
    """
    if not isinstance(entry, dict):
        return
    for key, name in keys.items():
        value = entry.get(key)
        if isinstance(value, (list, dict)) and (said := beyond(name, len(value))):
            yield key, said


def refuse_beyond(entry: Any, keys: Mapping[str, str]) -> None:
    """Raises `ValidationError` by key for lists that are too long."""
    if found := dict(beyond_in(entry, keys)):
        raise ValidationError({key: [said] for key, said in found.items()})


def pattern_fault(pattern: str) -> str:
    """What is wrong with the length or the wildcards of a pattern; empty when nothing is."""
    count = sum(map(pattern.count, "*?["))
    return beyond("pattern", len(pattern), pattern) or beyond("wildcards", count, pattern)


def rows_of(document: Any) -> int:
    """How many rows a priority file has: what is written, were all of it new."""
    return sum(
        1 + sum(len(value) for key, value in entry.items() if key in keys and isinstance(value, Sized))
        for part, keys in (("projects", PROJECT), ("partitions", POLICY))
        for entry in _entries(document, part)
    )


def _entries(document: Any, part: str) -> Iterator[dict[str, Any]]:
    found = document.get(part) if isinstance(document, dict) else None
    return (entry for entry in (found if isinstance(found, list) else ()) if isinstance(entry, dict))
