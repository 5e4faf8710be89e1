"""Jobs on the private Slurm: they run as their users, hold GPUs, can be requeued, and can be cleared away."""

import pytest

from deploy.private_slurm import PrivateSlurm, PrivateSlurmError

pytestmark = [pytest.mark.slurm, pytest.mark.every_release]

WHO = "#!/bin/sh\nid -un; id -gn; pwd; echo $HOME; echo $CUDA_VISIBLE_DEVICES\n"


def detail(slurm: PrivateSlurm, job: int) -> str:
    return slurm.run(["scontrol", "-o", "-d", "show", "job", str(job)]).stdout


def test_a_job_runs_as_its_user_in_the_users_own_folder(clean_slurm: PrivateSlurm) -> None:
    job = clean_slurm.submit("ann", "-p", "x", "--gpus=2", script=WHO)
    clean_slurm.wait_for_state(job, "")

    home = clean_slurm.work / "ann"
    output = home / f"slurm-{job}.out"
    assert output.read_text().splitlines() == ["ann", "users", str(home), str(home), "0,1"]
    assert output.owner() == "ann"


def test_a_job_is_given_the_variables_that_its_user_exports(clean_slurm: PrivateSlurm) -> None:
    """Slurm 26.05 holds such a job when the user's own environment cannot be had ("user env retrieval failed")."""
    job = clean_slurm.submit("ann", "-p", "x", "--export=ALL,EPOCHS=7", script="#!/bin/sh\necho $EPOCHS\n")
    clean_slurm.wait_for_state(job, "")

    assert (clean_slurm.work / "ann" / f"slurm-{job}.out").read_text() == "7\n"


def test_the_settings_of_the_callers_own_slurm_do_not_get_in(
    clean_slurm: PrivateSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBATCH_PARTITION", "elsewhere")
    monkeypatch.setenv("SQUEUE_STATES", "SUSPENDED")
    monkeypatch.setenv("SLURM_CONF", "/nowhere/slurm.conf")

    job = clean_slurm.submit("bob", "-p", "x")

    assert str(job) in clean_slurm.states()


def test_slurm_sees_typed_gpus_on_every_node(clean_slurm: PrivateSlurm) -> None:
    nodes = clean_slurm.run(["sinfo", "-h", "-p", "wide", "-N", "-o", "%N %c %m %G %f"]).stdout.splitlines()

    assert nodes == [
        "n1 8 16000 gpu:a100:8 a100",
        "n2 8 16000 gpu:a100:8 a100",
        "n3 8 16000 gpu:v100:8 v100",
        "n4 8 16000 gpu:v100:8 v100",
    ]


def test_a_job_gets_the_gpus_it_asks_for_on_the_nodes_that_have_them(clean_slurm: PrivateSlurm) -> None:
    job = clean_slurm.submit("cy", "-p", "wide", "-N2", "--gres=gpu:v100:3")
    clean_slurm.wait_for_state(job, "RUNNING")

    assert "JOB_GRES=gpu:v100:6" in detail(clean_slurm, job)
    assert "Nodes=n[3-4]" in detail(clean_slurm, job)


def test_the_ninth_cpu_of_partition_x_has_to_wait(clean_slurm: PrivateSlurm) -> None:
    first = clean_slurm.submit("ann", "-p", "x", "-n8")
    clean_slurm.wait_for_state(first, "RUNNING")
    second = clean_slurm.submit("bob", "-p", "x", "-n1")
    clean_slurm.wait_until(lambda: clean_slurm.squeue("%r", "-j", str(second)) == ["Resources"], "it to wait")

    assert clean_slurm.states() == {str(first): "RUNNING", str(second): "PENDING"}


def test_a_requeued_and_held_job_makes_room_for_the_one_put_on_top(clean_slurm: PrivateSlurm) -> None:
    victim = clean_slurm.submit("ann", "-p", "x", "-n8")
    clean_slurm.wait_for_state(victim, "RUNNING")
    earlier = clean_slurm.submit("bob", "-p", "x", "-n8")
    urgent = clean_slurm.submit("cy", "-p", "x", "-n8")

    clean_slurm.run(["scontrol", "update", f"JobId={urgent}", "Priority=4000000000"])
    clean_slurm.run(["scontrol", "requeuehold", str(victim)])
    clean_slurm.wait_for_state(urgent, "RUNNING")

    clean_slurm.wait_for_state(victim, "PENDING")
    assert clean_slurm.states()[str(earlier)] == "PENDING"
    assert clean_slurm.squeue("%Q %r", "-j", str(victim)) == ["0 job requeued in held state"]
    assert "Restarts=1" in detail(clean_slurm, victim)

    # Not "now": slurmd refuses a job in the second in which it was told to kill it, and the job would be lost.
    clean_slurm.run(["scontrol", "update", f"JobId={victim}", "StartTime=now+2"])
    clean_slurm.run(["scontrol", "release", str(victim)])
    clean_slurm.run(["scancel", str(urgent), str(earlier)])
    clean_slurm.wait_for_state(victim, "RUNNING")


def test_an_interactive_job_runs_without_a_process_and_cannot_be_requeued(clean_slurm: PrivateSlurm) -> None:
    job = clean_slurm.allocate("dee", "-p", "x", "-n2")

    assert clean_slurm.states() == {str(job): "RUNNING"}
    with pytest.raises(PrivateSlurmError, match="Only batch jobs are accepted"):
        clean_slurm.run(["scontrol", "requeuehold", str(job)])


def test_a_step_spans_two_nodes(clean_slurm: PrivateSlurm) -> None:
    script = "#!/bin/sh\nsrun -N2 -n2 sh -c 'echo $SLURMD_NODENAME'\n"
    job = clean_slurm.submit("eve", "-p", "q", "-N2", script=script)
    clean_slurm.wait_for_state(job, "")

    said = (clean_slurm.work / "eve" / f"slurm-{job}.out").read_text().split()
    assert sorted(said) == ["n3", "n4"]


def test_clear_ends_jobs_reservations_drains_and_down_partitions(clean_slurm: PrivateSlurm) -> None:
    clean_slurm.submit("ann", "-p", "wide", "--array=1-20")
    clean_slurm.submit("bob", "-p", "x", "--hold")
    clean_slurm.run(["scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test"])
    clean_slurm.run(["scontrol", "update", "NodeName=n4", "State=DOWN", "Reason=test"])
    clean_slurm.run(["scontrol", "update", "PartitionName=q", "State=DOWN"])
    reservation = ["ReservationName=r", "StartTime=now", "Duration=60", "Nodes=n3", "Users=root"]
    reservation.append("Flags=IGNORE_JOBS")  # the array may run there already
    clean_slurm.run(["scontrol", "create", "reservation", *reservation])

    clean_slurm.clear()

    assert clean_slurm.states() == {}
    assert set(clean_slurm.run(["sinfo", "-h", "-N", "-o", "%T %a"]).stdout.splitlines()) == {"idle up"}
    assert "No reservations" in clean_slurm.run(["scontrol", "show", "reservations"]).stdout


def test_fill_makes_running_jobs_of_all_users_without_processes(clean_slurm: PrivateSlurm) -> None:
    clean_slurm.fill(12, "-p", "wide")

    assert set(clean_slurm.states().values()) == {"RUNNING"}
    assert sorted(clean_slurm.squeue("%u")) == sorted(["ann", "bob"] * 3 + ["cy", "dee", "eve"] * 2)


def test_waiting_in_vain_shows_the_queue(clean_slurm: PrivateSlurm) -> None:
    job = clean_slurm.submit("ann", "-p", "x", "--hold")

    with pytest.raises(PrivateSlurmError, match=rf"(?s)in vain for job {job} to be RUNNING.*JobHeldUser"):
        clean_slurm.wait_for_state(job, "RUNNING", timeout_s=0.2)
