"""Document 000 in the console's own cycle, on simulated clusters: what its rules come to over time."""

import pytest
from django.test import Client

from console.cluster.connect import configured_cluster
from console.cluster.models import Cluster
from console.core import clock
from console.partitions.models import Partition
from console.partitions.priority_file import import_config
from console.partitions.selectors import partition_document
from console.projects.models import Project
from console.projects.services import ProjectData, change_project, create_project
from console.steering import cycle
from console.steering.models import Plan
from scheduler.adapters.simulator.jobs import OnSignal
from scheduler.adapters.simulator.scenarios import SCENARIOS
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests import factories
from tests.steering.conftest import START, Sim


def scenario(name: str, monkeypatch: pytest.MonkeyPatch) -> Sim:
    """The console steers a scenario of the simulator by that scenario's own priority file."""
    port = SCENARIOS[name].build(START)
    monkeypatch.setattr(cycle, "connect", lambda row: port)
    monkeypatch.setattr(clock, "now", lambda: clock.from_epoch(port.now))
    cluster = configured_cluster()
    document = {**(SCENARIOS[name].config or {}), "cluster": cluster.name}
    import_config(actor="dave", cluster=cluster, document=document, reason="Test.", dry_run=False)
    return Sim(port, cluster)


def running_names(sim: Sim) -> set[str]:
    return {job.name for job in sim.port.observe().jobs if job.state is JobState.RUNNING}


@pytest.mark.usefixtures("db")
def test_the_ten_gpus_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """¶201, in the document's order: b's L0 job, then b's three L1 jobs, then c's L0 job."""
    sim = scenario("patent_ten_gpus", monkeypatch)
    first = running_names(sim)
    assert first == {"p0_a", *(f"p1_aa{n}" for n in (1, 2, 3)), *(f"p2_aaa{n}" for n in (1, 2, 3, 4, 5))}

    sim.cycles(20)  # p0_b has come: the tenth GPU was free
    assert running_names(sim) == first | {"p0_b"}
    assert not Plan.objects.exists()

    sim.cycles(15)  # p1_bb1 to p1_bb3 have come: three L2 jobs make room, those that have run the shortest
    second = (first | {"p0_b", "p1_bb1", "p1_bb2", "p1_bb3"}) - {"p2_aaa1", "p2_aaa2", "p2_aaa3"}
    assert running_names(sim) == second

    sim.cycles(15)  # p0_c has come: one of the two L2 jobs that are left
    assert running_names(sim) == (second | {"p0_c"}) - {"p2_aaa4"}
    assert set(Plan.objects.values_list("state", flat=True)) == {"verified"}

    for _ in range(8):  # b's and c's jobs end after five minutes, and everybody of a's is back
        sim.cycles(1, every_s=60)
    assert running_names(sim) == first


@pytest.mark.usefixtures("db")
def test_users_first_then_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """¶81: P3's b1 goes, and of P1's jobs the one of the lower task level."""
    sim = scenario("patent_user_then_task", monkeypatch)
    sim.cycles(30)
    assert running_names(sim) == {"l1_a3", "l1_c1"}


def make_project(cluster: Cluster, code: str, urgency: float = 1) -> Project:
    """Scores 10 times the urgency; its member is called as it is."""
    data = ProjectData(code=code, name=code, size=10, grade=1, urgency=urgency, members=(code,))
    return create_project(actor="pam", cluster=cluster, data=data, reason="Test.")


def test_a_project_that_becomes_urgent_gets_its_room_in_the_next_cycle(sim: Sim) -> None:
    """¶65, ¶69, ¶71: nobody sets a level, nothing is restarted."""
    levels = [{"name": "P0", "min_score": 50}, {"name": "P1", "min_score": 1}]
    sim.policy(levels=levels, user_overrides={})
    alpha = make_project(sim.cluster, "alpha")
    make_project(sim.cluster, "beta")
    low = sim.running("beta", 8)
    asks = sim.submit("alpha", 6)
    sim.cycles(3)
    assert sim.state(asks) is JobState.PENDING
    assert sim.row(asks).reason == "nothing_lower_runs"
    urgent = ProjectData(code="alpha", name="alpha", size=10, grade=1, urgency=9, members=("alpha",))
    change_project(
        actor="pam", project=alpha, data=urgent, reason="Delivery on Friday.", version=alpha.version
    )

    sim.cycles(4)

    assert sim.state(asks) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1


def typed_policy(based_on: int) -> dict[str, str]:
    """The policy's page, filled in: mode task, levels p0, p1, p2 with a quota each, cy at the top by hand."""
    typed = {"based_on": f"{based_on}", "reason": "Delivery on Friday."}
    typed |= {"mode": "task", "enforcement": "enforce", "confirmed": "enforce"}
    typed |= {"over_quota": "lowest", "victim_order": "shortest_runtime", "exempt_s": "0", "grace_s": "0"}
    typed |= {"asked_to_save": "who_saves"}
    typed |= {"checkpoint_signal": "USR1", "start_deadline_s": "120", "max_preemptions_per_job": "3"}
    typed |= {"min_wait_s": "0", "cool_down_s": "300", "rest_s": "0", "keyword_denied": "demote"}
    typed |= {"not_requeueable": "requeue", "cancel_notice_s": "600", "order": "levels", "dispatch": "slurm"}
    typed |= {"partial": "take", "give_back": "units", "regrow_s": "0", "patience_s": "0"}
    for prefix, count in (("levels", 3), ("users", 1), ("tasks", 0), ("types", 0)):
        typed |= {f"{prefix}-TOTAL_FORMS": f"{count}", f"{prefix}-INITIAL_FORMS": "0"}
    for rank, quota in enumerate((1, 3, 5)):
        row = {"name": f"P{rank}", "keyword": f"p{rank}", "quota": f"{quota}", "keyword_open": "on"}
        typed |= {f"levels-{rank}-{key}": value for key, value in row.items()}
    return {**typed, "users-0-user": "cy", "users-0-level": "P0"}


def test_what_an_administrator_fills_in_on_the_page_counts_in_the_next_cycle(
    sim: Sim, client: Client
) -> None:
    """¶64, ¶65, ¶183, ¶197: levels, keywords and numbers of tasks, in the browser, while the scheduler runs."""
    low = sim.running("ann", 8, name="p2_train")
    asks = sim.submit("bob", 4, name="p0_train")
    sim.cycles(2)
    assert (sim.row(asks).task_level, sim.state(asks)) == (None, JobState.PENDING)
    partition = Partition.objects.get(cluster=sim.cluster, name="x")
    factories.make_partition_admin(partition, "dave")
    client.force_login(factories.make_viewer("dave"))
    assert partition.revision is not None

    answer = client.post("/partitions/x/policy/", typed_policy(partition.revision.number))

    assert answer.status_code == 302, answer.content.decode()
    sim.cycles(4)
    assert (sim.row(asks).task_level, sim.row(low).task_level) == (0, 2)
    assert sim.state(asks) is JobState.RUNNING
    partition.refresh_from_db()
    written = partition_document(partition)
    assert written["quotas"] == {"P0": 1, "P1": 3, "P2": 5}
    assert written["user_overrides"] == {"cy": "P0"}


def test_a_job_for_which_nobody_may_go_waits_in_the_queue_and_starts_when_room_is_free(sim: Sim) -> None:
    """¶92, ¶110, ¶124."""
    sim.policy(user_overrides={"ann": "P3", "bob": "P0", "cy": "P0"})
    sim.running("bob", 6, run_time_s=30)
    low = sim.running("ann", 2)
    asks = sim.submit("cy", 4)

    sim.cycles(10)
    assert sim.state(asks) is JobState.PENDING
    assert sim.row(asks).reason == "not_enough_even_so"

    sim.cycles(30)
    assert sim.state(asks) is JobState.RUNNING
    assert sim.port.job(low).restarts == 0
    assert not Plan.objects.exists()


def test_a_stopped_job_has_saved_its_state_and_goes_on_from_there(sim: Sim) -> None:
    """¶93, ¶112, ¶125, ¶141, ¶158, ¶170: the signal, time to save, the stop; later the rest of its work."""
    sim.policy(grace_s=5, checkpoint_signal="USR1")
    low = sim.running("ann", 8, run_time_s=200, on_signal=OnSignal.CHECKPOINT, checkpoint_s=2)
    sim.port.advance(100)
    urgent = sim.submit("cy", 8, run_time_s=20)

    sim.cycles(2)
    assert sim.state(low) is JobState.RUNNING
    assert [action.value for action in sim.actions(ActionKind.SIGNAL)] == ["USR1"]
    sim.cycles(8)
    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).saved_s >= 100

    sim.cycles(30)
    assert sim.state(low) is JobState.RUNNING
    assert (sim.port.job(low).restarts, sim.port.job(low).resumed_s) == (1, sim.port.job(low).saved_s)
    sim.cycles(10, every_s=10)
    assert sim.state(low) is None, "a hundred seconds were left to do, not two hundred"
