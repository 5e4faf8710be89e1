"""Any user of the cluster made own jobs unstoppable: `Requeue=0`, `--no-requeue`, interactive jobs.

On the real Slurm: with the job_submit script installed, but no rules for it until a test lets the worker write them.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import Client
from pytest_django import Settings

from console.audit.models import AuditEntry
from deploy.private_slurm import PrivateSlurm
from tests import factories
from tests.e2e.slurm_driver import NAIVE, Driver, attached
from tests.plugins.private_slurm import new_root
from tests.steering.submit_script import SCRIPT

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

LEVELS = [{"name": f"P{n}"} for n in range(4)]
POLICY = {"mode": "user", "levels": LEVELS, "user_overrides": {"ann": "P3", "cy": "P0"}, "cool_down_s": 0}
SMALL = ("-p", "q", "-n", "1", "--mem=10")
BOTH_NODES = ("-p", "q", "-N", "2", "--ntasks-per-node=8", "--mem=100")


@pytest.fixture(scope="module")
def slurm(slurm_release: str) -> Iterator[PrivateSlurm]:
    with PrivateSlurm(new_root(), job_submit=SCRIPT, version=slurm_release, remove_root=True) as running:
        yield running


@pytest.fixture
def driver(
    db: None, slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    """A console attached to it; partition q (n3 and n4) enforces."""
    slurm.clear()
    slurm.submit_rules.unlink(missing_ok=True)
    settings.GIVEWAY_SUBMIT_RULES = ""
    with attached(slurm, settings, monkeypatch) as driver:
        driver.policy("q", **POLICY)
        yield driver
    slurm.clear()


@pytest.fixture
def plugin(driver: Driver, settings: Settings) -> Driver:
    """The same with rules for slurmctld's script."""
    settings.GIVEWAY_SUBMIT_RULES = str(driver.slurm.submit_rules)
    driver.steer()
    return driver


def sixteen(driver: Driver) -> list[str]:
    """Sixteen jobs of ann on both nodes, all of them seen by a cycle."""
    jobs = [driver.submit("ann", f"low{n}", *SMALL, script=NAIVE) for n in range(16)]
    for job in jobs:
        driver.slurm.wait_for_state(job, "RUNNING")
    driver.steer()
    return jobs


def make_immune(driver: Driver, jobs: list[str]) -> None:
    for job in jobs:
        driver.slurm.run(["scontrol", "update", f"JobId={job}", "Requeue=0"], "ann")


def requeueable(driver: Driver) -> set[str]:
    rows = driver.slurm.run(["squeue", "--noheader", "--Format=JobID:|,Requeue:"]).stdout.split()
    return {row.partition("|")[0] for row in rows if row.endswith("|1")}


@contextmanager
def again_and_again(driver: Driver, jobs: list[str]) -> Iterator[None]:
    """Meanwhile their user does it over and over."""
    over = threading.Event()

    def keep_on() -> None:
        while not over.is_set():
            driver.slurm.run(
                ["scontrol", "update", f"JobId={','.join(jobs)}", "Requeue=0"], "ann", check=False
            )
            over.wait(0.2)

    thread = threading.Thread(target=keep_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_sixteen_jobs_made_immune_make_room_all_the_same(driver: Driver) -> None:
    jobs = sixteen(driver)
    make_immune(driver, jobs)
    driver.submit("cy", "urgent", *BOTH_NODES)
    driver.steer_until_running("urgent")
    driver.steer_until_settled()
    assert driver.stopped() >= {f"low{n}" for n in range(16)}
    told = AuditEntry.objects.filter(action="requeue.allowed")
    assert set(told.values_list("job_id", flat=True)) == set(jobs)


def test_they_are_requeueable_again_with_the_next_cycle_before_anybody_waits(driver: Driver) -> None:
    jobs = sixteen(driver)
    make_immune(driver, jobs)
    assert requeueable(driver) == set()
    driver.steer()
    assert requeueable(driver) == set(jobs)
    assert driver.stopped() == set()


def test_doing_it_over_and_over_gains_nothing(driver: Driver) -> None:
    jobs = sixteen(driver)
    with again_and_again(driver, jobs):
        driver.submit("cy", "urgent", *BOTH_NODES)
        driver.steer_until_running("urgent")


def test_what_is_submitted_so_is_left_alone_and_shown_with_whose_it_is(
    driver: Driver, client: Client
) -> None:
    stubborn = driver.running("ann", "stubborn", *SMALL, "--no-requeue", script=NAIVE)
    inside = driver.submit("ann", "inside", *SMALL, script=NAIVE.replace("\n", "\n#SBATCH --no-requeue\n", 1))
    driver.slurm.wait_for_state(inside, "RUNNING")
    interactive = str(driver.slurm.allocate("cy", *SMALL))
    driver.steer()
    client.force_login(factories.make_administrator())

    told = client.get("/api/v1/partitions/q/").json()["immune"]
    assert (told["jobs"], told["amounts"]["cpu"], told["shares"]["cpu"]) == (3, 3, 3 / 16)
    users = {user["user"]: (user["jobs"], user["why"]) for user in told["users"]}
    assert users == {"ann": ([stubborn, inside], ["no_requeue"]), "cy": ([interactive], ["interactive"])}
    page = client.get("/partitions/q/").content.decode()
    assert "3 running jobs that nobody stops, because Slurm does not requeue them" in page
    assert f"/jobs/{interactive}/" in page
    assert "19%" in page


def test_no_requeue_is_refused_where_the_plugin_is_installed(plugin: Driver) -> None:
    script, words = "#!/bin/sh\nsleep 60\n", "jobs of ann in partition q have to be requeueable"
    for argv, typed in (
        (["sbatch", *SMALL, "--no-requeue"], script),
        (["sbatch", *SMALL, "--no-requeue", "--array=0-1"], script),
        (["sbatch", "-p", "wide,q", "-n", "1", "--no-requeue"], script),
        (["env", "SBATCH_NO_REQUEUE=1", "sbatch", *SMALL], script),
        (["sbatch", *SMALL], script.replace("\n", "\n#SBATCH --no-requeue\n", 1)),
    ):
        said = plugin.slurm.run(argv, "ann", stdin=typed, check=False)
        assert said.returncode != 0, argv
        assert words in said.stderr, said.stderr
        assert "(--no-requeue is for: nobody)" in said.stderr
    assert plugin.slurm.squeue("%i") == []
    assert plugin.slurm.run(["sbatch", *SMALL, "--requeue"], "ann", stdin=script).returncode == 0
    assert (
        plugin.slurm.run(["sbatch", "-p", "x", "-n", "1", "--no-requeue"], "ann", stdin=script).returncode
        == 0
    )
    plugin.policy("q", **POLICY, no_requeue_users=["a*"])
    plugin.steer()
    assert plugin.slurm.run(["sbatch", *SMALL, "--no-requeue"], "ann", stdin=script).returncode == 0


def test_nor_is_it_changed_later_and_giveway_may_change_it_back(plugin: Driver) -> None:
    job = plugin.running("ann", "low", *SMALL, script=NAIVE)
    said = plugin.slurm.run(["scontrol", "update", f"JobId={job}", "Requeue=0"], "ann", check=False)
    assert said.returncode == 1
    assert "Access/permission denied" in said.stderr
    assert requeueable(plugin) == {job}
    plugin.slurm.run(["scontrol", "update", f"JobId={job}", "Requeue=1", "Comment=x"], "ann")
    log = (plugin.slurm.logs / "slurmctld.log").read_text(errors="replace")
    assert "giveway: refused: jobs of ann in partition q have to be requeueable" in log
