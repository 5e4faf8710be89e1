"""Who may act on a processor that stands out."""

import rules

from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator
from console.partitions.rules import administers

rules.add_perm(Permission.NODE_DRAIN, is_administrator | administers)
