"""Only room where the job can really run counts: nodes, resources, features, names, whole nodes (spec 1.4)."""

import pytest

from scheduler.model.jobs import Request
from scheduler.model.plan import DecisionKind
from scheduler.model.reasons import Reason
from tests.builders import ending, node, nodes, on_nodes, one_node, pending, running
from tests.scheduler.planning import decide, decisions, stopped

QUEUE, START, PREEMPT = DecisionKind.QUEUE, DecisionKind.START, DecisionKind.PREEMPT


def test_no_plan_for_room_that_is_scattered_over_nodes() -> None:
    jobs = [running(str(i), f"n{i}", 4, user=3) for i in range(1, 4)]
    decision = decide(*jobs, pending(request=one_node(6), user=0), nodes=nodes(3, cpu=5))
    assert decision.action is QUEUE
    assert decision.reason is Reason.DOES_NOT_FIT_EVER


def test_victims_are_taken_on_one_node_even_where_younger_ones_run_on_another() -> None:
    jobs = [
        running("young1", "n1", 2, user=3, ran=10),
        running("keeper1", "n1", 6, user=0),
        running("young2", "n2", 2, user=3, ran=10),
        running("keeper2", "n2", 6, user=0),
        running("old1", "n3", 4, user=3, ran=9000),
        running("old2", "n3", 4, user=3, ran=9000),
    ]
    decision = decide(*jobs, pending(request=one_node(4), user=0), nodes=nodes(3))
    assert stopped(decision) in (["old1"], ["old2"])
    assert decision.nodes == ("n3",)


@pytest.mark.parametrize(
    ("limits", "where"),
    [
        ({}, "n1"),
        ({"features": frozenset({"big"})}, "n2"),
        ({"features": frozenset({"big", "fast"})}, "n3"),
        ({"only_nodes": frozenset({"n3", "n4"})}, "n3"),
        ({"not_nodes": frozenset({"n1"})}, "n2"),
        ({"not_nodes": frozenset({"n1", "n2"}), "features": frozenset({"big"})}, "n3"),
    ],
)
def test_features_and_names_limit_where_room_is_made(limits: dict[str, frozenset[str]], where: str) -> None:
    places = [
        node("n1"),
        node("n2", features=frozenset({"big"})),
        node("n3", features=frozenset({"big", "fast"})),
        node("n4", features=frozenset({"fast"})),
    ]
    jobs = [running(f"v{i}", f"n{i}", 8, user=3) for i in range(1, 5)]
    decision = decide(*jobs, pending(request=one_node(4, **limits), user=0), nodes=places)
    assert decision.nodes == (where,)
    assert stopped(decision) == [f"v{where[1:]}"]


def test_a_feature_that_no_node_has_is_never_met() -> None:
    decision = decide(pending(request=one_node(features=frozenset({"infiniband"})), user=0))
    assert decision.reason is Reason.DOES_NOT_FIT_EVER


def test_nodes_that_take_no_new_jobs_are_left_alone() -> None:
    places = [node("n1", up=False), node("n2")]
    jobs = [running("on_drained", "n1", 8, user=3, ran=1), running("on_up", "n2", 8, user=3, ran=9000)]
    decision = decide(*jobs, pending(request=one_node(4), user=0), nodes=places)
    assert stopped(decision) == ["on_up"]
    assert (
        decide(pending(request=one_node(4), user=0), nodes=[node("n1", up=False), node("n2", 2)]).action
        is QUEUE
    )


class TestGpus:
    PLACES = (
        node("n1", total={"cpu": 16, "gpu": 4, "gpu:a100": 4}),
        node("n2", total={"cpu": 16, "gpu": 4, "gpu:h100": 4}),
        node("n3", total={"cpu": 16}),
    )

    @pytest.mark.parametrize(
        ("wants", "where"),
        [
            ({"gpu": 2}, "n1"),
            ({"gpu": 2, "gpu:a100": 2}, "n1"),
            ({"gpu": 2, "gpu:h100": 2}, "n2"),
            ({"cpu": 2}, "n1"),
        ],
    )
    def test_the_type_decides_where_a_job_can_run(self, wants: dict[str, int], where: str) -> None:
        decision = decide(pending(request=Request(nodes=1, per_node=wants), user=0), nodes=self.PLACES)
        assert decision.action is START
        assert decision.nodes == (where,)

    def test_room_of_the_wrong_type_is_not_made(self) -> None:
        held = {"cpu": 1, "gpu": 4, "gpu:a100": 4}
        jobs = [
            running("a", {"n1": held}, user=3),
            running("h", {"n2": {"cpu": 1, "gpu": 4, "gpu:h100": 4}}, user=0),
        ]
        wants = Request(nodes=1, per_node={"gpu": 1, "gpu:h100": 1})
        assert decide(*jobs, pending(request=wants, user=0), nodes=self.PLACES).action is QUEUE
        any_type = Request(nodes=1, per_node={"gpu": 1})
        assert stopped(decide(*jobs, pending(request=any_type, user=0), nodes=self.PLACES)) == ["a"]

    def test_jobs_that_hold_no_gpu_are_not_stopped_for_one(self) -> None:
        jobs = [
            running("cpus", {"n1": {"cpu": 8}}, user=3, ran=1),
            running("gpus", {"n1": {"cpu": 1, "gpu": 4, "gpu:a100": 4}}, user=2, ran=9000),
        ]
        wants = Request(nodes=1, per_node={"cpu": 4, "gpu": 2, "gpu:a100": 2})
        decision = decide(*jobs, pending(request=wants, user=0), nodes=self.PLACES[:1])
        assert stopped(decision) == ["gpus"]

    def test_a_plain_gpu_taken_on_a_node_of_one_type_is_of_that_type(self) -> None:
        """Else a later job would be promised the same cards under their type."""
        plain = Request(nodes=1, per_node={"gpu": 3})
        typed = Request(nodes=1, per_node={"gpu": 2, "gpu:a100": 2})
        made = decisions(
            [pending("1", plain, user=0, waited=2), pending("2", typed, user=0, waited=1)], self.PLACES[:1]
        )
        assert made["1"].placement == {"n1": {"gpu": 3, "gpu:a100": 3}}
        assert made["2"].action is QUEUE

    def test_on_a_node_of_two_types_only_the_sum_is_known(self) -> None:
        mixed = node(total={"cpu": 8, "gpu": 4, "gpu:a100": 2, "gpu:h100": 2})
        made = decisions([pending("1", Request(nodes=1, per_node={"gpu": 1}), user=0)], [mixed])
        assert made["1"].placement == {"n1": {"gpu": 1}}


class TestSeveralResources:
    def test_every_resource_has_to_be_there(self) -> None:
        big = node(total={"cpu": 8, "mem": 1000})
        jobs = [
            running("cpu_hog", {"n1": {"cpu": 6, "mem": 100}}, user=3),
            running("mem_hog", {"n1": {"cpu": 1, "mem": 800}}, user=2),
        ]
        wants = Request(nodes=1, per_node={"cpu": 4, "mem": 500})
        decision = decide(*jobs, pending(request=wants, user=0), nodes=[big])
        assert stopped(decision) == ["cpu_hog", "mem_hog"]

    @pytest.mark.parametrize(("first", "second"), [("cpu", "mem"), ("mem", "cpu")])
    def test_one_resource_is_not_enough_whichever_comes_free_first(self, first: str, second: str) -> None:
        place = node(total={"cpu": 4, "mem": 4})
        jobs = [
            running("first", {"n1": {first: 4, second: 1}}, user=None),
            running("second", {"n1": {second: 3}}, user=2),
        ]
        wants = Request(nodes=1, per_node={"cpu": 3, "mem": 3})
        assert stopped(decide(*jobs, pending(request=wants, user=0), nodes=[place])) == ["first", "second"]

    def test_whoever_helps_with_no_missing_resource_stays(self) -> None:
        big = node(total={"cpu": 8, "mem": 1000})
        jobs = [
            running("small_low", {"n1": {"cpu": 2, "mem": 10}}, user=None),
            running("mem_hog", {"n1": {"cpu": 1, "mem": 900}}, user=2),
        ]
        wants = Request(nodes=1, per_node={"cpu": 2, "mem": 500})
        assert stopped(decide(*jobs, pending(request=wants, user=0), nodes=[big])) == ["mem_hog"]

    def test_resources_that_are_not_asked_for_do_not_matter(self) -> None:
        odd = node(total={"cpu": 8, "licence": 0})
        overdrawn = running("x", {"n1": {"cpu": 2, "licence": 5}}, user=0)
        assert decide(overdrawn, pending(request=one_node(6), user=0), nodes=[odd]).action is START

    def test_an_amount_of_zero_asks_for_nothing(self) -> None:
        wants = Request(nodes=1, per_node={"cpu": 4, "gpu": 0})
        assert decide(pending(request=wants, user=0)).action is START


class TestWhatOthersHold:
    def test_what_other_partitions_hold_is_neither_free_nor_to_be_had(self) -> None:
        shared = node(held_elsewhere={"cpu": 6})
        assert decide(pending(request=one_node(4), user=0), nodes=[shared]).action is QUEUE
        assert decide(pending(request=one_node(2), user=0), nodes=[shared]).action is START

    def test_an_overcommitted_node_has_nothing_free_until_enough_is_given(self) -> None:
        jobs = [running("a", cpu=6, user=3, ran=60), running("b", cpu=6, user=3)]
        assert stopped(decide(*jobs, pending(request=one_node(2), user=0))) == ["a"]
        assert stopped(decide(*jobs, pending(request=one_node(3), user=0))) == ["a", "b"]


class TestWholeNodes:
    WHOLE = one_node(2, exclusive=True)

    def test_an_exclusive_job_starts_only_on_an_empty_node(self) -> None:
        places = nodes(2)
        decision = decide(
            running("small", "n1", 1, user=0), pending(request=self.WHOLE, user=0), nodes=places
        )
        assert decision.action is START
        assert decision.nodes == ("n2",)
        assert decision.placement == {"n2": {"cpu": 8}}

    def test_everybody_on_its_node_has_to_go_and_may(self) -> None:
        jobs = [running("a", cpu=1, user=3), running("b", cpu=1, user=2)]
        assert stopped(decide(*jobs, pending(request=self.WHOLE, user=0))) == ["a", "b"]

    @pytest.mark.parametrize(
        "keeper", [running("k", cpu=1, user=0), running("k", cpu=1, user=3, preemptable=False)]
    )
    def test_one_job_that_may_not_be_stopped_keeps_the_node(self, keeper: object) -> None:
        jobs = [running("a", cpu=1, user=3), keeper]
        decision = decide(*jobs, pending(request=self.WHOLE, user=0))  # type: ignore[arg-type]
        assert decision.action is QUEUE

    def test_a_node_shared_with_another_partitions_job_is_not_its_own(self) -> None:
        shared = node(held_elsewhere={"cpu": 1})
        assert decide(pending(request=self.WHOLE, user=0), nodes=[shared]).action is QUEUE

    def test_it_waits_for_a_node_whose_last_job_is_ending(self) -> None:
        assert decide(ending("e"), pending(request=self.WHOLE, user=0)).action is DecisionKind.WAIT

    def test_its_node_is_given_to_nobody_else(self) -> None:
        made = decisions(
            [pending("1", self.WHOLE, user=0, waited=2), pending("2", one_node(1), user=0, waited=1)]
        )
        assert made["1"].action is START
        assert made["2"].action is QUEUE

    def test_a_node_that_a_wide_victim_leaves_empty_is_there_for_the_next(self) -> None:
        wide = running("wide", {"n1": {"cpu": 1}, "n2": {"cpu": 1}}, user=3)
        made = decisions(
            [wide, pending("1", self.WHOLE, user=0, waited=2), pending("2", self.WHOLE, user=0, waited=1)],
            nodes(2),
        )
        assert stopped(made["1"]) == ["wide"]
        assert made["2"].action is START
        assert made["2"].nodes == ("n2",)

    def test_two_whole_nodes(self) -> None:
        jobs = [running("a", "n1", 1, user=3), running("b", "n2", 1, user=3), running("c", "n3", 1, user=0)]
        decision = decide(*jobs, pending(request=on_nodes(2, 4, exclusive=True), user=0), nodes=nodes(3))
        assert stopped(decision) == ["a", "b"]
        assert decision.nodes == ("n1", "n2")


def test_of_free_nodes_the_one_with_the_least_left_over_is_taken() -> None:
    places = [node("n1", 8), node("n2", 4), node("n3", 5)]
    assert decide(pending(request=one_node(4), user=0), nodes=places).nodes == ("n2",)


def test_of_equal_nodes_the_first_by_name_is_taken_with_numbers_as_numbers() -> None:
    places = [node(f"n{i}") for i in (10, 9, 2)]
    assert decide(pending(request=one_node(4), user=0), nodes=places).nodes == ("n2",)
    jobs = [running(str(i), f"n{i}", 8, user=3) for i in (10, 9, 2)]
    assert decide(*jobs, pending(request=one_node(4), user=0), nodes=places).nodes == ("n2",)


def test_several_nodes_are_named_in_order_with_what_is_taken_on_each() -> None:
    decision = decide(pending(request=on_nodes(3, 2), user=0), nodes=[node(f"n{i}") for i in (10, 2, 1, 3)])
    assert decision.nodes == ("n1", "n2", "n3")
    assert decision.placement == {"n1": {"cpu": 2}, "n2": {"cpu": 2}, "n3": {"cpu": 2}}
