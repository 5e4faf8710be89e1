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
from giveway_client.show import as_json, shown, table, with_age, wrap
from giveway_client.transport import api_address
from giveway_client.words import _, coded, in_a_row, used

MOST_JOBS = 5000
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
STATES = {"pending": "waiting", "completing": "ending"}
"""What lists say instead, in one word."""
OPEN_PHASES = ("pending", "running", "completing")


def why(options: argparse.Namespace) -> None:
    """Why a job waits or was stopped, and when it comes back."""
    answer = console().why(options.job)
    if options.json:
        as_json(answer.body)
        return
    told = answer.body
    print(wrap(_job(told), "", "  "))
    for part in told["parts"]:
        print()
        print(wrap(part["headline"]))
        for line in part["lines"]:
            print(wrap(with_age(line["text"], moment(line["at"]), answer.now), "  - ", "    "))


def _job(told: dict[str, Any]) -> str:
    """Which job it is, where, and its state."""
    named = {"job": told["job_id"], "name": told["name"], "user": told["user"], "state": coded(told["state"])}
    where = in_a_row([str(name) for name in told["partitions"]])
    return _("%(job)s %(name)s (%(user)s) in %(where)s: %(state)s") % {**named, "where": where}


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
        print(_("No jobs of %(user)s.") % {"user": shown(user)})
        return
    rows = [[_("JOB"), _("PARTITION"), _("STATE"), _("PLACE"), _("STOPPED"), _("NAME"), _("WHY")]]
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
        print(_("Nothing is used of a quota in %(partition)s.") % {"partition": shown(options.partition)})
        return
    rows = [[_("LEVEL"), _("OF"), _("USED"), _("LIMIT"), "", _("USER")]]
    for use in found:
        cells = [
            use["level"],
            coded(use["resource"]),
            use["used"],
            use["limit"],
            _("full") if use["full"] else "",
        ]
        rows.append([shown(cell) for cell in [*cells, use["user"] or _("(all together)")]])
    for line in table(rows, right={2, 3}):
        print(line)


def _row(job: Job) -> list[str]:
    state = coded("held" if job.held else STATES.get(job.phase, job.phase))
    name = shown(job.name)
    short = name if len(name) <= 16 else name[:15] + "…"
    cells = [job.job_id, job.partition, state, job.place or "-", job.preemptions or "-", short]
    return [shown(cell) for cell in [*cells, coded(job.reason)]]


def login(options: argparse.Namespace) -> None:
    """Get a token for a name and a password, and keep it."""
    kept = read_kept_or_nothing()
    url = options.url or os.environ.get("GIVEWAY_URL") or _prompt(_("Console"), kept.url)
    address = api_address(url)
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and not options.plain_http:
        raise GivewayError(_("a password is not sent over plain http; use https (or --plain-http)"))
    user = options.user or _prompt(_("User name"), os.environ.get("USER", ""))
    password = (
        sys.stdin.readline().rstrip("\n") if options.password_stdin else getpass.getpass(_("Password: "))
    )
    # Once only: each time makes a token.
    sent = {"username": user, "password": password}
    answer = Giveway(address, tries=1, language=used()).transport.ask("POST", "token/", send=sent)
    path = keep(Login(address, str(answer.body["token"])))
    done = {"address": shown(address), "user": shown(user), "path": path}
    print(_("Logged in to %(address)s as %(user)s; the token is kept in %(path)s.") % done)


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
        raise GivewayError(_("GIVEWAY_JOB_TOKEN is not set; get one with: giveway checkpoint-token JOBID"))
    url = os.environ.get("GIVEWAY_URL") or read_kept().url
    if not url:
        raise GivewayError(_("GIVEWAY_URL is not set"))
    told = Giveway(url, language=used()).saved(token, options.text)
    if options.json:
        as_json(told)
    else:
        print(_("Giveway knows that the state is saved."))
