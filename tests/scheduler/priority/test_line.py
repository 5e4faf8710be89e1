"""Slurm's line by levels: who stands where, by which nice, and that nothing moves without need."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.actions import MOST_NICE
from scheduler.model.policy import Mode
from scheduler.priority.line import PlaceInLine, Waiting, band, bands, stand

BASIC = 4_294_901_760
"""Where priority/basic begins to count down."""


def job(number: int, band: int = 0, own: int = 1000, own_nice: int = 0, **fields: object) -> Waiting:
    """A job to which Slurm gives `own` without a nice, untouched so far; those of a higher number came later."""
    values = {"priority": max(1, own - own_nice), "nice": own_nice, "since": number, "own_nice": own_nice}
    return Waiting(str(number), band, **{**values, **fields})  # type: ignore[arg-type]


def line(places: dict[str, PlaceInLine]) -> list[str]:
    return sorted((each for each in places if places[each].number), key=lambda each: places[each].number)


def slurms(jobs: list[Waiting]) -> list[str]:
    """Slurm's own order: by priority, then by number."""
    return [each.id for each in sorted(jobs, key=lambda each: (-each.priority, int(each.id)))]


def placed(jobs: list[Waiting], places: dict[str, PlaceInLine], least: int = 1) -> list[Waiting]:
    """The jobs with their new nice, as Slurm computes it."""
    return [
        replace(each, nice=nice, priority=max(least, each.priority + each.nice - nice))
        for each in jobs
        for nice in [places[each.id].nice]
    ]


# --- Bands ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "levels", "expected"),
    [
        (Mode.USER, (0, None), 0),
        (Mode.USER, (None, 0), 2),
        (Mode.TASK, (None, 0), 0),
        (Mode.USER_THEN_TASK, (0, 1), 1),
        (Mode.USER_THEN_TASK, (1, 0), 3),
        (Mode.USER_THEN_TASK, (None, None), 8),
        (Mode.TASK_THEN_USER, (0, 1), 3),
    ],
)
def test_the_mode_says_which_levels_are_told_apart(
    mode: Mode, levels: tuple[int | None, int | None], expected: int
) -> None:
    assert band(mode, 2, *levels) == expected
    assert bands(mode, 2) == (9 if "then" in mode else 3)


@pytest.mark.parametrize("own", [10, 1000, BASIC])
def test_higher_bands_stand_first_and_inside_a_band_slurms_own_order_holds(own: int) -> None:
    jobs = [job(1, 2, own), job(2, 0, own - 5), job(3, 0, own), job(4, 1, own)]

    places = stand(jobs, 3)

    assert line(places) == ["3", "2", "4", "1"]
    assert slurms(placed(jobs, places)) == ["3", "2", "4", "1"]


def test_where_there_is_room_above_bands_are_raised_and_the_last_is_left_alone() -> None:
    places = stand([job(1, 0), job(2, 1), job(3, 2)], 3)

    assert [places[each].nice for each in "123"] == [-(2 << 24), -(1 << 24), 0]


def test_where_slurm_counts_down_from_the_top_bands_are_lowered_and_the_first_is_left_alone() -> None:
    places = stand([job(1, 0, BASIC), job(2, 1, BASIC - 1), job(3, 2, BASIC - 2)], 3)

    assert [places[each].nice for each in "123"] == [0, 1 << 24, 2 << 24]


def test_a_users_own_nice_counts_inside_the_band_and_never_beyond_it() -> None:
    jobs = [job(1, 0, own_nice=100), job(2, 0), job(3, 0, own_nice=2_000_000_000), job(4, 1)]

    places = stand(jobs, 2)

    assert line(places) == ["2", "1", "3", "4"]
    assert places["1"].nice - places["2"].nice == 100


def test_a_priority_that_was_cut_off_is_taken_for_the_least() -> None:
    cut = Waiting("1", 0, priority=1, nice=5000, since=1, own_nice=5000)

    places = stand([cut, job(2, 0, 900), job(3, 1, 900)], 2)

    assert line(places) == ["2", "1", "3"]


def test_priorities_that_span_more_than_the_width_make_it_wider() -> None:
    jobs = [job(1, 0, 0), job(2, 1, 200_000_000), job(3, 4, 100_000_000)]

    places = stand(jobs, 25)

    assert slurms(placed(jobs, places)) == ["1", "2", "3"]


# --- Kept places ------------------------------------------------------------------------------------------


def test_a_job_that_was_stopped_stands_before_all_of_its_band_that_came_later() -> None:
    jobs = [
        job(1, 1, BASIC - 756 + 6),
        job(2, 1, BASIC - 750, since=2, kept=BASIC - 744),
        job(3, 1, BASIC - 747),
    ]

    places = stand(jobs, 3)

    assert line(places) == ["2", "3", "1"] or line(places)[0] == "2"
    assert places["2"].keeps
    assert slurms(placed(jobs, places))[0] == "2"


def test_several_of_them_stand_in_the_order_of_their_first_submission() -> None:
    jobs = [job(3, kept=1000, own=10, since=3), job(1, kept=1000, own=20, since=1), job(9, own=5000, since=9)]

    places = stand(jobs, 1)

    assert line(places) == ["1", "3", "9"]


def test_it_does_not_pass_who_came_before_it_and_has_more() -> None:
    jobs = [job(1, own=9000), job(2, own=10, kept=1000), job(3, own=500)]

    assert line(stand(jobs, 1)) == ["1", "2", "3"]


def test_a_held_one_stands_nowhere_but_knows_where_it_will() -> None:
    jobs = [Waiting("1", 1, 0, 0, 1, kept=1000, held=True), job(2, 1, 1500), job(3, 0)]

    places = stand(jobs, 2)

    assert places["1"].number == 0
    assert placed(jobs[1:2], places)[0].priority < places["1"].priority < placed(jobs[2:], places)[0].priority


def test_without_bands_only_kept_places_are_touched() -> None:
    jobs = [job(1, own_nice=70), job(2, own=10, kept=800), job(3, own=900)]

    places = stand(jobs, 1)

    assert (places["1"].nice, places["3"].nice) == (70, 0)
    assert places["2"].nice == -(901 - 10)


# --- Whatever the numbers ---------------------------------------------------------------------------------

OWN = st.one_of(st.integers(0, 2_000_000), st.integers(BASIC - 5000, BASIC))


@st.composite
def lines(draw: st.DrawFn) -> tuple[list[Waiting], int]:
    count = draw(st.integers(1, 121))
    base = draw(st.sampled_from((0, BASIC - 3_000_000)))
    jobs = []
    for number in range(1, draw(st.integers(1, 12)) + 1):
        own = base + draw(st.integers(2, 2_000_000))
        kept = draw(st.none() | st.integers(2, 2_000_000))
        jobs.append(
            job(
                number,
                draw(st.integers(0, count - 1)),
                own,
                kept=None if kept is None else base + kept,
            )
        )
    return jobs, count


@given(lines())
def test_the_nices_make_slurms_order_the_one_that_is_told_and_then_rest(
    given_line: tuple[list[Waiting], int],
) -> None:
    jobs, count = given_line
    places = stand(jobs, count)
    after = placed(jobs, places)

    assert slurms(after) == line(places)
    assert all(abs(each.nice) <= MOST_NICE for each in after)
    assert [(each.id, places[each.id].priority) for each in after] == [
        (each.id, each.priority) for each in after
    ]
    by_number = [next(each for each in after if each.id == name) for name in line(places)]
    assert [each.band for each in by_number] == sorted(each.band for each in by_number)
    again = stand(after, count)
    assert {name: place.nice for name, place in again.items()} == {each.id: each.nice for each in after}
    for mine in (each for each in after if each.kept is not None):
        passed = [each for each in after if each.band == mine.band and each.since > mine.since]
        assert all(places[mine.id].number < places[each.id].number for each in passed)


@given(lines(), st.integers(0, 100_000))
def test_jobs_that_age_together_keep_their_nices(given_line: tuple[list[Waiting], int], older: int) -> None:
    jobs, count = given_line
    jobs = [replace(each, kept=None) for each in jobs]
    after = placed(jobs, stand(jobs, count))
    aged = [replace(each, priority=each.priority + older) for each in after]

    assert {name: place.nice for name, place in stand(aged, count).items()} == {
        each.id: each.nice for each in after
    }
