"""Pages as tests read them: how a template is laid out is no matter."""

import re

from django.http import HttpResponse


def flat(page: HttpResponse | str) -> str:
    """The markup with runs of white space as one blank, and none at the edge of a tag."""
    text = page if isinstance(page, str) else page.content.decode()
    return re.sub(r"(?<=>) | (?=<)", "", re.sub(r"\s+", " ", text))
