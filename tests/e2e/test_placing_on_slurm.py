"""Jobs placed on a real Slurm: on the even nodes though Slurm would take others, or not at all yet; and nothing is left
of it when Giveway dies."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from console.audit.models import AuditEntry
from console.audit.services import NO_CONTEXT
from console.partitions.services import ensure_partition
from console.power.figures import NewReading
from console.power.models import Source
from console.power.services import set_figures
from console.steering.explanations import why
from console.steering.models import ChosenPlace
from deploy.private_slurm import PrivateSlurm
from tests.e2e.processes import clean_environment, manage, process, wait_until
from tests.e2e.slurm_driver import NAIVE, Driver, attached
from tests.plugins.migrated import copy_migrated_sqlite
from tests.plugins.private_slurm import new_root
from tests.steering.submit_script import SCRIPT

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

ONE = ("-p", "wide", "-N1", "-n1", "-c8", "--mem=100M")
TWO = ("-p", "wide", "-N2", "--ntasks-per-node=1", "-c8", "--mem=100M")
SECONDS = {"n1": 12.0, "n2": 10.0, "n3": 14.0, "n4": 10.2}
"""n1 is throttled, and Slurm takes it first."""
RULE = {"resource": "cpu", "max_distance": 0.5, "else": "wait"}
POLICY = {
    "mode": "user",
    "levels": [{"name": "P0"}, {"name": "P1"}],
    "user_overrides": {"bob": "P1", "cy": "P0"},
}
OFF_S, TRIES = 20, 3
"""So much later the script lets a job begin."""
LATER_S = 26
"""Longer than a begin time is off: a job that still waits then has been put off again."""


@pytest.fixture(scope="module")
def slurm(slurm_release: str) -> Iterator[PrivateSlurm]:
    """Four nodes, with the script installed as docs/job-submit.md says."""
    with PrivateSlurm(new_root(), job_submit=SCRIPT, version=slurm_release, remove_root=True) as running:
        yield running


@pytest.fixture
def driver(
    db: None, slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    """A console attached to it, which writes the rules."""
    slurm.clear()
    slurm.submit_rules.unlink(missing_ok=True)
    settings.GIVEWAY_SUBMIT_RULES = str(slurm.submit_rules)
    with attached(slurm, settings, monkeypatch) as driver:
        yield driver
    slurm.clear()


def measured(driver: Driver, **policy: object) -> None:
    driver.policy("wide", **{**POLICY, "balance": RULE, **policy})
    driver.steer()
    set_figures(
        ensure_partition(cluster=driver.cluster, name="wide"),
        [NewReading(node, "cpu", 0, seconds) for node, seconds in SECONDS.items()],
        Source.IMPORTED, actor="dave", reason="Measured by hand", context=NO_CONTEXT,
    )  # fmt: skip
    driver.steer()


def nodes_of(driver: Driver, name: str) -> set[str]:
    (listed,) = driver.slurm.squeue("%N", "-j", driver.ids[name])
    return set(driver.slurm.run(["scontrol", "show", "hostnames", listed]).stdout.split())


def lines(driver: Driver, name: str) -> str:
    answer = why(driver.cluster, driver.ids[name])
    assert answer is not None
    return " ".join(str(line.text) for part in answer.parts for line in part.lines)


def told(action: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action=action).order_by("id"))


def test_slurm_alone_takes_the_throttled_node(driver: Driver) -> None:
    """What the next test would see without placing."""
    measured(driver, balance=None)
    driver.running("cy", "any", *TWO, script=NAIVE)
    assert nodes_of(driver, "any") == {"n1", "n2"}


def test_on_an_empty_partition_it_starts_on_the_even_nodes(driver: Driver) -> None:
    measured(driver)
    tries, took = 0, OFF_S + 1.0
    while (
        took >= OFF_S and tries < TRIES
    ):  # once more, where the machine is so busy that it had to be put off again
        tries += 1
        took = starts_evenly(driver, f"even{tries}")
    assert took < OFF_S, "it did not wait for its begin time to pass"
    driver.steer_quietly(3)
    name = f"even{tries}"
    assert "0.2" in lines(driver, name)
    assert [len(told(f"job.{word}")) for word in ("put_off", "begins", "placed")] == [tries] * 3
    assert "giveway_" not in reservations(driver.slurm)
    assert "giveway-place" not in shown(driver.slurm, driver.ids[name])


def starts_evenly(driver: Driver, name: str) -> float:
    """How long that takes, on a partition that is empty."""
    driver.slurm.clear()
    began = time.monotonic()
    driver.submit("cy", name, *TWO, script=NAIVE)
    driver.steer_until_running(name)
    took = time.monotonic() - began
    assert nodes_of(driver, name) == {"n2", "n4"}
    return took


def test_one_that_must_wait_waits_and_starts_when_an_even_set_is_free(driver: Driver) -> None:
    measured(driver)
    driver.running("bob", "small", *ONE, "-w", "n2", "-t60", script=NAIVE)
    driver.policy("wide", **POLICY, balance=RULE, protected_users=["*"])
    driver.submit("cy", "even", *TWO, script=NAIVE)
    until = time.monotonic() + LATER_S
    while time.monotonic() < until:
        driver.steer()
        time.sleep(0.5)
        assert driver.states()["even"] == "PENDING", "n1, n3 and n4 are free, and uneven"
    assert "equal compute power" in lines(driver, "even")
    assert driver.reason("even") == "no_even_set"
    driver.cancel("small")
    driver.steer_until_running("even")
    assert nodes_of(driver, "even") == {"n2", "n4"}


def test_with_nearest_it_takes_the_nearest(driver: Driver) -> None:
    measured(driver, balance={**RULE, "else": "nearest"}, protected_users=["*"])
    driver.running("bob", "small", *ONE, "-w", "n2", script=NAIVE)
    driver.submit("cy", "even", *TWO, script=NAIVE)
    driver.steer_until_running("even")
    assert nodes_of(driver, "even") == {"n1", "n4"}
    driver.steer()
    assert "1.8" in lines(driver, "even")
    assert "slowest processor, on n1: it takes about 9 % longer" in lines(driver, "even")


def test_who_has_waited_long_enough_takes_the_nearest_or_is_put_off_no_longer(driver: Driver) -> None:
    measured(driver, protected_users=["*"])
    driver.running("bob", "small", *ONE, "-w", "n2", script=NAIVE)
    driver.submit("cy", "even", *TWO, script=NAIVE)
    driver.submit("cy", "large", *TWO[:2], "-N4", *TWO[3:], script=NAIVE)
    driver.steer_quietly()
    assert driver.states()["even"] == "PENDING", "n1, n3 and n4 are free, and uneven"
    driver.policy("wide", **POLICY, balance={**RULE, "most_wait_s": 8}, protected_users=["*"])
    driver.steer_until_running("even")
    assert nodes_of(driver, "even") == {"n1", "n4"}
    driver.steer_until(lambda: len(told("job.given_back")) == 1, "large is given back")
    driver.steer_quietly()
    assert "giveway-place" not in shown(driver.slurm, driver.ids["large"])
    assert driver.states()["large"] == "PENDING"
    driver.slurm.wait_until(
        lambda: driver.slurm.squeue("%r", "-j", driver.ids["large"]) != ["BeginTime"],
        "Slurm keeps room for it",
    )


def test_others_make_room_for_it_on_even_nodes(driver: Driver) -> None:
    measured(driver)
    for node in ("n1", "n2", "n4", "n3"):
        driver.running("bob", f"on_{node}", *ONE, "-w", node, script=NAIVE)
    driver.submit("cy", "even", *TWO, script=NAIVE)
    driver.steer_until_running("even")
    assert nodes_of(driver, "even") == {"n2", "n4"}
    driver.steer_until_settled()
    assert driver.stopped() == {"on_n2", "on_n4"}


def test_who_is_not_to_be_placed_begins_at_once(driver: Driver) -> None:
    """By the script, or in the next cycle: arrays, jobs of one node, a begin time of the user's own."""
    measured(driver)
    for name, more in {
        "array": ("--array=0-0",),
        "later": ("--begin=now+900",),
        "one": ("-N1", "-n1"),
    }.items():
        driver.submit("cy", name, "-p", "wide", "-N2", "-n2", "--mem=10", *more, script=NAIVE)
    driver.steer_until_running("one")
    assert driver.states()["later"] == "PENDING"
    assert "giveway-place" not in shown(driver.slurm, driver.ids["later"])
    driver.steer_until(
        lambda: driver.slurm.squeue("%T", "-j", driver.ids["array"]) == ["RUNNING"], "the array runs"
    )
    assert not ChosenPlace.objects.exists()
    driver.steer()
    assert nodes_of(driver, "array") == {"n1", "n2"}, "Slurm's choice, uneven, and it is told so"
    task = why(driver.cluster, f"{driver.ids['array']}_0")
    assert task is not None
    assert any("Slurm chose these nodes" in str(line.text) for part in task.parts for line in part.lines)


def test_it_starts_by_itself_and_nothing_is_left_when_giveway_is_killed(
    slurm: PrivateSlurm, tmp_path: Path
) -> None:
    slurm.clear()
    home = str(tmp_path / "home")
    env = clean_environment(
        **slurm.env, GIVEWAY_CLUSTER="slurm", GIVEWAY_HOME=home, GIVEWAY_SUBMIT_RULES=str(slurm.submit_rules)
    )
    copy_migrated_sqlite(tmp_path / "home" / "giveway.sqlite3")
    assert manage("steer", "--once", env=env).returncode == 0, "the nodes are known"
    put = (
        "from console.cluster.connect import configured_cluster as c\n"
        "from console.partitions.services import activate_policy, ensure_partition\n"
        "from console.power.figures import NewReading as R\n"
        "from console.power.models import Source\n"
        "from console.power.services import set_figures\n"
        "from console.audit.services import NO_CONTEXT\n"
        "p = ensure_partition(cluster=c(), name='wide')\n"
        f"activate_policy(actor='dave', partition=p, reason='t', based_on=None, document={{'name': 'wide', "
        f"'enforcement': 'enforce', 'protected_users': ['*'], 'balance': {RULE!r}, **{POLICY!r}}})\n"
        f"set_figures(p, [R(n, 'cpu', 0, s) for n, s in {SECONDS!r}.items()], Source.IMPORTED, actor='dave', "
        "reason='t', context=NO_CONTEXT)\n"
    )
    done = manage("shell", "-v0", "-c", put, env=env)
    assert done.returncode == 0, done.stderr
    filler = str(slurm.submit("bob", *ONE, "-wn2"))
    slurm.wait_for_state(filler, "RUNNING")
    log = tmp_path / "worker.log"
    with process("manage.py", "worker", env=env, log=log) as worker:
        wait_until(
            lambda: slurm.submit_rules.exists() and " place " in slurm.submit_rules.read_text(),
            "rules",
            90,
            log,
        )
        job = str(slurm.submit("cy", *TWO))
        time.sleep(LATER_S)
        assert slurm.states()[job] == "PENDING", log.read_text()[-3000:]
        worker.kill()
        worker.wait()
    wait_until(lambda: slurm.states()[job] == "RUNNING", "it starts wherever Slurm likes", 60)
    wait_until(lambda: "giveway_" not in reservations(slurm), "nothing is reserved", 120)
    assert "ReqNodeList=(null)" in shown(slurm, job)
    slurm.clear()


def reservations(slurm: PrivateSlurm) -> str:
    return slurm.run(["scontrol", "-o", "show", "reservations"]).stdout


def shown(slurm: PrivateSlurm, job: str) -> str:
    return slurm.run(["scontrol", "-o", "show", "job", job]).stdout
