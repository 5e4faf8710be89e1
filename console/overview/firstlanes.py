"""What the lane chart shows first: asked for by the page's head, or, of many nodes, sent within the page itself."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from django.utils.safestring import SafeString

from console.cluster.selectors import SeenNode
from console.core import clock
from console.partitions.models import Partition
from console.reports.lane_json import written_lanes
from console.reports.lane_part import MANY
from console.reports.lanes import read_lanes, usual_window

FIRST_S = 1800
"""The chart's first view reaches so far back and ahead, and its question as far again: `js/lanes/source.js`."""
ROUND_S, SLACK_S = 300, 60
TALL, TALL_OF_UNITS = 14, 19
"""So many lanes fill the chart; the second where there are many (`js/lanes/data.js`)."""
_IN_SCRIPT = {"<": "\\u003C", ">": "\\u003E", "&": "\\u0026"}
"""As `django.utils.html.json_script` has it: nothing that people have named ends the script."""


class FirstLanes(NamedTuple):
    """From when to when, epoch seconds; `rows`: of many nodes no more than is seen, else None."""

    start: int
    end: int
    rows: int | None

    @classmethod
    def of(cls, nodes: int) -> Self:
        """Of a partition with so many."""
        now, is_many = int(clock.now().timestamp()), nodes > MANY
        beyond = SLACK_S if is_many else FIRST_S
        start, end = now - FIRST_S - beyond, now + FIRST_S + beyond
        return cls(
            start // ROUND_S * ROUND_S, -(-end // ROUND_S) * ROUND_S, TALL_OF_UNITS + 1 if is_many else None
        )

    @property
    def query(self) -> str:
        """As the API is asked."""
        rows = "" if self.rows is None else f"&rows={self.rows}"
        return f"from={self.start}&to={self.end}{rows}"

    def script(self, partition: Partition, nodes: Sequence[SeenNode]) -> SafeString:
        """What the API would answer, for the chart's scripts to be found in the page. `nodes`: the partition's."""
        found = read_lanes(partition, usual_window(self.start, self.end), self.rows, nodes)
        text = b"".join(written_lanes(partition, found).pieces).decode()
        for sign, written in _IN_SCRIPT.items():
            text = text.replace(sign, written)
        return SafeString(f'<script type="application/json" id="lanes-first">{text}</script>')
