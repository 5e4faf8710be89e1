"""What `bench.web` asks for: every page that there is, in the states that people look at, then fragments and the API.

`tests/test_project/test_bench_pages.py` holds it against the addresses of the console.
"""

from dataclasses import dataclass

# Each with the part of the page, if a fragment is wanted.
ASKED: tuple[tuple[str, str], ...] = (
    ("/", ""),
    ("/partitions/x/", ""),
    # Nobody has looked since the last change: an address that is new each time.
    ("/partitions/x/?new={unique}", ""),
    ("/partitions/x/?map=bars&new={unique}", ""),
    ("/partitions/x/?map=grid&by=level&new={unique}", ""),
    ("/partitions/x/timeline/", ""),
    ("/partitions/x/timeline/?span=7d", ""),
    ("/partitions/x/quotas/", ""),
    ("/partitions/x/quotas/?level=P0&span=7d", ""),
    ("/partitions/x/policy/", ""),
    ("/partitions/x/revisions/", ""),
    ("/partitions/x/compare/", ""),
    ("/partitions/x/compare/?to=draft-{draft}", ""),
    ("/partitions/x/drafts/{draft}/", ""),
    ("/partitions/x/shadow/", ""),
    ("/partitions/x/hindsight/", ""),
    ("/partitions/x/power/", ""),
    ("/partitions/x/power/losses/", ""),
    ("/partitions/x/power/incidents/{slow}/", ""),
    ("/my-jobs/", ""),
    ("/users/user5/", ""),
    ("/nodes/n1/", ""),
    ("/when/", ""),
    ("/studies/", ""),
    ("/studies/{study}/", ""),
    ("/jobs/", ""),
    ("/jobs/?q=train&phase=running", ""),
    ("/jobs/?q=n1", ""),
    ("/jobs/?q=user5", ""),
    ("/jobs/{running}/", ""),
    ("/jobs/{pending}/", ""),
    ("/plans/", ""),
    ("/plans/{plan}/", ""),
    ("/plans/{decided}/", ""),
    ("/plans/{asked}/", ""),
    ("/approvals/", ""),
    ("/incidents/", ""),
    ("/incidents/{incident}/", ""),
    ("/projects/", ""),
    ("/projects/{project}/", ""),
    ("/projects/{project}/levels/", ""),
    ("/projects/{project}/work/", ""),
    ("/projects/{project}/history/", ""),
    ("/projects/{project}/delete/", ""),
    ("/new-project/", ""),
    ("/project-rules/", ""),
    ("/project-requests/", ""),
    ("/project-requests/{request}/", ""),
    ("/project-proposals/{proposal}/", ""),
    ("/priority-file/", ""),
    ("/priority-file/?partition=x", ""),
    ("/insights/", ""),
    ("/insights/?days=90", ""),
    ("/insights/?partition=x", ""),
    ("/forecasts/", ""),
    ("/people/", ""),
    ("/people/user5/", ""),
    ("/account/", ""),
    ("/help/", ""),
    ("/setup/", ""),
    ("/setup/cluster/", ""),
    ("/setup/import/", ""),
    ("/setup/sign-in/", ""),
    ("/setup/people/", ""),
    ("/setup/shadow/", ""),
    ("/audit/", ""),
    ("/audit/?before={row}", ""),
    ("/audit/?actor=pam", ""),
    ("/audit/?partition=x&action=policy.activated", ""),
    ("/audit/?job={running}", ""),
    ("/audit/?since=2020-01-01T00:00&until=2099-01-01T00:00", ""),
    ("/audit/?text=nowhere", ""),
    ("/audit/{row}/", ""),
    ("/history/jobs/{running}/", ""),
    ("/history/projects/{project}/", ""),
    ("/", "partition-cards"),
    ("/partitions/x/", "partition-now"),
    ("/jobs/", "job-list"),
    ("/jobs/{running}/", "job-story"),
    ("/plans/", "plan-list"),
    ("/audit/", "audit-rows"),
    ("/?since={version}", "partition-cards"),
    ("/partitions/x/?since={version}", "partition-now"),
    ("/jobs/?since={version}", "job-list"),
    ("/jobs/{running}/?since={version}", "job-story"),
    ("/api/v1/partitions/x/lanes/", ""),
    ("/api/v1/partitions/x/squares/?by=level", ""),
    ("/api/v1/jobs/?limit=100", ""),
    ("/api/v1/audit/?limit=100", ""),
    ("/api/v1/needs/", ""),
    ("/livez", ""),
    ("/readyz", ""),
)
# The same after a cycle that has changed something: the first who looks waits for what the change was about.
AFTER_A_CYCLE: tuple[tuple[str, str], ...] = (
    ("/partitions/x/", ""),
    ("/partitions/x/", "partition-now"),
    ("/partitions/x/?map=bars", ""),
    ("/partitions/x/?map=grid&by=level", ""),
    ("/api/v1/partitions/x/lanes/", ""),
)
POLL = "since={version}"
"""What the address of a page has in it that asks for what is new."""


@dataclass(frozen=True)
class Filled:
    """What the pages are asked about."""

    running: str
    pending: str
    plan: int
    row: int
    project: str
    version: int
    decided: int
    """A plan of the cycle, whose whole input is kept."""
    asked: int
    incident: int
    slow: int
    """A processor that stands out."""
    draft: int
    study: int
    request: int
    proposal: int
