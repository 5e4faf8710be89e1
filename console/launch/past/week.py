"""Making up the week, once: at the first start of a demonstration on the simulated cluster."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import structlog
from django.db import transaction

from console.cluster.connect import configured_cluster, connect
from console.cluster.models import Job
from console.core import clock
from console.history.models import RecordedObservation
from console.insights.summing import sum_up
from console.insights.unevenness import sum_unevenness
from console.launch.demo import SET_UP_BEFORE, is_first_start
from console.launch.past.forecast_rows import write_forecasts
from console.launch.past.job_rows import Setting, times_stopped, write_jobs, write_minutes
from console.launch.past.mishaps import mark_mishaps
from console.launch.past.plan_rows import PlanRows
from console.launch.past.played import PlayedWeek
from console.launch.past.playing import MINUTE, Player
from console.launch.past.power_rows import write_figures
from console.launch.past.quota_rows import write_quotas
from console.partitions.models import PolicyRevision
from console.power.losses import keep_losses
from console.projects.selectors import core_projects
from console.steering.decisions.facts import PartitionFacts, partition_policies
from console.steering.recording.metering import MeteredStop
from scheduler.adapters.simulator import demo, demo_week
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.looking import look
from scheduler.adapters.simulator.scenarios import DEFAULT_SEED
from scheduler.adapters.simulator.stored import StoredSimulator
from scheduler.model.observation import Observation
from scheduler.model.policy import ProjectFacts

log = structlog.get_logger(__name__)

_Facts = Mapping[str, PartitionFacts]


def make_week(seed: int = DEFAULT_SEED) -> bool:
    """Make up the past of a demonstration that begins now; false, and nothing done, anywhere else.

    Plans, jobs and the audit log are written in one transaction: a start that is interrupted before its end leaves
    nothing, and the next one does it. The record and the forecasts come after it, each in its own, so that nobody who
    signs in meanwhile waits for all of it. The scenario begins when it is written: nothing comes between the two.
    """
    cluster = configured_cluster()
    port = connect(cluster)
    if not is_first_start(cluster) or not isinstance(port, StoredSimulator):
        return False
    partitions, projects = partition_policies(cluster), core_projects(cluster)
    now = int(clock.now().timestamp())
    week, seen = played_week(partitions, projects, (now - demo.WARM_UP_S) // MINUTE * MINUTE, seed)
    with transaction.atomic():
        _add_first_hour(week, partitions, projects, port.reset())
        setting = Setting(cluster, partitions, projects, seen)
        jobs, stops = _write(setting, week, seed)
    write_minutes(setting, week, jobs, stops)
    write_quotas(setting, week, jobs)
    RecordedObservation.objects.bulk_create(
        RecordedObservation(cluster=cluster, at=clock.from_epoch(moment), jobs=count, body=body)
        for moment, (count, body) in week.looks.items()
    )
    write_forecasts(cluster, week, jobs, seed)
    sum_up(cluster)
    keep_losses(cluster)
    sum_unevenness(cluster)
    log.info("a week of a made-up past is written", plans=len(week.plans), jobs=len(week.jobs))
    return True


def played_week(
    partitions: _Facts, projects: Sequence[ProjectFacts], until: int, seed: int
) -> tuple[PlayedWeek, Observation]:
    """The week before `until`, and the cluster as it stands then. The same arguments, the same week."""
    cluster = demo_week.week(until, seed)
    week = PlayedWeek(cluster.now, until)
    player = Player(cluster, partitions, projects, week)
    player.play(until, demo_week.next_urgent)
    mark_mishaps(week)
    week.close()
    return week, look(cluster.state)


def _add_first_hour(week: PlayedWeek, partitions: _Facts, projects: Sequence[ProjectFacts], now: int) -> None:
    """The hour in which the scenario filled its cluster: it keeps who is there in the end, and forgets the others."""
    cluster = SimulatedCluster(demo.opened(now - demo.WARM_UP_S, DEFAULT_SEED, demo.FIRST_JOB))
    hour = PlayedWeek(cluster.now, now)
    player = Player(cluster, partitions, projects, hour)
    for _ in demo.warm_up(cluster, DEFAULT_SEED):
        player.look_once_a_minute()
    week.jobs |= hour.jobs
    week.minutes += hour.minutes


def _write(
    setting: Setting, week: PlayedWeek, seed: int
) -> tuple[list[Job], Mapping[int, list[MeteredStop]]]:
    """The jobs, the plans with their audit rows, and that all is made up. Returned: rows of the jobs, and the stops by
    minute."""
    cluster, plans = setting.cluster, PlanRows(setting.cluster, week)
    began = clock.now() - SET_UP_BEFORE
    write_figures(cluster, setting.seen, began + timedelta(hours=1), seed)
    plans.write()
    jobs = write_jobs(setting, week.jobs.values(), times_stopped(week))
    PolicyRevision.objects.filter(partition__cluster=cluster).update(created_at=began)
    cluster.cycle, cluster.made_up_until = plans.cycle_at(week.until), clock.now()
    cluster.save(update_fields=["cycle", "made_up_until"])
    return jobs, plans.stops
