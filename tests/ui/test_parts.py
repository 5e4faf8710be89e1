"""The small things that pages are made of: node bars, stories, states, words, rows, places of faults."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.http import QueryDict
from django.template import Context, Template
from django.utils import translation

from console.cluster.models import Job
from console.cluster.selectors import SeenNode
from console.core.rows import rearranged
from console.core.templatetags import ui, words
from console.core.vocabulary import STATES
from console.overview.job_columns import part_in_plan
from console.overview.nodemap import DENSE_ABOVE, LISTED_JOBS, MOST_TICKS, HeldJob, node_map, share
from console.overview.selectors import capacities
from console.overview.stories import tell
from console.partitions.documents import path_steps
from console.projects.forms import TaskForm
from console.steering.explanations import read
from console.steering.models import Checkpoint, Plan
from scheduler.model.plan import DecisionKind, How
from scheduler.model.policy import Enforcement, Mode
from tests import factories
from tests.factories import EPOCH, NOW
from tests.ui.conftest import House


def node(**fields: Any) -> SeenNode:
    return SeenNode(
        **{
            "pk": 1,
            "name": "n1",
            "up": True,
            "state": "MIXED",
            "state_reason": "",
            "total": {"gpu": 8, "cpu": 64},
            "used": {},
            **fields,
        }
    )


def running(job_id: str, gpu: int, level: int | None) -> HeldJob:
    return HeldJob(job_id, "a", "ann", level, {"n1": {"gpu": gpu, "cpu": 4}})


# --- Node map ---------------------------------------------------------------------------------------------


def test_a_bar_shows_jobs_by_level_the_highest_first() -> None:
    jobs = [running("3", 2, None), running("2", 1, 2), running("1", 4, 0)]
    [bar] = node_map([node(used={"gpu": 7})], jobs)
    assert [(s.x, s.w, s.level) for s in bar.segments] == [
        ("0%", "50%", 0),
        ("50%", "12.5%", 2),
        ("62.5%", "25%", None),
    ]
    assert bar.resource == "gpu"
    assert len(bar.ticks) == 7


def test_what_others_hold_on_a_shared_node_is_told() -> None:
    [bar] = node_map([node(used={"gpu": 8})], [running("1", 3, 0)])
    assert [s.label for s in bar.segments] == ["1 a ann (3 gpu)", "held elsewhere (5 gpu)"]
    assert bar.free == "64 cpu free"


def test_more_than_a_node_has_is_never_drawn() -> None:
    [bar] = node_map([node(used={"gpu": 99})], [running("1", 6, 0), running("2", 6, 1)])
    assert [s.w for s in bar.segments] == ["75%", "25%"]


@pytest.mark.parametrize(
    ("count", "listed", "more"), [(0, 0, 0), (3, 3, 0), (4, LISTED_JOBS - 1, 2), (9, 2, 7)]
)
def test_a_long_list_of_jobs_is_cut_and_counted(count: int, listed: int, more: int) -> None:
    [bar] = node_map([node()], [running(str(i), 1, 0) for i in range(count)])
    assert (len(bar.listed), bar.more) == (listed, more)


def test_a_node_without_gpus_shows_cpus_and_many_are_not_ticked() -> None:
    [bar] = node_map([node(total={"cpu": MOST_TICKS + 1, "mem": 4})], [])
    assert (bar.resource, bar.ticks, bar.free) == ("cpu", [], f"{MOST_TICKS + 1} cpu free")
    [empty] = node_map([node(total={}, up=False, state="DOWN")], [])
    assert (empty.summary, empty.free) == ("n1, down: 0 of 0 cpu busy", "down")


def test_many_nodes_are_bars_without_borders() -> None:
    nodes = [node(name=f"n{i}") for i in range(DENSE_ABOVE + 1)]
    bars = node_map(nodes, [running("1", 3, 0)])
    assert [len(bar.segments) for bar in bars] == [0, 1, *[0] * (DENSE_ABOVE - 1)]
    assert not any(bar.ticks for bar in bars)


def test_shares_are_the_same_in_every_language() -> None:
    assert share(1, 3) == "33.333%"
    assert share(1, 0) == "0%"


def test_capacity_counts_what_is_away_apart() -> None:
    up, down = node(used={"gpu": 6}), node(up=False, used={"gpu": 1})
    gpu = capacities([up, down])[0]
    assert (gpu.text, gpu.used_share, gpu.away_share) == ("7 / 16", "43.75%", "43.75%")


# --- Stories ----------------------------------------------------------------------------------------------


def test_a_victims_story(house: House) -> None:
    plan = house.plan
    factories.make_action(
        plan, "release", order=30, state="verified", issued_at=NOW + timedelta(seconds=50), verified_at=NOW
    )
    told = tell(read(house.cluster, "88"))
    texts = [event.text for event in told]
    assert texts == [
        "bob submitted it to partition x",
        "Started on n1",
        "Giveway sent it the checkpoint signal, to make room for 101 (ann)",
        "Giveway released it, after room was made for 101 (ann)",
    ]
    assert told[2].plan == plan.pk


def test_a_beneficiarys_story(house: House) -> None:
    house.plan.state, house.plan.outcome = "verified", "101 runs."
    house.plan.started_at = house.plan.ended_at = NOW + timedelta(seconds=40)
    house.plan.save()
    assert [event.text for event in tell(read(house.cluster, "101"))] == [
        "ann submitted it to partition x",
        "Plan made for it",
        "Seen running: the plan worked",
        "Done",
    ]


def test_what_was_only_planned_or_dropped_is_no_story(house: House) -> None:
    house.plan.actions.update(state="expired", issued_at=NOW)
    Job.objects.all().delete()
    assert tell(read(house.cluster, "88")) == []
    house.plan.actions.update(state="failed")
    told = tell(read(house.cluster, "88"))
    assert told
    assert all("this failed" in event.text for event in told)


def test_what_a_victim_saved_and_where_it_went_on_is_in_its_story(house: House) -> None:
    Checkpoint.objects.create(
        plan=house.plan, cluster=house.cluster, job_id="88", run_start=EPOCH - 300, run_restarts=0, user="bob",
        asked_at=NOW, acknowledged_at=NOW, via="api", saved="epoch=10", resumed_at=NOW + timedelta(minutes=5),
    )  # fmt: skip
    told = [(event.text, event.detail) for event in tell(read(house.cluster, "88"))]
    assert ("It said that its state is saved (A call to the API)", "epoch=10") in told
    assert told[-1] == ("It went on", "from epoch=10")


def test_who_decided_on_a_plan_is_in_the_story(house: House) -> None:
    house.plan.decided_by, house.plan.decided_at, house.plan.decision_reason = "dave", NOW, "Demo at noon"
    house.plan.save()
    told = [(event.text, event.detail) for event in tell(read(house.cluster, "101"))]
    assert ("dave approved the plan", "Demo at noon") in told


# --- Looks ------------------------------------------------------------------------------------------------


def test_every_state_that_is_shown_has_an_icon_and_words() -> None:
    from console.cluster.models import JobPhase
    from console.steering.models import ActionState, PlanState

    for value in (*Enforcement, *PlanState.values, *ActionState.values, *JobPhase.values):
        assert str(value) in STATES, value
        shown = ui.state(str(value))
        assert "<use href=" in shown
        assert ui.word(str(value)) in shown
    for value in (*Mode, *DecisionKind, *How):
        assert ui.word(value.value), value


@pytest.mark.parametrize(
    ("plan_state", "phase", "beneficiary", "text"),
    [
        ("executing", "pending", True, "making room"),
        ("executing", "running", True, "started"),
        ("executing", "running", False, "gives way"),
        ("executing", "completing", False, "gives way"),
        ("executing", "pending", False, "gave way"),
        ("proposed", "pending", True, "room could be made"),
        ("proposed", "running", False, "could give way"),
    ],
)
def test_a_jobs_part_in_an_open_plan(plan_state: str, phase: str, beneficiary: bool, text: str) -> None:
    plan = Plan(pk=5, job_id="101", state=plan_state)
    job = Job(job_id="101" if beneficiary else "88", phase=phase, plan=5)
    assert text in part_in_plan(job, {5: plan})
    assert part_in_plan(job, {}) == "", "the plan is over by now"


def test_every_icon_is_in_the_sprite() -> None:
    import re
    from pathlib import Path

    root = Path(__file__).parents[2]
    sprite = (root / "static/vendor/icons/sprite.svg").read_text()
    there = set(re.findall(r'<symbol id="([^"]+)"', sprite))
    used = {name for name, _tone in STATES.values()} | {"info-circle"}
    for path in (root / "templates").rglob("*.html"):
        used |= set(re.findall(r'{% icon "([^"]+)"', path.read_text()))
    from console.overview.stories import ACTION_ICONS

    used |= set(ACTION_ICONS.values()) | {"upload", "player-play", "check", "arrows-exchange", "flag"}
    assert used <= there


@pytest.mark.parametrize(
    ("index", "expected"), [(0, "lv-0"), (3, "lv-3"), (7, "lv-7"), (40, "lv-7"), (None, "lv-none")]
)
def test_levels_share_one_scale(index: int | None, expected: str) -> None:
    assert ui.level_class(index) == expected
    assert expected in ui.level(index, "P0", '"><b>')
    assert "<b>" not in ui.level(index, "<b>", '"><b>')


def test_unconfigured_is_said_in_words_too() -> None:
    assert "unconfigured" in ui.level(None)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s ago"), (61, "1 min ago"), (7500, "2 h 5 min ago"), (-30, "in 30 s")]
)
def test_ages(seconds: int, text: str) -> None:
    assert ui.ago_words(seconds) == text


def test_never_is_a_dash() -> None:
    assert ui.ago(None) == ui.since(0) == ui.exact(None) == ui.duration(None) == ui.duration("") == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        ("", "none"),
        (True, "yes"),
        ([], "none"),
        (["ann", "bob"], "ann, bob"),
        ({"name": "P0", "min_score": 60.0}, "name P0; from score 60"),
        (0, "0"),
        (40.0, "40"),
    ],
)
def test_values_in_words(value: Any, text: str) -> None:
    assert words.json_words(value) == text


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("mode", "user_then_task", "user, then task"),
        ("partitions.x.victim_order", "shortest_runtime", "the one that has run for the shortest time"),
        (
            "",
            {"over_quota": "hold"},
            "a job beyond its user's quota is held until its user is under quota again",
        ),
        ("urgency_by", "deadline", "By deadline"),
        ("state", "executing", "Running"),
        ("kind", "requeue_hold", "Stop and requeue, held"),
        ("role", "auditor", "Auditor"),
        ("keyword_denied", "nothing_known", "nothing_known"),
        ("user_overrides.mode", "task", "task"),
        ("user_overrides.role", "auditor", "auditor"),
        ("partitions.mode", {"mode": "task_then_user"}, "mode task, then user"),
        ("", {"user_overrides": {"role": "auditor"}}, "user override role auditor"),
        ("bands", [[0, 1], [2, None]], "[0, 1], [2, unconfigured]"),
        ("bands", [[0], [1, 2, None]], "[0], [1, 2, unconfigured]"),
        ("bands", None, "none"),
        ("tasks", [{"pattern": "a_eval*", "importance": 2.0}], "pattern a_eval*; importance 2"),
        ("victims", {"12": "waiting"}, "12 Waits"),
        ("victims", [{"job": "12", "how": "requeue"}], "job 12; how requeued"),
        ("jobs", ["12", "13"], "12, 13"),
    ],
)
def test_values_in_the_words_of_the_interface(path: str, value: Any, text: str) -> None:
    assert words.json_words(value, path) == text


def test_values_are_said_in_the_readers_language() -> None:
    with translation.override("zh-hans"):
        assert words.json_words("user_then_task", "mode") == "先用户后任务"
        patterns = [{"pattern": "a_eval*", "importance": 2.0}]
        assert words.json_words(patterns, "tasks") == "匹配式：a_eval*；重要程度：2"
        assert words.json_words({"12": "waiting"}, "victims") == "12：在排队"
        victim = {"job": "12", "how": "requeue", "user_level": "unconfigured"}
        assert words.json_words([victim], "victims") == "作业：12；方式：重新排队；用户级别：未配置"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("levels.P0.min_score", "level P0, from score"),
        ("urgency", "urgency"),
        ("", "value"),
        ("quotas.P1", "quota P1"),
        ("projects.alpha.tasks.a_*.importance", "project alpha, task pattern a_*, importance"),
        ("user_overrides.ann_b", "user override ann_b"),
        ("levels (order)", "levels (order)"),
        ("grace_s", "grace, seconds"),
        ("tasks", "task pattern"),
    ],
)
def test_keys_in_words(path: str, text: str) -> None:
    assert words.key_words(path) == text


def test_a_form_field_tells_its_unit_help_and_fault() -> None:
    from django import forms

    from console.core.fields import ReasonField, WholeField

    class Small(forms.Form):
        grace = WholeField(label="Grace", unit="seconds", help_text="How long.")
        reason = ReasonField()

    text = Small({"grace": "-1", "reason": ""})["grace"].as_field_group()
    assert '<span class="unit">seconds</span>' in text
    assert "How long." in text
    assert "greater than or equal to 0" in text
    assert 'aria-invalid="true"' in text


def test_a_page_for_nobody_in_particular_can_still_be_made() -> None:
    """The page for a fault in the console is made without a request."""
    from django.template.loader import render_to_string

    assert "Steering goes on by itself" in render_to_string("500.html")
    assert Template("{% load preferences %}{% theme_attribute %}").render(Context({})) == ""


# --- Rows and places --------------------------------------------------------------------------------------


NOTHING_MORE = {"one_request": False, "elastic_min": None, "elastic_wish": None}


@pytest.mark.parametrize("button", ["tasks:remove:x", "tasks:up:-1", "tasks:down", "tasks", "tasks:add:1"])
def test_a_rows_button_that_was_made_up_changes_nothing(button: str) -> None:
    data = QueryDict(f"row={button}&tasks-TOTAL_FORMS=1&tasks-0-pattern=a")
    assert rearranged(data, {"tasks": TaskForm}) == {
        "tasks": [{"pattern": "a", "importance": None, "level": None, **NOTHING_MORE}]
    }


def test_rows_have_an_end() -> None:
    data = QueryDict("row=tasks:add&tasks-TOTAL_FORMS=999999999")
    found = rearranged(data, {"tasks": TaskForm})
    assert found is not None
    assert len(found["tasks"]) == 200


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$", []),
        ("$.levels[1].min_score", ["levels", "1", "min_score"]),
        ('$.user_overrides["a.b \\"c\\""]', ["user_overrides", 'a.b "c"']),
        ('$.quotas["P 0"]', ["quotas", "P 0"]),
        ("$.bands[0][2]", ["bands", "0", "2"]),
    ],
)
def test_a_json_path_in_steps(path: str, steps: list[str]) -> None:
    assert path_steps(path) == steps
    assert json.dumps(steps)


def test_heads_of_columns_pairs_and_the_frame_of_a_table() -> None:
    source = (
        '{% load ui %}{% table "All" %}<tr>{% column head "num" %}{% column "C" %}</tr>{% endtable %}'
        '{% pair "Name" name %}'
    )
    assert Template(source).render(Context({"head": "A & B", "name": "<b>"})) == (
        '<div class="scroll phone-cards"><table class="table"><caption class="visually-hidden">All</caption>'
        '<tr><th scope="col" class="num">A &amp; B</th><th scope="col">C</th></tr></table></div>'
        "<dt>Name</dt><dd>&lt;b&gt;</dd>"
    )
