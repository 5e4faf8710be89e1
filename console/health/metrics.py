"""The metrics in Prometheus' text format, made from the database at the time of asking.

No state of this process goes into them: several web processes answer the same. Labels are names of clusters,
partitions, levels and words of ours, never a job or a person, so that their number stays bounded. docs/operations.md
has them all.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from console.cluster.models import Cluster
from console.core import clock
from console.core.files import free_bytes, own_folders
from console.health.measuring import Measurements, broker_queues, measure
from console.steering import metrics
from console.steering.metrics import read_cadences
from console.steering.models import OPEN_STATES, CycleMeter

PLACE = ("cluster", "partition")


def text() -> bytes:
    """All metrics now."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Console())
    return generate_latest(registry)


class _Console(Collector):
    """Reads everything once, then tells it family by family."""

    def collect(self) -> Iterable[Metric]:
        figures = measure()
        yield from _cycles(figures)
        yield from _ages(figures.clusters, figures.meters.values())
        yield from _cadence(figures.clusters)
        yield from _plans(figures)
        yield from _work(figures)
        yield from _queue(figures)
        yield _unread(figures)
        yield from _immune(figures)
        yield from _forecasts(figures)
        yield from _incidents(figures)
        yield from _rest(figures)
        yield from _broker()
        yield _disk()


def _disk() -> Metric:
    folders = own_folders(settings.HOME, settings.DATABASES["default"])
    least = min((free_bytes(folder) for folder in folders if folder.is_dir()), default=0)
    return _gauge("disk_free_bytes", "Room where Giveway writes on this machine.", [], {(): least})


def _gauge(name: str, words: str, labels: Iterable[str], values: Mapping[Any, float]) -> Metric:
    family = GaugeMetricFamily(f"giveway_{name}", words, labels=tuple(labels))
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _counter(name: str, words: str, labels: Iterable[str], values: Mapping[Any, float]) -> Metric:
    family = CounterMetricFamily(f"giveway_{name}", words, labels=tuple(labels))
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _histogram(name: str, words: str, labels: Iterable[str], values: Mapping[Any, dict[str, Any]]) -> Metric:
    family = HistogramMetricFamily(f"giveway_{name}", words, labels=tuple(labels))
    for key, kept in sorted(values.items()):
        edges = sorted((float(edge), count) for edge, count in kept["buckets"].items())
        buckets = [(str(edge), count) for edge, count in edges]
        family.add_metric(key, buckets=[*buckets, ("+Inf", kept["count"])], sum_value=kept["seconds"])
    return family


def _cycles(figures: Measurements) -> Iterator[Metric]:
    phases = {
        (cluster, phase): meter.phases[phase]
        for cluster, meter in figures.meters.items()
        for phase in metrics.PHASES
        if phase in meter.phases
    }
    degraded = {(cluster,): meter.degraded for cluster, meter in figures.meters.items()}
    failed = {(cluster,): meter.failed for cluster, meter in figures.meters.items()}
    cycles = {(cluster.name,): cluster.cycle for cluster in figures.clusters}
    yield _counter("cycles", "Cycles that were run.", ["cluster"], cycles)
    yield _counter("cycles_degraded", "Cycles that did not do all their work.", ["cluster"], degraded)
    yield _counter("cycles_failed", "Cycles in which an exception was raised.", ["cluster"], failed)
    yield _histogram(
        "cycle_phase_seconds", "Time spent in each phase of a cycle.", ["cluster", "phase"], phases
    )


def _ages(clusters: Iterable[Cluster], meters: Iterable[CycleMeter]) -> Iterator[Metric]:
    now = clock.now()
    good = {(meter.cluster.name,): _age(now, meter.ended_well_at) for meter in meters if meter.ended_well_at}
    cycles = {(row.name,): _age(now, row.attempted_at) for row in clusters if row.attempted_at}
    looks = {(row.name,): _age(now, row.observed_at) for row in clusters if row.observed_at}
    seen = {(row.name,): int(not row.fault and row.observed_at is not None) for row in clusters}
    yield _gauge(
        "cycle_age_seconds", "Time since the last cycle, or since none was due.", ["cluster"], cycles
    )
    yield _gauge("good_cycle_age_seconds", "Time since a cycle did all its work.", ["cluster"], good)
    yield _gauge(
        "observation_age_seconds", "Time since the cluster was last observed in full.", ["cluster"], looks
    )
    yield _gauge("cluster_observed", "1 if the last cycle observed the cluster in full.", ["cluster"], seen)


def _cadence(clusters: Iterable[Cluster]) -> Iterator[Metric]:
    found = read_cadences(clusters)
    cadences = {row.name: found[row.pk] for row in clusters}
    gaps = {
        (name, quantile): value
        for name, each in cadences.items()
        for quantile, value in (("0.5", each.p50_s), ("0.99", each.p99_s), ("1", each.longest_s))
    }
    asked = {(name, kind): n for name, each in cadences.items() for kind, n in each.requests.items()}
    words = "Time from the beginning of one cycle to that of the next, over the last hour."
    yield _gauge("cycle_gap_seconds", words, ["cluster", "quantile"], gaps)
    late = {(name,): each.late_s for name, each in cadences.items()}
    words = "By how much the latest cycle of the last hour was late, where it was more than three intervals."
    yield _gauge("cycle_late_seconds", words, ["cluster"], late)
    yield _gauge("slurm_requests", "Requests to slurmctld in the last minute.", ["cluster", "kind"], asked)
    budgets = {(name,): each.budget for name, each in cadences.items()}
    yield _gauge(
        "slurm_requests_budget", "Requests to slurmctld that a minute may have.", ["cluster"], budgets
    )
    shares = {(name,): each.share for name, each in cadences.items()}
    yield _gauge(
        "slurmctld_share", "Share of slurmctld's time, over the last ten minutes.", ["cluster"], shares
    )
    limited = {(name,): each.limited for name, each in cadences.items()}
    words = "Commands that slurmctld made wait (rl_enable), over the last ten minutes."
    yield _gauge("slurm_commands_limited", words, ["cluster"], limited)


def _age(now: datetime, then: datetime) -> float:
    return round((now - then).total_seconds(), 3)


def _plans(figures: Measurements) -> Iterator[Metric]:
    opened: dict[tuple[str, ...], int] = {}
    for (cluster, partition, _kind, state), count in figures.plans.items():
        if state in OPEN_STATES:
            opened[cluster, partition] = opened.get((cluster, partition), 0) + count
    yield _gauge("plans", "Plans by what became of them.", [*PLACE, "kind", "state"], figures.plans)
    yield _gauge("plans_open", "Plans that are not over.", PLACE, opened)
    yield _counter(
        "stops",
        "Runs stopped, by how and by the rule that allowed it.",
        [*PLACE, "kind", "reason"],
        figures.stops,
    )


def _work(figures: Measurements) -> Iterator[Metric]:
    starts: dict[tuple[str, ...], dict[str, Any]] = {}
    work: dict[str, dict[tuple[str, ...], float]] = {"lost": {}, "saved": {}}
    for cluster, meter in figures.meters.items():
        for partition, kept in meter.phases.get(metrics.SUBMIT_TO_START, {}).items():
            starts[cluster, partition] = kept
        for partition, sums in meter.phases.get(metrics.WORK, {}).items():
            for name, by_resource in sums.items():
                for resource, amount in by_resource.items():
                    work[name][cluster, partition, resource] = amount
    labels = [*PLACE, "resource"]
    yield _histogram(
        "beneficiary_start_seconds", "From a beneficiary's submission to its start.", PLACE, starts
    )
    yield _counter(
        "work_lost_resource_seconds",
        "What victims had done since their start or last checkpoint.",
        labels,
        work["lost"],
    )
    yield _counter(
        "work_saved_resource_seconds",
        "What victims had done before an acknowledged checkpoint.",
        labels,
        work["saved"],
    )


def _queue(figures: Measurements) -> Iterator[Metric]:
    labels = [*PLACE, "phase", "user_level", "task_level"]
    yield _gauge("jobs", "Jobs in the queue, by phase and level.", labels, figures.jobs)
    yield _gauge(
        "jobs_held_back",
        "Waiting jobs for which no room is made, by why.",
        [*PLACE, "reason"],
        figures.held_back,
    )


def _unread(figures: Measurements) -> Metric:
    words = "Waiting jobs for which nobody is stopped because of a word of their request."
    return _gauge("requests_blocked", words, ["cluster", "word"], figures.unread)


def _immune(figures: Measurements) -> Iterator[Metric]:
    labels = [*PLACE, "why"]
    yield _gauge(
        "immune_jobs", "Running jobs that nobody stops, not requeued, by why.", labels, figures.immune
    )
    yield _gauge(
        "immune_share",
        "The part of a resource that such jobs hold, from 0 to 1.",
        [*PLACE, "resource"],
        figures.immune_shares,
    )


def _forecasts(figures: Measurements) -> Iterator[Metric]:
    now = clock.now().timestamp()
    ages = {key: max(0.0, now - said) for key, said in figures.starts_said.items()}
    yield _gauge(
        "starts_forecast_age_seconds", "Since starts of waiting jobs were forecast.", ["cluster"], ages
    )
    for name, of, words in (
        ("brier", "brier", "Mean square error of the chances of being stopped within the hour."),
        ("brier_base", "base", "The same of the share that was stopped before, told to everybody."),
    ):
        scores = {key: getattr(score, of) for key, score in figures.chances.items()}
        yield _gauge(f"stop_chance_{name}", words, PLACE, scores)


def _incidents(figures: Measurements) -> Iterator[Metric]:
    """0 for every partition that there is, so that an alert has something to look at."""
    none = {key: 0 for key in figures.paused if key[1]}
    yield _gauge(
        "incidents_open",
        "Stopped jobs that did not come back, not yet closed.",
        PLACE,
        none | figures.incidents,
    )
    nothing: dict[tuple[str, ...], int] = {(cluster.name, "gpu"): 0 for cluster in figures.clusters}
    yield _gauge(
        "processors_standing_out",
        "Processors far slower than their kind, or whose figure has jumped, not left.",
        ["cluster", "resource"],
        nothing | figures.stand_out,
    )
    yield _gauge(
        "hours_lost",
        "Hours of processors lost to waiting for the slowest one of a run, over the last 30 days.",
        [*PLACE, "resource"],
        figures.hours_lost,
    )
    yield _counter("victims_lost", "Stopped jobs that did not come back.", PLACE, none | figures.lost)


def _rest(figures: Measurements) -> Iterator[Metric]:
    yield _gauge("paused", "1 while nobody may be stopped; no partition: anywhere.", PLACE, figures.paused)
    yield _gauge("audit_rows", "Rows of the audit log.", [], {(): figures.audit_rows})
    yield from _chain(figures)
    yield _gauge("notices_waiting", "Notices not yet sent.", ["by"], figures.notices)


def _chain(figures: Measurements) -> Iterator[Metric]:
    """Nothing of the ages before the first check is done."""
    now, latest, full = clock.now(), figures.chain.latest, figures.chain.full
    yield _gauge(
        "audit_verified_row", "The audit log is whole up to this row.", [], {(): latest.last if latest else 0}
    )
    yield _gauge("audit_broken", "1 if the audit log is not whole.", [], {(): int(figures.chain.broken)})
    ages = {
        (what,): _age(now, check.finished_at)
        for what, check in (("new", latest), ("full", full))
        if check and check.finished_at
    }
    yield _gauge("audit_verified_age_seconds", "Time since the audit log was verified.", ["kind"], ages)


def _broker() -> Iterator[Metric]:
    """Only where Redis is the broker."""
    queues = broker_queues()
    if queues == {}:
        return
    yield _gauge("broker_up", "1 if Redis answers.", [], {(): int(queues is not None)})
    lengths = {(name,): length for name, length in (queues or {}).items()}
    yield _gauge("broker_queue_length", "Messages that wait in Redis.", ["queue"], lengths)
