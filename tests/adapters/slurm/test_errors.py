"""Slurm's messages: which job they are about, and what they mean."""

import pytest

from scheduler.adapters.slurm.errors import (
    MAX_DETAIL,
    MESSAGES,
    Meaning,
    complaints,
    meaning_of,
    outcome_of,
    shortened,
)
from scheduler.model.actions import OutcomeKind
from tests.adapters.slurm.replay import VERSIONS, recorded_answers


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Nothing modified", OutcomeKind.ALREADY),
        ("Job/step already completing or completed", OutcomeKind.ALREADY),
        ("Job is pending execution", OutcomeKind.ALREADY),
        ("Invalid job id specified", OutcomeKind.GONE),
        ("Job has already finished", OutcomeKind.GONE),
        ("Requested operation is presently disabled", OutcomeKind.REFUSED),
        ("Only batch jobs are accepted or processed", OutcomeKind.REFUSED),
        ("Job not heterogeneous job leader", OutcomeKind.REFUSED),
        ("Job is in held state, pending scheduler release", OutcomeKind.REFUSED),
        ("Access/permission denied", OutcomeKind.REFUSED),
        ("something that nobody has heard of", OutcomeKind.UNKNOWN),
        ("Job can not be altered now, try again later", OutcomeKind.UNKNOWN),
        ("Unable to contact slurm controller (connect failure)", OutcomeKind.UNKNOWN),
        ("Socket timed out on send/recv operation", OutcomeKind.UNKNOWN),
        ("Zero Bytes were transmitted or received", OutcomeKind.UNKNOWN),
        ("Slurm backup controller in standby mode", OutcomeKind.UNKNOWN),
        ("Munge encode failed: Failed to access socket", OutcomeKind.UNKNOWN),
    ],
)
def test_what_messages_come_down_to(message: str, kind: OutcomeKind) -> None:
    outcome = outcome_of(message)

    assert outcome.kind is kind
    assert outcome.detail == message


def test_the_table_is_in_lower_case_and_each_message_is_reached() -> None:
    for text, meaning in MESSAGES:
        assert text == text.lower()
        assert meaning_of(f"error: {text.title()} for whom") is meaning


def test_lines_are_given_to_the_jobs_they_name() -> None:
    told = complaints(
        "Invalid job id specified for job 777\n"
        "Only batch jobs are accepted or processed for job 41_2\n"
        "scancel: error: Kill job error on job id 12: Access/permission denied\n"
        "46_2: Job is pending execution\n"
        "slurm_suspend error: Invalid job id specified\n"
        "\n"
    )

    assert told.named == {
        "777": "Invalid job id specified",
        "41_2": "Only batch jobs are accepted or processed",
        "12": "Access/permission denied",
        "46_2": "Job is pending execution",
    }
    assert told.general == ("slurm_suspend error: Invalid job id specified",)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_complaint_names_its_job_and_is_understood(version: str) -> None:
    for command, code, err in recorded_answers(version):
        told = complaints(err)
        assert bool(told.named) == (code != 0), command
        for job_id, text in told.named.items():
            assert job_id in ",".join(command).replace("JobId=", "").split(",")
            assert any(known in text.lower() for known, _ in MESSAGES), text


def test_details_are_one_bounded_printable_line() -> None:
    assert shortened("a\x1b[31m\nb\t  c\x00") == "a [31m b c"
    assert len(shortened("x" * 1000)) == MAX_DETAIL


def test_what_nobody_has_heard_of_is_looked_at_again_and_is_no_refusal() -> None:
    assert meaning_of("") is Meaning.NOT_UNDERSTOOD


def test_an_error_output_without_end_is_looked_at_in_part() -> None:
    told = complaints("x" * (1 << 24) + "\n" + "for job 1" * (1 << 20))

    assert told.named == {}
    assert len(shortened(told.general[0])) == MAX_DETAIL


def test_a_range_of_tasks_names_each_of_them_and_no_error_names_none() -> None:
    told = complaints(
        "80520_31-33,91: Job has already finished\n80520_36,56-63: No error\n80520_[7-8]: Job is pending execution\n"
    )

    finished = dict.fromkeys(("80520_31", "80520_32", "80520_33", "80520_91"), "Job has already finished")
    assert told.named == finished | dict.fromkeys(("80520_7", "80520_8"), "Job is pending execution")
    assert told.general == ()


@pytest.mark.parametrize("tasks", ["1-", "-", "1,,2", "1-99999999"])
def test_a_range_that_is_none_is_said_of_the_whole_call(tasks: str) -> None:
    line = f"80520_{tasks}: Job has already finished"
    assert complaints(line).named == {}
    assert complaints(line).general == (line,)


def test_a_crontab_job_is_not_changed() -> None:
    assert outcome_of("Cannot modify scrontab jobs for job 7").kind is OutcomeKind.REFUSED
