"""One row, one text, one hash: the same on every machine and after a round through either database.

A row is hashed as it is stored, so what is stored must read back as the same values. PostgreSQL keeps JSON
numbers as decimals and no NUL characters, SQLite keeps the text: `storable` leaves only values that both
give back alike.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

FORMAT = "giveway.audit/1"
GENESIS = "0" * 64
"""What stands for "the row before" in the first row."""
FIELDS = (
    "sequence", "at", "actor", "action", "object_type", "object_id", "object_label", "cluster", "partition",
    "project", "job_id", "before", "after", "reason", "cycle", "plan", "policy_revision", "request_id",
    "previous_hash",
)  # fmt: skip
"""Everything in a row but its own hash (and its key, which equals its sequence), and `SAID`."""
SAID = "said"
"""The row's own sentences as data (`told.py`). Hashed where a row has it: rows of before it have not."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ESCAPES = ("\\u0000", "\\ud")
"""How JSON of ASCII letters begins to write NUL and halves of surrogate pairs (and whole pairs, which stay)."""
_EXPONENT_FROM = 1e15


def clean(text: str) -> str:
    """`text` without what PostgreSQL refuses: NUL and halves of surrogate pairs become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def storable(value: Any) -> Any:
    """A JSON value as both databases give it back. `ValueError` or `TypeError` for what is not JSON."""
    text = json.dumps(value, allow_nan=False)
    document = json.loads(text, parse_float=_plain_number)
    # Without an escape of what cannot be kept, which is rare, there is no text to be cleaned.
    return _cleaned(document) if any(escape in text for escape in _ESCAPES) else document


def _plain_number(text: str) -> float:
    """A decimal has no exponent and no negative zero."""
    value = float(text)
    return int(value) if abs(value) >= _EXPONENT_FROM else value + 0.0


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def row_hash(row: Mapping[str, Any]) -> str:
    """SHA-256 (hex) over the canonical JSON of a row's `FIELDS` and `SAID`, its predecessor's hash among them."""
    facts = {"format": FORMAT, **{field: row[field] for field in FIELDS}}
    if row.get(SAID) is not None:
        facts[SAID] = row[SAID]
    at: datetime = facts["at"]
    facts["at"] = at.astimezone(UTC).isoformat(timespec="microseconds")
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
