"""The workers of an elastic job over time: on its page, in My jobs, and in the tally."""

import pytest
from django.urls import reverse

from console.cluster.elastic import WorkerCounter
from console.cluster.models import Job, JobRun
from console.core import clock
from console.overview.workers import TakenWorker, missing_for, workers_plot
from console.reports.tally import TallySum
from console.steering.models import Fate, Victim
from tests import factories
from tests.ui.conftest import House, SignedIn

WORDS = "elastic:min=2,wish=4"


def workers(house: House, words: str = WORDS) -> list[Job]:
    """Three of four tasks of array 41 run; 41_3 ran for ten minutes and was taken."""
    now = int(clock.now().timestamp())
    rows = []
    for task in range(4):
        runs = task < 3
        rows.append(
            factories.make_job(
                house.cluster, f"41_{task}", user="eve", phase="running" if runs else "pending",
                comment=words, group="41", start=now - 1200 if runs else 0,
            )
        )  # fmt: skip
        JobRun.objects.create(
            cluster=house.cluster, job_id=f"41_{task}", start=now - 1200, restarts=0,
            ended=None if runs else now - 600,
        )  # fmt: skip
    return rows


def taken(house: House, job: Job) -> Victim:
    victim = {"job": job.job_id, "start": 1, "restarts": 0, "worker_of": "41", "least": 2}
    urgent = factories.make_job(house.cluster, "4711", user="cy", phase="running", start=9)
    plan = factories.make_plan(factories.make_cycle(house.cluster), job_id=urgent.job_id, victims=[victim])
    return Victim.objects.create(
        plan=plan, cluster=house.cluster, job_id=job.job_id, run_start=1, run_restarts=0,
        fate=Fate.WAITING, sent_at=clock.now(),
    )  # fmt: skip


def test_the_line_goes_down_by_a_step_when_a_worker_goes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    still = clock.now()
    monkeypatch.setattr(clock, "now", lambda: still)
    rows = workers(house)
    taken(house, rows[3])
    said = WorkerCounter(house.cluster).said_of(rows[0])
    plot = workers_plot(said, house.cluster)
    assert plot is not None
    assert (plot.now, plot.most, plot.least.number) == (3, 4, 2)
    assert plot.wish is not None
    assert plot.wish.number == 4
    assert plot.path == "M30 8H495V38.5H960"
    assert [each.job_id for each in plot.taken if isinstance(each, TakenWorker)] == ["41_3"]


def test_my_jobs_and_the_jobs_page_say_for_whom_the_others_are_away(
    house: House, signed_in: SignedIn
) -> None:
    rows = workers(house)
    victim = taken(house, rows[3])
    said = WorkerCounter(house.cluster).said_of(rows[0])
    told = missing_for(house.cluster, [said])
    assert {group: str(words) for group, words in told.items()} == {
        "41": "4711 has its other workers; they come back when it ends."
    }
    house.people["vera"].cluster_user = "eve"
    house.people["vera"].save()
    client = signed_in("vera")
    for address in (reverse("job", args=["41_0"]), reverse("my-jobs")):
        page = client.get(address).content.decode()
        assert "4711 has its other workers" in page
        assert "does not shrink" not in page
    Victim.objects.filter(pk=victim.pk).update(fate=Fate.RETURNED)
    assert missing_for(house.cluster, [said]) == {}


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (WORDS, ""),
        (f"{WORDS},how=tasks", ""),
        (f"{WORDS},how=restart", "give way by how=tasks only"),
    ],
)
def test_other_ways_than_tasks_count_as_rigid_and_say_so(house: House, words: str, note: str) -> None:
    said = WorkerCounter(house.cluster).said_of(workers(house, words)[0])
    assert note in str(said.note)
    assert bool(said.note) is bool(note)
    assert (workers_plot(said, house.cluster) is None) is bool(note)


def test_a_job_alone_has_no_workers_to_give(house: House) -> None:
    job = factories.make_job(house.cluster, "40", phase="running", start=9, comment=WORDS)
    assert "neither a task of an array" in str(WorkerCounter(house.cluster).said_of(job).note)


def test_the_tally_tells_shrinks_apart() -> None:
    told = TallySum(jobs=1, stops=0, shrinks=2, work={"gpu": 3600.0}, kept={"gpu": 7200.0})
    assert told.shrunk == "Elastic jobs would have given up 2 workers, which keeps 2 GPU-hours."
    assert told.sentence.endswith(told.shrunk)
    assert TallySum(jobs=1, stops=1).shrunk == ""
    assert TallySum(jobs=1, stops=1, grows=1).sentence.endswith(
        "1 job would have been started again on more nodes."
    )
