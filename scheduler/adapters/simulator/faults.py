"""Faults that a test can script: an unreachable cluster, partial answers, refusals, lost answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from scheduler.model.actions import Action, ActionKind


class FaultEffect(StrEnum):
    """What goes wrong with an action."""

    REFUSE = "refuse"
    """The cluster says no, with the fault's words."""
    LOSE_ANSWER = "lose_answer"
    """The action is carried out, but nobody hears of it: the outcome is unknown."""
    LOSE_REQUEST = "lose_request"
    """The action never arrives; the outcome is unknown too."""


@dataclass(slots=True)
class ActionFault:
    """Strikes actions of `kind` on `job` (None: of any kind, on any job), `times` times (None: always)."""

    effect: FaultEffect
    words: str = ""
    kind: ActionKind | None = None
    job: str | None = None
    times: int | None = None

    def strikes(self, action: Action) -> bool:
        """Whether it is this fault's turn."""
        return (
            (self.times is None or self.times > 0)
            and (self.kind is None or self.kind is action.kind)
            and (self.job is None or self.job == action.run.job_id)
        )


@dataclass(slots=True)
class Faults:
    """What is wrong at present. An empty `unavailable` and empty lists: nothing.

    `unavailable`: why the cluster cannot be reached at all. `partial`: what an observation says it could not
    read; it then lacks the nodes in `hidden_nodes` and the jobs in `hidden_jobs`.
    """

    unavailable: str = ""
    partial: tuple[str, ...] = ()
    hidden_nodes: frozenset[str] = frozenset()
    hidden_jobs: frozenset[str] = frozenset()
    actions: list[ActionFault] = field(default_factory=list)

    def break_down(self, words: str = "Unable to contact slurm controller (connect failure)") -> None:
        """From now on the cluster cannot be reached."""
        self.unavailable = words

    def answer_partially(self, *words: str, nodes: Sequence[str] = (), jobs: Sequence[str] = ()) -> None:
        """From now on observations lack these nodes and jobs, and say so."""
        self.partial = words or ("some records could not be read",)
        self.hidden_nodes, self.hidden_jobs = frozenset(nodes), frozenset(jobs)

    def add(self, fault: ActionFault) -> None:
        """Script one fault of actions; the first one that matches strikes."""
        self.actions.append(fault)

    def mend(self) -> None:
        """Everything works again."""
        self.unavailable, self.partial = "", ()
        self.hidden_nodes, self.hidden_jobs = frozenset(), frozenset()
        self.actions.clear()

    def strike(self, action: Action) -> ActionFault | None:
        """The fault that strikes this action, counted down, or None."""
        fault = next((fault for fault in self.actions if fault.strikes(action)), None)
        if fault is not None and fault.times is not None:
            fault.times -= 1
        self.actions = [fault for fault in self.actions if fault.times is None or fault.times > 0]
        return fault
