"""Every action that the audit log knows, by name; a new one is a line in a module of `console.audit.actions`.

`record` refuses what is not here and what lacks a fact, so that a row can always be read and rendered.
"""

from console.audit.actions import accounts, clusters, configuration, log, steering
from console.audit.actions.kinds import AuditAction

ACTIONS: dict[str, AuditAction] = {
    action.name: action
    for subject in (configuration, accounts, steering, log, clusters)
    for action in subject.ACTIONS
}


def known(name: str) -> AuditAction:
    """The action called `name`; `ValueError` when there is none."""
    action = ACTIONS.get(name)
    if action is None:
        raise ValueError(f"The audit log knows no action '{name}'; add it to console/audit/actions.")
    return action
