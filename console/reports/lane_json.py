"""Lanes as JSON, written by hand: thousands of bars, of which few change from one answer to the next."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from console.core.pieces import GzipPieces, cut
from console.partitions.models import Partition
from console.reports.lane_bar import LaneBar
from console.reports.lanes import Lane, Lanes

SCHEMA = "giveway.lanes/1"
MOST_KEPT = 16
TOGETHER = 128
"""About so many bars are compressed together."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)
_LINE_ENDS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029"})


class _Kept:
    """Of a partition what its last answer, or that of some lanes, was made of: bars as JSON, and these compressed."""

    def __init__(self) -> None:
        self.texts: dict[int, tuple[LaneBar, bytes]] = {}
        self.lanes: tuple[list[Lane], bytes] = ([], b"[]")
        self.gzip = GzipPieces()

    def lanes_text(self, lanes: list[Lane]) -> bytes:
        """The lanes as JSON; the very list of the last answer is not written again."""
        if self.lanes[0] is not lanes:
            self.lanes = lanes, _json([lane._asdict() for lane in lanes])
        return self.lanes[1]

    def bars(self, bars: Sequence[LaneBar]) -> list[bytes]:
        """Each as JSON with a comma before it; the very bars of the last answer are not written again."""
        before = self.texts
        now = {}
        for bar in bars:
            known = before.get(id(bar))
            now[id(bar)] = known if known is not None and known[0] is bar else (bar, _written(bar))
        self.texts = now
        return [text for _bar, text in now.values()]


_kept: dict[tuple[int, bool], _Kept] = {}


class WrittenLanes(NamedTuple):
    """One text in pieces."""

    pieces: list[bytes]
    gzip: GzipPieces

    def compressed(self) -> bytes:
        """As one gzip file; what has not changed since the last one is not compressed again."""
        return self.gzip.compress(self.pieces)


def written_lanes(partition: Partition, found: Lanes) -> WrittenLanes:
    """What the API tells of the lanes of a partition."""
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    kept = _kept.setdefault((partition.pk, found.of_lanes is None), _Kept())
    first, *others = kept.bars(found.bars) or [b""]
    head, tail = _around(partition, found)
    lanes = kept.lanes_text(found.lanes) + b',"bars":[' + first[1:]
    return WrittenLanes([head, lanes, *cut(others, TOGETHER), tail], kept.gzip)


def _written(bar: LaneBar) -> bytes:
    return b"," + _json(dict(zip(LaneBar._fields, bar, strict=True)))


def _json(value: Any) -> bytes:
    """As the framework's renderer writes it."""
    return _ENCODER.encode(value).translate(_LINE_ENDS).encode()


def _around(partition: Partition, found: Lanes) -> tuple[bytes, bytes]:
    """What stands before the lanes and after the bars."""
    seen = partition.cluster.observed_at
    before = {
        "schema": SCHEMA,
        "partition": partition.name,
        "now": found.window.now,
        "observed": None if seen is None else int(seen.timestamp()),
        "start": found.window.start,
        "end": found.window.end,
        "levels": found.levels,
    }
    after = {
        "stops": [stop._asdict() for stop in found.stops],
        "checkpoints": [saved._asdict() for saved in found.checkpoints],
        "left_out": found.left_out,
        "unplaced": found.unplaced,
        "of_lanes": found.of_lanes,
    }
    return _json(before)[:-1] + b',"lanes":', b"]," + _json(after)[1:]
