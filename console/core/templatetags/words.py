"""Differences in words: the keys of documents and their values as people read them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from console.core import diff, l10n_format
from console.core.labels import label_of
from console.core.templatetags.cut import LISTED, and_more
from console.core.translate import resay
from scheduler.model.policy import SETTINGS
from scheduler.model.sentence import Sentence

register = template.Library()

KEYS: dict[str, Any] = {
    **{key: gettext_lazy(each.about) for key, each in SETTINGS.items()},
    "bands": gettext_lazy("bands, levels by rank"),
    "keyword": gettext_lazy("keyword"),
    "size": gettext_lazy("size"),
    "grade": gettext_lazy("grade"),
    "urgency": gettext_lazy("urgency"),
    "importance": gettext_lazy("importance"),
    "deadline": gettext_lazy("deadline"),
    "members": gettext_lazy("members"),
    "managers": gettext_lazy("managers"),
    "name": gettext_lazy("name"),
    "state": gettext_lazy("state"),
    "role": gettext_lazy("role"),
    "levels": gettext_lazy("level"),
    "quotas": gettext_lazy("quota"),
    "quota_amounts": gettext_lazy("quota of amounts"),
    "quota_totals": gettext_lazy("quota of all users together"),
    "min_score": gettext_lazy("from score"),
    "user_overrides": gettext_lazy("user override"),
    "task_overrides": gettext_lazy("task override"),
    "user_overrides_until": gettext_lazy("end of the user override"),
    "task_overrides_until": gettext_lazy("end of the task override"),
    "task_types": gettext_lazy("task type"),
    "cpus": gettext_lazy("CPUs"),
    "gpus": gettext_lazy("GPUs"),
    "memory_mb": gettext_lazy("memory, MB"),
    "time_s": gettext_lazy("time limit, seconds"),
    "elastic_min": gettext_lazy("keeps workers"),
    "elastic_wish": gettext_lazy("wishes workers"),
    "elastic_how": gettext_lazy("gives up workers"),
    "balanced": gettext_lazy("an even set of processors"),
    "balance": gettext_lazy("equal compute power"),
    "resource": gettext_lazy("measured resource"),
    "max_distance": gettext_lazy("largest difference"),
    "else": gettext_lazy("where no set is even"),
    "applies_to": gettext_lazy("even sets are for"),
    "most_wait_s": gettext_lazy("it waits for an even set at most, seconds"),
    "swap_below_s": gettext_lazy("an exchange only with jobs younger than, seconds"),
    "keyword_users": gettext_lazy("who may use the keyword"),
    "slurm_account": gettext_lazy("Slurm account"),
    "urgency_by": gettext_lazy("urgency comes from"),
    "days_left": gettext_lazy("days left"),
    "hold_days": gettext_lazy("days after the deadline"),
    "urgency_limit": gettext_lazy("urgency without approval, at most"),
    "size_grade": gettext_lazy("who sets size and grade"),
    "size_min": gettext_lazy("smallest size"),
    "size_max": gettext_lazy("largest size"),
    "grade_min": gettext_lazy("smallest grade"),
    "grade_max": gettext_lazy("largest grade"),
    "importance_max": gettext_lazy("importance of a pattern, at most"),
    "managers_set_levels": gettext_lazy("managers give patterns levels"),
    "managers_set_managers": gettext_lazy("managers name managers"),
    "managers_set_account": gettext_lazy("managers set the Slurm account"),
    "tasks": gettext_lazy("task pattern"),
    "projects": gettext_lazy("project"),
    "partitions": gettext_lazy("partition"),
    "admins": gettext_lazy("administrators"),
    "code": gettext_lazy("code"),
    "pattern": gettext_lazy("pattern"),
    "level": gettext_lazy("level"),
    "steps": gettext_lazy("steps"),
    # What only the audit log's rows keep
    "username": gettext_lazy("account"),
    "email": gettext_lazy("E-mail"),
    "cluster_user": gettext_lazy("name on the cluster"),
    "active": gettext_lazy("may sign in"),
    "scope": gettext_lazy("scope"),
    "ends_at": gettext_lazy("ends"),
    "until": gettext_lazy("until"),
    "changes": gettext_lazy("changes"),
    "days": gettext_lazy("days that are studied"),
    "policies": gettext_lazy("policies"),
    "filter": gettext_lazy("filter"),
    "since": gettext_lazy("since"),
    "actor": gettext_lazy("by whom"),
    "action": gettext_lazy("action"),
    "object_type": gettext_lazy("kind of object"),
    "object_id": gettext_lazy("object"),
    "partition": gettext_lazy("partition"),
    "project": gettext_lazy("project"),
    "plan": gettext_lazy("plan"),
    "request": gettext_lazy("request"),
    "text": gettext_lazy("words"),
    "rows": gettext_lazy("rows"),
    "up to row": gettext_lazy("up to row"),
    "file": gettext_lazy("file"),
    "faults": gettext_lazy("what is wrong"),
    "checked": gettext_lazy("checked"),
    "kind": gettext_lazy("kind"),
    "words": gettext_lazy("in words"),
    "job": pgettext_lazy("kind of object", "job"),
    "for": gettext_lazy("for job"),
    "hold": gettext_lazy("job to be held"),
    "outcome": gettext_lazy("outcome"),
    "detail": gettext_lazy("what was said"),
    "saved": gettext_lazy("what it saved"),
    "via": gettext_lazy("told by"),
    "victims": gettext_lazy("jobs to be stopped"),
    "nodes": gettext_lazy("nodes"),
    "jobs": gettext_lazy("jobs"),
    "count": gettext_lazy("how many"),
    "nice": gettext_lazy("Slurm's nice value"),
    "user": gettext_lazy("user"),
    "how": gettext_lazy("how"),
    "start": gettext_lazy("start, epoch seconds"),
    "restarts": gettext_lazy("restarts"),
    "user_level": gettext_lazy("user level"),
    "task_level": gettext_lazy("task level"),
    "user_origin": gettext_lazy("where the user level comes from"),
    "task_origin": gettext_lazy("where the task level comes from"),
    "resources": gettext_lazy("holds"),
    "amounts": gettext_lazy("amounts"),
    "ran_s": gettext_lazy("ran, seconds"),
}
"""Keys of the priority file and of what else the audit log keeps, as people read them."""
WHOSE = "keyword_users"
_SENTENCES = frozenset({"outcome", "detail", "faults", "user_origin", "task_origin", "resources"})
"""Keys of what was kept in English; what is kept now is a sentence wherever it stands."""


_JOBS = frozenset({"job", "jobs", "for", "hold"})
"""Keys of job ids: nobody takes one for a number, and it stands without quotes."""
_HOLDERS = frozenset(
    {"levels", "quotas", "quota_amounts", "quota_totals", "user_overrides_until", "task_overrides_until"}
    | {"user_overrides", "task_overrides", "projects", "partitions", "tasks", "victims"}
)
"""Keys that hold named things: what follows them is a name, and stands as it is."""


@register.filter
def key_words(path: str) -> str:
    """`levels.P0.min_score` as `level P0, from score`."""
    if not path:
        return _("value")
    result: list[str] = []
    holder = ""
    for part in path.split("."):
        if holder:
            result.append(f"{KEYS[holder]} {part}")
            holder = ""
        elif part in _HOLDERS:
            holder = part
        else:
            result.append(str(KEYS.get(part, part)))
    if holder:
        result.append(str(KEYS[holder]))
    return pgettext("between a thing and its part", ", ").join(result)


@register.filter
def json_words(value: Any, path: str = "") -> str:
    """A JSON value as people read it: yes and no, `none`, lists with commas, objects as `key value`; at `path`, where
    that has words of the interface (`least_lost_work`), with these. Of a list of named things, as of a project's
    patterns, the keys within are words too: the list's items stand in the place of names."""
    if path.rpartition(".")[2] == "bands" and isinstance(value, list):
        return _bands(value)
    if _key(path) == WHOSE and (value is None or value == []):
        return _("nobody") if value == [] else _("everybody")
    if value is None or value == "":
        return _("none")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        within = f"{path}.*" if path.rpartition(".")[2] in _HOLDERS and not _is_name(path) else path
        shown = l10n_format.in_a_row(
            json_words(item, within if isinstance(item, Mapping) else path) for item in value[:LISTED]
        ) or _("none")
        return shown if len(value) <= LISTED else and_more(shown, len(value) - LISTED)
    if isinstance(value, Mapping):
        return l10n_format.set_in_type(_items(path, value)) or _("none")
    if isinstance(value, str) and _key(path) in _JOBS:
        return value
    label = label_of(_key(path) or _holder(path), value) if isinstance(value, str) else None
    if label is None and (
        isinstance(value, Sentence) or (isinstance(value, str) and _key(path) in _SENTENCES)
    ):
        label = resay(value)
    return label or diff.words(value)


def spelled_out(difference: diff.KeyDifference) -> diff.KeyDifference:
    """With both sides where a key that is left out means something: a keyword that names nobody is everybody's."""
    if _key(difference.path) != WHOSE or not isinstance(difference.before or difference.after or [], list):
        return difference
    return replace(difference, change=diff.KeyChange.CHANGED)


def _items(path: str, value: Mapping[str, Any]) -> str:
    return pgettext("between things", "; ").join(_item(path, str(key), item) for key, item in value.items())


def _item(path: str, key: str, item: Any) -> str:
    within = f"{path}.{key}" if path else key
    name, words = key if _is_name(within) else key_words(key), json_words(item, within)
    return f"{name} {words}" if l10n_format.is_english() else l10n_format.with_label(name, words)


def _is_name(path: str) -> bool:
    """Whether the end of a path is the name of something: a user may be called `mode`."""
    name = False
    holder = False
    for part in path.split("."):
        name, holder = holder, not holder and part in _HOLDERS
    return name


def _key(path: str) -> str:
    """The key at the end of a path; empty where there is a name."""
    return "" if _is_name(path) else path.rpartition(".")[2]


def _holder(path: str) -> str:
    """The key that holds the names, of which the end of the path is one."""
    return path.rpartition(".")[0].rpartition(".")[2]


def _bands(bands: list[Any]) -> str:
    """`[0, 1], [2, unconfigured]`: which levels are one band is all that matters."""
    return l10n_format.in_a_row(
        f"[{l10n_format.in_a_row(_('unconfigured') if rank is None else str(rank) for rank in band)}]"
        for band in bands
    )
