"""What this app tells those above it.

`account_saved` is sent inside the transaction that created or changed an account, with `actor`, `user`,
`before` and `after` (dicts, `before` None when new), `reason` and `request_id`. The audit log listens (it
may import accounts, not the other way round); without a listener the services refuse to change anything.

`token_changed` is sent inside the transaction that made (`made`) or revoked one of an account's tokens, with `actor`,
`user`, `token` (its name, scope and end, never the token itself), `reason` and `request_id`.

`sessions_ended` is sent inside the transaction that ended all sessions of an account, with `actor`, `user`,
`reason` and `request_id`.

`not_admitted` is sent when an identity provider or the directory has vouched for somebody who is not let in, with
`name` (theirs over there), `reason` (the sentence that they are shown) and `request_id`.
"""

from django.dispatch import Signal

account_saved = Signal()
token_changed = Signal()
sessions_ended = Signal()
not_admitted = Signal()
