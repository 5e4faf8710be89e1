"""Rows for tests: one function makes one row, every value has a plain default, nothing else happens.

No service is called and nothing is written to the audit log: a test about services calls the service itself.
Only `make_partition` makes two rows, because a partition always has a policy in force.

The people of the tests have lasting names: `ada` the administrator, `otto` the auditor, `vera` a viewer,
`dave` administers a partition, `pam` manages a project; `ann`, `bob` and `carol` are users of the cluster.
"""

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.utils.crypto import get_random_string

from console.accounts.models import ApiToken, Role, Scope, User
from console.accounts.session_store import SessionStore
from console.accounts.sessions import BEGAN, SEEN
from console.accounts.tokens import digest_of
from console.cluster.models import Cluster, ClusterPartition, Job, JobPhase, Node
from console.core import clock
from console.forecasts.models import JobForecast
from console.partitions.models import Partition, PartitionAdmin, PolicyRevision
from console.power.models import PowerIncident
from console.projects.models import MemberRole, Membership, Project, TaskPattern
from console.starts.models import ExpectedStart
from console.steering.models import Cycle, CycleOutcome, Fate, Incident, Plan, PlannedAction, Victim
from console.steering.served import keep_version

PASSWORD = "a long enough password"
"""Everybody's, in tests."""
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
EPOCH = int(NOW.timestamp())


# --- People -----------------------------------------------------------------------------------------------


def make_user(username: str = "vera", role: Role = Role.VIEWER, **fields: Any) -> User:
    """An account that can sign in with `PASSWORD`."""
    return User.objects.create_user(username, password=PASSWORD, role=role, **fields)


def make_administrator(username: str = "ada") -> User:
    return make_user(username, Role.ADMINISTRATOR)


def make_auditor(username: str = "otto") -> User:
    return make_user(username, Role.AUDITOR)


def make_viewer(username: str = "vera") -> User:
    return make_user(username, Role.VIEWER)


def make_partition_admin(partition: Partition, username: str = "dave") -> PartitionAdmin:
    """Name somebody administrator of a partition; the account is made apart: `make_viewer("dave")`."""
    return PartitionAdmin.objects.create(partition=partition, username=username)


def make_manager(project: Project, username: str = "pam") -> Membership:
    """Name somebody manager of a project; the account is made apart: `make_viewer("pam")`."""
    return Membership.objects.create(project=project, username=username, role=MemberRole.MANAGER)


def make_member(project: Project, username: str = "ann") -> Membership:
    """A user of the cluster, by name there, as a member."""
    return Membership.objects.create(project=project, username=username, role=MemberRole.MEMBER)


def make_token(user: User, name: str = "for the test", **fields: Any) -> str:
    """The secret of an API token that may read and change and has no end."""
    secret = f"gwt_{get_random_string(40, '0123456789abcdef')}"
    given = {"scope": Scope.WRITE, "created_at": NOW, **fields}
    ApiToken.objects.create(user=user, name=name, digest=digest_of(secret), **given)
    return secret


def make_session(user: User) -> str:
    """The key of a session of somebody who has signed in just now, without that row of the audit log."""
    session, now = SessionStore(), int(clock.now().timestamp())
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "console.accounts.backends.PasswordBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session[BEGAN] = session[SEEN] = now
    session.save()
    assert session.session_key
    return session.session_key


# --- What is configured -----------------------------------------------------------------------------------


def make_cluster(name: str = "dev", **fields: Any) -> Cluster:
    return Cluster.objects.create(name=name, **{"kind": "simulator", "observed_at": NOW, **fields})


def make_project(cluster: Cluster, code: str = "alpha", **fields: Any) -> Project:
    """Score 120: 40 / 1 * 3."""
    defaults = {"name": code.capitalize(), "size": 40.0, "grade": 1.0, "urgency": 3.0, "slurm_account": code}
    return Project.objects.create(cluster=cluster, code=code, **{**defaults, **fields})


def make_task_pattern(project: Project, pattern: str = "alpha_eval*", **fields: Any) -> TaskPattern:
    return TaskPattern.objects.create(project=project, pattern=pattern, **{"importance": 2.0, **fields})


def policy_document(name: str = "x", **keys: Any) -> dict[str, Any]:
    """A partition's entry of the priority file, without `admins`; `keys` replace or add."""
    document: dict[str, Any] = {
        "name": name,
        "mode": "user_then_task",
        "enforcement": "shadow",
        "levels": [
            {"name": "P0", "min_score": 60, "keyword": "p0"},
            {"name": "P1", "min_score": 20, "keyword": "p1"},
        ],
        "quotas": {"P0": 1, "P1": 3},
        "over_quota": "lowest",
        "user_overrides": {"carol": "P0"},
        "task_overrides": {"release_*": "P0"},
        "bands": None,
        "victim_order": "shortest_runtime",
        "exempt_s": 0,
        "asked_to_save": "who_saves",
        "grace_s": 30,
        "checkpoint_signal": "USR1",
        "max_preemptions_per_job": 3,
        "not_requeueable": "requeue",
        "cancel_notice_s": 600,
        "no_requeue_users": [],
    }
    return {**document, **keys}


def make_partition(cluster: Cluster, name: str = "x", **policy: Any) -> Partition:
    """A partition with its policy in force, revision 1; `policy` replaces keys of `policy_document`."""
    partition = Partition.objects.create(cluster=cluster, name=name)
    partition.revision = make_revision(partition, **policy)
    partition.save(update_fields=["revision"])
    return partition


def make_revision(partition: Partition, number: int = 1, **policy: Any) -> PolicyRevision:
    """A revision; it is not put in force."""
    document = policy_document(partition.name, **policy)
    return PolicyRevision.objects.create(
        partition=partition,
        number=number,
        document=document,
        enforcement=document["enforcement"],
        author="ada",
        reason="For the test",
    )


def put_in_force(partition: Partition, **policy: Any) -> PolicyRevision:
    """A revision that is the next in force."""
    number = partition.revisions.count() + 1
    partition.revision = make_revision(partition, number, **policy)
    partition.save(update_fields=["revision"])
    return partition.revision


# --- What is observed -------------------------------------------------------------------------------------


def make_observed_partition(cluster: Cluster, name: str = "x", state: str = "UP") -> ClusterPartition:
    return ClusterPartition.objects.create(cluster=cluster, name=name, state=state)


def make_node(cluster: Cluster, name: str = "n1", **fields: Any) -> Node:
    defaults = {"up": True, "state": "IDLE", "total": {"cpu": 8, "gpu": 8, "mem": 64000}, "partitions": ["x"]}
    return Node.objects.create(cluster=cluster, name=name, **{**defaults, **fields})


def make_job(cluster: Cluster, job_id: str = "101", **fields: Any) -> Job:
    """A job that waits for 4 CPUs in partition x; see `make_running_job`."""
    defaults: dict[str, Any] = {
        "partition": "x",
        "name": "p1_train",
        "user": "ann",
        "account": "alpha",
        "phase": JobPhase.PENDING,
        "slurm_state": "PENDING",
        "slurm_reason": "Resources",
        "submit": EPOCH - 600,
        "request": {"nodes": 1, "per_node": {"cpu": 4}},
        "resources": "4 cpu",
        "fingerprint": get_random_string(32),
    }
    given = {**defaults, **fields}
    lived = {"first_submit": given["submit"], "waits_since": given["submit"]}
    return Job.objects.create(cluster=cluster, job_id=job_id, **{**lived, **given})


def make_running_job(cluster: Cluster, job_id: str = "88", **fields: Any) -> Job:
    """A job that has held 4 CPUs of node n1 for five minutes."""
    running: dict[str, Any] = {
        "phase": JobPhase.RUNNING,
        "slurm_state": "RUNNING",
        "slurm_reason": "",
        "start": EPOCH - 300,
        "alloc": {"n1": {"cpu": 4}},
    }
    return make_job(cluster, job_id, **{**running, **fields})


def make_expected_start(job: Job, in_s: int = 2400, **fields: Any) -> ExpectedStart:
    """What is expected of a waiting job: from 15 minutes to 2 hours from now, unless told otherwise."""
    now = int(clock.now().timestamp())
    said = {"p50": now + in_s, "low": now + 900, "high": now + 7200, **fields}
    first = {f"first_{name}": said[name] for name in ("p50", "low", "high")}
    return ExpectedStart.objects.create(
        cluster=job.cluster, job_id=job.job_id, submit=job.first_submit or job.submit, partition=job.partition,
        made_at=now, first_at=now, **said, **first,
    )  # fmt: skip


# --- What is decided --------------------------------------------------------------------------------------


def make_cycle(cluster: Cluster, number: int = 1, **fields: Any) -> Cycle:
    defaults = {"started_at": NOW, "finished_at": NOW, "outcome": CycleOutcome.OK}
    return Cycle.objects.create(cluster=cluster, number=number, **{**defaults, **fields})


def make_plan(cycle: Cycle, job_id: str = "101", **fields: Any) -> Plan:
    """A proposed plan that would stop job 88 for `job_id`."""
    defaults: dict[str, Any] = {
        "cluster": cycle.cluster,
        "partition": "x",
        "enforcement": "enforce",
        "mode": "user_then_task",
        "job_name": "p1_train",
        "user": "ann",
        "reason": "lower_user",
        "explain": "101 (ann, P0) needs 4 cpu on one node; 88 (bob, P1) gives them.",
        "placement": {"n1": {"cpu": 4}},
        "victims": [{"job": "88", "how": "requeue"}],
        "created_at": NOW,
    }
    plan = Plan.objects.create(cycle=cycle, job_id=job_id, **{**defaults, **fields})
    if plan.awaits_decision:
        keep_version(plan)
    return plan


def renew_plan(plan: Plan, victims: list[dict[str, Any]], *ended: str) -> Plan:
    """The same request with other victims. `ended`: which of those before have ended."""
    plan.version, plan.victims, plan.renewed_at = plan.version + 1, victims, clock.now()
    plan.save()
    keep_version(plan, ended)
    return plan


def make_action(plan: Plan, kind: str = "requeue_hold", **fields: Any) -> PlannedAction:
    """What `plan` does to job 88's present run."""
    defaults: dict[str, Any] = {
        "cluster": plan.cluster,
        "order": 20,
        "job_id": "88",
        "run_start": EPOCH - 300,
        "job_name": "p2_train",
        "user": "bob",
    }
    return PlannedAction.objects.create(plan=plan, kind=kind, **{**defaults, **fields})


def make_incident(plan: Plan, **fields: Any) -> Incident:
    """A run that `plan` has stopped and that did not come back: job 88, a later run each time."""
    words = "It is gone, and nobody can tell what became of it."
    victim = Victim.objects.create(
        plan=plan, cluster=plan.cluster, job_id="88", run_start=EPOCH - 300, run_restarts=Victim.objects.count(),
        user="bob", fate=Fate.LOST, words=words, sent_at=NOW,
    )  # fmt: skip
    defaults = {"partition": plan.partition, "job_id": "88", "user": "bob", "plan": plan.pk, "words": words}
    return Incident.objects.create(
        cluster=plan.cluster, victim=victim, kind="gone", beneficiary=plan.job_id, opened_at=NOW,
        **{**defaults, **fields},
    )  # fmt: skip


def make_power_incident(cluster: Cluster, node: str, **fields: Any) -> PowerIncident:
    """The third GPU of a node is 18 % slower than its 31 siblings."""
    known: dict[str, Any] = {
        "resource": "gpu", "device": 2, "kind": "far", "figure": 11.8, "figure_at": NOW, "usual": 10.0, "share": 0.18,
        "siblings": 31, "opened_at": NOW,
    }  # fmt: skip
    return PowerIncident.objects.create(cluster=cluster, node=node, **{**known, **fields})


# --- Forecasts --------------------------------------------------------------------------------------------


def make_forecast(cluster: Cluster, job_id: str, **fields: Any) -> JobForecast:
    """Of a run time of about an hour, between a quarter of one and four."""
    known: dict[str, Any] = {
        "submit": 0, "partition": "x", "user": "ann", "nodes": 1, "cpus": 1, "gpus": 0, "made_at": NOW,
        "p10": 1800, "p50": 3600, "p90": 7200, "low": 900, "high": 14400,
    }  # fmt: skip
    return JobForecast.objects.create(cluster=cluster, job_id=job_id, **{**known, **fields})
