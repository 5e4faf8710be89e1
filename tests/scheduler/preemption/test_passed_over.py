"""Why running jobs were left alone: kept with a decision for explanations and the record."""

from scheduler.model.plan import Decision
from scheduler.model.policy import Mode
from scheduler.model.reasons import SENTENCES, Reason
from tests.builders import ending, node, nodes, one_node, pending, running
from tests.scheduler.planning import decide, decisions


def reasons(decision: Decision) -> dict[str, Reason]:
    return {other.job: other.reason for other in decision.passed_over}


def test_every_kind_of_reason() -> None:
    jobs = [
        running("victim", "n1", 2, user=3, ran=400),
        running("valuable", "n1", 2, user=2, ran=400),
        running("protected", "n1", 1, user=3, preemptable=False),
        running("exempt", "n1", 1, user=3, ran=10),
        running("equal", "n1", 1, user=0),
        running("elsewhere", "n2", 8, user=3, ran=9999),
        ending("ending", "n1", 1, user=3),
    ]
    decision = decide(*jobs, pending(request=one_node(2), user=0), nodes=nodes(2), exempt_s=300)
    assert reasons(decision) == {
        "valuable": Reason.NOT_NEEDED,
        "protected": Reason.PROTECTED,
        "exempt": Reason.EXEMPT,
        "equal": Reason.EQUAL_OR_HIGHER,
        "elsewhere": Reason.OTHER_PLACE,
        "ending": Reason.ENDING,
    }


def test_those_on_the_chosen_node_come_first() -> None:
    jobs = [running(f"a{i}", "n1", 1, user=2) for i in range(8)]
    jobs += [running("b1", "n2", 4, user=3), running("b2", "n2", 4, user=0)]
    decision = decide(*jobs, pending(request=one_node(4), user=1), nodes=nodes(2))
    assert decision.passed_over[0].job == "b2"


def test_when_nothing_helps_the_lower_jobs_are_told_so() -> None:
    jobs = [running("low", cpu=2, user=3), running("high", cpu=6, user=0)]
    decision = decide(*jobs, pending(request=one_node(4), user=0))
    assert reasons(decision) == {"low": Reason.NOT_ENOUGH, "high": Reason.EQUAL_OR_HIGHER}


def test_a_lower_user_in_the_same_band_and_a_lower_task_in_the_same_band() -> None:
    bands = ((0, 1), (2, None))
    jobs = [running("user", cpu=2, user=1, task=0), running("task", cpu=2, user=0, task=1)]
    keeper = running("higher", cpu=4, user=0, task=0)
    urgent = pending(request=one_node(4), user=0, task=0)
    decision = decide(*jobs, keeper, urgent, mode=Mode.USER_THEN_TASK, bands=bands)
    assert reasons(decision) == {
        "user": Reason.SAME_BAND,
        "task": Reason.SAME_BAND,
        "higher": Reason.EQUAL_OR_HIGHER,
    }


def test_jobs_stopped_for_somebody_before_are_not_among_them() -> None:
    jobs = [
        running("a", cpu=4, user=3),
        running("b", cpu=4, user=3, ran=60),
        pending("1", one_node(4), user=0),
        pending("2", one_node(4), user=1),
    ]
    made = decisions(jobs)
    assert reasons(made["1"]) == {"a": Reason.NOT_NEEDED}
    assert reasons(made["2"]) == {}


def test_the_list_is_bounded() -> None:
    jobs = [running(str(i), f"n{i % 20}", 1, user=0) for i in range(160)]
    decision = decide(*jobs, pending(request=one_node(4), user=0), nodes=[node(f"n{i}") for i in range(20)])
    assert len(decision.passed_over) == 50


def test_only_the_first_decisions_of_a_plan_carry_it() -> None:
    """They are told from the highest rank down; for a thousand more nobody reads on, and it would cost time."""
    queue = [pending(str(i), one_node(4), user=0, waited=1000 - i) for i in range(60)]
    made = list(decisions([running("k", cpu=8, user=0), *queue]).values())
    assert all(decision.passed_over for decision in made[:50])
    assert not any(decision.passed_over for decision in made[50:])


def test_every_reason_has_a_sentence() -> None:
    assert set(SENTENCES) == set(Reason)
    assert all(sentence.endswith(".") and sentence.isprintable() for sentence in SENTENCES.values())
