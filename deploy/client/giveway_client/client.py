"""The console as an object: a method for each thing that people do."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from typing import Any

from giveway_client.errors import ChangedError, GivewayError
from giveway_client.records import Job, Partition, Pause, Plan, Project, Question, Study, read
from giveway_client.transport import TIMEOUT_S, TRIES, Answer, Transport
from giveway_client.words import ENGLISH, _

PAGE = 500
ENTRY = (
    "code",
    "name",
    "size",
    "grade",
    "urgency",
    "urgency_by",
    "deadline",
    "slurm_account",
    "managers",
    "members",
    "tasks",
)
"""What a project's entry of the priority file holds."""


class Giveway:
    """One console, asked as the account of the token. Filters are those of the API (docs/api.md); sentences come in
    the `language`, `en` or `zh-hans`."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = TIMEOUT_S,
        tries: int = TRIES,
        language: str = ENGLISH,
    ) -> None:
        self.transport = Transport(url, token, timeout=timeout, tries=tries, language=language)

    # --- Reading ---------------------------------------------------------------------------------------------

    def get(self, path: str, **query: Any) -> Answer:
        """Any address under /api/v1/."""
        return self.transport.ask("GET", path, query=query)

    def pages(self, path: str, *, most: int | None = None, **filters: Any) -> Iterator[dict[str, Any]]:
        """All rows of a list, or the first `most`, a page at a time."""
        found = 0
        while most is None or found < most:
            size = PAGE if most is None else min(PAGE, most - found)
            page = self.get(path, **filters, limit=size, offset=found).body
            yield from page["results"]
            found += len(page["results"])
            if not page["next"] or not page["results"]:
                return

    def account(self) -> dict[str, Any]:
        """Who I am here and what I may do."""
        return dict(self.get("account/").body)

    def jobs(self, *, most: int | None = None, **filters: Any) -> Iterator[Job]:
        """Jobs, the latest submitted first."""
        return map(Job.read, self.pages("jobs/", most=most, **filters))

    def job(self, job_id: str, **query: Any) -> Job:
        """One job; `partition=` picks the row of one that waits in several."""
        return Job.read(self.get(f"jobs/{named(job_id)}/", **query).body)

    def why(self, job_id: str) -> Answer:
        """Why it waits or was stopped, and when it comes back; its ages are by the console's clock (`now`)."""
        return self.get(f"jobs/{named(job_id)}/why/")

    def start(self, job_id: str) -> Answer:
        """When it is expected to start; raises `GivewayError` where nothing is."""
        return self.get(f"jobs/{named(job_id)}/start/")

    def ask_start(
        self, partition: str, request: dict[str, Any], time_limit_s: int, *, account: str = ""
    ) -> dict[str, Any]:
        """Ask when a job of mine would start that I have not submitted; `request` as in the API. The question."""
        body = {"partition": partition, "request": request, "time_limit_s": time_limit_s, "account": account}
        return dict(self.transport.ask("POST", "start-questions/", send=body).body)

    def start_answer(self, question: int) -> Answer:
        """The question with its answer, null until there is one."""
        return self.get(f"start-questions/{question}/")

    def plans(self, *, most: int | None = None, **filters: Any) -> Iterator[Plan]:
        """Plans, the latest first."""
        return map(Plan.read, self.pages("plans/", most=most, **filters))

    def plan(self, number: int) -> Plan:
        """One plan."""
        return Plan.read(self.get(f"plans/{number}/").body)

    def question(self, number: int) -> Question:
        """What is asked about a plan."""
        return read(Question, self.get(f"plans/{number}/decision/").body)

    def projects(self, **filters: Any) -> Iterator[Project]:
        """Projects by code."""
        return (read(Project, raw) for raw in self.pages("projects/", **filters))

    def project(self, code: str) -> Project:
        """One project."""
        return read(Project, self.get(f"projects/{named(code)}/").body)

    def partitions(self) -> Iterator[Partition]:
        """Partitions by name."""
        return (read(Partition, raw) for raw in self.pages("partitions/"))

    def quotas(self, partition: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """How much of each limit of a partition is used, the fullest first; `user` None: by all users together."""
        return self.pages(f"partitions/{named(partition)}/quotas/", **filters)

    def pauses(self, partition: str | None = None) -> list[Pause]:
        """Why nobody is stopped in a partition; without one: all pauses there are."""
        told = self.get(_switch(partition)).body
        return [Pause.read(raw) for raw in [*told["pauses"], *told.get("partitions", [])]]

    # --- What if --------------------------------------------------------------------------------------------

    def project_entry(self, code: str, **settings: Any) -> dict[str, Any]:
        """A project as the priority file has it, with some of it as it would be."""
        raw = self.project(code).raw
        return {key: raw[key] for key in ENTRY} | settings

    def policy_entry(self, partition: str, *, draft: int | None = None, **settings: Any) -> dict[str, Any]:
        """A partition's policy, in force or of a draft, with some of it as it would be."""
        path = f"partitions/{named(partition)}/" + (f"drafts/{draft}/" if draft else "policy/")
        return {**self.get(path).body["policy"], "name": partition, **settings}

    def what_if(self, *, partitions: Any = (), projects: Any = ()) -> dict[str, Any]:
        """What entries of the priority file would change now. Nothing is saved."""
        sent = {"partitions": list(partitions), "projects": list(projects)}
        return dict(self.transport.ask("POST", "what-if/", send=sent).body)

    def ask_study(self, *, days: int, partitions: Any = (), projects: Any = ()) -> Study:
        """Have a worker find out what they would have changed over the last days."""
        sent = {"days": days, "partitions": list(partitions), "projects": list(projects)}
        return read(Study, self.transport.ask("POST", "studies/", send=sent).body)

    def study(self, number: int) -> Study:
        """One study, with its result when it is done."""
        return read(Study, self.get(f"studies/{number}/").body)

    def cancel_study(self, number: int) -> Study:
        """Cancel it; one that is over stays as it is."""
        return read(Study, self.transport.ask("POST", f"studies/{number}/cancel/", send={}).body)

    # --- Changing --------------------------------------------------------------------------------------------

    def approve(self, number: int, *, reason: str, seen: str | None = None) -> Plan:
        """Have a plan carried out. `seen`: the mark of what was looked at, by default what is asked now."""
        return self._decide(number, "approve", reason, seen)

    def reject(self, number: int, *, reason: str, seen: str | None = None) -> Plan:
        """Turn a plan down."""
        return self._decide(number, "reject", reason, seen)

    def _decide(self, number: int, decision: str, reason: str, seen: str | None) -> Plan:
        mark = self.question(number).seen if seen is None else seen
        sent = {"decision": decision, "seen": mark, "reason": reason}
        return Plan.read(self.transport.ask("POST", f"plans/{number}/decision/", send=sent).body)

    def change_project(
        self, code: str, *, reason: str, version: int | None = None, **settings: Any
    ) -> Project:
        """Change some of a project. Without `version` it is changed as it is now, whoever changed it before."""
        path = f"projects/{named(code)}/"
        for left in (2, 1, 0):
            based = self.project(code).version if version is None else version
            try:
                sent = {**settings, "version": based, "reason": reason}
                return read(Project, self.transport.ask("PATCH", path, send=sent).body)
            except ChangedError:
                if version is not None or not left:
                    raise
        raise AssertionError("the last try returns or raises")

    def pause(self, partition: str | None = None, *, reason: str = "") -> list[Pause]:
        """Stop nobody in a partition, without one nobody anywhere, from the next cycle on."""
        told = self.transport.ask("PUT", _switch(partition), send={"reason": reason}).body
        return [Pause.read(raw) for raw in told["pauses"]]

    def resume(self, partition: str | None = None) -> None:
        """Lift the pause of a partition, or that of everything; each leaves the other alone."""
        self.transport.ask("DELETE", _switch(partition))

    def checkpoint_token(self, job_id: str) -> dict[str, Any]:
        """A token with which a job tells that its state is saved; only that, only for that job."""
        return dict(self.transport.ask("POST", f"jobs/{named(job_id)}/checkpoint-token/", send={}).body)

    def saved(self, job_token: str, text: str) -> dict[str, Any]:
        """For a job: its state is saved. The job's own token is enough."""
        return dict(self.transport.ask("POST", "checkpoints/", send={"token": job_token, "saved": text}).body)


def named(name: str) -> str:
    """A job id, a project or a partition as a part of an address."""
    if not name.strip() or "/" in name or not name.isprintable() or name.strip() in {".", ".."}:
        text = _("%(name)r is no job id and no name; for example 4711 or 41_2")
        raise GivewayError(text % {"name": name})
    return urllib.parse.quote(name.strip(), safe="")


def _switch(partition: str | None) -> str:
    return "pause/" if partition is None else f"partitions/{named(partition)}/pause/"
