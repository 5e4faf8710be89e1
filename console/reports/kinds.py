"""The resource that counts on a node, and how much of it a job could have."""

from collections.abc import Iterable, Mapping

from scheduler.model.resource_kinds import main_resource


def drawn_resource(total: Mapping[str, int], held: Iterable[Mapping[str, int]]) -> str:
    """What a node's bar counts: the main resource; CPUs while no job there holds any of it, so that jobs are seen."""
    main = main_resource(total)
    if main == "cpu":
        return main
    jobs = list(held)
    return "cpu" if jobs and "cpu" in total and not any(job.get(main) for job in jobs) else main


def lacks_cpus(total: Mapping[str, int], used: Mapping[str, int]) -> bool:
    """Whether all CPUs of a node are taken: then nothing starts there, however many GPUs are free."""
    cpus = total.get("cpu", 0)
    return 0 < cpus <= used.get("cpu", 0)
