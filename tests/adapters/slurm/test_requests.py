"""How many requests to slurmctld a command is, what its counters tell, and how often it lets us ask."""

import pytest

from scheduler.adapters.slurm import counters, requests
from scheduler.adapters.slurm.errors import SlurmOutputError
from scheduler.adapters.slurm.requests import RequestMeter, own_limit, requests_of
from scheduler.adapters.slurm.rows import Table

# As sdiag counted them on 22.05.8, 24.11.5 and 26.05.5.
COMMANDS = [
    (("squeue", *Table.fresh().arguments), {"queue": 1, "partitions": 1}),
    (("squeue", "--states=all", "--jobs=1"), {"job": 1, "partitions": 1}),
    (("squeue", "--states=all", "--jobs=1,2"), {"queue": 1, "partitions": 1}),
    (("squeue", "--version"), {}),
    (("scontrol", "--oneliner", "--all", "show", "nodes"), {"nodes": 1, "partitions": 1}),
    (("scontrol", "--oneliner", "--all", "show", "partitions"), {"partitions": 1}),
    (
        ("scontrol", "--oneliner", "--details", "--all", "show", "job", "1"),
        {"job": 1, "nodes": 1, "other": 1},
    ),
    (("scontrol", "--oneliner", "--details", "--all", "show", "job"), {"queue": 1, "nodes": 1}),
    (("scontrol", "--all", "show", "config"), {"configuration": 1, "other": 1}),
    (("scontrol", "requeuehold", "1,2,3"), {"orders": 3}),
    (("scontrol", "update", "JobId=1,2,3", "Priority=5"), {"orders": 3}),
    (("scontrol", "create", "reservation", "ReservationName=giveway_1"), {"orders": 1}),
    (("scancel", "1", "2"), {"orders": 2}),
    (("scancel", "--batch", "--signal=USR1", "1", "2"), {"orders": 2, "queue": 1, "other": 1}),
    (("sdiag",), {"counters": 1}),
    (("sacct", "--noheader"), {}),
]
SDIAG = """*******************************************************
sdiag output at Sat Nov 28 09:41:58 2026 (1795858918)
Data since      Sat Nov 28 09:41:31 2026 (1795858891)
*******************************************************
Jobs submitted: 3
Jobs started:   6
Jobs completed: 6
Jobs canceled:  0
Jobs failed:    0

Remote Procedure Call statistics by message type
\tREQUEST_STATS_INFO                      ( 2035) count:46     ave_time:271    total_time:12472
\tREQUEST_UPDATE_JOB                      ( 3001) count:9      ave_time:331    total_time:2987
\tREQUEST_JOB_INFO                        ( 2003) count:8      ave_time:246    total_time:1973
\tMESSAGE_NODE_REGISTRATION_STATUS        ( 1002) count:4      ave_time:436    total_time:1746

Remote Procedure Call statistics by user
\troot            (       0) count:110    ave_time:333    total_time:36719
"""


@pytest.mark.parametrize(("command", "expected"), COMMANDS)
def test_the_requests_of_a_command(command: tuple[str, ...], expected: dict[str, int]) -> None:
    assert dict(requests_of(command[0], command[1:])) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("count:9 ", "count:10"),  # somebody's scontrol update, hold or release
        ("Jobs started:   6", "Jobs started:   7"),
        ("(1795858891)", "(1795859999)"),  # the counters began anew
        (
            "\tREQUEST_UPDATE_JOB ",
            "\tREQUEST_NEWER_THAN_US\t( 9999) count:1 ave_time:1 total_time:1\n\tREQUEST_UPDATE_JOB ",
        ),
    ],
)
def test_what_happens_moves_the_counters(before: str, after: str) -> None:
    assert before in SDIAG
    assert not counters.decode(SDIAG).same(counters.decode(SDIAG.replace(before, after, 1)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("count:46", "count:47"),
        ("count:8 ", "count:9 "),
        ("count:4 ", "count:5 "),
        ("count:110", "count:999"),
        ("ave_time:331", "ave_time:999"),
    ],
)
def test_what_is_only_read_moves_nothing(before: str, after: str) -> None:
    assert before in SDIAG
    assert counters.decode(SDIAG).same(counters.decode(SDIAG.replace(before, after, 1)))


def test_how_long_an_answer_takes_is_slurmctlds_own_figure() -> None:
    assert counters.decode(SDIAG).answer_s == {"queue": 0.000246, "counters": 0.000271, "orders": 0.000331}


def test_an_answer_without_counters_is_none() -> None:
    with pytest.raises(SlurmOutputError):
        counters.decode("sdiag output at")


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("rl_enable,rl_bucket_size=40,rl_refill_rate=4,rl_refill_period=60", (40, 4.0)),
        ("cloud_dns,rl_enable", (30, 120.0)),
        ("rl_enable,rl_refill_rate=x", (30, 120.0)),
        ("rl_bucket_size=40", (0, 0.0)),
        ("", (0, 0.0)),
    ],
)
def test_what_rl_enable_means(
    parameters: str, expected: tuple[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduler.adapters.slurm.requests.os.geteuid", lambda: 1015)
    facts = {"SlurmctldParameters": parameters, "SlurmUser": "slurm(64030)"}
    limit = own_limit(facts)
    assert (limit.burst, limit.per_minute) == expected
    assert own_limit({**facts, "SlurmUser": "giveway(1015)"}) is requests.NO_LIMIT


def test_an_order_for_many_has_the_time_that_its_requests_take() -> None:
    limit = requests.RateLimit(40, 4.0, 60.0)
    assert limit.patience_s(20) >= 20 * 15 + 60
    assert requests.NO_LIMIT.patience_s(20) == 0


def test_the_meter_is_emptied_by_whoever_takes_it() -> None:
    meter = RequestMeter()
    meter.note({"queue": 1, "partitions": 1}, 0.2, limited=False)
    meter.note({"queue": 1}, 0.1, limited=True)
    use = meter.take()
    assert dict(use.requests) == {"queue": 2, "partitions": 1}
    assert use.took_s == {"queue": pytest.approx(0.2), "partitions": 0.1} and use.limited == 1
    assert not meter.take().requests
