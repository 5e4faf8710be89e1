"""A long answer in pieces, compressed: what has not changed since the last one is not compressed again, and what is
there is sent before the rest is."""

import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from secrets import randbelow

_HEAD = struct.Struct("<4BL2B")
_TAIL = struct.Struct("<2L")
_NAMED, _UNIX, _END = 8, 255, b"\x03\x00"
MOST_RANDOM = 100


class GzipPieces:
    """Compresses texts of one address, one after the other. It keeps the pieces of the last text and no others.

    A piece is compressed by itself and begins at a byte (`Z_FULL_FLUSH`), so the pieces stand behind one another in
    one gzip member as if they had been compressed together.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, bytes] = {}

    def compress(self, pieces: Iterable[bytes]) -> bytes:
        """All of them as one gzip file, with a name of random length as Django has it (BREACH)."""
        before, now, check, size = self._kept, {}, 0, 0
        parts = [_begin()]
        for piece in pieces:
            packed = now[piece] = before.get(piece) or _packed(piece)
            parts.append(packed)
            check, size = zlib.crc32(piece, check), size + len(piece)
        self._kept = now
        return b"".join([*parts, _END, _TAIL.pack(check, size & 0xFFFFFFFF)])


def compressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts of one text as one gzip file, each as soon as it is there."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    begin, check, size = _begin(), 0, 0
    for part in parts:
        check, size = zlib.crc32(part, check), size + len(part)
        yield begin + packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH)
        begin = b""
    yield begin + packer.flush() + _TAIL.pack(check, size & 0xFFFFFFFF)


def _begin() -> bytes:
    """What a gzip file begins with."""
    head = _HEAD.pack(0x1F, 0x8B, zlib.DEFLATED, _NAMED, int(time.time()), 0, _UNIX)
    return head + b"a" * randbelow(MOST_RANDOM) + b"\0"


def _packed(piece: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)


def cut(texts: Sequence[bytes], about: int) -> list[bytes]:
    """Texts put together to pieces of `about` so many. Where they are cut hangs on the texts and not on their number,
    so that a new one at the front leaves the other pieces as they are; another process cuts elsewhere."""
    pieces: list[bytes] = []
    begin = 0
    for place, each in enumerate(texts):
        if hash(each) % about == 0 or place - begin >= 4 * about:
            pieces.append(b"".join(texts[begin : place + 1]))
            begin = place + 1
    pieces.append(b"".join(texts[begin:]))
    return [piece for piece in pieces if piece]
