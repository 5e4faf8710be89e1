"""Who may see the accounts of others, and change them."""

import rules

from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator, reads_everything

rules.add_perm(Permission.PEOPLE_VIEW, reads_everything)
rules.add_perm(Permission.PEOPLE_CHANGE, is_administrator)
