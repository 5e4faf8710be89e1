"""Small things: a misspelt key was ignored with 200; a plan's stored input told viewers too much."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.security.test_attacks.console_under_attack import Console, running_console

pytestmark = [pytest.mark.e2e]

PLAN = """
import json, zlib
from console.cluster.models import Cluster
from console.steering.models import StoredSnapshot
from tests import factories
rules = {"name": "x", "mode": "user_then_task", "level_names": ["P0", "P1"], "exempt_s": 4711, "min_wait_s": 4712,
         "quotas": {"0": 4713}, "max_stops_per_hour": 4714,
         "bands": [[0], [1, None]], "victim_order": "least_lost_work"}
document = {"schema": "giveway.snapshot/1", "now": 1, "partition": rules, "nodes": [], "jobs": []}
cluster = Cluster.objects.get()
stored = StoredSnapshot.objects.create(digest="d" * 64, body=zlib.compress(json.dumps(document).encode()))
cycle = factories.make_cycle(cluster, 1)
print(factories.make_plan(cycle, "7", partition="x", stored_snapshot=stored).pk)
"""
SECRETS = ("4711", "4712", "4713", "4714", "least_lost_work", "bands")
CONFIG = {"schema": "giveway.config/1", "cluster": "dev", "projects": [], "partitions": []}
WHY = {"reason": "Attack."}
MISSPELT: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("pam", "PATCH", "projects/alpha/", {"urgancy": 5, "version": 1, **WHY}, "urgancy"),
    ("pam", "PATCH", "projects/alpha/", {"urgency": 5, "version": 1, "reasons": "x", **WHY}, "reasons"),
    ("ada", "POST", "config/", {"config": CONFIG, "dryrun": True, **WHY}, "dryrun"),
    ("dave", "PATCH", "partitions/x/policy/", {"policy": {}, "based_on": 2, "draft": True, **WHY}, "draft"),
    ("dave", "PUT", "partitions/x/pause/", {"untill": "2030-01-01", **WHY}, "untill"),
    ("ada", "POST", "invitations/", {"username": "eve", "rolle": "viewer", **WHY}, "rolle"),
    ("", "POST", "token/", {"username": "vera", "password": "giveway-demo", "skope": "read"}, "skope"),
]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running_console(Path(tmp_path_factory.mktemp("attack")) / "home") as running:
        yield running


@pytest.mark.parametrize(("who", "method", "path", "body", "key"), MISSPELT)
def test_a_misspelt_key_is_refused_and_nothing_is_changed(
    console: Console, who: str, method: str, path: str, body: dict[str, Any], key: str
) -> None:
    before = console.ask("ada", "GET", "audit/?limit=1").data["count"]
    answer = console.ask(who, method, path, body)
    assert answer.status == 400, answer.text
    assert f"unknown key {key}" in answer.data["error"]["fields"][key][0].replace('"', "").replace("'", "")
    assert console.ask("ada", "GET", "audit/?limit=1").data["count"] == before


def test_a_plan_s_input_tells_a_viewer_no_more_than_the_policy_s_page(console: Console) -> None:
    plan = console.run(PLAN).split()[-1]
    assert console.ask("vera", "GET", "partitions/x/policy/").status == 404
    address = f"plans/{plan}/snapshot/"
    seen = console.ask("vera", "GET", address)
    assert seen.status == 200
    assert [secret for secret in SECRETS if secret in str(seen.data["partition"])] == []
    assert seen.data["partition"] == {"name": "x", "mode": "user_then_task", "level_names": ["P0", "P1"]}
    assert "partition.quotas" in seen.data["hidden"]
    for who in ("ada", "dave"):
        whole = console.ask(who, "GET", address).data
        assert whole["partition"]["exempt_s"] == 4711
        assert "hidden" not in whole
