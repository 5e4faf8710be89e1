"""A benchmark as it is given to a cluster: a job of its own, on one node, out of everybody's way."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`script`: what the batch job runs. `amount`: so much of the resource it takes from the node, which it has to
    itself; 0 for CPUs. `limit_s`: its time limit; `wait_s`: it is given up when it has not begun by then."""

    name: str
    partition: str
    node: str
    script: str
    amount: int = 0
    resource: str = "gpu"
    limit_s: int = 600
    wait_s: int = 60
