"""Nodes out of service and back: `scontrol update NodeName=… State=DRAIN Reason=…`, and `State=UNDRAIN`.

UNDRAIN takes the drain away and nothing else: a node that is down stays down, which RESUME would change. Slurm keeps
the reason with who gave it and when behind it (`Reason=… [root@2026-05-01T10:00:00]`).
"""

import re
from dataclasses import dataclass

from scheduler.adapters.slurm.allowed import is_node
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import (
    SlurmUnavailableError,
    complaints,
    outcome_of,
    shortened,
    unavailable,
)
from scheduler.adapters.slurm.nodes import reason_of, words_of
from scheduler.model.actions import ActionOutcome, OutcomeKind

DONE = ActionOutcome(OutcomeKind.DONE)
ALREADY = ActionOutcome(OutcomeKind.ALREADY)
_BY_WHOM = re.compile(r"\s*\[[^\[\]]*@[^\[\]]*\]$")
_NO_NODE = re.compile("not found|invalid node name", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SlurmNodes:
    """Drains nodes and puts them back. Looks at the node right before: what somebody else has done stays."""

    runner: CommandRunner

    def drain(self, node: str, reason: str) -> ActionOutcome:
        """As `NodePort` says."""
        return self._change(node, reason, drained=True)

    def put_back(self, node: str, reason: str) -> ActionOutcome:
        """As `NodePort` says."""
        return self._change(node, reason, drained=False)

    def _change(self, node: str, reason: str, *, drained: bool) -> ActionOutcome:
        if not is_node(node):
            return ActionOutcome(OutcomeKind.REFUSED, "that is no name of a node")
        try:
            is_drained, why = self._look(node)
            if is_drained and why != reason:
                return ActionOutcome(OutcomeKind.REFUSED, shortened(why or "no reason"))
            if is_drained is drained:
                return ALREADY
            more = ["State=DRAIN", f"Reason={reason}"] if drained else ["State=UNDRAIN"]
            answer = self.runner.run("scontrol", "update", f"NodeName={node}", *more)
        except LookupError as error:
            return ActionOutcome(OutcomeKind.GONE, shortened(str(error.args[0])))
        except SlurmUnavailableError as error:
            return ActionOutcome(OutcomeKind.UNKNOWN, shortened(str(error)))
        if answer.code == 0:
            return DONE
        said = complaints(answer.err).general
        return outcome_of(said[0]) if said else ActionOutcome(OutcomeKind.UNKNOWN, "scontrol said nothing")

    def _look(self, node: str) -> tuple[bool, str]:
        """Whether it is drained, and its reason. Raises `LookupError` for no such node, `SlurmUnavailableError`."""
        answer = self.runner.run("scontrol", "--oneliner", "--all", "show", "node", node)
        said = f"{answer.err} {answer.out}".strip()
        if not answer.out.startswith("NodeName="):
            if _NO_NODE.search(said):
                raise LookupError(said)
            raise unavailable("scontrol", said)
        state = words_of(answer.out).get("State", "")
        return "DRAIN" in re.split(r"[^A-Z_]+", state), _BY_WHOM.sub("", reason_of(answer.out))
