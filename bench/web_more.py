"""More of a large installation, for `bench.web`: what pages beside those of jobs, plans and the log have to show."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

ENDED = 20_000
"""Forecasts of jobs that have ended; the page of forecasts reads the last 5,000."""
DAYS = 100
INCIDENTS = 300
OPEN_INCIDENTS = 40
ASKED_PLANS = 30
MINUTES = 7 * 24 * 60
CHUNK = 2_000
FINDINGS = 12


def fill_more(cluster: Any, projects: int) -> dict[str, int]:
    """Fill it after `bench.web_data` has; the numbers of what has a page of its own."""
    chance, now = random.Random(2), _now()
    _forecasts(cluster, chance, now)
    _run_time_models(cluster, now)
    _expected_starts(cluster, chance, now)
    _insights(cluster, chance, now, projects)
    _quota_minutes(cluster, now)
    _examination(cluster, now)
    return {
        "asked": _approvals(cluster, now),
        "incident": _incidents(cluster, now),
    }


def _forecasts(cluster: Any, chance: random.Random, now: datetime) -> None:
    """Of every job that is there, and of those that have ended within the last weeks."""
    from console.cluster.models import Job
    from console.forecasts.models import JobForecast

    said = {
        "partition": "x",
        "nodes": 1,
        "cpus": 1,
        "gpus": 0,
        "limit_s": 86_400,
        "version": "7",
        "made_at": now,
    }
    seconds = {"p10": 1_800, "p50": 3_600, "p90": 7_200, "low": 900, "high": 14_400}
    clock_s = int(now.timestamp())

    def ends(start: int) -> dict[str, int]:
        if not start:
            return {}
        within = {"end_low": 900, "end_p50": 3_600, "end_p80": 7_000, "end_high": 14_400}
        return {"start": start, "renewed": clock_s} | {name: clock_s + s for name, s in within.items()}

    def made() -> Iterator[JobForecast]:
        for job_id, user, submit, start in Job.objects.values_list("job_id", "user", "submit", "start"):
            yield JobForecast(
                cluster=cluster, job_id=job_id, user=user, submit=submit, **said, **seconds, **ends(start)
            )
        for number in range(ENDED):
            ago = chance.randrange(60, 28 * 86_400)
            yield JobForecast(
                cluster=cluster, job_id=str(2_000_000 + number), user=f"user{number % 97}",
                submit=clock_s - ago - 9_000, ran_s=chance.randrange(600, 15_000),
                ended_at=now - timedelta(seconds=ago), **said, **seconds,
            )  # fmt: skip

    JobForecast.objects.bulk_create(made(), batch_size=CHUNK)


def _run_time_models(cluster: Any, now: datetime) -> None:
    """Those behind the forecasts."""
    from console.forecasts.models import RunTimeModel

    RunTimeModel.objects.bulk_create(
        RunTimeModel(
            cluster=cluster, version=str(number), made_at=now - timedelta(days=20 - number), jobs=30_000,
            later_jobs=3_000, figure=0.6 + number / 100, figure_before=0.6, figure_medians=0.5, in_force=number == 9,
        )
        for number in range(10)
    )  # fmt: skip


def _expected_starts(cluster: Any, chance: random.Random, now: datetime) -> None:
    from console.cluster.models import Job
    from console.starts.models import ExpectedStart

    clock_s = int(now.timestamp())

    def said(at: int) -> dict[str, Any]:
        within = {"p50": at + 2_400, "low": at + 900, "high": at + 7_200}
        first = {f"first_{name}": moment for name, moment in within.items()}
        return {"partition": "x", "made_at": at, "first_at": at, **within, **first}

    def made() -> Iterator[ExpectedStart]:
        waiting = Job.objects.filter(phase="pending")
        for number, (job_id, submit) in enumerate(waiting.values_list("job_id", "submit")):
            nodes = [f"n{number % 1_000}"]
            yield ExpectedStart(
                cluster=cluster, job_id=job_id, submit=submit, nodes=nodes, after=["1000"], **said(clock_s)
            )
        for number in range(ENDED // 2):
            at = clock_s - chance.randrange(9_000, 28 * 86_400)
            started = at + chance.randrange(600, 8_000)
            yield ExpectedStart(
                cluster=cluster, job_id=str(2_000_000 + number), submit=at, started=started,
                gone_at=datetime.fromtimestamp(started, now.tzinfo), first_slurm=at + 3_000, **said(at),
            )  # fmt: skip

    ExpectedStart.objects.bulk_create(made(), batch_size=CHUNK)


def _insights(cluster: Any, chance: random.Random, now: datetime, projects: int) -> None:
    """Sums of a hundred days; `bench.insights` asks for more partitions and half a year."""
    from console.insights.models import PartitionDay, RoomOfDay, StopsOfDay, SummedUntil, UnevenOfDay

    known = {"cluster": cluster, "partition": "x"}
    days = [(now - timedelta(days=ago)).date() for ago in range(DAYS)]
    waits = {str(level): [chance.randint(0, 90) for _ in range(55)] for level in range(4)}
    PartitionDay.objects.bulk_create(
        PartitionDay(**known, day=day, minutes=1_440, job_minutes=9_000_000, waits=waits) for day in days
    )
    codes = [f"p{number}" for number in range(projects)]
    StopsOfDay.objects.bulk_create(
        StopsOfDay(
            **known, day=day, cause="room", gained=gained, paid=chance.choice(codes), stops=3, cpu_lost=9e4,
            cpu_saved=4e4,
        )
        for day in days
        for gained in codes[:10]
    )  # fmt: skip
    RoomOfDay.objects.bulk_create(
        RoomOfDay(**known, day=day, project=code, jobs=4, cpu=8e4) for day in days for code in codes[:10]
    )
    UnevenOfDay.objects.bulk_create(
        UnevenOfDay(**known, day=day, project=code, resource="cpu", runs=20, hours=900, lost=30)
        for day in days
        for code in codes[:20]
    )
    SummedUntil.objects.create(cluster=cluster, until=now)


def _quota_minutes(cluster: Any, now: datetime) -> None:
    from console.history.models import QuotaMinute

    start = now.replace(second=0, microsecond=0) - timedelta(minutes=MINUTES)
    QuotaMinute.objects.bulk_create(
        (
            QuotaMinute(
                cluster=cluster, partition="x", at=start + timedelta(minutes=minute), rank=0,
                uses={"quotas": {"": [400, 0, {f"user{n}": 90 + (minute + n) % 50 for n in range(5)}]}},
            )
            for minute in range(MINUTES)
        ),
        batch_size=CHUNK,
        ignore_conflicts=True,
    )  # fmt: skip


def _examination(cluster: Any, now: datetime) -> None:
    """What the doctor found: one failure, as a page tells it, and what is well."""
    from console.health.doctor.findings import fail, ok
    from console.setup.models import Examination

    findings = [
        fail("worker", "doctor.worker.never"),
        *(ok(f"c{n}", "doctor.worker.never") for n in range(FINDINGS)),
    ]
    Examination.objects.update_or_create(
        cluster=cluster,
        defaults={"examined_at": now, "worst": "FAIL", "findings": [each.as_json() for each in findings]},
    )


def _approvals(cluster: Any, now: datetime) -> int:
    """Requests that wait for a person. The number of the last one."""
    from console.cluster.models import Job
    from console.steering.models import Cycle, Plan
    from console.steering.served import keep_version

    cycle = Cycle.objects.filter(cluster=cluster).latest("pk")
    planned = Plan.objects.filter(state="proposed").values_list("job_id", flat=True)
    waiting = Job.objects.filter(phase="pending").exclude(job_id__in=list(planned))[:ASKED_PLANS]
    alternatives = [
        {"kind": "wait", "possible": True, "starts_at": None, "victims": [], "nodes": [], "explain": ""},
        {
            "kind": "spare",
            "possible": False,
            "victims": [],
            "nodes": [],
            "explain": "No other job has a lower level.",
        },
    ]
    plan = None
    for number, job in enumerate(waiting):
        victim = {
            "job": str(5_000 + number), "name": "p3_train", "user": "user5", "how": "requeue", "user_level": "P3",
            "task_level": "P3", "resources": "1 cpu", "amounts": {"cpu": 1}, "ran_s": 3_000,
            "start": int(now.timestamp()) - 3_000, "restarts": 0,
        }  # fmt: skip
        plan = Plan.objects.create(
            cluster=cluster, cycle=cycle, partition="x", state="proposed", enforcement="approve", mode="user_then_task",
            job_id=job.job_id, job_name=job.name, user=job.user, reason="lower_user", victims=[victim],
            explain="It needs 1 cpu on one node; a job of a lower level gives it.", placement={"n1": {"cpu": 1}},
            created_at=now - timedelta(minutes=number), policy_revision=1, alternatives=alternatives,
            passed_over=[{"job": str(6_000 + n), "reason": "equal_or_higher"} for n in range(300)],
        )  # fmt: skip
        keep_version(plan)
    return plan.pk if plan else 0


def _incidents(cluster: Any, now: datetime) -> int:
    """Runs that did not come back, most of them long closed. The number of an open one."""
    from console.steering.models import Incident, Plan, Victim

    plans = list(Plan.objects.filter(cluster=cluster, state="verified").order_by("pk")[:INCIDENTS])
    words = "It is gone, and nobody can tell what became of it."
    victims = Victim.objects.bulk_create(
        Victim(
            plan=plan, cluster=cluster, job_id=plan.victims[0]["job"], run_start=int(now.timestamp()) - 90_000,
            run_restarts=0, user="user5", fate="lost", words=words, sent_at=plan.created_at, settled_at=plan.ended_at,
        )
        for plan in plans
    )  # fmt: skip

    def closed(number: int) -> dict[str, Any]:
        by = {"closed_at": now, "closed_by": "dave", "close_reason": "Its owner knows."}
        return {} if number < OPEN_INCIDENTS else by

    made = Incident.objects.bulk_create(
        Incident(
            cluster=cluster, partition="x", victim=victim, kind="gone", job_id=victim.job_id, job_name="p3_train",
            user="user5", plan=plan.pk, beneficiary=plan.job_id, words=words, opened_at=plan.created_at,
            **closed(number),
        )
        for number, (plan, victim) in enumerate(zip(plans, victims, strict=True))
    )  # fmt: skip
    return made[0].pk


def _now() -> datetime:
    from console.core import clock

    return clock.now()
