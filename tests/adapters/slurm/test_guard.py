"""The table that answers an action instead of carrying it out; a later run of a job is never hit."""

from dataclasses import replace

import pytest

from scheduler.adapters.slurm import rows
from scheduler.adapters.slurm.guard import malformed, verdict
from scheduler.adapters.slurm.holds import is_delayed
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.actions import HELD_BY_ADMIN, HELD_BY_USER, STOPPING, Action, ActionKind, OutcomeKind
from scheduler.model.jobs import RunKey
from tests.adapters.slurm.test_rows import FREE, OWN

BASE = rows.decode(rows.FIELD.join([OWN, *FREE]))
START = 1_795_197_024
PENDING = replace(BASE, id="7", state="PENDING", start=None, restarts=0, priority=5, reason="Priority")
RUNNING = replace(BASE, id="7", state="RUNNING", start=START, restarts=0, batch=True)
REQUEUING = replace(RUNNING, state="COMPLETING", start=START + 60, restarts=1, priority=0)
ENDING = replace(RUNNING, state="COMPLETING")
REQUEUED = replace(PENDING, restarts=1, priority=0, reason="job requeued in held state")
RELEASED = replace(REQUEUED, priority=5, reason="BeginTime")
AGAIN = replace(RUNNING, start=START + 200, restarts=1)
ENDED = replace(RUNNING, state="CANCELLED")
THIS_RUN = RunKey("7", START, 0)
IN_QUEUE = RunKey("7", 0, 0)

CARRY_OUT = None
DONE_ALREADY, GONE = OutcomeKind.ALREADY, OutcomeKind.GONE
LATER, REFUSED = OutcomeKind.UNKNOWN, OutcomeKind.REFUSED

STOPS = [
    #            SIGNAL      REQUEUE_HOLD  CANCEL
    (RUNNING, (CARRY_OUT, CARRY_OUT, CARRY_OUT)),
    (ENDING, (GONE, DONE_ALREADY, DONE_ALREADY)),
    (REQUEUING, (GONE, DONE_ALREADY, DONE_ALREADY)),
    (REQUEUED, (GONE, DONE_ALREADY, GONE)),
    (RELEASED, (GONE, GONE, GONE)),
    (AGAIN, (GONE, GONE, GONE)),
    (replace(REQUEUED, restarts=2), (GONE, GONE, GONE)),
    (replace(ENDING, start=START + 500, restarts=2), (GONE, GONE, GONE)),
    (ENDED, (GONE, GONE, GONE)),
    (None, (GONE, GONE, GONE)),
]


@pytest.mark.parametrize(("row", "kinds"), STOPS)
def test_stopping(row: QueueRow | None, kinds: tuple[OutcomeKind | None, ...]) -> None:
    order = (ActionKind.SIGNAL, ActionKind.REQUEUE_HOLD, ActionKind.CANCEL)
    found = [verdict(Action(kind, THIS_RUN, "USR1"), row) for kind in order]

    assert [outcome and outcome.kind for outcome in found] == list(kinds)
    assert all(outcome is None or outcome.detail for outcome in found)


QUEUE = [
    #           PRIORITISE    RESTORE       HOLD          RELEASE
    (PENDING, (CARRY_OUT, CARRY_OUT, CARRY_OUT, DONE_ALREADY)),
    (replace(PENDING, priority=4000), (DONE_ALREADY, CARRY_OUT, CARRY_OUT, DONE_ALREADY)),
    (replace(PENDING, priority=0), (REFUSED, DONE_ALREADY, DONE_ALREADY, CARRY_OUT)),
    (REQUEUED, (REFUSED, DONE_ALREADY, DONE_ALREADY, CARRY_OUT)),
    # Half a release: not held any more, but waiting out Slurm's delay.
    (RELEASED, (CARRY_OUT, CARRY_OUT, CARRY_OUT, CARRY_OUT)),
    # A begin time of the user's own is left alone.
    (replace(PENDING, reason="BeginTime"), (CARRY_OUT, CARRY_OUT, CARRY_OUT, DONE_ALREADY)),
    (RUNNING, (DONE_ALREADY, DONE_ALREADY, GONE, DONE_ALREADY)),
    (ENDING, (LATER, LATER, LATER, LATER)),
    (REQUEUING, (LATER, LATER, DONE_ALREADY, LATER)),
    (None, (GONE, GONE, GONE, GONE)),
]


@pytest.mark.parametrize(("row", "kinds"), QUEUE)
def test_ordering_and_holding(row: QueueRow | None, kinds: tuple[OutcomeKind | None, ...]) -> None:
    order = (ActionKind.PRIORITISE, ActionKind.RESTORE_PRIORITY, ActionKind.HOLD, ActionKind.RELEASE)
    found = [verdict(Action(kind, IN_QUEUE, "4000"), row) for kind in order]

    assert [outcome and outcome.kind for outcome in found] == list(kinds)


BY_USER, BY_ADMIN = (replace(REQUEUED, reason=reason) for reason in ("JobHeldUser", "JobHeldAdmin"))


@pytest.mark.parametrize(
    ("row", "of_stop", "detail"),
    [
        (REQUEUED, True, CARRY_OUT),
        (BY_USER, True, HELD_BY_USER),
        (BY_USER, False, HELD_BY_USER),
        (BY_ADMIN, True, HELD_BY_ADMIN),
        # So a hold of ours looks.
        (BY_ADMIN, False, CARRY_OUT),
    ],
)
def test_a_release_leaves_the_holds_of_others(row: QueueRow, of_stop: bool, detail: str | None) -> None:
    outcome = verdict(Action(ActionKind.RELEASE, IN_QUEUE, of_stop=of_stop), row)

    assert (outcome and (outcome.kind, outcome.detail)) == (detail and (REFUSED, detail))


@pytest.mark.parametrize(
    ("begins", "delay_s", "carried_out"),
    [(121, 121, True), (122, 121, False), (7200, 121, False), (122, 601, True), (None, 121, True)],
)
def test_only_slurms_own_delay_is_taken_off(begins: int | None, delay_s: int, carried_out: bool) -> None:
    row = replace(RELEASED, eligible=None if begins is None else RELEASED.submit + begins)

    outcome = verdict(Action(ActionKind.RELEASE, IN_QUEUE), row, delay_s)

    assert (outcome is CARRY_OUT) is carried_out
    assert is_delayed(row, delay_s) is carried_out


@pytest.mark.parametrize("kind", sorted(STOPPING))
@pytest.mark.parametrize(
    "other", [RunKey("7", START + 1, 0), RunKey("7", START, 1), RunKey("7", 0, 0), RunKey("7", START - 9, 3)]
)
def test_a_stop_meant_for_another_run_touches_nothing(kind: ActionKind, other: RunKey) -> None:
    outcome = verdict(Action(kind, other, "USR1"), RUNNING)

    assert outcome is not None
    assert outcome.kind is GONE


def test_a_job_without_a_batch_script_cannot_be_signalled() -> None:
    outcome = verdict(Action(ActionKind.SIGNAL, THIS_RUN, "USR1"), replace(RUNNING, batch=False))

    assert outcome is not None
    assert outcome.kind is REFUSED


def test_a_state_that_is_not_known_is_left_alone() -> None:
    outcome = verdict(Action(ActionKind.CANCEL, THIS_RUN), replace(RUNNING, state="FLYING"))

    assert outcome is not None
    assert outcome.kind is LATER


@pytest.mark.parametrize("value", ["", "0", "-1", "1.5", "high", "4294967294", "٣", " 1"])
def test_priorities_that_are_none(value: str) -> None:
    outcome = malformed(Action(ActionKind.PRIORITISE, IN_QUEUE, value))

    assert outcome is not None
    assert outcome.kind is REFUSED


@pytest.mark.parametrize("value", ["1", "4000000000", "4294967293"])
def test_priorities_that_slurm_takes(value: str) -> None:
    assert malformed(Action(ActionKind.PRIORITISE, IN_QUEUE, value)) is None


PLACES = [
    (PENDING, CARRY_OUT),
    (replace(PENDING, nice=4000), DONE_ALREADY),
    # Under priority/basic it would be let go.
    (replace(PENDING, priority=0), REFUSED),
    (REQUEUED, REFUSED),
    (RUNNING, DONE_ALREADY),
    (REQUEUING, LATER),
    (None, GONE),
]


@pytest.mark.parametrize(("row", "kind"), PLACES)
def test_a_place_by_nice(row: QueueRow | None, kind: OutcomeKind | None) -> None:
    outcome = verdict(Action(ActionKind.PLACE, IN_QUEUE, "4000"), row)

    assert (outcome and outcome.kind) == kind


@pytest.mark.parametrize("value", ["", "-", "1.5", "low", "2147483646", "-2147483646", "٣", "~5", "--1"])
def test_nices_that_are_none(value: str) -> None:
    outcome = malformed(Action(ActionKind.PLACE, IN_QUEUE, value))

    assert outcome is not None
    assert outcome.kind is REFUSED


@pytest.mark.parametrize("value", ["~0", "~", "~-1", "~~5", "~4294967294"])
def test_places_that_no_job_can_be_let_go_to(value: str) -> None:
    outcome = malformed(Action(ActionKind.RELEASE, IN_QUEUE, value))

    assert outcome is not None
    assert outcome.kind is REFUSED
