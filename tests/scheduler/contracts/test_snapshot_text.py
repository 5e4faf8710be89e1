"""The text of a snapshot that is kept in pieces is the text of the whole."""

import json
from dataclasses import replace

from scheduler.contracts.snapshot import encode_snapshot
from scheduler.contracts.snapshot_text import SnapshotText
from tests.builders import pending, running, snapshot
from tests.scheduler.random_partitions import random_partition


def test_it_is_the_text_of_the_document_whatever_was_written_before() -> None:
    writer = SnapshotText()
    for number in range(60):
        some = random_partition(number)
        for each in (some, replace(some, now=some.now + 1), replace(some, jobs=some.jobs[1:])):
            whole = json.dumps(encode_snapshot(each), separators=(",", ":"), sort_keys=True)
            assert writer.of(each) == whole


def test_a_job_that_is_another_one_now_is_written_anew() -> None:
    writer = SnapshotText()
    first = snapshot([running("1"), pending("2")])
    changed = replace(first, jobs=(replace(first.jobs[0], restarts=3), first.jobs[1]))
    assert '"restarts":3' not in writer.of(first)
    assert '"restarts":3' in writer.of(changed)
