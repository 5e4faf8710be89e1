"""Pieces of work, from both ends of the line (tests/plugins/sharing_out.py)."""

from collections.abc import Callable

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

OF, COMPUTES = 4, 1
"""Of so many processes, which one takes from the end."""


class BothEnds(LoadScopeScheduling):
    """`pieces` is asked once all processes have found their tests: of each test, the piece that it belongs to."""

    def __init__(
        self, config: pytest.Config, log: Producer | None, pieces: Callable[[], dict[str, str]]
    ) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # the line has its order
        self._read = pieces
        self._pieces: dict[str, str] = {}

    def schedule(self) -> None:
        self._pieces = self._pieces or self._read()
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._pieces[nodeid]

    def _assign_work_unit(self, node: WorkerController) -> None:
        if self.nodes.index(node) % OF == COMPUTES:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)
