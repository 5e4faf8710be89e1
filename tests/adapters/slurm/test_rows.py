"""squeue's table: rows cannot be forged, lost or cut off unnoticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.adapters.slurm import rows
from scheduler.adapters.slurm.jobs import waiting
from scheduler.adapters.slurm.rows import Table

OWN = (
    "41_2|57|N/A|RUNNING|1|-5|2|1|0|2026-11-20T17:50:20|2026-11-20T17:50:24|2026-11-20T17:50:24|1:00:00|N/A|1|4|OK||"
    "cpu=4,mem=200M,node=1,billing=4|N/A|gres:gpu:2|N/A|N/A|N/A|N/A|||n3"
)  # fmt: skip
FREE = ["x", "ann", "None", "(null)", "(null)", "(null)", "(null)", "(null)", "(null)", "(null)", "train"]
# What a user can write: anything but NUL, which ends a text in C.
ANYTHING = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=60)


def printed(table: Table, *free: list[str], own: str = OWN) -> str:
    """What squeue prints for rows with these free texts."""
    return "".join(f"{own}{table.mark}.{f'{table.mark}.'.join(texts)}{table.mark};\n" for texts in free)


def test_a_row_decodes() -> None:
    table = Table.fresh()
    [record] = table.records(printed(table, FREE))
    row = rows.decode(record)

    assert (row.id, row.raw_id, row.array_id, row.het_id) == ("41_2", "57", "41", "")
    assert (row.state, row.restarts, row.batch, row.requeue, row.nice) == ("RUNNING", 2, True, False, -5)
    assert row.start is not None
    assert row.start - row.submit == 4
    assert (row.per_node, row.per_job, row.node_list) == ("gres:gpu:2", "", "n3")
    assert (row.partitions, row.user, row.name, row.comment, row.account) == (("x",), "ann", "train", "", "")


@given(st.lists(st.tuples(ANYTHING, ANYTHING, ANYTHING, ANYTHING), max_size=4))
def test_whatever_users_write_comes_back_and_makes_no_other_rows(
    texts: list[tuple[str, str, str, str]],
) -> None:
    table = Table.fresh()
    free = [[*FREE[:6], account, wckey, "(null)", comment, name] for account, wckey, comment, name in texts]

    found = [rows.decode(record) for record in table.records(printed(table, *free))]

    assert [row.name for row in found] == [name for *_, name in texts]
    for row, (account, wckey, comment, _) in zip(found, texts, strict=True):
        assert row.account in {account, ""}
        assert row.wckey in {wckey, ""}
        assert row.comment in {comment, ""}
        assert (row.id, row.user) == ("41_2", "ann")


def test_a_mark_is_new_each_time_and_is_no_width() -> None:
    marks = {Table.fresh().mark for _ in range(50)}

    assert len(marks) == 50
    assert all(mark[0].isalpha() and mark.isalnum() and len(mark) >= 10 for mark in marks)


def test_the_mark_of_another_call_is_just_text() -> None:
    old, table = Table.fresh(), Table.fresh()
    name = f"x{old.mark};\n{OWN}{old.mark}."

    [record] = table.records(printed(table, [*FREE[:-1], name]))

    assert rows.decode(record).name == name


def test_the_same_row_is_the_same_record_in_every_call() -> None:
    first, second = Table.fresh(), Table.fresh()

    assert first.records(printed(first, FREE)) == second.records(printed(second, FREE))


@pytest.mark.parametrize("cut", [1, 2, 20, 80])
def test_a_table_that_is_cut_off_is_an_error(cut: int) -> None:
    table = Table.fresh()

    with pytest.raises(ValueError, match="cut off"):
        table.records(printed(table, FREE, FREE)[:-cut])


def test_no_jobs_are_no_records() -> None:
    assert Table.fresh().records("") == []


def test_a_nul_is_an_error() -> None:
    table = Table.fresh()
    with pytest.raises(ValueError, match="NUL"):
        table.records(printed(table, [*FREE[:-1], "a\x00b"]))


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (OWN.replace("|OK|", "|O|K|"), "29 and 11 fields"),
        (OWN.replace("|OK|", "|"), "27 and 11 fields"),
        (OWN.replace("2026-11-20T17:50:20", "N/A"), "no submit time"),
        (OWN.replace("|1:00:00|", "|whenever|"), "no time limit"),
        (OWN.replace("RUNNING|1|-5", "RUNNING|high|-5"), "high"),
    ],
)
def test_a_row_with_a_wrong_field_is_an_error(own: str, words: str) -> None:
    table = Table.fresh()
    [record] = table.records(printed(table, FREE, own=own))

    with pytest.raises(ValueError, match=words):
        rows.decode(record)


def test_a_fault_names_the_job_but_no_text_of_users() -> None:
    assert rows.name_of("41_2|57|N/A|…") == "job 41_2"
    assert rows.name_of("<script>|…") == "a job"
    assert rows.name_of("") == "a job"


@pytest.mark.parametrize(
    ("said", "alone"),
    [
        ("|OK||", False),
        ("|NO||", True),
        ("|USER||", True),
        # Slurm 26.05 says NO of every plain job, and the rest in a column of its own.
        ("|NO|NO|", False),
        ("|NO|NODE|", True),
        ("|NO|USER|", True),
        ("|OK|TOPO|", True),
    ],
)
def test_who_shares_its_nodes_with_nobody(said: str, *, alone: bool) -> None:
    assert rows.decode(rows.FIELD.join([OWN.replace("|OK||", said), *FREE])).alone is alone


def test_what_a_refused_row_has_is_kept_and_the_rest_is_named() -> None:
    own = OWN.replace("|1:00:00|", "|whenever|").replace("RUNNING|1|-5", "RUNNING|high|-5")
    row = rows.salvage(rows.FIELD.join([own, *FREE]))

    assert row is not None
    assert (row.id, row.state, row.node_list, row.user, row.restarts) == ("41_2", "RUNNING", "n3", "ann", 2)
    assert (row.limit_s, row.priority) == (None, 0)
    assert row.odd == "PriorityLong: 'high' is no number; TimeLimit: 'whenever' is no time limit"


@pytest.mark.parametrize(
    "own", ["", "|57|", "x|57|N/A", "41_2", "8+0|8", "41|57|N/A", OWN.replace("41_2|57", "|")]
)
def test_of_a_row_whose_job_is_not_known_for_sure_nothing_is_kept(own: str) -> None:
    assert rows.salvage(rows.FIELD.join([own, *FREE])) is None


def test_a_part_with_too_many_fields_is_not_believed_at_all() -> None:
    more = rows.salvage(rows.FIELD.join([OWN + "|n4", *FREE]))
    texts = rows.salvage(rows.FIELD.join([OWN, *FREE, "train"]))

    assert more is not None
    assert (more.id, more.state, more.node_list, more.name) == ("41_2", "", "", "train")
    assert more.odd == "its row has 29 and 11 fields, not 28 and 11"
    assert texts is not None
    assert (texts.state, texts.node_list, texts.user, texts.partitions) == ("RUNNING", "n3", "?", ())


@pytest.mark.parametrize(
    ("start", "eligible", "expected"),
    [
        ("2026-11-20T20:00:00", "2026-11-20T17:50:24", True),
        ("N/A", "2026-11-20T17:50:24", False),
        # Behind jobs without a time limit, which slurmctld plays as a year long each.
        ("2027-11-19T17:50:24", "2026-11-20T17:50:24", False),
        # Its user lets it begin next year: that is an expectation.
        ("2027-11-19T17:50:24", "2027-11-19T17:00:00", True),
    ],
)
def test_a_start_in_a_year_is_no_expectation(start: str, eligible: str, *, expected: bool) -> None:
    words = OWN.replace("RUNNING", "PENDING").replace(
        "|2026-11-20T17:50:24|2026-11-20T17:50:24|", f"|{start}|{eligible}|"
    )
    row = rows.decode(rows.FIELD.join([words, *FREE]))

    assert (waiting(row, "").estimated_start is not None) == expected
