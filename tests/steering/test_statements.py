"""How many statements a cycle asks the database when nothing has changed: building them is most of its time then."""

from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoCaptureOnCommitCallbacks

from console.steering.models import Plan
from tests.steering.conftest import Sim

MOST = 47
"""Without those that begin and end a transaction. One more needs a reason: a policy, a pause, a place, the mirror's
jobs are read once, and whether anything is under way before the look, which is quick where nothing is."""
TRANSACTIONS = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT")


def asked(sim: Sim) -> list[str]:
    """The statements of one cycle, but for those of transactions."""
    with CaptureQueriesContext(connection) as found:
        sim.cycle()
    return [each["sql"] for each in found if not each["sql"].startswith(TRANSACTIONS)]


def test_a_quiet_cycle(sim: Sim, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> None:
    sim.policy()
    sim.running("ann", 8)
    with django_capture_on_commit_callbacks(execute=True):
        sim.cycles(2)
    sql = asked(sim)
    assert len(sql) <= MOST, "\n".join(sql)


def test_more_jobs_ask_no_more(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 1)
    sim.cycles(2)
    few = asked(sim)
    for _ in range(6):
        sim.running("bob", 1)
    sim.cycles(2)
    assert len(asked(sim)) == len(few)


def test_proposals_that_stand_ask_no_more(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    for _ in range(4):
        sim.running("ann", 2)
    sim.submit("cy", 2)
    sim.cycles(2)
    one = asked(sim)
    sim.submit("cy", 2)
    sim.submit("cy", 2)
    sim.cycles(2)
    assert len(asked(sim)) == len(one)
    assert Plan.objects.filter(state="proposed").count() == 3
