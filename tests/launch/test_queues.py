"""Every task has a queue, every queue has a worker, and steering shares neither: README, units, `make run`, timer."""

import json
import re
import subprocess
import sys
from functools import cache

import pytest
from django.conf import settings

from console.celery import app
from console.launch.management.commands.worker import WORKERS, entries_of, queues_of
from tests.e2e.processes import ROOT, clean_environment

app.loader.import_default_modules()
TASKS = {name for name in app.tasks if not name.startswith("celery.")}
STEER = {"steer"}
EVERYTHING_ON = {
    "GIVEWAY_EMAIL": "1",
    "GIVEWAY_EMAIL_FROM": "giveway@hpc.example",
    "GIVEWAY_WEBHOOK_URL": "https://hooks.example.org/",
    "GIVEWAY_WEBHOOK_SECRET": "sesame",
    "GIVEWAY_LDAP_URLS": "ldaps://ldap.example.org",
    "GIVEWAY_LDAP_USER_BASE": "ou=people,dc=example",
}
"""Some entries of the timer are there only where what they do is switched on."""


@cache
def schedule() -> dict[str, dict]:
    tell = "import json; from django.conf import settings; print(json.dumps(settings.CELERY_BEAT_SCHEDULE))"
    env = clean_environment(DJANGO_SETTINGS_MODULE="console.settings.test", **EVERYTHING_ON)
    done = subprocess.run(
        [sys.executable, "-c", tell], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    entries: dict[str, dict] = json.loads(done.stdout)
    return entries


def served_by(text: str) -> list[set[str]]:
    """The queues of each worker that a page has typed."""
    return [set(found.split(",")) for found in re.findall(r"-A console worker --queues[ =](\S+)", text)]


def section(page: str, title: str) -> str:
    text = (ROOT / page).read_text()
    return text[text.index(f"## {title}") :].partition("\n## ")[0]


def workers() -> dict[str, list[set[str]]]:
    """The queues of each worker, by who starts it."""
    return {
        "README": served_by((ROOT / "README.md").read_text()),
        "units": served_by(section("docs/operations.md", "Processes and queues")),
        "make run": [set(queues_of(command[-1])) for command in WORKERS.values()],
    }


def test_every_task_is_in_the_table_with_its_queue_and_its_time() -> None:
    assert set(settings.GIVEWAY_TASKS) == TASKS
    modules = {
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for path in (ROOT / "console").rglob("tasks.py")
    }
    assert set(settings.CELERY_IMPORTS) == modules


@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_task_goes_where_the_table_says(name: str) -> None:
    queue, limit = settings.GIVEWAY_TASKS[name]
    assert app.amqp.router.route({}, name)["queue"].name == queue
    assert app.tasks[name].time_limit == limit > 0
    assert limit < app.conf.broker_transport_options.get("visibility_timeout", limit + 1)


def test_steering_is_alone_in_its_queue() -> None:
    assert {name for name, (queue, _) in settings.GIVEWAY_TASKS.items() if queue in STEER} == {
        "steering.steer"
    }


def test_no_queue_is_without_tasks() -> None:
    filled = {queue for queue, _ in settings.GIVEWAY_TASKS.values()}
    assert filled == set(settings.GIVEWAY_QUEUES)


def test_the_timer_sends_each_task_to_its_queue_and_drops_what_is_too_old() -> None:
    assert schedule().keys() >= {"tell", "follow", "steer"}
    for name, entry in schedule().items():
        assert entry["task"] in settings.GIVEWAY_TASKS, name
        assert set(entry["options"]) == {"expires"}, f"{name}: the table says the queue"
        # Not for ever, and not before a slow worker could have taken it.
        assert entry["schedule"] <= entry["options"]["expires"] <= max(10, 2 * entry["schedule"]), name


def test_every_task_is_asked_for_by_the_timer_or_by_another_task() -> None:
    assert TASKS - {entry["task"] for entry in schedule().values()} == {"history.study", "forecasts.learn"}


@pytest.mark.parametrize("who", ["README", "units", "make run"])
def test_every_queue_is_served_once_and_no_other(who: str) -> None:
    served = workers()[who]
    assert sorted(queue for queues in served for queue in queues) == sorted(settings.GIVEWAY_QUEUES)
    assert STEER in served, "steering shares its worker with nothing"


def test_the_timers_of_the_embedded_workers_send_everything_once() -> None:
    sent = [entries_of(queues_of(command[-1])) for command in WORKERS.values()]
    assert sorted(name for entries in sent for name in entries) == sorted(settings.CELERY_BEAT_SCHEDULE)
    assert list(sent[0]) == ["steer"]


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md"])
def test_one_beat_and_one_process_steers(page: str) -> None:
    text = (ROOT / page).read_text()
    assert len(re.findall(r"-A console beat\b", text)) == 1
    assert "-A console worker --queues steer --concurrency 1" in text


def test_the_page_lists_every_task_at_its_queue_with_its_time() -> None:
    rows = dict(
        re.findall(
            r"^\| `(\w+)` \| (.+?) \|", section("docs/operations.md", "Processes and queues"), re.MULTILINE
        )
    )
    assert set(rows) == set(settings.GIVEWAY_QUEUES)
    for name, (queue, limit) in settings.GIVEWAY_TASKS.items():
        assert f"`{name}`" in rows[queue], name
        said = re.search(rf"`{re.escape(name)}`[^0-9]*?(twice|\d+)", rows[queue])
        assert said and said[1] in {str(limit), "twice"}, name
