"""Whatever one job's rows look like, only that job is affected; the same of nodes, partitions and licences."""

from collections.abc import Callable

import pytest

from scheduler.adapters.slurm.commands import CommandAnswer
from scheduler.adapters.slurm.queue import REQUEST_S
from scheduler.adapters.slurm.read import Reader
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation
from tests.adapters.slurm.replay import VERSIONS, Replay, scene
from tests.adapters.slurm.test_reading import Clock, by_name

GONE = CommandAnswer("", "slurm_load_jobs error: Invalid job id specified\n", 1)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def busy(version: str) -> Replay:
    return Replay(scene=scene(version, "busy"))


@pytest.fixture
def ending(version: str) -> Replay:
    return Replay(scene=scene(version, "ending"))


def spoilt(replay: Replay, name: str, old: str, new: str) -> Callable[[str, str], str]:
    """An edit of one job's row of squeue, and of scontrol's text about it."""
    job_id = replay.scene.jobs[name]

    def edit(asked: str, text: str) -> str:
        before = f"JobId={job_id} " if asked.startswith("job") else f"\n{job_id}|"
        head, own, rest = f"\n{text}".partition(before)
        line, end, others = rest.partition("\n" if asked.startswith("job") else "gRECORDED;\n")
        changed = f"{head}{own}{line.replace(old, new)}{end}{others}"[1:]
        return changed if asked == "squeue" or asked.startswith("job") else text

    return edit


def others(seen: Observation, job: ObservedJob) -> dict[str, ObservedJob]:
    return {one.id: one for one in seen.jobs if one.id != job.id}


# --- jobs that hold something ---


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("|RUNNING|", "|FLYING|", "its state 'FLYING' is not known"),
        ("|1:00:00|", "|soon|", "TimeLimit: 'soon' is no time limit"),
        ("|N/A|RUNNING|", "|RUNNING|", "its row has 27 and 11 fields, not 28 and 11"),
        ("gRECORDED.x", "gRECORDED.gRECORDED.x", "its row has 28 and 12 fields, not 28 and 11"),
    ],
)
def test_a_running_job_whose_row_is_not_understood_is_protected_and_the_others_are_as_before(
    busy: Replay, old: str, new: str, words: str
) -> None:
    before = Reader(busy).observe()
    busy.edit = spoilt(busy, "once", old, new)
    seen = Reader(busy).observe()
    job = next(job for job in seen.jobs if job.id == busy.scene.jobs["once"])

    assert seen.faults == ()
    assert (job.state, job.not_understood) == (JobState.RUNNING, words)
    assert others(seen, job) == others(before, job)
    assert job.partitions


def test_what_a_row_does_not_tell_exactly_is_asked_of_scontrol(busy: Replay) -> None:
    before = by_name(busy, Reader(busy).observe())["once"]
    busy.edit = spoilt(busy, "once", "|cpu=1,mem", "|cpu:1,mem")

    job = by_name(busy, Reader(busy).observe())["once"]

    assert (job.alloc, job.not_understood) == (before.alloc, "")


@pytest.mark.parametrize("name", ["uneven", "typed"])
def test_a_share_that_is_not_told_counts_as_taken(busy: Replay, name: str) -> None:
    before = Reader(busy).observe()
    busy.edit = spoilt(busy, name, " CPU_IDs=", " CPUs=")
    seen = Reader(busy).observe()
    job, was = by_name(busy, seen)[name], by_name(busy, before)[name]

    assert seen.faults == ()
    assert job.not_understood == f"its share of {next(iter(was.alloc))} is not told"
    assert job.alloc == {}
    for node in seen.nodes:
        taken = {name: amount for name, amount in node.held_elsewhere.items() if name in {"cpu", "gpu"}}
        # Of a node just drained slurmctld's own numbers are a moment older than the jobs.
        for resource, amount in was.alloc.get(node.name, {}).items():
            assert taken.get(resource, amount) >= amount, node


def test_nothing_is_free_where_slurmctld_does_not_say_what_it_has_given_out(busy: Replay) -> None:
    edit = spoilt(busy, "uneven", " CPU_IDs=", " CPUs=")
    busy.edit = lambda asked, text: (
        text.replace("CPUAlloc=", "CPUs=").replace("AllocMem=", "Mem=").replace("GresUsed=", "Gres_=")
        if asked == "nodes_given_out"
        else edit(asked, text)
    )
    seen = Reader(busy).observe()

    for node in seen.nodes[:2]:
        told: dict[str, int] = {}
        for job in seen.jobs:
            for resource, amount in job.alloc.get(node.name, {}).items():
                told[resource] = told.get(resource, 0) + amount
        free = {
            resource: amount - told.get(resource, 0) - node.held_elsewhere.get(resource, 0)
            for resource, amount in node.total.items()
        }
        assert set(free.values()) == {0}, (node.name, free)


def test_a_job_that_does_not_tell_its_nodes_holds_what_nobody_else_does(busy: Replay) -> None:
    busy.edit = spoilt(busy, "typed", "|RUNNING|1|", "|RUNNING|")
    seen = Reader(busy).observe()
    job = next(job for job in seen.jobs if job.id == busy.scene.jobs["typed"])
    node = next(node for node in seen.nodes if node.name == "n3")

    assert "its row has" in job.not_understood
    assert job.partitions == ("x",)
    assert node.held_elsewhere["gpu:a100"] == 3
    assert node.held_elsewhere["cpu"] == 3


def test_a_job_that_grew_is_protected_and_what_it_got_counts_as_taken() -> None:
    """slurmctld 22.05 leaves the nodes out that a job got while it ran (permit_job_expansion)."""
    replay = Replay(scene=scene("22.05.8", "grown"))
    seen = Reader(replay).observe()
    jobs = by_name(replay, seen)

    assert seen.faults == ()
    assert jobs["grown"].not_understood == "its share of n2 is not told"
    assert set(jobs["grown"].alloc) == {"n1"}
    assert jobs["beside"].not_understood == ""
    assert [node.name for node in seen.nodes if node.held_elsewhere] == ["n2"]
    assert seen.nodes[1].held_elsewhere["mem"] == 3000


def test_a_running_job_that_changes_while_it_is_read_counts_and_is_read_the_next_time(busy: Replay) -> None:
    job_id = busy.scene.jobs["typed"]
    busy.edit = spoilt(busy, "typed", "JobName=typed", "JobName=other")
    busy.failing[f"job/{job_id}"] = GONE
    reader = Reader(busy)

    seen = reader.observe()
    job = by_name(busy, seen)["typed"]
    assert (seen.faults, job.not_understood) == ((), "it changed while it was being read")
    assert next(node for node in seen.nodes if node.name == "n3").held_elsewhere["cpu"] == 3

    busy.failing.clear()
    busy.edit = lambda _asked, text: text
    seen = reader.observe()
    assert by_name(busy, seen)["typed"].not_understood == ""
    assert not any(node.held_elsewhere for node in seen.nodes)


# --- jobs that wait ---


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (" MinMemoryCPU=", " MinMemorySocket=", "its memory MinMemorySocket is not understood"),
        (" MinMemoryCPU=1000M", " MinMemoryCPU=lots", "its MinMemoryCPU=lots is not understood"),
        (" NumNodes=", " NumNodes=about", "its NumNodes=about"),
        (" ExcNodeList=", " Excluded=", "its ExcNodeList is not told"),
        (" CoreSpec=*", "", "its CoreSpec is not told"),
    ],
)
def test_a_pending_job_that_is_not_understood_is_shown_and_not_planned_for(
    busy: Replay, old: str, new: str, words: str
) -> None:
    before = Reader(busy).observe()
    busy.edit = spoilt(busy, "excluded", old, new)
    seen = Reader(busy).observe()
    job = by_name(busy, seen)["excluded"]

    assert seen.faults == ()
    assert words in job.unplannable
    assert (job.state, job.request, job.user, job.partitions) == (JobState.PENDING, None, "ann", ("x",))
    assert others(seen, job) == others(before, job)


def test_a_pending_job_in_an_unknown_state_is_left_alone(busy: Replay) -> None:
    busy.edit = spoilt(busy, "excluded", "|PENDING|", "|PONDERING|")
    job = by_name(busy, Reader(busy).observe())["excluded"]

    assert job.state is JobState.PENDING
    assert job.not_understood == job.unplannable == "its state 'PONDERING' is not known"


def test_a_job_that_is_requeued_at_once_waits_and_has_not_ended(busy: Replay) -> None:
    """EXPEDITING: Slurm 25.11 and later, `--requeue=expedite`."""
    busy.edit = spoilt(busy, "excluded", "|PENDING|", "|EXPEDITING|")
    job = by_name(busy, Reader(busy).observe())["excluded"]

    assert (job.state, job.not_understood, job.unplannable) == (JobState.PENDING, "", "")


def test_a_pending_job_that_changes_while_it_is_read_is_not_planned_for_this_time(ending: Replay) -> None:
    job_id = ending.scene.jobs["held"]
    ending.failing[f"job/{job_id}"] = GONE
    reader = Reader(ending)

    seen = reader.observe()
    assert seen.faults == ()
    assert by_name(ending, seen)["held"].unplannable == "it changed while it was being read"
    ending.failing.clear()
    assert by_name(ending, reader.observe())["held"].unplannable == ""


def test_what_was_not_understood_is_asked_for_again_after_a_while(busy: Replay) -> None:
    clock = Clock()
    reader = Reader(busy, clock)
    busy.edit = spoilt(busy, "excluded", " CoreSpec=*", "")
    reader.observe()
    busy.edit = lambda _asked, text: text
    busy.calls.clear()

    assert by_name(busy, reader.observe())["excluded"].unplannable
    assert busy.asked("job") == 0
    clock.now += REQUEST_S + 1
    assert by_name(busy, reader.observe())["excluded"].unplannable == ""


def test_licences_that_are_not_understood_are_that_jobs_own(busy: Replay) -> None:
    busy.edit = spoilt(busy, "excluded", " Licenses=(null)", " Licenses=matlab:lots")
    busy.failing["licenses"] = CommandAnswer("LicenseName=matlab Total=3 Used=some Free=\n", "", 0)
    seen = Reader(busy).observe()

    assert seen.faults == ()
    assert by_name(busy, seen)["excluded"].unplannable == "its licences matlab:lots are not understood"
    assert by_name(busy, seen)["long"].unplannable == ""


# --- machines ---


def test_a_node_that_does_not_decode_takes_no_jobs_and_says_why(busy: Replay) -> None:
    busy.edit = lambda name, text: text.replace(" State=", " Stat=", 1) if name == "nodes" else text
    seen = Reader(busy).observe()
    [node] = [node for node in seen.nodes if node.name == "n1"]

    assert seen.faults == ()
    assert (node.up, node.total, node.partitions) == (False, {}, ("x",))
    assert node.state_reason == "node n1 does not decode: 'State' is missing"
    assert len(seen.nodes) == 4


def test_a_partition_that_does_not_decode_starts_nothing(busy: Replay) -> None:
    busy.edit = lambda name, text: text.replace(" State=", " Stat=", 1) if name == "partitions" else text
    seen = Reader(busy).observe()

    assert seen.faults == ()
    [odd] = [part for part in seen.partitions if part.state == "NOT UNDERSTOOD"]
    assert odd.nodes == ()
    assert len(seen.partitions) == 4


# --- when the answer as a whole cannot be believed ---


def test_most_nodes_not_understood_is_a_fault(busy: Replay) -> None:
    busy.edit = lambda name, text: text.replace(" CPUTot=", " CPUs=") if name == "nodes" else text
    busy.edit = lambda name, text: text.replace(" State=", " Stat=") if name == "nodes" else text

    assert Reader(busy).observe().faults[0].startswith("most nodes are not understood: node n1")


def test_most_jobs_of_most_users_not_understood_is_a_fault_and_one_users_are_not(busy: Replay) -> None:
    busy.edit = lambda name, text: text.replace("|1:00:00|", "|soon|") if name == "squeue" else text
    [fault] = Reader(busy).observe().faults
    assert fault.startswith("most jobs are not understood; of job ")

    def of_ann(name: str, text: str) -> str:
        rows = text.split("gRECORDED;\n")
        return (
            "gRECORDED;\n".join(
                row.replace("|1:00:00|", "|soon|") if "gRECORDED.anngRECORDED." in row else row
                for row in rows
            )
            if name == "squeue"
            else text
        )

    busy.edit = of_ann
    seen = Reader(busy).observe()
    assert seen.faults == ()
    assert sum(bool(job.not_understood) for job in seen.jobs) > len(seen.jobs) / 2


def test_a_row_without_an_id_is_a_fault_for_any_job_may_be_missing(busy: Replay) -> None:
    job_id = busy.scene.jobs["once"]
    busy.edit = lambda name, text: text.replace(f"\n{job_id}|{job_id}|", "\n||") if name == "squeue" else text

    assert Reader(busy).observe().faults == ("squeue tells of a job without its id",)
