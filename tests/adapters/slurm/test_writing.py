"""Actions become few commands, and each command's messages become outcomes of its jobs."""

import re
from collections.abc import Callable, Mapping

import pytest

from scheduler.adapters.slurm.commands import CommandAnswer
from scheduler.adapters.slurm.errors import SlurmTimeoutError, SlurmUnavailableError
from scheduler.adapters.slurm.write import AT_ONCE, Writer
from scheduler.model.actions import TOO_LATE, Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import RunKey
from tests.adapters.slurm.replay import RECORDED_MARK, VERSIONS, Scripted, recorded_answers
from tests.adapters.slurm.test_rows import FREE

START = 1_795_197_024
STARTED = "2026-11-20T17:50:24"
UNHEARD_OF = CommandAnswer("", "slurm_load_jobs error: Invalid job id specified\n", 1)
Job = tuple[str, str, int, int]
"""Id, state, restarts, priority."""


def table(*jobs: Job, requeue: bool = True) -> CommandAnswer:
    """squeue's answer about these jobs."""
    lines = []
    for job_id, state, restarts, priority in jobs:
        start = STARTED if state in {"RUNNING", "COMPLETING"} else "N/A"
        own = [
            job_id,
            job_id,
            "N/A",
            state,
            str(priority),
            "0",
            str(restarts),
            "1",
            str(int(requeue)),
            STARTED,
            start,
            STARTED,
            "1:00:00",
            "N/A",
        ]
        own += [
            "1",
            "1",
            "OK",
            "",
            "cpu=1,mem=1M,node=1",
            "N/A",
            "N/A",
            "N/A",
            "N/A",
            "N/A",
            "N/A",
            "",
            "",
            "n1",
        ]
        mark = RECORDED_MARK
        lines.append(f"{'|'.join(own)}{mark}.{f'{mark}.'.join(FREE)}{mark};\n")
    return CommandAnswer("".join(lines), "", 0)


def cluster(
    *jobs: Job,
    says: Callable[[tuple[str, ...]], CommandAnswer] = lambda _call: CommandAnswer("", "", 0),
    requeue: bool = True,
    comments: Mapping[str, str] | None = None,
) -> Scripted:
    """squeue tells of these jobs, scontrol knows no others; `says` answers everything else."""

    known = dict(comments or {})

    def reply(call: tuple[str, ...]) -> CommandAnswer:
        if call[0] == "scontrol" and call[-1].startswith("AdminComment="):
            known.update(dict.fromkeys(call[2].removeprefix("JobId=").split(","), call[-1].partition("=")[2]))
        if call[0] == "squeue":
            wish = re.search(r"admin_comment:(\w+);", " ".join(call))
            if wish is not None:
                told = (f"{job[0]}|{known.get(job[0]) or '(null)'}{wish[1]};\n" for job in jobs)
                return CommandAnswer("".join(told), "", 0)
            return table(*jobs, requeue=requeue)
        return UNHEARD_OF if "show" in call else says(call)

    return Scripted(reply=reply)


def running(*ids: str) -> list[Job]:
    return [(job_id, "RUNNING", 0, 1) for job_id in ids]


def pending(*ids: str, priority: int = 1, restarts: int = 0) -> list[Job]:
    return [(job_id, "PENDING", restarts, priority) for job_id in ids]


def stop(kind: ActionKind, *ids: str, value: str = "", comment: str = "") -> list[Action]:
    return [Action(kind, RunKey(job_id, START, 0), value, comment) for job_id in ids]


def queue(kind: ActionKind, *ids: str, value: str = "") -> list[Action]:
    return [Action(kind, RunKey(job_id, 0, 0), value) for job_id in ids]


def changes(runner: Scripted) -> list[tuple[str, ...]]:
    return [call for call in runner.calls if call[0] != "squeue" and "show" not in call]


def kinds(outcomes: list[ActionOutcome]) -> list[OutcomeKind]:
    return [outcome.kind for outcome in outcomes]


# --- commands ---


@pytest.mark.parametrize(
    ("actions", "jobs", "commands"),
    [
        (
            stop(ActionKind.REQUEUE_HOLD, "1", "41_2"),
            running("1", "41_2"),
            [("scontrol", "requeuehold", "1,41_2")],
        ),
        (stop(ActionKind.CANCEL, "1", "2"), running("1", "2"), [("scancel", "1", "2")]),
        (
            stop(ActionKind.SIGNAL, "1", "2", value="USR1"),
            running("1", "2"),
            [("scancel", "--batch", "--signal=USR1", "1", "2")],
        ),
        (queue(ActionKind.HOLD, "1", "2"), pending("1", "2"), [("scontrol", "hold", "1,2")]),
        (
            queue(ActionKind.PRIORITISE, "1", "2", value="4000000000"),
            pending("1", "2"),
            [("scontrol", "update", "JobId=1,2", "Priority=4000000000")],
        ),
        (queue(ActionKind.RESTORE_PRIORITY, "1"), pending("1"), [("scontrol", "release", "1")]),
        # Held before it ever ran: no delay to be cleared, and the user's begin time stays.
        (queue(ActionKind.RELEASE, "1"), pending("1", priority=0), [("scontrol", "release", "1")]),
        # Requeued: Slurm's delay is shortened first, to the second after the return to the queue.
        (
            queue(ActionKind.RELEASE, "1", "2"),
            pending("1", "2", priority=0, restarts=1),
            [
                ("scontrol", "update", "JobId=1,2", "StartTime=2026-11-20T17:50:25"),
                ("scontrol", "release", "1,2"),
            ],
        ),
        # With a place in line: released while Slurm's delay holds them back, then place and begin time in one call.
        (
            queue(ActionKind.RELEASE, "1", "2", value="4294903293"),
            pending("1", "2", priority=0, restarts=1),
            [
                ("scontrol", "release", "1,2"),
                (
                    "scontrol",
                    "update",
                    "JobId=1,2",
                    "Priority=4294903293",
                    "StartTime=2026-11-20T17:50:25",
                ),
            ],
        ),
        (
            queue(ActionKind.RELEASE, "1", value="4294903293"),
            pending("1", priority=0),
            [("scontrol", "release", "1"), ("scontrol", "update", "JobId=1", "Priority=4294903293")],
        ),
        (
            queue(ActionKind.PLACE, "1", "2", value="-33554432"),
            pending("1", "2"),
            [("scontrol", "update", "JobId=1,2", "Nice=-33554432")],
        ),
    ],
)
def test_jobs_of_one_kind_go_in_one_command(
    actions: list[Action], jobs: list[Job], commands: list[tuple[str, ...]]
) -> None:
    runner = cluster(*jobs)

    outcomes = Writer(runner).apply(actions)

    assert changes(runner) == commands
    assert kinds(outcomes) == [OutcomeKind.DONE] * len(actions)


def test_the_jobs_are_looked_at_right_before_and_only_they() -> None:
    runner = cluster(*running("1", "2"))

    Writer(runner).apply(stop(ActionKind.CANCEL, "2", "1"))

    assert runner.calls[0][0] == "squeue"
    assert runner.calls[0][-1] == "--jobs=1,2"
    assert len(runner.calls) == 2


def test_a_process_that_stood_still_after_its_look_sends_nothing() -> None:
    runner = cluster(*running("1"))
    moments = iter([0.0, 2 * runner.timeout_s + 1])

    [outcome] = Writer(runner, clock=lambda: next(moments)).apply(stop(ActionKind.REQUEUE_HOLD, "1"))

    assert changes(runner) == []
    assert (outcome.kind, outcome.detail[:8]) == (OutcomeKind.UNKNOWN, "not sent")


def test_nothing_more_is_sent_when_the_caller_may_not_act_any_more() -> None:
    """It stood still between two commands: what it had sent stands, what it was about to send is not sent."""
    runner = cluster(*running("1", "2"))
    may_act = iter([True, False])
    actions = [*stop(ActionKind.REQUEUE_HOLD, "1"), *stop(ActionKind.CANCEL, "2")]

    outcomes = Writer(runner).apply(actions, lambda: next(may_act))

    assert changes(runner) == [("scontrol", "requeuehold", "1")]
    assert outcomes == [ActionOutcome(OutcomeKind.DONE), TOO_LATE]


def test_kinds_and_values_are_kept_apart_and_in_order() -> None:
    runner = cluster(*pending("1", "2", "3"), *running("9"))
    actions = [
        *queue(ActionKind.PRIORITISE, "1", value="5"),
        *stop(ActionKind.REQUEUE_HOLD, "9"),
        *queue(ActionKind.PRIORITISE, "2", value="6"),
        *queue(ActionKind.PRIORITISE, "3", value="5"),
    ]

    outcomes = Writer(runner).apply(actions)

    assert changes(runner) == [
        ("scontrol", "update", "JobId=1,3", "Priority=5"),
        ("scontrol", "requeuehold", "9"),
        ("scontrol", "update", "JobId=2", "Priority=6"),
    ]
    assert kinds(outcomes) == [OutcomeKind.DONE] * 4


def test_a_job_named_twice_is_asked_for_once() -> None:
    runner = cluster(*running("1"))

    outcomes = Writer(runner).apply(stop(ActionKind.CANCEL, "1", "1"))

    assert changes(runner) == [("scancel", "1")]
    assert kinds(outcomes) == [OutcomeKind.DONE] * 2


def test_long_lists_are_cut_into_parts() -> None:
    ids = [str(number) for number in range(1, 2 * AT_ONCE + 2)]
    runner = cluster(*running(*ids))

    outcomes = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, *ids))

    assert [len(call[2].split(",")) for call in changes(runner)] == [AT_ONCE, AT_ONCE, 1]
    assert len(outcomes) == len(ids)


def test_a_long_list_gets_more_time_and_scancel_never_its_minute_and_a_half() -> None:
    ids = [str(number) for number in range(1, 101)]
    runner = cluster(*running(*ids))
    runner.timeout_s = 20.0

    Writer(runner).apply([*stop(ActionKind.REQUEUE_HOLD, *ids), *stop(ActionKind.CANCEL, "1")])

    long, short = (limit for limit in runner.limits if limit is not None)
    assert long == pytest.approx(30.0)
    assert short < 10


# --- what is not done ---


def test_what_is_over_is_answered_and_the_rest_is_done() -> None:
    jobs = [*running("1", "3"), ("2", "RUNNING", 1, 1), ("4", "COMPLETING", 0, 1)]
    runner = cluster(*jobs)

    outcomes = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", "2", "3", "4", "5"))

    assert changes(runner) == [("scontrol", "requeuehold", "1,3")]
    assert kinds(outcomes) == [
        OutcomeKind.DONE,
        OutcomeKind.GONE,
        OutcomeKind.DONE,
        OutcomeKind.ALREADY,
        OutcomeKind.GONE,
    ]


def test_nothing_due_is_nothing_run() -> None:
    runner = cluster()

    assert kinds(Writer(runner).apply(stop(ActionKind.CANCEL, "1"))) == [OutcomeKind.GONE]
    assert Writer(runner).apply([]) == []
    assert changes(runner) == []


@pytest.mark.parametrize(
    "action",
    [
        Action(ActionKind.CANCEL, RunKey("1;2", START)),
        Action(ActionKind.CANCEL, RunKey("--user=ann", START)),
        Action(ActionKind.HOLD, RunKey("", 0)),
        Action(ActionKind.HOLD, RunKey("1,2", 0)),
        Action(ActionKind.SIGNAL, RunKey("1", START), "KILL;"),
        Action(ActionKind.SIGNAL, RunKey("1", START), ""),
        Action(ActionKind.PRIORITISE, RunKey("1", 0), "highest"),
    ],
)
def test_what_no_cluster_could_do_is_refused_without_asking(action: Action) -> None:
    runner = cluster(*running("1"))

    [outcome] = Writer(runner).apply([action])

    assert outcome.kind is OutcomeKind.REFUSED
    assert runner.calls == []


def test_a_job_that_squeue_does_not_know_alone_is_gone() -> None:
    runner = Scripted(reply=lambda _call: UNHEARD_OF)

    assert kinds(Writer(runner).apply(stop(ActionKind.CANCEL, "1"))) == [OutcomeKind.GONE]


def test_a_release_of_a_completing_job_is_asked_for_again_later() -> None:
    runner = cluster(("1", "COMPLETING", 1, 0))

    [outcome] = Writer(runner).apply(queue(ActionKind.RELEASE, "1"))

    assert outcome.kind is OutcomeKind.UNKNOWN
    assert changes(runner) == []


def test_a_job_whose_delay_cannot_be_cleared_is_not_released_into_it() -> None:
    def says(call: tuple[str, ...]) -> CommandAnswer:
        return (
            CommandAnswer("", "Access/permission denied for job 2\n", 1)
            if call[-1].startswith("StartTime=")
            else CommandAnswer("", "", 0)
        )

    runner = cluster(*pending("1", "2", priority=0, restarts=1), says=says)

    outcomes = Writer(runner).apply(queue(ActionKind.RELEASE, "1", "2"))

    assert changes(runner)[-1] == ("scontrol", "release", "1")
    assert kinds(outcomes) == [OutcomeKind.DONE, OutcomeKind.REFUSED]


# --- messages ---


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_messages_become_outcomes_of_their_jobs(version: str) -> None:
    command, code, err = recorded_answers(version)[0]
    once, gone, interactive, waiting, willing = command[-1].split(",")
    runner = cluster(*running(*command[-1].split(",")), says=lambda _call: CommandAnswer("", err, code))

    outcomes = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, once, gone, interactive, waiting, willing))

    assert changes(runner) == [tuple(command)]
    assert [(o.kind, o.detail) for o in outcomes] == [
        (OutcomeKind.REFUSED, "Requested operation is presently disabled"),
        (OutcomeKind.GONE, "Invalid job id specified"),
        (OutcomeKind.REFUSED, "Only batch jobs are accepted or processed"),
        (OutcomeKind.ALREADY, "Job is pending execution"),
        (OutcomeKind.DONE, ""),
    ]


def test_the_repetition_of_a_message_is_not_about_the_others() -> None:
    words = "Invalid job id specified for job 2\nslurm_suspend error: Invalid job id specified\n"
    runner = cluster(*pending("1", "2"), says=lambda _call: CommandAnswer("", words, 1))

    outcomes = Writer(runner).apply(queue(ActionKind.HOLD, "1", "2"))

    assert kinds(outcomes) == [OutcomeKind.DONE, OutcomeKind.GONE]


def test_a_lost_connection_in_the_middle_leaves_the_others_unknown() -> None:
    words = "Invalid job id specified for job 2\nUnable to contact slurm controller (connect failure)\n"
    runner = cluster(*pending("1", "2"), says=lambda _call: CommandAnswer("", words, 1))

    outcomes = Writer(runner).apply(queue(ActionKind.HOLD, "1", "2"))

    assert kinds(outcomes) == [OutcomeKind.UNKNOWN, OutcomeKind.GONE]


def test_a_message_without_a_job_is_about_all() -> None:
    runner = cluster(
        *running("1", "2"),
        says=lambda _call: CommandAnswer("", "slurm_requeue: Access/permission denied\n", 1),
    )

    outcomes = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", "2"))

    assert kinds(outcomes) == [OutcomeKind.REFUSED] * 2


def test_a_failure_without_words_is_unknown() -> None:
    runner = cluster(*running("1"), says=lambda _call: CommandAnswer("", "", 1))

    [outcome] = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1"))

    assert outcome.kind is OutcomeKind.UNKNOWN
    assert "said nothing" in outcome.detail


def test_a_change_that_does_not_answer_is_unknown_and_the_next_group_is_tried() -> None:
    def says(call: tuple[str, ...]) -> CommandAnswer:
        if call[1] == "requeuehold":
            raise SlurmTimeoutError("scontrol did not answer within 20 s")
        return CommandAnswer("", "", 0)

    runner = cluster(*running("1"), *pending("2"), says=says)

    outcomes = Writer(runner).apply([*stop(ActionKind.REQUEUE_HOLD, "1"), *queue(ActionKind.HOLD, "2")])

    assert kinds(outcomes) == [OutcomeKind.UNKNOWN, OutcomeKind.DONE]
    assert outcomes[0].detail == "scontrol did not answer within 20 s"


def test_when_the_jobs_cannot_be_looked_at_nothing_is_changed() -> None:
    def reply(_call: tuple[str, ...]) -> CommandAnswer:
        raise SlurmUnavailableError("squeue is not on the PATH of this process")

    runner = Scripted(reply=reply)

    outcomes = Writer(runner).apply(stop(ActionKind.CANCEL, "1", "2"))

    assert kinds(outcomes) == [OutcomeKind.UNKNOWN] * 2
    assert [call[0] for call in runner.calls] == ["squeue"]


def test_a_job_whose_row_does_not_decode_is_not_touched() -> None:
    answer = table(("1", "RUNNING", 0, 1))
    spoilt = CommandAnswer(answer.out.replace("1:00:00", "soon"), "", 0)
    runner = Scripted(reply=lambda call: spoilt if call[0] == "squeue" else CommandAnswer("", "", 0))

    assert kinds(Writer(runner).apply(stop(ActionKind.CANCEL, "1"))) == [OutcomeKind.UNKNOWN]
    assert changes(runner) == []


# --- comments ---


def test_comments_are_left_with_the_jobs_that_were_stopped() -> None:
    words = "Only batch jobs are accepted or processed for job 2\n"

    def says(call: tuple[str, ...]) -> CommandAnswer:
        return CommandAnswer("", words, 1) if call[1] == "requeuehold" else CommandAnswer("", "", 0)

    runner = cluster(*running("1", "2", "3"), says=says)
    comment = "made room for 12\nby 'bob' $(id) " + "x" * 500

    Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", "2", "3", comment=comment))

    program, verb, jobs, text = changes(runner)[-1]
    assert (program, verb, jobs) == ("scontrol", "update", "JobId=1,3")
    assert text.startswith("AdminComment=made room for 12 by 'bob' $(id) xxx")
    assert len(text) <= 250


@pytest.mark.parametrize(
    ("theirs", "written"),
    [
        ("", "giveway: plan 7"),
        ('{"quota": 3}', '{"quota": 3} // giveway: plan 7'),
        ("giveway: plan 6 stopped it", "giveway: plan 7"),
        ("JS1:H4sI // giveway: plan 6, for 12 (bob)", "JS1:H4sI // giveway: plan 7"),
        ("a // giveway: plan 6 // b // c", "a // b // c // giveway: plan 7"),
        ("giveway-place:1763757020 // a", "a // giveway: plan 7"),
        ("about giveway: no part of ours", "about giveway: no part of ours // giveway: plan 7"),
    ],
)
def test_what_others_keep_in_a_comment_stays(theirs: str, written: str) -> None:
    runner = cluster(*running("1"), comments={"1": theirs or "(null)"})

    Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", comment="giveway: plan 7"))

    assert changes(runner)[-1] == ("scontrol", "update", "JobId=1", f"AdminComment={written}")


@pytest.mark.parametrize("theirs", ["x" * 990, "two\nlines"])
def test_a_comment_that_leaves_no_room_is_left_alone(theirs: str) -> None:
    runner = cluster(*running("1"), comments={"1": theirs})

    outcomes = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", comment="giveway: plan 7"))

    assert kinds(outcomes) == [OutcomeKind.DONE]
    assert [call[1] for call in changes(runner)] == ["requeuehold"]


def test_only_our_part_is_taken_away_again() -> None:
    def says(call: tuple[str, ...]) -> CommandAnswer:
        refused = "scancel: error: Kill job error on job id 1: Access/permission denied\n"
        return CommandAnswer("", refused, 1) if call[0] == "scancel" else CommandAnswer("", "", 0)

    runner = cluster(*running("1"), says=says, comments={"1": "theirs // giveway: plan 6; it goes on"})

    Writer(runner).apply(stop(ActionKind.CANCEL, "1", comment="giveway: plan 7"))

    assert changes(runner)[-1] == ("scontrol", "update", "JobId=1", "AdminComment=theirs")


def test_a_comment_that_fails_changes_no_outcome() -> None:
    def says(call: tuple[str, ...]) -> CommandAnswer:
        return (
            CommandAnswer("", "Access/permission denied\n", 1)
            if call[1] == "update"
            else CommandAnswer("", "", 0)
        )

    runner = cluster(*running("1"), says=says)

    assert kinds(Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", comment="x"))) == [OutcomeKind.DONE]


def test_what_is_cancelled_gets_its_comment_before_and_loses_it_when_that_is_refused() -> None:
    def says(call: tuple[str, ...]) -> CommandAnswer:
        refused = "scancel: error: Kill job error on job id 2: Access/permission denied\n"
        return CommandAnswer("", refused, 1) if call[0] == "scancel" else CommandAnswer("", "", 0)

    runner = cluster(*running("1", "2"), says=says)

    outcomes = Writer(runner).apply(stop(ActionKind.CANCEL, "1", "2", comment="giveway: plan 7"))

    assert kinds(outcomes) == [OutcomeKind.DONE, OutcomeKind.REFUSED]
    assert changes(runner) == [
        ("scontrol", "update", "JobId=1,2", "AdminComment=giveway: plan 7"),
        ("scancel", "1", "2"),
        ("scontrol", "update", "JobId=2", "AdminComment="),
    ]


def test_a_job_that_is_not_released_is_not_put_in_line() -> None:
    def says(call: tuple[str, ...]) -> CommandAnswer:
        denied = "Access/permission denied for job 2\n"
        return CommandAnswer("", denied, 1) if call[1] == "release" else CommandAnswer("", "", 0)

    runner = cluster(*pending("1", "2", priority=0, restarts=1), says=says)

    outcomes = Writer(runner).apply(queue(ActionKind.RELEASE, "1", "2", value="4294903293"))

    assert changes(runner)[-1][:3] == ("scontrol", "update", "JobId=1")
    assert kinds(outcomes) == [OutcomeKind.DONE, OutcomeKind.REFUSED]


def test_a_place_in_line_that_no_slurm_takes_is_refused_at_once() -> None:
    runner = cluster(*pending("1", priority=0))

    outcomes = Writer(runner).apply(queue(ActionKind.RELEASE, "1", value="first"))

    assert kinds(outcomes) == [OutcomeKind.REFUSED]
    assert changes(runner) == []


def test_without_a_comment_none_is_set() -> None:
    runner = cluster(*running("1"))

    Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1"))

    assert len(changes(runner)) == 1
