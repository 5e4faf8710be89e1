"""The answer in sentences, the first of which answers the question; the tables beside them have all of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.core import l10n_format
from console.core.translate import resay
from console.steering.work import work_short, work_words
from scheduler.model.resource_kinds import COUNTED

Doc = Mapping[str, Any]
LEAST_JOBS = 10
"""A level with fewer says little: the first sentence is about the highest that has as many, if one has."""
LEAST_S = 60
NOT_FOLLOWED = {
    "quotas": gettext_lazy("quotas"),
    "balance": gettext_lazy("sets of equal compute power"),
    "dispatch": gettext_lazy("nodes kept for who waits"),
    "order": gettext_lazy("Slurm’s own order of the line (here higher levels go first)"),
    "task_types": gettext_lazy("what task types need"),
}


@dataclass(frozen=True, slots=True)
class Told:
    """`sentence` answers the question; `paid` says who would have waited longer for it, empty when nobody; `ranges` how
    sure that is; `beside` compares with what really was."""

    sentence: str
    paid: str
    ranges: str
    beside: str
    assumed: tuple[str, ...]


def told_of(doc: Doc) -> Told:
    """The sentences of an answer."""
    return Told(_sentence(doc), _paid(doc), _ranges(doc), _beside(doc), tuple(_assumed(doc)))


def urgent(doc: Doc) -> Doc:
    """The highest level with enough jobs, else the highest; all jobs where none has a level."""
    levels = [each for each in doc["levels"] if each["rank"] is not None]
    enough = [each for each in levels if each["jobs"] >= LEAST_JOBS]
    return next(iter(enough or levels), doc["all"])


def level_name(group: Doc) -> str:
    """A level as people call it."""
    name = str(group["name"])
    return resay(name) if group["rank"] is None else name


def _who(group: Doc) -> str:
    if "name" not in group:
        return _("all jobs")
    return _("the jobs of %(level)s") % {"level": level_name(group)}


def _sentence(doc: Doc) -> str:
    group = urgent(doc)
    before = l10n_format.duration(group["without"]["mean_s"]["value"])
    after = l10n_format.duration(group["with_policy"]["mean_s"]["value"])
    facts = {"who": _who(group), "after": after, "before": before}
    if after == before:
        waits = (
            _("With this policy %(who)s would have waited %(after)s on average, as without Giveway") % facts
        )
    else:
        waits = (
            _("With this policy %(who)s would have waited %(after)s on average instead of %(before)s") % facts
        )
    stops = int(doc["all"]["stops"]["value"])
    if not stops:
        return _("%(waits)s; nobody would have been stopped.") % {"waits": waits}
    form = ngettext("%(waits)s; %(n)d stop, %(work)s lost.", "%(waits)s; %(n)d stops, %(work)s lost.", stops)
    return form % {"waits": waits, "n": stops, "work": work_words(lost_of(doc["all"]))}


def longer(group: Doc) -> float:
    """By how many seconds jobs would have waited longer on average."""
    return float(group["with_policy"]["mean_s"]["value"] - group["without"]["mean_s"]["value"])


def _paid(doc: Doc) -> str:
    """The level that loses most, of those with enough jobs; no less than a minute counts."""
    enough = [each for each in doc["levels"] if each["jobs"] >= LEAST_JOBS and each is not urgent(doc)]
    group = max(enough, key=longer, default=None)
    if group is None or longer(group) < LEAST_S:
        return ""
    return _("For that %(who)s would have waited %(after)s on average instead of %(before)s.") % {
        "who": _who(group),
        "after": l10n_format.duration(group["with_policy"]["mean_s"]["value"]),
        "before": l10n_format.duration(group["without"]["mean_s"]["value"]),
    }


def _ranges(doc: Doc) -> str:
    if doc["runs"] < 2:
        return _("There was time for one run only, so how much hangs on chance is not known.")
    waited, stops = urgent(doc)["with_policy"]["mean_s"], doc["all"]["stops"]
    return _(
        "In %(runs)d runs, with submissions up to %(shift)s earlier or later: %(wait)s of waiting, %(stops)s stops,"
        " lost %(work)s."
    ) % {
        "runs": doc["runs"],
        "shift": l10n_format.duration(doc["shift_s"]),
        "wait": _span(l10n_format.duration(waited["low"]), l10n_format.duration(waited["high"])),
        "stops": _span(f"{stops['low']:g}", f"{stops['high']:g}"),
        "work": _span(lost_words(doc["all"], "low"), lost_words(doc["all"], "high")),
    }


def _span(low: str, high: str) -> str:
    """From one to the other, in words; one text where they are the same."""
    return low if low == high else _("%(low)s to %(high)s") % {"low": low, "high": high}


def _beside(doc: Doc) -> str:
    every = doc["all"]
    return _(
        "Really all jobs waited %(recorded)s on average; the simulation without Giveway says %(without)s. The nearer"
        " these two, the better the simulation fits this partition."
    ) % {
        "recorded": l10n_format.duration(every["recorded"]["mean_s"]),
        "without": l10n_format.duration(every["without"]["mean_s"]["value"]),
    }


def _assumed(doc: Doc) -> Iterable[str]:
    nodes = doc["nodes"]
    yield ngettext(
        "The partition as it is today: %(n)d node of %(what)s, up all the time.",
        "The partition as it is today: %(n)d nodes of %(what)s, up all the time.",
        nodes["count"],
    ) % {"n": nodes["count"], "what": l10n_format.amounts(nodes["per_node"])}
    if nodes.get("has", nodes["count"]) > nodes["count"]:  # answers of before 26 November 2026 have all count
        yield _("It has %(has)d; no more were up in half of the recorded minutes.") % {"has": nodes["has"]}
    if not nodes["alike"]:
        yield _("Its nodes differ; they are counted as so many equal ones as have as much together.")
    yield _("Jobs ran as long as they did, and were submitted when they were, however long they waited.")
    yield _("Projects, levels and overrides are those of today; the policy counts as if it enforced.")
    yield _("Nothing of a stopped job was saved: it begins anew. With checkpoints less is lost.")
    yield _(
        "Memory, features, licences, reservations, dependencies and limits of users are not simulated; every job can"
        " be requeued. Jobs that have not ended, or that Giveway stopped, are missing."
    )
    if doc["not_followed"]:
        names = [str(NOT_FOLLOWED.get(each, each)) for each in doc["not_followed"]]
        yield _("Of the policy these do not count: %(names)s.") % {"names": l10n_format.names(names)}
    yield from _missing(doc)


def _missing(doc: Doc) -> Iterable[str]:
    left = doc["left_out"]
    if left["too_large"]:
        largest = left["largest"][0]
        wants = {name: largest[name] for name in COUNTED if largest.get(name)}
        yield ngettext(
            "%(n)d job is left out because it is larger than the partition is today: %(job)s had %(nodes)s nodes with"
            " %(wants)s.",
            "%(n)d jobs are left out because they are larger than the partition is today; the largest, %(job)s, had"
            " %(nodes)s nodes with %(wants)s.",
            left["too_large"],
        ) % {
            "n": left["too_large"],
            "job": largest["job"],
            "nodes": largest["nodes"],
            "wants": l10n_format.amounts(wants),
        }
    if left["asks_nothing"]:
        yield ngettext(
            "%(n)d job is left out because it is not known what it held.",
            "%(n)d jobs are left out because it is not known what they held.",
            left["asks_nothing"],
        ) % {"n": left["asks_nothing"]}
    if doc["cut"]:
        yield _("There were more jobs than are simulated at once: only the newest count.")


def lost_of(group: Doc, which: str = "value") -> dict[str, float]:
    """The work that is lost, in seconds of the dearest resource that is; `which` of the range."""
    lost = group["lost_s"]
    dearest = next((name for name in COUNTED if name in lost and lost[name]["high"]), None)
    return {} if dearest is None else {dearest: lost[dearest][which]}


def lost_words(group: Doc, which: str) -> str:
    """An end of its range in words: `1.4 GPU-h`, `0`."""
    lost = lost_of(group, which)
    return work_short(lost) if any(lost.values()) else "0"
