"""No running job is ever resized: slurmctld 24.11.5 and 26.05.5 die when a job is shrunk whose step holds GPUs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.adapters.slurm.commands import CommandRunner, check
from scheduler.adapters.slurm.errors import CommandNotAllowedError
from scheduler.adapters.slurm.write import Writer
from scheduler.model.actions import Action, ActionKind
from scheduler.model.jobs import RunKey
from tests.adapters.slurm.replay import Scripted
from tests.adapters.slurm.test_recovering import ending, slurm
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


def test_every_kind_comes_to_a_command_that_changes_something() -> None:
    """Otherwise the test above would prove nothing."""
    values = {
        ActionKind.SIGNAL: "USR1",
        ActionKind.RECOVER: "USR1",
        ActionKind.PRIORITISE: "4000000000",
        ActionKind.PLACE: "-5",
    }
    for kind in ActionKind:
        sent = []
        for number, runner in enumerate(clusters()):
            run = RunKey("1", 0 if number in {1, 2} else START, int(number == 2))
            Writer(runner).apply([Action(kind, run, values.get(kind, ""), "NumNodes=2")])
            sent += [call for call in runner.calls if call[0] != "squeue" and "show" not in call]
        assert sent, kind


@pytest.mark.parametrize(
    "size", [*SIZES, "numnodes=1-1", "NUMNOD=2", "NodeLi=n1", "NumCPUs-=1", "numtasks+=1"]
)
def test_a_size_is_refused_with_the_reason(size: str) -> None:
    with pytest.raises(CommandNotAllowedError, match=r"no running job is ever resized.*slurmctld .* die"):
        check("scontrol", ("update", "JobId=1", size))
    with pytest.raises(CommandNotAllowedError, match="no running job is ever resized"):
        CommandRunner({"PATH": "/nowhere"}).run("scontrol", "update", "JobId=1", size)


def test_a_size_in_a_comment_is_a_comment() -> None:
    check("scontrol", ("update", "JobId=1", "AdminComment=NumNodes=2 NodeList=n1"))
