"""The main job on a real Slurm: the document's examples, all four modes, and the cases where nobody may be touched."""

import pytest

from console.audit.models import AuditEntry
from console.cluster.models import Job
from console.steering.models import Plan, PlannedAction
from tests.e2e.slurm_driver import NAIVE, READY, Driver

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release(always=True),
    pytest.mark.e2e,
]

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
ONE_NODE = ("-p", "x", "-N", "1", "-n", "1")


def test_user_mode_stops_the_lowest_users_shortest_running_first(driver: Driver) -> None:
    """¶77: P2's a1 and a2 (2 CPUs each), P3's b1 (4); a P1 user asks for 6."""
    driver.policy("x", mode="user", levels=LEVELS, user_overrides={"ann": "P2", "bob": "P3", "cy": "P1"})
    driver.running("ann", "a1", *ONE_NODE, "-c", "2")
    driver.slurm.wait_until(lambda: _ran_s(driver, "a1") >= 2, "a1 has run for longer than a2 will have")
    driver.running("ann", "a2", *ONE_NODE, "-c", "2")
    driver.running("bob", "b1", *ONE_NODE, "-c", "4")
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "6")

    driver.steer_until_running("urgent")

    assert driver.stopped() == {"a2", "b1"}
    assert driver.states()["a1"] == "RUNNING"


def test_user_then_task_mode_takes_lower_tasks_of_equal_users_in_the_second_tier(driver: Driver) -> None:
    """¶81: P1's a3 (L1) and a4 (L2), P3's b1; a P1 user asks for 6 with an L1 job: b1 and a4 go, and come back."""
    overrides = {"ann": "P1", "bob": "P3", "cy": "P1"}
    driver.policy("x", mode="user_then_task", levels=LEVELS, user_overrides=overrides)
    driver.running("ann", "l1_a3", *ONE_NODE, "-c", "2")
    driver.running("ann", "l2_a4", *ONE_NODE, "-c", "2")
    driver.running("bob", "l1_b1", *ONE_NODE, "-c", "4")
    driver.submit("cy", "l1_j", *ONE_NODE, "-c", "6")

    driver.steer_until_running("l1_j")
    driver.steer_until_settled()

    assert driver.stopped() == {"l2_a4", "l1_b1"}
    plan = Plan.objects.get()
    assert (plan.state, plan.job_id, plan.user) == ("verified", driver.ids["l1_j"], "cy")
    assert {victim["job"] for victim in plan.victims} == {driver.ids["l2_a4"], driver.ids["l1_b1"]}
    assert not _held_jobs(driver)

    driver.cancel("l1_j")
    driver.steer_until_running("l2_a4", "l1_b1")
    _assert_audited(driver, plan, {"l2_a4", "l1_b1"})


def test_task_mode_shares_ten_gpus_as_the_document_does(driver: Driver) -> None:
    """¶201: ten GPUs (the other six are taken by a job of the top level); b's L1 jobs and c's L0 job stop L2 jobs."""
    levels = [{"name": f"P{n}", "keyword": f"p{n}"} for n in range(3)]
    driver.policy("q", mode="task", levels=levels, quotas={"P0": 1, "P1": 3, "P2": 5})
    gpu = ("-p", "q", "-n", "1", "--mem=10", "--gres=gpu:1")
    driver.running("eve", "p0_blocker", "-p", "q", "-n", "1", "--mem=10", "--gres=gpu:6")
    mine = ["p0_a", "p1_aa1", "p1_aa2", "p1_aa3", *(f"p2_aaa{n}" for n in range(1, 6))]
    for name in mine:
        driver.submit("ann", name, *gpu)
    driver.steer_until_running(*mine)

    driver.submit("bob", "p0_b", *gpu)
    driver.steer_until_running("p0_b")
    assert driver.stopped() == set()  # the tenth GPU was free

    for name in ("p1_bb1", "p1_bb2", "p1_bb3"):
        driver.submit("bob", name, *gpu)
    driver.steer_until_running("p1_bb1", "p1_bb2", "p1_bb3")
    assert len(driver.stopped()) == 3
    driver.submit("cy", "p0_c", *gpu)
    driver.steer_until_running("p0_c")
    driver.steer_until_settled()

    stopped = driver.stopped()
    assert len(stopped) == 4
    assert all(name.startswith("p2_aaa") for name in stopped)
    _assert_victims_return(driver, ["p1_bb1", "p1_bb2", "p1_bb3", "p0_c"], stopped)


def test_task_then_user_mode_takes_equal_tasks_of_lower_users_in_the_second_tier(driver: Driver) -> None:
    """¶83: P2's a3 (L0), P0's d1 (L2) and d2 (L0), P3's b1 (L3); an L0 job of a P1 user asks for 6."""
    overrides = {"ann": "P2", "dee": "P0", "bob": "P3", "cy": "P1"}
    driver.policy("x", mode="task_then_user", levels=LEVELS, user_overrides=overrides)
    for user, name in (("ann", "l0_a3"), ("dee", "l2_d1"), ("dee", "l0_d2"), ("bob", "l3_b1")):
        driver.running(user, name, *ONE_NODE, "-c", "2")
    driver.submit("cy", "l0_j", *ONE_NODE, "-c", "6")

    driver.steer_until_running("l0_j")

    assert driver.stopped() == {"l0_a3", "l2_d1", "l3_b1"}


def test_a_request_that_spans_two_nodes_gets_room_on_both(driver: Driver) -> None:
    """Two nodes of 6 CPUs each are asked for; on each node something lower must go, elsewhere nothing may."""
    driver.policy("q", mode="user", levels=LEVELS, user_overrides={"ann": "P3", "cy": "P0"})
    for name in ("low1", "low2", "low3", "low4"):
        driver.running("ann", name, "-p", "q", "-N", "1", "-n", "1", "-c", "4", "--mem=10")
    driver.submit("cy", "wide", "-p", "q", "-N", "2", "-n", "2", "-c", "6", "--mem=10")

    driver.steer_until_running("wide")

    assert len(driver.stopped()) == 4  # 4 + 4 of 8 CPUs on each node: 6 need both jobs of each
    assert len(Plan.objects.get().placement) == 2


def test_nobody_is_touched_when_stopping_cannot_help(driver: Driver) -> None:
    """Six of eight CPUs are held by an equal user: stopping the two lower ones would still not make room for four."""
    driver.policy("x", mode="user", levels=LEVELS, user_overrides={"ann": "P3", "bob": "P0", "cy": "P0"})
    driver.running("bob", "equal", *ONE_NODE, "-c", "6")
    driver.running("ann", "low", *ONE_NODE, "-c", "2")
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "4")

    driver.steer_quietly()

    assert driver.states() == {"equal": "RUNNING", "low": "RUNNING", "urgent": "PENDING"}
    assert driver.stopped() == set()
    assert not PlannedAction.objects.exists()
    assert Job.objects.get(job_id=driver.ids["urgent"]).reason == "not_enough_even_so"


def test_nobody_is_touched_when_room_is_free(driver: Driver) -> None:
    driver.policy("x", mode="user", levels=LEVELS, user_overrides={"ann": "P3", "cy": "P0"})
    driver.running("ann", "low", *ONE_NODE, "-c", "4")
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "4")

    driver.steer_until_running("urgent")

    assert driver.stopped() == set()
    assert not Plan.objects.exists()


def test_shadow_plans_and_touches_nobody(driver: Driver) -> None:
    driver.policy(
        "x", mode="user", enforcement="shadow", levels=LEVELS, user_overrides={"ann": "P3", "cy": "P0"}
    )
    driver.running("ann", "low", *ONE_NODE, "-c", "8")
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "4")

    driver.steer_quietly()

    assert driver.states() == {"low": "RUNNING", "urgent": "PENDING"}
    plan = Plan.objects.get()
    assert (plan.state, [victim["job"] for victim in plan.victims]) == ("proposed", [driver.ids["low"]])
    assert not PlannedAction.objects.exists()


def test_a_beneficiary_that_leaves_has_its_plan_undone_and_the_victim_back(driver: Driver) -> None:
    """The urgent job is cancelled during the grace time: its victim is not stopped at all."""
    driver.policy("x", mode="user", levels=LEVELS, grace_s=20, user_overrides={"ann": "P3", "cy": "P0"})
    driver.running("ann", "low", *ONE_NODE, "-c", "8")
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "4")
    driver.steer_until(lambda: bool(driver.open_plans()), "a plan is made")
    driver.cancel("urgent")

    driver.steer_until_settled()

    assert driver.states()["low"] == "RUNNING"
    assert driver.stopped() == set()
    assert Plan.objects.get().state == "undone"


def test_the_checkpoint_signal_comes_a_grace_time_before_the_stop(driver: Driver) -> None:
    """The victim's script saves its state on USR1 and goes on from there after the requeue."""
    script = (
        "#!/bin/bash\n"
        'saved="$SLURM_SUBMIT_DIR/epoch.$SLURM_JOB_ID"\n'
        "trap 'echo 41 > \"$saved\"' USR1\n"
        f"{READY}"
        '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] && echo "resumed from $(cat "$saved")" > "$saved.resumed"\n'
        "while true; do sleep 600 & wait $!; done\n"
    )
    driver.policy("x", mode="user", levels=LEVELS, grace_s=4, user_overrides={"ann": "P3", "cy": "P0"})
    low = driver.running("ann", "low", *ONE_NODE, "-c", "8", script=script)
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "8")
    driver.steer_until(
        PlannedAction.objects.filter(kind="signal").exclude(issued_at=None).exists, "it is asked"
    )
    saved = driver.slurm.work / "ann" / f"epoch.{low}"
    # A busy machine may need longer for it than the grace time that is tried here.
    driver.slurm.wait_until(lambda: saved.exists() and bool(saved.read_text()), "its state is saved")
    driver.steer_until_running("urgent")
    driver.cancel("urgent")
    driver.steer_until_running("low")

    resumed = saved.with_name(f"{saved.name}.resumed")
    driver.slurm.wait_until(lambda: resumed.exists() and bool(resumed.read_text()), "the job resumes")
    assert resumed.read_text().strip() == "resumed from 41"
    signal, stop = (PlannedAction.objects.get(kind=kind) for kind in ("signal", "requeue_hold"))
    assert signal.issued_at
    assert stop.issued_at
    assert (stop.issued_at - signal.issued_at).total_seconds() >= 3.5


def test_a_victim_whose_script_does_not_catch_the_signal_comes_back_all_the_same(driver: Driver) -> None:
    """Most scripts are ended by the checkpoint signal. Slurm then counts the job as failed; we put it back."""
    driver.policy("x", mode="user", levels=LEVELS, grace_s=3, user_overrides={"ann": "P3", "cy": "P0"})
    driver.running("ann", "naive", *ONE_NODE, "-c", "8", script=NAIVE)
    driver.submit("cy", "urgent", *ONE_NODE, "-c", "8")
    driver.steer_until_running("urgent")
    driver.steer_until_settled()
    assert driver.states()["naive"] == "PENDING"

    driver.cancel("urgent")
    driver.steer_until_running("naive")

    assert driver.restarts()["naive"] == 1


def test_over_quota_jobs_are_held_until_a_place_is_free(driver: Driver) -> None:
    levels = [{"name": "P0", "keyword": "p0"}]
    driver.policy("x", mode="task", levels=levels, quotas={"P0": 1}, over_quota="hold")
    driver.running("ann", "p0_one", *ONE_NODE, "-c", "8")
    driver.submit("ann", "p0_two", *ONE_NODE, "-c", "2")
    driver.steer_until(lambda: bool(_held_jobs(driver)), "the second job is held")
    driver.cancel("p0_one")
    driver.steer_until_running("p0_two")
    driver.steer_until_settled()


def _ran_s(driver: Driver, name: str) -> int:
    rows = driver.slurm.squeue("%i|%M")
    clock = next(row.split("|")[1] for row in rows if row.split("|")[0] == driver.ids[name])
    minutes, seconds = clock.split(":")[-2:]
    return int(minutes) * 60 + int(seconds)


def _held_jobs(driver: Driver) -> set[str]:
    return set(Job.objects.filter(cluster=driver.cluster, held=True).values_list("job_id", flat=True))


def _assert_victims_return(driver: Driver, ended: list[str], victims: set[str]) -> None:
    driver.cancel(*ended)
    driver.steer_until_running(*sorted(victims))


def _assert_audited(driver: Driver, plan: Plan, victims: set[str]) -> None:
    of_plan = AuditEntry.objects.filter(plan=plan.pk)
    assert {"plan.proposed", "plan.executing", "plan.verified"} <= set(
        of_plan.values_list("action", flat=True)
    )
    for name in victims:
        told = of_plan.filter(job_id=driver.ids[name], action="action.verified").values_list(
            "after__kind", flat=True
        )
        assert {"requeue_hold", "release"} <= set(told)
