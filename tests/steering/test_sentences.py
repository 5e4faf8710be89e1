"""What the workers write down of plans, steps and victims is data, and no old reader is asked to read it."""

from itertools import chain

import pytest
from django.utils import translation

from console.core import old_sentences, translate
from console.steering.decisions.facts import pauses_of, why_paused
from console.steering.models import Incident, Pause, Plan, PlannedAction, Victim
from console.steering.operations.pausing import pause
from console.steering.sentences import SENTENCES
from scheduler.adapters.simulator.jobs import OnSignal
from scheduler.model.sentence import Sentence, say, to_json
from tests.steering.conftest import Sim

COLUMNS = (
    (Plan, ("explain", "outcome", "undo_reason", "not_now")),
    (PlannedAction, ("detail",)),
    (Victim, ("words",)),
    (Incident, ("words", "close_reason")),
)

SLURMS = {"Invalid job id specified", "the job ended, but not by the signal"}
"""Answers to a step, which a row keeps as they were given."""


def written() -> list[str]:
    """Everything that such columns hold and that is not empty."""
    rows = (
        model.objects.values_list(name, flat=True).exclude(**{name: ""})
        for model, names in COLUMNS
        for name in names
    )
    return [words for words in chain.from_iterable(rows) if words not in SLURMS]


def lost(sim: Sim) -> None:
    """A victim that the checkpoint signal ends, and that is never seen again."""
    sim.policy(grace_s=5, checkpoint_signal="USR1")
    sim.running("ann", 8, on_signal=OnSignal.DIE)
    sim.submit("cy", 6, run_time_s=300)
    sim.cycle()
    sim.port.advance(1)
    sim.port.state.killed.clear()
    sim.cycles(20)


def left(sim: Sim) -> None:
    """A beneficiary that leaves the queue while room is made for it."""
    sim.policy(grace_s=30, checkpoint_signal="USR1")
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    sim.port.cancel(urgent)
    sim.cycles(12)


@pytest.mark.parametrize("story", [lost, left])
def test_what_is_written_down_is_data_and_is_said_in_chinese(
    sim: Sim, story: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(story)
    story(sim)
    words = written()
    assert len(words) > 3
    assert [each for each in words if not isinstance(each, Sentence)] == []

    def reads(text: str) -> str:
        raise AssertionError(f"an old reader for a new row: {text}")

    monkeypatch.setattr(old_sentences, "read", reads)
    with translation.override("zh-hans"):
        for each in words:
            assert translate.resay(each) != each, to_json(each)  # type: ignore[arg-type]


def test_every_step_that_can_fail_or_be_refused_has_its_sentence() -> None:
    kinds = ("prioritise", "signal", "requeue_hold", "cancel", "hold")
    wanted = {f"{kind}.{how}" for kind in kinds for how in ("in_vain", "refused")}
    assert wanted <= SENTENCES.keys()


def test_who_pauses_says_so_in_his_own_words_and_the_rest_is_said_in_chinese(sim: Sim) -> None:
    """Even if these words are a sentence of ours: nobody's words are read as one."""
    pause(actor="ann", cluster=sim.cluster, reason="It came back.")
    kept = Pause.objects.get()
    assert not isinstance(kept.reason, Sentence)
    why = why_paused("p", pauses_of(sim.cluster))
    assert isinstance(why, Sentence)
    assert why == "ann paused all partitions: It came back."
    with translation.override("zh-hans"):
        assert translate.said(why).endswith("It came back.")
        assert "paused" not in translate.said(why)


def test_what_giveway_pauses_for_stays_data(sim: Sim) -> None:
    reason = say("incident.too_many", n=2, names="1 and 2")
    pause(actor="giveway", cluster=sim.cluster, reason=reason)
    kept = Pause.objects.get().reason
    assert isinstance(kept, Sentence)
    assert kept == reason
