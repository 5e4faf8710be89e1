"""Whole observations made from recordings of a real Slurm."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from scheduler.adapters.slurm import config, jobs, rows
from scheduler.adapters.slurm.commands import CommandAnswer
from scheduler.adapters.slurm.errors import SlurmUnavailableError
from scheduler.adapters.slurm.queue import REQUEST_S
from scheduler.adapters.slurm.read import CONFIG_S, Reader
from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.observation import Observation
from scheduler.model.resources import total
from tests.adapters.slurm.replay import VERSIONS, Replay, scene
from tests.adapters.slurm.test_rows import FREE, OWN

NOW = 1_790_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def busy(version: str) -> Replay:
    return Replay(scene=scene(version, "busy"))


@pytest.fixture
def ending(version: str) -> Replay:
    return Replay(scene=scene(version, "ending"))


def by_name(replay: Replay, seen: Observation) -> Mapping[str, ObservedJob]:
    seen_jobs = {job.id: job for job in seen.jobs}
    return {name: seen_jobs[job_id] for name, job_id in replay.scene.jobs.items() if job_id in seen_jobs}


# --- machines ---


def test_nodes_have_what_jobs_can_get(busy: Replay) -> None:
    nodes = {node.name: node for node in Reader(busy).observe().nodes}

    assert nodes["n1"].total == {"cpu": 8, "mem": 16_000, "gpu": 8}
    assert nodes["n3"].total == {"cpu": 8, "mem": 15_000, "gpu": 8, "gpu:a100": 6, "gpu:v100": 2}
    assert nodes["n3"].features == {"new", "ib"}
    assert nodes["n3"].partitions == ("x", "y")
    assert [name for name, node in nodes.items() if not node.up] == ["n2"]


def test_the_words_of_a_drain_reason_are_not_taken_for_facts(busy: Replay) -> None:
    node = Reader(busy).observe().nodes[1]

    assert node.state.startswith(("MIXED+DRAIN", "IDLE+DRAIN", "ALLOCATED+DRAIN"))
    assert node.total["cpu"] == 8
    assert node.state_reason.startswith("fan broken State=IDLE CPUTot=99")


def test_partitions_have_their_nodes_and_state(busy: Replay) -> None:
    partitions = {part.name: part for part in Reader(busy).observe().partitions}

    assert partitions["x"].nodes == ("n1", "n2", "n3", "n4")
    assert partitions["shut"].state == "DOWN"
    assert partitions["y"].state == "UP"


def test_the_cluster_has_its_own_name_or_the_one_given(busy: Replay) -> None:
    assert Reader(busy).observe().cluster == "dev"
    assert Reader(busy).observe("north").cluster == "north"


# --- running jobs ---


def test_a_busy_cluster_is_read_without_faults(busy: Replay) -> None:
    seen = Reader(busy).observe()

    assert seen.faults == ()
    assert (
        len({job.id for job in seen.jobs})
        == len(seen.jobs)
        == busy.scene.text("squeue").count("gRECORDED;\n")
    )


def test_uneven_shares_are_told_node_by_node(busy: Replay) -> None:
    alloc = by_name(busy, Reader(busy).observe())["uneven"].alloc

    assert set(alloc) == {"n1", "n2"}
    assert {share["gpu"] for share in alloc.values()} == {2}
    assert sorted(share["cpu"] for share in alloc.values()) == [1, 4]
    assert sorted(share["mem"] for share in alloc.values()) == [1000, 4000]


def test_untyped_requests_hold_typed_gpus(busy: Replay) -> None:
    jobs = by_name(busy, Reader(busy).observe())

    assert jobs["over_types"].alloc == {"n4": {"cpu": 1, "mem": 1000, "gpu": 7, "gpu:a100": 6, "gpu:v100": 1}}
    [typed] = jobs["typed"].alloc.values()
    assert typed == {"cpu": 3, "mem": 1536, "gpu": 3, "gpu:a100": 3}


def test_no_node_gives_more_than_it_has(busy: Replay) -> None:
    seen = Reader(busy).observe()
    totals = {node.name: node.total for node in seen.nodes}

    for name, available in totals.items():
        held = total(job.alloc[name] for job in seen.jobs if name in job.alloc)
        assert all(held[resource] <= available[resource] for resource in held), (name, held)


def test_a_suspended_job_holds_memory_and_gpus_but_no_cpus(busy: Replay) -> None:
    job = by_name(busy, Reader(busy).observe())["suspended"]

    assert (job.state, job.slurm_state, job.held) == (JobState.RUNNING, "SUSPENDED", False)
    [share] = job.alloc.values()
    assert "cpu" not in share
    assert share["mem"] == 2000
    assert share["gpu"] == 1


def test_facts_about_jobs_come_through(busy: Replay) -> None:
    jobs = by_name(busy, Reader(busy).observe())

    single = jobs["single"]
    assert (single.user, single.account, single.wckey, single.partitions) == ("bob", "alpha", "wk", ("x",))
    assert single.time_limit_s == 3600
    assert (single.batch, single.requeue, single.restarts) == (True, True, 0)
    assert single.start is not None
    assert single.submit <= single.start
    assert not jobs["once"].requeue
    assert not jobs["interactive"].batch
    # Asked for as 2-03:04:05; Slurm counts in minutes.
    assert jobs["long"].time_limit_s == ((2 * 24 + 3) * 60 + 5) * 60
    assert jobs["unlimited"].time_limit_s is None


def test_array_tasks_have_the_ids_that_commands_take(busy: Replay) -> None:
    array = busy.scene.jobs["array"]
    tasks = [job for job in Reader(busy).observe().jobs if job.array_job_id == array]

    assert sorted(job.id for job in tasks) == [f"{array}_{number}" for number in range(1, 5)]
    assert sorted(job.state.value for job in tasks) == ["pending", "pending", "running", "running"]


def test_parts_of_a_heterogeneous_job_have_numbers_and_only_the_leader_is_requeued(busy: Replay) -> None:
    leader = busy.scene.jobs["het"]
    parts = [job for job in Reader(busy).observe().jobs if job.het_job_id == leader]

    assert sorted(job.id for job in parts) == sorted([leader, str(int(leader) + 1)])
    assert {job.id: job.requeue for job in parts} == {leader: True, str(int(leader) + 1): False}


# --- pending jobs ---


def test_why_jobs_wait(busy: Replay) -> None:
    jobs = by_name(busy, Reader(busy).observe())

    assert jobs["begin"].slurm_reason == "BeginTime"
    assert jobs["begin"].eligible is not None
    assert jobs["begin"].eligible - jobs["begin"].submit in {7199, 7200}
    assert jobs["depends"].dependency.startswith("afterok:")
    assert jobs["shut"].slurm_reason == "PartitionDown"
    assert (jobs["nodes"].held, jobs["nodes"].slurm_reason) == (True, "JobHeldUser")
    assert jobs["two_partitions"].partitions == ("x", "y")


# --- jobs that end ---


def test_a_requeued_job_waits_held_with_its_restart_counted(ending: Replay) -> None:
    job = by_name(ending, Reader(ending).observe())["held"]

    assert (job.state, job.held, job.restarts, job.start) == (JobState.PENDING, True, 1, None)
    assert job.slurm_reason == "job requeued in held state"
    assert job.request is not None


def test_slurms_own_delay_after_a_requeue_is_seen(ending: Replay) -> None:
    job = by_name(ending, Reader(ending).observe())["delayed"]

    assert (job.held, job.restarts, job.slurm_reason) == (False, 1, "BeginTime")
    assert job.eligible is not None


def test_completing_jobs_still_hold_what_they_have_not_given_back(ending: Replay) -> None:
    jobs = by_name(ending, Reader(ending).observe())

    assert jobs["cancelled"].state is jobs["requeued"].state is JobState.COMPLETING
    [share] = jobs["requeued"].alloc.values()
    assert share == {"cpu": 2, "mem": 2000, "gpu": 2, "gpu:a100": 2}
    # One of its two nodes is free again.
    [(node, share)] = jobs["cancelled"].alloc.items()
    assert share["gpu"] == 2
    assert node in {"n1", "n2"}


# --- hostile texts ---


def test_a_name_and_a_comment_that_imitate_other_jobs_forge_nothing(busy: Replay) -> None:
    seen = Reader(busy).observe()
    jobs = by_name(busy, seen)

    assert seen.faults == ()
    assert jobs["hostile"].name.startswith('a|b "c" $(d) <e>\té\n')
    assert "GRES=gpu:8" in jobs["hostile"].comment
    assert jobs["hostile"].user == "eve"
    assert jobs["hostile"].account == "we|i=rd qos=x"
    # The comment says that "uneven" holds all GPUs of two nodes.
    assert total(jobs["uneven"].alloc.values())["gpu"] == 4
    assert sum(job.id == jobs["single"].id for job in seen.jobs) == 1


def test_an_imitated_job_is_asked_for_alone(busy: Replay) -> None:
    Reader(busy).observe()

    assert busy.asked("jobs") == 1
    assert busy.asked("job/") == 1
    assert busy.calls[-1][-1] == busy.scene.jobs["uneven"]


# --- cheap ---


def test_what_has_not_changed_is_not_asked_again(busy: Replay) -> None:
    reader = Reader(busy, Clock())
    first = reader.observe()
    busy.calls.clear()

    second = reader.observe()

    assert second == first
    assert [call[0] for call in busy.calls] == ["scontrol", "scontrol", "scontrol", "squeue"]


def test_a_new_comment_on_a_job_is_seen_without_asking_for_its_nodes_again(busy: Replay) -> None:
    reader = Reader(busy, Clock())
    before = by_name(busy, reader.observe())["uneven"]
    busy.calls.clear()
    busy.edit = _in("squeue", "(null)gRECORDED.uneven", "ckpt:epoch=3gRECORDED.uneven")

    after = by_name(busy, reader.observe())["uneven"]

    assert after.comment == "ckpt:epoch=3"
    assert after.alloc == before.alloc
    assert busy.asked("job") == 0


def test_a_shrunk_job_is_asked_for_again(busy: Replay) -> None:
    reader = Reader(busy, Clock())
    reader.observe()
    busy.calls.clear()
    busy.edit = _in("squeue", "|n[1-2]gRECORDED", "|n1gRECORDED")

    job = by_name(busy, reader.observe())["uneven"]

    assert set(job.alloc) == {"n1"}
    assert busy.asked("job/") == 1


def test_where_a_running_job_may_start_again_is_read_and_kept(busy: Replay) -> None:
    """Its features from its row, the nodes that it named from scontrol, also when that is not asked again."""
    none = "(null)gRECORDED.(null)gRECORDED.unevengRECORDED"
    busy.edit = _in("squeue", none, none.replace("(null)", "ib", 1))
    reader = Reader(busy, Clock())
    found = [by_name(busy, reader.observe())["uneven"]]
    busy.calls.clear()
    busy.edit = _in("squeue", none, "ibgRECORDED.savedgRECORDED.unevengRECORDED")
    found.append(by_name(busy, reader.observe())["uneven"])

    assert busy.asked("job") == 0
    assert [job.comment for job in found] == ["", "saved"]
    for job in found:
        assert job.request is not None
        assert job.request.features == {"ib"} and job.request.not_nodes == {"n3", "n4"}
        assert (job.request.nodes, job.request.per_node["gpu"]) == (2, 2)


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        ("", None),
        ("ib|old", Request(any_of=(frozenset({"ib"}), frozenset({"old"})))),
        # Whatever it means, the nodes that it has are right.
        ("[rack1*3&rack2*1]", Request(only_nodes=frozenset({"n1", "n2"}))),
    ],
)
def test_a_constraint_of_a_running_job_limits_it(words: str, limits: Request | None) -> None:
    decoded = rows.decode(rows.FIELD.join([OWN, *FREE]))
    row = replace(decoded, node_list="n[1-2]", feature=words)
    assert jobs.limits_of(row, None, None) == limits


def test_a_pending_jobs_shape_is_read_anew_when_its_row_changes(busy: Replay) -> None:
    reader = Reader(busy, Clock())
    reader.observe()
    busy.calls.clear()
    busy.edit = _in("squeue", "old|newgRECORDED", "newgRECORDED")

    job = by_name(busy, reader.observe())["or"]

    assert job.unplannable == ""
    assert job.request is not None
    assert job.request.features == {"new"}
    assert [call[-1] for call in busy.calls if "job" in call] == [busy.scene.jobs["or"]]


def test_shapes_are_read_again_now_and_then_a_few_at_a_time(busy: Replay) -> None:
    clock = Clock()
    reader = Reader(busy, clock)
    reader.observe()
    busy.calls.clear()
    excluded = busy.scene.jobs["excluded"]
    busy.edit = _in(f"job/{excluded}", "ExcNodeList=n[1,3]", "ExcNodeList=n4")

    clock.now += REQUEST_S + 1
    reader.observe()
    assert 0 < busy.asked("job/") <= 4
    for _ in range(30):
        reader.observe()
    seen = reader.observe()

    request = by_name(busy, seen)["excluded"].request
    assert request is not None
    assert request.not_nodes == {"n4"}
    assert busy.asked("jobs") == 0


def test_the_configuration_is_read_again_after_a_while(busy: Replay) -> None:
    clock = Clock()
    reader = Reader(busy, clock)
    reader.observe()
    reader.observe()
    assert busy.asked("config") == 1

    clock.now += CONFIG_S + 1
    reader.observe()
    assert busy.asked("config") == 2


def test_another_size_of_a_node_makes_everything_be_read_anew(busy: Replay) -> None:
    reader = Reader(busy, Clock())
    reader.observe()
    busy.calls.clear()
    busy.edit = _in("nodes", "CPUEfctv=8", "CPUEfctv=6")

    reader.observe()

    assert busy.asked("jobs") == 1


def test_memory_is_no_resource_where_slurm_does_not_give_it_out(busy: Replay) -> None:
    busy.edit = _in("config", "CR_CORE_MEMORY", "CR_CORE")
    seen = Reader(busy).observe()

    assert all("mem" not in node.total for node in seen.nodes)
    assert all("mem" not in share for job in seen.jobs for share in job.alloc.values())
    assert all(
        "mem" not in {**job.request.per_node, **job.request.spread} for job in seen.jobs if job.request
    )


def test_the_clock_is_slurmctlds(busy: Replay) -> None:
    taken = re.search(r"as of (\S+)", busy.scene.text("config"))
    assert taken is not None
    clock = Clock()
    first = Reader(busy, clock).observe().taken_at
    clock.now += 40

    assert abs(first - Reader(busy, clock).observe().taken_at) <= 1
    assert f"{taken[1][:4]}" == "2026"
    assert first > NOW + 86_400


# --- half answers ---


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("squeue", lambda text: text[: len(text) // 2]),
        ("squeue", lambda text: text[:-3]),
        ("nodes", lambda text: text[: len(text) // 2]),
        ("partitions", lambda text: text[:-10]),
        ("config", lambda _text: ""),
    ],
)
def test_half_a_table_is_no_observation(busy: Replay, name: str, cut: Callable[[str], str]) -> None:
    busy.edit = lambda asked, text: cut(text) if asked == name else text

    with pytest.raises(SlurmUnavailableError, match=r"cut off|does not name"):
        Reader(busy).observe()


@pytest.mark.parametrize("name", ["squeue", "nodes", "partitions", "config", "jobs"])
def test_a_failed_command_is_no_observation(busy: Replay, name: str) -> None:
    words = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
    busy.failing[name] = CommandAnswer(busy.scene.text(name), words, 1)

    with pytest.raises(SlurmUnavailableError, match="Unable to contact slurm controller") as raised:
        Reader(busy).observe()
    assert "\n" not in str(raised.value)


def test_a_job_told_twice_is_a_fault(ending: Replay) -> None:
    ending.edit = lambda name, text: text + text.replace("held", "again") if name == "squeue" else text

    assert "squeue tells of the same job twice" in Reader(ending).observe().faults


def _in(name: str, old: str, new: str) -> Callable[[str, str], str]:
    """An edit of one text; the text must have what is replaced."""

    def edit(asked: str, text: str) -> str:
        if asked != name:
            return text
        assert old in text, (name, old)
        return text.replace(old, new)

    return edit


@pytest.mark.parametrize(
    ("asked", "taken", "difference"),
    [
        ((100.0, 120.0), 119, 0),
        ((100.9, 120.0), 100, 0),
        ((100.0, 100.2), 101, 0),
        ((100.0, 120.0), 150, 40),
        ((100.0, 100.2), 40, -60),
    ],
)
def test_an_answer_that_took_long_is_no_difference_of_clocks(
    asked: tuple[float, float], taken: int, difference: int
) -> None:
    said = "ClusterName = dev\nSelectType = select/cons_tres\n"
    assert config.decode(said, asked, taken).skew_s == difference


@pytest.mark.parametrize(
    ("auth_info", "delay_s"),
    [
        ("(null)", 121),
        ("socket=/run/munge", 121),
        ("cred_expire=60", 61),
        ("ttl=9,cred_expire=600,cacert=x", 601),
    ],
)
def test_how_long_a_requeued_job_waits_is_what_the_site_has_set(auth_info: str, delay_s: int) -> None:
    said = f"ClusterName = dev\nSelectType = select/cons_tres\nAuthInfo = {auth_info}\n"

    assert config.decode(said, (1.0, 2.0), None).requeue_delay_s == delay_s
