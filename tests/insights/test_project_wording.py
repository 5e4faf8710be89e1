"""The sentences that name projects."""

from types import SimpleNamespace
from typing import cast

from console.insights.answers import Insights, ProjectBalance
from console.insights.wording import projects

HOUR = 3600.0


def test_a_sentence_begins_with_a_capital_also_for_jobs_of_no_project() -> None:
    rows = [ProjectBalance("", suffered=2, lost={"gpu": HOUR}), ProjectBalance("alpha", made=2)]
    found = SimpleNamespace(sees_projects=True, projects=rows)
    told = projects(cast(Insights, found))
    assert told.startswith("alpha gained the most: ")
    assert told.endswith(". Jobs of no known project paid the most: 1 GPU-hour lost by 2 stops.")
