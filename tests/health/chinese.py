"""What the doctor says, as a page in Chinese has it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.model.sentence import Sentence

DJANGOS = re.compile(r"\w+\.[EW]\d+: ")
"""What Django's own check finds stays English, and is marked so."""


def english_left(findings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The texts that are no sentences: each of these has its Chinese (`test_doctor_sentences.py`)."""
    ours = [
        text for each in findings if not DJANGOS.match(each["what"]) for text in (each["what"], each["fix"])
    ]
    return [text for text in ours if text and not isinstance(text, Sentence)]
