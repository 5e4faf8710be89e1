"""`giveway`: what it says, what it refuses, and that nothing in it needs more than an old Python."""

import argparse
import ast
import http.server
import json
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from console.accounts.models import ApiToken
from console.cluster.models import Job
from console.core import clock
from console.starts.expecting import Expecting, open_questions
from console.starts.models import StartQuestion
from console.steering.models import Checkpoint, Plan, PlannedAction
from giveway_client.command import parser
from giveway_client.starting import seconds_of
from tests import factories
from tests.api.conftest import House
from tests.client.conftest import PACKAGE, Done, Shell
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)
AsUser = Callable[[str], Shell]


def refused(done: Done, status: int = 2) -> str:
    """The one line with which it refuses. 1: the console says no; 2: wrong here; 3: there is no console."""
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("giveway: ")
    return line.removeprefix("giveway: ")


def said(done: Done) -> str:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    return done.stdout


# --- why ----------------------------------------------------------------------------------------------------


def test_why_in_words(house: House, as_user: AsUser) -> None:
    PlannedAction.objects.update(not_before=clock.now() + timedelta(minutes=10, seconds=58))
    text = said(as_user("vera").run("why", "88"))
    assert text.startswith("88 p2_train (bob) in x: running\n")
    assert "It is about to be stopped, to make room for 101 (ann)." in text
    assert "  - Its time to save its state ends (in 10 min, " in text
    assert "101 (ann, P0) needs 4 cpu on one node; 88 (bob, P1) gives them." in " ".join(text.split())


def test_why_for_programs(house: House, as_user: AsUser) -> None:
    told = json.loads(as_user("vera").run("why", "88", "--json").stdout)
    assert (told["job_id"], told["comes_back"]["stage"]) == ("88", "stopping")


def test_a_task_of_an_array(house: House, as_user: AsUser) -> None:
    for task in ("41_1", "41_2"):
        factories.make_job(house.cluster, task, user="ann")
    assert said(as_user("vera").run("why", "41_2")).startswith("41_2 p1_train (ann) in x: pending\n")
    array = refused(as_user("vera").run("why", "41"), 1)
    assert array == "41 is a job array; ask about one of its tasks: 41_1, 41_2."


def test_no_such_job(as_user: AsUser) -> None:
    assert refused(as_user("vera").run("why", "999"), 1) == "Giveway knows no such job."


@pytest.mark.parametrize("job", ["", " ", "../account", "4\x1b[2J", "a/b"])
def test_what_is_no_job_id(as_user: AsUser, job: str) -> None:
    line = refused(as_user("vera").run("why", job))
    assert "is no job id" in line and line.isprintable()


def test_names_cannot_steer_the_terminal(house: House, as_user: AsUser) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\r\nroot@node:~# "
    Job.objects.update(name=hostile, user="vera", project=hostile, slurm_reason=hostile, explain=hostile)
    Plan.objects.update(user=hostile, explain=hostile, job_name=hostile)
    shell = as_user("vera")
    for arguments in (("why", "88"), ("why", "101"), ("jobs",), ("jobs", "--json"), ("why", "88", "--json")):
        done = shell.run(*arguments)
        assert done.returncode == 0, done.stderr
        assert done.stdout.replace("\n", "").isprintable(), arguments


# --- when ---------------------------------------------------------------------------------------------------


def test_when_it_starts(house: House, as_user: AsUser) -> None:
    factories.make_expected_start(Job.objects.get(job_id="101"), 2458, after=["88", "70"])
    text = said(as_user("vera").run("when", "101"))
    assert text.startswith("101 starts in 40 min (")
    assert "  - 90 % sure: between in 1" in text
    assert "It waits for the end of 88, 70" in text
    told = json.loads(as_user("vera").run("when", "101", "--json").stdout)
    assert (told["job_id"], told["after"]) == ("101", ["88", "70"])


def test_when_no_start_is_in_sight_or_none_is_expected(house: House, as_user: AsUser) -> None:
    assert refused(as_user("vera").run("when", "88"), 1) == "No start is expected of such a job."
    factories.make_expected_start(Job.objects.get(job_id="101"), p50=None, low=None, high=None)
    assert said(as_user("vera").run("when", "101")) == "101: no start is in sight.\n"


def test_what_would_make_it_sooner(house: House, as_user: AsUser) -> None:
    soon = int(clock.now().timestamp()) + 1258
    factories.make_expected_start(
        Job.objects.get(job_id="101"), sooner=[{"nodes": 2, "p50": soon}, {"limit_s": 5400, "p50": soon}]
    )
    text = said(as_user("vera").run("when", "101"))
    assert "  - With 2 nodes: in 20 min (" in text
    assert "  - With a limit of 1 h 30 min: in 20 min (" in text


@contextmanager
def looking(house: House) -> Iterator[None]:
    """The task that looks at the queue, as the worker runs it."""
    done = threading.Event()

    def worker() -> None:
        from django.db import connection

        until = time.monotonic() + 300
        while not done.wait(0.1) and time.monotonic() < until:
            if open_questions(house.cluster):
                Expecting(house.cluster).expect_starts()
        connection.close()

    thread = threading.Thread(target=worker)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_when_a_job_would_start_that_is_not_submitted(house: House, as_user: AsUser) -> None:
    vera = as_user("vera")
    with looking(house):
        text = said(vera.run("when", "-p", "x", "--nodes", "1", "--cpus", "2", "--time", "2:00:00"))
        none = said(vera.run("when", "-p", "x", "-N", "40", "--gpus", "81", "-t", "90"))
    assert text.startswith("It would start ")
    assert "  - 90 % sure: between" in text
    assert none == "It: no start is in sight.\n"
    first, second = StartQuestion.objects.order_by("pk")
    assert (first.request, first.time_limit_s) == ({"nodes": 1, "per_node": {"cpu": 2}}, 7200)
    assert (second.request["per_node"], second.time_limit_s) == ({"cpu": 1, "gpu": 3}, 5400)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "Give a JOBID, or --partition and --time too for a job not submitted yet."),
        (("-p", "x"), "Give a JOBID, or --time too for a job not submitted yet."),
        (("101", "-p", "x"), "--partition: of a job that waits these are known. Leave out one or the other."),
        (("-p", "x", "-t", "soon"), "--time: soon is no time. Write it as for sbatch: 90, 2:00:00, 1-12."),
        (("-p", "x", "-t", "9", "--gpus", "0"), "--gpus: 0 is not a number from 1 on."),
        (("-p", "x", "-t", "9", "--mem", "5"), "--mem: memory is by node; give --nodes too."),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_here(
    house: House, as_user: AsUser, arguments: tuple[str, ...], why: str
) -> None:
    assert refused(as_user("vera").run("when", *arguments)) == why


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("1:30", 90),
        ("2:00:00", 7200),
        ("1-12", 129_600),
        ("1-0:30", 88_200),
        ("1-0:0:5", 86_405),
    ],
)
def test_times_are_read_as_sbatch_reads_them(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


# --- jobs ---------------------------------------------------------------------------------------------------


def test_my_jobs(house: House, as_user: AsUser) -> None:
    factories.make_job(
        house.cluster, "41_2", user="vera", name="n" * 200, reason="nothing_lower_runs", place=3
    )
    factories.make_running_job(house.cluster, "42", user="vera", preemptions=2)
    factories.make_job(house.cluster, "43", user="vera", phase="ended")
    shell = as_user("vera")
    head, first, *rows, last = said(shell.run("jobs")).splitlines()
    assert head.split() == ["JOB", "PARTITION", "STATE", "PLACE", "STOPPED", "NAME", "WHY"]
    assert first.split()[:5] == ["41_2", "x", "waiting", "3", "-"]
    told = " ".join(" ".join([first, *rows]).split())
    assert told.endswith("nobody who runs here makes room for it"), "as on the page, below itself"
    assert last.split()[:5] == ["42", "x", "running", "-", "2"]
    assert "43" in said(shell.run("jobs", "--all"))
    assert "101" in said(shell.run("jobs", "--user", "ann"))
    assert said(shell.run("jobs", "--user", "nobody")) == "No jobs of nobody.\n"


def test_why_a_job_waits_is_read_in_a_narrow_terminal(house: House, as_user: AsUser) -> None:
    factories.make_job(
        house.cluster, "41_2", user="vera", name="n" * 30, reason="nothing_lower_runs", place=3
    )
    factories.make_running_job(house.cluster, "42", user="vera")
    shell = as_user("vera")
    text = said(shell.run("jobs", COLUMNS="40"))
    assert max(map(len, text.splitlines())) <= 40
    told = " ".join(text.split())
    assert told.endswith("nobody who runs here makes room for it 42 x running - - p1_train")
    chinese = shell.run("jobs", COLUMNS="40", LANG="zh_CN.UTF-8").stdout
    assert "这里没有运行中的作业会为它腾出资源" in "".join(chinese.split())


def test_quotas(house: House, as_user: AsUser) -> None:
    factories.make_running_job(house.cluster, "700", user="vera", task_level=0)
    head, *rows = said(as_user("vera").run("quotas", "x")).splitlines()
    assert head.split() == ["LEVEL", "OF", "USED", "LIMIT", "USER"]
    assert [row.split() for row in rows] == [
        ["P0", "jobs", "1", "1", "full", "vera"],
        ["P1", "jobs", "0", "3", "vera"],
    ]
    assert json.loads(as_user("vera").run("quotas", "x", "--json").stdout)[0]["used"] == 1
    assert said(as_user("vera").run("quotas", "x", "--user", "bob")) == "Nothing is used of a quota in x.\n"


def test_more_jobs_than_one_page_has(house: House, as_user: AsUser) -> None:
    for number in range(505):
        factories.make_job(house.cluster, str(1000 + number), user="vera")
    assert len(said(as_user("vera").run("jobs")).splitlines()) == 506


# --- For a job that checkpoints ------------------------------------------------------------------------------


def test_a_job_tells_that_its_state_is_saved(house: House, as_user: AsUser) -> None:
    house.people["bob"] = factories.make_viewer("bob")
    asked = Checkpoint.objects.create(
        plan=house.plan, cluster=house.cluster, job_id="88", run_start=factories.EPOCH - 300, run_restarts=0,
        user="bob", asked_at=clock.now(),
    )  # fmt: skip
    shell = as_user("bob")
    token = shell.run("checkpoint-token", "88").stdout.strip()
    job = {"GIVEWAY_URL": shell.url, "GIVEWAY_TOKEN": "", "GIVEWAY_JOB_TOKEN": token}

    assert said(shell.run("saved", "epoch=10", **job)) == "Giveway knows that the state is saved.\n"

    asked.refresh_from_db()
    assert (asked.saved, asked.via) == ("epoch=10", "api")
    assert "It saved its state: epoch=10" in said(shell.run("why", "88"))
    assert json.loads(shell.run("checkpoint-token", "88", "--json").stdout)["job_id"] == "88"


def test_what_a_job_may_not_tell(house: House, as_user: AsUser) -> None:
    shell = as_user("vera")
    assert refused(shell.run("checkpoint-token", "88"), 1)
    assert "GIVEWAY_JOB_TOKEN is not set" in refused(shell.run("saved", "epoch=10"))
    assert "checkpoint token" in refused(shell.run("saved", "epoch=10", GIVEWAY_JOB_TOKEN="nonsense"), 1)


# --- login --------------------------------------------------------------------------------------------------


def test_log_in_and_ask(house: House, shell: Shell) -> None:
    done = shell.run("login", "--url", shell.url, "--user", "vera", "--password-stdin", given=f"{PASSWORD}\n")
    path = shell.home / ".config" / "giveway" / "token"
    assert "Logged in" in said_wide(done) and str(path) in done.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["token"]
    assert "101 (ann)" in said(shell.run("why", "88"))
    assert PASSWORD not in path.read_text() + done.stdout


def said_wide(done: Done) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wrong_password(house: House, shell: Shell) -> None:
    done = shell.run("login", "--url", shell.url, "--user", "vera", "--password-stdin", given="wrong\n")
    assert refused(done, 1) == "No active account has this name and password."
    assert not (shell.home / ".config" / "giveway" / "token").exists()


def test_a_token_that_others_may_read_is_not_used(house: House, shell: Shell) -> None:
    shell.run("login", "--url", shell.url, "--user", "vera", "--password-stdin", given=f"{PASSWORD}\n")
    path = shell.home / ".config" / "giveway" / "token"
    path.chmod(0o644)
    assert "may be read by others; do: chmod 600" in refused(shell.run("why", "88"))
    again = shell.run(
        "login", "--url", shell.url, "--user", "vera", "--password-stdin", given=f"{PASSWORD}\n"
    )
    assert again.returncode == 0 and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_kept_token_is_sent_to_no_other_console(house: House, shell: Shell) -> None:
    shell.run("login", "--url", shell.url, "--user", "vera", "--password-stdin", given=f"{PASSWORD}\n")
    line = refused(shell.run("why", "88", GIVEWAY_URL="https://evil.example"))
    assert "the token that is kept is for" in line
    assert said(shell.run("why", "88", GIVEWAY_URL=f"{shell.url}/api/v1/"))


def test_a_password_is_not_sent_in_the_clear(shell: Shell) -> None:
    done = shell.run(
        "login", "--url", "http://giveway.example", "--user", "vera", "--password-stdin", given="x\n"
    )
    assert "not sent over plain http" in refused(done)


def test_not_logged_in(shell: Shell) -> None:
    assert "not logged in; do: giveway login" in refused(shell.run("why", "88"))
    assert "no token; do: giveway login" in refused(shell.run("why", "88", GIVEWAY_URL=shell.url))


def test_a_token_that_has_been_revoked(house: House, as_user: AsUser) -> None:
    shell = as_user("vera")
    ApiToken.objects.all().delete()
    assert refused(shell.run("why", "88"), 1) == "the token is not valid (any more); do: giveway login"


# --- When the other side is no console ------------------------------------------------------------------------


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    seen: list[str] = []

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization", ""))
        if "redirect" in self.path:
            self.send_response(302)
            self.send_header("Location", "https://evil.example/\x1b[2J")
            self.end_headers()
            return
        self.send_response(500 if "broken" in self.path else 200)
        self.end_headers()
        self.wfile.write(b"<html>\x1b[2Jhello</html>")

    def log_message(self, *args: object) -> None:
        """Quietly."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("", "is not the API of a Giveway console"),
        ("/broken", "answered 500: is it a Giveway console?"),
        (
            "/redirect",
            "the console answers from elsewhere; log in again with its address: https://evil.example/",
        ),
    ],
)
def test_an_address_that_is_something_else(shell: Shell, elsewhere: str, path: str, sentence: str) -> None:
    line = refused(shell.run("why", "88", GIVEWAY_URL=elsewhere + path, GIVEWAY_TOKEN="t0ken"), 3)
    assert sentence in line and line.isprintable()


@pytest.mark.parametrize(
    ("url", "sentence", "status"),
    [
        ("http://127.0.0.1:1", "cannot be reached", 3),
        ("ftp://127.0.0.1", "is no address of a console", 2),
        ("giveway.example", "is no address of a console", 2),
    ],
)
def test_an_address_that_is_none(shell: Shell, url: str, sentence: str, status: int) -> None:
    assert sentence in refused(shell.run("why", "88", GIVEWAY_URL=url, GIVEWAY_TOKEN="t0ken"), status)


def test_a_token_that_is_none(shell: Shell) -> None:
    line = refused(shell.run("why", "88", GIVEWAY_URL=shell.url, GIVEWAY_TOKEN="t\r\nX-Evil: 1"))
    assert line.startswith("the token holds characters that no token has")


# --- The command itself ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [(), ("why",), ("nonsense",), ("why", "1", "2"), ("saved",)])
def test_misuse_is_one_line(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert "giveway --help" in refused(shell.run(*arguments))


def test_it_can_be_run_by_name(shell: Shell) -> None:
    assert shell.command.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    assert shell.command.stat().st_mode & stat.S_IXOTH
    assert subprocess.run([shell.command, "--help"], capture_output=True, timeout=300).returncode == 0


@pytest.mark.parametrize("module", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_it_needs_no_more_than_an_old_python(module: Path) -> None:
    tree = ast.parse(module.read_text(), feature_version=(3, 9))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in modules} <= {*sys.stdlib_module_names, "giveway_client"}
    assert not [node for node in ast.walk(tree) if type(node).__name__ in {"Match", "TryStar"}]
    if " | None" in module.read_text():
        annotations_are_text = "from __future__ import annotations" in module.read_text()
        assert annotations_are_text, "`str | None` is not evaluated then"


def test_every_command_is_in_the_document() -> None:
    text = (PACKAGE.parents[2] / "docs" / "giveway-command.md").read_text()
    (commands,) = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    for name in commands.choices:
        assert f"`giveway {name} " in text or f"`giveway {name}`" in text or f"`{name}`" in text, name


def test_whoever_reads_only_the_beginning_gets_no_traceback(house: House, as_user: AsUser) -> None:
    shell = as_user("vera")
    for number in range(300):
        factories.make_job(house.cluster, str(1000 + number), user="vera")
    piped = subprocess.run(
        ["bash", "-c", f"{sys.executable} {shell.command} jobs | head -1"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(shell.home), "no_proxy": "*", **shell.variables},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert piped.stdout.startswith("JOB") and piped.stderr == ""
