"""Contract A, the input: what is right is read as it is meant, what is wrong is named by its path."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.contracts.errors import InputError
from scheduler.contracts.snapshot import decode_snapshot, encode_snapshot
from scheduler.model.jobs import Elastic, JobState, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import How
from scheduler.model.policy import Balance, Dispatch, Mode, Otherwise, OverQuota, VictimOrder
from scheduler.model.snapshot import PartitionRules, Snapshot
from tests.builders import anywhere, ending, node, one_node, pending, running, snapshot
from tests.scheduler.contracts.documents import SNAPSHOT, Change, changed, drop, put
from tests.scheduler.strategies import snapshots

HUGE = 10**30


def test_the_contracts_example_is_read_as_it_is_meant() -> None:
    assert decode_snapshot(SNAPSHOT) == Snapshot(
        now=1700000000,
        partition=PartitionRules("x", Mode.USER_THEN_TASK),
        nodes=(
            SnapshotNode(
                "n1",
                up=True,
                total={"cpu": 8, "gpu": 4, "mem": 64000},
                features=frozenset({"a100"}),
                unit="switch1",
                power={"gpu": 1.0},
            ),
        ),
        jobs=(
            SnapshotJob(
                "101", "p2_train", JobState.RUNNING, "ann", 2, None, 1699990000,
                start=1699990100, alloc={"n1": {"cpu": 4, "gpu": 2}},
            ),
            SnapshotJob(
                "102", "p0_eval", JobState.PENDING, "bob", 1, 0, 1699999990,
                request=Request(nodes=1, per_node={"cpu": 6}),
            ),
        ),
    )  # fmt: skip


def test_only_what_is_needed_is_enough() -> None:
    least = {
        "schema": "giveway.snapshot/1",
        "now": 0,
        "partition": {"name": "x", "mode": "task"},
        "nodes": [{"name": "n1", "up": False, "total": {}}],
        "jobs": [],
    }
    assert decode_snapshot(least) == Snapshot(
        0, PartitionRules("x", Mode.TASK), (SnapshotNode("n1", up=False, total={}),), ()
    )


def test_sets_of_features_come_through() -> None:
    a, b = frozenset({"a100"}), frozenset({"v100", "ib"})
    wanted = {
        "1": one_node(2, any_of=(a, b), same_of=(b, a)),
        "2": Request(nodes=3, per_node={"cpu": 1}, counted=((2, a), (1, b))),
        "3": one_node(2),
    }
    made = snapshot([pending(job_id, request) for job_id, request in wanted.items()])
    told = encode_snapshot(made)
    assert decode_snapshot(told) == made
    assert [job["request"] for job in told["jobs"]] == [
        {
            "nodes": 1, "per_node": {"cpu": 2},
            "any_of": [["a100"], ["ib", "v100"]], "same_of": [["ib", "v100"], ["a100"]],
        },
        {
            "nodes": 3, "per_node": {"cpu": 1},
            "counted": [{"nodes": 2, "features": ["a100"]}, {"nodes": 1, "features": ["ib", "v100"]}],
        },
        {"nodes": 1, "per_node": {"cpu": 2}},
    ]  # fmt: skip


def test_our_own_optional_keys() -> None:
    full = snapshot(
        [
            running("1", preemptable=False, protected="it is suspended"),
            running(
                "2",
                how=How.CANCEL,
                restarts=3,
                predicted_end=1_700_009_999,
                beneficiary=True,
                balanced=True,
                ran_s=3600,
                rested=True,
                stopped=2,
            ),
            ending("3"),
            pending(
                "4", one_node(2, only_nodes=frozenset({"n1"}), not_nodes=frozenset({"n2"}), exclusive=True)
            ),
            pending("5", anywhere(3), blocked="it is held", promised={"n1": {"cpu": 3}}, stopped_at=0),
            pending("6", anywhere(3), crashes=4),
        ],
        [
            node(
                "n1",
                held_elsewhere={"cpu": 1},
                coming_elsewhere={"cpu": 2},
                state="MIXED",
                state_reason="",
                partitions=("x", "y"),
            ),
            node("n2", health=0.5, power={"cpu": 0.9}, features=frozenset({"b", "a"}), state_reason="sick"),
        ],
        mode=Mode.TASK,
        victim_order=VictimOrder.LEAST_LOST_WORK,
        bands=((0, 1), (2, None)),
        exempt_s=60,
        quotas={0: 1, 3: 0},
        quota_amounts={1: {"gpu": 4, "cpu": 64}},
        quota_totals={0: {"gpu:a100": 8}},
        over_quota=OverQuota.HOLD,
        level_names=("P0", "P1"),
        paused="dave paused it",
        min_wait_s=1,
        cool_down_s=2,
        max_stops_per_hour=0,
        max_stops_per_user_hour=4,
        stopped=5,
        stopped_by_user={"ann": 3, "bob": 2},
        rest_s=600,
        max_stops_per_job_hour=1,
        max_crashes_per_hour=3,
        dispatch=Dispatch.MANAGED,
        patience_s=600,
        balance=Balance("cpu", 0.05, Otherwise.NEAREST, swap_below_s=300, most_wait_s=3600),
    )
    document = encode_snapshot(full)
    assert decode_snapshot(document) == full
    assert document["partition"]["quotas"] == {"0": 1, "3": 0}
    assert document["partition"]["quota_totals"] == {"0": {"gpu:a100": 8}}
    assert document["jobs"][4]["promised"] == {"n1": {"cpu": 3}}
    assert document["nodes"][1]["features"] == ["a", "b"]


@settings(max_examples=150, deadline=None)
@given(snapshots(quotas=True))
def test_what_was_written_is_read_back_the_same_even_through_text(made: Snapshot) -> None:
    document = encode_snapshot(made)
    assert decode_snapshot(document) == made
    assert decode_snapshot(json.loads(json.dumps(document))) == made
    assert encode_snapshot(decode_snapshot(document)) == document


def test_defaults_of_later_features_are_fine() -> None:
    fine = changed(SNAPSHOT, put("jobs.0.balanced", False))
    fine = changed(fine, put("jobs.0.elastic", None))
    decode_snapshot(fine)


def test_a_blocked_job_may_ask_for_something_unknown() -> None:
    def change(document: dict[str, Any]) -> None:
        del document["jobs"][1]["request"]
        document["jobs"][1]["blocked"] = "what it asks for is not known"

    made = decode_snapshot(changed(SNAPSHOT, change))
    assert made.jobs[1].request is None
    assert decode_snapshot(encode_snapshot(made)) == made


def test_a_start_in_the_future_and_a_late_submit_are_let_pass() -> None:
    """Clocks differ between machines; the planner takes such a job as just started."""
    decode_snapshot(changed(SNAPSHOT, put("jobs.0.start", 1800000000)))
    decode_snapshot(changed(SNAPSHOT, put("jobs.0.submit", 1800000000)))


WRONG: Mapping[str, tuple[Change, str, str]] = {
    "no object": (lambda document: document.clear(), "$.schema", "is missing"),
    "another schema": (put("schema", "giveway.snapshot/2"), "$.schema", 'must be "giveway.snapshot/1"'),
    "schema of another type": (put("schema", 1), "$.schema", "not the number 1"),
    "now is missing": (drop("now"), "$.now", "is missing"),
    "now is a text": (put("now", "soon"), "$.now", 'must be a whole number, not the text "soon"'),
    "now is a boolean": (put("now", True), "$.now", "must be a whole number, not true"),
    "now is a fraction": (put("now", 1.5), "$.now", "must be a whole number, not the number 1.5"),
    "now is negative": (put("now", -1), "$.now", "must not be negative"),
    "now is huge": (put("now", HUGE), "$.now", "is too large"),
    "unknown key": (put("nodez", []), "$.nodez", "unknown key; did you mean nodes?"),
    "unknown key like nothing": (put("zzz", 1), "$.zzz", "unknown key; known are"),
    "unknown mode": (put("partition.mode", "fifo"), "$.partition.mode", '"fifo" is not one of user,'),
    "unknown victim order": (put("partition.victim_order", "oldest"), "$.partition.victim_order", "is not one of"),
    "empty partition name": (put("partition.name", " "), "$.partition.name", "must not be empty"),
    "partition is a list": (put("partition", []), "$.partition", "must be an object, not a list"),
    "bands are no lists": (put("partition.bands", [0, 1]), "$.partition.bands[0]", "must be a list"),
    "an empty band": (put("partition.bands", [[0], []]), "$.partition.bands[1]", "is empty"),
    "a level in two bands": (put("partition.bands", [[0, 1], [1]]), "$.partition.bands[1]", "1 must be below"),
    "a level twice in a band": (put("partition.bands", [[1, 1]]), "$.partition.bands[0]", "1 must be below"),
    "bands upside down": (put("partition.bands", [[2], [0, 1]]), "$.partition.bands[1]", "0 must be below"),
    "null in an upper band": (put("partition.bands", [[None], [1]]), "$.partition.bands[1]", "1 must be below"),
    "a quota of no level": (put("partition.quotas", {"P0": 1}), "$.partition.quotas.P0", '"P0" is no level'),
    "a quota of level 01": (put("partition.quotas", {"01": 1}), '$.partition.quotas["01"]', "is no level"),
    "amounts of no level": (put("partition.quota_amounts", {"P0": {}}), "$.partition.quota_amounts.P0", "is no level"),
    "a negative quota": (put("partition.quotas", {"0": -1}), '$.partition.quotas["0"]', "must not be negative"),
    "nodes is an object": (put("nodes", {}), "$.nodes", "must be a list, not an object"),
    "a node without a name": (drop("nodes.0.name"), "$.nodes[0].name", "is missing"),
    "a node that may be up": (put("nodes.0.up", "yes"), "$.nodes[0].up", "must be true or false"),
    "a node without amounts": (drop("nodes.0.total"), "$.nodes[0].total", "is missing"),
    "a negative amount": (put("nodes.0.total", {"cpu": -8}), "$.nodes[0].total.cpu", "must not be negative, not -8"),
    "a fractional amount": (put("nodes.0.total", {"cpu": 7.5}), "$.nodes[0].total.cpu", "must be a whole number"),
    "a boolean amount": (put("nodes.0.total", {"cpu": True}), "$.nodes[0].total.cpu", "not true"),
    "a resource without a name": (put("nodes.0.total", {"": 1}), '$.nodes[0].total[""]', "must not be empty"),
    "a feature twice": (put("nodes.0.features", ["a", "a"]), "$.nodes[0].features[1]", "stands twice"),
    "health above one": (put("nodes.0.health", 1.5), "$.nodes[0].health", "between 0 and 1"),
    "health is no number": (put("nodes.0.health", float("nan")), "$.nodes[0].health", "finite"),
    "no power": (put("nodes.0.power", {"gpu": 0}), "$.nodes[0].power.gpu", "must be above 0"),
    "infinite power": (put("nodes.0.power", {"gpu": float("inf")}), "$.nodes[0].power.gpu", "finite"),
    "endless power": (put("nodes.0.power", {"gpu": 10**400}), "$.nodes[0].power.gpu", "is too large"),
    "huge power": (put("nodes.0.power", {"gpu": 1e300}), "$.nodes[0].power.gpu", "is too large"),
    "a node twice": (
        lambda document: document["nodes"].append(document["nodes"][0]),
        "$.nodes[1].name", 'the node "n1" stands twice',
    ),
    "a job twice": (
        lambda document: document["jobs"].append(document["jobs"][1]),
        "$.jobs[2].id", 'the job "102" stands twice',
    ),
    "a job id that is a number": (put("jobs.0.id", 101), "$.jobs[0].id", "must be a text, not the number 101"),
    "a state of Slurm's": (put("jobs.0.state", "RUNNING"), "$.jobs[0].state", "is not one of pending, running"),
    "a level that is a name": (put("jobs.0.user_level", "P2"), "$.jobs[0].user_level", "must be a whole number"),
    "a negative level": (put("jobs.0.task_level", -1), "$.jobs[0].task_level", "must not be negative"),
    "a level beyond all": (put("jobs.0.task_level", 10_000), "$.jobs[0].task_level", "is no level"),
    "no user level": (drop("jobs.0.user_level"), "$.jobs[0].user_level", "is missing"),
    "no submit time": (drop("jobs.0.submit"), "$.jobs[0].submit", "is missing"),
    "running without a start": (drop("jobs.0.start"), "$.jobs[0].start", "a running job has started"),
    "running without resources": (drop("jobs.0.alloc"), "$.jobs[0].alloc", "a running job holds something"),
    "running on an unknown node": (put("jobs.0.alloc", {"n9": {"cpu": 1}}), "$.jobs[0].alloc.n9", "no such node"),
    "holding less than nothing": (
        put("jobs.0.alloc", {"n1": {"cpu": -1}}), "$.jobs[0].alloc.n1.cpu", "must not be negative",
    ),
    "pending without a request": (drop("jobs.1.request"), "$.jobs[1].request", "a pending job asks for something"),
    "pending with a start": (put("jobs.1.start", 5), "$.jobs[1].start", "a pending job has not started"),
    "pending with resources": (put("jobs.1.alloc", {"n1": {}}), "$.jobs[1].alloc", "a pending job holds nothing"),
    "pending and a beneficiary": (put("jobs.1.beneficiary", True), "$.jobs[1].beneficiary", "it has none"),
    "running and stopped": (put("jobs.0.stopped_at", 5), "$.jobs[0].stopped_at", "only of a pending job"),
    "running and blocked": (put("jobs.0.blocked", "x"), "$.jobs[0].blocked", "only a pending job"),
    "running and promised": (put("jobs.0.promised", {"n1": {}}), "$.jobs[0].promised", "pending jobs only"),
    "promised on an unknown node": (put("jobs.1.promised", {"n9": {}}), "$.jobs[1].promised.n9", "no such node"),
    "protected yet preemptable": (put("jobs.0.protected", "it is mine"), "$.jobs[0].protected", "contradicts"),
    "a way of stopping that is none": (put("jobs.0.how", "kill"), "$.jobs[0].how", "is not one of requeue, cancel"),
    "a request without a shape": (put("jobs.1.request", {"features": []}), "$.jobs[1].request", "has no shape"),
    "a request of two shapes": (
        put("jobs.1.request", {"nodes": 1, "per_node": {"cpu": 1}, "spread": {"cpu": 1}}),
        "$.jobs[1].request", "has two shapes",
    ),
    "nodes without per_node": (put("jobs.1.request", {"nodes": 1}), "$.jobs[1].request.per_node", "is missing"),
    "per_node without nodes": (put("jobs.1.request", {"per_node": {"cpu": 1}}), "$.jobs[1].request.nodes", "missing"),
    "no nodes at all": (
        put("jobs.1.request", {"nodes": 0, "per_node": {"cpu": 1}}), "$.jobs[1].request.nodes", "at least 1",
    ),
    "a set of no features": (
        put("jobs.1.request", {"spread": {"cpu": 1}, "any_of": [["a"], []]}),
        "$.jobs[1].request.any_of[1]", "names no feature",
    ),
    "counts that are not the nodes": (
        put(
            "jobs.1.request",
            {"nodes": 3, "per_node": {"cpu": 1}, "counted": [{"nodes": 2, "features": ["a"]}]},
        ),
        "$.jobs[1].request.counted", "must add up to nodes",
    ),
    "counts beside other features": (
        put(
            "jobs.1.request",
            {"nodes": 1, "per_node": {"cpu": 1}, "counted": [{"nodes": 1, "features": ["a"]}], "same_of": [["b"]]},
        ),
        "$.jobs[1].request.counted", "cannot stand beside",
    ),
    "a request for nothing": (put("jobs.1.request", {"spread": {}}), "$.jobs[1].request.spread", "asks for nothing"),
    "a request for zero": (
        put("jobs.1.request", {"nodes": 1, "per_node": {"cpu": 0}}), "$.jobs[1].request.per_node", "asks for nothing",
    ),
    "a lone surrogate": (put("jobs.0.name", "x\ud800"), "$.jobs[0].name", "lone surrogate"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_is_named_by_its_path(fault: str) -> None:
    change, path, message = WRONG[fault]
    with pytest.raises(InputError) as caught:
        decode_snapshot(changed(SNAPSHOT, change))
    assert caught.value.path == path
    assert message in caught.value.message
    assert str(caught.value) == f"{path}: {caught.value.message}"
    assert "\n" not in str(caught.value)


RUNNING_UNITS = {"unit": {"cpu": 2}, "alloc": {"n1": {"cpu": 4, "gpu": 2}}}
PIECES: Mapping[str, tuple[dict[str, Any], str, str]] = {
    "no minimum": ({"elastic": {}}, "elastic", "says no minimum"),
    "a minimum of nothing": ({"elastic": {"min_nodes": 0}}, "elastic.min_nodes", "at least 1"),
    "two minimums": ({"elastic": {"min_nodes": 1, "min_units": 1}}, "elastic.min_units", "give one of them"),
    "a wish below the minimum": ({"elastic": {"min_nodes": 2, "wish_nodes": 1}}, "elastic.wish_nodes", "is below"),
    "a wish of the other kind": ({"elastic": {"min_nodes": 2, "wish_units": 3}}, "elastic.wish_units", "needs min_"),
    "nodes for units": (
        {**RUNNING_UNITS, "elastic": {"min_units": 1, "per_node": {"cpu": 1}}}, "elastic.per_node", "min_nodes",
    ),
    "elastic in units without any": ({"elastic": {"min_units": 1}}, "unit", "is missing"),
    "units with nodes": ({**RUNNING_UNITS, "elastic": {"min_nodes": 1}}, "elastic.min_nodes", "min_units instead"),
    "a unit of nothing": ({"unit": {"cpu": 0}}, "unit", "is nothing"),
    "half a unit": ({"unit": {"cpu": 3}}, "alloc.n1", "whole number of units"),
    "more of one resource": ({"unit": {"cpu": 2, "gpu": 2}}, "alloc.n1", "whole number of units"),
    "what units cannot share": (
        {"unit": {"cpu": 2}, "alloc": {"n1": {"cpu": 4, "gpu": 3}}}, "alloc.n1", "whole number of units",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PIECES)
def test_what_a_job_says_of_its_pieces_must_hold_together(fault: str) -> None:
    keys, path, message = PIECES[fault]
    with pytest.raises(InputError) as caught:
        decode_snapshot(changed(SNAPSHOT, lambda document: document["jobs"][0].update(keys)))
    assert caught.value.path == f"$.jobs[0].{path}"
    assert message in caught.value.message


def test_a_pending_job_holds_no_units_yet() -> None:
    with pytest.raises(InputError, match="its request"):
        decode_snapshot(changed(SNAPSHOT, put("jobs.1.unit", {"cpu": 1})))
    request = {"unit": {"cpu": 1}, "count": 2, "exclusive": True}
    with pytest.raises(InputError, match="cannot be said of units"):
        decode_snapshot(changed(SNAPSHOT, put("jobs.1.request", request)))


def test_units_elastic_jobs_and_their_rules_come_back_as_they_went_in() -> None:
    whole = {"unit": {"cpu": 2}, "count": 4, "partial": False}
    first = changed(SNAPSHOT, lambda document: document["jobs"][0].update(RUNNING_UNITS))
    first["jobs"][0]["elastic"] = {"min_units": 1, "wish_units": 5}
    first["jobs"][1] |= {
        "request": whole,
        "elastic": {"min_nodes": 1, "wish_nodes": 4, "per_node": {"cpu": 3}},
    }
    first["partition"] |= {"units": False, "elastic": False, "partial": "take", "give_back": "whole"}
    read = decode_snapshot(first)
    assert read.jobs[0].elastic == Elastic(min_units=1, wish_units=5)
    assert read.jobs[0].unit == {"cpu": 2}
    assert read.jobs[1].request == Request(unit={"cpu": 2}, count=4, partial=False)
    assert read.jobs[1].elastic == Elastic(min_nodes=1, wish_nodes=4, per_node={"cpu": 3})
    rules = read.partition
    assert (rules.units, rules.elastic, rules.partial, rules.give_back) == (False, False, "take", "whole")
    assert decode_snapshot(encode_snapshot(read)) == read


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (put("partition.partial", "steal"), "$.partition.partial"),
        (put("partition.give_back", 5), "$.partition.give_back"),
        (put("partition.units", "yes"), "$.partition.units"),
        (put("partition.patience_s", -1), "$.partition.patience_s"),
        (put("jobs.0.balanced", "no"), "$.jobs[0].balanced"),
    ],
)
def test_the_words_of_the_other_methods_are_checked(change: Change, path: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_snapshot(changed(SNAPSHOT, change))
    assert caught.value.path == path


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["schema", "now", "partition", "nodes", "jobs", "partition.mode", "partition.bands",
                     "partition.quotas", "nodes.0", "nodes.0.total", "nodes.0.features", "jobs.0", "jobs.0.alloc",
                     "jobs.0.alloc.n1", "jobs.1.request", "jobs.1.request.per_node", "jobs.0.start", "jobs.0.id"]),
    json_values,
)  # fmt: skip
def test_no_value_anywhere_makes_the_reader_stumble(path: str, value: Any) -> None:
    """Whatever stands there: a snapshot, or an `InputError` of one line. Nothing else comes out."""
    document = changed(SNAPSHOT, put(path, value))
    try:
        made = decode_snapshot(document)
    except InputError as error:
        message = str(error)
    else:
        message = "$"
        assert decode_snapshot(encode_snapshot(made)) == made
    assert message.startswith("$")
    assert message.isprintable()
