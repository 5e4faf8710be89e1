"""What a pending job asks for, as a `Request`: exact where Slurm's rules allow it, else stricter, never looser.

A plan stops jobs, so a request must describe room in which the job surely starts:

1. As many nodes as the job says (`-N`, `-w`, `--ntasks-per-node`): each gives the largest share of the tasks.
2. No number of nodes, every task one CPU, memory counted per CPU: the tasks may go anywhere: a spread. A node that has
   CPUs but no memory for them takes none of its tasks: it comes in parts, each a core with its memory.
3. No number of nodes, but tasks of several CPUs, memory per node, GPUs, CPUs per GPU or whole nodes:
   Slurm would take any nodes on which the pieces fit. That cannot be said as a spread (half a task is no use), so
   the fewest nodes that can hold it are asked for, with equal shares.
   A node on which a job is runs a task of it: there are never more nodes than tasks. `-n1 --gpus=12` wants one node
   with 12 GPUs, and where there is none it waits for ever.
4. More tasks than CPUs (`-O`, `--overcommit`): Slurm gives each node one CPU, however many tasks are to share it. It
   tells so by the TRES alone; its number of nodes is an estimate then, even where there is a -N.
5. Cores are given out whole. A job that uses fewer threads of a core than there are (`--hint=nomultithread`), or puts
   one task on each, gets more CPUs than it asks for; memory per CPU counts those that it can use.
6. What cannot be said at all (odd constraints, switches, sockets, …) makes the job unplannable, and so does what is not
   modelled of its partition or of the way in which the cluster gives out CPUs.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scheduler.adapters.slurm import constraints, values
from scheduler.adapters.slurm.cards import SHARES, Cards, ways_of
from scheduler.adapters.slurm.config import Config
from scheduler.adapters.slurm.constraints import Constraint
from scheduler.adapters.slurm.details import Detail
from scheduler.adapters.slurm.nodes import NodeLayout, PartitionLimits
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.jobs import Request
from scheduler.model.resources import Amounts, add, covers


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """What the cluster is made of, as far as jobs' shapes depend on it.

    `totals` and `of_partition` (names of nodes) tell how large nodes are; jobs of `exclusive` partitions get whole
    nodes, those of `sharing` ones share their CPUs, those of `may_share` ones if they want to. `layouts`: of nodes;
    `limits`: of partitions; `active`: features of the nodes that take jobs; `largest_unit`: nodes of one unit.
    """

    config: Config
    totals: Mapping[str, Amounts] = field(default_factory=dict)
    of_partition: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclusive: frozenset[str] = frozenset()
    sharing: frozenset[str] = frozenset()
    may_share: frozenset[str] = frozenset()
    layouts: Mapping[str, NodeLayout] = field(default_factory=dict)
    limits: Mapping[str, PartitionLimits] = field(default_factory=dict)
    active: Mapping[str, frozenset[str]] = field(default_factory=dict)
    largest_unit: int = 0
    _kinds: dict[tuple[str, ...], list[Amounts]] = field(default_factory=dict, compare=False, repr=False)
    _threads: dict[tuple[str, ...], Collection[int]] = field(default_factory=dict, compare=False, repr=False)
    _cards: Mapping[str, Cards] | None = field(default=None, compare=False, repr=False)
    _unfit: dict[tuple[tuple[str, ...], int, int], frozenset[str]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def kinds(self, partitions: tuple[str, ...]) -> list[Amounts]:
        """The nodes of these partitions, one of each size: a few, and thousands of jobs ask."""
        known = self._kinds.get(partitions)
        if known is None:
            names = self.nodes_of(partitions)
            sizes = {frozenset(self.totals[name].items()) for name in names if name in self.totals}
            known = self._kinds[partitions] = [dict(size) for size in sizes]
        return known

    def nodes_of(self, partitions: Collection[str]) -> set[str]:
        """The names of the nodes of some partitions."""
        return {name for partition in partitions for name in self.of_partition.get(partition, ())}

    def threads_of(self, partitions: tuple[str, ...]) -> Collection[int]:
        """How many CPUs are given out together on the nodes of these partitions: those of one core."""
        known = self._threads.get(partitions)
        if known is None:
            there = {self.layouts.get(name, _PLAIN).threads for name in self.nodes_of(partitions)}
            known = self._threads[partitions] = (there or {1}) if self.config.by_core else {1}
        return known

    def unfit(self, partitions: tuple[str, ...], tmp_disk: int, mem_per_cpu: int) -> frozenset[str]:
        """The nodes of these partitions that keep cores for GPUs, have less disk, or less memory for all their CPUs."""
        key = partitions, tmp_disk, mem_per_cpu
        if key not in self._unfit:
            self._unfit[key] = frozenset([
                name
                for name in self.nodes_of(partitions)
                if (layout := self.layouts.get(name, _PLAIN)).restricted
                or layout.tmp_disk < tmp_disk
                or mem_per_cpu * (total := self.totals.get(name, {})).get("cpu", 0) > total.get("mem", 0)
            ])  # fmt: skip
        return self._unfit[key]

    def shares_limited_nodes(self, partitions: Collection[str]) -> bool:
        """Whether other partitions have nodes of these too, on a release that counts their jobs in one order only."""
        if not self.config.version.startswith("24."):
            return False
        own = self.nodes_of(partitions)
        return any(
            own.intersection(nodes) for name, nodes in self.of_partition.items() if name not in partitions
        )

    def has_cards(self, names: Iterable[str]) -> bool:
        """Whether some of these nodes have GPUs that are given out in shares too."""
        return any(name in self.cards for name in names)

    @property
    def cards(self) -> Mapping[str, Cards]:
        """By node, its GPUs that are given out in shares too."""
        if self._cards is None:
            known = {name: layout.cards for name, layout in self.layouts.items() if layout.cards}
            object.__setattr__(self, "_cards", known)
            return known
        return self._cards

    def whole_nodes(self, row: QueueRow) -> bool:
        """Whether the job shares its nodes with nobody (or only with its own user's jobs)."""
        return self.config.whole_nodes or self.keeps_nodes(row)

    def shares_cpus(self, row: QueueRow) -> bool:
        """Whether the job shares its CPUs with others that want to."""
        return row.shares and bool(self.may_share.intersection(row.partitions))

    def keeps_nodes(self, row: QueueRow) -> bool:
        """The same, by its own words or its partition's."""
        return row.alone or bool(self.exclusive.intersection(row.partitions))


_PLAIN = NodeLayout()


@dataclass(frozen=True, slots=True)
class _Wish:
    """A pending job's wishes, decoded. Memory in MB; `mem_per_node` 0 is all that the node has."""

    row: QueueRow
    detail: Detail
    room: ClusterShape
    tasks: int
    per_task: int
    per_node_gres: Mapping[str, int]
    per_job_gres: Mapping[str, int]
    per_task_gres: Mapping[str, int]
    cpus_per_gres: Mapping[str, int]
    mem_per_gres: Mapping[str, int]
    whole: bool
    over: bool
    """Whether tasks share CPUs."""
    threads: int
    """The CPUs of a core: of cores of different kinds the fewest, which is the right rounding everywhere."""
    most_threads: int

    @property
    def anywhere(self) -> bool:
        """Whether its pieces are so small that any nodes will do."""
        memory = self.room.config.memory_counts and not (self.detail.mem_per_cpu or self.detail.mem_per_tres)
        gres = self.per_node_gres or self.per_job_gres or self.per_task_gres
        bound = gres or self.cpus_per_gres or self.mem_per_gres
        several = self.per_task > 1 or self.over
        return self.tasks > 1 and not (several or memory or self.whole or bound)

    @property
    def used_threads(self) -> int:
        """How many CPUs of a core it can use."""
        return min(self.detail.threads_per_core or self.threads, self.threads)

    @property
    def is_alone_on_cores(self) -> bool:
        """Whether no two of its tasks are on one core."""
        each = self.detail.tasks_per_core == 1 or "CR_ONE_TASK_PER_CORE" in self.room.config.select
        return each and self.threads > 1

    def cpus(self, count: int, tasks: int) -> int:
        """The CPUs that it can use when it asks for so many, for so many tasks: whole cores."""
        used = self.used_threads
        if self.is_alone_on_cores:
            count = max(count, tasks * values.ceil_share(self.per_task, used) * used)
        return values.ceil_share(count, used) * used

    @property
    def starts_with_any_tasks(self) -> bool:
        """Whether its number of tasks can be met, or it would not be there."""
        return self.room.config.refuses_what_never_starts

    @property
    def most_nodes(self) -> int:
        """On how many nodes it can be: each runs a task."""
        if self.tasks == 1 and self.starts_with_any_tasks:
            # It named no number of tasks, or it would not be there; then Slurm takes as many as it takes nodes.
            return max(1, values.largest(self.per_job_gres.values()))
        return self.tasks


def request_of(row: QueueRow, detail: Detail, room: ClusterShape) -> tuple[Request, str]:
    """The request of a pending job, and why it cannot be planned for (empty: it can). Raises ValueError."""
    wish = _wish(row, detail, room)
    nodes = _nodes_asked(wish)
    spread = nodes is None and wish.anywhere
    count = 0 if spread else (nodes or _fewest_nodes(wish))
    constraint = constraints.decode(row.feature).on(count)
    problems = [*_problems(row, detail, nodes), *_odd_tasks(wish), *_odd_cluster(wish, count, constraint)]
    never = _unfit_nodes(wish)
    if never and never >= room.nodes_of(row.partitions) - frozenset(detail.exc_nodes):
        problems.append(
            "its nodes have cores that are kept for GPUs (RestrictedCoresPerGPU) or lack what it asks for"
        )
    if room.sharing.intersection(row.partitions):
        # A full node takes more of them, up to a number; those are not counted here.
        problems.append("its partition has jobs share CPUs (OverSubscribe=FORCE)")
    if room.shares_cpus(row):
        problems.append("it shares CPUs with others (OverSubscribe=YES)")
    if wish.over and (wish.per_task > 1 or wish.per_job_gres or wish.per_task_gres):
        problems.append(
            "it has tasks share CPUs (--overcommit) and asks for CPUs or GPUs for each or all of them"
        )
    if not constraint.understood:
        problems.append(f"it has the constraint {row.feature[:60]}")
    elif constraint.counted and not (detail.tasks_per_node or wish.whole or wish.starts_with_any_tasks):
        # A group of nodes is tried with all its tasks: `-N2 -n2` waits for ever, `-N2` alone starts.
        problems.append("it counts nodes by their features without --ntasks-per-node, which may never start")
    per_node = {} if spread else _share(wish, count)
    one_of, odd_cards = _cards(wish, per_node, never)
    problems += odd_cards
    if one_of and constraint.counted:
        problems.append("it counts nodes by their features, and asks for GPUs that are shared")
    request = Request(
        nodes=count,
        per_node=per_node,
        spread=_sum(wish) if spread else {},
        parts=_parts(wish) if spread else 0,
        features=constraint.features,
        any_of=constraint.any_of,
        same_of=constraint.same_of,
        counted=constraint.counted,
        only_nodes=frozenset(detail.req_nodes),
        not_nodes=frozenset(detail.exc_nodes) | never,
        exclusive=wish.whole,
        one_of=tuple(one_of),
        in_unit=room.config.in_blocks and count > 1,
    )
    return request, "; ".join(problems)


def _wish(row: QueueRow, detail: Detail, room: ClusterShape) -> _Wish:
    per_node = not (detail.mem_per_cpu or detail.mem_per_tres)
    all_memory = room.config.memory_counts and per_node and detail.mem == 0
    over = _overcommits(row, detail)
    threads = room.threads_of(row.partitions)
    return _Wish(
        row,
        detail,
        room,
        tasks=values.number(values.tres(row.tres)["node"]) if over else max(1, detail.tasks),
        per_task=max(1, detail.cpus_per_task),
        per_node_gres=values.gres(row.per_node),
        per_job_gres=values.gres(row.per_job),
        per_task_gres=values.gres(row.per_task),
        cpus_per_gres=values.gres(row.cpus_per_tres),
        mem_per_gres=values.gres(row.mem_per_tres),
        # --mem=0: nobody else can be on a node of which one job has all the memory.
        whole=room.whole_nodes(row) or all_memory,
        over=over,
        threads=min(threads),
        most_threads=max(threads),
    )


def _overcommits(row: QueueRow, detail: Detail) -> bool:
    """Whether a job has more tasks than CPUs. `--cpus-per-gpu` counts CPUs in another way."""
    told = values.tres(row.tres)
    if detail.tasks <= 1 or values.gres(row.cpus_per_tres) or not told.keys() >= {"cpu", "node"}:
        return False
    return values.number(told["cpu"]) < detail.tasks


def _nodes_asked(wish: _Wish) -> int | None:
    """The number of nodes that follows from the job's own words; None when it leaves that to Slurm."""
    detail = wish.detail
    # Without -N squeue's and scontrol's number of nodes is an estimate; the requested TRES have the real minimum.
    told = values.tres(wish.row.tres).get("node")
    least = values.number(told) if told else detail.min_nodes
    if wish.over:
        return max(least, len(detail.req_nodes))
    if detail.max_nodes is not None and _is_limit(detail.min_nodes, detail.max_nodes, least, wish.tasks):
        if detail.min_nodes > 1 or detail.max_nodes == 1:
            return detail.min_nodes
        return min(detail.max_nodes, wish.tasks)
    if detail.tasks_per_node:
        return max(values.ceil_share(wish.tasks, detail.tasks_per_node), len(detail.req_nodes))
    if detail.req_nodes:
        return max(len(detail.req_nodes), least, _fewest_nodes(wish))
    if least > 1:
        return least
    return 1 if wish.most_nodes == 1 else None


def _is_limit(least: int, most: int, requested: int, tasks: int) -> bool:
    """Whether the user wrote the numbers of nodes that scontrol tells as `least-most`.

    Slurm 26.05 makes up the most (a node for each task) where there is no -N, and so does 24.11 of a job that was
    submitted with --hold (the estimate again). Such a least is more than what the TRES ask for.
    """
    if least != requested:
        return False
    return most == 1 or most < tasks or least > 1


def _fewest_nodes(wish: _Wish) -> int:
    """Rule 3: as few nodes as can hold the tasks and the GPUs, given the nodes that there are. Where none can, as many
    as it may have at most: each would have to give more than there is, and nobody is stopped for that."""
    kinds = wish.room.kinds(wish.row.partitions)

    def fitting(nodes: int) -> int:
        share = _share(wish, nodes)
        return sum(covers(kind, share) for kind in kinds)

    return bisect_left(range(1, wish.most_nodes), 1, key=fitting) + 1


def _share(wish: _Wish, nodes: int) -> dict[str, int]:
    """What each of so many nodes has to give: the largest share."""
    tasks = values.ceil_share(wish.tasks, nodes)
    gres: dict[str, int] = {}
    add(gres, wish.per_node_gres)
    add(gres, {name: values.ceil_share(amount, nodes) for name, amount in wish.per_job_gres.items()})
    add(gres, {name: tasks * amount for name, amount in wish.per_task_gres.items()})
    return _amounts(wish, max(tasks * wish.per_task, wish.detail.min_cpus), gres, tasks)


def _sum(wish: _Wish) -> dict[str, int]:
    """What the nodes have to give together."""
    return _amounts(wish, wish.tasks, {}, wish.tasks)


def _parts(wish: _Wish) -> int:
    """How many equal parts that comes in: cores, with their memory; 0 where nothing but CPUs is counted."""
    amounts = _sum(wish)
    return amounts["cpu"] // wish.threads if len(amounts) > 1 else 0


def _amounts(wish: _Wish, cpus: int, gres: Mapping[str, int], tasks: int) -> dict[str, int]:
    by_gres = [each * gres.get(name, 0) for name, each in wish.cpus_per_gres.items()]
    used = wish.cpus(max(cpus, *by_gres, 1), tasks)
    amounts = {"cpu": used // wish.used_threads * wish.threads}
    if wish.room.config.memory_counts:
        per = wish.detail.mem or 0
        mem = per * used if wish.detail.mem_per_cpu else per
        by_gres = [each * gres.get(name, 0) for name, each in wish.mem_per_gres.items()]
        # --mem-per-gpu stands in place of the partition's default, which is told beside it.
        amounts["mem"] = max(by_gres, default=mem)
    amounts.update(gres)
    return {name: amount for name, amount in amounts.items() if amount}


def _cards(wish: _Wish, per_node: Amounts, never: frozenset[str]) -> tuple[list[dict[str, int]], list[str]]:
    """In which ways nodes could give the GPUs, or shares of GPUs, that it asks for; and why that cannot be said."""
    room = wish.room
    if wish.whole and any(per_node.get(kind) for kind in SHARES):
        # Slurm gives all GPUs of a whole node, and then there are no shares: it waits for ever (26.05.5).
        return [], ["it asks for whole nodes and for shares of their GPUs"]
    if wish.whole or not room.cards:  # Of a node that is empty every card is free.
        return [], []
    try:
        there = room.nodes_of(wish.row.partitions) - never
        return ways_of(per_node, room.cards, there, gpus_mind=room.config.gpus_mind_shares), []
    except ValueError as error:
        return [], [str(error)]


def _unfit_nodes(wish: _Wish) -> frozenset[str]:
    """Nodes on which it might not start in the room that its request describes."""
    # All CPUs of a whole node count, also those that the job has not asked for.
    counts = wish.whole and wish.detail.mem_per_cpu and wish.room.config.memory_counts
    fit = wish.room.unfit(wish.row.partitions, wish.detail.tmp_disk, wish.detail.mem or 0 if counts else 0)
    asked = {**wish.per_node_gres, **wish.per_job_gres, **wish.per_task_gres}
    if not asked.keys() & {"gpu", *SHARES}:
        return fit
    layouts = wish.room.layouts
    return fit | {
        name for name in wish.room.nodes_of(wish.row.partitions) if layouts.get(name, _PLAIN).odd_cards
    }


def _odd_tasks(wish: _Wish) -> Iterator[str]:
    """What of its tasks and cores a request cannot say, in words for people."""
    detail, config = wish.detail, wish.room.config
    odd_threads = detail.threads_per_core and detail.threads_per_core != wish.most_threads
    odd_tasks = detail.tasks_per_core and detail.tasks_per_core < wish.most_threads
    if not config.by_core and (detail.threads_per_core or detail.tasks_per_core):
        yield "it asks for threads or tasks of a core, where CPUs are given out one by one (CR_CPU)"
    elif "CR_ONE_TASK_PER_CORE" in config.select and not config.by_core:
        yield "tasks have cores of their own, where CPUs are given out one by one (CR_ONE_TASK_PER_CORE)"
    elif (odd_threads or odd_tasks or wish.is_alone_on_cores) and wish.threads != wish.most_threads:
        yield "it asks for threads or tasks of a core, and its nodes have cores of different kinds"
    elif detail.threads_per_core > wish.threads:
        yield "it asks for more threads of a core than there are"
    elif odd_tasks and detail.tasks_per_core != 1:
        yield f"it asks for {detail.tasks_per_core} tasks on each core"
    elif odd_threads and wish.cpus_per_gres:
        yield "it asks for threads of a core and for CPUs for each GPU"  # 22.05 holds such a job.
    named = len(detail.req_nodes)
    untold = not config.shows_arbitrary and named > 1 and wish.tasks > named and not detail.tasks_per_node
    if detail.names_nodes_twice or untold:
        yield "it may lay out its tasks itself on the nodes that it names (--distribution=arbitrary)"


def _odd_cluster(wish: _Wish, count: int, constraint: Constraint) -> Iterator[str]:
    """What is not modelled of its partitions, or of the way in which the cluster places jobs."""
    room, config, names = wish.room, wish.room.config, wish.row.partitions
    yield from config.odd
    gres = {**wish.per_node_gres, **wish.per_job_gres, **wish.per_task_gres}
    limits = [room.limits[name] for name in names if name in room.limits]
    yield from dict.fromkeys(odd for limit in limits for odd in limit.odd)
    defaults = next((each.job_defaults for each in limits if each.job_defaults), config.job_defaults)
    if "gpu" in gres and defaults:
        yield f"jobs with GPUs get what they have not asked for (JobDefaults={defaults[:40]})"
    if gres and "ENFORCE_BINDING_GRES" in config.select:
        yield "GPUs and cores are of the same socket (SelectTypeParameters=ENFORCE_BINDING_GRES)"
    if gres.keys() & {"shard", "mps"} and config.select & _ODD_SHARING:
        yield f"shards are given out in another way (SelectTypeParameters={min(config.select & _ODD_SHARING)})"
    yield from _beyond_limits(wish, count, limits)
    if config.in_blocks and (
        not count or (count > 1 and not config.tells_segments) or count > room.largest_unit > 0
    ):
        yield "its nodes may have to be of one block, or in segments (TopologyPlugin=topology/block)"
    if constraint != _NO_CONSTRAINT:
        yield from _after_reboot(wish, constraint)


def _beyond_limits(wish: _Wish, count: int, limits: Iterable[PartitionLimits]) -> Iterator[str]:
    """What it asks for beyond the limits of its partitions, or gets because of them."""
    for limit in limits:
        if count and count < limit.min_nodes:
            yield f"it gets more nodes than it asks for (MinNodes={limit.min_nodes})"
        if limit.max_nodes is not None and (count or wish.tasks) > limit.max_nodes:
            yield f"it may get fewer nodes than it needs (MaxNodes={limit.max_nodes})"
        if limit.cpus_per_node is not None and (wish.whole or wish.most_threads > 1):
            what = "whole nodes" if wish.whole else "cores of several threads"
            yield f"it gets {what}, of which its partition uses a part (MaxCPUsPerNode={limit.cpus_per_node})"
        if limit.cpus_per_node is not None and wish.room.shares_limited_nodes(wish.row.partitions):
            # 24.11.5: four CPUs of one partition kept a job of another one, which has a limit too, from the rest.
            yield f"its partition uses a part of nodes that others use too (MaxCPUsPerNode={limit.cpus_per_node})"
        if limit.min_nodes > 1 and not count:
            yield f"it gets more nodes than it asks for (MinNodes={limit.min_nodes})"
        per_node = wish.detail.mem if not (wish.detail.mem_per_cpu or wish.detail.mem_per_tres) else None
        if limit.mem_per_node is not None and per_node is not None and not 0 < per_node <= limit.mem_per_node:
            yield f"it asks for more memory of a node than its partition gives (MaxMemPerNode={limit.mem_per_node})"


def _after_reboot(wish: _Wish, constraint: Constraint) -> Iterator[str]:
    """A feature that no node has now, and that some could change to."""
    room = wish.room
    wanted = constraint.features.union(
        *constraint.any_of, *constraint.same_of, *(one for _, one in constraint.counted)
    )
    there = room.nodes_of(wish.row.partitions)
    changeable = frozenset().union(*(room.layouts.get(name, _PLAIN).changeable for name in there))
    has = frozenset().union(*(room.active.get(name, frozenset()) for name in there))
    if missing := sorted((wanted & changeable) - has):
        yield f"nodes would have to be rebooted for the feature {missing[0][:40]}"


_NO_CONSTRAINT = Constraint()
_ODD_SHARING = frozenset({"MULTIPLE_SHARING_GRES_PJ", "ONE_TASK_PER_SHARING_GRES"})


def _problems(row: QueueRow, detail: Detail, nodes: int | None) -> Iterator[str]:
    """The wishes that a request cannot say, in words for people."""
    if row.het_id:
        yield "it is a part of a heterogeneous job"
    if detail.req_nodes and (nodes or 0) > len(detail.req_nodes):
        yield "it wants further nodes besides those it names"
    if detail.mem is None:
        yield "its memory is not told exactly"
    if detail.mem_per_tres and not values.gres(row.mem_per_tres):
        yield "its memory is told per resource, but not of which"
    for wish in detail.special:
        yield f"it asks for {wish}"
