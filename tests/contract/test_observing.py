"""Contract: what an adapter tells about a cluster and its nodes, and about the states of jobs."""

from scheduler.model.jobs import JobState
from scheduler.model.resources import total
from tests.contract.harness import (
    CPUS,
    GPU_TYPE,
    GPUS,
    NODES,
    PARTITIONS,
    Harness,
    Work,
    fill,
    find,
    start,
    state_of,
    wait_for,
    wait_pending,
)


def test_a_cluster_says_who_it_is(harness: Harness) -> None:
    info = harness.cluster.describe()

    assert info.name
    assert info.kind in {"simulator", "slurm"}
    assert info.version
    assert harness.cluster.observe().cluster == info.name


def test_an_empty_cluster_is_seen_whole_and_without_faults(harness: Harness) -> None:
    seen = harness.cluster.observe()

    assert seen.faults == ()
    assert seen.jobs == ()
    assert [node.name for node in seen.nodes] == list(NODES)
    assert {part.name: part.nodes for part in seen.partitions} == PARTITIONS
    assert {part.state for part in seen.partitions} == {"UP"}


def test_nodes_tell_their_resources_types_features_and_partitions(harness: Harness) -> None:
    for node in harness.cluster.observe().nodes:
        kind = GPU_TYPE[node.name]
        assert node.up
        assert node.state
        assert node.total == {"cpu": CPUS, "mem": 16_000, "gpu": GPUS, f"gpu:{kind}": GPUS}
        assert kind in node.features
        assert set(node.partitions) == {name for name, nodes in PARTITIONS.items() if node.name in nodes}


def test_the_clusters_clock_goes_on(harness: Harness) -> None:
    before = harness.cluster.observe().taken_at
    harness.pass_time(2)

    assert before + 1 <= harness.cluster.observe().taken_at <= before + 60


def test_a_running_job_tells_whose_it_is_and_where_it_runs(harness: Harness) -> None:
    job = start(
        harness, Work("bob", "p1_train", ("x",), cpus=3, mem_mb=700, account="alpha", comment="hello")
    )

    assert (job.user, job.name, job.account, job.comment) == ("bob", "p1_train", "alpha", "hello")
    assert job.partitions == ("x",)
    assert job.start is not None
    assert 0 < job.submit <= job.start
    assert job.alloc == {"n1": {"cpu": 3, "mem": 700}}
    assert (job.restarts, job.batch, job.requeue, job.held) == (0, True, True, False)
    assert job.slurm_state == "RUNNING"


def test_a_pending_job_tells_everything_that_levels_are_made_from(harness: Harness) -> None:
    fill(harness, "n1")
    before = harness.cluster.observe().taken_at
    job = wait_pending(
        harness,
        Work("ann", "p0_eval", ("x",), cpus=4, account="beta", comment="a note", time_limit_min=30),
    )

    assert (job.user, job.name, job.account, job.comment) == ("ann", "p0_eval", "beta", "a note")
    assert job.partitions == ("x",)
    assert job.start is None
    assert job.alloc == {}
    assert before <= job.submit <= harness.cluster.observe().taken_at
    assert job.time_limit_s == 30 * 60
    assert job.priority > 0
    assert not job.held
    assert job.slurm_state == "PENDING"
    assert job.slurm_reason in {"Resources", "Priority"}


def test_a_job_without_a_time_limit_has_none(harness: Harness) -> None:
    fill(harness, "n1")

    assert wait_pending(harness, Work(partitions=("x",))).time_limit_s is None


def test_a_job_for_two_partitions_names_both_until_it_runs(harness: Harness) -> None:
    fillers = fill(harness, "n1", "n3", "n4")
    job = wait_pending(harness, Work("ann", "either", ("x", "q")))
    assert set(job.partitions) == {"x", "q"}

    harness.cancel(fillers["n1"].id)

    running = find(wait_for(harness, JobState.RUNNING, job.id), job.id)
    assert running.partitions == ("x",)
    assert set(running.alloc) == {"n1"}


def test_a_held_job_is_held_with_priority_zero(harness: Harness) -> None:
    job = wait_pending(harness, Work(held=True))

    assert job.held
    assert job.priority == 0
    assert job.slurm_reason == "JobHeldUser"


def test_a_job_for_later_tells_when_it_may_begin(harness: Harness) -> None:
    job = wait_pending(harness, Work(begin_in_s=3000))

    assert job.slurm_reason == "BeginTime"
    assert job.eligible is not None
    assert 2000 < job.eligible - job.submit < 4000
    assert not job.held


def test_a_job_that_depends_on_another_says_so(harness: Harness) -> None:
    first = start(harness, Work())
    second = wait_pending(harness, Work(after=first.id))

    assert second.slurm_reason == "Dependency"
    assert first.id in second.dependency

    harness.cancel(first.id)
    wait_for(harness, JobState.RUNNING, second.id)


def test_tasks_of_an_array_are_jobs_whether_they_run_or_wait(harness: Harness) -> None:
    fill(harness, "n3")
    array = harness.submit(Work("bob", "sweep", ("q",), cpus=4, array_tasks=3))
    ids = [f"{array}_{task}" for task in range(3)]
    seen = harness.wait_until(
        lambda seen: (
            sorted(str(state_of(seen, job_id)) for job_id in ids) == ["pending", "running", "running"]
        ),
        "two tasks running, one pending",
    )

    for job_id in ids:
        task = find(seen, job_id)
        assert (task.array_job_id, task.user, task.name) == (array, "bob", "sweep")
        if task.state is JobState.RUNNING:
            assert total(task.alloc.values())["cpu"] == 4
        else:
            assert task.request is not None
            assert task.request.per_node["cpu"] == 4


def test_a_job_that_takes_its_time_to_end_is_completing_and_holds_its_resources(harness: Harness) -> None:
    job = start(harness, Work(cpus=2, only_nodes=("n2",), gpus={"gpu": 1}, ends_slowly=True))
    harness.cancel(job.id)

    ending = find(wait_for(harness, JobState.COMPLETING, job.id), job.id)

    assert ending.alloc == job.alloc
    wait_for(harness, None, job.id)


def test_a_job_that_ends_is_gone(harness: Harness) -> None:
    job = harness.submit(Work(seconds=2))

    wait_for(harness, None, job)
    assert harness.cluster.ended([job])[job].start, "it ran"


def test_a_drained_node_is_not_up_and_takes_no_job(harness: Harness) -> None:
    harness.drain("n1")
    job = wait_pending(harness, Work(partitions=("x",)))
    seen = harness.wait_until(lambda seen: not seen.nodes[0].up, "n1 not up")

    assert [node.name for node in seen.nodes if node.up] == ["n2", "n3", "n4"]
    assert seen.nodes[0].state
    assert seen.nodes[0].state_reason
    assert state_of(seen, job.id) is JobState.PENDING

    harness.resume("n1")
    # Slurm tells nodes and jobs one after the other: the job may run in one answer in which its node is not up yet.
    harness.wait_until(
        lambda seen: seen.nodes[0].up and state_of(seen, job.id) is JobState.RUNNING,
        "n1 up with the job on it",
    )


def test_jobs_go_on_on_a_drained_node(harness: Harness) -> None:
    job = start(harness, Work(partitions=("x",)))
    harness.drain("n1")
    seen = harness.wait_until(lambda seen: not seen.nodes[0].up, "n1 not up")

    assert find(seen, job.id).run == job.run
    harness.resume("n1")
