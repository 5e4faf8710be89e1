"""What the doctor says, as a page in Chinese has it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils import translation

from console.core.resaying import resaid

DJANGOS = re.compile(r"\w+\.[EW]\d+: ")
"""What Django's own check finds stays English, and is marked so."""


def english_left(findings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sentences that no line fits, with the names and numbers that stand in them."""
    ours = [(each["what"], each["fix"]) for each in findings if not DJANGOS.match(each["what"])]
    with translation.override("zh-hans"):
        return [text for texts in ours for text in texts if resaid(text) is None]
