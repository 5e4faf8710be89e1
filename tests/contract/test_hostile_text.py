"""Contract: whatever users write into names and comments comes back as it is, and forges nothing."""

import pytest

from scheduler.model.jobs import JobState
from tests.contract.harness import Harness, Work, find, wait_for

HOSTILE = {
    "separators": "a|b,c;d\te=f UserId=root(0)",
    "quotes": 'it\'s "quoted" `id` $(id) \\n %s {0}',
    "html": "<script>alert(1)</script>&amp;",
    "unicode": "naïve 名前 🚀 \u202egnp",
    "long": "x" * 500,
    "option": "--name=other",
    "none": "(null)",
    "lines": "first\nJobId=1 JobName=forged JobState=RUNNING\n1|root|RUNNING",
    "spaces": "  two  spaces  inside and around ",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_and_comment_come_back_unchanged(harness: Harness, text: str) -> None:
    plain = harness.submit(Work("bob", "plain", comment="plain"))
    hostile = harness.submit(Work("ann", text, comment=text, gpus={"gpu": 2}))
    seen = wait_for(harness, JobState.RUNNING, plain, hostile)

    assert seen.faults == ()
    assert {job.id for job in seen.jobs} == {plain, hostile}
    job = find(seen, hostile)
    assert (job.name, job.user) == (text, "ann")
    # Slurm writes "(null)" for no comment: the two cannot be told apart.
    assert job.comment == text or (job.comment, text) == ("", "(null)")
    assert sum(part["gpu"] for part in job.alloc.values()) == 2
    other = find(seen, plain)
    assert (other.name, other.comment, other.user) == ("plain", "plain", "bob")
