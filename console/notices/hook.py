"""Notices by webhook: one signed POST per batch, a JSON list. The receiver tells repeats by each notice's `id`."""

import hashlib
import hmac
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from console.core import clock
from console.notices import texts
from console.notices.models import Notice
from console.notices.outbox import HOOK
from console.notices.recipients import Spoken

BATCH = 500
TIMEOUT_S = 5


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What is signed for one address is sent to no other."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def post_notices(until: float) -> int:
    """Send what is due, while there is time (`time.monotonic()`); returns how many notices were sent."""
    sent, spoken = 0, Spoken()
    while time.monotonic() < until and (notices := HOOK.claim(clock.now(), BATCH)):
        why = _post([spoken.to(notice.user, document, notice) for notice in notices])
        if why:
            HOOK.failed(notices, why)
            break
        HOOK.sent(notices)
        sent += len(notices)
    return sent


def _post(documents: Sequence[dict[str, Any]]) -> str:
    """Empty when the receiver has taken them, else why not; the address, which may hold a secret, is not in it."""
    body = json.dumps(documents, ensure_ascii=False).encode()
    request = urllib.request.Request(  # noqa: S310 - the settings allow http and https only
        settings.GIVEWAY_WEBHOOK_URL,
        data=body,
        headers=headers_for(body, int(clock.now().timestamp())),
        method="POST",
    )
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT_S):
            return ""
    except urllib.error.HTTPError as error:
        error.close()
        return f"the receiver answered {error.code}"
    except urllib.error.URLError as error:
        return f"the receiver cannot be reached: {error.reason}"
    except (OSError, http.client.HTTPException) as error:
        return f"the receiver did not answer properly: {type(error).__name__} {error}"


def headers_for(body: bytes, now: int) -> dict[str, str]:
    """The signature is over the time and the body, so that an old message cannot be played again."""
    secret = settings.GIVEWAY_WEBHOOK_SECRET.encode()
    signature = hmac.new(secret, f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "User-Agent": "Giveway",
        "X-Giveway-Timestamp": str(now),
        "X-Giveway-Signature": f"sha256={signature}",
    }


def document(notice: Notice) -> dict[str, Any]:
    """A notice as it is sent, in the language that is active. `id` and `key` stay the same when it is sent again."""
    return {
        "id": notice.pk,
        "key": notice.key,
        "kind": notice.kind,
        "user": notice.user,
        "cluster": notice.cluster,
        "partition": notice.partition,
        "job_id": notice.job_id,
        "plan": notice.plan or None,
        "text": texts.shown(notice),
        "made_at": notice.made_at.isoformat(),
    }
