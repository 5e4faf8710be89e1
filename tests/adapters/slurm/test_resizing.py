"""A size is sent in two forms only, of a job that was looked at right before, on a cluster that was tried.

slurmctld 24.11.5 and 26.05.5 die when a job is shrunk whose step holds GPUs.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.adapters.slurm import resizing
from scheduler.adapters.slurm.allowed import check
from scheduler.adapters.slurm.commands import CommandAnswer, CommandRunner
from scheduler.adapters.slurm.config import Config
from scheduler.adapters.slurm.errors import CommandNotAllowedError
from scheduler.adapters.slurm.write import Writer
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import RunKey
from scheduler.model.observation import Resizing
from tests.adapters.slurm.replay import Scripted
from tests.adapters.slurm.test_recovering import ending, slurm
from tests.adapters.slurm.test_rows import FREE
from tests.adapters.slurm.test_writing import START, cluster, pending, running

SETTABLE = {"JobId", "Priority", "Nice", "StartTime", "AdminComment", "Requeue"}
SIZES = ("NumNodes=2", "NodeList=n1", "NumTasks=1", "NumCPUs=8")
hostile = st.one_of(
    st.sampled_from(SIZES),
    st.builds("{} {}".format, st.sampled_from(("4000000000", "USR1", "x")), st.sampled_from(SIZES)),
    st.builds("{}\n{}\x00".format, st.sampled_from(("4000000000", "USR1")), st.sampled_from(SIZES)),
    st.sampled_from(("4000000000", "USR1", "")),
    st.text(max_size=30),
)


def clusters() -> list[Scripted]:
    return [
        cluster(*running("1")),
        cluster(*pending("1")),
        cluster(*pending("1", priority=0, restarts=1)),
        cluster(*running("1"), requeue=False),
        slurm("1", endings=lambda _time: ending("1", "0:10|x")),
    ]


@pytest.mark.parametrize("kind", ActionKind)
@given(hostile, hostile)
def test_no_kind_of_action_sends_a_size(kind: ActionKind, value: str, comment: str) -> None:
    for number, runner in enumerate(clusters()):
        start = 0 if number in {1, 2} else START
        Writer(runner).apply([Action(kind, RunKey("1", start, int(number == 2)), value, comment)])
        for call in runner.calls:
            if "update" in call:
                assert {argument.partition("=")[0] for argument in call[2:]} <= SETTABLE


TOLD = (
    "JobId=1 JobName={name} UserId=ann(1001) Account=(null) QOS=(null) JobState=X BatchHost=n1 NumNodes={nodes} "
    "NumCPUs=6 NumTasks={tasks} CPUs/Task=2 ReqTRES=cpu=6,mem=300M,node={count},billing=6 "
    "NtasksPerN:B:S:C={each}:0:*:* JOB_GRES={gres}   Nodes=n[1-3] CPU_IDs=0-1 Mem=100 GRES={gres} "
    "MinMemoryNode=100M Features=(null) Command=(null)"
)


def _sized(state: str, told: str, answer: str = "") -> Scripted:
    """A cluster of one job on n1 to n3 that scontrol tells of so."""
    restarts, priority = (1, 0) if state == "PENDING" else (0, 5)

    def reply(call: tuple[str, ...]) -> CommandAnswer:
        if call[0] == "squeue":
            row = cluster(("1", state, restarts, priority)).reply(call)
            return CommandAnswer(row.out.replace("|n1g", "|n[1-3]g"), "", 0)
        if "show" in call:
            return CommandAnswer(told, "", 0)
        return CommandAnswer("", answer, 1 if answer else 0)

    return Scripted(reply=reply)


def _told(**more: object) -> str:
    words = {"name": FREE[-1], "nodes": "3-3", "tasks": 3, "count": 3, "each": 1, "gres": "(null)", **more}
    return TOLD.format(**words).replace(
        "Account=(null) QOS=(null)", f"Account={FREE[6] or '(null)'} QOS={FREE[5]}"
    )


def _sent(
    runner: Scripted, kind: ActionKind, value: str, ways: frozenset[Resizing]
) -> tuple[ActionOutcome, list[str]]:
    run = RunKey("1", 0, 1) if kind is ActionKind.RESIZE else RunKey("1", START, 0)
    [outcome] = Writer(runner, ways=lambda: ways).apply([Action(kind, run, value)])
    return outcome, [" ".join(call[2:]) for call in runner.calls if "update" in call]


BOTH = frozenset({Resizing.RESTART, Resizing.IN_PLACE})


def test_a_number_of_nodes_goes_with_tasks_and_cpus() -> None:
    _, sent = _sent(_sized("PENDING", _told()), ActionKind.RESIZE, "2", BOTH)

    assert sent == ["JobId=1 NumNodes=2-2 NumTasks=2 NumCPUs=4"]


@pytest.mark.parametrize(("told", "code"), [
    (_told(tasks=4), "resize.uneven"),
    (_told(tasks=6, count=1, each=0, nodes="2"), "resize.no_nodes"),
])  # fmt: skip
def test_what_cannot_be_divided_is_refused_and_nothing_is_sent(told: str, code: str) -> None:
    outcome, sent = _sent(_sized("PENDING", told), ActionKind.RESIZE, "2", BOTH)

    assert (outcome.kind, getattr(outcome.detail, "code", outcome.detail), sent) == (
        OutcomeKind.REFUSED,
        code,
        [],
    )


def test_nodes_are_named_of_a_running_job_that_holds_no_generic_resources() -> None:
    _, sent = _sent(_sized("RUNNING", _told()), ActionKind.SHRINK, "n3,n1", BOTH)

    assert sent == ["JobId=1 NodeList=n1,n3"]


@pytest.mark.parametrize(("told", "value", "code"), [
    (_told(gres="gpu:a100:1"), "n1", "resize.gres"),
    (_told(), "n2,n3", "resize.first_node"),
    (_told(), "n1,n9", "resize.nodes"),
])  # fmt: skip
def test_a_running_job_that_may_not_be_shrunk_is_refused(told: str, value: str, code: str) -> None:
    outcome, sent = _sent(_sized("RUNNING", told), ActionKind.SHRINK, value, BOTH)

    assert (outcome.kind, getattr(outcome.detail, "code", outcome.detail), sent) == (
        OutcomeKind.REFUSED,
        code,
        [],
    )


def test_what_is_not_told_of_its_nodes_is_unknown() -> None:
    for told in ("", _told().replace("Nodes=n[1-3]", "Nodes=n[1-2]")):
        outcome, sent = _sent(_sized("RUNNING", told), ActionKind.SHRINK, "n1", BOTH)
        assert (outcome.kind, sent) == (OutcomeKind.UNKNOWN, [])


def test_that_it_was_shrunk_is_believed_when_it_is_seen() -> None:
    outcome, sent = _sent(_sized("RUNNING", _told()), ActionKind.SHRINK, "n1", BOTH)

    assert sent and outcome.kind is OutcomeKind.UNKNOWN


def test_the_second_time_without_slurmdbd_is_refused_for_good() -> None:
    said = "Job update not available right now, the DB index is being set, try again in a bit for job 1"
    for way, kind in (
        (Resizing.IN_PLACE_ONCE, OutcomeKind.REFUSED),
        (Resizing.IN_PLACE, OutcomeKind.UNKNOWN),
    ):
        outcome, _ = _sent(_sized("RUNNING", _told(), said), ActionKind.SHRINK, "n1", frozenset({way}))
        assert outcome.kind is kind


@pytest.mark.parametrize("kind", [ActionKind.RESIZE, ActionKind.SHRINK])
def test_a_cluster_that_cannot_is_sent_nothing(kind: ActionKind) -> None:
    state = "PENDING" if kind is ActionKind.RESIZE else "RUNNING"
    outcome, sent = _sent(
        _sized(state, _told()), kind, "2" if kind is ActionKind.RESIZE else "n1", frozenset()
    )

    assert (outcome.kind, sent) == (OutcomeKind.REFUSED, [])


@pytest.mark.parametrize(("version", "facts", "ways"), [
    ("22.05.8", {}, {Resizing.RESTART, Resizing.IN_PLACE_ONCE}),
    ("22.05.8", {"AccountingStorageType": "accounting_storage/slurmdbd"}, BOTH),
    ("24.11.5", {"AccountingStorageType": "accounting_storage/none"}, BOTH),
    ("26.05.5", {"SchedulerParameters": "bf_interval=1,disable_job_shrink"}, {Resizing.RESTART}),
    ("25.05.1", {}, set()),
    ("", {}, set()),
])  # fmt: skip
def test_which_ways_a_cluster_has(version: str, facts: dict[str, str], ways: set[Resizing]) -> None:
    assert resizing.ways(Config("dev", version, facts=facts)) == ways


def test_every_kind_comes_to_a_command_that_changes_something() -> None:
    """Otherwise the test above would prove nothing."""
    values = {
        ActionKind.SIGNAL: "USR1",
        ActionKind.RECOVER: "USR1",
        ActionKind.PRIORITISE: "4000000000",
        ActionKind.PLACE: "-5",
        ActionKind.KEEP: "1900000000 n1",
        ActionKind.BEGIN: "1900000000",
    }
    for kind in set(ActionKind) - {ActionKind.RESIZE, ActionKind.SHRINK}:
        sent = []
        for number, runner in enumerate(clusters()):
            run = RunKey("1", 0 if number in {1, 2} else START, int(number == 2))
            Writer(runner).apply([Action(kind, run, values.get(kind, ""), "NumNodes=2")])
            sent += [call for call in runner.calls if call[0] != "squeue" and "show" not in call]
        assert sent, kind


@pytest.mark.parametrize(
    "size",
    [
        "NumNodes=2",
        "NumTasks=1",
        "NumCPUs=8",
        "NumNodes=3-4",
        "numnodes=1-1",
        "NUMNOD=2",
        "NodeLi=n1",
        "NumCPUs-=1",
        "numtasks+=1",
    ],
)
def test_a_size_is_refused_with_the_reason(size: str) -> None:
    with pytest.raises(CommandNotAllowedError, match=r"no job is resized in this form.*slurmctld .* die"):
        check("scontrol", ("update", "JobId=1", size))
    with pytest.raises(CommandNotAllowedError, match="no job is resized in this form"):
        CommandRunner({"PATH": "/nowhere"}).run("scontrol", "update", "JobId=1", size)


@pytest.mark.parametrize("arguments", [
    ("JobId=1", "NumNodes=2-2"),
    ("JobId=1", "NumNodes=2-2", "NumTasks=2"),
    ("JobId=1,2", "NumNodes=2-2", "NumTasks=2", "NumCPUs=2"),
    ("JobId=1,2", "NodeList=n1"),
    ("JobId=1", "NodeList=n1", "Priority=5"),
    ("NodeList=n1", "JobId=1"),
    ("JobId=1", "NodeList=n[1-2]"),
    ("JobId=1", "NodeList="),
])  # fmt: skip
def test_a_size_stands_in_its_own_form_only(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandNotAllowedError):
        check("scontrol", ("update", *arguments))


def test_the_two_forms() -> None:
    check("scontrol", ("update", "JobId=1_7", "NumNodes=12-12", "NumTasks=24", "NumCPUs=48"))
    check("scontrol", ("update", "JobId=1", "NodeList=gpu-01.site,n2"))


def test_a_size_in_a_comment_is_a_comment() -> None:
    check("scontrol", ("update", "JobId=1", "AdminComment=NumNodes=2 NodeList=n1"))
