"""Pages as tests read them: how a template is laid out is no matter."""

import re
from typing import Any


def flat(page: Any) -> str:
    """The markup of a response (or a text) with runs of white space as one blank, and none at the edge of a tag."""
    text = page if isinstance(page, str) else page.content.decode()
    return re.sub(r"(?<=>) | (?=<)", "", re.sub(r"\s+", " ", text))


def words_of(page: str) -> str:
    """What a reader has of the markup, without the tags, with one blank between the words."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
