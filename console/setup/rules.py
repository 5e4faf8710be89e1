"""Who may set the installation up."""

import rules

from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator

rules.add_perm(Permission.INSTALLATION_SET_UP, is_administrator)
