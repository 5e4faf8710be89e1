"""The run-time model: what it learns, what it never knows, and what it says of the unknown."""

import copy
import dataclasses
import itertools
import json
import random
from collections.abc import Callable
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.forecast.facts import INNER, MOST_S, EndedJob, Forecast, JobFacts
from scheduler.forecast.history import RunHistory
from scheduler.forecast.model import BURST_S, Model
from scheduler.forecast.score import Verdict, beats, figure, score, trained
from tests.forecast.made import jobs


@pytest.fixture(scope="module")
def past() -> list[EndedJob]:
    return jobs(900)


@pytest.fixture(scope="module")
def model(past: list[EndedJob]) -> Model:
    return Model.fit(past)


def ordered(forecast: Forecast) -> bool:
    values = (forecast.low, forecast.p10, forecast.p50, forecast.p90, forecast.high)
    return values[0] >= 1 and all(a <= b for a, b in itertools.pairwise(values)) and values[-1] <= MOST_S


def asked(user: str, name: str = "", limit: int | None = None, nodes: int = 1) -> JobFacts:
    return JobFacts(user, "lab", name, limit, nodes, 8 * nodes, 0, 900 * 400)


def asked_at(submit: int, name: str) -> JobFacts:
    return JobFacts("ann", "lab", name, 86400, 1, 8, 0, submit)


class TestForecast:
    def test_a_habit_is_learned(self, model: Model) -> None:
        assert model.forecast(asked("ann", "train-1001", 86400, 4)).p50 == pytest.approx(40000, rel=0.15)
        assert model.forecast(asked("bob", "sweep", 14400, 1)).p50 == pytest.approx(900, rel=0.25)
        assert model.forecast(asked("bob", "sweep", 7200, 2)).p50 == pytest.approx(3000, rel=0.25)

    def test_an_interval_is_as_wide_as_the_habit(self, model: Model) -> None:
        steady = model.forecast(asked("ann", "train-1001", 86400, 4))
        loose = model.forecast(asked("eve", "", 36000, 8))
        assert steady.p90 / steady.p10 < 2 < loose.p90 / loose.p10

    def test_of_two_habits_the_parts_in_between_tell_both(self) -> None:
        """Six in ten fail within two minutes, the others run for three hours."""
        chance = random.Random(2)
        made = [
            EndedJob(str(number), asked_at(number * 900, ""), runtime, number * 900 + runtime)
            for number in range(600)
            for runtime in [chance.choice((90, 100, 110, 90, 100, 110, 10_500, 10_700, 10_900, 11_000))]
        ]
        model = Model.fit(made)
        said = model.forecast(asked_at(600 * 900, ""))
        assert said.inner[0] < 150 and said.inner[-1] > 8000
        assert list(said.inner) == sorted(said.inner) and len(said.inner) == len(INNER)
        left = model.remaining(asked_at(600 * 900, ""), 1000)
        assert all(8000 < each < 11_000 for each in left.inner), "who has not failed by now runs on"

    def test_a_new_name_is_forecast_by_its_stem(self) -> None:
        made = [
            EndedJob(str(number), asked_at(number * 900, f"{stem}-{number}"), runtime, number * 900 + runtime)
            for number, (stem, runtime) in enumerate(
                random.Random(1).choices([("train", 4000), ("test", 60), ("plot", 700)], k=600)
            )
        ]
        model = Model.fit(made)
        for stem, usual in (("train", 4000), ("test", 60), ("plot", 700)):
            assert model.forecast(asked_at(600 * 900, f"{stem}-9999")).p50 == pytest.approx(usual)

    def test_an_unknown_user_is_forecast_from_the_group_and_the_request(self, model: Model) -> None:
        stranger = model.forecast(asked("zoe", "new", 86400, 4))
        assert ordered(stranger)
        assert 10000 < stranger.p50 <= 86400

    def test_nothing_is_forecast_beyond_the_limit(self, model: Model) -> None:
        forecast = model.forecast(asked("ann", "train-5", 600, 4))
        assert forecast.high <= 600 * (1 + 1e-9)

    def test_a_job_that_is_asked_for_after_its_twin_has_started(self, model: Model) -> None:
        """A console asks a little later than jobs are submitted."""
        twin = JobFacts("ann", "lab", "train", 3600, 1, 4, 0, submit=10**9)
        model = copy.deepcopy(model)
        model.started("twin", twin, twin.submit + 5)
        with np.errstate(invalid="raise", divide="raise"):
            assert model.submitted("job", twin).p50 > 0

    def test_without_any_history(self) -> None:
        for facts in (JobFacts(), JobFacts(limit_s=1), JobFacts(limit_s=MOST_S), asked("zoe", "x", 3600)):
            assert ordered(Model().forecast(facts))
            assert ordered(Model().remaining(facts, 100))

    @settings(max_examples=60, deadline=None)
    @given(
        runtimes=st.lists(st.integers(0, MOST_S), max_size=30),
        limit=st.none() | st.integers(1, MOST_S),
        cpus=st.none() | st.integers(0, MOST_S),
        ran=st.integers(0, MOST_S),
    )
    def test_hostile_values_give_ordered_finite_seconds(
        self, runtimes: list[int], limit: int | None, cpus: int | None, ran: int
    ) -> None:
        model = Model()
        for number, runtime in enumerate(runtimes):
            facts = JobFacts("u", "", "a\x00☃" * 9, limit, None, cpus, None, number)
            model.submitted(str(number), facts)
            model.ended(EndedJob(str(number), facts, runtime, number + runtime, number))
        facts = JobFacts("u", "", "", limit, None, cpus, None, 99)
        assert ordered(model.forecast(facts))
        assert ordered(model.remaining(facts, ran))


class TestRemaining:
    def test_what_is_left_falls_at_first(self, model: Model) -> None:
        facts = asked("ann", "train-7", 86400, 4)
        whole = model.forecast(facts).p50
        later = model.remaining(facts, 20000)
        assert later.p50 == pytest.approx(whole - 20000, rel=0.25)
        assert model.remaining(facts, 0) == model.forecast(facts)

    def test_a_job_that_outlives_what_is_usual_is_expected_to_be_of_the_long_kind(self, model: Model) -> None:
        facts = asked("ann", "", 86400, 2)
        assert model.remaining(facts, 2000).p50 > 5000

    def test_past_every_forecast_it_is_renewed(self, model: Model) -> None:
        facts = asked("bob", "sweep", None, 1)
        for ran in (10**6, 10**8):
            left = model.remaining(facts, ran)
            assert ordered(left)
            assert left.p50 > 0.01 * ran

    def test_no_more_is_left_than_the_limit_allows(self, model: Model) -> None:
        assert model.remaining(asked("ann", "train-7", 86400, 4), 86000).high <= 400
        assert ordered(model.remaining(asked("ann", "train-7", 86400, 4), 90000))


class CountedMoment(int):
    """A moment that counts how often anything is worked out with it."""

    asked = 0

    def __rsub__(self, other: int) -> int:
        CountedMoment.asked += 1
        return other - int(self)

    def __lt__(self, other: int) -> bool:
        CountedMoment.asked += 1
        return int(self) < int(other)


def ended_all(
    model: Model, count: int, limit: int | None, runtime: Callable[[int], int], *, gap: int = 1000
) -> None:
    """Jobs of one user, one after the other."""
    for number in range(count):
        facts = JobFacts("ann", limit_s=limit, nodes=1, submit=number * gap)
        model.submitted(str(number), facts)
        model.ended(EndedJob(str(number), facts, runtime(number), number * gap + runtime(number)))


class TestEndsOfIntervals:
    """As slurmctld records them, jobs that their limits end have run some seconds longer."""

    ASKED = JobFacts("ann", limit_s=3600, nodes=1, submit=10**7)

    def test_the_usual_overrun_is_learned(self) -> None:
        model = Model()
        ended_all(model, 100, 3600, lambda number: 3600 + (number * 7) % 31)
        said = model.forecast(self.ASKED)
        assert 3625 <= said.high <= 3640, "three in four of 0 to 30 s, and a quarter more"
        assert said.p50 <= 3600 < said.p90 == said.high

    def test_another_limit_is_overrun_by_as_much(self) -> None:
        model = Model()
        ended_all(model, 100, 3600, lambda _: 3630)
        assert model.history.most_s(7200) == 7200 + 37

    def test_a_few_that_overran_by_hours_are_not_usual(self) -> None:
        model = Model()
        ended_all(model, 100, 3600, lambda number: 3600 + (20_000 if number % 25 == 0 else 8))
        assert model.history.most_s(3600) == 3610

    def test_what_overran_is_no_miss_that_drives_the_calibration(self) -> None:
        model = Model()
        ended_all(model, 300, 3600, lambda _: 3612)
        assert model.levels.values[3] < 0.96, "it was driven to its stop by 300 misses"

    def test_what_is_left_past_the_limit_is_the_rest_of_the_overrun(self) -> None:
        model = Model()
        ended_all(model, 100, 3600, lambda _: 3640)
        assert model.remaining(self.ASKED, 3500).high == 150
        assert model.remaining(self.ASKED, 3620).high == 30
        assert model.remaining(self.ASKED, 5000).high > 30, "it has outlived everything known"

    @pytest.mark.parametrize("hours", [1, 2, 4, 24, 48])
    def test_a_limit_is_not_told_as_less_by_its_logarithm(self, hours: int) -> None:
        model = Model()
        ended_all(model, 60, hours * 3600, lambda _: hours * 3600)
        said = model.forecast(dataclasses.replace(self.ASKED, limit_s=hours * 3600))
        assert said.low <= hours * 3600 <= said.high == hours * 3600

    def test_without_a_limit_nothing_is_said_beyond_twice_what_was_ever_seen(self) -> None:
        model = Model()
        ended_all(model, 40, None, lambda number: 500 + number)
        said = model.forecast(JobFacts("ann", nodes=1, submit=10**7))
        assert said.high <= 2 * 539
        assert model.forecast(JobFacts("zoe", nodes=4, submit=10**7)).high <= 2 * 539
        assert Model().forecast(JobFacts()).high <= 6 * 86_400
        again = Model.from_json(model.to_json())
        assert again.history.longest_s == 539

    def test_a_burst_counts_as_few(self) -> None:
        def level(gap: int) -> float:
            model = Model()
            ended_all(model, 40, 86_400, lambda _: 100, gap=10 * BURST_S)
            before = float(model.levels.values[3])
            facts = [JobFacts("ann", limit_s=86_400, nodes=1, submit=10**6 + gap * n) for n in range(200)]
            for number, each in enumerate(facts):
                model.submitted(f"b{number}", each)
            for number, each in enumerate(facts):
                model.ended(EndedJob(f"b{number}", each, 80_000, each.submit + 80_000))
            return float(model.levels.values[3]) - before

        together, apart = level(0), level(2 * BURST_S)
        assert 0 < together < 0.02
        assert apart > 0.03, "each is an error of its own"


class TestRunningJobs:
    @pytest.mark.parametrize("order", ["as they came", "mixed"])
    def test_a_look_costs_the_same_however_many_of_the_owner_run(self, order: str) -> None:
        def asked_for(count: int) -> int:
            history, CountedMoment.asked = RunHistory(), 0
            starts = list(range(count))
            if order == "mixed":
                random.Random(1).shuffle(starts)
            for at in starts:
                facts = JobFacts("ann", limit_s=60, submit=at)
                history.look(facts)
                history.start(str(at), facts, CountedMoment(at))
            for at in starts:
                history.leave(str(at), JobFacts("ann", limit_s=60))
            return CountedMoment.asked

        few, many = asked_for(250), asked_for(1000)
        assert many < 8 * few, "16 times as much where each look goes through all who run"

    def test_what_is_known_of_twins_that_run(self) -> None:
        history, facts = RunHistory(), JobFacts("ann", limit_s=60, submit=1000)
        for job_id, since in (("1", 400), ("2", 100), ("3", 700)):
            history.start(job_id, facts, since)
        history.start("4", JobFacts("ann", limit_s=90), 10)
        history.start("2", facts, 200)
        assert history.look(facts).context.tolist() == [4, 3, 800, 300, 0, 0]
        history.leave("2", facts)
        history.leave("2", facts)
        history.end(EndedJob("3", facts, 100, 800, 700))
        assert history.look(facts).context.tolist() == [2, 1, 600, 600, 1, 1]
        history.leave("1", facts)
        assert history.look(facts).context.tolist() == [1, 0, 0, 0, 1, 1]


class TestNoLeak:
    def test_a_forecast_does_not_change_with_the_future(self) -> None:
        made = jobs(700, gap=40)
        first, scored = 500, made[500:]
        known = _points(made, first)
        for position in (0, 50, 150):
            moment = scored[position].facts.submit
            other = [
                job if job.end <= moment else dataclasses.replace(job, runtime_s=1, end=MOST_S)
                for job in made
            ]
            assert sum(a != b for a, b in zip(made, other, strict=True)) > 20
            assert _points(other, first)[: position + 1] == known[: position + 1]

    def test_a_job_that_runs_at_the_split_is_not_learned_from(self) -> None:
        made = jobs(600, gap=40)
        moment = made[500].facts.submit
        held = [job for job in made[:500] if job.end > moment]
        assert held
        kept = {job.id for job in trained(made[:500], moment).history.kept()}
        assert kept.isdisjoint(job.id for job in held)

    def test_a_job_of_no_length_is_not_its_own_past(self) -> None:
        facts = JobFacts("u", submit=5)
        made = [EndedJob(str(number), facts, 0, 5, 5) for number in range(100)]
        assert _points(made, 50)[0] == Model().forecast(facts).p50


def _points(made: list[EndedJob], first: int) -> list[float]:
    return score(made, first, lambda: 0.0).model.forecasts_s


class TestScores:
    def test_the_model_beats_limits_and_is_calibrated_on_habits(self) -> None:
        made = jobs(3000)
        scores = score(made, 2100, lambda: 0.0)
        assert scores.model.accuracy > 0.76
        assert scores.model.accuracy > scores.last_two.accuracy + 0.1
        assert scores.model.accuracy > scores.limit.accuracy + 0.1
        assert 0.86 < scores.intervals.inside / 900 < 0.95
        assert scores.frozen.accuracy > 0.75

    def test_the_same_again(self) -> None:
        made = jobs(400)
        assert _points(made, 280) == _points(made, 280)

    def test_the_figure(self) -> None:
        assert figure(50, 100) == figure(100, 50) == 0.5
        assert figure(0, 0) == 1
        assert figure(0, 10) == 0.1


class TestGate:
    def test_a_model_without_a_past_does_not_take_the_place_of_one_with_it(self) -> None:
        made = jobs(2100)
        moment = made[2000].facts.submit
        past = [job for job in made[:2000] if job.end <= moment]
        good, empty = Model.fit(past), Model()
        verdict, turned = beats(good, empty, past, made[2000:2100]), beats(empty, good, past, made[2000:2100])
        assert verdict.in_force == turned.candidate < 0.7 < verdict.candidate
        assert turned.in_force == verdict.candidate
        assert verdict.median == turned.median > 0.7
        assert not turned.better

    def test_only_what_beats_both_is_better(self) -> None:
        assert Verdict(0.6, 0.59, 0.58).better
        assert Verdict(0.6, None, 0.58).better
        assert not Verdict(0.6, 0.6, 0.58).better
        assert not Verdict(0.6, 0.59, 0.6).better

    def test_comparing_changes_neither_model(self) -> None:
        made = jobs(300)
        model = Model.fit(made[:200])
        before = model.to_json()
        verdict = beats(model, None, made[:200], made[200:])
        assert model.to_json() == before
        assert verdict.in_force is None
        with pytest.raises(ValueError, match="no later job"):
            beats(model, None, made, [])


class TestKept:
    def test_a_model_that_is_read_again_says_the_same(self, model: Model) -> None:
        again = Model.from_json(model.to_json())
        assert again.version == Model.from_json(again.to_json()).version
        for facts in (asked("ann", "train-1", 86400, 4), asked("zoe"), asked("eve", "", 36000, 8)):
            assert again.forecast(facts) == model.forecast(facts)
        assert again.to_json() == model.to_json()

    def test_the_version_differs_when_something_was_learned(self, model: Model, past: list[EndedJob]) -> None:
        assert Model.fit(past).version == model.version
        assert Model.fit(past[:-50]).version != model.version

    @pytest.mark.parametrize(
        "change",
        [
            {"schema": "other"}, {"schema": "giveway.runtime-model/3"}, {"networks": []}, {"longest_s": None},
            {"longest_s": -1}, {"overruns_s": None}, {"overruns_s": [1.5]}, {"overruns_s": [1] * 201},
            {"networks": [[[1], [2], [3], [4]]]}, {"levels": [1, 2, 3]},
            {"levels": [0.1, 0.2, 0.3, "x"]}, {"levels": [0.1, 0.2, 0.3, float("nan")]}, {"success": None},
            {"owners": None}, {"owners": [["user", 1, [0.1] * 11]]}, {"owners": [["user", "u", [0.1]]]},
            {"ended": {}}, {"ended": [[]]}, {"ended": [["1", "u", "", "", 1, 1, 1, 1, "x", 1, 1, 1]]},
        ],
    )  # fmt: skip
    def test_what_is_no_model_is_refused(self, model: Model, change: dict[str, object]) -> None:
        document = json.loads(model.to_json()) | change
        with pytest.raises(ValueError, match=r"must|not"):
            Model.from_json(json.dumps(document))


def test_who_lies_about_the_past_spoils_only_their_own_forecasts() -> None:
    """A user who pads every job by sleeping changes what is forecast for them, not for those who have a past."""
    made = jobs(900)
    padded = [dataclasses.replace(job, runtime_s=14000) if job.facts.user == "bob" else job for job in made]
    honest, spoilt = Model.fit(made), Model.fit(padded)
    assert spoilt.forecast(asked("bob", "sweep", 14400, 1)).p50 == pytest.approx(14000, rel=0.1)
    others = [asked("ann", "train-1", 86400, 4), asked("ann", "test-1", 3600, 1), asked("eve", "", 36000, 8)]
    apart = [figure(honest.forecast(facts).p50, spoilt.forecast(facts).p50) for facts in others]
    assert fmean(apart) > 0.85
    assert np.min(apart) > 0.7
