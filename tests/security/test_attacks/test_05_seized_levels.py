"""A level was to be had for the name of a job, or for a number in a manager's form: others were stopped for it."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deploy.private_slurm import PrivateSlurm
from tests.e2e.processes import manage, wait_until
from tests.e2e.slurm_driver import NAIVE
from tests.security.test_attacks.installation import PASSWORD, Answer, Client
from tests.security.test_attacks.test_04_known_passwords import run

pytestmark = [pytest.mark.slurm, pytest.mark.e2e]

PAM = f"""
from console.accounts.services import AccountData, create_account
create_account(actor="system", username="pam", data=AccountData(), password="{PASSWORD}", reason="Test.")
"""
ALPHA = {
    "code": "alpha",
    "name": "Alpha",
    "size": 1,
    "grade": 1,
    "urgency": 1,
    "members": ["ann"],
    "managers": ["pam"],
}
OTHERS = (("bob", 1), ("bob", 1), ("cy", 1), ("cy", 1), ("eve", 2), ("eve", 2))
"""Who runs on x, and on how many of its eight CPUs. Like the attacker they are in no project."""


@dataclass
class Console:
    """An installation that the wizard has set up on a real Slurm; it enforces on x."""

    port: int
    slurm: PrivateSlurm
    tokens: dict[str, str] = field(default_factory=dict)

    def ask(self, who: str, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        """One request to the API in somebody's name."""
        client = Client(self.port)
        if who not in self.tokens:
            known = {"username": who, "password": PASSWORD}
            self.tokens[who] = client.send("/api/v1/token/", known).data["token"]
        return client.send(f"/api/v1/{path}", body or {}, method, Authorization=f"Token {self.tokens[who]}")

    def submit(self, user: str, name: str, cpus: int) -> str:
        """A job on x."""
        one_node = ("-p", "x", "-N", "1", "-n", "1", "-c", f"{cpus}")
        return str(self.slurm.submit(user, "-J", name, *one_node, script=NAIVE))

    def job(self, job: str) -> dict[str, Any]:
        """What the console says of a job; empty as long as it has not seen it."""
        answer = self.ask("root", "GET", f"jobs/{job}/")
        return dict(answer.data) if answer.status == 200 else {}

    def policy(self, **keys: Any) -> None:
        """Change x's policy, as an administrator."""
        now = self.ask("root", "GET", "partitions/x/policy/").data
        body = {"policy": keys, "based_on": now["revision"], "reason": "Test."}
        answer = self.ask("root", "PATCH", "partitions/x/policy/", body)
        assert answer.status == 200, answer.text


@pytest.fixture(scope="module")
def console(private_slurm: PrivateSlurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """From the one-time code to enforcement with nothing but what the wizard proposes."""
    private_slurm.clear()
    folder = Path(tmp_path_factory.mktemp("seized"))
    conf = folder / "slurm.conf"
    shutil.copy(private_slurm.conf, conf)
    shutil.copy(private_slurm.conf.with_name("gres.conf"), folder)
    commands = {**private_slurm.env, "SLURM_CONF": str(conf)}
    with run(folder, **{**commands, "GIVEWAY_CLUSTER": "slurm"}) as (env, said):
        made = Console(int(env["PORT"]), private_slurm)
        browser = Client(made.port)
        code = re.search(r"one-time code: (\S+)", said)
        assert code, said
        seat = {"username": "root", "email": "", "password": PASSWORD, "again": PASSWORD}
        assert browser.fill_in("/setup/administrator/", code=code[1], **seat).status == 302
        assert manage("shell", "-v0", "-c", PAM, env=env).returncode == 0
        assert made.ask("root", "POST", "projects/", {**ALPHA, "reason": "Test."}).status == 201
        wait_until(lambda: 'value="x"' in browser.ask("GET", "/setup/import/").text, "x is seen", 60)
        page = browser.ask("GET", "/setup/import/").text
        proposed = dict(re.findall(r'name="(levels-[\w-]+)" value="([^"]*)"', page))
        given = browser.fill_in("/setup/import/", **proposed, partition="x", reason="Test.", levels="1")
        assert given.status == 302, given.text
        made.policy(enforcement="enforce", grace_s=0)
        yield made


def test_a_job_named_after_a_level_stops_nobody_where_the_wizard_made_the_levels(console: Console) -> None:
    """A user in no project named a job `p0_x` and stopped six others."""
    slurm = console.slurm
    others = [console.submit(user, f"work{n}", cpus) for n, (user, cpus) in enumerate(OTHERS)]
    for job in others:
        slurm.wait_for_state(job, "RUNNING")
    attack = console.submit("dee", "p0_x", 8)
    wait_until(lambda: bool(console.job(attack).get("reason")), "the job is decided about", 60)
    told = console.job(attack)
    level = {
        "rank": None,
        "name": "unconfigured",
        "origin": "keyword p0 is not dee's to use; nothing configured",
    }
    assert told["task_level"] == level
    assert console.ask("root", "GET", "plans/").data["count"] == 0
    assert [slurm.states()[job] for job in others] == ["RUNNING"] * len(OTHERS)

    levels = console.ask("root", "GET", "partitions/x/policy/").data["policy"]["levels"]
    console.policy(levels=[{**levels[0], "keyword_users": ["dee"]}, *levels[1:]])
    # It is the list of names that held it, and nothing else. Six jobs have to end first, which may take long.
    slurm.wait_for_state(attack, "RUNNING", 300)


def test_a_manager_takes_no_level_by_numbers(console: Console) -> None:
    """A size of 1e9, or a pattern `*` with an importance of 1e6."""
    everything = {"pattern": "*"}
    attacks: list[tuple[dict[str, Any], str]] = [
        ({"size": 1e9}, "size"),
        ({"size": 1e300}, "size"),
        ({"grade": 0.000001}, "grade"),
        ({"tasks": [{**everything, "importance": 1e6}]}, "tasks"),
        ({"tasks": [{**everything, "importance": 3}]}, "tasks"),
        ({"tasks": [{**everything, "level": "P0"}]}, "tasks"),
        ({"urgency": 1e6}, "urgency"),
        ({"managers": ["pam", "dee"]}, "managers"),
    ]
    for change, fault in attacks:
        answer = console.ask("pam", "PATCH", "projects/alpha/", {**change, "version": 1, "reason": "Attack."})
        assert answer.status == 400 and list(answer.data["error"]["fields"]) == [fault], (change, answer.text)
    asked = console.ask(
        "pam", "PATCH", "projects/alpha/", {"urgency": 900, "version": 1, "reason": "Attack."}
    )
    assert asked.status in {200, 202}
    alpha = console.ask("root", "GET", "projects/alpha/").data
    assert [alpha[key] for key in ("size", "grade", "urgency", "tasks", "version")] == [1, 1, 1, [], 1]


def test_an_administrators_numbers_are_bounded_too(console: Console) -> None:
    for change, fault in (
        ({"size": 1e10}, "size"),
        ({"tasks": [{"pattern": "*", "importance": 1e6}]}, "tasks"),
    ):
        answer = console.ask("root", "PATCH", "projects/alpha/", {**change, "version": 1, "reason": "Wrong."})
        assert answer.status == 400 and "is too large, at most" in answer.data["error"]["fields"][fault][0]
