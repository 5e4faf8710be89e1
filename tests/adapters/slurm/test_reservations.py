"""Which nodes Slurm reservations leave to a pending job."""

from dataclasses import replace

from scheduler.adapters.slurm.reservations import FOREVER, SlurmReservation, decode, respect
from scheduler.model.jobs import JobState, ObservedJob, Request

NOW = 1_800_000_000
PARTITIONS = {"q": ("n3", "n4"), "x": ("n1",)}
RECORD = (
    "ReservationName=soon StartTime=2026-11-21T21:21:00 EndTime=2026-11-21T22:21:00 Duration=01:00:00 Nodes=n[1,3-4] "
    "NodeCnt=3 CoreCnt=24 Features=(null) PartitionName=(null) Flags=SPEC_NODES TRES=cpu=24 Users=ann Groups=(null) "
    "Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)"
)
SOON = SlurmReservation("soon", NOW + 600, NOW + 4200, frozenset({"n3"}))
JOB = ObservedJob(
    "7", "urgent", "cy", JobState.PENDING, ("q",), NOW, request=Request(nodes=1, per_node={"cpu": 2})
)


def _left(job: ObservedJob, *reservations: SlurmReservation) -> tuple[set[str], str]:
    """The nodes that stay for a job, and why it cannot be planned for."""
    (limited,) = respect([job], reservations, PARTITIONS, NOW)
    assert limited.request is not None
    nodes = {name for partition in job.partitions for name in PARTITIONS[partition]}
    return nodes - limited.request.not_nodes, limited.unplannable


def test_a_record_as_slurm_prints_it() -> None:
    found = decode(RECORD)

    assert (found.name, found.end - found.start) == ("soon", 3600)
    assert found.nodes == frozenset({"n1", "n3", "n4"})
    assert decode(RECORD.replace("Nodes=n[1,3-4]", "Nodes=(null)")).nodes == frozenset()


def test_a_reservation_that_is_not_understood_is_taken_at_its_strictest() -> None:
    always = decode("ReservationName=odd StartTime=soon Nodes=n[3-4]")
    anywhere = decode("ReservationName=odd StartTime=2026-11-21T21:21:00")

    assert (always.start, always.end, always.nodes) == (0, FOREVER, frozenset({"n3", "n4"}))
    assert anywhere.nodes is None
    assert _left(JOB, anywhere)[1] == "the nodes of the reservation odd are not understood"
    assert _left(replace(JOB, time_limit_s=60), replace(anywhere, start=NOW + 9999)) == ({"n3", "n4"}, "")
    assert _left(replace(JOB, reservation="odd"), anywhere)[1] == (
        "the nodes that it could use are kept for the reservation odd"
    )


def test_a_node_that_is_reserved_before_the_job_must_have_ended_is_not_for_it() -> None:
    assert _left(JOB, SOON) == ({"n4"}, "")
    assert _left(replace(JOB, time_limit_s=3600), SOON) == ({"n4"}, "")


def test_a_job_that_ends_before_may_use_it() -> None:
    assert _left(replace(JOB, time_limit_s=300), SOON) == ({"n3", "n4"}, "")
    # Making room takes its time too.
    assert _left(replace(JOB, time_limit_s=590), SOON) == ({"n4"}, "")


def test_a_reservation_that_is_over_takes_nothing() -> None:
    assert _left(JOB, replace(SOON, start=NOW - 60, end=NOW)) == ({"n3", "n4"}, "")


def test_a_job_in_the_reservation_gets_its_nodes_and_no_others() -> None:
    mine = replace(JOB, reservation="soon")

    assert _left(mine, SOON, SlurmReservation("else", NOW, FOREVER, frozenset({"n4"}))) == ({"n3"}, "")
    assert _left(mine)[1] == "the nodes that it could use are kept for the reservation soon"


def test_a_job_whose_nodes_are_all_reserved_cannot_be_planned_for_and_it_is_said_why() -> None:
    assert _left(replace(JOB, partitions=("x",)), replace(SOON, nodes=frozenset({"n1"}))) == (
        set(),
        "the nodes that it could use are kept for the reservation soon",
    )
    request = Request(nodes=2, per_node={"cpu": 1})
    assert _left(replace(JOB, request=request), SOON)[1]
    assert _left(replace(JOB, partitions=("q", "x"), request=replace(request, nodes=1)), SOON)[1] == ""


def test_running_jobs_and_clusters_without_reservations_stay_as_they_are() -> None:
    running = replace(JOB, state=JobState.RUNNING, request=None)
    assert respect([running], [SOON], PARTITIONS, NOW) == [running]
    assert respect([JOB], [], PARTITIONS, NOW) == [JOB]
