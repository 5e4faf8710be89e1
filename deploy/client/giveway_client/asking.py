"""The commands of a cluster's user: why, jobs, login, and what a job needs that saves its state."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
import urllib.parse
from typing import Any

from giveway_client.client import Giveway
from giveway_client.errors import GivewayError
from giveway_client.kept import Login, console, keep, read_kept, read_kept_or_nothing
from giveway_client.records import Job, moment
from giveway_client.show import ago, as_json, shown, table, wrap
from giveway_client.transport import api_address

MOST_JOBS = 5000
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
STATES = {"pending": "waiting", "completing": "ending"}
OPEN_PHASES = ("pending", "running", "completing")


def why(options: argparse.Namespace) -> None:
    """Why a job waits or was stopped, and when it comes back."""
    answer = console().why(options.job)
    if options.json:
        as_json(answer.body)
        return
    told = answer.body
    where = ", ".join(map(str, told["partitions"]))
    print(wrap(f"{told['job_id']} {told['name']} ({told['user']}) in {where}: {told['state']}", "", "  "))
    for part in told["parts"]:
        print()
        print(wrap(part["headline"]))
        for line in part["lines"]:
            print(wrap(line["text"] + ago(moment(line["at"]), answer.now), "  - ", "    "))


def jobs(options: argparse.Namespace) -> None:
    """My jobs, with their places in line and the reasons."""
    giveway = console()
    user = options.user or giveway.account()["cluster_user"]
    filters: dict[str, Any] = {"user": user, "ordering": "submitted_at"}
    if options.partition:
        filters["partition"] = options.partition
    if not options.all:
        filters["phase"] = OPEN_PHASES
    found = list(giveway.jobs(most=MOST_JOBS, **filters))
    if options.json:
        as_json([job.raw for job in found])
        return
    if not found:
        print(f"No jobs of {shown(user)}.")
        return
    rows = [["JOB", "PARTITION", "STATE", "PLACE", "STOPPED", "NAME", "WHY"]]
    for line in table(rows + [_row(job) for job in found], right={3, 4}):
        print(line)


def quotas(options: argparse.Namespace) -> None:
    """How much of a partition's quotas is used: by me, and by everybody for who may see that."""
    filters = {"user": options.user} if options.user else {}
    found = list(console().quotas(options.partition, **filters))
    if options.json:
        as_json(found)
        return
    if not found:
        print(f"Nothing is used of a quota in {shown(options.partition)}.")
        return
    rows = [["LEVEL", "OF", "USED", "LIMIT", "", "USER"]]
    for use in found:
        cells = [use["level"], use["resource"], use["used"], use["limit"], "full" if use["full"] else ""]
        rows.append([shown(cell) for cell in [*cells, use["user"] or "(all together)"]])
    for line in table(rows, right={2, 3}):
        print(line)


def _row(job: Job) -> list[str]:
    state = "held" if job.held else STATES.get(job.phase, job.phase)
    name = shown(job.name)
    short = name if len(name) <= 16 else name[:15] + "…"
    cells = [job.job_id, job.partition, state, job.place or "-", job.preemptions or "-", short]
    return [shown(cell) for cell in [*cells, job.reason.replace("_", " ")]]


def login(options: argparse.Namespace) -> None:
    """Get a token for a name and a password, and keep it."""
    kept = read_kept_or_nothing()
    url = options.url or os.environ.get("GIVEWAY_URL") or _prompt("Console", kept.url)
    address = api_address(url)
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and not options.plain_http:
        raise GivewayError("a password is not sent over plain http; use https (or --plain-http)")
    user = options.user or _prompt("User name", os.environ.get("USER", ""))
    password = sys.stdin.readline().rstrip("\n") if options.password_stdin else getpass.getpass("Password: ")
    # Once only: each time makes a token.
    sent = {"username": user, "password": password}
    answer = Giveway(address, tries=1).transport.ask("POST", "token/", send=sent)
    path = keep(Login(address, str(answer.body["token"])))
    print(f"Logged in to {shown(address)} as {shown(user)}; the token is kept in {path}.")


def _prompt(what: str, default: str) -> str:
    said = input(f"{what} [{default}]: " if default else f"{what}: ").strip()
    return said or default


def checkpoint_token(options: argparse.Namespace) -> None:
    """A token with which a job can tell that it has saved its state; only that, only for that job."""
    made = console().checkpoint_token(options.job)
    if options.json:
        as_json(made)
    else:
        print(shown(made["token"]))


def saved(options: argparse.Namespace) -> None:
    """Called by a job: its state is saved, it may be stopped now."""
    token = os.environ.get("GIVEWAY_JOB_TOKEN", "")
    if not token:
        raise GivewayError("GIVEWAY_JOB_TOKEN is not set; get one with: giveway checkpoint-token JOBID")
    url = os.environ.get("GIVEWAY_URL") or read_kept().url
    if not url:
        raise GivewayError("GIVEWAY_URL is not set")
    told = Giveway(url).saved(token, options.text)
    if options.json:
        as_json(told)
    else:
        print("Giveway knows that the state is saved.")
