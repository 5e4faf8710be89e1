"""The two ways of giving a job fewer nodes, and no other: while it waits held after a requeue, and while it runs.

What was tried on 22.05.8, 24.11.5 and 26.05.5:

- A number of nodes goes together with the numbers of tasks and of CPUs. Then slurmctld refuses the whole update of a
  job that runs ("Job is no longer pending execution"), so that a job that was let go meanwhile is not shrunk instead;
  and 22.05 finds no room for a job with so many tasks per node where only its nodes are told ("BadConstraints").
- A running job is told the nodes that it keeps. The node of its batch script has to be one of them ("Invalid node
  name").
- slurmctld 24.11 and 26.05 die when a job is shrunk whose step holds GPUs. So whether a job holds generic resources
  is asked node by node right before, and one that does is refused.
- 22.05 without slurmdbd resizes a job once ("the DB index is being set", for ever).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scheduler.adapters.slurm import details, values
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.config import Config
from scheduler.adapters.slurm.details import JobDetails
from scheduler.adapters.slurm.errors import Meaning, SlurmUnavailableError, meaning_of, shortened
from scheduler.adapters.slurm.look import LookResult
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.observation import Resizing
from scheduler.model.sentence import say

TRIED = ("22.05.", "24.11.", "26.05.")
"""Beginnings of the versions on which both ways were seen to work."""
ONCE = ("22.05.",)
STORAGE = "accounting_storage/slurmdbd"
FORBIDDEN = "disable_job_shrink"
DONE = ActionOutcome(OutcomeKind.DONE)
ALREADY = ActionOutcome(OutcomeKind.ALREADY)

Call = Callable[..., dict[str, ActionOutcome]]
"""One command for jobs, with an outcome for each (`write.Writer`)."""


def ways(config: Config) -> frozenset[Resizing]:
    """How this cluster gives jobs fewer nodes; none on a version that was not tried."""
    facts = config.facts or {}
    if not config.version.startswith(TRIED):
        return frozenset()
    if FORBIDDEN in facts.get("SchedulerParameters", "").split(","):
        return frozenset({Resizing.RESTART})
    kept = facts.get("AccountingStorageType", "").strip() == STORAGE
    once = config.version.startswith(ONCE) and not kept
    return frozenset({Resizing.RESTART, Resizing.IN_PLACE_ONCE if once else Resizing.IN_PLACE})


@dataclass(frozen=True, slots=True)
class Resizer:
    """Carries out one group of such actions, job by job, and looks whether it came to be."""

    runner: CommandRunner
    call: Call
    look: Callable[[Sequence[str]], LookResult[QueueRow]]
    ways: frozenset[Resizing]

    def resize(self, actions: Sequence[Action], seen: Mapping[str, QueueRow]) -> dict[str, ActionOutcome]:
        """One outcome per job; `seen`: each as it is now, let pass by `guard`. Raises nothing."""
        one = self._shrink if actions[0].kind is ActionKind.SHRINK else self._restart_with
        return {action.run.job_id: self._safely(one, action, seen[action.run.job_id]) for action in actions}

    def _safely(
        self, one: Callable[[Action, QueueRow], ActionOutcome], action: Action, row: QueueRow
    ) -> ActionOutcome:
        try:
            return one(action, row)
        except SlurmUnavailableError as error:
            return _unknown(str(error))
        except ValueError as error:
            return _unknown(f"what it holds is not understood: {error}")

    def _restart_with(self, action: Action, row: QueueRow) -> ActionOutcome:
        if Resizing.RESTART not in self.ways:
            return _refused(say("resize.untried"))
        wanted = int(action.value)
        words = self._details(row).words
        nodes = _nodes(words)
        tasks, cpus = _first_number(words, "NumTasks"), _first_number(words, "NumCPUs")
        if not _names_nodes(words, nodes, tasks):
            return _refused(say("resize.no_nodes", tasks=tasks))
        if nodes == wanted:
            return ALREADY
        if tasks * wanted % nodes or cpus * wanted % nodes:
            return _refused(say("resize.uneven", tasks=tasks, cpus=cpus, nodes=nodes, wanted=wanted))
        job = row.id
        done = self.call(
            "scontrol", [job], "update", f"JobId={job}", f"NumNodes={wanted}-{wanted}",
            f"NumTasks={tasks * wanted // nodes}", f"NumCPUs={cpus * wanted // nodes}",
        )[job]  # fmt: skip
        if done.kind is not OutcomeKind.DONE:
            return done
        if _nodes(self._details(row).words) != wanted:
            return _unknown("it was given another number of nodes and is not seen to have it")
        return DONE

    def _shrink(self, action: Action, row: QueueRow) -> ActionOutcome:
        if not self.ways & {Resizing.IN_PLACE, Resizing.IN_PLACE_ONCE}:
            return _refused(say("resize.not_in_place"))
        text = self._details(row)
        if refusal := _refusal(action.value, row, text):
            return refusal
        keeps = [name for name in values.nodes(row.node_list) if name in action.value.split(",")]
        job = row.id
        done = self.call("scontrol", [job], "update", f"JobId={job}", f"NodeList={','.join(keeps)}")[job]
        if done.kind is OutcomeKind.UNKNOWN and meaning_of(done.detail) is Meaning.NOT_YET:
            once = Resizing.IN_PLACE_ONCE in self.ways
            return _refused(say("resize.once")) if once else done
        if done.kind is not OutcomeKind.DONE:
            return done
        now = self.look([job]).jobs.get(job)
        if now is None or set(values.nodes(now.node_list)) != set(keeps):
            return _unknown("it was made smaller and is not seen to be; look again")
        return DONE

    def _details(self, row: QueueRow) -> JobDetails:
        answer = self.runner.run("scontrol", "--oneliner", "--details", "--all", "show", "job", row.id)
        text = details.find_alone(answer.out, row) if answer.code == 0 else None
        if text is None:
            raise ValueError(shortened(answer.err) or "scontrol tells nothing of it")
        return text


def _refusal(value: str, row: QueueRow, text: JobDetails) -> ActionOutcome | None:
    """Why a running job is not shrunk, by what scontrol tells of it; None when it may be."""
    granted = details.granted(text)
    if granted.job_gres or any(grant.gres for grant in granted.grants):
        return _refused(say("resize.gres"))
    told = {name for grant in granted.grants for name in grant.nodes}
    if told != set(values.nodes(row.node_list)):
        # As of a job that has grown while it ran: what it holds there is not known.
        return _unknown("what it holds on each of its nodes is not told")
    first = text.words.get("BatchHost", "")
    if first not in value.split(","):
        return _refused(say("resize.first_node", node=first))
    return None


def _nodes(words: Mapping[str, str]) -> int:
    """How many nodes a waiting job asks for. Of one that has run, 22.05 goes on telling those as its NumNodes."""
    asked = values.tres(words.get("ReqTRES", words.get("TRES", "")))
    return _first_number(asked, "node")


def _names_nodes(words: Mapping[str, str], nodes: int, tasks: int) -> bool:
    """Whether a waiting job has asked for a number of nodes, not for tasks wherever there is room. Those have a least
    number of 1, and 22.05 does not tell them from `-N1`."""
    each = words.get("NtasksPerN:B:S:C", "0").partition(":")[0]
    return nodes > 1 or tasks == 1 or each != "0" or words.get("NumNodes") == f"{nodes}-{nodes}"


def _first_number(words: Mapping[str, str], key: str) -> int:
    """The number itself, or the lower end of a range. Raises ValueError."""
    number = values.number(words.get(key, "").partition("-")[0])
    if number < 1:
        raise ValueError(f"{key} is not told")
    return number


def _refused(why: str) -> ActionOutcome:
    return ActionOutcome(OutcomeKind.REFUSED, why)


def _unknown(words: str) -> ActionOutcome:
    return ActionOutcome(OutcomeKind.UNKNOWN, shortened(words))
