"""The command as one more likeness: what it tells, what nobody gains by it, and that nothing else depends on it."""

import dataclasses
import random

import pytest

from scheduler.forecast.facts import EndedJob, JobFacts
from scheduler.forecast.features import atoms_of
from scheduler.forecast.model import Model
from tests.forecast.made import jobs

HABITS = {"train.sh": 4000, "test.sh": 60, "plot.sh": 700}


def asked(user: str, command: str, submit: int = 600 * 900) -> JobFacts:
    """Everything else is alike, as where nobody names jobs."""
    return JobFacts(user, "lab", "job", 86400, 1, 8, 0, submit, command)


def ended(user: str, commands: list[str], runs: dict[str, int]) -> list[EndedJob]:
    return [
        EndedJob(f"{user}{n}", asked(user, command, n * 900), runs[command], n * 900 + runs[command])
        for n, command in enumerate(commands)
    ]


@pytest.fixture(scope="module")
def past() -> list[EndedJob]:
    return ended("ann", random.Random(1).choices(list(HABITS), k=600), HABITS)


def test_jobs_that_differ_in_their_command_alone_are_told_apart(past: list[EndedJob]) -> None:
    model = Model.fit(past)
    for command, usual in HABITS.items():
        assert model.forecast(asked("ann", command)).p50 == pytest.approx(usual, rel=0.05)
    again = Model.from_json(model.to_json())
    assert again.forecast(asked("ann", "test.sh")) == model.forecast(asked("ann", "test.sh"))


def test_what_still_runs_is_forecast_by_its_command(past: list[EndedJob]) -> None:
    model = Model.fit(past)
    assert model.remaining(asked("ann", "train.sh"), 1000).p50 == pytest.approx(3000, rel=0.1)


def told(made: list[EndedJob]) -> Model:
    """With the plain weights."""
    model = Model()
    for job in made:
        model.ended(job)
    return model


def test_where_no_command_is_told_nothing_is_computed_or_learned_of_it() -> None:
    model = Model.fit(jobs(300))
    assert not any(network.parameters[-1].any() for network in model.networks.each)
    facts = jobs(301)[-1].facts
    assert atoms_of(model.history, [model.history.look(facts)]).commands is None
    unknown = dataclasses.replace(facts, command="new.sh")
    assert model.forecast(unknown) == model.forecast(facts)


def test_who_takes_the_command_of_another_changes_nothing_for_them(past: list[EndedJob]) -> None:
    """Bob runs for a second whatever Ann runs for hours, or says so: her forecasts are exactly what they were."""
    strangers = ended("bob", ["train.sh"] * 50, {"train.sh": 1})
    unnamed = [
        dataclasses.replace(job, facts=dataclasses.replace(job.facts, command="")) for job in strangers
    ]
    forging, honest = told([*past, *strangers]), told([*past, *unnamed])
    for command in HABITS:
        assert forging.forecast(asked("ann", command)) == honest.forecast(asked("ann", command))


def test_who_forges_commands_only_chooses_among_the_own_past(past: list[EndedJob]) -> None:
    """A command that looks short is worth one job: the next one is forecast as long as that one ran."""
    model = told(past)
    for n in range(3):
        forged = asked("ann", "test.sh", 600 * 900 + n * 5000)
        model.ended(EndedJob(f"forged{n}", forged, 4000, forged.submit + 4000))
    assert model.forecast(asked("ann", "test.sh", 700 * 900)).p50 == pytest.approx(4000, rel=0.05)
    # The one of another user tells nothing of them.
    stranger = model.forecast(asked("zoe", "test.sh"))
    assert stranger == model.forecast(asked("zoe", ""))
