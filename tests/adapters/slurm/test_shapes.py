"""What pending jobs ask for, read from recordings: the options given to sbatch are in record.py."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from scheduler.adapters.slurm.read import Reader
from scheduler.model.jobs import ObservedJob, Request
from tests.adapters.slurm.record import SHAPES
from tests.adapters.slurm.replay import VERSIONS, Replay, scene


def _jobs(version: str) -> Mapping[str, ObservedJob]:
    replay = Replay(scene=scene(version, "busy"))
    jobs = {job.id: job for job in Reader(replay).observe().jobs}
    return {name: jobs[replay.scene.jobs[name]] for name in SHAPES}


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def jobs(version: str) -> Mapping[str, ObservedJob]:
    return _jobs(version)


def _nodes(count: int, cpu: int, mem: int, **gres: int) -> Request:
    named = {name.replace("_", ":"): amount for name, amount in gres.items()}
    return Request(nodes=count, per_node={"cpu": cpu, "mem": mem, **named})


# A node has 8 CPUs and 8 GPUs; a job without --mem gets 1000 MB per CPU.
WANTED = {
    "tasks": Request(spread={"cpu": 30, "mem": 1500}, parts=30),
    # Rule 3: two tasks of three CPUs on each of three nodes; a CPU here and two there would be no use.
    "tasks_of_cpus": _nodes(3, 6, 6000),
    "tasks_mem_per_node": _nodes(2, 6, 4000),
    "one_task": _nodes(1, 4, 2500),
    "nodes": _nodes(3, 4, 4000),
    "node_range": _nodes(2, 2, 2000),
    "up_to_nodes": _nodes(4, 2, 2000),
    "one_node": _nodes(1, 6, 6000),
    "tasks_per_node": _nodes(4, 4, 4000),
    "gres": _nodes(2, 1, 1000, gpu=2),
    "gres_without_count": _nodes(1, 1, 1000, gpu=1),
    "gpus_per_node": _nodes(2, 1, 1000, gpu=1, gpu_v100=1),
    # It names no number of tasks: Slurm takes as many as it takes nodes.
    "gpus": _nodes(2, 1, 1000, gpu=6),
    "typed_gpus": _nodes(1, 1, 1000, gpu=4, gpu_a100=4),
    "gpus_on_nodes": _nodes(2, 1, 1000, gpu=3),
    "gpus_per_task": _nodes(1, 3, 3000, gpu=6),
    "cpus_and_mem_per_gpu": _nodes(1, 8, 1200, gpu=4),
    "named_nodes": Request(nodes=2, per_node={"cpu": 3, "mem": 3000}, only_nodes=frozenset({"n1", "n3"})),
    "excluded": Request(nodes=2, per_node={"cpu": 1, "mem": 1000}, not_nodes=frozenset({"n1", "n3"})),
    "exclusive": Request(nodes=1, per_node={"cpu": 4, "mem": 4000}, exclusive=True),
    "exclusive_user": Request(nodes=1, per_node={"cpu": 2, "mem": 2000}, exclusive=True),
    "all_memory": Request(nodes=1, per_node={"cpu": 1}, exclusive=True),
    "and": Request(nodes=1, per_node={"cpu": 1, "mem": 1000}, features=frozenset({"ib", "new"})),
    "or": replace(_nodes(1, 1, 1000), any_of=(frozenset({"old"}), frozenset({"new"}))),
    "counted": replace(_nodes(2, 1, 1000), counted=((1, frozenset({"old"})), (1, frozenset({"new"})))),
    "preferred": _nodes(1, 1, 1000),
    "mincpus": _nodes(2, 4, 4000),
    "two_partitions": _nodes(1, 4, 4000),
    "whole": Request(nodes=1, per_node={"cpu": 1, "mem": 1000}, exclusive=True),
    "unlimited": _nodes(1, 1, 1000),
    "long": _nodes(1, 1, 1000),
}

# Later releases tell `--gpus=12` just as `-n1 --gpus=12`, which waits for ever.
LATER = {"gpus": _nodes(1, 1, 1000, gpu=12)}
# And `-N2` as `-N2 -n2`, of which each group of counted nodes is tried with both tasks.
COUNTED_IN_TASKS = "it counts nodes by their features without --ntasks-per-node, which may never start"
# 22.05 and 24.11 do not tell whether a job that names several nodes lays out its tasks itself.
UNEVEN = "it may lay out its tasks itself on the nodes that it names (--distribution=arbitrary)"

UNPLANNABLE = {
    "gpus_per_socket": "GPUs per socket",
    "more_than_named": "further nodes besides those it names",
    "neighbours": "neighbouring nodes",
    "switches": "a number of switches",
}


@pytest.mark.parametrize("name", WANTED)
def test_a_request_is_what_was_asked_for(jobs: Mapping[str, ObservedJob], version: str, name: str) -> None:
    wanted = WANTED if version.startswith("22.") else WANTED | LATER
    assert jobs[name].request == wanted[name]
    may_never_start = name == "counted" and not version.startswith("22.")
    may_be_uneven = name == "named_nodes" and not version.startswith("26.")
    why = COUNTED_IN_TASKS if may_never_start else UNEVEN if may_be_uneven else ""
    assert jobs[name].unplannable == why


@pytest.mark.parametrize("name", UNPLANNABLE)
def test_what_a_request_cannot_say_makes_the_job_unplannable(
    jobs: Mapping[str, ObservedJob], name: str
) -> None:
    assert UNPLANNABLE[name] in jobs[name].unplannable
    assert jobs[name].request is not None


def test_every_recorded_shape_is_looked_at() -> None:
    assert set(WANTED) | set(UNPLANNABLE) == set(SHAPES)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_constraint_that_is_not_understood_is_in_no_feature(version: str) -> None:
    replay = Replay(scene=scene(version, "busy"))
    replay.edit = lambda name, text: text.replace(".old|new", ".!old|new") if name == "squeue" else text
    job = next(job for job in Reader(replay).observe().jobs if job.name == "or")

    assert job.unplannable == "it has the constraint !old|new"
    assert job.request == _nodes(1, 1, 1000)


def _with_gpus(gpus: int, tasks: int = 1, **further: str) -> ObservedJob:
    """The recorded `--gpus=12` as it would be on 24.11 with other words. `named`: its nodes; `cpus`, `mem`: per GPU."""
    row = f"gres:gpu:{gpus}|N/A|N/A|N/A|{further.get('cpus', 'N/A')}|{further.get('mem', 'N/A')}|"

    def edit(name: str, text: str) -> str:
        if name == "config":
            return text.replace("22.05.8", "24.11.5")
        if name == "squeue":
            before, _, after = text.partition("gres:gpu:12|N/A|N/A|N/A|N/A|N/A|")
            head, _, words = before.rpartition("|cpu=1,")
            return f"{head}|cpu={tasks},{words}{row}{after}"
        head, own, rest = text.partition("JobId=29 ") if name == "jobs" else (text, "", "")
        rest = rest.replace("NumTasks=1", f"NumTasks={tasks}", 1)
        return (
            head
            + own
            + rest.replace("ReqNodeList=(null)", f"ReqNodeList={further.get('named', '(null)')}", 1)
        )

    replay = Replay(scene=scene("22.05.8", "busy"))
    replay.edit = edit
    return next(job for job in Reader(replay).observe().jobs if job.name == "gpus")


@pytest.mark.parametrize(
    ("asked", "nodes", "gpus", "cpus"),
    [
        ({"gpus": 8}, 1, 8, 1),
        # It waits for ever, and looks just like `--gpus=12` without tasks: 22.05 refuses it, later releases do not.
        ({"gpus": 12}, 1, 12, 1),
        ({"gpus": 12, "tasks": 2}, 2, 6, 1),
        ({"gpus": 17, "tasks": 2}, 2, 9, 1),
        ({"gpus": 17, "tasks": 3}, 3, 6, 1),
        ({"gpus": 12, "tasks": 16}, 2, 6, 8),
        # Two CPUs with each GPU: five of them take ten CPUs.
        ({"gpus": 5, "tasks": 2, "cpus": "gres:gpu:2"}, 2, 3, 6),
        ({"gpus": 5, "cpus": "gres:gpu:2"}, 1, 5, 10),
        # 3000 MB with each GPU: no more than five on a node.
        ({"gpus": 8, "tasks": 2, "mem": "gres:gpu:3000"}, 2, 4, 1),
        ({"gpus": 12, "tasks": 2, "named": "n1,n2"}, 2, 6, 1),
    ],
)  # fmt: skip
def test_a_job_is_on_no_more_nodes_than_it_has_tasks(
    asked: dict[str, Any], nodes: int, gpus: int, cpus: int
) -> None:
    job = _with_gpus(**asked)
    assert job.request and not job.unplannable
    assert (job.request.nodes, job.request.per_node["gpu"], job.request.per_node["cpu"]) == (
        nodes,
        gpus,
        cpus,
    )


def _tasks_on(cpus: int, nodes: int, **asked: str) -> ObservedJob:
    """The recorded `-n 30 --mem-per-cpu=50` with other TRES, as `-O` has it, and with other words (`record.py`)."""

    def edit(name: str, text: str) -> str:
        if name != "squeue":
            return text
        told = f"cpu={cpus},mem={50 * cpus}M,node={nodes},billing={cpus}|N/A|{asked.get('each', 'N/A')}|"
        return re.sub(r"cpu=30,mem=1500M,node=\d+,billing=30\|N/A\|N/A\|", told, text)

    replay = Replay(scene=scene("22.05.8", "busy"))
    replay.edit = edit
    return next(job for job in Reader(replay).observe().jobs if job.name == "tasks")


def test_tasks_that_share_cpus_have_one_of_each_node() -> None:
    for nodes in (1, 2):
        job = _tasks_on(nodes, nodes)
        assert not job.unplannable
        assert job.request == _nodes(nodes, 1, 50)
    assert _tasks_on(2, 2, each="gres:gpu:3").request == _nodes(2, 1, 50, gpu=3)


def test_who_needs_more_nodes_than_it_names_is_not_planned_for() -> None:
    assert _with_gpus(12, tasks=2, named="n1").unplannable == "it wants further nodes besides those it names"


@pytest.mark.parametrize("version", VERSIONS)
def test_on_cores_of_two_threads_cpus_are_asked_for_in_twos(version: str) -> None:
    replay = Replay(scene=scene(version, "busy"))
    replay.edit = lambda name, text: (
        text.replace("ThreadsPerCore=1", "ThreadsPerCore=2") if name == "nodes" else text
    )
    jobs = {job.name: job.request for job in Reader(replay).observe().jobs}

    assert jobs["excluded"] == Request(
        nodes=2, per_node={"cpu": 2, "mem": 2000}, not_nodes=frozenset({"n1", "n3"})
    )


def _edited(version: str, *edits: tuple[str, str, str]) -> Mapping[str, ObservedJob]:
    """The recorded jobs where a text (by its name) says something else."""

    def edit(name: str, text: str) -> str:
        for which, before, after in edits:
            text = text.replace(before, after) if name == which else text
        return text

    replay = Replay(scene=scene(version, "busy"))
    replay.edit = edit
    return {job.name: job for job in Reader(replay).observe().jobs}


TWO_THREADS = ("nodes", "ThreadsPerCore=1", "ThreadsPerCore=2")


@pytest.mark.parametrize("version", VERSIONS)
def test_who_uses_one_thread_of_a_core_gets_twice_the_cpus_and_no_more_memory(version: str) -> None:
    jobs = _edited(version, TWO_THREADS, ("jobs", "ReqB:S:C:T=0:0:*:*", "ReqB:S:C:T=0:0:*:1"))
    assert jobs["tasks"].request == Request(spread={"cpu": 60, "mem": 1500}, parts=30)
    assert jobs["one_node"].request == _nodes(1, 12, 6000)
    assert jobs["tasks"].unplannable == ""


@pytest.mark.parametrize("version", VERSIONS)
def test_tasks_with_a_core_each_get_whole_cores_with_the_memory_of_all_their_cpus(version: str) -> None:
    jobs = _edited(version, TWO_THREADS, ("jobs", "NtasksPerN:B:S:C=0:0:*:*", "NtasksPerN:B:S:C=0:0:*:1"))
    assert jobs["tasks"].request == Request(spread={"cpu": 60, "mem": 3000}, parts=30)
    config = ("config", "CR_CORE_MEMORY", "CR_CORE_MEMORY,CR_ONE_TASK_PER_CORE")
    assert _edited(version, TWO_THREADS, config)["tasks"].request == jobs["tasks"].request


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (("config", "CR_CORE_MEMORY", "CR_SOCKET_MEMORY"), "SelectTypeParameters=CR_SOCKET_MEMORY"),
        (("config", "CR_CORE_MEMORY", "CR_NEW"), "SelectTypeParameters=CR_NEW"),
        (("config", "SchedulerParameters     = ", "SchedulerParameters = extra_constraints,"), "extra_constraints"),
        (("jobs", " Contiguous=0", " Contiguous=0 MoonPhase=full"), "MoonPhase=full"),
        (("jobs", "NtasksPerN:B:S:C=0:0:*:*", "NtasksPerN:B:S:C=0:0:2:*"), "NtasksPerN:B:S:C=0:0:2:*"),
        (("jobs", "MCS_label=N/A", "MCS_label=secret"), "MCS_label=secret"),
        (("partitions", "MaxNodes=UNLIMITED", "MaxNodes=1"), "MaxNodes=1"),
        (("partitions", "MinNodes=0", "MinNodes=40"), "MinNodes=40"),
        (("partitions", "SelectTypeParameters=NONE", "SelectTypeParameters=CR_SOCKET"), "CR_SOCKET"),
        (("nodes", " Sockets=", " RestrictedCoresPerGPU=1(0) Sockets="), "RestrictedCoresPerGPU"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_modelled_blocks_with_its_word(
    version: str, edit: tuple[str, str, str], why: str
) -> None:
    assert why in _edited(version, edit)["tasks"].unplannable


@pytest.mark.parametrize("version", VERSIONS)
def test_a_feature_for_which_a_node_would_be_rebooted_blocks(version: str) -> None:
    jobs = _edited(version, ("nodes", " ActiveFeatures=new,ib", " ActiveFeatures=ib"))
    assert "rebooted for the feature new" in jobs["and"].unplannable


@pytest.mark.parametrize("version", VERSIONS)
def test_defaults_of_jobs_with_gpus_block_those(version: str) -> None:
    jobs = _edited(version, ("partitions", "JobDefaults=(null)", "JobDefaults=DefCpuPerGPU=2"))
    assert "DefCpuPerGPU" in jobs["gres"].unplannable
    assert jobs["tasks"].unplannable == ""
