"""`scontrol show config` decoded: what the reading depends on, and facts for people."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scheduler.adapters.slurm.holds import REQUEUE_DELAY_S

_LINE = re.compile(r"^([A-Za-z_][\w]*)\s*= ?(.*)$", re.MULTILINE)
_TAKEN = re.compile(r"^Configuration data as of (\S+)", re.MULTILINE)
_CRED_EXPIRE = re.compile(r"\bcred_expire=(\d{1,6})\b")

_MODELLED = frozenset({
    "CR_CPU", "CR_CPU_MEMORY", "CR_CORE", "CR_CORE_MEMORY", "CR_MEMORY", "CR_LINEAR", "CR_ONE_TASK_PER_CORE",
    "MULTIPLE_SHARING_GRES_PJ", "ENFORCE_BINDING_GRES", "ONE_TASK_PER_SHARING_GRES",
    # Which nodes and cores come first.
    "CR_CORE_DEFAULT_DIST_BLOCK", "CR_LLN", "CR_PACK_NODES", "LL_SHARED_GRES",
    "NONE", "OTHER_CONS_RES", "OTHER_CONS_TRES",
})  # fmt: skip
"""Words of SelectTypeParameters with which it is known what a job needs."""

FACTS = (
    "SelectType", "SelectTypeParameters", "PriorityType", "PreemptType", "PreemptMode", "JobRequeue", "KillWait",
    "SchedulerType", "SchedulerParameters", "AccountingStorageType", "AccountingStorageTRES", "GresTypes",
    "MinJobAge", "PrivateData", "SlurmctldHost[0]", "SlurmctldParameters", "SlurmUser",
)  # fmt: skip
"""The settings that matter for making room, told by `describe()`."""


@dataclass(frozen=True, slots=True)
class Config:
    """What the reading needs to know. `skew_s`: slurmctld's clock minus ours, in whole seconds.

    `memory_counts`: memory is given out by Slurm, so jobs hold shares of it; otherwise it is no resource at all.
    `whole_nodes`: every job gets its nodes as a whole. `by_core`: CPUs are given out in whole cores. `topology`: the
    plugin that knows the network. `requeue_delay_s`: how long a requeued job waits before it may start. `select`: the
    words of SelectTypeParameters. `job_defaults`: what jobs with GPUs get that ask for nothing else. `odd`: what of
    the way in which jobs are placed is not modelled, in words with the setting itself.
    """

    cluster: str
    version: str = ""
    memory_counts: bool = True
    whole_nodes: bool = False
    by_core: bool = True
    skew_s: int = 0
    facts: Mapping[str, str] | None = None
    topology: str = ""
    requeue_delay_s: int = REQUEUE_DELAY_S
    select: frozenset[str] = frozenset()
    job_defaults: str = ""
    odd: tuple[str, ...] = ()

    @property
    def in_blocks(self) -> bool:
        """Whether a job of several nodes has to be within one block of the network, where it is not larger."""
        return self.topology == "topology/block"

    @property
    def tells_segments(self) -> bool:
        """Whether scontrol shows `--segment`: 24.11 has it and does not."""
        return not self.version.startswith("24.")

    @property
    def gpus_mind_shares(self) -> bool:
        """Whether a whole GPU is given out only where no shares of it are (`cards`)."""
        return not self.version.startswith("22.")

    @property
    def shows_arbitrary(self) -> bool:
        """Whether a job that lays out its own tasks (`-m arbitrary`) is seen to: 22.05 and 24.11 do not tell."""
        return self.version.startswith("26.")

    @property
    def refuses_what_never_starts(self) -> bool:
        """Whether a job is refused whose number of tasks can never be met. Later releases let it wait for ever, and
        tell it just as one that names no number of tasks: `-n1 --gpus=12` as `--gpus=12`, which does start."""
        return self.version.startswith("22.")


def decode(out: str, asked: tuple[float, float], taken: int | None) -> Config:
    """The configuration in an answer of scontrol. `asked`: our clock before and after; `taken`: slurmctld's, if told.

    Raises ValueError when it is not one.
    """
    words = words_of(out)
    if "ClusterName" not in words or "SelectType" not in words:
        raise ValueError("scontrol's configuration does not name the cluster")
    kind, parameters = words["SelectType"], words.get("SelectTypeParameters", "").upper()
    select = frozenset(filter(None, (word.strip() for word in parameters.split(","))))
    return Config(
        cluster=words["ClusterName"],
        version=words.get("SLURM_VERSION", ""),
        memory_counts="MEMORY" in parameters,
        whole_nodes=kind.endswith("/linear"),
        by_core="CORE" in parameters or "SOCKET" in parameters,
        skew_s=0 if taken is None else _skew(asked, taken),
        facts={name: words[name] for name in FACTS if name in words},
        topology=words.get("TopologyPlugin", ""),
        requeue_delay_s=_requeue_delay(words.get("AuthInfo", "")),
        select=select,
        job_defaults=words.get("JobDefaults", ""),
        odd=tuple(_odd(words, select)),
    )


def _odd(words: Mapping[str, str], select: frozenset[str]) -> Iterator[str]:
    for name in sorted(select - _MODELLED):
        yield f"CPUs are given out in a way that is not modelled (SelectTypeParameters={name[:30]})"
    if words.get("MaxMemPerCPU", "UNLIMITED") not in {"UNLIMITED", "0"}:
        yield f"CPUs are given for memory (MaxMemPerCPU={words['MaxMemPerCPU'][:30]})"
    if "extra_constraints" in words.get("SchedulerParameters", ""):
        yield "nodes may be limited by --extra (SchedulerParameters=extra_constraints)"
    labels = {word.strip() for word in words.get("MCSParameters", "").lower().split(",")}
    if not words.get("MCSPlugin", "mcs/none").endswith("none") and "select" in labels:
        yield "nodes are kept for one security label (MCSParameters=select)"


def _requeue_delay(auth_info: str) -> int:
    """Slurm has a requeued job wait until the credential of its last run is worth nothing any more."""
    told = _CRED_EXPIRE.search(auth_info)
    return int(told[1]) + 1 if told else REQUEUE_DELAY_S


def _skew(asked: tuple[float, float], taken: int) -> int:
    """No difference where there need not be one: an answer that took long was given at any time meanwhile."""
    before, after = asked
    if before - 1 < taken <= after:  # told in whole seconds, cut
        return 0
    skew = round(taken - (before + after) / 2)
    # One second is the resolution of the answer, not a difference of clocks.
    return skew if abs(skew) > 1 else 0


def words_of(out: str) -> dict[str, str]:
    """All settings in an answer of scontrol, as it prints them; without those that are not set."""
    words = {match[1]: match[2].strip() for match in _LINE.finditer(out)}
    return {name: value for name, value in words.items() if value not in {"", "(null)"}}


def taken_word(out: str) -> str:
    """The word that says when slurmctld answered."""
    match = _TAKEN.search(out)
    return match[1] if match else ""
